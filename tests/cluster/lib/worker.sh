# shellcheck shell=bash
# containerd, the kubelet and kube-proxy.

start_containerd() {
  local debian
  debian="$(debian_folder)"
  mkdir -p "$RUN/nri" "$RUN/config/cni" "$RUN/config/registries/$BASE_REGISTRY" "$RUN/config/registries/$PRIVATE_REGISTRY"
  # restrict_oom_score_adj: without CAP_SYS_RESOURCE no score may be lowered, and every Pod would fail on trying.
  # NRI tells kube-network-policies a Pod's address before its first process starts. Without it a policy holds only from the moment at
  # which the kubelet has reported the address: too late for the first packets.
  cat >"$RUN/config/containerd.toml" <<TOML
version = 3
root = "$RUN/disk/containerd"
state = "$RUN/containerd/state"
[grpc]
  address = "$RUN/containerd.sock"
# Else the end of every container writes all pages of the disk that are not written yet.
[plugins."io.containerd.snapshotter.v1.overlayfs"]
  mount_options = ["volatile"]
[plugins."io.containerd.internal.v1.opt"]
  path = "$RUN/containerd/opt"
[plugins."io.containerd.nri.v1.nri"]
  socket_path = "$RUN/nri/nri.sock"
  plugin_path = "$RUN/nri/plugins"
  plugin_config_path = "$RUN/nri/config"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "$PAUSE_IMAGE"
[plugins."io.containerd.cri.v1.images".registry]
  config_path = "$RUN/config/registries"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
[plugins."io.containerd.cri.v1.runtime".cni]
  bin_dirs = ["$debian/usr/lib/cni"]
  conf_dir = "$RUN/config/cni"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
  BinaryName = "$RUN/bin/runc"
  Root = "$RUN/containerd/runc"
TOML
  cat >"$RUN/config/registries/$BASE_REGISTRY/hosts.toml" <<TOML
server = "http://$BASE_REGISTRY"
[host."http://$BASE_REGISTRY"]
  capabilities = ["pull", "resolve"]
TOML
  cat >"$RUN/config/registries/$PRIVATE_REGISTRY/hosts.toml" <<TOML
server = "https://$PRIVATE_REGISTRY"
[host."https://$PRIVATE_REGISTRY"]
  capabilities = ["pull", "resolve"]
  ca = "$RUN/certificates/ca.crt"
TOML
  cat >"$RUN/config/cni/10-$NAME.conflist" <<JSON
{
  "cniVersion": "0.4.0",
  "name": "$NAME",
  "plugins": [
    {
      "type": "ptp", "ipMasq": true, "mtu": $(way_out_mtu),
      "ipam": {"type": "host-local", "ranges": [[{"subnet": "$POD_CIDR"}]], "routes": [{"dst": "0.0.0.0/0"}]}
    },
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
JSON
  start containerd env "PATH=$RUN/bin:$PATH" "$RUN/bin/containerd" --config "$RUN/config/containerd.toml" --log-level warn
}

wait_for_containerd() { wait_for 60 "containerd answers" containerd ctr version; }

ctr() { in_node "$RUN/bin/ctr" --address "$RUN/containerd.sock" --namespace k8s.io "$@"; }

# The images that nearly every test needs, so that no test's time holds the pull.
pull_images() {
  local image
  for image in "$PAUSE_IMAGE" "$NETWORK_POLICIES_IMAGE" "$COREDNS_IMAGE" "$PYTHON_IMAGE" "$KANIKO_IMAGE"; do
    ctr images pull --hosts-dir "$RUN/config/registries" "$image" >>"$RUN/logs/pull.log" 2>&1 || {
      show_log pull
      fail "the image $image could not be pulled"
    }
  done
}

start_kubelet() {
  local certificates="$RUN/certificates"
  cat >"$RUN/config/kubelet.yaml" <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $NODE_IP
healthzBindAddress: $NODE_IP
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: $certificates/ca.crt}
authorization: {mode: Webhook}
tlsCertFile: $certificates/kubelet.crt
tlsPrivateKeyFile: $certificates/kubelet.key
clusterDNS: [$DNS_SERVICE_IP]
clusterDomain: cluster.local
resolvConf: $RUN/config/resolv.conf
containerRuntimeEndpoint: unix://$RUN/containerd.sock
cgroupDriver: cgroupfs
cgroupRoot: /$NAME
failCgroupV1: false
failSwapOn: false
podLogsDir: $RUN/pod-logs
volumePluginDir: $RUN/disk/kubelet/volume-plugins
podPidsLimit: 1024
serializeImagePulls: false
# The machine's disk and memory are shared: a test Pod is not evicted because others fill them.
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%, nodefs.inodesFree: 1%}
YAML
  start kubelet env "PATH=$RUN/bin:$PATH" "$RUN/bin/kubelet" --config "$RUN/config/kubelet.yaml" \
    --kubeconfig "$RUN/kubeconfigs/kubelet" --root-dir "$RUN/disk/kubelet" --cert-dir "$certificates" \
    --hostname-override "$NAME" --node-ip "$NODE_IP"
}

start_kube_proxy() {
  # The limits of connection tracking are the machine's, not the node's: maxPerCore 0 leaves them alone.
  cat >"$RUN/config/kube-proxy.yaml" <<YAML
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
hostnameOverride: $NAME
bindAddress: $NODE_IP
healthzBindAddress: $NODE_IP:10256
metricsBindAddress: $NODE_IP:10249
clusterCIDR: $POD_CIDR
clientConnection: {kubeconfig: $RUN/kubeconfigs/proxy}
conntrack: {maxPerCore: 0, min: 0}
YAML
  start kube-proxy "$RUN/bin/kube-proxy" --config "$RUN/config/kube-proxy.yaml"
}

wait_for_node() { wait_for 120 "the node is Ready" kubelet is_node_ready; }

is_node_ready() {
  [ "$(own_kubectl get node "$NAME" -o jsonpath='{.status.conditions[?(@.type=="Ready")].status}')" = True ]
}
