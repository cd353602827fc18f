//! Source of the tokens for a registry: which address of a challenge is asked, and what it says. Pure.

use std::time::Duration;

use http_auth::parse_challenges;
use reqwest::Url;
use serde::Deserialize;

use super::failure::RequestFailure;
use codegen_egress::EgressEntry;

/// The setting that lists further addresses, for messages.
pub(super) const SETTING: &str = "registries.trustedOrigins";

/// Registries whose tokens come from another host, and that host.
const SERVICES: [(&str, &str); 8] = [
    ("index.docker.io", "https://auth.docker.io"),
    ("registry-1.docker.io", "https://auth.docker.io"),
    ("registry.gitlab.com", "https://gitlab.com"),
    ("registry.digitalocean.com", "https://api.digitalocean.com"),
    ("registry.suse.com", "https://scc.suse.com"),
    ("docker.elastic.co", "https://docker-auth.elastic.co"),
    ("lscr.io", "https://ghcr.io"),
    ("registry.redhat.io", "https://sso.redhat.com"),
];
/// Seconds for which a token serves that does not say so: what the specification gives it.
const DEFAULT_SECONDS: u64 = 60;
const LONGEST_SECONDS: u64 = 3_600;
/// It is not used in its last seconds: a request takes some.
const MARGIN_SECONDS: u64 = 10;

/// Origins that tokens of well-known registries come from.
pub(super) fn well_known() -> impl Iterator<Item = EgressEntry> {
    SERVICES
        .into_iter()
        .filter_map(|(_, origin)| EgressEntry::try_from(origin.to_owned()).ok())
}

/// Demand of a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    /// User and password with each request.
    Basic,
    /// A token.
    Bearer {
        /// The address that gives it.
        realm: String,
        /// For whom.
        service: Option<String>,
    },
}

/// Reads what header values of `WWW-Authenticate` ask for: a token where that is one way.
pub(super) fn challenge<'a>(values: impl IntoIterator<Item = &'a str>) -> Option<Challenge> {
    let mut found = None;
    for value in values {
        for challenge in parse_challenges(value).unwrap_or_default() {
            let parameter = |name: &str| {
                let given = challenge.params.iter();
                let mut named = given.filter(|(given, _)| given.eq_ignore_ascii_case(name));
                named.next().map(|(_, value)| value.to_unescaped())
            };
            if challenge.scheme.eq_ignore_ascii_case("bearer")
                && let Some(realm) = parameter("realm")
            {
                let service = parameter("service");
                // A token is preferred: the password is then shown once, and not with each request.
                return Some(Challenge::Bearer { realm, service });
            }
            if challenge.scheme.eq_ignore_ascii_case("basic") {
                found = Some(Challenge::Basic);
            }
        }
    }
    found
}

/// The address that gives tokens for `registry`, where it may be asked: one of the registry itself, or of whom it is known or listed to
/// send there. Without TLS only where the registry is spoken to without.
pub(super) fn service(registry: &Url, realm: &str, trusted: &[EgressEntry]) -> Result<Url, RequestFailure> {
    let Ok(url) = Url::parse(realm) else {
        return Err(RequestFailure::Form("a challenge whose realm is no address"));
    };
    // One of its own addresses learns nothing that the registry does not know.
    if url.origin() == registry.origin() {
        return Ok(url);
    }
    let origin = url.origin().ascii_serialization();
    let refused =
        |why: &str| RequestFailure::Sent(format!("it sends whoever wants a token to {origin}, {why}"));
    // The password would be readable on the way.
    if url.scheme() != "https" && registry.scheme() != "http" {
        return Err(refused(
            "which is plain http, and is itself spoken to with TLS: tokens are not asked for there",
        ));
    }
    let host = registry.host_str().unwrap_or_default();
    // The pairs are for the default port; another port is another registry.
    let is_known = SERVICES
        .iter()
        .any(|(name, service)| *name == host && registry.port().is_none() && *service == origin);
    if is_known || trusted.iter().any(|entry| entry.allows(&url)) {
        return Ok(url);
    }
    Err(refused(&format!(
        "which is not its own address: where that is right, have {origin} added to {SETTING} of the operator"
    )))
}

/// A token, and how long it is used.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// It.
    pub text: String,
    /// From now.
    pub serves: Duration,
}

