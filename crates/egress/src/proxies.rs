//! Proxies that somebody names, in the place of those of this process's environment.

use std::collections::BTreeMap;
use std::fmt;

use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{ClientBuilder, NoProxy, Proxy};
use serde::{Deserialize, Serialize};

/// Proxies, as variables name them. None named: those of this process's environment.
#[derive(Serialize, Deserialize, Clone, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Proxies {
    http: String,
    https: String,
    all: String,
    /// Hosts for which no proxy is used.
    no: String,
}

/// The variable that names no proxy. Its value may hold a password.
#[derive(thiserror::Error, Clone, Copy, Debug, PartialEq, Eq)]
#[error("{0} is not the address of a proxy: write http://proxy.example:3128")]
pub struct NoSuchProxy(&'static str);

impl fmt::Debug for Proxies {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An address may hold a password.
        formatter.write_str(if self.is_empty() {
            "Proxies(none)"
        } else {
            "Proxies(..)"
        })
    }
}

impl Proxies {
    /// Reads the proxies that these variables name (`HTTPS_PROXY`, `no_proxy`). As for other programs, those in capitals count first.
    #[must_use]
    pub fn of_variables(variables: &BTreeMap<String, String>) -> Self {
        let value = |name: &str| {
            let found = variables.get(name);
            let found = found.or_else(|| variables.get(&name.to_ascii_lowercase()));
            found.cloned().unwrap_or_default()
        };
        Self {
            http: value("HTTP_PROXY"),
            https: value("HTTPS_PROXY"),
            all: value("ALL_PROXY"),
            no: value("NO_PROXY"),
        }
    }

    fn is_empty(&self) -> bool {
        [&self.http, &self.https, &self.all]
            .iter()
            .all(|address| address.is_empty())
    }

    /// Says which addresses are reached through which of them.
    pub(super) fn matcher(&self) -> Matcher {
        if self.is_empty() {
            return Matcher::from_env();
        }
        let Self { http, https, all, no } = self;
        let matcher = Matcher::builder().http(http.as_str()).https(https.as_str());
        matcher.all(all.as_str()).no(no.as_str()).build()
    }

    /// Has a client go through them.
    pub fn install(&self, builder: ClientBuilder) -> Result<ClientBuilder, NoSuchProxy> {
        type Made = fn(&str) -> reqwest::Result<Proxy>;
        // The first that serves an address is taken.
        let named: [(&str, &str, Made); 3] = [
            ("HTTP_PROXY", &self.http, |address| Proxy::http(address)),
            ("HTTPS_PROXY", &self.https, |address| Proxy::https(address)),
            ("ALL_PROXY", &self.all, |address| Proxy::all(address)),
        ];
        let mut builder = builder;
        for (name, address, made) in named.into_iter().filter(|(_, address, _)| !address.is_empty()) {
            let proxy = made(address).map_err(|_| NoSuchProxy(name))?;
            builder = builder.proxy(proxy.no_proxy(NoProxy::from_string(&self.no)));
        }
        Ok(builder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(variables: &[(&str, &str)]) -> Proxies {
        let variables = variables.iter();
        Proxies::of_variables(
            &variables
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        )
    }

    #[test]
    fn variables_name_proxies_as_they_do_for_other_programs() {
        let proxies = proxies(&[
            ("https_proxy", "http://lower.example:1"),
            ("HTTPS_PROXY", "http://user:hunter2@upper.example:2"),
            ("no_proxy", "direct.example"),
            ("PIP_INDEX_URL", "https://index.example"),
        ]);
        let matcher = proxies.matcher();
        let through = |url: &str| {
            let found = matcher.intercept(&url.parse().unwrap());
            found.map(|proxy| proxy.uri().host().unwrap().to_owned())
        };
        assert_eq!(
            through("https://registry.example/").as_deref(),
            Some("upper.example")
        );
        assert_eq!(through("https://direct.example/"), None);
        assert_eq!(through("http://registry.example/"), None);
        assert!(!format!("{proxies:?}").contains("hunter2"));
    }

    #[test]
    fn what_is_no_proxy_is_named_by_its_variable_alone() {
        let install = |address: &str| {
            let installed = proxies(&[("ALL_PROXY", address)]).install(ClientBuilder::new());
            installed.map(drop)
        };
        assert_eq!(install("http://proxy.example:3128"), Ok(()));
        let refused = install("http://user:hunter2@proxy example").unwrap_err();
        assert_eq!(
            refused.to_string(),
            "ALL_PROXY is not the address of a proxy: write http://proxy.example:3128"
        );
    }
}
