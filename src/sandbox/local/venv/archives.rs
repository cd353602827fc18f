//! From which archives an environment was made: pip's report of its work, beside what lies in the environment.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::installed::Distribution;
use crate::pipeline::lock::{Lock, Locked};
use crate::pipeline::python::requirement::normalized;

/// The first pip that reports.
const REPORTS_FROM: (u32, u32) = (22, 2);
/// The first pip that passes over releases by their age in days.
const KNOWS_AGES_FROM: (u32, u32) = (26, 1);

/// Whether the pip in this folder can say which archives it installs.
pub(super) fn reports(tools: &Path) -> bool {
    version(tools) >= Some(REPORTS_FROM)
}

/// Whether the pip in this folder can pass over releases that are too young.
pub(super) fn knows_ages(tools: &Path) -> bool {
    version(tools) >= Some(KNOWS_AGES_FROM)
}

fn version(tools: &Path) -> Option<(u32, u32)> {
    let text = fs::read_to_string(tools.join("pip/__init__.py")).unwrap_or_default();
    let version = text
        .lines()
        .find_map(|line| line.strip_prefix("__version__ = \""));
    let mut parts = version
        .unwrap_or_default()
        .split(['.', '"'])
        .map_while(|part| part.parse::<u32>().ok());
    parts.next().zip(parts.next())
}

/// Everything, with the digests that `report` has.
pub(super) fn lock(report: &Path, python: &str, installed: &[Distribution]) -> Lock {
    let report = fs::read(report).ok();
    let report = report.and_then(|bytes| serde_json::from_slice::<Report>(&bytes).ok());
    let entries = report.map(|report| report.install).unwrap_or_default();
    // By normalized name and version: pip reports names as the index spells them, folders as the wheel does.
    let digests: BTreeMap<(String, String), String> = entries.into_iter().filter_map(Entry::digest).collect();
    let packages = installed.iter().map(|one| Locked {
        package: one.line(),
        sha256: digests
            .get(&(normalized(&one.name), one.version.clone()))
            .cloned(),
        via: requirers(one, installed),
    });
    let lock = Lock {
        python: python.to_owned(),
        architecture: std::env::consts::ARCH.to_owned(),
        packages: packages.collect(),
    };
    lock.checked().unwrap_or_default()
}

fn requirers(of: &Distribution, installed: &[Distribution]) -> Vec<String> {
    let name = normalized(&of.name);
    let requires = |one: &&Distribution| one.requires.iter().any(|required| normalized(required) == name);
    let mut names: Vec<String> = installed
        .iter()
        .filter(requires)
        .map(|one| one.name.clone())
        .collect();
    names.sort();
    names
}

#[derive(Deserialize)]
struct Report {
    install: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    download_info: Download,
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    version: String,
}

#[derive(Deserialize)]
struct Download {
    #[serde(default)]
    archive_info: Archive,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Archive {
    hashes: BTreeMap<String, String>,
    /// As older versions of pip have it: `sha256=5980...`.
    hash: String,
}

impl Entry {
    fn digest(self) -> Option<((String, String), String)> {
        let Archive { mut hashes, hash } = self.download_info.archive_info;
        let digest = hashes
            .remove("sha256")
            .or_else(|| hash.strip_prefix("sha256=").map(str::to_owned))?;
        Some(((normalized(&self.metadata.name), self.metadata.version), digest))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const DIGEST: &str = "598043e764aa9416fb28e7e64fe7798a8751f9cb5535fdebdc1b03e6da688b11";

    fn distribution(name: &str, requires: &[&str]) -> Distribution {
        Distribution {
            name: name.to_owned(),
            version: "1.0".to_owned(),
            requires: requires.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn every_package_has_the_digest_that_pip_reports_and_those_that_require_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        let report = serde_json::json!({"version": "1", "install": [
            {"download_info": {"url": "u", "archive_info": {"hash": format!("sha256={DIGEST}"), "hashes": {"sha256": DIGEST}}},
             "metadata": {"name": "tiny", "version": "1.0", "description": "a\nb"}},
            {"download_info": {"url": "u", "archive_info": {"hash": format!("sha256={DIGEST}")}},
             "metadata": {"name": "Other_Thing", "version": "1.0"}},
        ]});
        fs::write(&path, report.to_string()).unwrap();
        let installed = [
            distribution("other-thing", &[]),
            distribution("tiny", &["Other.Thing"]),
        ];
        let lock = lock(&path, "3.12.4", &installed);
        assert_eq!(
            lock.to_string(),
            format!(
                "# Python 3.12.4 on {}\nother-thing==1.0 --hash=sha256:{DIGEST}  # via tiny\ntiny==1.0 --hash=sha256:{DIGEST}\n",
                std::env::consts::ARCH
            )
        );
        let more = [installed.as_slice(), &[distribution("unknown", &[])]].concat();
        assert!(
            !super::lock(&path, "3.12.4", &more).is_complete(),
            "one is not reported"
        );
    }

    #[rstest]
    #[case("from typing import List\n\n__version__ = \"22.2\"\n", true)]
    #[case("__version__ = \"25.0.1\"\n", true)]
    #[case("__version__ = \"22.0.2\"\n", false)]
    #[case("", false)]
    fn a_pip_that_is_too_old_is_not_asked_to_report(#[case] text: &str, #[case] expected: bool) {
        let tools = tempfile::tempdir().unwrap();
        fs::create_dir(tools.path().join("pip")).unwrap();
        fs::write(tools.path().join("pip/__init__.py"), text).unwrap();
        assert_eq!(reports(tools.path()), expected);
    }
}
