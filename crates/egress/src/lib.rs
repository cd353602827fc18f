//! Addresses to which this process may send a request when somebody else wrote the address: public hosts over https, and what whoever runs
//! it has listed.
//!
//! A name is judged by the address that is connected to, so that one which resolves to another address a moment later gains nothing, and a
//! redirect is judged like the first address.

mod address;
mod allowed;
mod client;
mod entry;
mod resolver;

use std::collections::BTreeSet;
use std::error::Error;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::client::proxy::matcher::Matcher;
use ipnet::IpNet;
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{ClientBuilder, Url};
use thiserror::Error;

pub use self::address::CLOSED;
use self::address::{is_public, translated};
pub use self::allowed::ALLOW_HOST;
pub use self::allowed::{AllowedHost, NoHost};
pub use self::client::{client_to, within_the_origin};
pub use self::entry::EgressEntry;
use self::resolver::Resolver;

const CONNECT_DEADLINE: Duration = Duration::from_secs(10);
const MOST_REDIRECTS: usize = 5;

/// Entries that whoever runs this process opens.
#[derive(Clone, Copy, Debug)]
pub struct OpenedEntries<'a> {
    /// Origins that may be reached although they are private or without TLS.
    pub entries: &'a [EgressEntry],
    /// The setting that lists them, for messages.
    pub setting: &'static str,
}

/// An address that no request is sent to. Of category configuration.
#[derive(Error, Clone, Debug, PartialEq, Eq)]
#[error("no request is sent to {origin}: {why}; give a public https address, or {}", remedy(.origin, .setting))]
pub struct Refused {
    /// Scheme, host and port, as an entry would name them.
    pub origin: String,
    /// Reason of the refusal.
    pub why: Why,
    /// The setting that would open it.
    pub setting: &'static str,
}

/// Reason for which an address is refused.
#[derive(Error, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It is neither http nor https.
    #[error("it is neither http nor https")]
    Scheme,
    /// It is http.
    #[error("plain http is spoken to listed hosts only")]
    NoTls,
    /// The address is not one of the public internet, or belongs to the cluster.
    #[error("its address is not a public one")]
    NotPublic,
    /// Others of its ports are listed.
    #[error("the host is listed with another scheme or port")]
    OtherOrigin,
    /// A proxy stands between, so that nobody here knows the address.
    #[error("it is reached through a proxy, where its address cannot be checked")]
    Proxy,
}

impl Refused {
    fn new(url: &Url, why: Why, setting: &'static str) -> Self {
        Self {
            origin: url.origin().ascii_serialization(),
            why,
            setting,
        }
    }

    /// The refusal that made a request of a client of [`EgressGate::client_builder`] fail, if it was one.
    #[must_use]
    pub fn within(error: &reqwest::Error) -> Option<Self> {
        let mut causes = std::iter::successors(error.source(), |cause| (*cause).source());
        let refused = causes.find_map(|cause| cause.downcast_ref::<Self>())?;
        // A resolver sees no port.
        let url = error.url().filter(|url| {
            let host = url.host_str().unwrap_or_default();
            refused.origin == format!("https://{host}")
        });
        Some(url.map_or_else(
            || refused.clone(),
            |url| Self::new(url, refused.why, refused.setting),
        ))
    }
}

fn remedy(origin: &str, setting: &str) -> String {
    if setting != ALLOW_HOST {
        return format!("have `{origin}` added to {setting} of the operator");
    }
    let host = Url::parse(origin).ok().and_then(|url| {
        let (host, port) = (url.host_str()?, url.port_or_known_default()?);
        Some(format!("{host}:{port}"))
    });
    format!("{ALLOW_HOST} {}", host.as_deref().unwrap_or(origin))
}

/// Decides which addresses are requested.
#[derive(Clone, Debug)]
pub struct EgressGate(Arc<Rules>);

#[derive(Debug)]
struct Rules {
    allow: Vec<EgressEntry>,
    setting: &'static str,
    closed: Vec<IpNet>,
    proxies: Option<Matcher>,
    /// Hosts of the proxies: their own addresses are no matter of whoever writes a URL.
    proxy_hosts: BTreeSet<String>,
    /// True where a proxy decides what is reached through it.
    trusts_proxies: bool,
}

impl EgressGate {
    /// The gate of somebody's own command: what is public, what the command line opens, and what the proxy of the environment is
    /// asked for, which decides about that.
    #[must_use]
    pub fn of_command_line(opened: &[AllowedHost]) -> Self {
        let entries: Vec<EgressEntry> = opened.iter().map(EgressEntry::from).collect();
        let allowed = OpenedEntries {
            entries: &entries,
            setting: ALLOW_HOST,
        };
        Self::behind(Matcher::from_env(), allowed, Vec::new())
    }

    /// A gate that lets through what is `allowed` and what is public, short of `closed`: public ranges of the cluster's own,
    /// such as the API server's. Proxies are those of this process's environment.
    #[must_use]
    pub fn new(allowed: OpenedEntries<'_>, closed: Vec<IpNet>) -> Self {
        Self::behind(Matcher::from_env(), allowed, closed)
    }

