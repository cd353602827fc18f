//! What a run wrote, as the types that the task declares.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::api::run_status::{Finding, OutputOnClaim};
use crate::api::values::{FileFormat, Output, ValueType};
use crate::pipeline::digest::{of_folder, sha256_hex};
use crate::pipeline::sandbox::OutputContent;
use crate::pipeline::verdict::{Fault, TooLarge};

/// An output of its declared type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedOutput {
    /// Its name.
    pub name: String,
    /// Its declared type.
    pub type_: ValueType,
    /// The value of anything but a file or folder, as text.
    pub value: Option<String>,
    /// File name with the ending of its declared format (`summary.csv`); of a folder its name.
    pub file_name: String,
    /// What the program wrote: one file with an empty path, or those of a folder in the order of their paths. None of what lies
    /// on a claim.
    pub files: Vec<OutputFile>,
    /// Where it lies, where that is a claim.
    pub on_claim: Option<OnClaim>,
}

/// An output on a claim, as it was found there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnClaim {
    /// Where.
    pub place: OutputOnClaim,
    /// SHA-256 of the bytes, of a folder of its paths and contents, hex.
    pub sha256: String,
    /// Size in bytes.
    pub bytes: u64,
}

/// A file that a program wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputFile {
    /// Path below the folder; empty for an output that is no folder.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Everything that was found in the outputs of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutputsRead {
    /// Those that are what the task declares, in declared order.
    pub outputs: Vec<TypedOutput>,
    /// What is wrong with the others.
    pub faults: Vec<Fault>,
    /// Those that were too large to be brought back.
    pub too_large: Vec<TooLarge>,
    /// Constraints that they break.
    pub findings: Vec<Finding>,
    /// Where those go that are too large to be brought back.
    pub room: Room,
}

/// Where outputs go that are too large to be brought back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Room {
    /// Nowhere.
    #[default]
    None,
    /// To a claim, if the run named one.
    Unnamed,
    /// To the claim that the run names.
    Claim,
}

impl TypedOutput {
    /// What lies at a declared output whose value was read as `value`; `None` where nothing of that shape lies there.
    #[must_use]
    pub fn new(declared: &Output, content: &OutputContent, value: Option<String>) -> Option<Self> {
        let file = |path: &str, encoded: &str| {
            Some(OutputFile {
                path: path.to_owned(),
                bytes: STANDARD.decode(encoded).ok()?,
            })
        };
        let files = match content {
            OutputContent::File(encoded) => vec![file("", encoded)?],
            OutputContent::Dir(files) => {
                let files = files.iter();
                files
                    .map(|(path, encoded)| file(path, encoded))
                    .collect::<Option<Vec<_>>>()?
            }
            OutputContent::Missing | OutputContent::TooLarge(_) | OutputContent::NotAFile(_) => return None,
        };
        Some(Self {
            name: declared.name.clone(),
            type_: declared.type_,
            value,
            file_name: file_name(declared),
            files,
            on_claim: None,
        })
    }

    /// A declared output that lies on a claim.
    #[must_use]
    pub fn on_claim(declared: &Output, value: Option<String>, found: OnClaim) -> Self {
        Self {
            name: declared.name.clone(),
            type_: declared.type_,
            value,
            file_name: file_name(declared),
            files: Vec::new(),
            on_claim: Some(found),
        }
    }

    /// SHA-256 of the bytes, of a folder of its paths and contents, hex.
    #[must_use]
    pub fn sha256(&self) -> String {
        if let Some(found) = &self.on_claim {
            return found.sha256.clone();
        }
        match self.files.as_slice() {
            [file] if self.type_ != ValueType::Dir => sha256_hex(&file.bytes),
            files => of_folder(
                files
                    .iter()
                    .map(|file| (file.path.clone(), sha256_hex(&file.bytes)))
                    .collect(),
            ),
        }
    }

    /// Size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        if let Some(found) = &self.on_claim {
            return found.bytes;
        }
        self.files.iter().map(|file| file.bytes.len() as u64).sum()
    }
}

fn file_name(declared: &Output) -> String {
    let ending = declared.format.map_or("", FileFormat::ending);
    format!("{}{ending}", declared.name)
}
