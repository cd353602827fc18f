//! Output of a run on the terminal: outputs on stdout, everything for people on stderr.

use std::fs::File;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use crate::cli::args::{OutputFormat, RunFormat};
use crate::cli::command::{CommandError, TASK_FAILED, document, fail, print_as_it_is, unprinted, warning};
use crate::cli::paint::{Mark, PaintedLine};
use crate::cli::progress::ProgressPrinter;
use crate::cli::table::columns;
use crate::cli::text::{MAX_COLUMNS, count, cut, with_line_end};
use codegen_api::CodeGenRun;
use codegen_api::run::Validation;
use codegen_api::run_status::{CodeGenRunStatus, RunOutputStatus, Severity};
use codegen_core::run::{OutputPlace, Stored, TypedOutput};

/// Widest column of names and types.
const WIDEST_NAME: usize = 40;

/// Place of the outputs of a run.
#[derive(Default)]
pub(super) struct Outputs {
    /// Files and folders that were written, by name.
    pub places: Vec<(String, PathBuf)>,
    /// An only output that is a file and was not written.
    pub only: Option<Only>,
}

/// The content of an output.
pub(super) enum Only {
    /// Its bytes.
    Bytes(Vec<u8>),
    /// Place of the file.
    File(PathBuf),
}

impl Only {
    /// The content of an output that is a file.
    pub(super) fn of(output: &TypedOutput) -> Option<Self> {
        match &output.stored {
            Some(Stored {
                place: OutputPlace::Disk(path),
                ..
            }) => Some(Self::File(path.clone())),
            Some(_) => None,
            None => output.files.first().map(|file| Self::Bytes(file.bytes.clone())),
        }
    }
}

/// Says how a run ended and prints what is asked for; gives the exit code.
pub(super) fn ended(
    progress: &ProgressPrinter,
    format: RunFormat,
    run: &CodeGenRun,
    outputs: &Outputs,
) -> Result<i32, CommandError> {
    progress.stop();
    let none = CodeGenRunStatus::default();
    let status = run.status.as_ref().unwrap_or(&none);
    for finding in status
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Warning)
    {
        progress.lines(&warning(&finding.sentence()));
    }
    if run.spec.validation == Some(Validation::Enforce) {
        for input in status.inputs.iter().filter(|input| input.unchecked) {
            progress.lines(&warning(&format!(
                "input {}: not checked: only files that do not lie on a claim are",
                input.name
            )));
        }
    }
    let has_succeeded = status.stage.as_deref() == Some("Succeeded");
    if let (RunFormat::Value, true, [only], Some(Only::File(path))) =
        (format, has_succeeded, status.outputs.as_slice(), &outputs.only)
        && only.value.is_none()
        // A screen of a million lines helps nobody: there its digest is printed.
        && !io::stdout().is_terminal()
    {
        return print_file(path).map(|()| 0).map_err(|error| unprinted(&error));
    }
    let text = match format {
        RunFormat::Table if has_succeeded => table(&status.outputs, outputs).into_bytes(),
        RunFormat::Value if has_succeeded => values(&status.outputs, outputs),
        RunFormat::Table | RunFormat::Value => Vec::new(),
        RunFormat::Json => whole(OutputFormat::Json, run),
        RunFormat::Yaml => whole(OutputFormat::Yaml, run),
    };
    print_as_it_is(&text)?;
    if has_succeeded {
        return Ok(0);
    }
    let message = status.message.as_deref().unwrap_or("the run did not succeed");
    fail(progress, &message, TASK_FAILED);
    let last = status.last_lines.as_deref().unwrap_or_default();
    let lines: Vec<PaintedLine> = last
        .lines()
        .map(|line| PaintedLine::new(Mark::Detail, indented(line)))
        .collect();
    progress.lines(&lines);
    Ok(TASK_FAILED)
}

/// Prints a file of any size as it is.
fn print_file(path: &Path) -> io::Result<()> {
    io::copy(&mut File::open(path)?, &mut io::stdout().lock())?;
    io::stdout().flush()
}

/// A line as it stands, but for what would move the cursor and for what is too wide.
fn indented(line: &str) -> String {
    let blanks = line.len() - line.trim_start_matches(' ').len();
    let blanks = blanks.min(MAX_COLUMNS / 2);
    format!("{:blanks$}{}", "", cut(line, MAX_COLUMNS - 2 - blanks))
}

fn whole(format: OutputFormat, run: &CodeGenRun) -> Vec<u8> {
    let mut run = run.clone();
    // Who wrote which field is of no use to anybody here.
    run.metadata.managed_fields = None;
    let value = serde_json::to_value(run).unwrap_or_default();
    document(format, vec![value], 1).unwrap_or_default().into_bytes()
}

/// One line an output, under a header.
fn table(written: &[RunOutputStatus], outputs: &Outputs) -> String {
    let row = |output: &RunOutputStatus| {
        vec![
            cut(&output.name, WIDEST_NAME),
            output.type_.to_string(),
            outputs.display_value(output),
        ]
    };
    let rows: Vec<Vec<String>> = written.iter().map(row).collect();
    columns(&["OUTPUT", "TYPE", "VALUE"], &rows)
}

