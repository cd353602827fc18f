//! What is installed in an environment, read from its files: no interpreter is started.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The folder that an environment's packages lie in.
// The folder's name has the version of Python in it.
pub(super) fn folder(environment: &Path) -> io::Result<PathBuf> {
    for entry in fs::read_dir(environment.join("lib"))? {
        let packages = entry?.path().join("site-packages");
        if packages.is_dir() {
            return Ok(packages);
        }
    }
    Err(io::Error::new(
        io::ErrorKind::NotFound,
        "the environment has no site-packages folder",
    ))
}

/// A distribution of an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Distribution {
    /// Its name, as it spells it.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Names of what it requires whatever was asked of it.
    pub requires: Vec<String>,
}

impl Distribution {
    /// `pandas==2.3.1`.
    pub fn line(&self) -> String {
        format!("{}=={}", self.name, self.version)
    }
}

/// What is installed, sorted, without the installer's own tools.
pub(super) fn list(packages: &Path) -> io::Result<Vec<Distribution>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(packages)? {
        let Some(distribution) = distribution(&entry?.path()) else {
            continue;
        };
        let is_tool = matches!(distribution.name.as_str(), "pip" | "setuptools");
        // Names that could end a line or forge one are left out of a list that goes into prompts and statuses.
        if !is_tool && distribution.line().chars().all(|c| c.is_ascii_graphic()) {
            all.push(distribution);
        }
    }
    all.sort_by_key(|distribution| distribution.line().to_lowercase());
    Ok(all)
}

/// Name and version by the distribution's own spelling, else by its folder's name.
// What was installed has a `.dist-info` folder; a `.pth` file or a stray module is no distribution.
fn distribution(path: &Path) -> Option<Distribution> {
    let folder = path.file_name()?.to_str()?.strip_suffix(".dist-info")?;
    let (name, version) = folder.split_once('-')?;
    let metadata = fs::read(path.join("METADATA")).unwrap_or_default();
    let metadata = String::from_utf8_lossy(&metadata);
    let fields = |wanted: &'static str| {
        // The headers end at the first blank line; below it stands a description that may say anything.
        let headers = metadata.lines().take_while(|line| !line.is_empty());
        headers
            .filter_map(|line| line.split_once(':'))
            .filter(move |(name, _)| name.eq_ignore_ascii_case(wanted))
            .map(|(_, value)| value.trim().to_owned())
    };
    Some(Distribution {
        name: fields("Name").next().unwrap_or_else(|| name.to_owned()),
        version: fields("Version").next().unwrap_or_else(|| version.to_owned()),
        requires: fields("Requires-Dist")
            // What an extra asks for is installed only where somebody asked for that extra.
            .filter(|given| !given.split(';').skip(1).any(|marker| marker.contains("extra")))
            .map(|given| name_of(&given).to_owned())
            .collect(),
    })
}

/// The name at the start of a requirement.
fn name_of(requirement: &str) -> &str {
    let end = requirement.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')));
    &requirement[..end.unwrap_or(requirement.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn install(packages: &Path, folder: &str, metadata: Option<&str>) {
        fs::create_dir_all(packages.join(folder)).unwrap();
        if let Some(metadata) = metadata {
            fs::write(packages.join(folder).join("METADATA"), metadata).unwrap();
        }
    }

    #[test]
    fn what_is_installed_is_listed_without_the_installer() {
        let environment = tempfile::tempdir().unwrap();
        let packages = environment.path().join("lib/python3.11/site-packages");
        install(&packages, "six-1.17.0.dist-info", None);
        install(
            &packages,
            "pyyaml-6.0.dist-info",
            Some(
                "Metadata-Version: 2.1\nName: PyYAML\nVersion: 6.0\nRequires-Dist: six>=1; python_version > '3'\n\
                 Requires-Dist: rich[x] ; extra == 'all'\n\nName: not-this\n",
            ),
        );
        install(
            &packages,
            "pip-24.0.dist-info",
            Some("Name: pip\nVersion: 24.0\n"),
        );
        install(&packages, "yaml", None);
        let packages = folder(environment.path()).unwrap();
        let found = list(&packages).unwrap();
        let lines: Vec<String> = found.iter().map(Distribution::line).collect();
        assert_eq!(lines, ["PyYAML==6.0", "six==1.17.0"]);
        assert_eq!(found[0].requires, ["six"]);
    }

    #[test]
    fn a_name_that_would_write_to_the_terminal_is_left_out() {
        let packages = tempfile::tempdir().unwrap();
        let name = Some("Name: x\u{1b}[2J\nVersion: 1\n");
        install(packages.path(), "x-1.dist-info", name);
        assert!(list(packages.path()).unwrap().is_empty());
    }
}
