# shellcheck shell=bash
# Which cluster: the one of KUBECONFIG, else kind where Docker works, else our own. CODEGEN_E2E_CLUSTER=kubeconfig|kind|own decides by hand.
# A file in the run folder says which one it belongs to.

MARK="$RUN/run-folder-of-$NAME"

choose_cluster() {
  if [ -n "${CODEGEN_E2E_CLUSTER:-}" ]; then
    echo "$CODEGEN_E2E_CLUSTER"
  elif [ -n "${KUBECONFIG:-}" ] && [ "$KUBECONFIG" != "$RUN/kubeconfig" ]; then
    echo kubeconfig
  elif [ -s "$MARK" ]; then
    cat "$MARK"
  elif docker info >/dev/null 2>&1; then
    echo kind
  else
    echo own
  fi
}

# Without a mark there may still be what a killed run of our own left.
chosen_cluster() { if [ -s "$MARK" ]; then cat "$MARK"; else echo own; fi; }

claim_run_folder() {
  mkdir -p "$RUN"
  [ -O "$RUN" ] || fail "$RUN belongs to another user; remove it or set CODEGEN_E2E_DIR to a folder of your own"
  if [ -s "$MARK" ]; then
    [ "$(<"$MARK")" = "$1" ] || fail "$RUN belongs to a cluster of another sort ($(<"$MARK")); run make e2e-down first"
    return
  fi
  [ -z "$(ls -A "$RUN")" ] || fail "$RUN is not empty and no run folder of a test cluster; set CODEGEN_E2E_DIR to another one"
  chmod 700 "$RUN"
  echo "$1" >"$MARK"
}
