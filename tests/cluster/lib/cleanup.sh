# shellcheck shell=bash
# Removes all that a cluster may have left, whatever state it is in: running, half started, killed.

remove_cluster() {
  kill_processes
  remove_network
  remove_cgroups
  remove_folders
  find "$CACHE" -maxdepth 3 -name '*.new' -exec rm -rf {} +
}

# Everything in our cgroups is ours. Twice around, because a process may start another one while we look.
kill_processes() {
  local deadline=$((SECONDS + 60)) pids
  while pids="$(our_processes)" && [ -n "$pids" ]; do
    # shellcheck disable=SC2086 # a list of numbers
    kill -9 $pids 2>/dev/null || true
    [ "$SECONDS" -lt "$deadline" ] || fail "these processes of the cluster do not end: $(tr '\n' ' ' <<<"$pids")"
    sleep 0.05
  done
}

remove_network() {
  local rule before="$RUN/ip-forward-before"
  if [ -e "/sys/class/net/$NAME" ]; then ip link delete "$NAME"; fi
  if nft list table ip "$NAME" >/dev/null 2>&1; then nft delete table ip "$NAME"; fi
  iptables -S FORWARD 2>/dev/null | grep -- "--comment \"\?$NAME" | sed 's/^-A/-D/' | while read -r rule; do
    # shellcheck disable=SC2086 # a list of words
    iptables $rule
  done || true
  if [ -s "$before" ]; then cat "$before" >/proc/sys/net/ipv4/ip_forward; fi
}

# The kernel lets go of a cgroup a moment after its last process.
remove_cgroups() {
  local deadline=$((SECONDS + 30))
  until our_cgroups | xargs -r rmdir 2>/dev/null; do
    [ "$SECONDS" -lt "$deadline" ] || fail "these cgroups cannot be removed: $(our_cgroups | tr '\n' ' ')"
    sleep 0.05
  done
}

remove_folders() {
  local folder
  [ -e "$RUN" ] || return 0
  if rmdir "$RUN" 2>/dev/null; then return; fi
  [ -e "$MARK" ] || fail "$RUN is no run folder of a test cluster: it is left as it is"
  if [ -s "$RUN/created-folders" ]; then
    while read -r folder; do rmdir --ignore-fail-on-non-empty "$folder" 2>/dev/null || true; done < <(sort -ru "$RUN/created-folders")
  fi
  rm -rf --one-file-system "$RUN"
}
