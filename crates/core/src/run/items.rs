//! A run over many files: an item for each, a line about each item, and one table of what the program made of all.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::code_mode::run_result;
use codegen_api::CodeGenRunStatus;
use codegen_api::run_status::{Finding, RunOutputStatus, Severity};
use codegen_api::values::{Output, ValueType};

/// Name of the file with a line about each item.
pub const LINES: &str = "items.jsonl";
/// Name of the file with the values of all items, as CSV.
pub const TABLE: &str = "items.csv";
/// Most bytes of an item's name, besides a number.
const LONGEST_NAME: usize = 200;
/// Columns of the table before those of the values.
const COLUMNS: [&str; 5] = ["item", "file", "outcome", "reason", "seconds"];

/// A line about an item.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct ItemRecord {
    /// Name of the item, and of the folder with its files.
    pub item: String,
    /// Path of the file, as the pattern found it.
    pub file: String,
    /// SHA-256 of the file, hex; none where it could not be read.
    pub sha256: Option<String>,
    /// Hash of what decides the outputs: program, environment, inputs, and what is done about broken rules. None where nothing ran.
    pub key: Option<String>,
    /// `Succeeded` or `Failed`.
    pub outcome: String,
    /// Cause of the outcome in one word, as a run has it.
    pub reason: String,
    /// Sentence for a person, where it failed.
    pub message: Option<String>,
    /// Rules that its data breaks without failing for it.
    pub warnings: Vec<String>,
    /// Outputs that are values, by name.
    pub values: Map<String, Value>,
    /// Wall time, checks of the data included.
    pub seconds: f64,
    /// All outputs, in declared order.
    pub outputs: Vec<RunOutputStatus>,
}

impl ItemRecord {
    /// A line about an item that nothing ran for.
    #[must_use]
    pub fn not_run(item: &str, file: &str, message: String) -> Self {
        Self {
            item: item.to_owned(),
            file: file.to_owned(),
            outcome: "Failed".to_owned(),
            reason: "NotRun".to_owned(),
            message: Some(message),
            ..Self::default()
        }
    }

    /// The line about an item whose run has this status, `input` being the one that differs between items.
    #[must_use]
    pub fn ended((item, file): (&str, &str), input: &str, key: String, status: CodeGenRunStatus) -> Self {
        let is_value = |output: &&RunOutputStatus| output.value.is_some();
        let values: Vec<_> = status.outputs.iter().filter(is_value).cloned().collect();
        let given = status.inputs.into_iter().find(|given| given.name == input);
        let warnings = status.findings.iter();
        let warnings = warnings.filter(|finding| finding.severity == Severity::Warning);
        let seconds = match (status.started_at, status.completed_at) {
            (Some(start), Some(end)) => end.0.duration_since(start.0).as_secs_f64(),
            _ => 0.0,
        };
        Self {
            item: item.to_owned(),
            file: file.to_owned(),
            sha256: given.and_then(|given| given.sha256),
            key: Some(key),
            outcome: status.stage.unwrap_or_default(),
            reason: status.reason.unwrap_or_default(),
            message: status.message,
            warnings: warnings.map(Finding::sentence).collect(),
            values: match run_result(item, &values, |_| None) {
                Value::Object(values) => values,
                _ => Map::new(),
            },
            seconds: (seconds * 1000.0).round() / 1000.0,
            outputs: status.outputs,
        }
    }

    /// Reports whether the item succeeded.
    #[must_use]
    pub fn has_succeeded(&self) -> bool {
        self.outcome == "Succeeded"
    }
}

/// Names of the items of these files, each a file name of its own: the stem; where an earlier file has it, with the folder before it; and
/// with a number where another has that too.
#[must_use]
pub fn item_names(files: &[PathBuf]) -> Vec<String> {
    let mut taken = BTreeSet::from([LINES.to_owned(), TABLE.to_owned()]);
    let mut unique = |file: &PathBuf| {
        let part = |name: Option<&OsStr>| name.unwrap_or_default().to_string_lossy().into_owned();
        let stem = part(file.file_stem());
        let folder = part(file.parent().and_then(Path::file_name));
        let longer = plain(&format!("{folder}-{stem}"));
        let numbered = (2_u64..).map(|number| format!("{longer}-{number}"));
        let mut names = [plain(&stem), longer.clone()].into_iter().chain(numbered);
        // Some file systems take an upper case letter for its lower case.
        names
            .find(|name| taken.insert(name.to_lowercase()))
            .unwrap_or_default()
    };
    files.iter().map(&mut unique).collect()
}

