//! The replies of each kind of call: their shapes, their JSON Schemas, and reading them.
//!
//! A reply that is cut, fenced, prose or of another shape is a [`ReplyFault`], whose sentence goes back to the model.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use codegen_api::case::Case;
use codegen_api::status::ErrorType;
use codegen_api::type_name::TypeName;
use codegen_api::values::Output;

use super::bounds::cut;
use super::call::{CallKind, FaultClass, FinishReason, Reply, ReplyFault};

/// Reply to `plan`.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlanReply {
    /// What the program does, one or two sentences.
    pub description: String,
    /// How it does it, at most five short sentences.
    pub approach: String,
    /// Third-party libraries it imports; empty when the standard library is enough.
    pub libraries: Vec<String>,
    /// Runs of the program and their results, worked out by hand.
    #[serde(default)]
    pub cases: Vec<Case>,
    /// Outputs that depend on time, chance or the network.
    #[serde(default)]
    pub unstable: Vec<String>,
}

/// Reply to `cases`: cases that were blamed for a failure, worked out again.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CasesReply {
    /// One entry for every case listed.
    pub cases: Vec<CaseAnswer>,
}

/// What a right program makes of one case.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CaseAnswer {
    /// Number of the case as listed.
    pub case: usize,
    /// Whether the program must end with an error.
    pub refused: bool,
    /// The value of each line of the case, in order.
    pub values: Vec<String>,
}

/// Reply to `more_cases`: cases that show what those of the plan do not.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MoreCasesReply {
    /// Runs of the program and their results, worked out by hand.
    pub cases: Vec<Case>,
}

/// Reply to `scope`: whether constraints that an output breaks speak of that output.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScopeReply {
    /// One entry for every line listed.
    pub answers: Vec<ScopeAnswer>,
}

/// Whether a constraint speaks of the column of an output.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScopeAnswer {
    /// Number of the line as listed.
    pub line: usize,
    /// Whether what the constraint says must hold for the column of the output.
    pub holds: bool,
}

/// Reply to `outputs`: what a program writes that nobody has declared yet.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OutputsReply {
    /// One entry for every file or value that the program writes, at least one.
    pub outputs: Vec<OutputRow>,
}

/// A file or value that the program writes.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OutputRow {
    /// Its name: a letter, then letters, digits and underscores.
    pub name: String,
    /// Type of the value, or format of the file.
    #[serde(rename = "type")]
    pub type_: TypeName,
    /// What it means, with columns, order and units, one sentence.
    pub description: String,
}

impl From<OutputRow> for Output {
    fn from(row: OutputRow) -> Self {
        let (type_, format) = row.type_.in_manifest();
        let description = row.description.trim();
        Self {
            name: row.name,
            type_,
            format,
            description: (!description.is_empty()).then(|| description.to_owned()),
        }
    }
}

/// Reply to `code`.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CodeReply {
    /// The whole of solution.py.
    pub code: String,
    /// pip packages whose names differ from the import name or that are not imported.
    pub packages: Vec<String>,
    /// apt packages that the libraries need.
    pub system_packages: Vec<String>,
}

/// Reply to `tests`, `fix_code` and `fix_tests`.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SourceReply {
    /// Python source.
    pub code: String,
}

/// Reply to `constraints`.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConstraintsReply {
    /// At least one row for every constraint.
    pub checks: Vec<CheckRow>,
}

/// One constraint on one column.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckRow {
    /// Number of the constraint as listed.
    pub constraint: usize,
    /// Column name as it stands in the data; empty for kind none.
    pub column: String,
    /// What must hold.
    pub kind: CheckKind,
    /// Bounds (numbers or ISO dates), values or pattern as text; empty for `not_null` and none.
    pub arguments: Vec<String>,
}

/// Kinds of check.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckKind {
    /// Greater than the argument.
    GreaterThan,
    /// Greater than or equal to the argument.
    GreaterOrEqual,
    /// Less than the argument.
    LessThan,
    /// Less than or equal to the argument.
    LessOrEqual,
    /// Between two arguments, both allowed.
    Between,
    /// The whole value matches the argument, a regular expression.
    Regex,
    /// One of the arguments.
    IsIn,
    /// There is a value.
    NotNull,
    /// No check on single values of a column says it.
    None,
}

