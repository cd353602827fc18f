# shellcheck shell=bash
# The images that the cluster starts with: a base with Python and one with the next, pause, Kaniko, CoreDNS, kube-network-policies. Made without a container engine and
# kept as the storage folder of a registry, under the hash of all that goes into it.

PYTHON_PACKAGES=python3,python3-venv,python3-pip,ca-certificates
# The Python of each suite is in the tag of its image.
PYTHON_SUITE=bookworm
NEXT_PYTHON_SUITE=trixie
PAUSE_IMAGE="$BASE_REGISTRY/pause:3.10"
PYTHON_IMAGE="$BASE_REGISTRY/python:3.11"
NEXT_PYTHON_IMAGE="$BASE_REGISTRY/python:3.13"
KANIKO_IMAGE="$BASE_REGISTRY/kaniko:v1.24.0"
COREDNS_IMAGE="$BASE_REGISTRY/coredns:v1.14.7"
NETWORK_POLICIES_IMAGE="$BASE_REGISTRY/kube-network-policies:v0.8.0"

# The certificates that this machine trusts: builds inside of the cluster reach the package index as this machine does.
ca_bundle() {
  local bundle
  for bundle in "${SSL_CERT_FILE:-}" /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt; do
    if [ -n "$bundle" ] && [ -s "$bundle" ]; then
      echo "$bundle"
      return
    fi
  done
  fail "no bundle of CA certificates found; install ca-certificates or set SSL_CERT_FILE"
}

hash_of() { cat "$@" | sha256sum | cut -c1-16; }

# rootfs_archive SUITE
rootfs_archive() { echo "$CACHE/rootfs/python-$(hash_of <(echo "$1 $PYTHON_PACKAGES $(uname -m)") "$HERE/lib/rootfs").tar"; }

registry_store() {
  local parts
  # shellcheck disable=SC2046 # one path per word
  parts="$(basename -a $(tool_folders) "$(rootfs_archive "$PYTHON_SUITE")" "$(rootfs_archive "$NEXT_PYTHON_SUITE")")"
  echo "$CACHE/images/$(hash_of <(echo "$parts") "$(ca_bundle)" "$HERE/lib/images.sh" "$HERE/lib/fill-registry")"
}

ensure_images() {
  local suite archive store
  for suite in "$PYTHON_SUITE" "$NEXT_PYTHON_SUITE"; do
    archive="$(rootfs_archive "$suite")"
    [ -e "$archive" ] || step "  debootstrap of a Python base ($suite)" retry make_rootfs "$archive" "$suite"
  done
  store="$(registry_store)"
  [ -e "$store/done" ] || step "  images" make_images "$store"
}

# In namespaces of its own: what debootstrap mounts and starts is gone with it, however it ends.
make_rootfs() {
  mkdir -p "$(dirname "$1")"
  unshare --mount --pid --fork --kill-child --mount-proc --propagation private \
    "$HERE/lib/rootfs" "$1" "$2" "$PYTHON_PACKAGES"
}

make_images() {
  local store="$1" new="$1.new"
  rm -rf "$new" "$store"
  mkdir -p "$new/layouts" "$new/registry"
  image pause "$PAUSE_IMAGE" pause_files --config.user 65535:65535 --config.entrypoint /pause
  image coredns "$COREDNS_IMAGE" coredns_files --config.entrypoint /coredns
  image kube-network-policies "$NETWORK_POLICIES_IMAGE" network_policies_files --config.entrypoint /kube-network-policies
  image kaniko "$KANIKO_IMAGE" kaniko_files --config.entrypoint /kaniko/executor --config.workingdir /workspace \
    --config.env HOME=/root --config.env USER=root --config.env PATH=/usr/local/bin:/kaniko \
    --config.env SSL_CERT_DIR=/kaniko/ssl/certs --config.env DOCKER_CONFIG=/kaniko/.docker/
  python_image python "$PYTHON_IMAGE" python_files
  python_image next-python "$NEXT_PYTHON_IMAGE" next_python_files
  unshare --net --mount --pid --fork --kill-child --mount-proc "$HERE/lib/fill-registry" "$(debian_folder)/usr/bin/docker-registry" "$new"
  rm -r "$new/layouts"
  touch "$new/done"
  mv "$new" "$store"
}

# image NAME REFERENCE FILES OPTIONS...: one OCI layout of one layer; FILES prints the layer as a tar archive for the folder that it is given.
image() {
  local name="$1" reference="$2" files="$3" work="$new/$1" layout
  shift 3
  layout="$new/layouts/$name"
  mkdir -p "$work"
  "$files" "$work" >"$work.tar"
  umoci init --layout "$layout"
  umoci new --image "$layout:latest"
  umoci raw add-layer --image "$layout:latest" "$work.tar" >&2
  umoci config --image "$layout:latest" "$@"
  rm -rf "$work" "$work.tar"
  # The part after the registry: repository:tag.
  echo "${reference#*/}" >"$new/layouts/$name.reference"
}

python_image() {
  image "$@" --config.cmd python3 --config.env LANG=C.UTF-8 \
    --config.env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    --config.env PIP_CERT=/etc/ssl/certs/ca-certificates.crt --config.env SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
}

archive_of() { tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$1" -c .; }

pause_files() {
  cp "$(tool_folder pause)/pause" "$1/pause"
  archive_of "$1"
}

coredns_files() {
  mkdir -p "$1/etc/ssl/certs"
  cp "$(ca_bundle)" "$1/etc/ssl/certs/ca-certificates.crt"
  cp "$(tool_folder coredns)/coredns" "$1/coredns"
  archive_of "$1"
}

network_policies_files() {
  cp "$(tool_folder kube-network-policies)/kube-network-policies" "$1/kube-network-policies"
  archive_of "$1"
}

kaniko_files() {
  mkdir -p "$1"/{kaniko/ssl/certs,kaniko/.docker,workspace,root,etc}
  mkdir -m 1777 "$1/tmp"
  cp "$(ca_bundle)" "$1/kaniko/ssl/certs/ca-certificates.crt"
  cp "$(tool_folder kaniko)/executor" "$1/kaniko/executor"
  echo 'root:x:0:0:root:/root:/bin/sh' >"$1/etc/passwd"
  echo 'hosts: files dns' >"$1/etc/nsswitch.conf"
  archive_of "$1"
}

python_files() { debian_files "$1" "$PYTHON_SUITE"; }

next_python_files() { debian_files "$1" "$NEXT_PYTHON_SUITE"; }

# The archive as debootstrap left it (owners and modes kept), with this machine's certificates in the place of the distribution's.
debian_files() {
  local certificates=etc/ssl/certs/ca-certificates.crt
  mkdir -p "$1/$(dirname "$certificates")"
  cp "$(ca_bundle)" "$1/$certificates"
  cp "$(rootfs_archive "$2")" "$1.base.tar"
  tar --delete -f "$1.base.tar" "./$certificates"
  tar --owner=0 --group=0 --numeric-owner --mtime=@0 --mode=644 -C "$1" -rf "$1.base.tar" "./$certificates"
  cat "$1.base.tar"
  rm "$1.base.tar"
}
