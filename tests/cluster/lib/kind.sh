# shellcheck shell=bash
# The clusters that are not our own: kind where Docker works, or the one that KUBECONFIG names.

kind_command() { command -v kind || echo "$(go env GOPATH)/bin/kind"; }

kind_up() {
  local kind
  kind="$(kind_command)"
  [ -x "$kind" ] || fail "Docker works here but kind is missing; install it (go install sigs.k8s.io/kind@latest) or set CODEGEN_E2E_CLUSTER=own"
  claim_run_folder kind
  if ! "$kind" get clusters 2>/dev/null | grep -qx "$NAME"; then
    # Its own network plugin enforces NetworkPolicies (kind 0.24 and later).
    step "kind cluster" "$kind" create cluster --name "$NAME" --kubeconfig "$RUN/kubeconfig" --wait 180s
  else
    "$kind" export kubeconfig --name "$NAME" --kubeconfig "$RUN/kubeconfig"
    say "the kind cluster $NAME is already there"
  fi
  KUBECONFIG="$RUN/kubeconfig" command kubectl wait --for=condition=Ready nodes --all --timeout=180s >&2
  echo "KUBECONFIG=$RUN/kubeconfig" >"$RUN/environment"
}

kind_down() {
  "$(kind_command)" delete cluster --name "$NAME"
  remove_folders
}

kubeconfig_up() {
  [ -n "${KUBECONFIG:-}" ] || fail "CODEGEN_E2E_CLUSTER=kubeconfig needs KUBECONFIG"
  command kubectl wait --for=condition=Ready nodes --all --timeout=60s >&2 || fail "the cluster of KUBECONFIG=$KUBECONFIG is not ready"
  claim_run_folder kubeconfig
  echo "KUBECONFIG=$KUBECONFIG" >"$RUN/environment"
}
