# shellcheck shell=bash
# Names, addresses and folders of the test cluster, and what every script needs: messages, steps, retries, waits.
# shellcheck disable=SC2034 # the other parts use them

set -euo pipefail
# Where the programs of the system's administrator are, which not every user's path has.
PATH="$PATH:/usr/sbin:/sbin"

HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
# One name for all that is visible outside of the cluster: network interface, nft table, cgroup, kind cluster.
NAME=codegen-e2e
RUN="${CODEGEN_E2E_DIR:-/tmp/$NAME}"
CACHE="${XDG_CACHE_HOME:-$HOME/.cache}/codegen-operator/cluster"

# The first two octets of the network; everything of the cluster lies in it.
NETWORK="${CODEGEN_E2E_NETWORK:-10.213}"
HOST_IP="$NETWORK.0.1"
NODE_IP="$NETWORK.0.2"
POD_CIDR="$NETWORK.1.0/24"
SERVICE_CIDR="$NETWORK.128.0/17"
API_SERVICE_IP="$NETWORK.128.1"
DNS_SERVICE_IP="$NETWORK.128.10"

BASE_REGISTRY="$NODE_IP:5000"
PRIVATE_REGISTRY="$NODE_IP:5443"
ETCD_URL=http://127.0.0.1:2379

say() { echo "e2e: $*" >&2; }

fail() {
  say "$*"
  exit 1
}

# step WORDS COMMAND...: runs the command and prints one line with its seconds.
step() {
  local what="$1" begin="${EPOCHREALTIME/[.,]/}" seconds
  shift
  "$@"
  seconds=$((${EPOCHREALTIME/[.,]/} - begin))
  say "$(printf '%-44s %6d.%d s' "$what" $((seconds / 1000000)) $((seconds / 100000 % 10)))"
}

retry() {
  local try
  for try in 1 2 3 4; do
    "$@" && return 0
    say "try $try of '$*' failed"
    sleep $((try * 3))
  done
  return 1
}

# logged NAME COMMAND...: what the command prints goes to a log in the cache, whose end is shown when it fails.
logged() {
  local log="$CACHE/logs/$1.log"
  shift
  mkdir -p "$CACHE/logs"
  "$@" >"$log" 2>&1 </dev/null && return
  say "'$*' failed; the end of $log:"
  tail -n 20 "$log" >&2
  return 1
}

# wait_for SECONDS WHAT COMPONENT COMMAND...: until the command succeeds. Ends at once when any component has died, and shows the end of its
# log; at the deadline that of COMPONENT, which may be empty.
wait_for() {
  local deadline=$((SECONDS + $1)) what="$2" component="$3" dead
  shift 3
  until "$@" >/dev/null 2>&1; do
    dead="$(dead_component)"
    if [ -n "$dead" ]; then
      show_log "$dead"
      fail "$dead ended before $what; its whole log is in $RUN/logs"
    fi
    if [ "$SECONDS" -ge "$deadline" ]; then
      [ -z "$component" ] || show_log "$component"
      "$@" >&2 || true
      fail "$what: not reached in time; the logs are in $RUN/logs"
    fi
    sleep 0.1
  done
}

dead_component() {
  local file
  for file in "$RUN"/pids/*; do
    if [ -s "$file" ] && ! is_alive "${file##*/}"; then
      echo "${file##*/}"
      return
    fi
  done
}

# A process that has ended but was not yet taken note of (a zombie) is not alive.
is_alive() { [ -s "$RUN/pids/$1" ] && grep -qs '^State:[[:space:]]*[^ZX]' "/proc/$(<"$RUN/pids/$1")/status"; }

show_log() {
  say "the end of $RUN/logs/$1.log:"
  tail -n 20 "$RUN/logs/$1.log" >&2 || true
}

# One at a time: a second up waits for the first. What is started or builds closes descriptor 9, so that it cannot hold the lock when we are killed.
take_lock() {
  mkdir -p "$CACHE"
  exec 9>>"$CACHE/lock"
  flock --nonblock 9 && return
  say "another up or down is at work: waiting for it"
  flock --timeout 3600 9 || fail "it did not end within an hour; see: fuser -v $CACHE/lock"
}

require_root_and_linux() {
  [ "$(uname -s)" = Linux ] || fail "a cluster without Docker needs Linux; set KUBECONFIG, or install Docker and kind"
  [ "$(id -u)" = 0 ] || fail "a cluster without Docker needs root; set KUBECONFIG, install Docker and kind, or run as root"
}

own_kubectl() { KUBECONFIG="$RUN/kubeconfig" "$RUN/bin/kubectl" "$@" 9>&-; }
