//! Checks that a case can be run and compared at all: it names what the task has, and states what can be checked.

use std::collections::BTreeSet;

use crate::task::Task;
use codegen_api::case::{Case, CaseInput, Check, Expectation};
use codegen_api::values::{Input, ValueType};

use super::compare::OutputShape;
use super::form::{CaseFile, Forms, split};
use super::{gives, output_of, reference};

/// Characters of `about`, of a value, of a name or place, and of a tolerance, as the API bounds them.
// Replies are held to the bounds of the API, since cases of both kinds are read by the same code.
const LONGEST: [usize; 4] = [200, 16_384, 255, 32];
/// Inputs and expectations of a case, as the API bounds them.
const MOST: [usize; 2] = [48, 32];
/// Bytes of the name of a file.
const LONGEST_FILE_NAME: usize = 255;

/// Data that a case may be run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseData {
    /// The samples too, whatever a model may see of them.
    Everything,
    /// Data that a model may see: no private sample.
    Exposed,
}

/// Returns the reason for which a case cannot be used, as a sentence; `None` when it can.
///
/// `unstable` are outputs that depend on time, chance or the network: of them nothing exact can be stated.
#[must_use]
pub fn usable(task: &Task, case: &Case, unstable: &[String], access: CaseData) -> Option<String> {
    // Sizes first: the checks after it compare every line with every option.
    too_much(case)
        .or_else(|| given_twice(case))
        .or_else(|| case.inputs.iter().find_map(|input| input_problem(task, input)))
        .or_else(|| missing_input(task, case, access))
        .or_else(|| (case.expect.is_empty() && !case.refused).then(|| "it expects nothing".to_owned()))
        .or_else(|| {
            case.expect
                .iter()
                .find_map(|expectation| expectation_problem(task, expectation, unstable))
        })
}

/// Returns the reason for which the files of a case cannot be written as the samples are; `None` when they can.
#[must_use]
pub fn unwritable(task: &Task, case: &Case, forms: &Forms) -> Option<String> {
    case.inputs.iter().find_map(|given| {
        let input = task
            .inputs
            .iter()
            .find(|input| input.name == split(&given.name).0)?;
        file_problem(task, forms, input, given)
    })
}

/// The first example of the user that cannot be written as the samples are, by its field, with the reason.
#[must_use]
pub fn unwritable_example(task: &Task, forms: &Forms) -> Option<String> {
    task.examples.iter().enumerate().find_map(|(index, example)| {
        let why = unwritable(task, example, forms)?;
        Some(format!("spec.examples[{index}]: {why}: correct it, or remove it"))
    })
}

/// Finds a text or list that is longer than the API allows, and says so.
fn too_much(case: &Case) -> Option<String> {
    let [about, value, name, tolerance] = LONGEST;
    let mut texts = vec![("about", &case.about, about)];
    for input in &case.inputs {
        texts.push(("the name of an input", &input.name, name));
        texts.push(("a value", &input.value, value));
    }
    for line in &case.expect {
        texts.push(("the name of an output", &line.output, name));
        texts.push(("at", &line.at, name));
        texts.push(("an expected value", &line.value, value));
        texts.push(("a tolerance", &line.tolerance, tolerance));
    }
    let too_long = texts.into_iter().find_map(|(what, text, most)| {
        let length = text.chars().count();
        (length > most).then(|| format!("{what} has {length} characters, and at most {most} are allowed"))
    });
    let [inputs, expected] = MOST;
    let counts = [
        ("inputs", case.inputs.len(), inputs),
        ("lines of expect", case.expect.len(), expected),
    ];
    let too_many = counts.into_iter().find(|(_, count, most)| count > most);
    too_long.or_else(|| {
        let (what, count, most) = too_many?;
        Some(format!("it has {count} {what}, and at most {most} are allowed"))
    })
}

fn given_twice(case: &Case) -> Option<String> {
    let mut names = BTreeSet::new();
    let twice = case.inputs.iter().find(|input| !names.insert(&input.name))?;
    Some(format!("{} is given twice", twice.name))
}

