//! Check of the inputs that a run gives: all faults are said at once.

use std::collections::BTreeSet;

use crate::task::{Task, options};
use codegen_api::CodeGenTaskSpec;
use codegen_api::values::{Input, ValueType};

/// Most names that a message lists.
const LISTED: usize = 8;
/// Most characters of a value that a message quotes.
const QUOTED: usize = 80;

/// Input as a run gives it, before any of it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenInput<'a> {
    /// A value.
    Text(&'a str),
    /// One file.
    File,
    /// A folder.
    Folder,
    /// A file or a folder, which is judged when it is read.
    Content,
    /// A file or a folder that cannot be read: why.
    Unreadable(&'a str),
}

/// Something that is wrong with the inputs of a run. Always of category configuration.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum InputFault {
    /// A text that is no value of the type.
    #[error("input {name:?} is {}, {:?} is not: {}", kind(*.type_), quoted(.text), advice(*.type_))]
    NotOfType {
        /// Name of the input.
        name: String,
        /// Its type.
        type_: ValueType,
        /// Text that was given.
        text: String,
    },
    /// A value where a file or folder is wanted.
    #[error("input {name:?} is {}, not the text {:?}: give {}", kind(*.type_), quoted(.text), content(*.type_))]
    NoContent {
        /// Name of the input.
        name: String,
        /// Its type.
        type_: ValueType,
        /// Text that was given.
        text: String,
    },
    /// A file or folder where a value is wanted.
    #[error("input {name:?} is {}, not {found}: give its value, {}", kind(*.type_), advice(*.type_).trim_start_matches("give "))]
    NoValue {
        /// Name of the input.
        name: String,
        /// Its type.
        type_: ValueType,
        /// Kind of content that was given.
        found: &'static str,
    },
    /// A folder where a file is wanted, or the other way round.
    #[error("input {name:?} is {}, and {found} was given: give {}", kind(*.type_), content(*.type_))]
    WrongShape {
        /// Name of the input.
        name: String,
        /// Its type.
        type_: ValueType,
        /// Kind of content that was given.
        found: &'static str,
    },
    /// A file or folder that cannot be read.
    #[error("{name}: {why}")]
    Unreadable {
        /// Name of the input.
        name: String,
        /// Words about what cannot be read, why, and what to do.
        why: String,
    },
    /// The task has no value to fall back to.
    #[error("input {name:?} has no default: give it {}", wanted(*.type_))]
    Missing {
        /// Name of the input.
        name: String,
        /// Its type.
        type_: ValueType,
    },
    /// The task has an example, which is no default.
    #[error("input {name:?} has no default (its example is for the rehearsal alone): give it {}", wanted(*.type_))]
    OnlyExample {
        /// Name of the input.
        name: String,
        /// Its type.
        type_: ValueType,
    },
    /// The program has no such option.
    #[error("the program has no input {name:?}{advice}")]
    Unknown {
        /// The name given.
        name: String,
        /// The nearest name, or all that there are.
        advice: String,
    },
    /// One input was given twice.
    #[error("input {name:?} is given twice: give it once")]
    Twice {
        /// Name of the input.
        name: String,
    },
}

/// The options of a program, as far as giving them is concerned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProgramOptions {
    /// Every option.
    pub inputs: Vec<Input>,
    /// Names of files and folders that the task has a content for.
    pub contents: BTreeSet<String>,
}

impl From<&Task> for ProgramOptions {
    fn from(task: &Task) -> Self {
        Self {
            inputs: task.inputs.clone(),
            contents: task.frozen_inputs().map(|file| file.name.clone()).collect(),
        }
    }
}

impl From<&CodeGenTaskSpec> for ProgramOptions {
    fn from(spec: &CodeGenTaskSpec) -> Self {
        let samples = spec.samples.iter().map(|sample| &sample.name);
        let inputs = spec.inputs.iter().filter(|input| input.source.is_some());
        Self {
            inputs: options(spec),
            contents: samples.chain(inputs.map(|input| &input.name)).cloned().collect(),
        }
    }
}

/// Everything that is wrong with what a run gives: names that the program does not have, values that are not of their type,
/// inputs that are missing. In the order of the program's options, unknown names last.
#[must_use]
pub fn faults(options: &ProgramOptions, given: &[(&str, GivenInput<'_>)]) -> Vec<InputFault> {
    let mut faults: Vec<InputFault> = options
        .inputs
        .iter()
        .filter_map(|input| match found(&input.name, given) {
            Some(given) => wrong(input, given),
            None => missing(options, input),
        })
        .collect();
    for (index, (name, _)) in given.iter().enumerate() {
        if given[..index].iter().any(|(before, _)| before == name) {
            faults.push(InputFault::Twice {
                name: (*name).to_owned(),
            });
        } else if options.inputs.iter().all(|input| input.name != *name) {
            faults.push(InputFault::Unknown {
                name: (*name).to_owned(),
                advice: nearest(options, name),
            });
        }
    }
    faults
}

fn found<'a>(name: &str, given: &[(&str, GivenInput<'a>)]) -> Option<GivenInput<'a>> {
    given
        .iter()
        .find(|(other, _)| *other == name)
        .map(|(_, given)| *given)
}

