//! Names of a run's outputs in an artifact, whoever pushes them.

use std::collections::BTreeMap;

use codegen_api::values::ValueType;

/// Artifact type of the outputs of a run.
pub const KIND: &str = "application/vnd.codegen-operator.outputs.v1";
/// Annotation with the run; only who has pushed a tag moves it.
pub const RUN: &str = "dev.codegen-operator.run";
/// Annotation with the task.
pub const TASK: &str = "dev.codegen-operator.task";
/// Annotation with what decided the outputs: `status.key`.
pub const KEY: &str = "dev.codegen-operator.key";
/// Annotation of a file: the output that it is of.
pub const OUTPUT: &str = "dev.codegen-operator.output";
/// Annotation of a file: the type of that output.
pub const TYPE: &str = "dev.codegen-operator.type";

/// Name of a file of an output; `path` is that below the folder, empty for an output that is none.
#[must_use]
pub fn title(file_name: &str, path: &str) -> String {
    if path.is_empty() {
        file_name.to_owned()
    } else {
        format!("{file_name}/{path}")
    }
}

/// Returns the annotations of a file of the output `name`.
#[must_use]
pub fn annotations(name: &str, type_: ValueType) -> BTreeMap<String, String> {
    BTreeMap::from([
        (OUTPUT.to_owned(), name.to_owned()),
        (TYPE.to_owned(), type_.to_string()),
    ])
}

/// The media type of a file of this title, of an output of this type.
#[must_use]
pub fn media_type(type_: ValueType, title: &str) -> &'static str {
    if !matches!(type_, ValueType::File | ValueType::Dir) {
        return "text/plain";
    }
    let ending = title.rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending.to_ascii_lowercase().as_str() {
        "csv" => "text/csv",
        "tsv" => "text/tab-separated-values",
        "json" => "application/json",
        "jsonl" | "ndjson" => "application/x-ndjson",
        "parquet" => "application/vnd.apache.parquet",
        "xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "txt" | "md" => "text/plain",
        "html" => "text/html",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "pdf" => "application/pdf",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_names_and_types_that_whoever_fetches_them_expects() {
        let named = |type_, file_name: &str, path: &str| {
            let title = title(file_name, path);
            (
                media_type(type_, &title),
                annotations("summary", type_)[TYPE].clone(),
                title,
            )
        };
        let expected =
            |media_type, type_: &str, title: &str| (media_type, type_.to_owned(), title.to_owned());
        assert_eq!(
            named(ValueType::File, "summary.csv", ""),
            expected("text/csv", "File", "summary.csv")
        );
        assert_eq!(
            named(ValueType::Dir, "pages", "a/1.HTML"),
            expected("text/html", "Dir", "pages/a/1.HTML")
        );
        assert_eq!(
            named(ValueType::Int, "species", ""),
            expected("text/plain", "Int", "species")
        );
    }
}
