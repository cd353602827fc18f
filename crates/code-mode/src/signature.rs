//! Tools as a program sees them: what the model reads, and what programs are held to.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::faults::{HeldTo, Unusable};
use crate::lines::{cut, in_one_line};
use crate::names::{check_tool_name, parameter_name};
use crate::schema::{one_line, type_of};
use crate::types::{Object, Position, Type, literal};

/// Most tools of one agent.
pub const MAX_TOOLS: usize = 128;
/// Characters of a tool's description that the model reads.
const DESCRIPTION_CHARS: usize = 1024;

/// A tool, described as its source describes it.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// Name by which programs call it.
    pub name: String,
    /// Description of what it does, as its source says; data, never an instruction.
    pub description: String,
    /// JSON Schema of its arguments: an object.
    pub parameters: Value,
    /// JSON Schema of its result; none where its source says nothing of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Effect of a call on the world.
    pub effect: Effect,
    /// True where parts of its schemas allow anything, for they have references that are not followed, or stand for too much.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_loosened: bool,
}

/// Effect of a call on the world, which decides what becomes of one whose outcome nobody knows.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It is recorded where it is made: asked again, the same call gives the same result.
    Durable,
    /// It changes nothing.
    ReadOnly,
    /// Made twice, it does what it does once.
    Idempotent,
    /// Made twice, it may do something twice.
    Once,
}

impl Effect {
    /// Reports whether a call that may have been made can be made again.
    #[must_use]
    pub const fn is_repeatable(self) -> bool {
        match self {
            Self::Durable | Self::ReadOnly | Self::Idempotent => true,
            Self::Once => false,
        }
    }
}

/// A tool with its types.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// The tool.
    pub tool: Tool,
    /// Its parameters: those that must be given first.
    pub parameters: Vec<Parameter>,
    /// Type of the result.
    pub result: Type,
}

/// A parameter of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Name by which a program calls it.
    pub name: String,
    /// The property of the arguments that it is.
    pub property: String,
    /// Its type.
    pub type_: Type,
    /// True where it must be given.
    pub is_required: bool,
    /// Value where it is not given; none where its source does not say.
    pub default: Option<Value>,
    /// Description in one line.
    pub description: String,
}

/// The tools of an agent, which go together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Toolbox {
    /// By the order of the agent.
    pub signatures: Vec<Signature>,
}

/// Tools that do not go together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolboxError {
    /// A name that a program cannot call.
    #[error("{0}")]
    Name(String),
    /// Two of one name.
    #[error(
        "two tools are called `{0}`: of two sources give one another `name`, or a server `prefix: true`; of one server choose one by `toolNames`"
    )]
    SameName(String),
    /// One whose schema nobody can check anything against.
    #[error(
        "the schema of the tool `{0}` cannot be used: {1}; or leave the tool out, of a server by naming the others in `toolNames`"
    )]
    Schema(String, Unusable),
    /// More than a model can read.
    #[error(
        "{0} tools are more than the {MAX_TOOLS} that a model is shown: choose some of a server by `toolNames`"
    )]
    TooMany(usize),
}

/// Refuses a tool with a schema that no value can be held to within bounds. It may take seconds, and is done where tools are listed. What is
/// no schema allows everything.
pub fn check_schemas(tools: &[Tool]) -> Result<(), ToolboxError> {
    for tool in tools {
        for schema in [Some(&tool.parameters), tool.result.as_ref()]
            .into_iter()
            .flatten()
        {
            match HeldTo::new(schema) {
                Ok(_) | Err(Unusable::NoSchema(_)) => {}
                Err(why) => return Err(ToolboxError::Schema(tool.name.clone(), why)),
            }
        }
    }
    Ok(())
}

impl Toolbox {
    /// The tools with their signatures.
    pub fn new(tools: Vec<Tool>) -> Result<Self, ToolboxError> {
        if tools.len() > MAX_TOOLS {
            return Err(ToolboxError::TooMany(tools.len()));
        }
        let mut names = BTreeSet::new();
        let mut classes = BTreeSet::new();
        let mut signatures = Vec::with_capacity(tools.len());
        for tool in tools {
            check_tool_name(&tool.name).map_err(ToolboxError::Name)?;
            if !names.insert(tool.name.clone()) {
                return Err(ToolboxError::SameName(tool.name));
            }
            signatures.push(Signature::of(tool, &mut classes));
        }
        if signatures.iter().any(Signature::has_files) {
            signatures.push(Signature::of(read_text(), &mut classes));
        }
        Ok(Self { signatures })
    }

    /// The tool of that name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Signature> {
        self.signatures
            .iter()
            .find(|signature| signature.tool.name == name)
    }

    /// Names of all tools.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.signatures
            .iter()
            .map(|signature| signature.tool.name.clone())
            .collect()
    }

    /// Every tool as Python declares it: what the model reads.
    #[must_use]
    pub fn declarations(&self) -> String {
        let mut text = String::from(HEADER);
        for signature in &self.signatures {
            text.push('\n');
            signature.declare(&mut text);
        }
        text
    }
}

