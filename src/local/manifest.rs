//! Manifest text to documents: YAML streams, JSON and `kind: List`, each document with the place that it came from.

use std::fmt;

use serde_json::Value;
use thiserror::Error;

pub use super::yaml::YamlDialect;
use super::yaml::{self, YamlDocument};

/// Place of a document, for messages: `task.yaml (document 2)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentOrigin {
    /// File as the user named it; `standard input` for `-`.
    pub file: String,
    /// Place inside the file (`document 2`, `document 2, item 3`, `configMapGenerator[0]`).
    pub place: String,
}

impl fmt::Display for DocumentOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.file, self.place)
    }
}

/// One object of a manifest, not yet understood. `Debug` shows its place only: it may be a Secret.
#[derive(Clone, PartialEq)]
pub struct ManifestDocument {
    /// Place of the document.
    pub origin: DocumentOrigin,
    /// The object.
    pub value: Value,
    /// Notices for a person about how it was read.
    pub notices: Vec<String>,
}

impl fmt::Debug for ManifestDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Document({} at {})", self.kind(), self.origin)
    }
}

impl ManifestDocument {
    /// `kind`, empty when it has none.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.value["kind"].as_str().unwrap_or_default()
    }

    /// `apiVersion`, empty when it has none.
    #[must_use]
    pub fn api_version(&self) -> &str {
        self.value["apiVersion"].as_str().unwrap_or_default()
    }

    /// `metadata.name`, when it has one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.value["metadata"]["name"]
            .as_str()
            .filter(|name| !name.is_empty())
    }

    /// `metadata.namespace`, `default` when it has none.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.value["metadata"]["namespace"]
            .as_str()
            .filter(|name| !name.is_empty())
            .unwrap_or("default")
    }
}

/// A text that is no manifest.
#[derive(Debug, Error, PartialEq)]
pub enum ParseError {
    /// The text is neither YAML nor JSON, or meets one of the limits that stop hostile documents.
    #[error("{origin}: cannot be read as {format}: {message}")]
    Syntax {
        /// Place of the document.
        origin: DocumentOrigin,
        /// `YAML` or `JSON`.
        format: &'static str,
        /// Message of the parser; never a piece of the text, which may be a Secret.
        message: String,
    },
    /// A document is a list, a number or a text.
    #[error("{origin}: is {found}, not an object: write apiVersion, kind and metadata")]
    NotAnObject {
        /// Place of the document.
        origin: DocumentOrigin,
        /// Kind of value that stands there.
        found: &'static str,
    },
}

/// Reads every document of `text` as `kubectl apply` does. `file` is its name in messages.
pub fn parse(file: &str, text: &str) -> Result<Vec<ManifestDocument>, ParseError> {
    parse_as(YamlDialect::Kubectl, file, text)
}

/// Reads every document of `text` in the way of one of the two that read manifests.
pub fn parse_as(dialect: YamlDialect, file: &str, text: &str) -> Result<Vec<ManifestDocument>, ParseError> {
    let read = yaml::read(text, dialect).map_err(|error| ParseError::Syntax {
        origin: DocumentOrigin {
            file: file.to_owned(),
            place: format!("document {}", error.document),
        },
        format: error.format,
        message: error.message,
    })?;
    let mut documents = Vec::new();
    for (number, YamlDocument { value, notices }) in (1..).zip(read) {
        // kustomize passes over what is empty.
        if dialect == YamlDialect::Kustomize && value.as_object().is_some_and(serde_json::Map::is_empty) {
            continue;
        }
        let first = documents.len();
        let place = format!("document {number}");
        unfold(dialect, file, place, value, &mut documents)?;
        if let Some(document) = documents.get_mut(first) {
            document.notices = notices;
        }
    }
    Ok(documents)
}

