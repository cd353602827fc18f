//! Whether a case can be run and compared at all: it names what the task has, and states what can be looked at.

use crate::api::case::{Case, CaseInput, Check, Expectation};
use crate::api::values::{Input, ValueType};
use crate::pipeline::mounts::is_text_file;
use crate::pipeline::task::Task;

use super::compare::Shape;
use super::judge::reference;
use super::output_of;

/// What a case may be run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The samples too, whatever a model may see of them.
    Everything,
    /// What a model may see: no private sample.
    Exposed,
}

/// Why a case cannot be used, as a sentence; `None` when it can.
///
/// `unstable` are outputs that depend on time, chance or the network: of them nothing exact can be stated.
#[must_use]
pub fn usable(task: &Task, case: &Case, unstable: &[String], access: Access) -> Option<String> {
    let inputs = case.inputs.iter().find_map(|input| input_problem(task, input));
    inputs
        .or_else(|| missing_input(task, case, access))
        .or_else(|| (case.expect.is_empty() && !case.refused).then(|| "it expects nothing".to_owned()))
        .or_else(|| {
            case.expect
                .iter()
                .find_map(|expectation| expectation_problem(task, expectation, unstable))
        })
}

fn input_problem(task: &Task, given: &CaseInput) -> Option<String> {
    let (name, file) = split(&given.name);
    let Some(input) = task.inputs.iter().find(|input| input.name == name) else {
        return Some(format!("there is no option --{name}"));
    };
    match (input.type_, file) {
        (ValueType::Dir, Some(file)) if is_plain(file) => None,
        (ValueType::Dir, _) => Some(format!("a file of --{name} is named {name}/FILE")),
        (_, Some(_)) => Some(format!("--{name} is no folder")),
        (ValueType::File, None) if !is_text_file(task.mount_name(name).as_deref().unwrap_or(name)) => Some(
            format!("--{name} is a file that is no text: leave it out, its default is used"),
        ),
        (ValueType::File, None) => None,
        (type_, None) => (!type_.accepts(&given.value)).then(|| {
            format!(
                "{:?} is no value of --{name}, which is of type {type_}",
                given.value
            )
        }),
    }
}

fn missing_input(task: &Task, case: &Case, access: Access) -> Option<String> {
    let is_given = |input: &Input| case.inputs.iter().any(|given| split(&given.name).0 == input.name);
    task.inputs
        .iter()
        .filter(|input| !is_given(input))
        .find_map(|input| {
            let name = &input.name;
            let is_file = matches!(input.type_, ValueType::File | ValueType::Dir);
            if is_file && access == Access::Exposed && task.has_private_data() {
                // Cases run where no private data is, so that a model may see what they came to.
                return Some(format!(
                    "the data of --{name} is private: give it a text of your own"
                ));
            }
            let has_default = if is_file {
                task.mount_name(name).is_some()
            } else {
                input.default.is_some() || input.example.is_some()
            };
            (!has_default).then(|| format!("--{name} has no default: give it a value"))
        })
}

fn expectation_problem(task: &Task, expectation: &Expectation, unstable: &[String]) -> Option<String> {
    let name = output_of(expectation);
    let is_exact = !matches!(expectation.check, Check::Columns | Check::Rows | Check::Between);
    if unstable.iter().any(|output| output == name) && is_exact {
        return Some(format!(
            "{name} depends on time, chance or the network: state only Columns, Rows or Between of it"
        ));
    }
    match shape(task, expectation) {
        Some(shape) => shape.refuses(expectation, reference(task, expectation)),
        None => Some(format!("there is no output {name}")),
    }
}

/// How the output of an expectation is read; `None` where the task has none of that name.
pub(super) fn shape(task: &Task, expectation: &Expectation) -> Option<Shape> {
    let (name, file) = split(&expectation.output);
    if file.is_none() && matches!(name, "stdout" | "stderr") {
        return Some(Shape::Text);
    }
    let output = task.outputs.iter().find(|output| output.name == name)?;
    let by_name = file.and_then(Shape::of_name);
    let declared = Shape::declared(output.type_, output.format);
    match (output.type_, file) {
        (ValueType::Dir, Some(_)) => Some(by_name.unwrap_or_else(|| Shape::assumed(expectation))),
        (ValueType::Dir, None) | (_, Some(_)) => None,
        _ => Some(declared.unwrap_or_else(|| Shape::assumed(expectation))),
    }
}

/// A name, and the file in the folder of that name.
pub(super) fn split(name: &str) -> (&str, Option<&str>) {
    name.split_once('/')
        .map_or((name, None), |(name, file)| (name, Some(file)))
}

fn is_plain(file: &str) -> bool {
    !file.is_empty() && !file.contains('/') && !matches!(file, "." | "..")
}
