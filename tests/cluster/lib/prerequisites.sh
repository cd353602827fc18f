# shellcheck shell=bash
# Programs from Debian. Those that come with a service (a registry) or that a container engine on this machine may own are only
# unpacked into the cache, never installed: nothing is started, replaced or configured.

UNPACKED="runc docker-registry containernetworking-plugins"
declare -A INSTALLED=([iptables]=iptables [nft]=nftables [skopeo]=skopeo [umoci]=umoci [debootstrap]=debootstrap [openssl]=openssl
  [nsenter]=util-linux [ip]=iproute2 [perl]=perl-base [curl]=curl [mkfs.ext4]=e2fsprogs)

apt() {
  DEBIAN_FRONTEND=noninteractive logged apt apt-get -o Acquire::Retries=5 -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 \
    -o APT::Sandbox::User=root -qq "$@"
}

# The lists may be stale or absent; a failed update matters only when what follows fails.
apt_update_once() {
  [ -z "${APT_UPDATED:-}" ] || return 0
  apt update || true
  APT_UPDATED=1
}

ensure_prerequisites() {
  local program missing=()
  for program in "${!INSTALLED[@]}"; do
    command -v "$program" >/dev/null || missing+=("${INSTALLED[$program]}")
  done
  debian_folder >/dev/null
  [ "${#missing[@]}" -gt 0 ] || [ ! -e "$(debian_folder)/done" ] || return 0
  command -v apt-get >/dev/null ||
    fail "a cluster without Docker takes programs from Debian or Ubuntu, and apt-get is not here; set KUBECONFIG, or install Docker and kind"
  apt_update_once
  if [ "${#missing[@]}" -gt 0 ]; then
    say "installing ${missing[*]}"
    retry apt install -y --no-install-recommends "${missing[@]}"
  fi
  [ -e "$(debian_folder)/done" ] || unpack_debian
}

debian_folder() {
  local key
  key="$(. /etc/os-release && echo "$UNPACKED $ID ${VERSION_ID:-} $(uname -m)" | sha256sum | cut -c1-16)"
  echo "$CACHE/debian/$key"
}

unpack_debian() {
  local folder new
  folder="$(debian_folder)"
  new="$folder.new"
  rm -rf "$new" "$folder"
  mkdir -p "$new/archives"
  # shellcheck disable=SC2086 # a list of words
  (cd "$new/archives" && retry apt download $UNPACKED)
  for archive in "$new"/archives/*.deb; do dpkg -x "$archive" "$new"; done
  rm -r "$new/archives"
  touch "$new/done"
  mv "$new" "$folder"
}
