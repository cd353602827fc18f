//! Manifest text to documents: YAML streams, JSON and `kind: List`, each document with the place that it came from.

use std::fmt;

use serde_json::Value;
use thiserror::Error;

/// Where a document stands, for messages: `task.yaml (document 2)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// File as the user named it; `standard input` for `-`.
    pub file: String,
    /// Place inside the file (`document 2`, `document 2, item 3`, `configMapGenerator[0]`).
    pub place: String,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.file, self.place)
    }
}

/// One object of a manifest, not yet understood. `Debug` shows its place only: it may be a Secret.
#[derive(Clone, PartialEq)]
pub struct Document {
    /// Where it stands.
    pub origin: Origin,
    /// The object.
    pub value: Value,
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Document({} at {})", self.kind(), self.origin)
    }
}

impl Document {
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
        /// Where.
        origin: Origin,
        /// `YAML` or `JSON`.
        format: &'static str,
        /// What the parser says; never a piece of the text, which may be a Secret.
        message: String,
    },
    /// A document is a list, a number or a text.
    #[error("{origin}: is {found}, not an object: write apiVersion, kind and metadata")]
    NotAnObject {
        /// Where.
        origin: Origin,
        /// What it is.
        found: &'static str,
    },
}

/// Reads every document of `text`. `file` is its name in messages; one that ends in `.json` is read as JSON.
pub fn parse(file: &str, text: &str) -> Result<Vec<Document>, ParseError> {
    let is_json = std::path::Path::new(file)
        .extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("json"))
        || text.trim_start().starts_with('{');
    let values = if is_json {
        parse_json(file, text)?
    } else {
        parse_yaml(file, text)?
    };
    let mut documents = Vec::new();
    for (index, value) in values.into_iter().enumerate() {
        unfold(file, format!("document {}", index + 1), value, &mut documents)?;
    }
    Ok(documents)
}

fn parse_yaml(file: &str, text: &str) -> Result<Vec<Value>, ParseError> {
    // Values are not repeated in messages: a snippet of a manifest may show a Secret.
    // Only `true` and `false` are booleans: `n` in the data of a ConfigMap is a text.
    let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true };
    let mut reader = text.as_bytes();
    let mut values = Vec::new();
    for value in serde_saphyr::read_with_options::<_, Value>(&mut reader, options) {
        match value {
            Ok(value) => values.push(value),
            Err(error) => {
                return Err(syntax(
                    file,
                    values.len(),
                    "YAML",
                    error.without_snippet().to_string(),
                ));
            }
        }
    }
    Ok(values)
}

fn parse_json(file: &str, text: &str) -> Result<Vec<Value>, ParseError> {
    let mut values = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        match value {
            Ok(value) => values.push(value),
            Err(error) => return Err(syntax(file, values.len(), "JSON", error.to_string())),
        }
    }
    Ok(values)
}

fn syntax(file: &str, before: usize, format: &'static str, message: String) -> ParseError {
    ParseError::Syntax {
        origin: Origin {
            file: file.to_owned(),
            place: format!("document {}", before + 1),
        },
        format,
        message,
    }
}

fn unfold(file: &str, place: String, value: Value, into: &mut Vec<Document>) -> Result<(), ParseError> {
    let origin = Origin {
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
    let mut document = Document { origin, value };
    if document.kind() != "List" {
        into.push(document);
        return Ok(());
    }
    if let Value::Array(items) = document.value["items"].take() {
        for (index, item) in items.into_iter().enumerate() {
            unfold(
                file,
                format!("{}, item {}", document.origin.place, index + 1),
                item,
                into,
            )?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn kinds(documents: &[Document]) -> Vec<(&str, String)> {
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
    fn a_repeated_key_is_an_error() {
        let error = parse("task.yaml", "kind: A\nkind: B\n").unwrap_err().to_string();
        assert!(error.contains("duplicate"), "{error}");
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