/// A text as a file name that needs no quotes in a shell and is not hidden.
fn plain(text: &str) -> String {
    let allowed = |char: char| char.is_alphanumeric() || "._-".contains(char);
    let name = text.replace(|char| !allowed(char), "-");
    let name = name.trim_start_matches(['.', '-']);
    match &name[..name.floor_char_boundary(LONGEST_NAME)] {
        "" => "item".to_owned(),
        name => name.to_owned(),
    }
}

/// One row for each item, with the values that the program declares, as CSV.
#[must_use]
pub fn items_table(declared: &[Output], records: &[ItemRecord]) -> Vec<u8> {
    let is_value = |output: &&Output| !matches!(output.type_, ValueType::File | ValueType::Dir);
    let names = declared.iter().filter(is_value).map(|output| &output.name);
    let header = COLUMNS
        .iter()
        .map(ToString::to_string)
        .chain(names.clone().cloned());
    let mut table = csv::Writer::from_writer(Vec::new());
    // Memory takes every row.
    let _ = table.write_record(header);
    for record in records {
        let fixed = [&record.item, &record.file, &record.outcome, &record.reason];
        let values = names.clone().map(|name| match record.values.get(name) {
            None => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
        });
        let seconds = std::iter::once(record.seconds.to_string());
        let _ = table.write_record(fixed.into_iter().cloned().chain(seconds).chain(values));
    }
    table.into_inner().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use codegen_api::values::FileFormat;
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::stems(&["data/a.csv", "data/b.csv"], &["a", "b"])]
    #[case::two_folders_with_a_stem(
        &["data/berlin/may.csv", "data/bonn/may.csv", "data/bonn/june.csv"], &["may", "bonn-may", "june"]
    )]
    #[case::two_endings(&["data/a.csv", "data/a.tsv", "data/a.txt"], &["a", "data-a", "data-a-2"])]
    #[case::a_number_that_is_a_stem(&["x.csv", "a/x.csv", "a/x.tsv", "a-x-2.csv"], &["x", "a-x", "a-x-2", "a-x-2-2"])]
    #[case::names_of_the_records(&["a/items.jsonl.gz", "a/items.csv.gz"], &["a-items.jsonl", "a-items.csv"])]
    #[case::upper_and_lower_case(&["a/May.csv", "a/may.csv"], &["May", "a-may"])]
    #[case::odd_names(
        &["../..csv", ".hidden", "-rf.csv", "a b;c.csv", "M\u{e4}rz.csv", "\u{1b}[2J.csv"],
        &["item", "hidden", "rf", "a-b-c", "M\u{e4}rz", "2J"]
    )]
    fn every_file_has_a_name_of_its_own(#[case] files: &[&str], #[case] expected: &[&str]) {
        let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        assert_eq!(item_names(&files), expected);
    }

    #[test]
    fn a_name_is_cut_to_what_a_file_system_takes() {
        let long = "\u{e4}".repeat(126);
        let names = item_names(&[format!("a/{long}.csv").into(), format!("b/{long}.csv").into()]);
        assert!(names.iter().all(|name| name.len() < 255), "{names:?}");
        assert_ne!(names[0], names[1]);
    }

    #[test]
    fn the_table_has_a_row_an_item_and_a_column_a_value() {
        let output = |name: &str, type_, format| Output {
            name: name.to_owned(),
            type_,
            format,
            description: None,
        };
        let declared = [
            output("summary", ValueType::File, Some(FileFormat::CSV)),
            output("species", ValueType::Int, None),
            output("note", ValueType::String, None),
        ];
        let values = json!({"species": 3, "note": "one, \"two\"\nthree"});
        let good = ItemRecord {
            outcome: "Succeeded".to_owned(),
            reason: "ProgramSucceeded".to_owned(),
            values: values.as_object().unwrap().clone(),
            seconds: 0.25,
            ..ItemRecord::not_run("a", "data/a.csv", String::new())
        };
        let bad = ItemRecord::not_run("b", "data/b.csv", "cannot read it".to_owned());
        assert_eq!(
            String::from_utf8_lossy(&items_table(&declared, &[good, bad])),
            "item,file,outcome,reason,seconds,species,note\n\
             a,data/a.csv,Succeeded,ProgramSucceeded,0.25,3,\"one, \"\"two\"\"\nthree\"\n\
             b,data/b.csv,Failed,NotRun,0,,\n"
        );
    }
}