fn input_problem(task: &Task, given: &CaseInput) -> Option<String> {
    let (name, file) = split(&given.name);
    let Some(input) = task.inputs.iter().find(|input| input.name == name) else {
        return Some(format!("there is no option --{name}"));
    };
    match (input.type_, file) {
        (ValueType::Dir, file) if !file.is_some_and(is_plain) => {
            Some(format!("a file of --{name} is named {name}/FILE"))
        }
        (ValueType::Dir, _) | (ValueType::File, None) => file_problem(task, &Forms::new(), input, given),
        (_, Some(_)) => Some(format!("--{name} is no folder")),
        (_, None) if given.value.contains('\0') => Some(format!(
            "the value of --{name} has a NUL character, which no argument can have"
        )),
        (type_, None) => (!type_.accepts(&given.value)).then(|| {
            format!(
                "{:?} is no value of --{name}, which is of type {type_}",
                given.value
            )
        }),
    }
}

/// Returns the reason for which a file of a case cannot be written.
fn file_problem(task: &Task, forms: &Forms, input: &Input, given: &CaseInput) -> Option<String> {
    let name = &input.name;
    let file = CaseFile::of(task, forms, input, given)?;
    let last = file.path.rsplit('/').next().unwrap_or_default();
    if last.contains('\0') {
        return Some(format!(
            "the name of a file of --{name} has a NUL character, which no name can have"
        ));
    }
    if last.len() > LONGEST_FILE_NAME {
        return Some(format!(
            "the name of a file of --{name} has {} bytes, and at most {LONGEST_FILE_NAME} are possible",
            last.len()
        ));
    }
    let why = file.bytes(&given.value).err()?;
    Some(format!("{} {why}", given.name))
}

fn missing_input(task: &Task, case: &Case, access: CaseData) -> Option<String> {
    task.inputs
        .iter()
        .filter(|input| !gives(case, &input.name))
        .find_map(|input| {
            let name = &input.name;
            let is_file = matches!(input.type_, ValueType::File | ValueType::Dir);
            if is_file && access == CaseData::Exposed && task.has_private_data() {
                // Cases run where no private data is, so that a model may see what they came to.
                return Some(format!(
                    "the data of --{name} is private: give it a text of your own"
                ));
            }
            let is_missing = task.default_of(input).is_none();
            is_missing.then(|| format!("--{name} has no default: give it a value"))
        })
}

fn expectation_problem(task: &Task, expectation: &Expectation, unstable: &[String]) -> Option<String> {
    let name = output_of(expectation);
    // What depends on time or chance differs in each run; its shape and range do not.
    let is_exact = !matches!(expectation.check, Check::Columns | Check::Rows | Check::Between);
    if unstable.iter().any(|output| output == name) && is_exact {
        return Some(format!(
            "{name} depends on time, chance or the network: state only Columns, Rows or Between of it"
        ));
    }
    match shape(task, expectation) {
        Some(shape) => shape.refuses(expectation, reference(task, &expectation.value)),
        None => Some(format!("there is no output {name}")),
    }
}

/// Finds the shape in which the output of an expectation is read; `None` where the task has none of that name.
pub(super) fn shape(task: &Task, expectation: &Expectation) -> Option<OutputShape> {
    let (name, file) = split(&expectation.output);
    if file.is_none() && matches!(name, "stdout" | "stderr") {
        return Some(OutputShape::of_text(OutputShape::Text, expectation));
    }
    let output = task.outputs.iter().find(|output| output.name == name)?;
    let by_name = file.and_then(OutputShape::of_name);
    let declared = OutputShape::declared(output.type_, output.format);
    match (output.type_, file) {
        (ValueType::Dir, Some(_)) => Some(by_name.unwrap_or_else(|| OutputShape::assumed(expectation))),
        (ValueType::Dir, None) | (_, Some(_)) => None,
        (ValueType::String, None) => declared.map(|text| OutputShape::of_text(text, expectation)),
        _ => Some(declared.unwrap_or_else(|| OutputShape::assumed(expectation))),
    }
}

fn is_plain(file: &str) -> bool {
    !file.is_empty() && !file.contains('/') && !matches!(file, "." | "..")
}