    fn behind(proxies: Matcher, allowed: OpenedEntries<'_>, closed: Vec<IpNet>) -> Self {
        let anywhere = ["http://proxied.invalid/", "https://proxied.invalid/"];
        let proxy_hosts: BTreeSet<String> = anywhere
            .iter()
            // The proxy that would be used is found by asking for made-up addresses.
            .filter_map(|url| proxies.intercept(&url.parse().ok()?))
            .filter_map(|proxy| proxy.uri().host().map(entry::bare_host))
            .collect();
        Self(Arc::new(Rules {
            allow: allowed.entries.to_vec(),
            setting: allowed.setting,
            closed,
            proxies: Some(proxies).filter(|_| !proxy_hosts.is_empty()),
            proxy_hosts,
            trusts_proxies: allowed.setting == ALLOW_HOST,
        }))
    }

    /// A gate without proxies.
    #[cfg(any(test, feature = "test-support"))]
    #[must_use]
    pub fn direct(allow: &[&str], closed: &[&str]) -> Self {
        let entries = allow
            .iter()
            .filter_map(|text| EgressEntry::try_from((*text).to_owned()).ok());
        let allowed = OpenedEntries {
            entries: &entries.collect::<Vec<_>>(),
            setting: "egress.allow",
        };
        let closed = closed.iter().filter_map(|range| range.parse().ok());
        Self::behind(Matcher::builder().build(), allowed, closed.collect())
    }

    /// Reports whether `url` may be requested, as far as its text shows; the address behind a name is checked when it is connected to.
    pub fn check_url(&self, url: &Url) -> Result<(), Refused> {
        self.0.check_url(url)
    }

    /// A client that connects to no address that is refused and follows no redirect to one. Whoever sends its first request
    /// calls [`Self::check_url`] before.
    pub fn client_builder(&self) -> ClientBuilder {
        let rules = Arc::clone(&self.0);
        let builder = reqwest::Client::builder()
            // Judged where the connection is made: a name that is judged earlier may lead to another address a moment later.
            .dns_resolver(Arc::new(Resolver(Arc::clone(&self.0))))
            .redirect(Policy::custom(move |attempt| rules.follow(attempt)))
            .connect_timeout(CONNECT_DEADLINE)
            .user_agent(concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")));
        if self.0.proxies.is_some() {
            builder
        } else {
            // Else the client would read the environment itself, and take a proxy that the rules do not know of.
            builder.no_proxy()
        }
    }
}

impl Rules {
    fn check_url(&self, url: &Url) -> Result<(), Refused> {
        if self.allow.iter().any(|entry| entry.allows(url)) {
            return Ok(());
        }
        match self.objection(url) {
            Some(why) => Err(Refused::new(url, why, self.setting)),
            None => Ok(()),
        }
    }

    /// Returns the reason that speaks against an address that is not listed.
    fn objection(&self, url: &Url) -> Option<Why> {
        match url.scheme() {
            "https" => {}
            "http" => return Some(Why::NoTls),
            _ => return Some(Why::Scheme),
        }
        let host = entry::bare_host(url.host_str().unwrap_or_default());
        let literal = host.parse::<IpAddr>();
        // A literal address is never resolved, so the resolver does not see it.
        if literal.is_ok_and(|address| !self.is_open(address)) {
            return Some(Why::NotPublic);
        }
        if self.proxy_hosts.contains(&host) || (!self.trusts_proxies && self.is_proxied(url)) {
            return Some(Why::Proxy);
        }
        // The resolver sees no port and lets a listed host's addresses pass, so its other origins are refused here.
        self.is_named(&host).then_some(Why::OtherOrigin)
    }

    fn is_proxied(&self, url: &Url) -> bool {
        let Some(proxies) = &self.proxies else {
            return false;
        };
        // What cannot be read as an address of a request is none that goes directly.
        let uri = url.as_str().parse();
        uri.map_or(true, |uri| proxies.intercept(&uri).is_some())
    }

    /// Reports whether an entry names this host. All that is requested of such a host is listed: names are resolved without a port.
    fn is_named(&self, host: &str) -> bool {
        self.allow.iter().any(|entry| entry.names(host))
    }

    /// Reports whether names that lead to `address` may be connected to by whoever has no entry for them.
    fn is_open(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let forms = [Some(address), translated(address)];
        let is_closed = |form: &IpAddr| self.closed.iter().any(|range| range.contains(form));
        is_public(address) && !forms.iter().flatten().any(is_closed)
    }

    fn follow(&self, attempt: Attempt<'_>) -> Action {
        // Each hop is judged as well, but a cycle of permitted ones has no end.
        if attempt.previous().len() > MOST_REDIRECTS {
            return attempt.error("it leads from one address to the next without an end");
        }
        match self.check_url(attempt.url()) {
            Ok(()) => attempt.follow(),
            Err(refused) => attempt.error(refused),
        }
    }
}

#[cfg(test)]
mod tests;
