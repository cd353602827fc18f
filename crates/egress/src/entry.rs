//! One origin that is opened. Pure.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;
use reqwest::Url;
use serde::Deserialize;
use thiserror::Error;

use super::allowed::{self, AllowedHost};

/// A scheme, a host and a port that may be requested whatever their address is.
#[derive(Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(try_from = "String")]
pub struct EgressEntry {
    /// None: both.
    scheme: Option<String>,
    host: Host,
    /// None: each.
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    One(String),
    /// Every host whose name ends like this, with the dot.
    Below(String),
    Range(IpNet),
}

impl From<&AllowedHost> for EgressEntry {
    fn from(allowed: &AllowedHost) -> Self {
        Self {
            scheme: None,
            host: match &allowed.host {
                allowed::Host::Name(name) => Host::One(name.clone()),
                allowed::Host::Range(range) => Host::Range(*range),
            },
            port: allowed.port,
        }
    }
}

/// A text that is no origin.
#[derive(Error, Clone, Debug, PartialEq, Eq)]
#[error(
    "`{0}` is no origin: write scheme, host and port alone, like http://files.data:8080 or https://*.example.com"
)]
pub struct EntryError(String);

impl FromStr for EgressEntry {
    type Err = EntryError;

    fn from_str(text: &str) -> Result<Self, EntryError> {
        Self::try_from(text.to_owned())
    }
}

impl TryFrom<String> for EgressEntry {
    type Error = EntryError;

    fn try_from(text: String) -> Result<Self, EntryError> {
        let (plain, is_wildcard) = match text.split_once("://*.") {
            Some((scheme, rest)) => (format!("{scheme}://{rest}"), true),
            None => (text.clone(), false),
        };
        let url = Url::parse(&plain).ok().filter(is_origin);
        let Some((url, host)) = url.and_then(|url| {
            let host = bare_host(url.host_str()?);
            Some((url, host))
        }) else {
            return Err(EntryError(text));
        };
        // A star before an address, or before a domain's last part, is nobody's intention.
        if host.contains('*') || (is_wildcard && (url.domain().is_none() || !host.contains('.'))) {
            return Err(EntryError(text));
        }
        Ok(Self {
            scheme: Some(url.scheme().to_owned()),
            port: url.port_or_known_default(),
            host: if is_wildcard {
                Host::Below(format!(".{host}"))
            } else {
                Host::One(host)
            },
        })
    }
}

impl fmt::Display for EgressEntry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (star, host) = match &self.host {
            Host::One(host) => ("", host.clone()),
            Host::Below(end) => ("*", end.clone()),
            Host::Range(range) => ("", range.to_string()),
        };
        let brackets = if host.contains(':') { ("[", "]") } else { ("", "") };
        if let Some(scheme) = &self.scheme {
            write!(formatter, "{scheme}://")?;
        }
        write!(formatter, "{star}{}{host}{}", brackets.0, brackets.1)?;
        match self.port {
            Some(port) => write!(formatter, ":{port}"),
            None => Ok(()),
        }
    }
}

impl EgressEntry {
    /// Reports whether it opens `url`.
    #[must_use]
    pub fn allows(&self, url: &Url) -> bool {
        // The port counts, too: other services of a listed host are not opened with it.
        let has_scheme = match &self.scheme {
            Some(scheme) => scheme == url.scheme(),
            None => matches!(url.scheme(), "http" | "https"),
        };
        let has_port = self.port.is_none() || self.port == url.port_or_known_default();
        has_scheme && has_port && url.host_str().is_some_and(|host| self.names(&bare_host(host)))
    }

    /// Reports whether it opens some port of `host`.
    pub(super) fn names(&self, host: &str) -> bool {
        match &self.host {
            Host::One(name) => name == host,
            Host::Below(end) => host.ends_with(end.as_str()),
            Host::Range(_) => host.parse().is_ok_and(|address| self.holds(address)),
        }
    }

    /// Reports whether it opens a range that holds this address.
    pub(super) fn holds(&self, address: IpAddr) -> bool {
        matches!(&self.host, Host::Range(range) if range.contains(&address.to_canonical()))
    }
}

fn is_origin(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
        && url.path() == "/"
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none()
}

/// A host without the brackets of an IPv6 address and the dot that ends a full name, in small letters.
pub(super) fn bare_host(host: &str) -> String {
    // `files.data.` and `files.data` are one host; a list that knows one must know the other.
    host.trim_matches(['[', ']'])
        .trim_end_matches('.')
        .to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn entry(text: &str) -> Result<EgressEntry, EntryError> {
        EgressEntry::try_from(text.to_owned())
    }

    #[rstest]
    #[case("http://files.data:8080", "http://files.data:8080/a/b?c", true)]
    #[case("http://files.data:8080", "http://FILES.data.:8080/", true)]
    #[case("http://files.data:8080", "https://files.data:8080/", false)]
    #[case("http://files.data:8080", "http://files.data/", false)]
    #[case("https://files.data", "https://files.data:443/", true)]
    #[case("https://*.example.com", "https://a.b.example.com/", true)]
    #[case("https://*.example.com", "https://example.com/", false)]
    #[case("https://*.example.com", "https://badexample.com/", false)]
    #[case("http://10.0.0.5", "http://10.0.0.5/", true)]
    #[case("http://10.0.0.5", "http://167772165/", true)]
    #[case("http://[fd00::1]:80", "http://[FD00:0::1]/", true)]
    fn an_entry_opens_its_own_origin_alone(#[case] text: &str, #[case] url: &str, #[case] allowed: bool) {
        assert_eq!(entry(text).unwrap().allows(&url.parse().unwrap()), allowed);
    }

    #[rstest]
    #[case("http://files.data:8080")]
    #[case("https://files.data")]
    #[case("https://*.example.com")]
    #[case("http://[fd00::1]:80")]
    fn an_entry_displays_as_it_was_parsed(#[case] text: &str) {
        let read = entry(text).unwrap();
        assert_eq!(read.to_string().parse(), Ok(read));
    }

    #[rstest]
    #[case("files.data:8080")]
    #[case("ftp://files.data")]
    #[case("http://files.data/path")]
    #[case("http://me:you@files.data")]
    #[case("http://*")]
    #[case("http://*.com")]
    #[case("http://a*.example.com")]
    #[case("http://*.*.example.com")]
    #[case("http://*.10.0.0.1")]
    fn what_is_no_origin_is_refused(#[case] text: &str) {
        assert_eq!(entry(text), Err(EntryError(text.to_owned())));
    }
}