fn wrong(input: &Input, given: GivenInput<'_>) -> Option<InputFault> {
    let (name, type_) = (input.name.clone(), input.type_);
    let found = match given {
        GivenInput::Text(text) => {
            let text = text.to_owned();
            return match type_ {
                ValueType::File | ValueType::Dir => Some(InputFault::NoContent { name, type_, text }),
                _ if type_.accepts(&text) => None,
                _ => Some(InputFault::NotOfType { name, type_, text }),
            };
        }
        GivenInput::File => "a file",
        GivenInput::Folder => "a folder",
        GivenInput::Content | GivenInput::Unreadable(_) => "a file or folder",
    };
    match (type_, given) {
        (ValueType::File, GivenInput::File | GivenInput::Content)
        | (ValueType::Dir, GivenInput::Folder | GivenInput::Content) => None,
        (ValueType::File | ValueType::Dir, GivenInput::Unreadable(why)) => {
            let why = why.to_owned();
            Some(InputFault::Unreadable { name, why })
        }
        (ValueType::File | ValueType::Dir, _) => Some(InputFault::WrongShape { name, type_, found }),
        _ => Some(InputFault::NoValue { name, type_, found }),
    }
}

fn missing(options: &ProgramOptions, input: &Input) -> Option<InputFault> {
    let (name, type_) = (input.name.clone(), input.type_);
    match type_ {
        ValueType::File | ValueType::Dir => {
            let has_content = options.contents.contains(&name);
            (!has_content).then_some(InputFault::Missing { name, type_ })
        }
        _ if input.default.is_some() => None,
        // An example is for the rehearsal: a run on made-up values must not happen by accident.
        _ if input.example.is_some() => Some(InputFault::OnlyExample { name, type_ }),
        _ => Some(InputFault::Missing { name, type_ }),
    }
}

/// Says what to do about an unknown name.
fn nearest(options: &ProgramOptions, name: &str) -> String {
    let plain = |name: &str| name.replace(['_', '-'], "").to_lowercase();
    let wanted = plain(name);
    let near = options
        .inputs
        .iter()
        .map(|input| {
            (
                strsim::damerau_levenshtein(&plain(&input.name), &wanted),
                &input.name,
            )
        })
        .min()
        // One typing error in three characters; beyond that the nearest name is a guess.
        .filter(|(distance, _)| *distance <= (wanted.chars().count() / 3).max(1));
    if let Some((_, near)) = near {
        return format!(": did you mean {near:?}?");
    }
    let names: Vec<&str> = options.inputs.iter().map(|input| input.name.as_str()).collect();
    match names.len() {
        0 => ": it has none, leave it out".to_owned(),
        more if more > LISTED => format!(
            ": it has {} and {} more",
            names[..LISTED].join(", "),
            more - LISTED
        ),
        _ => format!(": it has {}", names.join(", ")),
    }
}

const fn kind(type_: ValueType) -> &'static str {
    match type_ {
        ValueType::String => "a String",
        ValueType::Int => "an Int",
        ValueType::Float => "a Float",
        ValueType::Bool => "a Bool",
        ValueType::File => "a File",
        ValueType::Dir => "a Dir",
        ValueType::Datetime => "a Datetime",
        ValueType::Timedelta => "a Timedelta",
    }
}

const fn advice(type_: ValueType) -> &'static str {
    match type_ {
        ValueType::Int => "give a whole number like 2",
        ValueType::Float => "give a decimal number like 0.5",
        ValueType::Bool => "give true or false",
        ValueType::String => "give a text",
        ValueType::File | ValueType::Dir | ValueType::Datetime | ValueType::Timedelta => {
            "give what its description says"
        }
    }
}

const fn content(type_: ValueType) -> &'static str {
    match type_ {
        ValueType::Dir => "a folder",
        _ => "a file",
    }
}

fn wanted(type_: ValueType) -> &'static str {
    match type_ {
        ValueType::File | ValueType::Dir => content(type_),
        _ => advice(type_).trim_start_matches("give "),
    }
}

fn quoted(text: &str) -> String {
    if text.chars().count() <= QUOTED {
        return text.to_owned();
    }
    let kept: String = text.chars().take(QUOTED).collect();
    format!("{kept}...")
}