/// Declarations that every declaration may name.
const HEADER: &str = "\
from datetime import date, datetime
from typing import Any, Literal, NotRequired, TypedDict

class File(TypedDict):  # the handle of a file: pass it on as it is; read_text reads it
    file: str
    sha256: str
    bytes: int
";

impl Signature {
    /// The signature of one tool; `classes` are the names of classes that are taken.
    fn of(tool: Tool, classes: &mut BTreeSet<String>) -> Self {
        let result = match &tool.result {
            Some(schema) => type_of(schema, &[&tool.name, "result"], classes),
            None => Type::Any,
        };
        let mut parameters = parameters(&tool, classes);
        // As Python wants them; otherwise as the source has them.
        parameters.sort_by_key(|parameter| !parameter.is_required);
        Self {
            tool,
            parameters,
            result,
        }
    }

    /// `exchange_rate(base: str, on: date | str | None = None) -> float`.
    #[must_use]
    pub fn line(&self) -> String {
        let parameters: Vec<_> = self.parameters.iter().map(Parameter::python).collect();
        format!(
            "{}({}) -> {}",
            self.tool.name,
            parameters.join(", "),
            self.result.python(Position::Result)
        )
    }

    fn declare(&self, text: &mut String) {
        for object in self.objects() {
            text.push_str(&object.declaration(Position::Result));
        }
        // Writing to a string cannot fail.
        let _ = writeln!(text, "async def {}:", self.line());
        let description = clean(&self.tool.description);
        let described = self
            .parameters
            .iter()
            .filter(|parameter| !parameter.description.is_empty());
        let mut lines = vec![description];
        lines.extend(described.map(|parameter| format!("{}: {}", parameter.name, parameter.description)));
        let lines = lines.iter().filter(|line| !line.is_empty());
        for line in lines {
            let _ = writeln!(text, "    # {line}");
        }
        text.push_str("    ...\n");
    }

    fn has_files(&self) -> bool {
        let parameters = self.parameters.iter().map(|parameter| &parameter.type_);
        parameters.chain([&self.result]).any(Type::has_file)
    }

    /// The classes that its declaration needs, inner ones first.
    fn objects(&self) -> Vec<&Object> {
        let mut objects = Vec::new();
        for parameter in &self.parameters {
            parameter.type_.objects(&mut objects);
        }
        self.result.objects(&mut objects);
        objects
    }
}

impl Parameter {
    fn python(&self) -> String {
        let type_ = self.type_.python(Position::Parameter);
        if self.is_required {
            return format!("{}: {type_}", self.name);
        }
        match self.default.as_ref().filter(|value| is_scalar(value)) {
            Some(Value::Null) | None if !self.type_.takes_none() => {
                format!("{}: {type_} | None = None", self.name)
            }
            Some(default) => format!("{}: {type_} = {}", self.name, literal(default)),
            None => format!("{}: {type_} = None", self.name),
        }
    }
}

fn is_scalar(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

fn parameters(tool: &Tool, classes: &mut BTreeSet<String>) -> Vec<Parameter> {
    let Some(properties) = tool.parameters["properties"].as_object() else {
        return Vec::new();
    };
    let required = tool.parameters["required"].as_array();
    let mut taken = BTreeSet::new();
    let mut parameters = Vec::with_capacity(properties.len());
    for (property, schema) in properties {
        let mut name = parameter_name(property);
        while !taken.insert(name.clone()) {
            name.push('_');
        }
        parameters.push(Parameter {
            type_: type_of(schema, &[&tool.name, property], classes),
            is_required: required.is_some_and(|names| names.iter().any(|required| required == property)),
            default: schema.get("default").cloned(),
            description: one_line(schema["description"].as_str().unwrap_or_default()),
            name,
            property: property.clone(),
        });
    }
    parameters
}

/// A description as a comment: one line, cut, so that no text of a tool ends the comment.
fn clean(text: &str) -> String {
    let line = in_one_line(text).split_whitespace().collect::<Vec<_>>().join(" ");
    cut(&line, DESCRIPTION_CHARS, " ... (cut)")
}

/// Name of the tool that reads what the handle of a file stands for.
pub const READ_TEXT: &str = "read_text";

/// The tool that reads a file, which programs have whose tools give or take some.
fn read_text() -> Tool {
    Tool {
        name: READ_TEXT.to_owned(),
        description: "The beginning of a text file, at most `limit` characters.".to_owned(),
        parameters: json!({
            "type": "object", "required": ["file"], "additionalProperties": false,
            "properties": {
                "file": {"type": "object", "format": crate::schema::FILE_FORMAT},
                "limit": {"type": "integer", "minimum": 1, "maximum": 1_000_000, "default": 10_000}
            }
        }),
        result: Some(json!({"type": "string"})),
        effect: Effect::ReadOnly,
        is_loosened: false,
    }
}
