//! Hosts that a command line opens beside the public internet. Pure, but for names.

use std::io;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;
use reqwest::Url;
use thiserror::Error;

/// The option that opens hosts, for messages.
pub const ALLOW_HOST: &str = "--allow-host";

/// A host, an address or a range of them that whoever runs a command opens, at one port or at every port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedHost {
    pub(super) host: Host,
    /// The one port that is opened.
    pub port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Host {
    Name(String),
    Range(IpNet),
}

/// A text that names no host.
#[derive(Error, Clone, Debug, PartialEq, Eq)]
#[error(
    "`{0}` is no host: write a name, an address or a range, like files.lan:8080, 127.0.0.1:11434 or 10.1.0.0/16"
)]
pub struct NoHost(String);

impl FromStr for AllowedHost {
    type Err = NoHost;

    fn from_str(text: &str) -> Result<Self, NoHost> {
        let wrong = || NoHost(text.to_owned());
        if let Ok(range) = text.parse::<IpNet>() {
            let host = Host::Range(range.trunc());
            return Ok(Self { host, port: None });
        }
        if let Ok(address) = text.trim_matches(['[', ']']).parse::<IpAddr>() {
            return Ok(Self::at(address, None));
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse().map_err(|_| wrong())?)),
            None => (text, None),
        };
        if let Ok(address) = host.trim_matches(['[', ']']).parse() {
            return Ok(Self::at(address, port));
        }
        let is_of_a_name = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if host.is_empty() || !host.chars().all(is_of_a_name) {
            return Err(wrong());
        }
        // As URLs have it.
        let host = Host::Name(host.trim_end_matches('.').to_ascii_lowercase());
        Ok(Self { host, port })
    }
}

impl AllowedHost {
    fn at(address: IpAddr, port: Option<u16>) -> Self {
        let host = Host::Range(address.to_canonical().into());
        Self { host, port }
    }

    /// The host and port of a URL; None where it has none.
    #[must_use]
    pub fn of_url(url: &Url) -> Option<Self> {
        let port = url.port_or_known_default();
        let opened: Self = url.host_str()?.parse().ok()?;
        Some(Self { port, ..opened })
    }

    /// The name, where it is given by one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match &self.host {
            Host::Name(name) => Some(name),
            Host::Range(_) => None,
        }
    }

    /// The addresses that are meant now.
    pub async fn ranges(&self) -> io::Result<Vec<IpNet>> {
        match &self.host {
            Host::Range(range) => Ok(vec![*range]),
            Host::Name(name) => {
                let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
                Ok(found.map(|address| address.ip().to_canonical().into()).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("files.lan", "https://files.lan:8443/a", true)]
    #[case("files.lan:8080", "http://FILES.lan.:8080/a", true)]
    #[case("files.lan:8080", "http://files.lan/a", false)]
    #[case("files.lan", "http://other.lan/a", false)]
    #[case("10.1.0.0/16", "http://10.1.2.3:99/", true)]
    #[case("10.1.2.3/16", "http://10.1.9.9/", true)]
    #[case("10.1.0.0/16", "http://10.2.0.1/", false)]
    #[case("127.0.0.1:80", "http://2130706433/", true)]
    #[case("127.0.0.1:80", "https://127.0.0.1/", false)]
    #[case("[fd00::1]:80", "http://[fd00:0::1]/", true)]
    #[case("fd00::1", "http://[fd00::1]:8080/", true)]
    #[case("::ffff:10.0.0.1", "http://10.0.0.1/", true)]
    #[case("files.lan", "ftp://files.lan/a", false)]
    fn a_host_is_opened_at_its_port_over_http_and_https(
        #[case] text: &str,
        #[case] url: &str,
        #[case] allowed: bool,
    ) {
        let host: AllowedHost = text.parse().unwrap();
        let entry = crate::EgressEntry::from(&host);
        assert_eq!(entry.allows(&url.parse().unwrap()), allowed);
    }

    #[rstest]
    #[case("")]
    #[case(":80")]
    #[case("http://files.lan")]
    #[case("*.lan")]
    #[case("files.lan:http")]
    #[case("files.lan:80:80")]
    #[case("10.0.0.0/33")]
    fn what_is_no_host_is_refused(#[case] text: &str) {
        assert_eq!(text.parse::<AllowedHost>(), Err(NoHost(text.to_owned())));
    }
}
