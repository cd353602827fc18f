# shellcheck shell=bash
# Which cluster: the one of KUBECONFIG, else kind where Docker works, else our own. CODEGEN_E2E_CLUSTER=kubeconfig|kind|own decides by hand.

choose_cluster() {
  if [ -n "${CODEGEN_E2E_CLUSTER:-}" ]; then
    echo "$CODEGEN_E2E_CLUSTER"
  elif [ -n "${KUBECONFIG:-}" ] && [ "$KUBECONFIG" != "$RUN/kubeconfig" ]; then
    echo kubeconfig
  elif [ ! -e "$RUN/node.pid" ] && docker info >/dev/null 2>&1; then
    echo kind
  else
    echo own
  fi
}
