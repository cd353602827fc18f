//! Bounds on the size of a task's state. It lies in an object of an API server, beside thousands of others.
//!
//! Texts of models and programs are cut where they enter the state; what decides the next step is never cut, and is small by what
//! it is made of: hashes, numbers, and packages within [`MOST_PACKAGE_BYTES`].

use std::collections::BTreeSet;

use codegen_api::status::{ConstraintStatus, PlanStatus};

use super::digest::sha256_hex;
use super::progress::Progress;
use super::sandbox::Packages;
use super::terminal::spelled_out;

/// Most bytes of the names of all packages that a program and its suite need.
pub const MOST_PACKAGE_BYTES: usize = 2_048;
/// Failures that are distinguished; those beyond count as one.
const MOST_FAILURES: usize = 24;
/// Attempts that the status shows.
const MOST_ATTEMPTS: usize = 20;
/// Decisions that the status shows.
const MOST_DECISIONS: usize = 8;
/// Further tries that the status shows; those before are documents of the record.
const MOST_RETRIES: usize = 6;
/// Libraries of a plan.
const MOST_LIBRARIES: usize = 24;
/// Bytes of all installed packages with their versions.
const MOST_INSTALLED_BYTES: usize = 6 * 1024;
/// Samples and outputs that a constraint is bound to.
const MOST_BOUND: usize = 8;
/// Bytes of a name in a list.
const NAME: usize = 100;
/// Cases of one plan that are used; a reply that has more is cut.
pub(super) const MOST_CASES: usize = 12;
/// Bytes of a case in one line.
pub(super) const CASE: usize = 120;
/// Bytes of a sentence.
const SENTENCE: usize = 400;
/// Bytes of a text that says what happened and what to do.
pub const LONGEST_MESSAGE: usize = 1_200;

/// A text of at most `bytes` bytes as JSON writes it, an ellipsis at the end of one that was cut.
#[must_use]
pub fn cut(text: &str, bytes: usize) -> String {
    const ELLIPSIS: char = '…';
    if text.chars().map(bytes_in_json).sum::<usize>() <= bytes {
        return text.to_owned();
    }
    let mut left = bytes.saturating_sub(ELLIPSIS.len_utf8());
    let kept = text.chars().take_while(|character| {
        let fits = bytes_in_json(*character) <= left;
        left = left.saturating_sub(bytes_in_json(*character));
        fits
    });
    kept.chain([ELLIPSIS]).collect()
}

const fn bytes_in_json(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        other => other.len_utf8(),
    }
}

/// A message in a status, where it may quote models, servers and programs: at most [`LONGEST_MESSAGE`] bytes, without anything that a
/// terminal obeys.
#[must_use]
pub fn message_shown(text: &str) -> String {
    cut(&spelled_out(text), LONGEST_MESSAGE)
}

/// The first of `names` that have at most `bytes` bytes together, and how many more there are.
#[must_use]
pub fn first(names: &[String], bytes: usize) -> Vec<String> {
    let mut left = bytes;
    let fitting = names.iter().take_while(|name| {
        let fits = name.len() + 3 <= left;
        left = left.saturating_sub(name.len() + 3);
        fits
    });
    let mut kept: Vec<String> = fitting.cloned().collect();
    if kept.len() < names.len() {
        kept.push(format!("... and {} more", names.len() - kept.len()));
    }
    kept
}

/// The signatures of failures, so many that each has its own and the rest one together: equal sets stay equal.
#[must_use]
pub(super) fn bounded_signatures(failing: &BTreeSet<String>) -> BTreeSet<String> {
    if failing.len() <= MOST_FAILURES {
        return failing.clone();
    }
    let (own, rest): (Vec<_>, Vec<_>) = failing
        .iter()
        .enumerate()
        .partition(|(number, _)| *number < MOST_FAILURES - 1);
    let rest: Vec<&str> = rest
        .into_iter()
        .map(|(_, signature)| signature.as_str())
        .collect();
    own.into_iter()
        .map(|(_, signature)| signature.clone())
        .chain([sha256_hex(rest.join("|").as_bytes())[..16].to_owned()])
        .collect()
}

/// Returns the reason for which so many packages are too many; `None` where they are not.
#[must_use]
pub(super) fn too_many(packages: &Packages) -> Option<String> {
    let names = || packages.pip.iter().chain(&packages.apt);
    let bytes: usize = names().map(String::len).sum();
    (bytes > MOST_PACKAGE_BYTES).then(|| {
        format!(
            "The names of the {} packages that it needs have {bytes} characters together, and at most {MOST_PACKAGE_BYTES} are \
             taken; use fewer packages.",
            names().count()
        )
    })
}

