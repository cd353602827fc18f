//! Types as one word: that of a value, or the format of a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{EnumString, VariantNames};

use super::values::{FileFormat, ValueType};

/// The type of an output as one word. `CSV` stands for a `File` of the format `CSV`.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, JsonSchema, EnumString, VariantNames)]
#[schemars(description = "Type of a value, or format of a file.")]
#[strum(ascii_case_insensitive)]
pub enum TypeName {
    /// Text.
    String,
    /// A whole number.
    Int,
    /// A decimal number.
    Float,
    /// `true` or `false`.
    Bool,
    /// A moment.
    Datetime,
    /// A length of time.
    Timedelta,
    /// A folder of files.
    Dir,
    /// One file of any format.
    File,
    /// A file of comma-separated values.
    CSV,
    /// A file of tab-separated values.
    TSV,
    /// A file of one JSON document.
    JSON,
    /// A file of one JSON value per line.
    JSONLines,
    /// An Apache Parquet file.
    Parquet,
    /// An Excel workbook.
    Excel,
    /// A file of text.
    Text,
    /// A file of bytes.
    Binary,
}

impl TypeName {
    /// The type as a manifest has it, and the format of a `File`.
    #[must_use]
    pub const fn in_manifest(self) -> (ValueType, Option<FileFormat>) {
        let format = match self {
            Self::String => return (ValueType::String, None),
            Self::Int => return (ValueType::Int, None),
            Self::Float => return (ValueType::Float, None),
            Self::Bool => return (ValueType::Bool, None),
            Self::Datetime => return (ValueType::Datetime, None),
            Self::Timedelta => return (ValueType::Timedelta, None),
            Self::Dir => return (ValueType::Dir, None),
            Self::File => return (ValueType::File, None),
            Self::CSV => FileFormat::CSV,
            Self::TSV => FileFormat::TSV,
            Self::JSON => FileFormat::JSON,
            Self::JSONLines => FileFormat::JSONLines,
            Self::Parquet => FileFormat::Parquet,
            Self::Excel => FileFormat::Excel,
            Self::Text => FileFormat::Text,
            Self::Binary => FileFormat::Binary,
        };
        (ValueType::File, Some(format))
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
        assert_eq!(read("Int"), Ok((ValueType::Int, None)));
        assert!(read("Dataframe").is_err());
    }

    #[test]
    fn every_word_is_spelled_as_the_manifest_spells_it() {
        for word in TypeName::VARIANTS {
            let (type_, format) = word.parse::<TypeName>().unwrap().in_manifest();
            let spelled = match format {
                Some(format) => json!(format),
                None => json!(type_),
            };
            assert_eq!(spelled, json!(word));
        }
    }
}
