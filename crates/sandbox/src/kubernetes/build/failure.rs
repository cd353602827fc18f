//! Meaning of a failed build: a package that cannot be had, something to change, or bad luck. No request is made here.

use std::sync::LazyLock;

use regex::Regex;

use super::state::BuildFailureCause;
use crate::image::TEST_RUNNER;
use crate::installation::judge::PACKAGE_LAYER;
use crate::packages::{classify, classify_locked, without_credentials};
use crate::{PackageProblem, PackageProblemKind, SandboxError};
use codegen_core::stage::Category;

/// Length of the part of the builder's log that a message carries, characters.
// Of one line: longer ones are mostly tracebacks and command lines, and a status has 32 KiB.
const DETAIL: usize = 400;
/// Length of the part of the log that a package problem carries, bytes.
const PACKAGE_DETAIL: usize = 2048;

/// The build that failed.
#[derive(Clone, Debug)]
pub(super) struct FailedBuild<'a> {
    /// `Job team-a/build-7d0c1`.
    pub child: String,
    /// The base image.
    pub base: &'a str,
    /// Reference that the image is pushed to.
    pub reference: &'a str,
    /// Builds of this image that were lost before.
    pub repeat: u32,
    /// True where a recorded lock was to be installed.
    pub is_locked: bool,
    /// Field and Secret that hold the credentials of the push.
    pub push_credentials: &'a str,
}

impl FailedBuild<'_> {
    /// The error. `log` is the end of what the builder printed, where that shows the cause.
    pub fn error(&self, failure: BuildFailureCause, log: &str) -> SandboxError {
        match failure {
            BuildFailureCause::Builder => self.of_log(log),
            BuildFailureCause::OutOfMemory => self.once_more(
                "it ran out of memory",
                "raise build.resources.limits.memory of the operator",
            ),
            BuildFailureCause::Deadline => self.once_more(
                "it ran out of time",
                "raise build.deadlineSeconds of the operator, or look at its log for what takes so long",
            ),
            BuildFailureCause::Lost(reason) => self.lost(&reason),
            BuildFailureCause::Refused(reason, remedy) => self.refused(reason, remedy),
            // Found by the push, and no matter of its settings.
            BuildFailureCause::Push(_, message) if message.contains(PACKAGE_LAYER) => {
                SandboxError::PackageDenied(message)
            }
            BuildFailureCause::Push(Category::Configuration, message) => SandboxError::Refused {
                object: format!("image {}", self.reference),
                reason: message,
                remedy: format!("change {}", self.push_credentials),
            },
            BuildFailureCause::Push(_, message) => self.lost(&message),
        }
    }

    fn of_log(&self, log: &str) -> SandboxError {
        if let Some(problem) = apt_problem(log) {
            return SandboxError::Packages(problem);
        }
        // Before the signs of bad luck: a certificate or a login that is refused also reads like a network that fails, and trying again
        // never helps.
        if let Some((reason, remedy)) = misconfigured(log) {
            return self.refused(reason, remedy.replace("{base}", self.base));
        }
        if OUT_OF_MEMORY.iter().any(|sign| log.contains(sign)) {
            return self.error(BuildFailureCause::OutOfMemory, "");
        }
        // A mirror that fails for now prints errors of packages as well; searched for first, they cost a repeat and no call of a model.
        if BAD_LUCK.iter().any(|sign| log.contains(sign)) {
            return self.lost(&last_words(log));
        }
        let error = classify(log);
        let is_unclear =
            matches!(&error, SandboxError::Packages(problem) if problem.kind == PackageProblemKind::Other);
        // With a lock the model cannot choose other versions; whoever runs the index has to put the archive back.
        let error = if self.is_locked && !is_unclear {
            classify_locked(error)
        } else {
            error
        };
        match error {
            // Every index has it, and it is asked for first.
            SandboxError::Packages(problem)
                if problem.kind == PackageProblemKind::NotFound && problem.names == [TEST_RUNNER] =>
            {
                self.refused(
                    format!("the package index gives no {TEST_RUNNER}, as if it refused everything"),
                    "correct image.indexURL, and the user and password in it",
                )
            }
            // Nobody can say what went wrong: once more may help, and after that a person has to read the log.
            SandboxError::Packages(problem) if problem.kind == PackageProblemKind::Other => {
                self.once_more(&last_words(log), "read the log of its container `build`")
            }
            problem @ (SandboxError::Packages(_)
            | SandboxError::PackageDenied(_)
            | SandboxError::Refused { .. }) => problem,
            other => self.lost(&other.to_string()),
        }
    }

    /// The first time bad luck; the second time something to change.
    fn once_more(&self, reason: &str, remedy: &str) -> SandboxError {
        if self.repeat == 0 {
            self.lost(reason)
        } else {
            self.refused(format!("{reason}, for the second time"), remedy)
        }
    }

    fn lost(&self, reason: &str) -> SandboxError {
        SandboxError::Lost {
            child: self.child.clone(),
            reason: reason.to_owned(),
        }
    }

    fn refused(&self, reason: String, remedy: impl Into<String>) -> SandboxError {
        SandboxError::Refused {
            object: self.child.clone(),
            reason,
            remedy: remedy.into(),
        }
    }
}

