//! From the arguments of a call in a program to the JSON that its tool takes.

use serde_json::{Map, Value};

use crate::faults::{Fault, HeldTo};
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

/// The arguments as the object that the tool's schema describes. What is not given and what is `None` without `None` being a value of
/// it is left out.
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
    check(
        name,
        "argument",
        &signature.tool.parameters,
        &Value::Object(arguments.clone()),
    )
    .map_err(ArgumentError::Value)?;
    Ok(arguments)
}

/// Whether `None` says that an argument is not given.
fn stands_for_nothing(parameter: &Parameter, value: &Value) -> bool {
    let takes_none = parameter.type_ != Type::Any && parameter.type_.takes_none();
    value.is_null() && !parameter.is_required && !takes_none
}

/// Holds `value` to a schema; a schema that is none allows everything, for a person sees what is wrong with it elsewhere.
pub fn check(tool: &str, what: &str, schema: &Value, value: &Value) -> Result<(), String> {
    let Ok(held) = HeldTo::new(schema) else {
        return Ok(());
    };
    let faults: Vec<_> = held
        .faults(value, MAX_FAULTS)
        .into_iter()
        .map(|fault| described(what, &fault))
        .collect();
    if faults.is_empty() {
        return Ok(());
    }
    Err(format!("{tool}(): {}", faults.join("; ")))
}

/// Where in the arguments, and what.
fn described(what: &str, fault: &Fault<'_>) -> String {
    let Fault::There(error) = fault else {
        return format!("{what}: none of the alternatives fits that the schema gives");
    };
    let place = error.instance_path().to_string();
    let place = place.trim_start_matches('/').replace('/', ".");
    let place = if place.is_empty() {
        what.to_owned()
    } else {
        format!("{what} {place}")
    };
    format!("{place}: {}", cut(&error.to_string()))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(FAULT_CHARS) {
        Some((end, _)) => format!("{} ...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
