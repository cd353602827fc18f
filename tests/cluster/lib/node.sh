# shellcheck shell=bash
# The node: one network and one mount namespace that hold the whole cluster, and a cgroup of our name around every process of it. When the
# processes are killed, the namespaces vanish with all their interfaces, mounts, routes and rules; on the machine itself there are only one
# end of a veth pair, one nft table, the cgroup and the run folder.

# Folders with fixed paths that containerd, CNI and the kubelet write to; in the node they are folders below the run folder.
FIXED_FOLDERS="/run/containerd /var/lib/cni /var/lib/kubelet /var/log/containers /var/log/pods"

node_pid() { cat "$RUN/node.pid"; }

in_node() { nsenter --target "$(node_pid)" --mount --net -- "$@" 9>&-; }

cgroup_roots() { awk '$3 == "cgroup" || $3 == "cgroup2" { print $2 }' /proc/mounts | sort -u; }

# Every folder of our cgroups, the deepest first.
our_cgroups() {
  local root
  for root in $(cgroup_roots); do
    [ ! -d "$root/$NAME" ] || find "$root/$NAME" -depth -type d
  done
}

our_processes() {
  local cgroup
  for cgroup in $(our_cgroups); do cat "$cgroup/cgroup.procs" 2>/dev/null || true; done | sort -un
}

create_cgroups() {
  local root controller folder file
  for root in $(cgroup_roots); do
    # Version 2 hands a controller down only where it is asked for.
    for controller in cpuset cpu io memory pids hugetlb; do
      [ ! -w "$root/cgroup.subtree_control" ] || echo "+$controller" >"$root/cgroup.subtree_control" 2>/dev/null || true
    done
    mkdir -p "$root/$NAME/node"
    # Version 1 starts a cpuset empty, and an empty one takes no process.
    [ -e "$root/cpuset.mems" ] || continue
    for folder in "$root/$NAME" "$root/$NAME/node"; do
      for file in cpuset.cpus cpuset.mems; do
        [ -n "$(<"$folder/$file")" ] || cat "$(dirname "$folder")/$file" >"$folder/$file"
      done
    done
  done
}

join_cgroups() {
  local root
  for root in $(cgroup_roots); do echo "$BASHPID" >"$root/$NAME/node/cgroup.procs"; done
}

# Also what only builds runs in our cgroup, so that nothing of a killed run goes on unseen.
in_cgroups() {
  (
    join_cgroups
    "$@"
  ) 9>&-
}

# start COMPONENT COMMAND...: in the node, in our cgroup, with its log and process id in the run folder.
start() {
  local component="$1"
  shift
  (
    join_cgroups
    exec setsid nsenter --target "$(node_pid)" --mount --net -- "$@" </dev/null >>"$RUN/logs/$component.log" 2>&1
  ) 9>&- &
  echo $! >"$RUN/pids/$component"
  disown $!
}

refuse_other_cluster() {
  local owner
  [ -e "/sys/class/net/$NAME" ] || return 0
  owner="$(cat "/sys/class/net/$NAME/ifalias")"
  [ "$owner" = "$RUN" ] || fail "the network interface $NAME belongs to another cluster (run folder: ${owner:-unknown});" \
    "end that one first: CODEGEN_E2E_DIR=$owner make e2e-down"
}

refuse_what_is_taken() {
  local conflict
  refuse_other_cluster
  conflict="$(ip -4 route show table all root "$NETWORK.0.0/16" | grep -v "dev $NAME" || true)"
  [ -z "$conflict" ] || fail "this machine already uses $NETWORK.0.0/16 ($(head -n 1 <<<"$conflict"));" \
    "choose the first two octets of a free network: CODEGEN_E2E_NETWORK=10.99 make e2e-up"
}

create_run_folder() {
  claim_run_folder own
  mkdir "$RUN"/{bin,logs,pids,config,certificates,kubeconfigs}
  link_programs
}

