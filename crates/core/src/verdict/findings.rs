//! Findings in the outputs of a rehearsal, as they are recorded.

use serde::{Deserialize, Serialize};

/// Digits of a digest that people are shown.
const SHOWN_DIGITS: usize = 12;

/// An output that is too large to be checked.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct OutputTooLarge {
    /// Its name.
    pub output: String,
    /// Its size; not shown where the samples are private, for a program may write as many bytes as a value says.
    pub bytes: Option<u64>,
}

/// An output that was checked on the disk that the program wrote it to, for it is larger than what is brought back.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct StoredOutput {
    /// Its name.
    pub output: String,
    /// Its size; not shown where the samples are private, for a program may write as many bytes as a value says.
    pub bytes: Option<u64>,
    /// SHA-256 of the file, or of the folder as a whole, hex; not shown where the samples are private.
    pub sha256: Option<String>,
    /// Files of a folder; 1 for a file.
    pub files: u64,
}

impl StoredOutput {
    /// Returns its size, its number of files and the start of its hash, in words.
    #[must_use]
    pub fn size(&self) -> String {
        let bytes = self.bytes.unwrap_or_default();
        let digest = self.sha256.as_deref().unwrap_or_default();
        let digest = &digest[..digest.floor_char_boundary(SHOWN_DIGITS)];
        let files = match self.files {
            1 => String::new(),
            files => format!("{files} files, "),
        };
        format!("{files}{bytes} bytes, sha256 {digest}")
    }
}

/// Worth of the rehearsal's outputs, as found by the data module.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct RehearsalFindings {
    /// Outputs that are missing, of another type, or break a constraint.
    pub faults: Vec<BrokenOutput>,
    /// Values of the outputs that are what they should be: output and value, of files and folders their size.
    #[serde(default)]
    pub values: Vec<(String, String)>,
    /// Files and folders that could not be checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub too_large: Vec<OutputTooLarge>,
    /// Files and folders that were checked where they lay.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stored: Vec<StoredOutput>,
}

/// Fault of an output.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct BrokenOutput {
    /// Name of the output.
    pub output: String,
    /// Words about what is wrong, values quoted.
    pub problem: String,
    /// Words about what is wrong, without any value.
    pub without_values: String,
    /// The check in words, where a constraint is broken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
}

impl BrokenOutput {
    /// That of an output that cannot be read, for this reason.
    #[must_use]
    pub fn unreadable(output: &str, problem: &str) -> Self {
        Self {
            output: output.to_owned(),
            problem: problem.to_owned(),
            without_values: "it cannot be read as what it is declared to be".to_owned(),
            broken: None,
        }
    }
}

impl RehearsalFindings {
    /// Returns what may be shown where the samples are private.
    #[must_use]
    pub fn without_private_values(&self) -> Self {
        let faults = self.faults.iter().map(|fault| BrokenOutput {
            problem: fault.without_values.clone(),
            ..fault.clone()
        });
        Self {
            faults: faults.collect(),
            values: Vec::new(),
            too_large: self
                .too_large
                .iter()
                .map(|large| OutputTooLarge {
                    // A program can write as many bytes as a private value says.
                    bytes: None,
                    ..large.clone()
                })
                .collect(),
            stored: self
                .stored
                .iter()
                .map(|stored| StoredOutput {
                    bytes: None,
                    sha256: None,
                    ..stored.clone()
                })
                .collect(),
        }
    }
}
