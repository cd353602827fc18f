//! Choice of the package index for a build, and a look at what that has of what is to be installed.

use std::collections::BTreeMap;

use reqwest::Url;

use super::{Build, KubernetesSandbox};
use crate::index::{self, Where};
use crate::{ImageSpec, SandboxError};
use codegen_api::image::default_base;
use codegen_package_index::PYPI;

/// Variable that names the package index.
pub(super) const INDEX_URL: &str = "PIP_INDEX_URL";
/// Variables by which packages come from other indexes too.
const OTHER_SOURCES: [&str; 4] = [
    "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS",
    "PIP_NO_INDEX",
    "PIP_CONFIG_FILE",
];

impl Build<'_> {
    /// Asks the index for all that is to be installed: what it lacks costs no build.
    pub(super) async fn verify(&self) -> Result<(), SandboxError> {
        // What was installed before was judged then.
        if self.spec.lock.is_some() {
            return Ok(());
        }
        index::verify(self.sandbox.index, self.spec, self.place()).await
    }

    fn place(&self) -> Where<'_> {
        Where {
            index: index_to_ask(self.sandbox, self.spec),
            python: &self.spec.python_version,
        }
    }
}

/// The hash of what the image holds, whatever name its base goes by.
pub(super) fn content(sandbox: &KubernetesSandbox<'_>, spec: &ImageSpec, base: &str) -> String {
    let spec = ImageSpec {
        base: base.to_owned(),
        index_url: index_url(sandbox, spec).map(str::to_owned),
        sources: sources(
            &sandbox.settings.build.env,
            index_url(sandbox, spec),
            super::namespace(sandbox),
        ),
        ..spec.clone()
    };
    spec.content_hash()
}

/// Returns what decides where packages come from besides the index: the operator's variables, short of proxies, and, where the Pod's search
/// list may have a word in what a host's name stands for, the namespace that this list begins with.
fn sources(env: &BTreeMap<String, String>, index: Option<&str>, namespace: &str) -> Vec<String> {
    // By which way an index is reached does not change what it serves.
    let is_proxy = |name: &str| name.to_ascii_lowercase().ends_with("_proxy");
    let given = env
        .iter()
        // The index has a place of its own in the key, where a task's goes before it.
        .filter(|(name, _)| !is_proxy(name) && *name != INDEX_URL);
    let mut sources: Vec<String> = given.map(|(name, value)| format!("{name}={value}")).collect();
    let others = OTHER_SOURCES.iter().filter_map(|name| env.get(*name));
    let mut urls = index
        .into_iter()
        .chain(others.flat_map(|urls| urls.split_whitespace()));
    if urls.any(is_short) {
        sources.push(format!("names of {namespace}"));
    }
    sources.sort();
    sources
}

/// Reports whether a host is known by a name that is completed by the namespace of whoever asks: one without a dot, or with one, where no
/// certificate says whose it is.
fn is_short(url: &str) -> bool {
    let Some(url) = Url::parse(url).ok() else {
        return false;
    };
    // An address is nobody's to complete.
    let dots = url.domain().map(|host| host.matches('.').count());
    match dots {
        Some(0) => true,
        // Over https the certificate says whose host it is. Over http a name with one dot may still be `service.namespace` of the search
        // list.
        Some(1) => url.scheme() == "http" && !url.domain().is_some_and(|host| host.ends_with('.')),
        Some(_) | None => false,
    }
}

/// The task's package index, else the operator's.
fn index_url<'a>(sandbox: &'a KubernetesSandbox<'_>, spec: &'a ImageSpec) -> Option<&'a str> {
    let shared = sandbox.settings.build.env.get(INDEX_URL);
    spec.index_url.as_deref().or(shared.map(String::as_str))
}

/// The index that the build will take, where that can be said: a base image of somebody's own may bring settings of pip.
fn index_to_ask<'a>(sandbox: &'a KubernetesSandbox<'_>, spec: &'a ImageSpec) -> Option<&'a str> {
    let has_others = OTHER_SOURCES
        .iter()
        .any(|name| sandbox.settings.build.env.contains_key(*name));
    // With several sources nobody can say from which one pip takes a package, so no single answer counts.
    if has_others {
        return None;
    }
    // The official image brings no settings of pip, so pip asks PyPI.
    let is_official = spec.base == default_base(&spec.python_version);
    index_url(sandbox, spec).or_else(|| is_official.then_some(PYPI))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("http://pypi/simple", true)]
    #[case("https://pypi/simple", true)]
    #[case("http://me:you@pypi.data:8080/simple", true)]
    #[case("https://pypi.org/simple", false)]
    #[case("http://pypi.data./simple", false)]
    #[case("http://pypi.data.svc/simple", false)]
    #[case("http://10.0.0.1/simple", false)]
    fn a_short_name_is_one_that_a_namespace_completes(#[case] url: &str, #[case] expected: bool) {
        assert_eq!(is_short(url), expected);
    }

    #[test]
    fn resolved_names_and_pip_settings_are_part_of_an_environments_identity() {
        let none = BTreeMap::new();
        let short = Some("http://pypi/simple");
        assert_ne!(sources(&none, short, "lab"), sources(&none, short, "team"));
        let full = Some("https://pypi.org/simple");
        assert_eq!(sources(&none, full, "lab"), sources(&none, full, "team"));
        assert_eq!(sources(&none, None, "lab"), Vec::<String>::new());
        let env = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
        assert_eq!(
            sources(&env("HTTPS_PROXY", "http://proxy"), None, "lab"),
            Vec::<String>::new()
        );
        assert_eq!(sources(&env("PIP_PRE", "1"), None, "lab"), ["PIP_PRE=1"]);
        let extra = env("PIP_EXTRA_INDEX_URL", "https://a.example/ http://extra/");
        assert_ne!(sources(&extra, full, "lab"), sources(&extra, full, "team"));
    }
}
