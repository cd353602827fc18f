//! Credentials from a `.dockerconfigjson`, as Kubernetes keeps them in Secrets of type `kubernetes.io/dockerconfigjson`.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use serde::Deserialize;

/// Reason for which a file with credentials cannot be used. No message quotes the file.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum CredentialsError {
    /// It is no JSON of that shape.
    #[error("the registry credentials are no .dockerconfigjson: line {line}, column {column}")]
    Json {
        /// Line of the fault.
        line: usize,
        /// Column of the fault.
        column: usize,
    },
    /// `auth` is not `user:password` in base64.
    #[error("the registry credentials for {0}: `auth` is not `user:password` in base64")]
    Auth(String),
}

/// Credentials by registry.
#[derive(Clone, Default)]
pub struct Credentials {
    by_host: BTreeMap<String, Login>,
}

/// User and password.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Login {
    user: String,
    password: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Only hosts: a derived `Debug` would print passwords into logs.
        formatter.debug_set().entries(self.by_host.keys()).finish()
    }
}

#[derive(Deserialize)]
struct ConfigFile {
    #[serde(default)]
    auths: BTreeMap<String, AuthEntry>,
}

#[derive(Deserialize)]
struct AuthEntry {
    #[serde(default)]
    auth: String,
    #[serde(default)]
    username: String,
    #[serde(default)]
    password: String,
}

impl Credentials {
    /// Reads the content of a `.dockerconfigjson`.
    pub fn from_docker_config(json: &[u8]) -> Result<Self, CredentialsError> {
        let file: ConfigFile = serde_json::from_slice(json).map_err(|error| CredentialsError::Json {
            line: error.line(),
            column: error.column(),
        })?;
        let mut by_host = BTreeMap::new();
        for (key, entry) in file.auths {
            let host = host_of(&key).to_owned();
            if let Some(login) = login(&host, entry)? {
                by_host.insert(host, login);
            }
        }
        Ok(Self { by_host })
    }

    /// Reports whether there is anything to show to the registry of this host.
    #[must_use]
    pub fn knows(&self, host: &str) -> bool {
        self.by_host.contains_key(host_of(host))
    }

    /// The credentials for the registry of this host, where there are any.
    #[must_use]
    pub(super) fn for_host(&self, host: &str) -> Option<Login> {
        self.by_host.get(host_of(host)).cloned()
    }
}

impl Login {
    /// As a header of a request.
    pub fn header(&self) -> HeaderValue {
        let encoded = STANDARD.encode(format!("{}:{}", self.user, self.password));
        // Base 64 is no letter that a header cannot have.
        let mut value = HeaderValue::from_str(&format!("Basic {encoded}"))
            .unwrap_or_else(|_| HeaderValue::from_static("Basic"));
        // Hidden from `Debug`, and not indexed by HTTP/2.
        value.set_sensitive(true);
        value
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Login")
    }
}

fn login(host: &str, entry: AuthEntry) -> Result<Option<Login>, CredentialsError> {
    // A Secret that kubectl makes has both forms; they say the same.
    if !entry.username.is_empty() {
        return Ok(Some(Login {
            user: entry.username,
            password: entry.password,
        }));
    }
    if entry.auth.is_empty() {
        return Ok(None);
    }
    let invalid = || CredentialsError::Auth(host.to_owned());
    let bytes = STANDARD.decode(entry.auth.trim()).map_err(|_| invalid())?;
    let text = String::from_utf8(bytes).map_err(|_| invalid())?;
    let (user, password) = text.split_once(':').ok_or_else(invalid)?;
    Ok(Some(Login {
        user: user.to_owned(),
        password: password.to_owned(),
    }))
}

/// The host of a key: `https://registry.example:5000/v1/` is `registry.example:5000`; all names of Docker Hub are one.
fn host_of(key: &str) -> &str {
    let key = key
        .strip_prefix("https://")
        .or_else(|| key.strip_prefix("http://"))
        .unwrap_or(key);
    // Old configurations name a path (`/v1/`) below the host.
    let host = key.split('/').next().unwrap_or(key);
    match host {
        "docker.io" | "registry-1.docker.io" | "registry.hub.docker.com" => "index.docker.io",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn of(user: &str, password: &str) -> Login {
        Login {
            user: user.to_owned(),
            password: password.to_owned(),
        }
    }

    fn credentials(json: &str) -> Credentials {
        Credentials::from_docker_config(json.as_bytes()).unwrap()
    }

    #[rstest]
    #[case("registry.example:5000", "registry.example:5000")]
    #[case("https://registry.example:5000/v1/", "registry.example:5000")]
    #[case("https://index.docker.io/v1/", "docker.io")]
    fn a_key_names_its_host(#[case] key: &str, #[case] host: &str) {
        let found = credentials(&format!(
            r#"{{"auths": {{"{key}": {{"auth": "{}"}}}}}}"#,
            STANDARD.encode("a:b:c")
        ));
        assert_eq!(found.for_host(host), Some(of("a", "b:c")));
        assert_eq!(found.for_host("other.example"), None);
    }

    #[test]
    fn user_and_password_may_stand_apart() {
        let found = credentials(r#"{"auths": {"r": {"username": "a", "password": "b"}, "empty": {}}}"#);
        assert_eq!(found.for_host("r"), Some(of("a", "b")));
        assert_eq!(found.for_host("empty"), None);
    }

    #[test]
    fn what_cannot_be_read_is_named_and_never_quoted() {
        let of = |json: &str| {
            Credentials::from_docker_config(json.as_bytes())
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            of(r#"{"auths": {"r": {"auth": "hunter2"#),
            "the registry credentials are no .dockerconfigjson: line 1, column 33"
        );
        assert_eq!(
            of(r#"{"auths": {"r": {"auth": "hunter2!"}}}"#),
            "the registry credentials for r: `auth` is not `user:password` in base64"
        );
    }

    #[test]
    fn debug_shows_hosts_and_no_password() {
        let found = credentials(r#"{"auths": {"r": {"username": "a", "password": "hunter2"}}}"#);
        assert_eq!(format!("{found:?}"), r#"{"r"}"#);
    }
}
