# shellcheck shell=bash
# What a running cluster says of itself to the commands that come after `up`.
# shellcheck disable=SC2034 # the commands use them

REPOSITORY="$(cd "$HERE/../.." && pwd)"

load_environment() {
  [ -s "$RUN/environment" ] || fail "there is no cluster: run make e2e-up first"
  set -a
  # shellcheck source=/dev/null
  . "$RUN/environment"
  set +a
  PYTHON_IMAGE="${CODEGEN_E2E_PYTHON_IMAGE:-docker.io/library/python:3.11-slim}"
  NEXT_PYTHON_IMAGE="${CODEGEN_E2E_NEXT_PYTHON_IMAGE:-docker.io/library/python:3.13-slim}"
  KANIKO_IMAGE="${CODEGEN_E2E_KANIKO_IMAGE:-gcr.io/kaniko-project/executor:v1.24.0}"
  if [ -x "$RUN/bin/kubectl" ]; then PATH="$RUN/bin:$PATH"; else ensure_program kubectl kubernetes k8s.io/kubernetes/cmd/kubectl; fi
}

# The same for the tests, which are Rust programs: all of it as variables, and the operator that was installed.
load_test_environment() {
  local index
  load_environment
  require_registry
  [ -s "$RUN/installed" ] || fail "the operator is not installed: run make e2e-install first"
  set -a
  # shellcheck source=/dev/null
  . "$RUN/installed"
  CODEGEN_E2E_PYTHON_IMAGE="$PYTHON_IMAGE" CODEGEN_E2E_NEXT_PYTHON_IMAGE="$NEXT_PYTHON_IMAGE" CODEGEN_E2E_KANIKO_IMAGE="$KANIKO_IMAGE"
  CODEGEN_E2E_INSTALLED_VALUES="$RUN/values.yaml"
  index="$(index_url)"
  [ -z "$index" ] || CODEGEN_E2E_INDEX_URL="$index"
  set +a
  ensure_tool helm "${CODEGEN_E2E_HELM:-helm3}" "$(helm_package)"
  cd "$REPOSITORY" || exit
}

require_registry() {
  local name
  for name in CODEGEN_E2E_REGISTRY CODEGEN_E2E_REGISTRY_USER CODEGEN_E2E_REGISTRY_PASSWORD_FILE; do
    [ -n "${!name:-}" ] || fail "$name is not set, and the operator needs a registry: see tests/cluster/README.md"
  done
}

# registry_skopeo COMMAND CERTIFICATES-OPTION ARGUMENTS...: with the password of the private registry, which stands in no argument.
registry_skopeo() {
  local command="$1" certificates=() folder code=0
  [ -z "${CODEGEN_E2E_REGISTRY_CA:-}" ] || certificates=("--$2" "$(dirname "$CODEGEN_E2E_REGISTRY_CA")")
  shift 2
  folder="$(mktemp -d)"
  docker_config >"$folder/auth.json"
  skopeo "$command" --authfile "$folder/auth.json" "${certificates[@]}" "$@" || code=$?
  rm -rf "$folder"
  return "$code"
}

# The credentials of the private registry, as a Secret of type kubernetes.io/dockerconfigjson holds them.
docker_config() {
  local auth
  auth="$(printf '%s:%s' "$CODEGEN_E2E_REGISTRY_USER" "$(<"$CODEGEN_E2E_REGISTRY_PASSWORD_FILE")" | base64 -w0)"
  printf '{"auths": {"%s": {"auth": "%s"}}}\n' "$CODEGEN_E2E_REGISTRY" "$auth"
}

# The package of the Helm that CODEGEN_E2E_HELM names (helm3, helm4).
helm_package() {
  local tool="${CODEGEN_E2E_HELM:-helm3}"
  echo "helm.sh/helm/v${tool#helm}/cmd/helm"
}

# The package index that this machine is set up with; empty for pip's own default.
index_url() { echo "${PIP_INDEX_URL:-$(python3 -m pip config get global.index-url 2>/dev/null || true)}"; }
