//! Rules about which packages may be installed, of the operator and of the task, and their judgement of a set of packages.

mod popular;
pub(super) mod rules;

use std::borrow::Cow;
use std::fmt;

pub use self::popular::resembles;
use self::rules::SYSTEM;
pub use self::rules::{PackagePolicy, Rules};
use super::progress::Progress;
use super::python::requirement::{Requirement, normalized};
use super::sandbox::Packages;
use super::stage::{Stop, StopReason};
use super::task::{ImageSettings, Task};
use super::wildcard;

/// Test runner, which every image holds besides: no rule of a task is about it.
const TEST_RUNNER: &str = "pytest";
/// Packages that the test runner brings into every image: no rule is about them either, unless somebody asks for one.
const BROUGHT_BY_TEST_RUNNER: [&str; 7] = [
    "colorama",
    "exceptiongroup",
    "iniconfig",
    "packaging",
    "pluggy",
    "pygments",
    "tomli",
];
/// Names of a list that a prompt holds.
const MOST_LISTED: usize = 64;

/// A package that a rule forbids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// `pip package torch`.
    package: String,
    /// The name in a list that forbids it; nothing where the list of what is allowed lacks it.
    pattern: Option<String>,
    /// True where the rule is the operator's.
    is_clusters: bool,
    /// True where it was not asked for, and another package brought it.
    is_brought: bool,
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whose, who) = if self.is_clusters {
            (
                "the operator's configuration",
                "ask whoever runs the operator to change the rule",
            )
        } else {
            ("the task or its agent", "change the rule")
        };
        write!(f, "{}", self.package)?;
        if self.is_brought {
            f.write_str(", which another package brought along,")?;
        }
        match &self.pattern {
            Some(pattern) => write!(f, " is denied by {pattern:?} in packages.deny of {whose}")?,
            None => write!(f, " is not in packages.allow of {whose}")?,
        }
        write!(
            f,
            ". Say in the prompt what to use in its place, or {who}; a task in a cluster goes on at the annotation \
             codegen-operator.dev/retry."
        )
    }
}

impl Denial {
    /// Returns the stop with which a task ends for it.
    #[must_use]
    pub fn stop(&self) -> Stop {
        Stop {
            reason: StopReason::PolicyDenied,
            message: self.to_string(),
        }
    }
}

impl PackagePolicy {
    /// The first of these packages that a rule forbids. What the task lists itself as a base need not be in its own list too.
    #[must_use]
    pub fn denial(&self, wanted: &Packages, image: &ImageSettings) -> Option<Denial> {
        let pip = image
            .base_packages
            .iter()
            .chain(&wanted.pip)
            .map(|given| (given, false));
        let apt = image
            .base_system_packages
            .iter()
            .chain(&wanted.apt)
            .map(|given| (given, true));
        let base = [
            names(&image.base_packages, false),
            names(&image.base_system_packages, true),
        ]
        .concat();
        pip.chain(apt)
            .map(|(given, is_system)| name(given, is_system))
            .filter(|name| name != TEST_RUNNER)
            .find_map(|name| {
                // A denial goes before a missing permission: its message names the rule that stands against the package.
                self.denied(&name, false)
                    .or_else(|| not_allowed(&self.cluster, &name, true))
                    .or_else(|| not_allowed(&self.own, &name, false).filter(|_| !base.contains(&name)))
            })
    }

    /// The first of the installed distributions (`pandas==2.3.1`) that is never to be installed.
    #[must_use]
    pub fn denial_of_installed(&self, resolved: &[String]) -> Option<Denial> {
        let installed = resolved.iter().map(|given| name(given, false));
        installed
            .filter(|name| name != TEST_RUNNER && !BROUGHT_BY_TEST_RUNNER.contains(&name.as_str()))
            .find_map(|name| self.denied(&name, true))
    }

    /// The lists that each hold all that may be asked for, for the model; none where everything may. A list that is too long for
    /// a prompt is not shown.
    #[must_use]
    pub fn allowed(&self) -> Vec<&[String]> {
        let lists = [&self.cluster.allow, &self.own.allow].map(Vec::as_slice);
        lists
            .into_iter()
            .filter(|list| (1..=MOST_LISTED).contains(&list.len()))
            .collect()
    }

    /// Names of what is never installed, for the model.
    #[must_use]
    pub fn never(&self) -> Vec<&String> {
        self.cluster
            .deny
            .iter()
            .chain(&self.own.deny)
            .take(MOST_LISTED)
            .collect()
    }

