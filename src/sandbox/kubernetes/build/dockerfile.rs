//! The Dockerfile: a base, apt packages, pip packages in a virtual environment. Text only.
//!
//! Where a lock was recorded, that is installed, archive by archive; else what pip chooses, which is
//! recorded then.

use std::fmt::Write as _;

use crate::pipeline::python::requirement::{Requirement, system_package};
use crate::pipeline::sandbox::Packages;
use crate::sandbox::image::TEST_RUNNER;
use crate::sandbox::index::with_bounds;
use crate::sandbox::installation::{INSTALL, INTERPRETERS};
use crate::sandbox::{PackageProblem, PackageProblemKind, SandboxError};

/// Where the environment lies in the image; its `bin` comes first on `PATH`.
pub(super) const ENVIRONMENT: &str = "/opt/codegen";
/// Where the files of a build lie while it runs: this Dockerfile, certificate authorities.
pub(super) const FILES: &str = "/build";
/// The authorities of package indexes, below [`FILES`].
pub(super) const INDEX_AUTHORITIES: &str = "index-authorities.pem";
/// Those, and the task's own: for pip alone, since apt asks other servers.
pub(super) const PIP_AUTHORITIES: &str = "pip-authorities.pem";
/// Where the build leaves its results: a volume, so no part of the image.
pub(super) const RESULTS: &str = "/out";
/// What was installed, for `push-layout`: a requirements file, below [`RESULTS`], and below [`ENVIRONMENT`] for whoever extends the image.
/// Below [`FILES`] it is what must be installed.
pub(super) const REQUIREMENTS: &str = "requirements.txt";
/// Writes it, below [`FILES`].
pub(super) const WRITER: &str = "lock.py";
/// The pip that passes over young releases and its digest, below [`FILES`]: a requirements file.
pub(super) const INSTALLER: &str = "installer.txt";
/// The build's argument with the index that it comes from.
pub(super) const INSTALLER_INDEX: &str = "INSTALLER_INDEX_URL";
/// Another pip than the interpreter's, below [`RESULTS`].
const PIP: &str = "pip";
/// What the interpreters were, below [`RESULTS`].
const STATE: &str = "interpreters.json";
/// What pip says of its work, below [`RESULTS`].
const REPORT: &str = "report.json";

/// `PATH` of a base image that sets none.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The options of every pip command.
// Nobody is there to answer a prompt; a cache would only end up in the image; wheels alone, since a source distribution runs its code while
// it is built.
const PIP_OPTIONS: &str = "install --no-input --no-cache-dir --disable-pip-version-check --progress-bar off --retries 5 --only-binary :all:";

/// What an image is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Recipe<'a> {
    /// The image that it stands on, by digest.
    pub base: &'a str,
    /// What that image has already, where it is one of ours.
    pub has: Option<&'a Packages>,
    /// What is installed.
    pub packages: &'a Packages,
    /// Requirements in the place of those of the same name among them: of versions that are old enough.
    pub bounds: &'a [String],
    /// Days that every release must have been there, where a pip can be had that passes over those which were not.
    pub aged: Option<Aged<'a>>,
    /// Digest of the requirements file among the files of the build, where exactly what it names is installed.
    pub locked: Option<&'a str>,
    /// Package index without TLS, which pip trusts only with an option.
    pub trusted_index: Option<&'a str>,
    /// Whether the index's authorities lie among the files of the build.
    pub has_index_authorities: bool,
    /// Whether the task has authorities of its own for the index.
    pub has_pip_authorities: bool,
    /// Names of the build's arguments: variables of what it runs, which do not become part of the image.
    pub arguments: Vec<&'a str>,
}

