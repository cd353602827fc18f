//! Types as one word: that of a value, or the format of a file.

use std::borrow::Cow;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use strum::VariantNames as _;

use super::values::{FileFormat, ValueType};

/// The type of an output as one word. `CSV` stands for a `File` of the format `CSV`.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(untagged, try_from = "String")]
pub enum TypeName {
    /// Of a value, or of a file of any format.
    Value(ValueType),
    /// Of a file of this format.
    Format(FileFormat),
}

impl TypeName {
    /// Every word.
    pub fn words() -> impl Iterator<Item = &'static str> {
        ValueType::VARIANTS.iter().chain(FileFormat::VARIANTS).copied()
    }

    /// The type as a manifest has it, and the format of a `File`.
    #[must_use]
    pub const fn in_manifest(self) -> (ValueType, Option<FileFormat>) {
        match self {
            Self::Value(type_) => (type_, None),
            Self::Format(format) => (ValueType::File, Some(format)),
        }
    }
}

impl FromStr for TypeName {
    type Err = String;

    /// Reads a word in upper or lower case.
    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let type_ = word.parse().map(Self::Value);
        let found = type_.or_else(|_| word.parse().map(Self::Format));
        found.map_err(|_| {
            let all: Vec<&str> = Self::words().collect();
            format!("{word:?} is no type: write one of {}", all.join(", "))
        })
    }
}

impl TryFrom<String> for TypeName {
    type Error = String;

    fn try_from(word: String) -> Result<Self, Self::Error> {
        word.parse()
    }
}

impl JsonSchema for TypeName {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "TypeName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words: Vec<&str> = Self::words().collect();
        json_schema!({
            "description": "Type of a value, or format of a file.",
            "type": "string",
            "enum": words,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_word_is_read_in_any_case_and_stands_for_type_and_format() {
        let read = |word: &str| word.parse::<TypeName>().map(TypeName::in_manifest);
        assert_eq!(read("csv"), Ok((ValueType::File, Some(FileFormat::CSV))));
        assert_eq!(
            read("JSONLines"),
            Ok((ValueType::File, Some(FileFormat::JSONLines)))
        );
        assert_eq!(read("Arrow"), Ok((ValueType::File, Some(FileFormat::Arrow))));
        assert_eq!(read("Int"), Ok((ValueType::Int, None)));
        assert!(read("Dataframe").is_err());
    }

    #[test]
    fn every_type_and_format_of_a_manifest_is_a_word_spelled_as_there() {
        let of = |schema: Schema| -> Vec<String> {
            let options = schema.as_value()["oneOf"].as_array().cloned().unwrap();
            let words = options
                .iter()
                .map(|option| option["const"].as_str().unwrap().to_owned());
            words.collect()
        };
        let in_manifests = [
            of(schemars::schema_for!(ValueType)),
            of(schemars::schema_for!(FileFormat)),
        ];
        assert_eq!(TypeName::words().collect::<Vec<_>>(), in_manifests.concat());
        for word in TypeName::words() {
            let read: TypeName = serde_json::from_value(json!(word)).unwrap();
            assert_eq!(json!(read), json!(word));
        }
    }
}
