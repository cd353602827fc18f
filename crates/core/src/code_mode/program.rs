//! A finished program as a tool: its signature, the inputs of a run, and what a run gives back.

use serde_json::{Map, Value, json};

use super::question::{SourcedTool, ToolOrigin};
use crate::bounds::cut;
use crate::task::Task;
use codegen_api::code_mode::ToolSource;
use codegen_api::run::{RunInput, RunOutputRef, RunSource};
use codegen_api::run_status::RunOutputStatus;
use codegen_api::values::{Input, Output, ValueType};
use codegen_code_mode::schema::FILE_FORMAT;
use codegen_code_mode::signature::{Effect, Tool};

/// Bytes of a text that a program passes for a file: what a `CodeGenRun` takes inline.
pub const LONGEST_INLINE: usize = 262_144;
/// Bytes of the prompt of a task that describe its tool.
const DESCRIPTION_BYTES: usize = 400;

/// The tool that the program of `task` is. Without its samples, as in a published image, every file must be given.
#[must_use]
pub fn program_tool(source: &ToolSource, origin: ToolOrigin, task: &Task, has_samples: bool) -> SourcedTool {
    let has_default = |input: &Input| {
        let is_named = |name: &String| *name == input.name;
        let mut files = task.samples.iter().chain(&task.input_files);
        input.default.is_some() || (has_samples && files.any(|file| is_named(&file.name)))
    };
    let properties: Map<String, Value> = task
        .inputs
        .iter()
        .map(|input| (input.name.clone(), parameter(input)))
        .collect();
    let required: Vec<&str> = task
        .inputs
        .iter()
        .filter(|input| !has_default(input))
        .map(|input| input.name.as_str())
        .collect();
    let description = source.description.clone();
    SourcedTool {
        tool: Tool {
            name: source.name.clone(),
            description: description.unwrap_or_else(|| cut(task.prompt.trim(), DESCRIPTION_BYTES)),
            parameters: json!({
                "type": "object", "properties": properties, "required": required, "additionalProperties": false,
            }),
            result: Some(result_schema(&task.outputs)),
            effect: Effect::Durable,
            is_loosened: false,
        },
        origin,
        retries_unknown: false,
    }
}

/// JSON Schema of values of this type; `file` is that of a file.
fn schema_of(type_: ValueType, file: Value) -> Value {
    match type_ {
        ValueType::Int => json!({"type": "integer"}),
        ValueType::Float => json!({"type": "number"}),
        ValueType::Bool => json!({"type": "boolean"}),
        ValueType::String | ValueType::Datetime | ValueType::Timedelta => json!({"type": "string"}),
        ValueType::File => file,
        ValueType::Dir => handle(),
    }
}

fn parameter(input: &Input) -> Value {
    let file = json!({"anyOf": [handle(), {"type": "string", "maxLength": LONGEST_INLINE}]});
    let mut schema = schema_of(input.type_, file);
    let default = input
        .default
        .as_deref()
        .and_then(|text| scalar(input.type_, text));
    if let Some(default) = default {
        schema["default"] = default;
    }
    let said = input.description.as_deref().unwrap_or_default();
    let said = if input.type_ == ValueType::File {
        format!("{said} (a file, or its text)")
    } else {
        said.to_owned()
    };
    schema["description"] = Value::String(said.trim().to_owned());
    schema
}

fn result_schema(outputs: &[Output]) -> Value {
    let property = |output: &Output| {
        let mut schema = schema_of(output.type_, handle());
        schema["description"] = json!(output.description.clone().unwrap_or_default());
        (output.name.clone(), schema)
    };
    let properties: Map<String, Value> = outputs.iter().map(property).collect();
    let required: Vec<&str> = outputs.iter().map(|output| output.name.as_str()).collect();
    json!({"type": "object", "properties": properties, "required": required})
}

/// JSON Schema of the handle of a file.
fn handle() -> Value {
    json!({"type": "object", "format": FILE_FORMAT})
}

/// Reports whether a parameter takes the handle of a file.
fn takes_file(schema: &Value) -> bool {
    let is_file = |schema: &Value| schema["format"] == FILE_FORMAT;
    is_file(schema)
        || schema["anyOf"]
            .as_array()
            .is_some_and(|of| of.iter().any(is_file))
}

