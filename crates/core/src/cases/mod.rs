//! Cases: what a program is proved by. It runs alone on inputs that were chosen before it was written, and what it writes is
//! compared outside of its reach with what is expected.
//!
//! The plan's reply brings cases, and a user's `spec.examples` are cases too. One of the plan's is held back from whoever writes the
//! program (`choice`), and is executed exactly as a run is. What the cases are worth is seen by near misses of the program (`strength`).

pub mod compare;
mod check;
mod choice;
mod form;
mod judge;
mod names;
mod phase;
mod probe;
mod revise;
mod shown;
mod strength;

pub use check::{CaseData, unwritable, unwritable_example, usable};
pub use form::{Form, Forms};
pub use judge::{CasesJudged, judge};
pub use names::{OutputNames, output_names};
pub use phase::{CaseExecution, CaseOrigin, executions};
pub use revise::{Blamed, Revised, revise};
pub use strength::count_near_misses;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use codegen_api::case::{Case, CaseMode, Check, Expectation};
use codegen_api::status::CaseEvidence;
use codegen_api::values::ValueType;

use super::bounds::{CASE, MOST_CASES, cut};
use super::call::{FaultClass, ReplyFault};
use super::mounts::is_text_file;
use super::task::Task;
use shown::shown;

/// Most further cases that are taken where those of a plan do not tell a program from near misses.
const MOST_FURTHER: usize = 3;
/// Largest output of a case that is compared, bytes.
pub const MOST_OUTPUT_BYTES: u64 = 256 << 10;

/// Cases of the plan, as they are stored.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct CaseSet {
    /// The cases that decide; their numbers are their places in it, from 1.
    pub cases: Vec<PlannedCase>,
    /// Outputs that depend on time, chance or the network.
    pub unstable: Vec<String>,
    /// Cases of the reply that cannot be used, each with the reason.
    pub unusable: Vec<String>,
    /// Numbers of the cases that the author of the program was shown: from the progress, never stored with the cases.
    #[serde(skip)]
    pub seen: BTreeSet<usize>,
}

/// A case of the plan, and what became of it.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct PlannedCase {
    /// The case.
    #[serde(flatten)]
    pub case: Case,
    /// Result of working it out again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<CaseRevision>,
}

/// Result for a case that was blamed for a failure and worked out again without the program.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
pub enum CaseRevision {
    /// The second answer is the first one: the program is at fault.
    Confirmed,
    /// The second answer is what the program does: the case was wrong, and has that answer now.
    Corrected,
    /// Two answers that were worked out differ: the case decides nothing any more.
    Dropped,
}

impl CaseSet {
    /// Cases that still decide.
    pub fn deciding(&self) -> impl Iterator<Item = (usize, &Case)> {
        self.cases
            .iter()
            .enumerate()
            .filter(|(_, planned)| planned.revision != Some(CaseRevision::Dropped))
            .map(|(index, planned)| (index + 1, &planned.case))
    }

    /// Adds those that can be used and are new, up to so many, and says of the others why they cannot be used.
    fn add(&mut self, task: &Task, cases: Vec<Case>, forms: &Forms, most: usize) {
        let beyond = out_of_reach(task);
        for (index, case) in cases.into_iter().enumerate() {
            let why = beyond
                .clone()
                .or_else(|| usable(task, &case, &self.unstable, CaseData::Exposed))
                .or_else(|| unwritable(task, &case, forms));
            // Equal cases differ in their wording alone; counted twice they would look like more evidence.
            let is_known = self.cases.iter().any(|known| is_equal(&known.case, &case));
            match why {
                Some(why) => self.unusable.push(format!("case {}: {why}", index + 1)),
                None if self.cases.len() < most && !is_known => {
                    self.cases.push(PlannedCase { case, revision: None });
                }
                None => {}
            }
        }
    }

    /// Returns the evidence of the plan's cases, besides their counts.
    #[must_use]
    pub fn evidence(&self, task: &Task) -> CaseEvidence {
        let int = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
        let outputs = task.outputs.iter().map(|output| output.name.as_str());
        CaseEvidence {
            mode: task.cases,
            corrected: int(self.revised(CaseRevision::Corrected)),
            dropped: int(self.revised(CaseRevision::Dropped)),
            unusable: int(self.unusable.len()),
            vacuous: self.are_vacuous(task),
            outputs_without_case: self.silent(outputs).map(str::to_owned).collect(),
            ..CaseEvidence::default()
        }
    }

