//! `kubectl-codegen explain`: fields of manifests and reasons of statuses, without a cluster.

use codegen_api::crd::crds;
use codegen_core::code_mode::QuestionStopReason;
use codegen_core::stage::{Stage, StopReason};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use strum::{EnumMessage as _, VariantArray as _};

use super::args::Color;
use super::command::{self, CommandError, print};
use super::text::{columns, wrap};

/// Columns of names of fields with their types.
const FIELD_COLUMNS: usize = 34;

/// Prints what is explained.
pub(super) fn run(asked: &str) -> i32 {
    command::run(Color::Auto, async |_| {
        let text = text(asked, columns()).map_err(CommandError::usage)?;
        print(text.as_bytes())?;
        Ok(0)
    })
}

/// The meaning of a field, by its path behind a kind (`CodeGenTask` where none is named), or of a word that statuses have.
pub(super) fn text(asked: &str, columns: usize) -> Result<String, String> {
    if let Some(meaning) = meaning(asked) {
        return Ok(lines(asked, meaning, columns));
    }
    let kinds = crds();
    let mut path: Vec<&str> = asked.split('.').filter(|name| !name.is_empty()).collect();
    let named = path
        .first()
        .and_then(|first| kinds.iter().find(|kind| is_named(kind, first)));
    if named.is_some() {
        path.remove(0);
    }
    let kind = named.or_else(|| kinds.iter().find(|kind| is_named(kind, "CodeGenTask")));
    let Some((kind, mut schema)) = kind.and_then(|kind| Some((kind, schema_of(kind)?))) else {
        return Err("no definition is there".to_owned());
    };
    let mut place = kind.spec.names.kind.clone();
    for name in path {
        schema = field(schema, name).ok_or_else(|| no_field(&place, schema, name))?;
        place = format!("{place}.{name}");
    }
    let head = format!("{place} <{}>", type_of(schema));
    let mut text = lines(&head, schema.description.as_deref().unwrap_or_default(), columns);
    for (name, inner) in fields(schema) {
        let head = format!("{name} <{}>", type_of(inner));
        let meaning = first_sentence(inner.description.as_deref().unwrap_or_default());
        let width = columns.saturating_sub(FIELD_COLUMNS + 3);
        let mut wrapped = wrap(meaning, width).into_iter();
        let first = wrapped.next().unwrap_or_default();
        text.push_str(format!("  {head:<FIELD_COLUMNS$} {first}").trim_end());
        text.push('\n');
        for line in wrapped {
            text.extend([format!("  {:<FIELD_COLUMNS$} {line}\n", "")]);
        }
    }
    Ok(text)
}

fn lines(head: &str, meaning: &str, columns: usize) -> String {
    let meaning = wrap(meaning, columns.saturating_sub(2));
    let meaning = meaning.iter().map(|line| format!("  {line}\n"));
    format!("{head}\n{}\n", meaning.collect::<String>())
}

/// The meaning of a stage, or of a reason for which a task or a question ends.
fn meaning(word: &str) -> Option<&'static str> {
    let stages = Stage::VARIANTS
        .iter()
        .map(|stage| (stage.as_str(), stage.get_documentation()));
    let of_tasks = StopReason::VARIANTS.iter();
    let of_tasks = of_tasks.map(|reason| (<&str>::from(*reason), reason.get_documentation()));
    let of_questions = QuestionStopReason::VARIANTS.iter();
    let of_questions = of_questions.map(|reason| (<&str>::from(*reason), reason.get_documentation()));
    let mut all = stages.chain(of_tasks).chain(of_questions);
    all.find(|(name, _)| name.eq_ignore_ascii_case(word))?.1
}

fn is_named(kind: &CustomResourceDefinition, name: &str) -> bool {
    let names = &kind.spec.names;
    let short = names.short_names.iter().flatten().map(String::as_str);
    let mut all = [names.kind.as_str(), names.plural.as_str()]
        .into_iter()
        .chain(names.singular.as_deref())
        .chain(short);
    all.any(|other| other.eq_ignore_ascii_case(name))
}

fn schema_of(kind: &CustomResourceDefinition) -> Option<&JSONSchemaProps> {
    let version = kind.spec.versions.first()?;
    version.schema.as_ref()?.open_api_v3_schema.as_ref()
}

/// The fields of an object, of the items of a list, or of the values of a map.
fn fields(schema: &JSONSchemaProps) -> impl Iterator<Item = (&String, &JSONSchemaProps)> {
    inner(schema).properties.iter().flatten()
}

fn field<'a>(schema: &'a JSONSchemaProps, name: &str) -> Option<&'a JSONSchemaProps> {
    inner(schema).properties.as_ref()?.get(name)
}

fn inner(schema: &JSONSchemaProps) -> &JSONSchemaProps {
    match (&schema.items, &schema.additional_properties) {
        (Some(JSONSchemaPropsOrArray::Schema(items)), _) => items,
        (_, Some(JSONSchemaPropsOrBool::Schema(values))) => values,
        _ => schema,
    }
}

/// The type of a field with its values, as `kubectl explain` writes it.
fn type_of(schema: &JSONSchemaProps) -> String {
    let own = |schema: &JSONSchemaProps| schema.type_.clone().unwrap_or_else(|| "any".to_owned());
    let text = match (&schema.items, &schema.additional_properties) {
        (Some(JSONSchemaPropsOrArray::Schema(items)), _) => format!("[]{}", own(items)),
        (_, Some(JSONSchemaPropsOrBool::Schema(values))) => format!("map to {}", own(values)),
        _ => own(schema),
    };
    let values = inner(schema)
        .enum_
        .iter()
        .flatten()
        .filter_map(|value| value.0.as_str());
    let values: Vec<&str> = values.collect();
    if values.is_empty() { text } else { values.join("|") }
}

fn first_sentence(text: &str) -> &str {
    text.split_once(". ").map_or(text, |(first, _)| first)
}

fn no_field(place: &str, schema: &JSONSchemaProps, name: &str) -> String {
    let names: Vec<&str> = fields(schema).map(|(name, _)| name.as_str()).collect();
    if names.is_empty() {
        return format!("{place} has no field {name}: it has none");
    }
    format!("{place} has no field {name}: it has {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_explained_with_what_is_in_it() {
        let text = text("spec.limits", 100).unwrap();
        assert!(text.starts_with("CodeGenTask.spec.limits <object>\n"), "{text}");
        assert!(text.contains("  maxIterations <integer>"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        let samples = super::text("CodeGenTask.spec.samples.inline", 80).unwrap();
        assert!(
            samples.starts_with("CodeGenTask.spec.samples.inline <string>\n"),
            "{samples}"
        );
        let run = super::text("codegenrun.spec", 80).unwrap();
        assert!(run.starts_with("CodeGenRun.spec <object>\n"), "{run}");
    }

    #[test]
    fn a_field_that_is_not_there_is_answered_with_those_that_are() {
        let error = text("spec.limit", 100).unwrap_err();
        assert!(
            error.starts_with("CodeGenTask.spec has no field limit: it has "),
            "{error}"
        );
        assert!(error.contains(", limits, "), "{error}");
    }

    #[test]
    fn a_reason_and_a_stage_are_explained_by_their_names() {
        for (word, words) in [
            ("NoProgress", "Going on would repeat itself."),
            ("retriesexhausted", "The last program that was allowed failed."),
            ("RunningTests", "tests"),
        ] {
            assert!(text(word, 100).unwrap().contains(words), "{word}");
        }
    }
}