link_programs() {
  local folder
  for folder in $(tool_folders); do ln -sf "$folder"/* "$RUN/bin/"; done
  ln -sf "$(debian_folder)"/usr/{,s}bin/* "$RUN/bin/"
}

create_node() {
  (
    join_cgroups
    exec setsid unshare --mount --net --propagation private sleep infinity </dev/null >/dev/null 2>&1
  ) 9>&- &
  echo $! >"$RUN/node.pid"
  disown $!
  wait_for 30 "the namespaces of the node are there" "" has_own_namespaces
  in_node mount --make-rshared /
  mount_disk
  hide_fixed_folders
  connect_node
}

has_own_namespaces() {
  local kind
  for kind in net mnt; do
    [ "$(readlink "/proc/$(node_pid)/ns/$kind")" != "$(readlink "/proc/self/ns/$kind")" ] || return 1
  done
}

# A disk of the node's own, a sparse file: removed as one file instead of tens of thousands, and nobody's unwritten pages but its own are
# ever waited for. It is gone with the mount namespace; without loop devices the run folder itself serves.
mount_disk() {
  local image="$RUN/disk.image"
  mkdir "$RUN/disk"
  truncate -s 100G "$image"
  if ! { mkfs.ext4 -q -F -O ^has_journal -E nodiscard "$image" && in_node mount -o loop,noatime,barrier=0 "$image" "$RUN/disk"; } \
    >>"$RUN/logs/disk.log" 2>&1; then
    say "no disk of its own for the node ($(tail -n 1 "$RUN/logs/disk.log")): using the run folder"
  fi
}

# What has to be made on the machine for that is noted first and removed by `down`.
hide_fixed_folders() {
  local folder missing
  for folder in $FIXED_FOLDERS; do
    missing="$folder"
    while [ ! -d "$missing" ]; do
      echo "$missing" >>"$RUN/created-folders"
      missing="$(dirname "$missing")"
    done
    mkdir -p "$folder" "$RUN/node$folder"
    in_node mount --bind "$RUN/node$folder" "$folder"
  done
}

connect_node() {
  ip link add "$NAME" mtu "$(way_out_mtu)" type veth peer name eth0 mtu "$(way_out_mtu)" netns "$(node_pid)"
  ip link set "$NAME" alias "$RUN"
  ip address add "$HOST_IP/24" dev "$NAME"
  ip link set "$NAME" up
  in_node ip link set lo up
  in_node ip address add "$NODE_IP/24" dev eth0
  in_node ip link set eth0 up
  in_node ip route add default via "$HOST_IP"
  in_node sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
  ip route add "$POD_CIDR" via "$NODE_IP"
  ip route add "$SERVICE_CIDR" via "$NODE_IP"
  open_way_out
}

# Where clouds serve credentials to their machines: sandboxes must not reach it, and a dead address would prove nothing. No packet to it
# leaves the node.
start_metadata() {
  mkdir -p "$RUN/config/metadata"
  in_node ip address add 169.254.169.254/32 dev lo
  start metadata python3 -m http.server 80 --bind 169.254.169.254 --directory "$RUN/config/metadata"
}

# The largest packet of this machine's way out, so that no path needs to be probed for it.
way_out_mtu() {
  local device
  device="$(ip -4 route show default | sed -n 's/.* dev \([^ ]*\).*/\1/p' | head -n 1)"
  cat "/sys/class/net/${device:-lo}/mtu"
}

# Builds reach the package index through this machine.
open_way_out() {
  cat /proc/sys/net/ipv4/ip_forward >"$RUN/ip-forward-before"
  echo 1 >/proc/sys/net/ipv4/ip_forward
  nft -f - <<NFT
table ip $NAME {
  chain postrouting {
    type nat hook postrouting priority srcnat;
    ip saddr $NETWORK.0.0/16 oifname != "$NAME" masquerade
  }
}
NFT
  # Where a firewall forwards nothing by default (as Docker sets it up), our own traffic is let through.
  if iptables -S FORWARD 2>/dev/null | grep -q -- '-P FORWARD DROP'; then
    iptables -I FORWARD -i "$NAME" -m comment --comment "$NAME" -j ACCEPT
    iptables -I FORWARD -o "$NAME" -m comment --comment "$NAME" -j ACCEPT
  fi
}

# Name servers that can be reached from the node: a stub on this machine's loopback cannot.
write_resolv_conf() {
  local source=/etc/resolv.conf
  if grep -Eq '^nameserver[[:space:]]+(127\.|::1)' "$source" && [ -s /run/systemd/resolve/resolv.conf ]; then
    source=/run/systemd/resolve/resolv.conf
  fi
  grep -E '^nameserver' "$source" | grep -Ev '127\.|::1' >"$RUN/config/resolv.conf" ||
    say "no name server outside of loopback in $source: names outside of the cluster will not resolve in Pods"
}