    /// Reports whether the cases and examples that decide also hold for a program that does the same whatever it is given. A case that was
    /// corrected to what the program does proves nothing of it.
    fn are_vacuous(&self, task: &Task) -> bool {
        let decide = task.cases == CaseMode::Require;
        let is_planned =
            |planned: &&PlannedCase| matches!(planned.revision, None | Some(CaseRevision::Confirmed));
        let planned = self.cases.iter().filter(|_| decide).filter(is_planned);
        let proving = task.examples.iter().chain(planned.map(|planned| &planned.case));
        // What was corrected shows nothing of a result, and shows as much as others that it is not the same each time.
        let decides = self.deciding().filter(|_| decide).map(|(_, case)| case);
        let mut deciding = task.examples.iter().chain(decides).peekable();
        deciding.peek().is_some() && probe::are_vacuous(task, proving, deciding)
    }

    /// The fault for which the plan is asked for again: a task whose results are to be proved by cases should have
    /// one. `None` where it has, and where none can be.
    #[must_use]
    pub fn lack(&self, task: &Task) -> Option<ReplyFault> {
        let needs_one = task.cases == CaseMode::Require && !task.outputs.is_empty();
        if !needs_one || !self.cases.is_empty() || out_of_reach(task).is_some() {
            return None;
        }
        let reason = if self.unusable.is_empty() {
            "No case of the plan can be used: it brings none. Give at least one, with inputs and results."
                .to_owned()
        } else {
            format!(
                "No case of the plan can be used: {}. Give at least one that can.",
                self.unusable.join("; ")
            )
        };
        Some(ReplyFault {
            class: FaultClass::NoCase,
            reason,
        })
    }

    /// The cases that decide in one line each, for people.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.deciding().map(|(number, case)| line(number, case)).collect()
    }

    /// Reports whether the case of this number was worked out again.
    #[must_use]
    pub fn is_revised(&self, number: usize) -> bool {
        let planned = number.checked_sub(1).and_then(|index| self.cases.get(index));
        planned.is_some_and(|planned| planned.revision.is_some())
    }

    /// Counts the cases that were revised in this way.
    #[must_use]
    pub fn revised(&self, revision: CaseRevision) -> usize {
        let is_so = |planned: &&PlannedCase| planned.revision == Some(revision);
        self.cases.iter().filter(is_so).count()
    }

    /// Names of those outputs of which no case states anything.
    pub fn silent<'a>(
        &'a self,
        outputs: impl Iterator<Item = &'a str> + 'a,
    ) -> impl Iterator<Item = &'a str> {
        outputs.filter(|name| {
            let mut stated = self.deciding().flat_map(|(_, case)| &case.expect);
            !stated.any(|line| output_of(line) == *name)
        })
    }
}

/// Builds the cases of a plan for this task: those that can be used, each once, and why the others cannot.
#[must_use]
pub fn planned(task: &Task, cases: Vec<Case>, unstable: Vec<String>, forms: &Forms) -> CaseSet {
    if task.cases == CaseMode::Off {
        return CaseSet::default();
    }
    let mut set = CaseSet {
        unstable,
        ..CaseSet::default()
    };
    set.add(task, cases, forms, MOST_CASES);
    set
}

/// The cases with some of further ones: those that can be used and are new.
#[must_use]
pub fn extended(task: &Task, mut set: CaseSet, cases: Vec<Case>, forms: &Forms) -> CaseSet {
    let most = set.cases.len() + MOST_FURTHER;
    set.add(task, cases, forms, most);
    set
}

/// Reports whether the user's examples, which decide where the plan brings no case, also hold for a program that does the same whatever it
/// is given.
#[must_use]
pub fn examples_are_vacuous(task: &Task) -> bool {
    probe::are_vacuous(task, task.examples.iter(), task.examples.iter())
}

