# shellcheck shell=bash
# The clusters that are not our own: kind where Docker works, or the one that KUBECONFIG names. What tests need beyond the cluster (registries,
# images) they take from CODEGEN_E2E_* variables there.

kind_up() {
  ensure_program kind kind sigs.k8s.io/kind
  ensure_program kubectl kubernetes k8s.io/kubernetes/cmd/kubectl
  claim_run_folder kind
  if kind get clusters 2>/dev/null | grep -qx "$NAME"; then
    kind export kubeconfig --name "$NAME" --kubeconfig "$RUN/kubeconfig"
    say "the kind cluster $NAME is already there"
  else
    # Its own network plugin enforces NetworkPolicies (kind 0.24 and later).
    step "kind cluster" kind create cluster --name "$NAME" --kubeconfig "$RUN/kubeconfig" --wait 180s
  fi
  use_cluster "$RUN/kubeconfig"
}

kind_down() {
  ensure_program kind kind sigs.k8s.io/kind
  kind delete cluster --name "$NAME"
  remove_folders
}

kubeconfig_up() {
  [ -n "${KUBECONFIG:-}" ] || fail "CODEGEN_E2E_CLUSTER=kubeconfig needs KUBECONFIG"
  ensure_program kubectl kubernetes k8s.io/kubernetes/cmd/kubectl
  claim_run_folder kubeconfig
  use_cluster "$KUBECONFIG"
}

use_cluster() {
  env KUBECONFIG="$1" kubectl wait --for=condition=Ready nodes --all --timeout=180s >&2 ||
    fail "the cluster of KUBECONFIG=$1 is not ready; see its nodes, or unset KUBECONFIG"
  # Where `install` and the tests write theirs.
  mkdir -p "$RUN/logs"
  echo "KUBECONFIG=$1" >"$RUN/environment"
}
