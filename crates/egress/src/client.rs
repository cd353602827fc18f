//! Clients of one address: how they connect, and what redirects they follow.

use std::net::IpAddr;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Method, StatusCode, Url};

use super::EgressGate;

const CONNECT_DEADLINE: Duration = Duration::from_secs(10);

/// A client of `url`, through the gate where there is one. It reads no certificates for plain http, so it follows redirects within
/// its origin alone ([`within_the_origin`]).
pub fn client_to(gate: Option<&EgressGate>, url: &Url) -> ClientBuilder {
    // Fails only when a provider is installed already, and then that one serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = match gate {
        Some(gate) => gate.client_builder(),
        None => Client::builder(),
    };
    // No proxy can reach it.
    let builder = if is_loopback(url) {
        builder.no_proxy()
    } else {
        builder
    };
    let builder = match url.scheme() {
        // Without TLS no certificate is needed, and reading the system's takes 30 ms: it is never redirected to https.
        "http" => builder.tls_certs_only([]),
        _ => builder,
    };
    builder.connect_timeout(CONNECT_DEADLINE).user_agent(concat!(
        env!("CARGO_PKG_NAME"),
        "/",
        env!("CARGO_PKG_VERSION")
    ))
}

/// Follows at most `most` redirects, none to another scheme, host or port: credentials stay where they were meant for. Only 307 and
/// 308 where `method` is neither GET nor HEAD, for the others would turn it into a GET.
#[must_use]
pub fn within_the_origin(method: &Method, most: usize) -> Policy {
    let may_be_a_get = matches!(*method, Method::GET | Method::HEAD);
    Policy::custom(move |attempt| {
        let holds_the_method = matches!(
            attempt.status(),
            StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
        );
        let same_origin = attempt
            .previous()
            .iter()
            .all(|previous| previous.origin() == attempt.url().origin());
        if (may_be_a_get || holds_the_method) && same_origin && attempt.previous().len() <= most {
            attempt.follow()
        } else {
            attempt.stop()
        }
    })
}

/// Reports whether an address is one of this machine, where no proxy can reach it.
fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("http://localhost:1/v1", true)]
    #[case("http://127.0.0.1/v1", true)]
    #[case("http://[::1]:8000/v1", true)]
    #[case("https://api.openai.com/v1", false)]
    #[case("http://10.0.0.1/v1", false)]
    #[case("http://127.0.0.1.example.com", false)]
    fn a_server_on_this_machine_is_reached_without_a_proxy(#[case] url: &str, #[case] expected: bool) {
        assert_eq!(is_loopback(&url.parse().unwrap()), expected);
    }
}