    /// Days that a release must have been on the index.
    #[must_use]
    pub fn min_release_age_days(&self) -> u32 {
        // The stricter of the two, whichever it is.
        self.own
            .min_release_age_days
            .max(self.cluster.min_release_age_days)
    }

    /// Reports whether the index is asked before a build.
    #[must_use]
    pub const fn verifies_on_index(&self) -> bool {
        self.own.verify_on_index && self.cluster.verify_on_index
    }

    /// Reports whether a rule is about what is installed, whoever brought it along.
    #[must_use]
    pub fn judges_installed(&self) -> bool {
        let denied = self.own.deny.iter().chain(&self.cluster.deny);
        self.min_release_age_days() > 0 || denied.into_iter().any(|pattern| !pattern.starts_with(SYSTEM))
    }

    fn denied(&self, name: &str, is_brought: bool) -> Option<Denial> {
        [(&self.cluster, true), (&self.own, false)]
            .into_iter()
            .find_map(|(rules, is_clusters)| {
                let pattern = rules.deny.iter().find(|pattern| matches(pattern, name))?;
                Some(Denial {
                    package: shown(name),
                    pattern: Some(pattern.clone()),
                    is_clusters,
                    is_brought,
                })
            })
    }
}

fn not_allowed(rules: &Rules, name: &str, is_clusters: bool) -> Option<Denial> {
    let is_allowed = rules.allow.is_empty() || rules.allow.iter().any(|pattern| matches(pattern, name));
    (!is_allowed).then(|| Denial {
        package: shown(name),
        pattern: None,
        is_clusters,
        is_brought: false,
    })
}

/// Returns the denial for which the task must end before the image that it wants is made, if it must.
#[must_use]
pub fn denial(task: &Task, progress: &Progress) -> Option<Denial> {
    task.packages.denial(&progress.build.wanted, &task.image)
}

/// Names that resemble a popular package's and are another's, one sentence each.
#[must_use]
pub fn doubts(wanted: &Packages) -> Vec<String> {
    wanted
        .pip
        .iter()
        .filter_map(|given| {
            let name = name(given, false);
            let popular = resembles(&name)?;
            Some(format!(
                "the package {name} has almost the name of {popular}, which is much used: see that it is what you want"
            ))
        })
        .collect()
}

/// Says that nobody knows what is installed in the image that was made for the task: its manifest does not say it, as when another version
/// of the operator has pushed it. The test runner is in every image, so that no list is empty.
#[must_use]
pub fn unlisted(task: &Task, image: &str, resolved: &[String]) -> Option<String> {
    // An image that the task brings is not inspected.
    if task.image.reference.is_some() || !resolved.is_empty() {
        return None;
    }
    Some(format!(
        "what is installed in the image {image} is not known, since its manifest does not say it: another version of the operator may \
         have pushed it. See that operatorImage is of the version of the operator; with cache: Override it is made again"
    ))
}

fn names(given: &[String], is_system: bool) -> Vec<String> {
    given.iter().map(|given| name(given, is_system)).collect()
}

/// A package as the rules name it: `pandas`, `apt:libgomp1`.
fn name(given: &str, is_system: bool) -> String {
    if is_system {
        let plain = given.split('=').next().unwrap_or(given);
        return format!("{SYSTEM}{plain}");
    }
    Requirement::parse(given).map_or_else(
        |_| normalized(given.split("==").next().unwrap_or(given)),
        |requirement| requirement.name,
    )
}

fn shown(name: &str) -> String {
    match name.strip_prefix(SYSTEM) {
        Some(name) => format!("apt package {name}"),
        None => format!("pip package {name}"),
    }
}

/// Reports whether a name of a rule means this package.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = match (pattern.strip_prefix(SYSTEM), name.strip_prefix(SYSTEM)) {
        (Some(pattern), Some(name)) => (Cow::Borrowed(pattern), name),
        (None, None) => (Cow::Owned(normal(pattern)), name),
        _ => return false,
    };
    wildcard::matches(&pattern, name)
}

/// Lower case, runs of `-`, `_` and `.` as one dash: as names are compared, but for the stars.
fn normal(pattern: &str) -> String {
    let mut text = String::with_capacity(pattern.len());
    for c in pattern.chars() {
        match c {
            '-' | '_' | '.' if text.ends_with('-') => {}
            '-' | '_' | '.' => text.push('-'),
            c => text.push(c.to_ascii_lowercase()),
        }
    }
    text
}

#[cfg(test)]
mod tests;