/// Reply to `diagnosis`.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DiagnosisReply {
    /// One entry for every failure listed.
    pub failures: Vec<DiagnosisRow>,
}

/// Why one test fails.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DiagnosisRow {
    /// Number of the failure as listed.
    pub failure: usize,
    /// logic: the program is wrong; `test_error`: the test is wrong; environment: a package is missing.
    pub error_type: ErrorType,
    /// What the test expected, one sentence.
    pub expected: String,
    /// What it saw, one sentence.
    pub actual: String,
    /// Why, one sentence.
    pub root_cause: String,
    /// What to change, one sentence.
    pub suggested_fix: String,
    /// Functions of the program (logic) or tests (`test_error`) that must change.
    pub functions: Vec<String>,
    /// pip packages to add (environment).
    pub packages: Vec<String>,
    /// apt packages to add (environment).
    pub system_packages: Vec<String>,
}

/// Reply to `fix_environment`.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EnvironmentReply {
    /// One entry for every package that could not be installed.
    pub replacements: Vec<Replacement>,
}

/// Another name for a package.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Replacement {
    /// Which package manager.
    pub manager: PackageManager,
    /// The name that does not work.
    pub name: String,
    /// The name to use instead; empty to leave the package out.
    pub replacement: String,
}

/// A package manager.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PackageManager {
    /// Python packages.
    Pip,
    /// System packages.
    Apt,
}

/// Bytes of a refusal that are quoted.
const REFUSAL_BYTES: usize = 200;

/// The fault of a refusal, in the model's own words.
fn refused(text: &str) -> ReplyFault {
    let reason = match words_of_refusal(text) {
        Some(words) => format!("The answer was a refusal: {words}"),
        None => "The answer was a refusal.".to_owned(),
    };
    ReplyFault {
        class: FaultClass::Refused,
        reason,
    }
}

/// The words of a refusal as a quotation of one line; none where there are none.
#[must_use]
pub fn words_of_refusal(text: &str) -> Option<String> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then(|| format!("\"{}\".", cut(line.trim_end_matches('.'), REFUSAL_BYTES)))
}

/// The words of a whole reply that is no JSON, as a quotation of one line.
#[must_use]
pub fn not_json(reply: &Reply) -> Option<String> {
    let is_json = serde_json::from_str::<Value>(reply.text.trim()).is_ok();
    if is_json || reply.finish != FinishReason::Complete {
        return None;
    }
    words_of_refusal(&reply.text)
}

/// Reads a reply as its kind's shape.
pub fn parse<T: DeserializeOwned>(reply: &Reply) -> Result<T, ReplyFault> {
    match &reply.finish {
        // `Other` may be an answer all the same: the schema decides.
        FinishReason::Complete | FinishReason::Other(_) => {}
        FinishReason::Length => {
            return Err("The answer was cut at the output limit. Answer again, whole and shorter.".into());
        }
        FinishReason::Refused => {
            return Err(refused(&reply.text));
        }
    }
    serde_json::from_str(reply.text.trim())
        .map_err(|error| format!("The answer was not JSON of the schema: {error}.").into())
}

/// The JSON Schema of a kind's reply: every property required, none further, no references.
#[must_use]
pub fn schema(kind: CallKind) -> Value {
    match kind {
        CallKind::Plan => strict::<PlanReply>(),
        CallKind::Cases => strict::<CasesReply>(),
        CallKind::MoreCases => strict::<MoreCasesReply>(),
        CallKind::Scope => strict::<ScopeReply>(),
        CallKind::Code => strict::<CodeReply>(),
        CallKind::Tests | CallKind::FixCode | CallKind::FixTests => strict::<SourceReply>(),
        CallKind::Constraints => strict::<ConstraintsReply>(),
        CallKind::Diagnosis => strict::<DiagnosisReply>(),
        CallKind::FixEnvironment => strict::<EnvironmentReply>(),
        CallKind::Outputs => strict::<OutputsReply>(),
        CallKind::Program => codegen_code_mode::prompt::reply_schema(),
        // Its form is that of the tools.
        CallKind::Turn => Value::Null,
    }
}