/// Returns what scripts read.
fn values(written: &[RunOutputStatus], outputs: &Outputs) -> Vec<u8> {
    if let ([only], bytes) = (written, &outputs.only) {
        if let Some(value) = &only.value {
            return with_line_end(value).into_bytes();
        }
        if let Some(Only::Bytes(bytes)) = bytes {
            return bytes.clone();
        }
    }
    let lines = written.iter().map(|output| outputs.line(output) + "\n");
    lines.collect::<String>().into_bytes()
}

impl Outputs {
    fn place(&self, output: &RunOutputStatus) -> Option<&PathBuf> {
        let found = self.places.iter().find(|(name, _)| *name == output.name);
        found.map(|(_, place)| place)
    }

    /// One line of `-o value`: line breaks in a text are written as `\n`, a file is where it was written or lies on a claim, else its
    /// digest.
    pub(super) fn line(&self, output: &RunOutputStatus) -> String {
        match (&output.value, self.place(output)) {
            (Some(value), _) if value.contains(['\n', '\r']) => {
                let value = value.trim_end_matches(['\n', '\r']).replace('\\', "\\\\");
                value.replace('\n', "\\n").replace('\r', "\\r")
            }
            (Some(value), _) => value.clone(),
            (None, Some(place)) => place.display().to_string(),
            (None, None) => match &output.claim {
                Some(claim) => format!("{}:{}", claim.claim_name, claim.path),
                None => format!("sha256:{}", output.sha256),
            },
        }
    }

    /// A value for people.
    fn display_value(&self, output: &RunOutputStatus) -> String {
        if let Some(value) = &output.value {
            return cut(value, MAX_COLUMNS);
        }
        let size = count(u64::try_from(output.bytes).unwrap_or_default(), "byte");
        if let Some(place) = &output.claim {
            return format!("{size}, on the claim {}: {}", place.claim_name, place.path);
        }
        match self.place(output) {
            Some(place) => format!("{} ({size})", place.display()),
            None => format!("{size}, kept with --output-dir"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codegen_api::run_status::OutputOnClaim;
    use codegen_api::values::ValueType;

    fn output(name: &str, type_: ValueType, value: Option<&str>) -> RunOutputStatus {
        RunOutputStatus {
            name: name.into(),
            type_,
            value: value.map(str::to_owned),
            sha256: "ab12".into(),
            bytes: 4,
            file_name: format!("{name}.csv"),
            files: Vec::new(),
            claim: None,
        }
    }

    fn printed(written: &[RunOutputStatus], outputs: &Outputs) -> String {
        String::from_utf8(values(written, outputs)).unwrap()
    }

    fn in_folder() -> Outputs {
        Outputs {
            places: vec![("summary".to_owned(), PathBuf::from("out/summary.csv"))],
            only: None,
        }
    }

    #[test]
    fn an_only_value_is_bare_and_an_only_file_is_its_bytes() {
        let nowhere = Outputs::default();
        assert_eq!(
            printed(&[output("n", ValueType::Int, Some("3"))], &nowhere),
            "3\n"
        );
        assert_eq!(
            printed(&[output("text", ValueType::String, Some("a\nb\n"))], &nowhere),
            "a\nb\n"
        );
        let file = [output("summary", ValueType::File, None)];
        let bytes = Outputs {
            places: Vec::new(),
            only: Some(Only::Bytes(b"a,b".to_vec())),
        };
        assert_eq!(printed(&file, &bytes), "a,b");
        assert_eq!(printed(&file, &in_folder()), "out/summary.csv\n");
    }

    #[test]
    fn several_outputs_have_a_line_each_in_declared_order() {
        let outputs = [
            output("summary", ValueType::File, None),
            output("note", ValueType::String, Some("one\ntwo\\\n")),
            output("n", ValueType::Int, Some("3")),
        ];
        assert_eq!(
            printed(&outputs, &Outputs::default()),
            "sha256:ab12\none\\ntwo\\\\\n3\n"
        );
    }

    #[test]
    fn what_lies_on_a_claim_is_named_in_every_form() {
        let large = RunOutputStatus {
            claim: Some(OutputOnClaim {
                claim_name: "results".into(),
                path: "2027/a-1/summary.csv".into(),
                files: 1,
            }),
            ..output("summary", ValueType::File, None)
        };
        let outputs = [large];
        assert_eq!(
            printed(&outputs, &Outputs::default()),
            "results:2027/a-1/summary.csv\n"
        );
        let shown = table(&outputs, &Outputs::default());
        assert!(
            shown.contains("4 bytes, on the claim results: 2027/a-1/summary.csv"),
            "{shown}"
        );
    }

    #[test]
    fn a_table_says_where_files_went() {
        let outputs = [
            output("summary", ValueType::File, None),
            output("species", ValueType::Int, Some("3")),
        ];
        assert_eq!(
            table(&outputs, &in_folder()),
            "OUTPUT    TYPE   VALUE\nsummary   File   out/summary.csv (4 bytes)\nspecies   Int    3\n"
        );
    }
}
