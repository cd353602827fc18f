//! Outputs of a run, as the types that the task declares.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::digest::{of_folder, sha256_hex};
use crate::sandbox::OutputContent;
use crate::stored_outputs::FoundOutput;
use crate::verdict::{BrokenOutput, OutputTooLarge};
use codegen_api::run_status::{Finding, OutputOnClaim};
use codegen_api::values::{FileFormat, Output, ValueType};

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
    /// Files that the program wrote: one with an empty path, or those of a folder in the order of their paths. None of what is stored.
    pub files: Vec<OutputFile>,
    /// Place, hash and size of an output that was not brought back.
    pub stored: Option<Stored>,
}

/// Place of an output that was not brought back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputPlace {
    /// On a claim.
    Claim(OutputOnClaim),
    /// On this machine.
    Disk(PathBuf),
    /// Nowhere any more: it was checked where it lay.
    Gone,
}

/// An output as it was found where it lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Place of the output.
    pub place: OutputPlace,
    /// SHA-256 of the bytes, of a folder of its paths and contents, hex.
    pub sha256: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Files of a folder; 1 for a file.
    pub files: u64,
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
    /// Faults of the others.
    pub faults: Vec<BrokenOutput>,
    /// Those that were too large to be brought back.
    pub too_large: Vec<OutputTooLarge>,
    /// Constraints that they break.
    pub findings: Vec<Finding>,
    /// Place for outputs that are too large to be brought back.
    pub room: OutputRoom,
}

/// Place for outputs that are too large to be brought back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputRoom {
    /// Nowhere.
    #[default]
    None,
    /// To a claim, if the run named one.
    Unnamed,
    /// To the claim that the run names.
    Claim,
    /// To a disk of this machine.
    Disk,
}

impl OutputsRead {
    /// Reports whether something is wrong with this output.
    #[must_use]
    pub fn is_at_fault(&self, output: &str) -> bool {
        self.faults.iter().any(|fault| fault.output == output)
    }

    /// Puts what was found where it lies in the place of what was too large for the report. `place` says where, and is given the
    /// number of files.
    pub fn join(
        &mut self,
        declared: &[Output],
        found: Vec<(&Output, FoundOutput)>,
        place: impl Fn(&Output, u64) -> OutputPlace,
    ) {
        for (output, found) in found {
            self.too_large.retain(|large| large.output != output.name);
            self.outputs.retain(|one| one.name != output.name);
            self.faults.retain(|fault| fault.output != output.name);
            match found {
                FoundOutput::Read {
                    sha256,
                    bytes,
                    files,
                    value,
                    findings,
                } => {
                    let place = place(output, files);
                    let stored = Stored {
                        place,
                        sha256,
                        bytes,
                        files,
                    };
                    self.outputs.push(TypedOutput::stored(output, value, stored));
                    self.findings.extend(findings);
                }
                FoundOutput::Wrong(problem) => self.faults.push(BrokenOutput {
                    output: output.name.clone(),
                    problem,
                    without_values: "it is not what it is declared to be".to_owned(),
                    broken: None,
                }),
                FoundOutput::TooLarge(bytes) => self.too_large.push(OutputTooLarge {
                    output: output.name.clone(),
                    bytes,
                }),
            }
        }
        // Outputs are shown in declared order, wherever they lie.
        let place = |output: &TypedOutput| declared.iter().position(|one| one.name == output.name);
        self.outputs.sort_by_key(place);
    }
}

impl TypedOutput {
    /// Builds what lies at a declared output whose value was read as `value`; `None` where nothing of that shape lies there.
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
            stored: None,
        })
    }

    /// A declared output that was not brought back.
    #[must_use]
    pub fn stored(declared: &Output, value: Option<String>, found: Stored) -> Self {
        Self {
            name: declared.name.clone(),
            type_: declared.type_,
            value,
            file_name: file_name(declared),
            files: Vec::new(),
            stored: Some(found),
        }
    }

    /// The claim that it lies on.
    #[must_use]
    pub const fn claim(&self) -> Option<&OutputOnClaim> {
        match &self.stored {
            Some(Stored {
                place: OutputPlace::Claim(claim),
                ..
            }) => Some(claim),
            _ => None,
        }
    }

    /// SHA-256 of the bytes, of a folder of its paths and contents, hex.
    #[must_use]
    pub fn sha256(&self) -> String {
        if let Some(found) = &self.stored {
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
        if let Some(found) = &self.stored {
            return found.bytes;
        }
        self.files.iter().map(|file| file.bytes.len() as u64).sum()
    }
}

fn file_name(declared: &Output) -> String {
    let ending = declared.format.map_or("", FileFormat::ending);
    format!("{}{ending}", declared.name)
}
