//! The command line that writes a task from a sentence and data.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::values::Color;
use super::{ExposureArg, GateArg, ModelArgs, OutputFormat};
use crate::local::draft::DraftInput;
use codegen_api::type_name::TypeName;
use codegen_api::values::Output;

/// Exit codes of `new`.
pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0    the folder is written; with --run the task succeeded, too
  1    nothing was written: the model cannot be reached or proposes nothing usable, or its proposal was declined; with --run also
       as `local` ends
  2    a file or the command line is wrong, or something lies in the folder already; nothing was written
  3    with --run: this machine cannot isolate programs
  130  interrupted";

/// Examples of `new`.
pub(super) const EXAMPLES: &str = "\
Examples:
  # A folder with a task and its data, for `local -k`, `kubectl apply -k` and git
  kubectl-codegen new 'per species write count and mean body mass' --sample penguins.csv --output summary:CSV

  # From a sentence to a tested program
  kubectl-codegen new 'per species write count and mean body mass' --sample penguins.csv --output summary:CSV --run

  # The model proposes the outputs; they are shown, and nothing is written before you say yes
  kubectl-codegen new 'per species write count and mean body mass' --sample penguins.csv

  # More of what a task may say
  kubectl-codegen new 'revenue of each month in EUR' --name revenue -o tasks/revenue \\
    --sample orders=exports/orders-2026.csv --sample rates.csv --input decimals:Int=2 \\
    --output 'revenue:CSV=one row per month, with the columns month and revenue' --output total:Float \\
    --constraint 'amount is greater than 0' --accept test_revenue.py";

/// Options of `new`.
#[derive(Args, Debug)]
#[command(next_help_heading = "Task")]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub struct NewArgs {
    /// What the program shall do, in a sentence or more.
    #[arg(value_name = "PROMPT")]
    pub prompt: String,
    /// A file of sample data, named after the file where no name is given: the model learns of it, and it is an option of the
    /// program. One of more than 1 MiB, which no ConfigMap holds, lies on a claim in a cluster. May be repeated.
    #[arg(long = "sample", value_name = "[NAME=]FILE", value_hint = ValueHint::FilePath)]
    pub samples: Vec<PathBuf>,
    /// A further option of the program: String, Int, Float, Bool, File or Dir, with its default; of a File that is the path of
    /// one. May be repeated.
    #[arg(long = "input", value_name = "NAME:TYPE[=DEFAULT]", value_parser = input)]
    pub inputs: Vec<DraftInput>,
    /// What the program writes: String, Int, Float, Bool, Datetime, Timedelta, Dir, File, or a File's format (`CSV`, `TSV`,
    /// `JSON`, `JSONLines`, `Parquet`, `Excel`, `Arrow`, `Text`, `Binary`), and what it means. May be repeated. Default: the model proposes outputs.
    #[arg(long = "output", value_name = "NAME:TYPE[=MEANING]", value_parser = output)]
    pub outputs: Vec<Output>,
    /// A rule that the data must keep, one sentence. May be repeated.
    #[arg(long = "constraint", value_name = "TEXT")]
    pub constraints: Vec<String>,
    /// Tests of yours that the program must pass and that no model sees: a pytest file whose tests run it by the fixture `program`.
    #[arg(long = "accept", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub acceptance_tests: Option<PathBuf>,
    /// What of the samples the model may see. Default: `Rows`.
    #[arg(long, value_name = "LEVEL", ignore_case = true)]
    pub exposure: Option<ExposureArg>,
    /// Name of the task. Default: the first words of the prompt.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// The folder that is written. Default: the task's name.
    #[arg(short = 'o', long, value_name = "FOLDER", value_hint = ValueHint::DirPath, help_heading = "Folder")]
    pub folder: Option<PathBuf>,
    /// Replace files that lie there already.
    #[arg(long, help_heading = "Folder")]
    pub force: bool,
    /// Take the outputs that the model proposes without being asked.
    #[arg(short, long, help_heading = "Folder")]
    pub yes: bool,
    /// The model, what is sent to it and what is replayed instead.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Run the task then, as `local -k FOLDER` does.
    #[arg(long, help_heading = "Run")]
    pub run: bool,
    /// Folder of the results. Default: codegen-out/<task name>.
    #[arg(long, value_name = "FOLDER", requires = "run", value_hint = ValueHint::DirPath, help_heading = "Run")]
    pub results: Option<PathBuf>,
    /// Start over: what an earlier run left is moved aside, and its recorded replies are not used.
    #[arg(long, requires = "run", help_heading = "Run")]
    pub fresh: bool,
    /// Gates that are passed whatever they show, where the folder's task has approvals (Plan,Packages).
    #[arg(
        long,
        value_name = "GATES",
        value_delimiter = ',',
        ignore_case = true,
        requires = "run",
        help_heading = "Run"
    )]
    pub approve: Vec<GateArg>,
    /// What goes to stdout: a summary for people, or the task with its status.
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "text",
        requires = "run",
        help_heading = "Run"
    )]
    pub format: OutputFormat,
    /// Show more: -v what is decided, -vv everything.
    #[arg(short, long, action = clap::ArgAction::Count, help_heading = "Run")]
    pub verbose: u8,
    /// Colours on stderr. `auto`: on a terminal, unless `NO_COLOR` is set.
    #[arg(long, value_name = "WHEN", default_value = "auto", help_heading = "Run")]
    pub color: Color,
}

