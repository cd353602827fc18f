//! The Dockerfile: a base, apt packages, pip packages in a virtual environment. Text only.
//!
//! What is installed stands in a file beside it: what was recorded, archive by archive, or what uv is to choose from.

use std::fmt::Write as _;

use crate::harness::INTERPRETER;
use crate::installation::{INSTALL, Installation};
use crate::{PackageProblem, PackageProblemKind, SandboxError};
use codegen_core::python::requirement::{Requirement, system_package};
use codegen_core::sandbox::Packages;

/// Folder of the environment in the image; its `bin` comes first on `PATH`.
pub(super) const ENVIRONMENT: &str = "/opt/codegen";
/// Folder of a build's files while it runs: this Dockerfile, certificate authorities.
pub(super) const FILES: &str = "/build";
/// Folder of the program that installs, while a build runs.
pub(super) const TOOLS: &str = "/installer";
/// The authorities of package indexes, below [`FILES`].
pub(super) const INDEX_AUTHORITIES: &str = "index-authorities.pem";
/// Those, and the task's own: for pip packages alone, since apt asks other servers.
pub(super) const PIP_AUTHORITIES: &str = "pip-authorities.pem";
/// File that names what was installed, for `push-layout`: a requirements file, below [`WORK`]. Below [`FILES`] it is what must be
/// installed.
pub(super) const REQUIREMENTS: &str = "requirements.txt";
/// File that says what is to be installed, and how, below [`FILES`].
pub(super) const INSTALLATION: &str = "installation.json";
/// Folder in which the installation works.
pub(super) const WORK: &str = "/out/work";
/// Folder in which it stores archives.
const ARCHIVES: &str = "/out/archives";

/// `PATH` of a base image that sets none.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Ingredients of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Recipe<'a> {
    /// The image that it stands on, by digest.
    pub base: &'a str,
    /// Packages to install.
    pub packages: &'a Packages,
    /// Days that every release must have been there.
    pub days: u32,
    /// True where exactly what the requirements file among the files of the build names is installed.
    pub is_locked: bool,
    /// True where the index's authorities lie among the files of the build.
    pub has_index_authorities: bool,
    /// True where the task has authorities of its own for the index.
    pub has_pip_authorities: bool,
    /// Names of the build's arguments: variables of what it runs, which do not become part of the image.
    pub arguments: Vec<&'a str>,
}

/// Refuses what is no name of a package: nothing else may reach a Dockerfile or an installer.
pub(super) fn check(packages: &Packages) -> Result<(), SandboxError> {
    let refuse = |manager: &'static str, name: &str, reason: String| {
        SandboxError::Packages(PackageProblem {
            manager,
            names: vec![name.to_owned()],
            kind: PackageProblemKind::InvalidName,
            detail: reason,
            is_foreseen: true,
        })
    };
    for requirement in &packages.pip {
        Requirement::parse(requirement).map_err(|fault| refuse("pip", requirement, fault.to_string()))?;
    }
    for package in &packages.apt {
        let (name, version) = package.split_once('=').unwrap_or((package, "1"));
        let is_version = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | ':' | '~' | '-');
        if version.is_empty() || !version.chars().all(is_version) {
            return Err(refuse(
                "apt",
                package,
                "its version has characters that no version has".to_owned(),
            ));
        }
        if let Err(fault) = system_package(name) {
            return Err(refuse("apt", package, fault.to_string()));
        }
    }
    Ok(())
}

impl Recipe<'_> {
    /// The text. Every package must have passed [`check`].
    pub fn dockerfile(&self) -> String {
        // The base may end as another user, and neither apt nor the environment below `/opt` can be made by that one.
        let mut text = format!("FROM {}\nUSER 0\n", self.base);
        for name in &self.arguments {
            let _ = writeln!(text, "ARG {name}");
        }
        if !self.packages.apt.is_empty() {
            let _ = writeln!(text, "RUN {}", self.apt());
        }
        let install = format!("python3 -I -S -B {FILES}/{} {FILES}/{INSTALLATION}", INSTALL.0);
        // Before any package, with the links to the base's interpreter: Kaniko puts what a new link leads to beside it into its layer.
        let _ = writeln!(text, "RUN mkdir -p {WORK} && {install} environment");
        // A layer of its own, which the push judges. Nothing of a package runs for it.
        let _ = writeln!(
            text,
            "RUN {}{install} packages && rm -rf {ARCHIVES}",
            self.authorities()
        );
        let _ = writeln!(text, "ENV PATH={ENVIRONMENT}/bin:${{PATH:-{DEFAULT_PATH}}}");
        text
    }

    /// Returns the instructions for the installation, as a file of the build.
    pub fn installation(&self) -> String {
        let (uv, locked) = (format!("{TOOLS}/uv"), format!("{FILES}/{REQUIREMENTS}"));
        let installation = Installation {
            uv: &uv,
            environment: ENVIRONMENT,
            work: WORK,
            cache: ARCHIVES,
            link: Some(INTERPRETER),
            requirements: &self.packages.pip,
            locked: self.is_locked.then_some(locked.as_str()),
            days: self.days,
            settings: None,
        };
        // A struct of texts has a form in JSON.
        serde_json::to_string(&installation).unwrap_or_default()
    }

    /// Whom the installation trusts, where that is said: these and nobody else.
    fn authorities(&self) -> String {
        match (self.has_pip_authorities, self.has_index_authorities) {
            (true, _) => format!("PIP_CERT={FILES}/{PIP_AUTHORITIES} "),
            (false, true) => format!("PIP_CERT={FILES}/{INDEX_AUTHORITIES} "),
            (false, false) => String::new(),
        }
    }

    fn apt(&self) -> String {
        let authorities = if self.has_index_authorities {
            format!(" -o Acquire::https::CAInfo={FILES}/{INDEX_AUTHORITIES}")
        } else {
            String::new()
        };
        let names: Vec<String> = self.packages.apt.iter().map(|name| quoted(name)).collect();
        // In the same `RUN`: files that a later layer removes still lie in the earlier one.
        format!(
            "apt-get update{authorities} && \
             DEBIAN_FRONTEND=noninteractive apt-get install{authorities} -y --no-install-recommends -- {} && \
             rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/dpkg.log",
            names.join(" ")
        )
    }
}

