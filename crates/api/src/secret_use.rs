//! Uses of a Secret, as its owner allows them by a label, its type and an annotation.
//!
//! The operator reads Secrets on behalf of whoever creates a task, who may not be allowed to read them. A Secret is therefore
//! used only for what its label or its type names, and a model's key is sent only to hosts that its annotation names.

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use url::Url;

use super::model::Provider;

/// Label of a Secret: what tasks of its namespace may use it for.
pub const USE_LABEL: &str = "codegen-operator.dev/use";
/// Beginning of the types of Secrets that say by their type what they are for (`codegen-operator.dev/model`), where they have no label: such
/// a Secret is made by one command.
const USE_TYPE: &str = "codegen-operator.dev/";
/// Annotation of a Secret of use `model` or `tool`: where its values may be sent, `host[:port]` divided by commas. The port is 443 where none is named;
/// `*.` at the beginning stands for one or more labels.
pub const HOSTS_ANNOTATION: &str = "codegen-operator.dev/hosts";

/// Value of [`USE_LABEL`] on a `PersistentVolumeClaim` that tasks of its namespace may mount.
pub const USE_OF_CLAIMS: &str = "data";

const HTTPS: u16 = 443;

/// Reason for which a Secret is not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the Secret {secret} {reason}: {remedy}")]
pub struct SecretRefusal {
    /// Namespace and name.
    pub secret: String,
    /// Use or address that its owner did not allow.
    pub reason: String,
    /// Step that the owner of the Secret, or of the task, can take.
    pub remedy: String,
}

/// Use that a Secret may be put to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretUse {
    /// Key or header of a model's endpoint.
    Model,
    /// Credentials of a registry.
    Registry,
    /// Environment of the program and its tests. Whoever may create tasks in the namespace can read it.
    Sandbox,
    /// Header of a tool of code mode.
    Tool,
}

impl SecretUse {
    /// Value of the label.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Registry => "registry",
            Self::Sandbox => "sandbox",
            Self::Tool => "tool",
        }
    }

    /// Checks that the Secret may be put to this use, by its label, or by its type where it has no label.
    ///
    /// # Errors
    /// The label names another use, or neither names one.
    pub fn check(self, secret: &Secret) -> Result<(), SecretRefusal> {
        let wanted = self.as_str();
        let metadata = &secret.metadata;
        let label = metadata.labels.as_ref().and_then(|labels| labels.get(USE_LABEL));
        let of_type = secret.type_.as_ref().and_then(|name| name.strip_prefix(USE_TYPE));
        let (namespace, name) = identity(metadata);
        let (reason, remedy) = match label {
            // A label goes before the type: a type cannot be changed any more, and a label can.
            Some(label) if label == wanted => return Ok(()),
            None if of_type == Some(wanted) => return Ok(()),
            Some(label) => (
                format!(
                    "may be used for `{label}` only, as its label {USE_LABEL} says, and not for `{wanted}`"
                ),
                "name another Secret".to_owned(),
            ),
            None => (
                format!("may not be used for `{wanted}`"),
                format!(
                    "if every task of {namespace} may do so, run `kubectl -n {namespace} label secret {name} {USE_LABEL}={wanted}`"
                ),
            ),
        };
        Err(SecretRefusal {
            secret: format!("{namespace}/{name}"),
            reason,
            remedy,
        })
    }
}

/// Checks that the values of a Secret of use `model` may be sent to `base_url`, the address in `field`.
///
/// # Errors
/// Its annotation, or the provider's own host where there is none, does not name the host and port.
pub fn check_host(
    secret: &ObjectMeta,
    provider: Provider,
    field: &str,
    base_url: &str,
) -> Result<(), SecretRefusal> {
    // Without an annotation the key goes where the provider itself is, so that a task's `baseURL` cannot lead it away.
    check_address(secret, Some(provider.own_host()), (field, base_url))
}

/// Checks that the values of a Secret of use `tool` may be sent to `url`, the address in `field`.
///
/// # Errors
/// Its annotation does not name the host and port, or there is none.
pub fn check_tool_host(secret: &ObjectMeta, field: &str, url: &str) -> Result<(), SecretRefusal> {
    check_address(secret, None, (field, url))
}

