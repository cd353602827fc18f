//! From the arguments of a call in a program to the JSON that its tool takes.

use serde_json::{Map, Value};

use crate::faults::{HeldTo, ValueFault};
use crate::lines::cut;
use crate::signature::{Parameter, Signature};
use crate::types::Type;

/// Faults of one call that are named.
const MAX_FAULTS: usize = 3;
/// Characters of a fault.
const FAULT_CHARS: usize = 200;

/// Arguments that a tool does not take: the exception that the program sees.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    /// As Python says it of a function: too many, missing, unexpected or doubled.
    #[error("{0}")]
    Type(String),
    /// A value that the schema does not allow.
    #[error("{0}")]
    Value(String),
}

impl ArgumentError {
    /// The kind of exception that it is.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Type(_) => "TypeError",
            Self::Value(_) => "ValueError",
        }
    }
}

/// The arguments as the object that the tool's schema describes, not yet held to it ([`check`]). What is not given and what is `None`
/// without `None` being a value of it is left out.
pub fn bind(
    signature: &Signature,
    positional: Vec<Value>,
    keyword: Map<String, Value>,
) -> Result<Map<String, Value>, ArgumentError> {
    let name = &signature.tool.name;
    let parameters = &signature.parameters;
    if positional.len() > parameters.len() {
        return Err(ArgumentError::Type(format!(
            "{name}() takes {} arguments but {} were given; it is {}",
            parameters.len(),
            positional.len(),
            signature.line()
        )));
    }
    let mut given: Vec<Option<Value>> = positional.into_iter().map(Some).collect();
    given.resize(parameters.len(), None);
    for (keyword, value) in keyword {
        let place = parameters.iter().position(|parameter| parameter.name == keyword);
        let Some(place) = place.and_then(|place| given.get_mut(place)) else {
            return Err(ArgumentError::Type(format!(
                "{name}() got an unexpected keyword argument '{keyword}'; it is {}",
                signature.line()
            )));
        };
        if place.replace(value).is_some() {
            return Err(ArgumentError::Type(format!(
                "{name}() got multiple values for argument '{keyword}'"
            )));
        }
    }
    let mut arguments = Map::new();
    for (parameter, value) in parameters.iter().zip(given) {
        match value {
            Some(value) if !stands_for_nothing(parameter, &value) => {
                arguments.insert(parameter.property.clone(), value);
            }
            None if parameter.is_required => {
                return Err(ArgumentError::Type(format!(
                    "{name}() missing 1 required argument: '{}'; it is {}",
                    parameter.name,
                    signature.line()
                )));
            }
            _ => {}
        }
    }
    Ok(arguments)
}

/// Reports whether `None` says that an argument is not given.
fn stands_for_nothing(parameter: &Parameter, value: &Value) -> bool {
    let takes_none = parameter.type_ != Type::Any && parameter.type_.takes_none();
    value.is_null() && !parameter.is_required && !takes_none
}

/// Holds arguments to the schema of their tool; a schema that is none allows everything, for a person sees what is wrong with it
/// elsewhere. It may take seconds.
pub fn check(tool: &str, schema: &Value, arguments: &Value) -> Result<(), ArgumentError> {
    let Ok(held) = HeldTo::new(schema) else {
        return Ok(());
    };
    let faults: Vec<_> = held.faults(arguments, MAX_FAULTS).iter().map(described).collect();
    if faults.is_empty() {
        return Ok(());
    }
    Err(ArgumentError::Value(format!("{tool}(): {}", faults.join("; "))))
}

/// Describes a fault: its place in the arguments, and what is wrong.
fn described(fault: &ValueFault<'_>) -> String {
    let error = match fault {
        ValueFault::There(error) => error,
        ValueFault::Somewhere => {
            return "argument: none of the alternatives fits that the schema gives".to_owned();
        }
        ValueFault::TooLong => {
            return "argument: too long for a schema of that size: give less at a time".to_owned();
        }
    };
    let place = error.instance_path().to_string();
    let place = place.trim_start_matches('/').replace('/', ".");
    let place = if place.is_empty() {
        "argument".to_owned()
    } else {
        format!("argument {place}")
    };
    format!("{place}: {}", cut(&error.to_string(), FAULT_CHARS, " ..."))
}
