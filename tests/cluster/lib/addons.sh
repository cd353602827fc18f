# shellcheck shell=bash
# What runs in the cluster itself: CoreDNS, and the DaemonSet that enforces NetworkPolicies.

apply_addons() {
  divert_to_network_policies
  for manifest in coredns network-policies; do
    sed -e "s|COREDNS_IMAGE|$COREDNS_IMAGE|; s|NETWORK_POLICIES_IMAGE|$NETWORK_POLICIES_IMAGE|" \
      -e "s|DNS_SERVICE_IP|$DNS_SERVICE_IP|; s|NODE_NAME|$NAME|; s|NRI_FOLDER|$RUN/nri|" "$HERE/manifests/$manifest.yaml" |
      own_kubectl apply --server-side -f - >>"$RUN/logs/apply.log" 2>&1 || {
      show_log apply
      fail "$manifest could not be applied"
    }
  done
}

# New connections of Pods wait in queue 100 for the verdict of kube-network-policies, and are dropped while it does not run. It sets up the same
# by itself where the kernel's nftables know `queue`; these rules work everywhere. What the node sends to Pods (probes) is let through
# when nobody listens.
divert_to_network_policies() {
  in_node iptables -t mangle -A FORWARD -m conntrack --ctstate NEW -j NFQUEUE --queue-num 100
  in_node iptables -t mangle -A INPUT -s "$POD_CIDR" -m conntrack --ctstate NEW -j NFQUEUE --queue-num 100
  in_node iptables -t mangle -A OUTPUT -d "$POD_CIDR" -m conntrack --ctstate NEW -j NFQUEUE --queue-num 100 --queue-bypass
}

wait_for_addons() {
  local addon
  for addon in daemonset/kube-network-policies deployment/coredns; do
    own_kubectl -n kube-system rollout status "$addon" --timeout=180s >>"$RUN/logs/rollout.log" 2>&1 || addon_failed "$addon"
  done
}

addon_failed() {
  own_kubectl -n kube-system get pods -o wide >&2 || true
  own_kubectl -n kube-system get events --sort-by=.lastTimestamp | tail -n 20 >&2 || true
  own_kubectl -n kube-system logs --tail=20 "$1" >&2 || true
  fail "$1 did not become ready; the logs are in $RUN/logs and $RUN/pod-logs"
}
