# shellcheck shell=bash
# etcd, kube-apiserver with its audit log, controller-manager, scheduler.

start_etcd() {
  start etcd "$RUN/bin/etcd" --name "$NAME" --data-dir "$RUN/etcd" --unsafe-no-fsync --log-level warn \
    --listen-client-urls "$ETCD_URL" --advertise-client-urls "$ETCD_URL" \
    --listen-peer-urls http://127.0.0.1:2380 --initial-advertise-peer-urls http://127.0.0.1:2380 \
    --initial-cluster "$NAME=http://127.0.0.1:2380"
}

start_api_server() {
  local certificates="$RUN/certificates"
  start_etcd
  write_audit_policy
  # The audit log is written before the answer (the default, not batches): whoever has the answer finds the line.
  start kube-apiserver "$RUN/bin/kube-apiserver" --etcd-servers "$ETCD_URL" \
    --bind-address "$NODE_IP" --advertise-address "$NODE_IP" --secure-port 6443 --cert-dir "$certificates" \
    --tls-cert-file "$certificates/apiserver.crt" --tls-private-key-file "$certificates/apiserver.key" \
    --client-ca-file "$certificates/ca.crt" --authorization-mode Node,RBAC --enable-admission-plugins NodeRestriction \
    --service-cluster-ip-range "$SERVICE_CIDR" --allow-privileged=true --endpoint-reconciler-type lease \
    --kubelet-preferred-address-types InternalIP --kubelet-certificate-authority "$certificates/ca.crt" \
    --kubelet-client-certificate "$certificates/kubelet-client.crt" --kubelet-client-key "$certificates/kubelet-client.key" \
    --service-account-issuer https://kubernetes.default.svc --service-account-key-file "$certificates/service-account.pub" \
    --service-account-signing-key-file "$certificates/service-account.key" \
    --audit-policy-file "$RUN/config/audit-policy.yaml" --audit-log-path "$RUN/logs/audit.log" --audit-log-maxsize 2000
}

# Who does what, without bodies: writes, and what the operator reads, for its rights are compared with it (`rights`). Not the heartbeats of
# the cluster's own components.
write_audit_policy() {
  cat >"$RUN/config/audit-policy.yaml" <<YAML
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  users: [system:apiserver, system:kube-controller-manager, system:kube-scheduler, "system:node:$NAME"]
  resources: [{group: coordination.k8s.io, resources: [leases]}]
- level: Metadata
  verbs: [create, update, patch, delete, deletecollection]
- level: Metadata
  users: ["system:serviceaccount:codegen-system:codegen-operator"]
  verbs: [get, list, watch]
YAML
}

wait_for_api_server() { wait_for 120 "the API server is ready" kube-apiserver own_kubectl get --raw /readyz; }

start_controllers() {
  start kube-controller-manager "$RUN/bin/kube-controller-manager" --kubeconfig "$RUN/kubeconfigs/controller-manager" \
    --bind-address "$NODE_IP" --cert-dir "$RUN/certificates" --leader-elect=false --use-service-account-credentials \
    --flex-volume-plugin-dir "$RUN/disk/kubelet/volume-plugins" \
    --service-account-private-key-file "$RUN/certificates/service-account.key" --root-ca-file "$RUN/certificates/ca.crt"
  start kube-scheduler "$RUN/bin/kube-scheduler" --kubeconfig "$RUN/kubeconfigs/scheduler" \
    --bind-address "$NODE_IP" --cert-dir "$RUN/certificates" --leader-elect=false
}
