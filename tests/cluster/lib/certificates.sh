# shellcheck shell=bash
# One authority for the whole cluster, one certificate and kubeconfig per component, credentials of the private registry.

create_certificates() {
  local nodes="IP:127.0.0.1,IP:$NODE_IP,DNS:localhost,DNS:$NAME"
  pushd "$RUN/certificates" >/dev/null || return
  openssl ecparam -name prime256v1 -genkey -noout -out ca.key
  openssl req -x509 -new -key ca.key -subj "/CN=$NAME-ca" -days 365 -out ca.crt
  # Alone in a folder: tools that take a folder of authorities take every file in it.
  mkdir -p "$RUN/trust"
  cp ca.crt "$RUN/trust/ca.crt"
  openssl ecparam -name prime256v1 -genkey -noout -out service-account.key
  openssl ec -in service-account.key -pubout -out service-account.pub 2>/dev/null

  certificate apiserver /CN=kube-apiserver \
    "$nodes,IP:$API_SERVICE_IP,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local"
  certificate kubelet-client /O=system:masters/CN=kube-apiserver-kubelet-client
  certificate registry /CN=registry "$nodes"
  certificate admin /O=system:masters/CN=admin
  certificate controller-manager /CN=system:kube-controller-manager
  certificate scheduler /CN=system:kube-scheduler
  certificate proxy /CN=system:kube-proxy
  certificate kubelet "/O=system:nodes/CN=system:node:$NAME" "$nodes"
  popd >/dev/null || return

  local component
  for component in controller-manager scheduler proxy kubelet; do kubeconfig "$component" "$RUN/kubeconfigs/$component"; done
  kubeconfig admin "$RUN/kubeconfig"
  create_registry_password
}

# certificate NAME SUBJECT [SUBJECT-ALTERNATIVE-NAMES]
certificate() {
  openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"
  openssl req -new -key "$1.key" -subj "$2" |
    openssl x509 -req -CA ca.crt -CAkey ca.key -CAcreateserial -days 365 -out "$1.crt" 2>/dev/null \
      -extfile <(echo "extendedKeyUsage=clientAuth,serverAuth"; [ -z "${3:-}" ] || echo "subjectAltName=$3")
}

kubeconfig() {
  local folder="$RUN/certificates"
  (
    umask 077
    cat >"$2" <<YAML
apiVersion: v1
kind: Config
current-context: $NAME
clusters:
- name: $NAME
  cluster: {server: "https://$NODE_IP:6443", certificate-authority-data: $(base64 -w0 "$folder/ca.crt")}
users:
- name: $1
  user: {client-certificate-data: $(base64 -w0 "$folder/$1.crt"), client-key-data: $(base64 -w0 "$folder/$1.key")}
contexts:
- name: $NAME
  context: {cluster: $NAME, user: $1}
YAML
  )
}

# bcrypt by the C library, through Perl, which every Debian has; the lowest cost, since each request pays it.
create_registry_password() {
  local password salt
  password="$(openssl rand -hex 16)"
  salt="$(openssl rand -hex 11)"
  (umask 077; echo "$password" >"$RUN/registry-password")
  # shellcheck disable=SC2016 # Perl's variables
  perl -e 'print "codegen:", crypt($ARGV[0], q($2b$05$) . $ARGV[1]), "\n"' "$password" "$salt" >"$RUN/config/htpasswd"
}
