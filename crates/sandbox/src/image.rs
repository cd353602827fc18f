//! Contents of an environment, and the key under which it is found again.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use codegen_api::common::Language;
use codegen_core::lock::Lock;
use codegen_core::package_policy::PackagePolicy;
use codegen_core::sandbox::Packages;
use codegen_core::task::ImageSettings;

/// Rises when the way environments are made changes, so that old ones are not taken for new ones.
const KEY_VERSION: u32 = 2;

/// The distribution that every environment holds besides what is asked for.
pub const TEST_RUNNER: &str = "pytest";

/// Everything that decides what an environment holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageSpec {
    /// Language of the program.
    pub language: Language,
    /// Base image, by digest where one is known; not used locally.
    pub base: String,
    /// Processor architecture (`x86_64`).
    pub architecture: String,
    /// `3.12`.
    pub python_version: String,
    /// Package index; `None` is the one that pip is configured with.
    pub index_url: Option<String>,
    /// Certificate authorities of the index, PEM.
    pub index_ca_bundle: Option<String>,
    /// Other settings that decide where packages come from, sorted: variables of pip, and the namespace whose names are resolved.
    pub sources: Vec<String>,
    /// Every package: the task's, those that are always installed, and pytest. Sorted, without duplicates.
    pub packages: Packages,
    /// Days that a release of what is asked for must have been on the index.
    pub min_release_age_days: u32,
    /// True where the index is asked for each package before the environment is made; no part of what it is.
    pub verify_on_index: bool,
    /// Packages that the environment held when it was made before: exactly that is installed again. No part of what it is, either.
    pub lock: Option<Lock>,
}

impl ImageSpec {
    /// The environment of a task with these packages on this machine's architecture.
    #[must_use]
    pub fn new(language: Language, settings: &ImageSettings, packages: &Packages) -> Self {
        // pytest is part of every environment: the suite runs in the same one as the program, and models are not asked to declare it.
        let runner = [TEST_RUNNER.to_owned()];
        Self {
            language,
            base: settings.base.clone(),
            architecture: std::env::consts::ARCH.to_owned(),
            python_version: settings.python_version.clone(),
            index_url: settings.index_url.clone(),
            index_ca_bundle: settings.index_ca_bundle.clone(),
            sources: Vec::new(),
            packages: Packages {
                pip: merge(&[&packages.pip, &settings.base_packages, &runner]),
                apt: merge(&[&packages.apt, &settings.base_system_packages]),
            },
            min_release_age_days: 0,
            verify_on_index: false,
            lock: None,
        }
    }

    /// The same environment, made by these rules.
    #[must_use]
    pub fn under(self, policy: &PackagePolicy) -> Self {
        Self {
            min_release_age_days: policy.min_release_age_days(),
            verify_on_index: policy.verifies_on_index(),
            ..self
        }
    }

    /// SHA-256 over everything that decides what the environment holds, hex. The order of packages does not matter.
    #[must_use]
    pub fn content_hash(&self) -> String {
        let Self {
            language: Language::Python,
            base,
            architecture,
            python_version,
            index_url,
            index_ca_bundle,
            sources,
            packages,
            // How an environment is made does not change what it is: with these in the key, equal environments would be built several
            // times.
            min_release_age_days,
            verify_on_index: _,
            lock: _,
        } = self;
        let mut key = serde_json::json!([
            KEY_VERSION,
            "Python",
            base,
            architecture,
            python_version,
            index_url,
            merge(&[&packages.pip]),
            merge(&[&packages.apt]),
        ]);
        // What is made without any of these is what it was before there were any.
        if let Some(parts) = key.as_array_mut() {
            if *min_release_age_days > 0 {
                parts.push((*min_release_age_days).into());
            }
            if let Some(bundle) = index_ca_bundle {
                parts.push(serde_json::json!({"authorities": bundle.trim()}));
            }
            if !sources.is_empty() {
                parts.push(serde_json::json!({"sources": sources}));
            }
        }
        sha256_hex(key.to_string().as_bytes())
    }
}

/// SHA-256 of bytes, hex.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::with_capacity(64), |mut hex, byte| {
            // Writing to a string cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        })
}

fn merge(lists: &[&[String]]) -> Vec<String> {
    let mut all: Vec<String> = lists.concat();
    all.sort();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> ImageSettings {
        ImageSettings {
            reference: None,
            pull_repository: None,
            push_secret: None,
            pull_secret: None,
            repository: None,
            base: "python:3.12-slim".into(),
            base_packages: vec!["pandas".into()],
            base_system_packages: vec!["libgomp1".into()],
            python_version: "3.12".into(),
            index_url: None,
            index_ca_bundle: None,
        }
    }

    fn packages(pip: &[&str]) -> Packages {
        Packages {
            pip: pip.iter().map(ToString::to_string).collect(),
            apt: vec![],
        }
    }

    #[test]
    fn base_packages_and_pytest_are_always_in() {
        let spec = ImageSpec::new(Language::Python, &settings(), &packages(&["pyyaml", "pandas"]));
        assert_eq!(spec.packages.pip, ["pandas", "pytest", "pyyaml"]);
        assert_eq!(spec.packages.apt, ["libgomp1"]);
    }

    #[test]
    fn the_order_of_packages_does_not_change_the_hash() {
        let mut spec = ImageSpec::new(Language::Python, &settings(), &packages(&["a", "b"]));
        let hash = spec.content_hash();
        spec.packages.pip.reverse();
        assert_eq!(spec.content_hash(), hash);
        assert_eq!(hash.len(), 64);
    }

    #[test]
    fn every_field_changes_the_hash() {
        let spec = ImageSpec::new(Language::Python, &settings(), &packages(&["a"]));
        let changes: [fn(&mut ImageSpec); 9] = [
            |spec| spec.base.push('x'),
            |spec| spec.architecture.push('x'),
            |spec| spec.python_version.push('0'),
            |spec| spec.index_url = Some("https://index.example.com".into()),
            |spec| spec.packages.pip.push("b".into()),
            |spec| spec.packages.apt.push("b".into()),
            |spec| spec.min_release_age_days = 7,
            |spec| spec.index_ca_bundle = Some("an authority".into()),
            |spec| spec.sources.push("PIP_PRE=1".into()),
        ];
        for change in changes {
            let mut other = spec.clone();
            change(&mut other);
            assert_ne!(other.content_hash(), spec.content_hash(), "{other:?}");
        }
    }
}