/// Returns the reason for which no case at all can be run; `None` where some can.
fn out_of_reach(task: &Task) -> Option<String> {
    let is_text = |name: &str| is_text_file(task.mount_name(name).as_deref().unwrap_or(name));
    let mut files = task.inputs.iter().filter(|input| input.type_ == ValueType::File);
    let file = files.find(|input| task.has_private_data() && !is_text(&input.name))?;
    Some(format!(
        "the data of --{} is private, and a file that is no text cannot be given in its place",
        file.name
    ))
}

/// The output that a value stands for.
#[must_use]
pub fn reference<'a>(task: &Task, value: &'a str) -> Option<&'a str> {
    // A `$` before anything that is no output is text, as in `$5.00`.
    let name = value.trim().strip_prefix('$')?;
    let is_output = task.outputs.iter().any(|output| output.name == name);
    is_output.then_some(name)
}

/// Reports whether two cases ask for the same.
fn is_equal(one: &Case, other: &Case) -> bool {
    one.inputs == other.inputs && one.refused == other.refused && one.expect == other.expect
}

/// Says if a case gives something for an input; a folder of one file counts as given.
fn gives(case: &Case, input: &str) -> bool {
    case.inputs
        .iter()
        .any(|given| form::split(&given.name).0 == input)
}

/// Each item once, in the order of its first.
fn unique<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut unique = Vec::new();
    for item in items {
        if !unique.contains(&item) {
            unique.push(item);
        }
    }
    unique
}

/// Name of the output that an expectation is about, without a file in its folder.
fn output_of(expectation: &Expectation) -> &str {
    expectation
        .output
        .split_once('/')
        .map_or(expectation.output.as_str(), |(name, _)| name)
}

/// Bytes that the inputs of a case have in its line, and those that are left to what it is about.
const INPUTS: usize = 24;
const ABOUT: usize = 16;

/// A case in one line, for people. What it is about is cut first: what it expects is what decides.
#[must_use]
pub fn line(number: usize, case: &Case) -> String {
    let inputs: Vec<String> = case
        .inputs
        .iter()
        .map(|input| match input.value.lines().count() {
            0 | 1 => format!("{}={}", input.name, input.value),
            lines => format!("{}: {lines} lines", input.name),
        })
        .collect();
    let expected: Vec<String> = case.expect.iter().map(statement).collect();
    let refused = case.refused.then(|| "is refused".to_owned());
    let results: Vec<String> = refused.into_iter().chain(expected).collect();
    let inputs = if inputs.is_empty() {
        "defaults".to_owned()
    } else {
        shown(&inputs.join(", "))
    };
    let (about, results) = (shown(&case.about), shown(&results.join("; ")));
    // Quotes and backslashes take two bytes in a status; number and separators take the rest.
    let size = |text: &str| text.len() + text.matches(['"', '\\']).count();
    let left = |taken: usize, least: usize| CASE.saturating_sub(taken + 12).max(least);
    let inputs = cut(&inputs, left(ABOUT + size(&results), INPUTS));
    let about = cut(&about, left(size(&inputs) + size(&results), ABOUT));
    cut(&format!("{number}. {about}: {inputs} -> {results}"), CASE)
}

/// An expectation in words (`total = 12`, `summary 1/mean = 3.5 ± 0.1`).
fn statement(expectation: &Expectation) -> String {
    let (output, at, value) = (&expectation.output, &expectation.at, &expectation.value);
    let place = if at.is_empty() {
        output.clone()
    } else {
        format!("{output} {at}")
    };
    let value = match value.lines().count() {
        0 | 1 => value.clone(),
        lines => format!("{lines} lines"),
    };
    let stated = match expectation.check {
        Check::Equals => format!("{place} = {value}"),
        Check::SameRows => format!("{place} has the rows {value}"),
        Check::Rows => format!("{place} has {value} rows"),
        Check::Columns => format!("{place} has the columns {value}"),
        Check::Contains => format!("{place} contains {value}"),
        Check::Lacks => format!("{place} lacks {value}"),
        Check::Between => format!("{place} lies between {value}"),
        Check::Ordered => format!("{place} is {value}"),
        Check::Total => format!("{place} adds up to {value}"),
    };
    match expectation.tolerance.trim() {
        "" => stated,
        tolerance => format!("{stated} ± {tolerance}"),
    }
}

#[cfg(test)]
mod tests;
