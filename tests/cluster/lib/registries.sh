# shellcheck shell=bash
# Two registries, so that both ways of trusting one are used by every build:
# * the base registry is anonymous, read-only and plain HTTP: base images come from it, to builds that have no credentials;
# * the private one asks for a password (htpasswd) over TLS with a certificate of the cluster's own authority: results go there. A password
#   belongs on no plain connection, and a registry with a private authority is what users have.
# It logs each request (`logs/registry-private.log`), so that a test can count them.

start_registries() {
  cat >"$RUN/config/registry-base.yaml" <<YAML
version: 0.1
log: {level: warn, accesslog: {disabled: true}}
storage:
  filesystem: {rootdirectory: $(registry_store)/registry}
  maintenance: {uploadpurging: {enabled: false}, readonly: {enabled: true}}
http: {addr: "$BASE_REGISTRY"}
YAML
  cat >"$RUN/config/registry-private.yaml" <<YAML
version: 0.1
log: {level: warn}
storage:
  filesystem: {rootdirectory: $RUN/registry}
  delete: {enabled: true}
auth: {htpasswd: {realm: $NAME, path: $RUN/config/htpasswd}}
http:
  addr: "$PRIVATE_REGISTRY"
  tls: {certificate: $RUN/certificates/registry.crt, key: $RUN/certificates/registry.key}
YAML
  mkdir "$RUN/registry"
  start registry-base "$RUN/bin/docker-registry" serve "$RUN/config/registry-base.yaml"
  start registry-private "$RUN/bin/docker-registry" serve "$RUN/config/registry-private.yaml"
}

wait_for_registries() {
  wait_for 60 "the base registry answers" registry-base curl --noproxy '*' -fsS -m 5 "http://$BASE_REGISTRY/v2/"
  wait_for 60 "the private registry answers" registry-private private_registry_asks_for_a_password
}

private_registry_asks_for_a_password() {
  [ "$(curl --noproxy '*' -sS -m 5 -o /dev/null -w '%{http_code}' --cacert "$RUN/certificates/ca.crt" "https://$PRIVATE_REGISTRY/v2/")" = 401 ]
}
