//! Doubts and oddities of a sample: a sentence, and the columns that it names as data.

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::format::places::LISTED_PLACES;

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
    pub(crate) fn naming(text: String, columns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            text: one_line(text),
            columns: columns.into_iter().map(Into::into).collect(),
        }
    }

    /// Lists the first of some columns behind a text; `None` where there is none.
    pub(crate) fn listing<'n>(text: &str, columns: impl IntoIterator<Item = &'n str>) -> Option<Self> {
        let columns: Vec<&str> = columns.into_iter().collect();
        let more = if columns.len() > LISTED_PLACES {
            ", ..."
        } else {
            ""
        };
        let listed = &columns[..columns.len().min(LISTED_PLACES)];
        let text = format!("{text}: {}{more}", listed.join(", "));
        (!listed.is_empty()).then(|| Self::naming(text, listed.iter().copied()))
    }

    /// The same columns in another sentence.
    #[must_use]
    pub(crate) fn reworded(self, words: impl FnOnce(&str) -> String) -> Self {
        Self {
            text: one_line(words(&self.text)),
            columns: self.columns,
        }
    }
}

impl<T: Into<String>> From<T> for Remark {
    fn from(text: T) -> Self {
        Self {
            text: one_line(text.into()),
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

/// A name may hold line breaks and other controls: they are written as escapes, so that a remark is one line.
fn one_line(text: String) -> String {
    if !text.contains(char::is_control) {
        return text;
    }
    text.chars()
        .fold(String::with_capacity(text.len()), |mut line, character| {
            if character.is_control() {
                line.extend(character.escape_default());
            } else {
                line.push(character);
            }
            line
        })
}

#[cfg(test)]
pub(crate) fn joined(remarks: &[Remark], separator: &str) -> String {
    let texts: Vec<&str> = remarks.iter().map(|remark| &**remark).collect();
    texts.join(separator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remark_is_one_line_whatever_a_column_is_called() {
        let remark = Remark::naming("values with blanks around them in: \nx".to_owned(), ["\nx"]);
        assert_eq!(remark.text, "values with blanks around them in: \\nx");
        assert_eq!(remark.columns, ["\nx"]);
        assert_eq!(
            &*Remark::from("a\tb").reworded(|text| format!("{text}\r")),
            "a\\tb\\r"
        );
    }
}