fn input(text: &str) -> Result<DraftInput, String> {
    let (name, type_, value) = declared(text, "decimals:Int=1")?;
    match type_.in_manifest() {
        (type_, None) => Ok(DraftInput { name, type_, value }),
        (_, Some(_)) => Err(format!("an input has no format: write {name}:File")),
    }
}

fn output(text: &str) -> Result<Output, String> {
    let (name, type_, description) = declared(text, "summary:CSV")?;
    let (type_, format) = type_.in_manifest();
    Ok(Output {
        name,
        type_,
        format,
        description,
    })
}

/// `NAME:TYPE` or `NAME:TYPE=TEXT`.
fn declared(text: &str, example: &str) -> Result<(String, TypeName, Option<String>), String> {
    let (declared, more) = match text.split_once('=') {
        Some((declared, more)) => (declared, Some(more.to_owned())),
        None => (text, None),
    };
    let Some((name, type_)) = declared.split_once(':').filter(|(name, _)| !name.is_empty()) else {
        return Err(format!("write its name and its type, for example {example}"));
    };
    Ok((name.to_owned(), type_.parse()?, more))
}

#[cfg(test)]
mod tests {
    use super::*;
    use codegen_api::values::{FileFormat, ValueType};

    #[test]
    fn an_output_is_a_name_a_type_and_what_it_means() {
        let read = output("summary:csv=one row: a=b").unwrap();
        assert_eq!((read.name.as_str(), read.type_), ("summary", ValueType::File));
        assert_eq!(read.format, Some(FileFormat::CSV));
        assert_eq!(read.description.as_deref(), Some("one row: a=b"));
    }

    #[test]
    fn every_type_that_an_output_may_have_is_named_by_the_help() {
        let mut command = <crate::cli::args::Cli as clap::CommandFactory>::command();
        let help = command
            .find_subcommand_mut("new")
            .unwrap()
            .render_long_help()
            .to_string();
        for word in TypeName::words() {
            assert_eq!(output(&format!("x:{word}")).unwrap().name, "x");
            assert!(help.contains(word), "{word}");
        }
    }

    #[test]
    fn an_input_is_a_name_a_type_and_a_default() {
        let read = input("decimals:Int=1").unwrap();
        assert_eq!((read.type_, read.value), (ValueType::Int, Some("1".to_owned())));
        assert_eq!(input("title:String=").unwrap().value, Some(String::new()));
        assert_eq!(input("title:String").unwrap().value, None);
    }

    #[test]
    fn what_cannot_be_read_says_what_to_write() {
        assert_eq!(
            input("rates:CSV").unwrap_err(),
            "an input has no format: write rates:File"
        );
        assert_eq!(
            output("summary").unwrap_err(),
            "write its name and its type, for example summary:CSV"
        );
        let error = output("summary:Dataframe").unwrap_err();
        assert!(
            error.starts_with("\"Dataframe\" is no type: write one of String, Int, "),
            "{error}"
        );
        assert!(output(":CSV").is_err());
    }
}
