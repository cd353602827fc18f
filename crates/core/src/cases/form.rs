//! Form of the files of cases: name, encoding and compression as the program finds them in a run.

use std::collections::{BTreeMap, BTreeSet};

use crate::mounts::{ending_of_text, is_text_file};
use crate::task::Task;
use codegen_api::case::CaseInput;
use codegen_api::values::{Input, ValueType};
use codegen_data::source::{Compression, Encoding};

/// The formats of a task's samples, by their names.
pub type Forms = BTreeMap<String, Form>;

/// The format of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// The encoding of its text; `None` where it is no text.
    pub encoding: Option<Encoding>,
    /// Compression of its bytes.
    pub compression: Option<Compression>,
}

/// A file that a case gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CaseFile {
    /// Its path below the inputs of the phase.
    pub(super) path: String,
    is_text: bool,
    compression: Option<Compression>,
    encoding: Encoding,
}

impl CaseFile {
    /// The file that `given` is; `None` where it names none.
    pub(super) fn of(task: &Task, forms: &Forms, input: &Input, given: &CaseInput) -> Option<Self> {
        let form = forms.get(&input.name).copied();
        let path = match (input.type_, split(&given.name).1) {
            (ValueType::Dir, Some(file)) => format!("{}/{file}", input.name),
            (ValueType::File, None) => file_name(task, input, &given.value),
            _ => return None,
        };
        let (is_text, compression) = packing(&path, form);
        Some(Self {
            is_text,
            compression,
            encoding: form.and_then(|form| form.encoding).unwrap_or(Encoding::Utf8),
            path,
        })
    }

    /// The bytes of the file with this text; the error says why it cannot hold it.
    pub(super) fn bytes(&self, text: &str) -> Result<Vec<u8>, String> {
        if !self.is_text {
            return Err("is a file that is no text: leave it out".to_owned());
        }
        let bytes = self.encoding.encode(text).map_err(|character| {
            let encoding = self.encoding.name();
            format!("cannot hold {character:?}: its sample is {encoding}, which has no such character")
        })?;
        // Writing to memory cannot fail.
        let packed = self.compression.and_then(|compression| {
            let name = Compression::of_name(&self.path).map_or(self.path.as_str(), |(stem, _)| stem);
            compression.pack(&bytes, name).ok()
        });
        Ok(packed.unwrap_or(bytes))
    }
}

/// A name, and the file in the folder of that name.
pub(super) fn split(name: &str) -> (&str, Option<&str>) {
    name.split_once('/')
        .map_or((name, None), |(name, file)| (name, Some(file)))
}

/// Name of the file of a `File` input: its own file, else what its name and description call it, else what a run makes of such a text.
fn file_name(task: &Task, input: &Input, text: &str) -> String {
    if let Some(name) = task.mount_name(&input.name) {
        return name;
    }
    let description = input.description.as_deref().unwrap_or_default();
    match ending_in_words(&format!("{} {description}", input.name)) {
        Some(ending) => format!("{}.{ending}", input.name),
        None => format!("{}{}", input.name, ending_of_text(text)),
    }
}

/// The ending of the one format that a text speaks of.
fn ending_in_words(text: &str) -> Option<String> {
    /// Words that are endings themselves, and others with theirs.
    const ENDINGS: [&str; 21] = [
        "csv", "tsv", "json", "jsonl", "ndjson", "geojson", "xml", "html", "yaml", "toml", "ini", "txt",
        "xlsx", "ods", "parquet", "sqlite", "pdf", "png", "jpg", "zip", "tar",
    ];
    const OTHERS: [(&str, &str); 3] = [("markdown", "md"), ("excel", "xlsx"), ("jpeg", "jpg")];
    let lower = text.to_lowercase();
    let lower = ["json lines", "json-lines"]
        .iter()
        .fold(lower, |text, words| text.replace(words, "jsonl"));
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).collect();
    let named = ENDINGS.map(|word| (word, word)).into_iter().chain(OTHERS);
    let endings: BTreeSet<&str> = named
        .filter(|(word, _)| words.contains(word))
        .map(|(_, ending)| ending)
        .collect();
    // One format and no other: a text that names two says nothing.
    let ending = endings.first().filter(|_| endings.len() == 1)?;
    let is_gzip = words
        .iter()
        .any(|word| matches!(*word, "gz" | "gzip" | "gzipped"));
    let packed = if is_gzip { ".gz" } else { "" };
    Some(format!("{ending}{packed}"))
}

/// Says if a file of this name holds text, and how that is compressed; the sample's own bytes say more than its name.
fn packing(path: &str, form: Option<Form>) -> (bool, Option<Compression>) {
    if let Some(form) = form {
        return (
            form.compression.is_some() || form.encoding.is_some(),
            form.compression,
        );
    }
    let lower = path.to_ascii_lowercase();
    match Compression::of_name(&lower) {
        // What an archive of that name holds, nobody has seen.
        Some((_, Compression::Zip)) | None => (is_text_file(&lower), None),
        Some((stem, compression)) => (is_text_file(stem), Some(compression)),
    }
}
