//! Types of values.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{EnumString, VariantNames};

/// Type of an input or output.
#[derive(
    Serialize,
    Deserialize,
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    JsonSchema,
    EnumString,
    VariantNames,
)]
#[schemars(description = "")]
#[strum(ascii_case_insensitive)]
pub enum ValueType {
    /// Text.
    String,
    /// A whole number.
    Int,
    /// A decimal number.
    Float,
    /// `true` or `false`.
    Bool,
    /// One file.
    File,
    /// A folder of files.
    Dir,
    /// A moment, RFC 3339 with or without a zone (outputs only).
    Datetime,
    /// A length of time, ISO 8601 or seconds (outputs only).
    Timedelta,
}

impl ValueType {
    /// Reports whether a `default` or `example` of an input of this type may read `text`: the same texts that the CEL rules of inputs
    /// allow.
    #[must_use]
    pub fn accepts(self, text: &str) -> bool {
        match self {
            Self::String => true,
            Self::Int => {
                let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
                !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
            }
            // The character check keeps out `inf`, `nan` and their kin, which Rust and Python spell differently.
            Self::Float => {
                text.bytes()
                    .all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte))
                    && text.parse::<f64>().is_ok()
            }
            Self::Bool => matches!(text, "true" | "false"),
            Self::File | Self::Dir | Self::Datetime | Self::Timedelta => false,
        }
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::ValueType;

    #[rstest]
    #[case(ValueType::String, "", true)]
    #[case(ValueType::Int, "0", true)]
    #[case(ValueType::Int, "-12", true)]
    #[case(ValueType::Int, "1.0", false)]
    #[case(ValueType::Int, "", false)]
    #[case(ValueType::Int, "+", false)]
    #[case(ValueType::Int, " 1", false)]
    #[case(ValueType::Float, "1", true)]
    #[case(ValueType::Float, "-.5e+3", true)]
    #[case(ValueType::Float, "5.", true)]
    #[case(ValueType::Float, "nan", false)]
    #[case(ValueType::Float, "1,5", false)]
    #[case(ValueType::Float, ".", false)]
    #[case(ValueType::Bool, "true", true)]
    #[case(ValueType::Bool, "True", false)]
    #[case(ValueType::File, "a.csv", false)]
    fn a_text_is_accepted_only_when_it_reads_as_its_type(
        #[case] type_: ValueType,
        #[case] text: &str,
        #[case] accepted: bool,
    ) {
        assert_eq!(type_.accepts(text), accepted, "{type_} {text:?}");
    }
}
