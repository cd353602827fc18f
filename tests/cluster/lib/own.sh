# shellcheck shell=bash
# Our own cluster, from nothing: the order of its parts, and whether it is well.

COMPONENTS="etcd kube-apiserver kube-controller-manager kube-scheduler containerd kubelet kube-proxy registry-base registry-private metadata"

own_up() {
  require_root_and_linux
  [ "$(chosen_cluster)" = own ] || claim_run_folder own
  if own_is_well; then
    say "the cluster is already there and well ($RUN)"
    return
  fi
  step "programs from Debian" ensure_prerequisites
  refuse_what_is_taken
  step "remove what an earlier run left" remove_cluster
  trap 'say "interrupted: removing what was started"; remove_cluster; exit 130' INT TERM
  step "cgroup" create_cgroups
  step "programs from the Go module proxy" in_cgroups ensure_tools
  step "images" in_cgroups ensure_images
  prune_cache
  own_start
}

own_start() {
  local begin="$SECONDS" pull
  step "run folder, certificates" prepare_run_folder
  step "node namespaces and network" create_node
  start_metadata
  start_api_server
  start_registries
  start_containerd
  step "registries, containerd" wait_for_runtime
  in_cgroups pull_images &
  pull=$!
  step "API server" wait_for_api_server
  start_controllers
  start_kubelet
  start_kube_proxy
  step "node Ready" wait_for_node
  apply_addons
  step "images of the node" wait "$pull"
  step "CoreDNS, network policies" wait_for_addons
  wait_for 60 "the default service account is there" kube-controller-manager own_kubectl -n default get serviceaccount default
  write_environment
  say "started in $((SECONDS - begin)) s"
}

prepare_run_folder() {
  create_run_folder
  write_resolv_conf
  create_certificates
}

wait_for_runtime() {
  wait_for_registries
  wait_for_containerd
}

# What tests need to know; the last file that is written, so its presence says that the start was finished.
write_environment() {
  cat >"$RUN/environment.new" <<ENVIRONMENT
KUBECONFIG=$RUN/kubeconfig
CODEGEN_E2E_BASE_REGISTRY=$BASE_REGISTRY
CODEGEN_E2E_PYTHON_IMAGE=$PYTHON_IMAGE
CODEGEN_E2E_NEXT_PYTHON_IMAGE=$NEXT_PYTHON_IMAGE
CODEGEN_E2E_KANIKO_IMAGE=$KANIKO_IMAGE
CODEGEN_E2E_REGISTRY=$PRIVATE_REGISTRY
CODEGEN_E2E_REGISTRY_CA=$RUN/trust/ca.crt
CODEGEN_E2E_REGISTRY_USER=codegen
CODEGEN_E2E_REGISTRY_PASSWORD_FILE=$RUN/registry-password
CODEGEN_E2E_REGISTRY_LOG=$RUN/logs/registry-private.log
CODEGEN_E2E_AUDIT_LOG=$RUN/logs/audit.log
ENVIRONMENT
  mv "$RUN/environment.new" "$RUN/environment"
}

own_is_well() {
  local component
  [ -e "$RUN/environment" ] || return 1
  for component in $COMPONENTS; do
    is_alive "$component" || { say "$component of the cluster in $RUN does not run: starting anew"; return 1; }
  done
  own_kubectl get --raw '/readyz' --request-timeout=10s >/dev/null 2>&1 || { say "the API server of $RUN is not ready: starting anew"; return 1; }
  # The API server would take a while to notice that a kubelet is gone.
  curl --noproxy '*' -fsS -m 10 "http://$NODE_IP:10248/healthz" >/dev/null 2>&1 || { say "the kubelet of $RUN is not well: starting anew"; return 1; }
  is_node_ready || { say "the node of $RUN is not ready: starting anew"; return 1; }
}
