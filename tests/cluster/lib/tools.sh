# shellcheck shell=bash
# The programs built from the Go module proxy, one module per tool (their requirements conflict). A binary is kept under the hash of its
# module's files, the Go version and the build flags.

GO_VERSION=1.26.8
KUBERNETES_VERSION=1.34.4

# What the cluster consists of: tool, binary, package. Helm and kwok are built when they are first asked for (`ensure_program`).
binaries() {
  cat <<'TABLE'
pause pause codegen-operator/tests/cluster/tools/pause
etcd etcd go.etcd.io/etcd/server/v3
coredns coredns github.com/coredns/coredns
kube-network-policies kube-network-policies sigs.k8s.io/kube-network-policies/cmd
containerd containerd github.com/containerd/containerd/v2/cmd/containerd
containerd containerd-shim-runc-v2 github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2
containerd ctr github.com/containerd/containerd/v2/cmd/ctr
kaniko executor github.com/GoogleContainerTools/kaniko/cmd/executor
kubernetes kubectl k8s.io/kubernetes/cmd/kubectl
kubernetes kube-proxy k8s.io/kubernetes/cmd/kube-proxy
kubernetes kube-scheduler k8s.io/kubernetes/cmd/kube-scheduler
kubernetes kube-controller-manager k8s.io/kubernetes/cmd/kube-controller-manager
kubernetes kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver
kubernetes kubelet k8s.io/kubernetes/cmd/kubelet
TABLE
}

linker_flags() {
  local package flags="-s -w"
  case "$1" in
    kubernetes)
      for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
        flags="$flags -X $package.gitVersion=v$KUBERNETES_VERSION -X $package.gitMajor=1 -X $package.gitMinor=34"
      done
      ;;
    # Else it takes the cluster for one of 1.20 where it cannot ask it.
    helm3) flags="$flags -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=34" ;;
  esac
  echo "$flags"
}

tool_folder() {
  local key
  key="$({ cat "$HERE/tools/$1"/{go.mod,go.sum,*.go}; echo "$GO_VERSION $(uname -m) $(linker_flags "$1")"; } | sha256sum | cut -c1-16)"
  echo "$CACHE/bin/$1-$key"
}

# The folders of the tools of the table, in its order: what the images and the run folder are made from.
tool_folders() {
  local tool
  for tool in pause etcd coredns kube-network-policies containerd kaniko kubernetes; do tool_folder "$tool"; done
}

ensure_tools() {
  local tool binary package folder
  while read -r tool binary package; do
    folder="$(tool_folder "$tool")"
    [ -x "$folder/$binary" ] || step "  build $binary" build "$tool" "$folder/$binary" "$package"
  done < <(binaries)
}

# ensure_program NAME TOOL PACKAGE: the machine's own, else one from the module proxy.
ensure_program() { command -v "$1" >/dev/null || ensure_tool "$@"; }

# ensure_tool NAME TOOL PACKAGE: the one of exactly our version.
ensure_tool() {
  local folder
  folder="$(tool_folder "$2")"
  [ -x "$folder/$1" ] || step "  build $1 ($2)" build "$2" "$folder/$1" "$3"
  touch "$folder"
  export PATH="$folder:$PATH"
}

build() {
  local tool="$1" output="$2" package="$3" go
  go="$(go_command)"
  mkdir -p "$(dirname "$output")"
  # `go` tries a failed download again where it stopped, so the whole build can be tried again.
  retry logged "build-${output##*/}" env -u GOROOT GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0 \
    "$go" build -C "$HERE/tools/$tool" -buildvcs=false -mod=readonly -trimpath -ldflags "$(linker_flags "$tool")" -o "$output.new" "$package"
  mv "$output.new" "$output"
}

# What was not used for a month goes.
prune_cache() {
  local folder
  for folder in $(tool_folders) "$(debian_folder)" "$(rootfs_archive "$PYTHON_SUITE")" "$(rootfs_archive "$NEXT_PYTHON_SUITE")" "$(registry_store)"; do touch "$folder"; done
  find "$CACHE"/{bin,debian,rootfs,images} -mindepth 1 -maxdepth 1 -mtime +30 -exec rm -rf {} +
}

# A `go` of exactly our version: the machine's own, else the toolchain that the module proxy serves (any Go can download it, checksum and
# all; Debian's is installed where there is none).
go_command() {
  local go folder
  if command -v go >/dev/null && [ "$(GOTOOLCHAIN=local go env GOVERSION)" = "go$GO_VERSION" ]; then
    command -v go
    return
  fi
  if ! command -v go >/dev/null; then
    say "installing Go"
    apt_update_once
    retry apt install -y --no-install-recommends golang-go
  fi
  folder="$(cd / && GOTOOLCHAIN=local GOFLAGS=-mod=mod go_toolchain_folder)"
  [ -n "$folder" ] || fail "Go $GO_VERSION could not be fetched from the module proxy (GOPROXY=$(go env GOPROXY))"
  go="$folder/bin/go"
  # Archives of modules carry no executable bits.
  [ -x "$go" ] || chmod -R u+w,a+x "$folder/bin" "$folder/pkg/tool"
  echo "$go"
}

go_toolchain_folder() {
  local platform
  platform="$(go env GOOS)-$(go env GOARCH)"
  retry go mod download -json "golang.org/toolchain@v0.0.1-go$GO_VERSION.$platform" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p'
}
