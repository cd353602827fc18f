//! Names to addresses that may be connected to.

use std::net::SocketAddr;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::{Refused, Rules, Why, entry};

/// Resolves names and withholds every address that is refused.
pub(super) struct Resolver(pub Arc<Rules>);

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let rules = Arc::clone(&self.0);
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let open = rules.open(name.as_str(), found.collect())?;
            Ok(Box::new(open.into_iter()) as Addrs)
        })
    }
}

impl Rules {
    /// Those of the addresses of `host` that may be connected to.
    pub(super) fn open(&self, host: &str, mut found: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, Refused> {
        let host = entry::bare_host(host);
        // `check_url` lets only listed origins of such a host pass, and nothing of a proxy's.
        if self.is_named(&host) || self.proxy_hosts.contains(&host) {
            return Ok(found);
        }
        // An answer may mix public and private addresses: what remains is what may be connected to.
        found.retain(|address| {
            let address = address.ip();
            self.is_open(address) || self.allow.iter().any(|entry| entry.holds(address))
        });
        if found.is_empty() {
            return Err(Refused {
                origin: format!("https://{host}"),
                why: Why::NotPublic,
                setting: self.setting,
            });
        }
        Ok(found)
    }
}