#[derive(Deserialize)]
struct Given {
    token: Option<String>,
    access_token: Option<String>,
    expires_in: Option<u64>,
}

/// The token in an answer.
pub(super) fn token(answer: &[u8]) -> Result<Token, RequestFailure> {
    let none = RequestFailure::Form("no token");
    let Ok(given) = serde_json::from_slice::<Given>(answer) else {
        return Err(none);
    };
    // A registry may claim any time; an hour is enough to be asked again seldom.
    let seconds = given.expires_in.unwrap_or(DEFAULT_SECONDS).min(LONGEST_SECONDS);
    let text = given.token.or(given.access_token).filter(|text| !text.is_empty());
    Ok(Token {
        text: text.ok_or(none)?,
        serves: Duration::from_secs(seconds.saturating_sub(MARGIN_SECONDS)),
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("https://registry.example", "https://registry.example/token", true)]
    #[case("https://registry.example", "https://registry.example:443/token", true)]
    #[case("https://registry.example", "http://registry.example/token", false)]
    #[case("https://registry.example", "https://registry.example:8443/token", false)]
    #[case("https://registry.example", "https://auth.registry.example/token", false)]
    #[case("https://registry.example", "https://auth.docker.io/token", false)]
    #[case("https://index.docker.io", "https://auth.docker.io/token", true)]
    #[case("https://index.docker.io", "https://auth.docker.io.evil.example/token", false)]
    #[case("https://index.docker.io:444", "https://auth.docker.io/token", false)]
    #[case("https://index.docker.io", "http://auth.docker.io/token", false)]
    #[case("https://registry.example", "https://auth.example/token", true)]
    #[case("https://registry.example", "http://plain.example/token", false)]
    #[case("http://registry.example", "http://plain.example/token", true)]
    #[case("http://registry.example", "http://10.0.0.1/token", false)]
    #[case("https://registry.example", "file:///etc/passwd", false)]
    #[case("https://registry.example", "/token", false)]
    #[case("https://registry.example", "https://registry.example@10.0.0.1/token", false)]
    fn tokens_are_requested_at_the_registry_and_at_its_registered_token_service(
        #[case] registry: &str,
        #[case] realm: &str,
        #[case] is_asked: bool,
    ) {
        let trusted = ["https://auth.example", "http://plain.example"]
            .map(|origin| EgressEntry::try_from(origin.to_owned()).unwrap());
        let found = service(&registry.parse().unwrap(), realm, &trusted);
        assert_eq!(found.is_ok(), is_asked, "{found:?}");
    }

    #[rstest]
    #[case(&["Basic realm=\"a\""], Some(Challenge::Basic))]
    #[case(&["Basic realm=\"a\", Bearer realm=\"https://b\",service=\"c\""],
        Some(Challenge::Bearer { realm: "https://b".into(), service: Some("c".into()) }))]
    #[case(&["Basic realm=\"a\"", "bearer Realm=\"https://b\""],
        Some(Challenge::Bearer { realm: "https://b".into(), service: None }))]
    #[case(&["Bearer service=\"c\""], None)]
    #[case(&["Bearer realm="], None)]
    #[case(&[], None)]
    fn a_token_is_preferred_to_a_password(#[case] values: &[&str], #[case] expected: Option<Challenge>) {
        assert_eq!(challenge(values.iter().copied()), expected);
    }

    #[test]
    fn a_token_serves_as_long_as_it_says_within_bounds() {
        let of = |answer: &str| {
            token(answer.as_bytes())
                .map(|token| (token.text, token.serves.as_secs()))
                .ok()
        };
        assert_eq!(of(r#"{"token": "a"}"#), Some(("a".to_owned(), 50)));
        assert_eq!(
            of(r#"{"access_token": "a", "expires_in": 300}"#),
            Some(("a".to_owned(), 290))
        );
        assert_eq!(
            of(r#"{"token": "a", "expires_in": 999999999}"#),
            Some(("a".to_owned(), 3_590))
        );
        assert_eq!(
            of(r#"{"token": "a", "expires_in": 1}"#),
            Some(("a".to_owned(), 0))
        );
        assert_eq!(of(r#"{"token": ""}"#), None);
        assert_eq!(of("<html>"), None);
    }

    #[test]
    fn every_well_known_service_is_an_origin() {
        assert_eq!(well_known().count(), SERVICES.len());
    }
}