/// How releases that are too young are passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Aged<'a> {
    /// Days that a release must have been there.
    pub days: u32,
    /// The index that installers come from, where it is without TLS.
    pub trusted_index: Option<&'a str>,
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
        // What the image below has is not asked of apt again: the lists of packages would be fetched for nothing.
        let had = self.has.map_or(&[][..], |has| &has.apt);
        let apt: Vec<&String> = self
            .packages
            .apt
            .iter()
            .filter(|name| !had.contains(name))
            .collect();
        if !apt.is_empty() {
            let _ = writeln!(text, "RUN {}", self.apt(&apt));
        }
        // Nothing of a package runs for it: the interpreter is the one behind the environment, and it is seen to be that still.
        let install = format!(
            "{} && {} && {}python3 -I -B {FILES}/{WRITER} {ENVIRONMENT} {RESULTS}/{REPORT} {ENVIRONMENT}/{REQUIREMENTS}",
            self.pip(),
            self.interpreters("after"),
            self.path()
        );
        // What a package may have left there is no file to write to.
        let list = format!(
            "rm -f {RESULTS}/{REQUIREMENTS} && cp {ENVIRONMENT}/{REQUIREMENTS} {RESULTS}/{REQUIREMENTS}"
        );
        let _ = writeln!(text, "RUN {install} && {list}");
        // Only once: an image of ours has it already, and every further `ENV` would put the folder in front again.
        if self.has.is_none() {
            let _ = writeln!(text, "ENV PATH={ENVIRONMENT}/bin:${{PATH:-{DEFAULT_PATH}}}");
        }
        text
    }

    fn apt(&self, packages: &[&String]) -> String {
        let authorities = if self.has_index_authorities {
            format!(" -o Acquire::https::CAInfo={FILES}/{INDEX_AUTHORITIES}")
        } else {
            String::new()
        };
        let names: Vec<String> = packages.iter().map(|name| quoted(name)).collect();
        // In the same `RUN`: files that a later layer removes still lie in the earlier one.
        format!(
            "apt-get update{authorities} && \
             DEBIAN_FRONTEND=noninteractive apt-get install{authorities} -y --no-install-recommends -- {} && \
             rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/dpkg.log",
            names.join(" ")
        )
    }

    /// Wheels alone, as locally: what is built from source runs code of its own choice and wants compilers.
    fn pip(&self) -> String {
        let mut options = String::new();
        let authorities = match (self.has_pip_authorities, self.has_index_authorities) {
            (true, _) => Some(PIP_AUTHORITIES),
            (false, true) => Some(INDEX_AUTHORITIES),
            (false, false) => None,
        };
        if let Some(file) = authorities {
            let _ = write!(options, " --cert {FILES}/{file}");
        }
        // pip refuses an index without TLS otherwise.
        if let Some(host) = self.trusted_index {
            let _ = write!(options, " --trusted-host {}", quoted(host));
        }
        let make = match self.has {
            // `--without-pip`: the interpreter behind the environment installs, and its own pip is not among what tests and programs can
            // import.
            None => format!("python3 -m venv --without-pip {ENVIRONMENT} && "),
            Some(_) => String::new(),
        };
        let age = self
            .aged
            .map(|aged| format!(" --uploaded-prior-to P{}D", aged.days))
            .unwrap_or_default();
        // The environment has no pip, and its interpreter does not start: the one behind it installs.
        format!(
            "{make}{} && {}{}python3 -I -B {FILES}/{} {RESULTS}/{PIP} {ENVIRONMENT} {PIP_OPTIONS}{options}{age} --report {RESULTS}/{REPORT} {}",
            self.interpreters("before"),
            self.newer_pip(),
            self.path(),
            INSTALL.0,
            self.requirements()
        )
    }

    /// Installs the pip that knows ages beside the image, unless the interpreter has such a pip itself: one archive, by its digest, from
    /// where the operator's settings say. Where a task's packages come from is no place for what installs them.
    fn newer_pip(&self) -> String {
        let Some(aged) = self.aged else {
            return String::new();
        };
        let python = format!("{}python3 -I -B -m pip", self.path());
        let mut options = String::new();
        // The operator's authorities alone: those of the task are trusted for its own packages.
        if self.has_index_authorities {
            let _ = write!(options, " --cert {FILES}/{INDEX_AUTHORITIES}");
        }
        if let Some(host) = aged.trusted_index {
            let _ = write!(options, " --trusted-host {}", quoted(host));
        }
        // `P3D` stands in the help of `--uploaded-prior-to` only where that takes days.
        format!(
            "{{ {python} install --help | grep -q P3D || \
             {python} {PIP_OPTIONS}{options} --index-url \"${INSTALLER_INDEX}\" --no-deps --require-hashes \
             --requirement {FILES}/{INSTALLER} --target {RESULTS}/{PIP}; }} && "
        )
    }

    /// Keeps in mind what the interpreters are, or compares them with that.
    fn interpreters(&self, when: &str) -> String {
        let script = INTERPRETERS.0;
        format!(
            "{}python3 -I -B {FILES}/{script} {when} {ENVIRONMENT} {RESULTS}/{STATE}",
            self.path()
        )
    }

    fn requirements(&self) -> String {
        if let Some(digest) = self.locked {
            // The digest distinguishes files where layers come from a cache.
            return format!("--no-deps --require-hashes --requirement {FILES}/{REQUIREMENTS} && : {digest}");
        }
        // pip takes them in this order: an index that lacks pytest has nothing, which distinguishes it from one that lacks the others.
        let packages = with_bounds(&self.packages.pip, self.bounds);
        let is_runner = |given: &&String| {
            let rest = given.strip_prefix(TEST_RUNNER);
            // A bound of the age of releases comes as `<=`, so pytest may have one here.
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("<="))
        };
        let (runner, others): (Vec<&String>, Vec<&String>) = packages.iter().partition(is_runner);
        // After `--`, nothing is an option.
        let names: Vec<String> = runner.iter().chain(&others).map(|name| quoted(name)).collect();
        format!("-- {}", names.join(" "))
    }

    /// What stands before `python3` for the interpreter behind the environment.
    fn path(&self) -> &'static str {
        match self.has {
            None => "",
            // `ENV PATH` of an image of ours puts its environment first; the installer must start on the interpreter behind it.
            Some(_) => "PATH=${PATH#/opt/codegen/bin:} ",
        }
    }
}

