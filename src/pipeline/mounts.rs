//! Where inputs and samples lie inside the sandbox, and how the program is called on them.

use crate::api::common::Exposure;
use crate::api::values::ValueType;

use super::sandbox::InputMount;
use super::task::{FrozenFile, Task};

/// Command line of the rehearsal, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rehearsal {
    /// Run the program with these arguments.
    Run(Vec<String>),
    /// An input has neither default, sample nor example.
    Skip(String),
}

impl Task {
    /// Everything frozen that the program can read: samples, then other inputs.
    pub fn frozen_inputs(&self) -> impl Iterator<Item = &FrozenFile> {
        self.samples.iter().chain(&self.input_files)
    }

    /// Whether what a run reads must not reach the model.
    #[must_use]
    pub fn has_private_data(&self) -> bool {
        self.exposure < Exposure::Rows && self.frozen_inputs().next().is_some()
    }

    /// Name under `/var/inputs` of a frozen sample or input: its own name with the ending of its file, because libraries look
    /// at the ending.
    #[must_use]
    pub fn mount_name(&self, input: &str) -> Option<String> {
        self.frozen_inputs()
            .find(|file| file.name == input)
            .map(mount_name)
    }

    /// What the sandbox mounts; `source` tells where a frozen file lies.
    pub fn mounts(&self, source: impl Fn(&FrozenFile) -> String) -> Vec<InputMount> {
        self.frozen_inputs()
            .map(|file| InputMount {
                name: file.name.clone(),
                file_name: mount_name(file),
                source: source(file),
            })
            .collect()
    }

    /// How the rehearsal calls the program: samples, defaults and examples.
    #[must_use]
    pub fn rehearsal(&self) -> Rehearsal {
        let mut args = Vec::new();
        for input in &self.inputs {
            let value = match input.type_ {
                ValueType::File | ValueType::Dir => self
                    .mount_name(&input.name)
                    .map(|file| format!("/var/inputs/{file}")),
                ValueType::String
                | ValueType::Int
                | ValueType::Float
                | ValueType::Bool
                | ValueType::Datetime
                | ValueType::Timedelta => input.default.clone().or_else(|| input.example.clone()),
            };
            let Some(value) = value else {
                return Rehearsal::Skip(format!(
                    "input {} has neither default, sample nor example: give one to have the program run before it is trusted",
                    input.name
                ));
            };
            args.extend(arguments(&input.name, &value));
        }
        Rehearsal::Run(args)
    }
}

/// An option with its value, as the command line of the program has them: two arguments, as the contract shows them. Behind a
/// space argparse takes a value that begins with a dash for an option of its own, so that one stands behind an equals sign.
pub(crate) fn arguments(name: &str, value: &str) -> Vec<String> {
    if value.starts_with('-') {
        vec![format!("--{name}={value}")]
    } else {
        vec![format!("--{name}"), value.to_owned()]
    }
}

/// Name under `/var/inputs` of a frozen file: that of its input with the ending of the file.
pub(super) fn mount_name(file: &FrozenFile) -> String {
    if file.is_dir {
        return file.name.clone();
    }
    match plain_ending(&file.file_name) {
        Some((stem, ending)) if ending.eq_ignore_ascii_case("gz") => match plain_ending(stem) {
            Some((_, inner)) => format!("{}.{inner}.{ending}", file.name),
            None => format!("{}.{ending}", file.name),
        },
        Some((_, ending)) if ending != file.name => format!("{}.{ending}", file.name),
        _ => file.name.clone(),
    }
}

/// Whether a file of this name holds text, compressed or not, as far as its ending tells.
pub(crate) fn is_text_file(name: &str) -> bool {
    const NO_TEXT: [&str; 12] = [
        "parquet", "xlsx", "xls", "xlsm", "ods", "feather", "arrow", "zip", "sqlite", "db", "bin", "pkl",
    ];
    let lower = name.to_ascii_lowercase();
    let inner = lower.strip_suffix(".gz").unwrap_or(&lower);
    !plain_ending(inner).is_some_and(|(_, ending)| NO_TEXT.contains(&ending))
}

/// Splits off an ending of letters and digits; what else follows a dot says nothing of a format.
fn plain_ending(file_name: &str) -> Option<(&str, &str)> {
    file_name.rsplit_once('.').filter(|(stem, ending)| {
        !stem.is_empty() && !ending.is_empty() && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}