impl Progress {
    /// Cuts what may be long.
    pub fn bound(&mut self) {
        if let Some(plan) = &mut self.plan {
            bound_plan(plan);
        }
        for fault in &mut self.rejections {
            fault.reason = cut(&fault.reason, SENTENCE * 2);
        }
        for constraint in &mut self.constraints {
            bound_constraint(constraint);
        }
        if let Some(cases) = &mut self.cases {
            cases.outputs_without_case.truncate(MOST_BOUND);
        }
        self.blamed_cases.truncate(MOST_CASES);
        if let Some(error) = &mut self.last_error {
            *error = cut(error, SENTENCE);
        }
        if let Some(message) = self.rehearsal.as_mut().and_then(|status| status.message.as_mut()) {
            *message = cut(message, SENTENCE);
        }
        if let Some(waiting) = &mut self.waiting {
            waiting.message = cut(&waiting.message, LONGEST_MESSAGE);
        }
        if let Some(stop) = &mut self.stop {
            stop.message = cut(&stop.message, LONGEST_MESSAGE);
        }
        if let Some(fault) = &mut self.build.fault {
            fault.message = cut(&fault.message, LONGEST_MESSAGE / 2);
        }
        if let Some(built) = &mut self.build.built {
            built.resolved = built.resolved.iter().map(|name| cut(name, NAME)).collect();
            built.resolved = first(&built.resolved, MOST_INSTALLED_BYTES);
            built.python = cut(&built.python, NAME);
        }
        let surplus = self.approvals.len().saturating_sub(MOST_DECISIONS);
        self.approvals.drain(..surplus);
        for decision in &mut self.approvals {
            decision.decided_by = cut(&decision.decided_by, NAME);
            decision.reason = decision.reason.take().map(|reason| cut(&reason, SENTENCE / 2));
        }
        self.bound_retries(MOST_RETRIES);
        if let Some(why) = &mut self.retry_refused {
            *why = cut(why, SENTENCE);
        }
        let surplus = self.attempts.len().saturating_sub(MOST_ATTEMPTS);
        self.attempts.drain(..surplus);
    }
}

fn bound_plan(plan: &mut PlanStatus) {
    plan.description = cut(&plan.description, SENTENCE * 2);
    plan.approach = cut(&plan.approach, SENTENCE * 8);
    plan.cases.truncate(MOST_CASES);
    for case in &mut plan.cases {
        *case = cut(case, CASE);
    }
    plan.libraries.truncate(MOST_LIBRARIES);
    for library in &mut plan.libraries {
        *library = cut(library, NAME / 2);
    }
}

fn bound_constraint(constraint: &mut ConstraintStatus) {
    constraint.text = cut(&constraint.text, SENTENCE);
    constraint.check = cut(&constraint.check, SENTENCE);
    constraint.bound_to.truncate(MOST_BOUND);
    constraint.not_applied_to.truncate(MOST_BOUND);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_cut_text_fits_and_begins_as_the_whole_one(text in "\\PC*|[\u{0}-\u{7f}]*", bytes in 3_usize..80) {
            let short = cut(&text, bytes);
            let json = serde_json::to_string(&short).unwrap();
            prop_assert!(json.len() - 2 <= bytes, "{json}");
            let kept = short.strip_suffix('…').unwrap_or(&short);
            prop_assert!(text.starts_with(kept));
            prop_assert_eq!(short == text, serde_json::to_string(&text).unwrap().len() - 2 <= bytes);
        }
    }

    #[test]
    fn a_message_shows_what_a_terminal_would_obey_and_leaves_every_script_as_it_is() {
        let odd = "a\u{1b}[2J\u{9b}31m\u{85}\u{2028}\u{2029}\u{202e}z";
        let shown = "a\\u{1b}[2J\\u{9b}31m\\u{85}\\u{2028}\\u{2029}\\u{202e}z";
        assert_eq!(message_shown(odd), shown);
        let honest = "注文の合計は 577.88 ユーロ 👩‍👩‍👧 ✅, سلام";
        assert_eq!(message_shown(honest), honest);
    }

    #[test]
    fn a_list_says_how_much_of_it_is_left_out() {
        let names: Vec<String> = (0..10).map(|number| format!("package-{number}")).collect();
        assert_eq!(first(&names, 1_000), names);
        assert_eq!(first(&names, 30), ["package-0", "package-1", "... and 8 more"]);
    }

    #[test]
    fn many_failures_are_as_equal_as_they_were() {
        let failing = |last: u32| {
            (0..100)
                .chain([last])
                .map(|n| format!("{n:04}"))
                .collect::<BTreeSet<_>>()
        };
        assert_eq!(bounded_signatures(&failing(200)).len(), MOST_FAILURES);
        assert_eq!(
            bounded_signatures(&failing(200)),
            bounded_signatures(&failing(200))
        );
        assert_ne!(
            bounded_signatures(&failing(200)),
            bounded_signatures(&failing(201))
        );
        let few = BTreeSet::from(["a".to_owned()]);
        assert_eq!(bounded_signatures(&few), few);
    }

    #[test]
    fn packages_are_refused_where_the_names_alone_are_a_burden() {
        let packages = |count: usize| Packages {
            pip: (0..count).map(|number| format!("package-{number:02}")).collect(),
            apt: Vec::new(),
        };
        assert_eq!(too_many(&packages(60)), None);
        assert!(too_many(&packages(300)).unwrap().contains("use fewer packages"));
    }
}