/// Checks that the values of a Secret may be sent to an address. `own` are the hosts of one without an annotation.
fn check_address(
    secret: &ObjectMeta,
    own: Option<&str>,
    (field, address): (&str, &str),
) -> Result<(), SecretRefusal> {
    let (namespace, name) = identity(secret);
    let refused = |reason: String, remedy: String| SecretRefusal {
        secret: format!("{namespace}/{name}"),
        reason,
        remedy,
    };
    let Some((target, shown)) = target(address) else {
        return Err(refused(
            "is sent nowhere".to_owned(),
            format!("{field} is not an http or https address with a host: correct it"),
        ));
    };
    let annotation = secret
        .annotations
        .as_ref()
        .and_then(|annotations| annotations.get(HOSTS_ANNOTATION));
    let hosts = annotation.map(String::as_str).or(own).unwrap_or_default();
    if hosts.split(',').any(|entry| is_named_by(&target, entry.trim())) {
        return Ok(());
    }
    let entry = target.to_string();
    let all = annotation.map_or_else(|| entry.clone(), |hosts| format!("{hosts},{entry}"));
    let allowed = match hosts {
        "" => "says of no host that it may be sent there".to_owned(),
        hosts => format!("may be sent to {hosts} only"),
    };
    Err(refused(
        format!("{allowed}, and {field} is {shown}"),
        format!(
            "correct the address, or run `kubectl -n {namespace} annotate --overwrite secret {name} {HOSTS_ANNOTATION}={all}`"
        ),
    ))
}

fn identity(secret: &ObjectMeta) -> (&str, &str) {
    (
        secret.namespace.as_deref().unwrap_or_default(),
        secret.name.as_deref().unwrap_or_default(),
    )
}

/// A host, lower case, and a port.
struct Target {
    host: String,
    port: u16,
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.port {
            HTTPS => f.write_str(&self.host),
            port => write!(f, "{}:{port}", self.host),
        }
    }
}

/// Host and port of an address, and the address without what may be secret in it.
fn target(base_url: &str) -> Option<(Target, String)> {
    let url = Url::parse(base_url).ok()?;
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    let host = url.host_str()?.to_lowercase();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    // A user, a password or a query of the address is not shown.
    let shown = format!("{}://{host}{port}{}", url.scheme(), url.path());
    let port = url.port_or_known_default()?;
    Some((Target { host, port }, shown))
}

