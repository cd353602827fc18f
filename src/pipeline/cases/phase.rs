//! Cases as runs of a program in its sandbox.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::api::case::Case;
use crate::api::values::{Input, Output, ValueType};
use crate::pipeline::digest::sha256_hex_of_parts;
use crate::pipeline::mounts::arguments;
use crate::pipeline::sandbox::{PHASE_INPUTS, Phase, PhaseFile, PhaseName, ProgramPhase};
use crate::pipeline::task::Task;

use super::compare::Shape;
use super::form::{CaseFile, Forms, split};
use super::shown::shown;
use super::{CaseSet, Invariant, MOST_OUTPUT_BYTES, derive, output_of};

/// Where a case comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The user: no model learns more of it than whether it holds.
    Example,
    /// The plan, with its number there.
    Plan(usize),
    /// It follows from a case of the plan, with the number of that one, by what may change.
    Derived(usize, Invariant),
}

/// A case that is executed.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseExecution {
    /// Where it comes from.
    pub origin: Origin,
    /// The case.
    pub case: Case,
    /// Whether it was worked out twice already.
    pub is_settled: bool,
}

/// The cases of one attempt in the order in which they run: the user's, the plan's and, once a fix was made, those that follow
/// from the plan's.
#[must_use]
pub fn executions(task: &Task, set: &CaseSet, was_fixed: bool) -> Vec<CaseExecution> {
    let examples = task.examples.iter().map(|case| CaseExecution {
        origin: Origin::Example,
        case: case.clone(),
        is_settled: true,
    });
    let planned = set.deciding().map(|(number, case)| CaseExecution {
        origin: Origin::Plan(number),
        case: case.clone(),
        // A corrected case is settled: a third answer would be no better than the second.
        is_settled: set.is_revised(number),
    });
    let derived = set
        .deciding()
        // Only after a fix: from then on a program may have been written to the cases that it has met.
        .filter(|_| was_fixed)
        .flat_map(|(number, case)| {
            let derived = derive::derived(task, set, case);
            derived
                .into_iter()
                .map(move |(invariant, case)| (number, invariant, case))
        })
        .map(|(number, invariant, case)| CaseExecution {
            origin: Origin::Derived(number, invariant),
            case,
            is_settled: set.is_revised(number),
        });
    examples.chain(planned).chain(derived).collect()
}

impl CaseExecution {
    /// What a failure of it is called (`case 2 (ties)`).
    #[must_use]
    pub fn id(&self) -> String {
        match self.origin {
            // The model learns how many examples fail, and not which.
            Origin::Example => "examples".to_owned(),
            Origin::Plan(number) | Origin::Derived(number, _) => {
                format!("case {number} ({})", shown(&self.case.about))
            }
        }
    }

    /// The execution of `solution` that shows whether it holds. Its files have the format of the samples.
    #[must_use]
    pub fn phase(&self, task: &Task, forms: &Forms, solution: &str) -> Phase {
        let (args, files) = call(task, forms, &self.case);
        Phase::Program(ProgramPhase {
            name: PhaseName::Case,
            solution: solution.to_owned(),
            args,
            files,
            outputs: self.outputs(task),
            max_output_bytes: MOST_OUTPUT_BYTES,
            disk_bytes: None,
            in_message: false,
            hash_seed: Some(self.hash_seed()),
        })
    }

    /// Outputs that are compared, then those of which only the type counts: there is a bound for all together.
    fn outputs(&self, task: &Task) -> Vec<String> {
        let stated = self
            .case
            .expect
            .iter()
            .map(output_of)
            .chain(references(&self.case));
        let typed = task
            .outputs
            .iter()
            .filter(|output| !self.case.refused && has_typed_text(output))
            .map(|output| output.name.as_str());
        let mut outputs: Vec<String> = Vec::new();
        for name in stated.chain(typed) {
            let is_output = task.outputs.iter().any(|output| output.name == name);
            if is_output && !outputs.iter().any(|listed| listed == name) {
                outputs.push(name.to_owned());
            }
        }
        outputs
    }

    /// The seed of its sets, another one for each case and the same at each repetition: a program that depends on their order fails
    /// some case.
    fn hash_seed(&self) -> u32 {
        let inputs = self.case.inputs.iter();
        let parts: Vec<&str> = inputs
            .flat_map(|input| [input.name.as_str(), input.value.as_str()])
            .chain([self.case.about.as_str()])
            .collect();
        let digest = sha256_hex_of_parts(&parts);
        // Eight digits of a digest are a number.
        u32::from_str_radix(&digest[..8], 16).unwrap_or_default()
    }
}

/// Whether an output is a value, or a file whose format is one of text.
fn has_typed_text(output: &Output) -> bool {
    Shape::declared(output.type_, output.format).is_some_and(|shape| shape != Shape::Bytes)
}

/// Outputs that values of expectations refer to.
fn references(case: &Case) -> impl Iterator<Item = &str> {
    case.expect
        .iter()
        .filter_map(|expectation| expectation.value.strip_prefix('$'))
}

/// Command line and input files of a case.
fn call(task: &Task, forms: &Forms, case: &Case) -> (Vec<String>, Vec<PhaseFile>) {
    let mut args = Vec::new();
    let mut files = Vec::new();
    for input in &task.inputs {
        let given: Vec<_> = case
            .inputs
            .iter()
            .filter(|given| split(&given.name).0 == input.name)
            .collect();
        let laid_out = given
            .iter()
            .filter_map(|given| Some((CaseFile::of(task, forms, input, given)?, &given.value)));
        let laid_out: Vec<_> = laid_out.map(|(at, text)| file(at, text)).collect();
        let value = match (input.type_, given.first()) {
            (ValueType::File, Some(_)) => laid_out
                .first()
                .map(|file| format!("{PHASE_INPUTS}/{}", file.path)),
            (ValueType::Dir, Some(_)) => Some(format!("{PHASE_INPUTS}/{}", input.name)),
            (_, Some(given)) => Some(given.value.clone()),
            (_, None) => default(task, input),
        };
        files.extend(laid_out);
        args.extend(value.into_iter().flat_map(|value| arguments(&input.name, &value)));
    }
    (args, files)
}

fn default(task: &Task, input: &Input) -> Option<String> {
    match input.type_ {
        ValueType::File | ValueType::Dir => task
            .mount_name(&input.name)
            .map(|file| format!("/var/inputs/{file}")),
        _ => input.default.clone().or_else(|| input.example.clone()),
    }
}

/// A file of a case. A text that cannot be written as it should be is no usable case.
fn file(at: CaseFile, text: &str) -> PhaseFile {
    let bytes = at.bytes(text).unwrap_or_else(|_| text.as_bytes().to_vec());
    PhaseFile {
        path: at.path,
        // Base64, since a job is JSON and a file may be UTF-16.
        content: BASE64_STANDARD.encode(bytes),
    }
}
