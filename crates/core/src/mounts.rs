//! Places of inputs and samples inside the sandbox, and how the program is called on them.

use codegen_api::common::Exposure;
use codegen_api::values::{Input, ValueType};
use codegen_data::source::Compression;

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

    /// Reports whether it refers to anything that may change: a sample, an input with a source, acceptance tests.
    #[must_use]
    pub fn has_sources(&self) -> bool {
        self.acceptance_tests.is_some() || self.frozen_inputs().next().is_some()
    }

    /// Reports whether the data of a run must not reach the model.
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

    /// Returns the mounts of the sandbox; `source` says where a frozen file lies.
    pub fn mounts(&self, source: impl Fn(&FrozenFile) -> String) -> Vec<InputMount> {
        self.frozen_inputs()
            .map(|file| InputMount {
                name: file.name.clone(),
                file_name: mount_name(file),
                source: source(file),
                content: Vec::new(),
            })
            .collect()
    }

    /// The value of an option that is not given: the path of its sample or source, its default or its example.
    pub(super) fn default_of(&self, input: &Input) -> Option<String> {
        match input.type_ {
            ValueType::File | ValueType::Dir => self
                .mount_name(&input.name)
                .map(|file| format!("/var/inputs/{file}")),
            ValueType::String
            | ValueType::Int
            | ValueType::Float
            | ValueType::Bool
            | ValueType::Datetime
            | ValueType::Timedelta => input.default.clone().or_else(|| input.example.clone()),
        }
    }

    /// Returns the rehearsal: the call of the program on samples, defaults and examples.
    #[must_use]
    pub fn rehearsal(&self) -> Rehearsal {
        let mut args = Vec::new();
        for input in &self.inputs {
            let Some(value) = self.default_of(input) else {
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
#[must_use]
pub fn arguments(name: &str, value: &str) -> Vec<String> {
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
        // Two endings, since pandas and others unpack by the last and choose a reader by the one before it.
        Some((stem, ending)) if Compression::of_name(&file.file_name).is_some() => match plain_ending(stem) {
            Some((_, inner)) => format!("{}.{inner}.{ending}", file.name),
            None => format!("{}.{ending}", file.name),
        },
        Some((_, ending)) if ending != file.name => format!("{}.{ending}", file.name),
        _ => file.name.clone(),
    }
}

/// Reports whether a file of this name holds text, compressed or not, by its ending.
pub(crate) fn is_text_file(name: &str) -> bool {
    /// Compressed, archives, images, sound and film, documents, data, programs.
    const NO_TEXT: [&[&str]; 7] = [
        &["bz2", "xz", "lzma", "lz4", "br", "sz", "snappy", "z"],
        &[
            "zip", "7z", "rar", "tar", "tgz", "tbz", "tbz2", "txz", "jar", "whl", "cab", "iso", "deb", "rpm",
        ],
        &[
            "png", "jpg", "jpeg", "gif", "bmp", "tif", "tiff", "webp", "ico", "heic", "avif", "psd",
        ],
        &[
            "mp3", "wav", "flac", "ogg", "m4a", "mp4", "mov", "avi", "mkv", "webm",
        ],
        &[
            "pdf", "doc", "docx", "ppt", "pptx", "xls", "xlsx", "xlsm", "xlsb", "ods", "odt", "epub",
        ],
        &[
            "parquet", "feather", "arrow", "orc", "avro", "h5", "hdf", "hdf5", "nc", "npy", "npz", "mat",
            "rds", "rdata", "sav", "dta", "sas7bdat", "xpt", "pkl", "pickle", "joblib", "sqlite", "sqlite3",
            "db", "duckdb", "mdb", "accdb", "msgpack", "bson", "cbor", "shp", "shx", "dbf", "gpkg",
        ],
        &[
            "bin", "exe", "dll", "so", "o", "pyc", "class", "wasm", "woff", "woff2", "ttf", "otf",
        ],
    ];
    let lower = name.to_ascii_lowercase();
    // Compressed text is text: what counts is the ending below.
    let inner = match Compression::of_name(&lower) {
        // An archive may hold anything.
        Some((_, Compression::Zip)) | None => &lower,
        Some((stem, _)) => stem,
    };
    !plain_ending(inner).is_some_and(|(_, ending)| NO_TEXT.iter().any(|kind| kind.contains(&ending)))
}

/// The ending that a text without a file name asks for.
#[must_use]
pub fn ending_of_text(text: &str) -> &'static str {
    let trimmed = text.trim_start();
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    if trimmed.starts_with(['{', '[']) {
        let is_value = |line: &str| serde_json::from_str::<serde_json::Value>(line).is_ok();
        if serde_json::from_str::<serde_json::Value>(trimmed).is_ok() {
            return ".json";
        }
        return if is_value(first) { ".jsonl" } else { ".txt" };
    }
    let second = lines.next();
    let same = |separator: char| {
        let count = first.matches(separator).count();
        count > 0 && second.is_none_or(|line| line.matches(separator).count() == count)
    };
    match () {
        () if same('\t') => ".tsv",
        () if same(',') => ".csv",
        () => ".txt",
    }
}

/// Splits off an ending of letters and digits; what else follows a dot says nothing of a format.
pub(crate) fn plain_ending(file_name: &str) -> Option<(&str, &str)> {
    // `data.2026-01 final` has a dot and no ending.
    file_name.rsplit_once('.').filter(|(stem, ending)| {
        !stem.is_empty() && !ending.is_empty() && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}