fn is_named_by(target: &Target, entry: &str) -> bool {
    // An IPv6 address has colons of its own, in brackets.
    let (host, port) = match entry.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => match port.parse() {
            Ok(port) => (host, port),
            Err(_) => return false,
        },
        _ => (entry, HTTPS),
    };
    let host = host.to_lowercase();
    let is_host = host.strip_prefix("*.").map_or_else(
        || target.host == host,
        |suffix| {
            target
                .host
                .strip_suffix(suffix)
                // At least one label stands before the suffix: `*.example.com` is not `example.com`.
                .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
        },
    );
    is_host && target.port == port
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn metadata(label: Option<&str>, hosts: Option<&str>) -> ObjectMeta {
        let one = |key: &str, value: &str| BTreeMap::from([(key.to_owned(), value.to_owned())]);
        ObjectMeta {
            namespace: Some("team-a".to_owned()),
            name: Some("openai".to_owned()),
            labels: label.map(|label| one(USE_LABEL, label)),
            annotations: hosts.map(|hosts| one(HOSTS_ANNOTATION, hosts)),
            ..ObjectMeta::default()
        }
    }

    fn secret(label: Option<&str>, type_: &str) -> Secret {
        Secret {
            metadata: metadata(label, None),
            type_: Some(type_.to_owned()),
            ..Secret::default()
        }
    }

    fn may_go_to(hosts: Option<&str>, base_url: &str) -> bool {
        check_host(&metadata(Some("model"), hosts), Provider::OpenAI, "f", base_url).is_ok()
    }

    #[test]
    fn a_secret_is_used_for_what_its_label_names_and_nothing_else() {
        assert_eq!(SecretUse::Model.check(&secret(Some("model"), "Opaque")), Ok(()));
        assert_eq!(
            SecretUse::Model
                .check(&secret(None, "Opaque"))
                .unwrap_err()
                .to_string(),
            "the Secret team-a/openai may not be used for `model`: if every task of team-a may do so, run `kubectl -n team-a label \
             secret openai codegen-operator.dev/use=model`"
        );
        assert_eq!(
            SecretUse::Sandbox
                .check(&secret(Some("model"), "Opaque"))
                .unwrap_err()
                .to_string(),
            "the Secret team-a/openai may be used for `model` only, as its label codegen-operator.dev/use says, and not for `sandbox`: name \
             another Secret"
        );
    }

    #[test]
    fn a_type_says_what_a_secret_without_a_label_is_for() {
        let of_type = |label, type_| SecretUse::Model.check(&secret(label, type_)).is_ok();
        assert!(of_type(None, "codegen-operator.dev/model"));
        assert!(!of_type(None, "codegen-operator.dev/sandbox"));
        assert!(!of_type(None, "codegen-operator.dev/result"));
        assert!(!of_type(None, "model"));
        assert!(!of_type(Some("sandbox"), "codegen-operator.dev/model"));
    }

    #[test]
    fn a_key_goes_to_its_providers_own_host_when_nothing_is_said() {
        assert!(may_go_to(None, "https://api.openai.com/v1"));
        assert!(may_go_to(None, "https://API.OpenAI.com:443/v1"));
        assert!(!may_go_to(None, "https://api.anthropic.com"));
        assert!(!may_go_to(None, "http://api.openai.com/v1"));
        assert!(!may_go_to(None, "https://api.openai.com:8443/v1"));
        assert!(!may_go_to(None, "https://api.openai.com.example.com/v1"));
        assert!(!may_go_to(None, "https://api.openai.com@example.com/v1"));
        assert!(!may_go_to(None, "https://example.com/api.openai.com"));
    }

    #[test]
    fn named_hosts_replace_the_providers_own() {
        let hosts = Some("gateway.example.com, ollama.models:11434,*.azure.example,[fd00::1]:8080");
        assert!(may_go_to(hosts, "https://gateway.example.com/openai"));
        assert!(may_go_to(hosts, "http://ollama.models:11434/v1"));
        assert!(may_go_to(hosts, "https://a.b.azure.example"));
        assert!(may_go_to(hosts, "http://[fd00::1]:8080/v1"));
        assert!(!may_go_to(hosts, "https://azure.example"));
        assert!(!may_go_to(hosts, "https://xazure.example"));
        assert!(!may_go_to(hosts, "https://.azure.example"));
        assert!(!may_go_to(hosts, "http://ollama.models/v1"));
        assert!(!may_go_to(hosts, "https://api.openai.com/v1"));
        assert!(!may_go_to(Some(""), "https://api.openai.com/v1"));
    }

    #[test]
    fn a_secret_of_a_tool_goes_nowhere_until_its_annotation_names_the_host() {
        let check =
            |hosts, url| check_tool_host(&metadata(Some("tool"), hosts), "spec.tools[0].http.url", url);
        assert!(check(Some("rates.example"), "https://rates.example/v1/{base}").is_ok());
        assert!(check(Some("rates.example"), "https://other.example/v1").is_err());
        assert_eq!(
            check(None, "https://rates.example/v1").unwrap_err().to_string(),
            "the Secret team-a/openai says of no host that it may be sent there, and spec.tools[0].http.url is https://rates.example/v1: \
             correct the address, or run `kubectl -n team-a annotate --overwrite secret openai codegen-operator.dev/hosts=rates.example`"
        );
    }

    #[test]
    fn a_refused_address_is_said_without_its_secrets_and_with_what_would_allow_it() {
        let refused = check_host(
            &metadata(Some("model"), None),
            Provider::OpenAI,
            "spec.model.baseURL",
            "http://user:hidden@replies:8080/x/v1?key=hidden",
        );
        assert_eq!(
            refused.unwrap_err().to_string(),
            "the Secret team-a/openai may be sent to api.openai.com only, and spec.model.baseURL is http://replies:8080/x/v1: correct the \
             address, or run `kubectl -n team-a annotate --overwrite secret openai codegen-operator.dev/hosts=replies:8080`"
        );
    }
}