/// Signs of an installer that was killed for its memory while the builder lived on.
// Kaniko reports how its `RUN` ended: 137 is 128 and SIGKILL.
const OUT_OF_MEMORY: [&str; 3] = ["signal: killed", "exit status 137", "MemoryError"];

/// Signs of a network or mirror that fails for now.
const BAD_LUCK: [&str; 7] = [
    // These come from Kaniko (Go), apt and registries.
    "connect: connection refused",
    "Temporary failure resolving",
    "i/o timeout",
    "TLS handshake timeout",
    "Hash Sum mismatch",
    "TOOMANYREQUESTS",
    "E: Failed to fetch",
];

#[expect(
    clippy::expect_used,
    reason = "the patterns are constants; a test uses each of them"
)]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a valid pattern")
}

/// Messages of apt about a package, and the problem that each means.
static APT: LazyLock<[(Regex, PackageProblemKind); 4]> = LazyLock::new(|| {
    use PackageProblemKind::{Conflict, NoSuchVersion, NotFound};
    [
        (r"E: Unable to locate package (\S+)", NotFound),
        (r"E: Package '([^']+)' has no installation candidate", NotFound),
        (r"E: Version '[^']*' for '([^']+)' was not found", NoSuchVersion),
        (r"(?m)^ (\S+) : (?:Depends|Conflicts|Breaks): ", Conflict),
    ]
    .map(|(text, kind)| (pattern(text), kind))
});

fn apt_problem(log: &str) -> Option<PackageProblem> {
    let (kind, names) = APT.iter().find_map(|(rule, kind)| {
        let mut names: Vec<String> = rule.captures_iter(log).map(|found| found[1].to_owned()).collect();
        names.sort();
        names.dedup();
        (!names.is_empty()).then_some((*kind, names))
    })?;
    let start = log.ceil_char_boundary(log.len().saturating_sub(PACKAGE_DETAIL));
    Some(PackageProblem {
        manager: "apt",
        names,
        kind,
        detail: without_credentials(&log[start..]),
        is_foreseen: false,
    })
}

/// Faults that only a person can fix: the line that tells of one, and what to change.
static MISCONFIGURED: LazyLock<[(Regex, &str); 8]> = LazyLock::new(|| {
    [
        (
            r"(?:retrieving image|error building image|unable to complete operation).*(?:UNAUTHORIZED|DENIED|401|403|no basic auth).*",
            "give image.pullSecretRef a Secret that may pull {base}",
        ),
        (
            r"(?:retrieving image|error building image|unable to complete operation).*(?:MANIFEST_UNKNOWN|NAME_UNKNOWN).*",
            "check image.base: {base} is not there",
        ),
        (
            r"(?:retrieving image|error building image|unable to complete operation).*no such host.*",
            "check image.base: no address is known for the registry of {base}",
        ),
        (
            r"(?:retrieving image|error building image|unable to complete operation).*(?:x509|server gave HTTP response to HTTPS).*",
            "set registries.authorities or registries.insecure of the operator for the registry of {base}",
        ),
        (
            r".*(?:invalid peer certificate|Certificate verification failed).*",
            "set image.indexCABundle of the task, or build.indexAuthorities of the operator, to the certificate authority of the package index",
        ),
        (
            r".*(?:lack of valid authentication credentials|returned a 403 Forbidden|client error \(40[13]|40[13]  (?:Unauthorized|Forbidden)).*",
            "give image.indexURL credentials that the package index takes",
        ),
        (
            r".*(?:Failed to fetch: .*\n(?:  cause: .*\n)*?  cause: dns error|Could not resolve).*",
            "check image.indexURL, the sources of apt in the base image, and that builds may ask the cluster's DNS",
        ),
        (
            r".*(?:python3: not found|open /etc/group|apt-get: not found).*",
            "take an image.base with python3, and with apt where system packages are wanted",
        ),
    ]
    .map(|(text, remedy)| (pattern(text), remedy))
});

fn misconfigured(log: &str) -> Option<(String, &'static str)> {
    MISCONFIGURED.iter().find_map(|(rule, remedy)| {
        let line = rule.find(log)?.as_str();
        Some((short(line), *remedy))
    })
}

/// The builder's last line that is no progress.
fn last_words(log: &str) -> String {
    let line = log.lines().rev().find(|line| !line.trim().is_empty());
    short(line.unwrap_or("it failed without a word"))
}

fn short(line: &str) -> String {
    let line = without_credentials(&line.split_whitespace().collect::<Vec<_>>().join(" "));
    let end = line.floor_char_boundary(DETAIL);
    line[..end].to_owned()
}

#[cfg(test)]
mod tests;