fn strict<T: JsonSchema>() -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().with(|s| {
        // Strict structured output takes no references, so everything is written in its place.
        s.inline_subschemas = true;
        s.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    simplify(&mut schema);
    schema
}

/// Strict structured output knows neither titles nor number formats, and takes `enum` where schemars writes `oneOf` of constants.
fn simplify(schema: &mut Value) {
    if let Value::Object(map) = schema {
        if let Some(Value::Object(properties)) = map.get("properties") {
            // Strict structured output wants every property to be required.
            let names = properties.keys().cloned().map(Value::String).collect();
            map.insert("required".into(), Value::Array(names));
        }
        for key in [
            "title",
            "format",
            "minimum",
            "minLength",
            "maxLength",
            "maxItems",
            "default",
        ] {
            // A property may be called `title`, too; then the value is an object.
            if map.get(key).is_some_and(|value| !value.is_object()) {
                map.remove(key);
            }
        }
        if let Some(Value::Array(options)) = map.get("oneOf") {
            let names: Option<Vec<Value>> = options.iter().map(|o| o.get("const").cloned()).collect();
            if let Some(names) = names {
                map.remove("oneOf");
                map.insert("type".into(), "string".into());
                map.insert("enum".into(), Value::Array(names));
            }
        }
        map.values_mut().for_each(simplify);
    } else if let Value::Array(items) = schema {
        items.iter_mut().for_each(simplify);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::Usage;
    use rstest::rstest;

    fn reply(text: &str, finish: FinishReason) -> Reply {
        Reply {
            text: text.into(),
            finish,
            usage: Usage::default(),
            ..Reply::default()
        }
    }

    fn objects(value: &Value, found: &mut Vec<Value>) {
        if let Value::Object(map) = value {
            if map.contains_key("properties") {
                found.push(value.clone());
            }
            map.values().for_each(|v| objects(v, found));
        } else if let Value::Array(items) = value {
            for item in items {
                objects(item, found);
            }
        }
    }

    #[test]
    fn every_object_of_every_schema_requires_all_its_properties_and_allows_no_other() {
        for kind in CallKind::ALL.into_iter().filter(|kind| *kind != CallKind::Turn) {
            let schema = schema(kind);
            let text = schema.to_string();
            assert!(
                !text.contains("$ref") && !text.contains("oneOf"),
                "{kind}: {text}"
            );
            let mut found = Vec::new();
            objects(&schema, &mut found);
            assert!(!found.is_empty());
            for object in found {
                assert_eq!(
                    object["additionalProperties"],
                    Value::Bool(false),
                    "{kind}: {object}"
                );
                let required = object["required"].as_array().map_or(0, Vec::len);
                assert_eq!(
                    required,
                    object["properties"].as_object().map_or(0, serde_json::Map::len),
                    "{kind}"
                );
            }
        }
    }

    #[test]
    fn a_reply_of_the_schema_is_read() {
        let plan: PlanReply = parse(&reply(
            r#" {"description":"d","approach":"a","libraries":["x"]} "#,
            FinishReason::Complete,
        ))
        .unwrap();
        assert_eq!(plan.libraries, ["x"]);
    }

    #[rstest]
    #[case::prose("Sure! Here is the plan.", FinishReason::Complete, "not JSON of the schema")]
    #[case::cut("{\"description\":\"d", FinishReason::Length, "cut at the output limit")]
    #[case::cut_unsaid("{\"description\":\"d", FinishReason::Complete, "not JSON of the schema: EOF")]
    #[case::fenced("```json\n{}\n```", FinishReason::Complete, "not JSON of the schema")]
    #[case::other_shape("{\"steps\":[]}", FinishReason::Complete, "unknown field `steps`")]
    #[case::refused(
        "I cannot\ndo that.",
        FinishReason::Refused,
        "The answer was a refusal: \"I cannot do that\"."
    )]
    #[case::refused_without_words(" ", FinishReason::Refused, "The answer was a refusal.")]
    fn a_faulty_reply_says_what_is_wrong(
        #[case] text: &str,
        #[case] finish: FinishReason,
        #[case] says: &str,
    ) {
        let fault = parse::<PlanReply>(&reply(text, finish)).unwrap_err();
        assert!(fault.reason.contains(says), "{fault}");
    }
}