/// As one word of a shell.
fn quoted(text: &str) -> String {
    // An apostrophe ends the quoted word, stands escaped by itself, and begins the word anew.
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn packages(pip: &[&str], apt: &[&str]) -> Packages {
        let owned = |list: &[&str]| list.iter().map(ToString::to_string).collect();
        Packages {
            pip: owned(pip),
            apt: owned(apt),
        }
    }

    fn recipe(packages: &Packages) -> Recipe<'_> {
        Recipe {
            base: "registry.example/python@sha256:11",
            packages,
            days: 0,
            is_locked: false,
            has_index_authorities: false,
            has_pip_authorities: false,
            arguments: vec![],
        }
    }

    #[test]
    fn pip_packages_alone() {
        let packages = packages(&["pandas<3,>=2", "pytest"], &[]);
        insta::assert_snapshot!(recipe(&packages).dockerfile());
    }

    #[test]
    fn everything_that_settings_and_tasks_can_ask_for() {
        let packages = packages(&["pytest"], &["libgomp1", "tesseract-ocr=5.3.0-2"]);
        let recipe = Recipe {
            has_index_authorities: true,
            arguments: vec!["HTTPS_PROXY", "PIP_INDEX_URL"],
            ..recipe(&packages)
        };
        insta::assert_snapshot!(recipe.dockerfile());
    }

    #[test]
    fn authorities_of_the_task_are_for_pip_and_those_of_the_settings_for_apt_too() {
        let packages = packages(&["pytest"], &["libgomp1"]);
        let of = |has_index_authorities, has_pip_authorities| {
            let recipe = Recipe {
                has_index_authorities,
                has_pip_authorities,
                ..recipe(&packages)
            };
            let text = recipe.dockerfile();
            let trusted = |option: &str| {
                let (_, rest) = text.split_once(option)?;
                rest.split_whitespace().next().map(str::to_owned)
            };
            (trusted("Acquire::https::CAInfo="), trusted("PIP_CERT="))
        };
        let file = |name: &str| Some(format!("{FILES}/{name}"));
        assert_eq!(of(false, false), (None, None));
        assert_eq!(of(false, true), (None, file(PIP_AUTHORITIES)));
        assert_eq!(
            of(true, false),
            (file(INDEX_AUTHORITIES), file(INDEX_AUTHORITIES))
        );
        assert_eq!(of(true, true), (file(INDEX_AUTHORITIES), file(PIP_AUTHORITIES)));
    }

    #[test]
    fn names_and_recorded_archives_are_data_and_no_words_of_a_shell() {
        let packages = packages(&["pandas<3", "pytest"], &[]);
        let mut recipe = Recipe {
            days: 7,
            ..recipe(&packages)
        };
        let read = |recipe: &Recipe<'_>| -> serde_json::Value {
            serde_json::from_str(&recipe.installation()).unwrap()
        };
        let chosen = read(&recipe);
        assert_eq!(chosen["requirements"], serde_json::json!(["pandas<3", "pytest"]));
        assert_eq!(
            (&chosen["days"], &chosen["locked"]),
            (&7.into(), &serde_json::Value::Null)
        );
        assert!(!recipe.dockerfile().contains("pandas"), "{}", recipe.dockerfile());
        recipe.is_locked = true;
        assert_eq!(read(&recipe)["locked"], "/build/requirements.txt");
    }

    #[test]
    fn nothing_of_the_environment_is_started() {
        let packages = packages(&["pytest"], &[]);
        let text = recipe(&packages).dockerfile();
        assert!(text.contains(" python3 -I -S -B /build/install.py"), "{text}");
        assert!(!text.contains("/opt/codegen/bin/python"), "{text}");
    }

    #[rstest]
    #[case::option("--index-url=http://evil", "")]
    #[case::address("git+https://example.com/x", "")]
    #[case::line_break("six\nRUN evil", "")]
    #[case::shell("six'; evil '", "")]
    #[case::marker("six; python_version < '3'", "")]
    #[case::path("./six", "")]
    #[case::apt_option("", "--allow-unauthenticated")]
    #[case::apt_removal("", "bash-")]
    #[case::apt_shell("", "x;evil")]
    #[case::apt_version("", "libgomp1=1$(evil)")]
    fn what_is_no_name_of_a_package_is_refused(#[case] pip: &str, #[case] apt: &str) {
        let list = |name: &str| {
            if name.is_empty() {
                vec![]
            } else {
                vec![name.to_owned()]
            }
        };
        let packages = Packages {
            pip: list(pip),
            apt: list(apt),
        };
        let Err(SandboxError::Packages(problem)) = check(&packages) else {
            panic!("{packages:?} was taken");
        };
        assert_eq!(problem.kind, PackageProblemKind::InvalidName);
        assert_eq!(
            problem.names,
            [pip, apt]
                .into_iter()
                .filter(|n| !n.is_empty())
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn names_with_versions_and_extras_are_taken() {
        check(&packages(
            &[
                "pandas",
                "requests[socks]<3,>=2.31",
                "numpy~=2.0",
                "ruamel.yaml==0.18.*",
            ],
            &["libgomp1", "g++", "tesseract-ocr=5.3.0-2", "libstdc++6"],
        ))
        .unwrap();
    }
}