fn unfold(
    dialect: YamlDialect,
    file: &str,
    place: String,
    value: Value,
    into: &mut Vec<ManifestDocument>,
) -> Result<(), ParseError> {
    let origin = DocumentOrigin {
        file: file.to_owned(),
        place,
    };
    let found = match &value {
        Value::Object(_) => None,
        Value::Null => return Ok(()),
        Value::Array(_) => Some("a list"),
        Value::String(_) => Some("a text"),
        Value::Number(_) => Some("a number"),
        Value::Bool(_) => Some("true or false"),
    };
    if let Some(found) = found {
        return Err(ParseError::NotAnObject { origin, found });
    }
    let mut document = ManifestDocument {
        origin,
        value,
        notices: Vec::new(),
    };
    let kind = document.kind().strip_suffix("List").map(str::to_owned);
    let items = match document.value.get_mut("items") {
        Some(items) if kind.is_some() && items.is_array() => items.take(),
        _ => Value::Null,
    };
    let (Some(kind), Value::Array(items)) = (kind, items) else {
        into.push(document);
        return Ok(());
    };
    let version = &document.value["apiVersion"];
    let says_kind = dialect == YamlDialect::Kubectl && !kind.is_empty();
    for (index, mut item) in items.into_iter().enumerate() {
        // In kubectl each item of a ConfigMapList is a ConfigMap, whether it says so or not.
        if let Some(fields) = item.as_object_mut().filter(|_| says_kind) {
            fields.entry("kind").or_insert_with(|| kind.clone().into());
            fields.entry("apiVersion").or_insert_with(|| version.clone());
        }
        let place = format!("{}, item {}", document.origin.place, index + 1);
        unfold(dialect, file, place, item, into)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn kinds(documents: &[ManifestDocument]) -> Vec<(&str, String)> {
        documents
            .iter()
            .map(|document| (document.kind(), document.origin.to_string()))
            .collect()
    }

    #[test]
    fn each_document_of_a_stream_knows_its_place() {
        let documents = parse("task.yaml", "---\nkind: A\n---\nkind: B\n").unwrap();
        assert_eq!(
            kinds(&documents),
            [
                ("A", "task.yaml (document 1)".to_owned()),
                ("B", "task.yaml (document 2)".to_owned())
            ]
        );
    }

    #[test]
    fn a_list_is_unfolded() {
        let documents = parse("all.yaml", "kind: List\nitems: [{kind: A}, {kind: B}]\n").unwrap();
        assert_eq!(documents[1].origin.to_string(), "all.yaml (document 1, item 2)");
        assert_eq!(documents.len(), 2);
    }

    #[test]
    fn json_may_be_indented_with_tabs() {
        let documents = parse("task.json", "{\n\t\"kind\": \"A\"\n}").unwrap();
        assert_eq!(documents[0].kind(), "A");
    }

    #[test]
    fn an_error_names_file_document_and_line() {
        let error = parse("task.yaml", "kind: A\n---\nkind: [B\n")
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("task.yaml (document 2): cannot be read as YAML: "),
            "{error}"
        );
        assert!(error.contains("line"), "{error}");
    }

    #[test]
    fn a_syntax_error_shows_nothing_of_the_text() {
        let error = parse("s.yaml", "kind: Secret\nstringData: {key: hunter2\nother: [x\n")
            .unwrap_err()
            .to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }

    #[test]
    fn of_a_repeated_key_the_last_counts_as_in_kubectl_and_it_is_said() {
        let documents = parse("task.yaml", "kind: A\nkind: B\n").unwrap();
        assert_eq!(documents[0].kind(), "B");
        assert_eq!(
            documents[0].notices,
            ["the key \"kind\" stands twice, and the last one counts (line 2, column 1)"]
        );
        let error = parse_as(YamlDialect::Kustomize, "task.yaml", "kind: A\nkind: B\n").unwrap_err();
        assert!(error.to_string().contains("stands twice: keep one"), "{error}");
    }

    #[test]
    fn items_of_a_list_of_one_kind_are_of_that_kind() {
        let documents = parse(
            "all.yaml",
            "apiVersion: v1\nkind: ConfigMapList\nitems: [{metadata: {name: a}}]\n",
        )
        .unwrap();
        assert_eq!(
            (documents[0].kind(), documents[0].api_version()),
            ("ConfigMap", "v1")
        );
    }

    #[test]
    fn a_document_that_unfolds_without_end_is_stopped() {
        let mut text = String::from("a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
        for level in 1..12 {
            let before = level - 1;
            let aliases = vec![format!("*a{before}"); 9].join(", ");
            writeln!(text, "a{level}: &a{level} [{aliases}]").unwrap();
        }
        let error = parse("bomb.yaml", &text).unwrap_err().to_string();
        assert!(error.starts_with("bomb.yaml (document 1): "), "{error}");
    }

    #[test]
    fn a_text_is_no_manifest() {
        let error = parse("notes.yaml", "just words\n").unwrap_err().to_string();
        assert_eq!(
            error,
            "notes.yaml (document 1): is a text, not an object: write apiVersion, kind and metadata"
        );
    }

    #[test]
    fn a_block_text_keeps_every_character() {
        let documents = parse(
            "cm.yaml",
            "kind: ConfigMap\ndata:\n  a.csv: |\n    x,y\n    1, 2 \n",
        )
        .unwrap();
        assert_eq!(documents[0].value["data"]["a.csv"], "x,y\n1, 2 \n");
    }

    #[test]
    fn debug_of_a_document_shows_no_value() {
        let documents = parse("s.yaml", "kind: Secret\nstringData: {key: hunter2}\n").unwrap();
        assert!(!format!("{documents:?}").contains("hunter2"));
    }
}
