//! Constraints on a column that both a sample and an output have: whether the output's is meant.
//!
//! A break is a finding until a call that sees neither program nor values has said that the constraint speaks of other data. A constraint
//! that names the output, or a column that no sample has, always holds.

use codegen_api::status::ConstraintStatus;
use codegen_data::checks::text::in_words;

use super::bounds::cut;
use super::checks::{Break, ColumnCheck};
use super::progress::Progress;
use super::task::Task;
use super::verdict::BrokenOutput;

/// Most breaks of one task that are asked about: others hold.
const MOST_ASKED: usize = 24;
/// Bytes of a constraint that is listed as not applied.
const SHOWN: usize = 120;
/// Bytes of a check in words by which it is recognised.
const WORDS: usize = 400;

/// Breaks among these faults of which nobody has decided yet whether the constraint speaks of the output.
#[must_use]
pub fn doubtful(
    task: &Task,
    progress: &Progress,
    checks: &[ColumnCheck],
    faults: &[BrokenOutput],
) -> Vec<Break> {
    let mut found: Vec<Break> = Vec::new();
    for fault in faults {
        let Some(words) = fault.broken.as_deref().map(|words| cut(words, WORDS)) else {
            continue;
        };
        let broken = checks.iter().filter(|check| {
            check.in_samples
                && cut(&in_words(check), WORDS) == words
                && !names(task, check.constraint, &fault.output)
        });
        for check in broken {
            let one = Break {
                constraint: check.constraint,
                column: check.column.clone(),
                output: fault.output.clone(),
            };
            if !found.contains(&one) && !progress.settled_breaks.contains(&one.signature()) {
                found.push(one);
            }
        }
    }
    found.truncate(MOST_ASKED.saturating_sub(progress.settled_breaks.len()));
    found
}

/// Reports whether a constraint has the name of an output in it, whatever stands for its underscores.
fn names(task: &Task, constraint: usize, output: &str) -> bool {
    let words = |text: &str| -> String {
        let letters = text.chars().flat_map(char::to_lowercase);
        let spaced: String = letters
            .map(|letter| if letter.is_alphanumeric() { letter } else { ' ' })
            .collect();
        let words: Vec<&str> = spaced.split_whitespace().collect();
        format!(" {} ", words.join(" "))
    };
    let text = task.constraints.get(constraint).map_or("", String::as_str);
    words(text).contains(&words(output))
}

/// Takes constraints from outputs that they do not speak of.
pub fn waive(checks: &mut [ColumnCheck], constraints: &mut [ConstraintStatus], waived: &[&Break]) {
    for one in waived {
        let is_of =
            |check: &&mut ColumnCheck| check.constraint == one.constraint && check.column == one.column;
        for check in checks.iter_mut().filter(is_of) {
            check.except.push(one.output.clone());
        }
        if let Some(status) = constraints.get_mut(one.constraint)
            && !status.not_applied_to.contains(&one.output)
        {
            status.not_applied_to.push(one.output.clone());
        }
    }
}

/// Constraints that some outputs are not held to, for people: the sentence and the outputs.
#[must_use]
pub fn not_applied(constraints: &[ConstraintStatus]) -> Vec<String> {
    let waived = constraints
        .iter()
        .filter(|status| !status.not_applied_to.is_empty());
    waived
        .map(|status| {
            format!(
                "{} ({})",
                cut(&status.text, SHOWN),
                status.not_applied_to.join(", ")
            )
        })
        .collect()
}

#[cfg(test)]
mod tests;
