//! Faults that checks found, and how they are said and recognised.

use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use super::digest::sha256_hex_of_parts;
use super::sandbox::{LimitKind, PhaseEnd, PhaseReport, TestFailure};
use codegen_api::duration;

/// One thing that must be fixed.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct FailedCheck {
    /// Check that noticed it.
    pub source: CheckSource,
    /// Failure that was noticed.
    pub detail: TestFailure,
}

/// Check that noticed a failure.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[serde(rename_all = "camelCase")]
pub enum CheckSource {
    /// A test of the generated suite.
    Test,
    /// A test file that could not be collected.
    Collection,
    /// The test session as a whole: it did not end as honest sessions end.
    Session,
    /// The suite finds no fault: it passes against a program without bodies, or all of its tests are skipped.
    Vacuity,
    /// The program on the samples.
    Rehearsal,
    /// The user's acceptance tests.
    Acceptance,
    /// A case of the plan, or one that follows from it.
    Case,
    /// A case that was worked out twice.
    SettledCase,
    /// A case of the plan that is held back from whoever writes the program.
    HeldCase,
    /// The user's examples.
    Example,
}

impl CheckSource {
    /// Reports whether the suite may be to blame. Rehearsal and acceptance tests are never the model's to change.
    #[must_use]
    pub const fn suite_may_be_wrong(self) -> bool {
        match self {
            Self::Test | Self::Collection | Self::Session | Self::Vacuity => true,
            Self::Rehearsal
            | Self::Acceptance
            | Self::Case
            | Self::SettledCase
            | Self::HeldCase
            | Self::Example => false,
        }
    }
}

impl CheckSource {
    /// Reports whether a model learns of it no more than how many fail: it is the user's own, or held back.
    #[must_use]
    pub const fn is_hidden(self) -> bool {
        matches!(self, Self::Acceptance | Self::Example | Self::HeldCase)
    }

    /// Reports whether it is a case of the plan, or one that follows from it.
    #[must_use]
    pub const fn is_case(self) -> bool {
        matches!(self, Self::Case | Self::SettledCase)
    }
}

impl FailedCheck {
    /// Returns the hash that equal failures share: of test, exception, and message without what varies from run to run.
    #[must_use]
    pub fn signature(&self) -> String {
        // Sixteen digits: signatures are compared among the failures of one task, and stand in a status of limited size.
        let message = normalise(&self.detail.message);
        sha256_hex_of_parts(&[&self.detail.id, &self.detail.exception, &message])[..16].to_owned()
    }

    /// The same of a case that is held back: its number alone.
    #[must_use]
    pub fn masked(&self, number: usize) -> Self {
        Self {
            source: CheckSource::HeldCase,
            detail: TestFailure {
                id: format!("case {number}"),
                message: "it fails, and is held back from whoever writes the program".to_owned(),
                ..TestFailure::default()
            },
        }
    }

    /// One line for people: `test_solution.py::test_mean: AssertionError: assert 3 == 4`.
    #[must_use]
    pub fn headline(&self) -> String {
        let message = self.detail.message.lines().next().unwrap_or_default();
        match (self.detail.exception.is_empty(), message.is_empty()) {
            (true, _) => format!("{}: {message}", self.detail.id),
            (false, true) => format!("{}: {}", self.detail.id, self.detail.exception),
            (false, false) => format!("{}: {}: {message}", self.detail.id, self.detail.exception),
        }
    }
}

/// Says in words how a program ended that did not end well.
pub(crate) fn end_in_words(phase: &PhaseReport) -> String {
    match &phase.end {
        PhaseEnd::Exited(code) => format!("the program ended with exit code {code}"),
        PhaseEnd::Signaled(signal) => format!("signal {signal} ended the program"),
        PhaseEnd::TimedOut => format!("the program did not end within {}", duration::text(phase.seconds)),
        PhaseEnd::LimitHit(kind) => format!(
            "the program used more {} than the sandbox allows",
            limit_name(*kind)
        ),
    }
}

/// A limit in words.
#[must_use]
pub const fn limit_name(kind: LimitKind) -> &'static str {
    match kind {
        LimitKind::Memory => "memory",
        LimitKind::Cpu => "CPU time",
        LimitKind::Processes => "processes",
        LimitKind::FileSize => "disk space for one file",
        LimitKind::Disk => "disk space for its outputs",
    }
}

/// Exception and message of the last line of a Python traceback.
pub(crate) fn last_exception(stderr: &str) -> (String, String) {
    let last = stderr
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default()
        .trim();
    match last.split_once(": ") {
        // A line that only looks like `name: message` (a path, a sentence) names no exception.
        Some((name, message)) if name.chars().all(|c| c.is_alphanumeric() || c == '.' || c == '_') => {
            (name.to_owned(), message.to_owned())
        }
        _ => (String::new(), last.to_owned()),
    }
}

/// The end of a text, whole characters, at most `bytes` long.
#[must_use]
pub fn tail(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let mut start = text.len() - bytes;
    while !text.is_char_boundary(start) {
        start += 1;
    }
    format!("[...]{}", &text[start..])
}

/// A message without what varies from run to run: addresses, temporary paths, times, white space.
fn normalise(message: &str) -> String {
    static VARYING: LazyLock<Vec<Regex>> = LazyLock::new(|| {
        // In turn: an address of an object, a temporary path, a UUID, a line that moves with each fix, a duration. Two runs of the same
        // failure differ in nothing else.
        [
            r"0x[0-9a-fA-F]+",
            r"/tmp/[^\s'\x22:,)]+",
            r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
            r"\bline \d+",
            r"\b\d+(\.\d+)? ?(s|ms|seconds)\b",
        ]
        .iter()
        .filter_map(|pattern| Regex::new(pattern).ok())
        .collect()
    });
    let mut text = message.to_owned();
    for pattern in VARYING.iter() {
        text = pattern.replace_all(&text, "~").into_owned();
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
