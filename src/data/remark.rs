//! What is doubtful or odd about a sample: a sentence, and the columns that it names as data.

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

/// One sentence without full stop. It reads as its text; it holds no value of a cell.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Remark {
    /// The sentence.
    pub text: String,
    /// Columns, or paths of JSON records, that it names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
}

impl Remark {
    /// A remark that names columns.
    #[must_use]
    pub fn naming(text: String, columns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            text,
            columns: columns.into_iter().map(Into::into).collect(),
        }
    }

    /// The same columns in another sentence.
    #[must_use]
    pub fn reworded(self, words: impl FnOnce(&str) -> String) -> Self {
        Self {
            text: words(&self.text),
            columns: self.columns,
        }
    }
}

impl<T: Into<String>> From<T> for Remark {
    fn from(text: T) -> Self {
        Self {
            text: text.into(),
            columns: Vec::new(),
        }
    }
}

impl Deref for Remark {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
pub(crate) fn joined(remarks: &[Remark], separator: &str) -> String {
    let texts: Vec<&str> = remarks.iter().map(|remark| &**remark).collect();
    texts.join(separator)
}