/// Host of a package index without TLS. Whoever names one has decided to trust it.
pub(super) fn trusted_index(url: &str) -> Option<&str> {
    let authority = url.strip_prefix("http://")?.split('/').next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    (!host.is_empty()).then_some(host)
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
            has: None,
            packages,
            bounds: &[],
            aged: None,
            locked: None,
            trusted_index: None,
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
            trusted_index: trusted_index("http://reader:secret@index.example:8080/it's/simple"),
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
            (trusted("Acquire::https::CAInfo="), trusted("--cert "))
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
    fn only_what_is_new_is_installed_on_top_of_an_image_of_ours() {
        let (old, new) = (
            packages(&["pandas", "pytest"], &["libgomp1"]),
            packages(&["openpyxl", "pandas", "pytest"], &["libgomp1", "libmagic1"]),
        );
        let recipe = Recipe {
            has: Some(&old),
            ..recipe(&new)
        };
        insta::assert_snapshot!(recipe.dockerfile());
    }

    #[test]
    fn what_is_old_enough_is_installed_and_the_test_runner_first() {
        let packages = packages(&["pandas", "pytest"], &[]);
        let recipe = Recipe {
            bounds: &["pandas<=2.2".into(), "pytest<=8.3,!=8.2".into()],
            ..recipe(&packages)
        };
        let text = recipe.dockerfile();
        assert!(text.contains("-- 'pytest<=8.3,!=8.2' 'pandas<=2.2' "), "{text}");
    }

    #[test]
    fn where_ages_count_a_pip_that_knows_them_installs() {
        let packages = packages(&["pytest"], &[]);
        let recipe = Recipe {
            aged: Some(Aged {
                days: 7,
                trusted_index: Some("mirror.example:8080"),
            }),
            trusted_index: Some("index.example"),
            has_index_authorities: true,
            has_pip_authorities: true,
            arguments: vec![INSTALLER_INDEX],
            ..recipe(&packages)
        };
        insta::assert_snapshot!(recipe.dockerfile());
    }

    #[rstest]
    #[case::on_a_base(false)]
    #[case::on_an_image_of_ours(true)]
    fn every_installation_ends_with_a_check_of_the_interpreters(#[case] extends: bool) {
        let packages = packages(&["pytest"], &[]);
        let recipe = Recipe {
            has: extends.then_some(&packages),
            ..recipe(&packages)
        };
        let text = recipe.dockerfile();
        let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}: {text}"));
        assert!(
            at("interpreters.py before /opt/codegen") < at("install.py"),
            "{text}"
        );
        assert!(
            at("install.py") < at("interpreters.py after /opt/codegen"),
            "{text}"
        );
        assert!(!text.contains("/opt/codegen/bin/python"), "{text}");
    }

    #[test]
    fn a_lock_is_installed_archive_by_archive() {
        let packages = packages(&["pandas", "pytest"], &[]);
        let recipe = Recipe {
            locked: Some("3f2a"),
            ..recipe(&packages)
        };
        insta::assert_snapshot!(recipe.dockerfile());
    }

    #[test]
    fn an_index_with_tls_needs_no_trust() {
        assert_eq!(trusted_index("https://index.example/simple"), None);
        assert_eq!(
            trusted_index("http://index.example/simple"),
            Some("index.example")
        );
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