/// The handle of a file or folder that a run has written, as programs pass it on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileHandle {
    /// Name of the run.
    pub run: String,
    /// Name of the output.
    pub output: String,
    /// SHA-256 of what it wrote, hex.
    pub sha256: String,
}

impl FileHandle {
    /// The handle that a value is: `{file: RUN/OUTPUT, sha256, bytes}`. `None` where it is none.
    #[must_use]
    pub fn read(value: &Value) -> Option<Self> {
        let (run, output) = value["file"].as_str()?.split_once('/')?;
        let sha256 = value["sha256"].as_str()?;
        // It becomes part of an address, and a program may make one up.
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
        if !run.bytes().all(is_plain) || !run.starts_with(|first: char| first.is_ascii_alphanumeric()) {
            return None;
        }
        Some(Self {
            run: run.to_owned(),
            output: output.to_owned(),
            sha256: sha256.to_owned(),
        })
    }

    fn of(run: &str, output: &RunOutputStatus) -> Value {
        json!({"file": format!("{run}/{}", output.name), "sha256": output.sha256, "bytes": output.bytes})
    }
}

/// The handles of files in the arguments of a call, each with the parameter that it is for.
#[must_use]
pub fn handles<'a>(tool: &Tool, arguments: &'a Map<String, Value>) -> Vec<(&'a str, FileHandle)> {
    let files = arguments
        .iter()
        .filter(|(name, _)| takes_file(&tool.parameters["properties"][name.as_str()]));
    files
        .filter_map(|(name, value)| Some((name.as_str(), FileHandle::read(value)?)))
        .collect()
}

/// The inputs of the run that a call is. `Err` names an argument that is neither a file nor the text of one.
pub fn run_inputs(tool: &Tool, arguments: &Map<String, Value>) -> Result<Vec<RunInput>, String> {
    let input = |(name, value): (&String, &Value)| {
        let input = RunInput {
            name: name.clone(),
            ..RunInput::default()
        };
        if !takes_file(&tool.parameters["properties"][name.as_str()]) {
            let value = Some(text_of(value));
            return Ok(RunInput { value, ..input });
        }
        let source = match value {
            Value::String(text) => RunSource {
                inline: Some(text.clone()),
                ..RunSource::default()
            },
            value => of_handle(value).ok_or_else(|| {
                format!("{name} is no file: pass on what a tool gave, or the text of a file")
            })?,
        };
        let source = Some(source);
        Ok(RunInput { source, ..input })
    };
    let is_given = |(_, value): &(&String, &Value)| !value.is_null();
    arguments.iter().filter(is_given).map(input).collect()
}

fn of_handle(value: &Value) -> Option<RunSource> {
    let FileHandle { run, output, sha256 } = FileHandle::read(value)?;
    Some(RunSource {
        run_output: Some(RunOutputRef { run, output }),
        sha256: Some(sha256),
        ..RunSource::default()
    })
}

/// As the options of programs are written.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns the result of a run: each output by name, files as handles. `value_of` reads a value that the status does not have.
#[must_use]
pub fn run_result(
    run: &str,
    outputs: &[RunOutputStatus],
    value_of: impl Fn(&RunOutputStatus) -> Option<String>,
) -> Value {
    let value = |output: &RunOutputStatus| {
        let value = match output.type_ {
            ValueType::File | ValueType::Dir => FileHandle::of(run, output),
            type_ => {
                let text = output.value.clone().or_else(|| value_of(output));
                let text = text.unwrap_or_default();
                let parsed = (type_ != ValueType::String).then(|| scalar(type_, text.trim()));
                parsed.flatten().unwrap_or(Value::String(text))
            }
        };
        (output.name.clone(), value)
    };
    Value::Object(outputs.iter().map(value).collect())
}

/// The value that a text is for this type.
fn scalar(type_: ValueType, text: &str) -> Option<Value> {
    match type_ {
        ValueType::Int => text.parse::<i64>().ok().map(Value::from),
        ValueType::Float => text.parse::<f64>().ok().map(Value::from),
        ValueType::Bool => text.parse::<bool>().ok().map(Value::from),
        ValueType::String | ValueType::Datetime | ValueType::Timedelta => Some(Value::from(text)),
        ValueType::File | ValueType::Dir => None,
    }
}

#[cfg(test)]
mod tests;
