//! Faults of a task, and the list that collects them.

use crate::cases::{CaseData, usable};
use crate::task::Task;
use codegen_api::duration::DurationError;
use codegen_api::quantity::QuantityError;
use codegen_api::values::ValueType;

/// Something in a task that must be changed before it can start: always of category configuration.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
#[error("{path}: {problem}")]
pub struct ResolveError {
    /// The field (`spec.limits.deadline`), with the agent's name where it is the agent's.
    pub path: String,
    /// Problem of the field.
    pub problem: Problem,
}

/// Problem of a field.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// Neither the task nor its agent names a model.
    #[error(
        "no model is named: write its name here or in the model of a CodeGenAgent, and name that in spec.agentRef"
    )]
    NoModel,
    /// The agent does not exist.
    #[error("there is no CodeGenAgent {0:?} in this namespace: create it, or name another")]
    NoAgent(String),
    /// A text that is no duration.
    #[error(transparent)]
    Duration(#[from] DurationError),
    /// A duration of nothing.
    #[error("no time is given: write a duration above zero, like 5m")]
    NoTime,
    /// A text that is no quantity.
    #[error(transparent)]
    Quantity(#[from] QuantityError),
    /// A number out of its range.
    #[error("{given} is out of range: write {least} to {most}")]
    OutOfRange {
        /// The number given.
        given: i64,
        /// The least that is allowed.
        least: i64,
        /// The most that is allowed.
        most: i64,
    },
    /// A default or example that is not of its input's type.
    #[error("{text:?} is no value of type {type_}: write one in quotes, or change the type")]
    NotOfType {
        /// The text given.
        text: String,
        /// The type of the input.
        type_: ValueType,
    },
    /// An input of a type that inputs do not have.
    #[error("{0} is a type of outputs: write String, and say in the description how the text reads")]
    OutputType(ValueType),
    /// An input with a sample's name that is no `File`.
    #[error(
        "the sample {name:?} is a File input, and this one of type {type_} has its name: write File, or rename it"
    )]
    SampleOfOtherType {
        /// The name of both.
        name: String,
        /// The type that the input was given.
        type_: ValueType,
    },
    /// A source that nobody read.
    #[error(
        "the content of {0:?} was not given: name a source that exists, or give the file when starting the task"
    )]
    NotRead(String),
    /// Content for an input that the task does not have.
    #[error("a file was given for {0:?}, but the task has no File or Dir input of this name: give it one")]
    NoSuchInput(String),
    /// A folder where a file was expected, or the reverse.
    #[error("the content of {name:?} is a {found}, but its type is {type_}: change the source or the type")]
    WrongShape {
        /// Name of the sample or input.
        name: String,
        /// Its declared type.
        type_: ValueType,
        /// `file` or `folder`.
        found: &'static str,
    },
    /// Another content than the task expects.
    #[error("the file has SHA-256 {found}, not {expected}: it has changed; check it and correct sha256")]
    OtherContent {
        /// As the task expects it.
        expected: String,
        /// As it was read.
        found: String,
    },
    /// Two inputs that would lie at one path.
    #[error("{first:?} and {second:?} would both be /var/inputs/{path}: give one another name or fileName")]
    SamePath {
        /// The earlier one.
        first: String,
        /// The later one.
        second: String,
        /// The common name under `/var/inputs`.
        path: String,
    },
    /// A name that no environment variable can have.
    #[error("{0:?} cannot name an environment variable: use letters, digits and _, not a digit first")]
    BadVariable(String),
    /// An example that cannot be run or compared.
    #[error("{0}: correct it, or remove it")]
    Example(String),
    /// An agent without a suite.
    #[error(
        "an agent (backend: Agent) works until its tests pass, so that they cannot be skipped: write Generate, or leave mode out"
    )]
    AgentWithoutTests,
    /// A variable set twice.
    #[error("the variable {0:?} is also set under env: remove one of the two")]
    VariableTwice(String),
}

/// Everything found so far.
#[derive(Default)]
pub(super) struct ResolveFaults(pub(super) Vec<ResolveError>);

impl ResolveFaults {
    /// Examples that cannot be run on this task, or compared.
    pub(super) fn examples(&mut self, task: &Task) {
        for (index, example) in task.examples.iter().enumerate() {
            if let Some(why) = usable(task, example, &[], CaseData::Everything) {
                self.add(format!("spec.examples[{index}]"), Problem::Example(why));
            }
        }
    }

    pub(super) fn add(&mut self, path: impl Into<String>, problem: Problem) {
        self.0.push(ResolveError {
            path: path.into(),
            problem,
        });
    }

    /// The value, or the type's own default where it is at fault.
    pub(super) fn value<T: Default>(&mut self, path: String, value: Result<T, impl Into<Problem>>) -> T {
        value.unwrap_or_else(|problem| {
            self.add(path, problem.into());
            T::default()
        })
    }
}
