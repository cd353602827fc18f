//! The command line that shows what a model would be told.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::values::Color;
use super::{ManifestArgs, NetworkArgs};
use codegen_api::common::Exposure;

/// Exit codes of `context`.
pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0    every sample was read
  1    a sample cannot be described: its content is damaged or too large
  2    a manifest, a path or the command line is wrong
  130  interrupted";

/// Examples of `context`.
pub(super) const EXAMPLES: &str = "\
Examples:
  # What a task would send of its samples, before anything is paid for
  kubectl-codegen context -k examples/penguins

  # Some files, with small distributions
  kubectl-codegen context --plot examples/multi-input/data/orders.csv examples/multi-input/data/customers.csv

  # What another program writes
  zcat orders.csv.gz | kubectl-codegen context -
  kubectl-codegen context <(sqlite3 -csv -header shop.db 'select * from orders')

  # As data: the profile of every column
  kubectl-codegen context -o json orders.csv | jq '.samples[].content'

  # The inferred schema as Pandera code
  kubectl-codegen context -o pandera orders.csv > schemas.py";

/// Options of `context`.
#[derive(Args, Debug)]
#[group(id = "looked_at", required = true, multiple = true, args = ["data", "files", "kustomize"])]
pub struct ContextArgs {
    /// Data files in the place of a task, a folder of them, or - for standard input. Each is a sample named after its file.
    #[arg(value_name = "FILE|FOLDER|-", value_hint = ValueHint::AnyPath, conflicts_with_all = ["files", "kustomize", "task", "samples", "inputs", "claims"])]
    pub data: Vec<PathBuf>,
    /// The tasks.
    #[command(flatten)]
    pub manifests: ManifestArgs,
    /// What is reached besides the public internet.
    #[command(flatten)]
    pub network: NetworkArgs,
    /// Most representative rows of a sample, in the place of the task's `maxSampleRows`. Default: 100.
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(i32).range(0..=10_000), help_heading = "Context")]
    pub max_sample_rows: Option<i32>,
    /// Most tokens of the context, estimated, in the place of the task's `limits.maxContextTokens`. Default: 4000.
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(i32).range(200..=1_000_000), help_heading = "Context")]
    pub max_context_tokens: Option<i32>,
    /// What of the samples the model may see, in the place of the task's `exposure`. Default: `Rows`.
    #[arg(long, value_name = "LEVEL", ignore_case = true, help_heading = "Context")]
    pub exposure: Option<ExposureArg>,
    /// What goes to stdout.
    #[arg(
        short = 'o',
        long = "format",
        value_name = "FORMAT",
        default_value = "text",
        help_heading = "Results"
    )]
    pub format: ContextFormat,
    /// Draw small distributions below the columns; they are for people and never sent.
    #[arg(long, help_heading = "Results")]
    pub plot: bool,
    /// Colours. `auto`: on a terminal, unless `NO_COLOR` is set.
    #[arg(long, value_name = "WHEN", default_value = "auto", help_heading = "Results")]
    pub color: Color,
}

/// What of the samples the model may see, in the words of a manifest.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
#[value(rename_all = "PascalCase")]
pub enum ExposureArg {
    /// Names, types and counts.
    SchemaOnly,
    /// Also ranges, averages and frequent values.
    Statistics,
    /// Also rows with letters and digits masked.
    RedactedRows,
    /// Also rows as they are.
    Rows,
}

impl From<ExposureArg> for Exposure {
    fn from(exposure: ExposureArg) -> Self {
        match exposure {
            ExposureArg::SchemaOnly => Self::SchemaOnly,
            ExposureArg::Statistics => Self::Statistics,
            ExposureArg::RedactedRows => Self::RedactedRows,
            ExposureArg::Rows => Self::Rows,
        }
    }
}

/// What `context` writes to stdout.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextFormat {
    /// The text as it stands in prompts.
    Text,
    /// Text, budget and the profile of every sample as one JSON document.
    Json,
    /// The same as one YAML document.
    Yaml,
    /// The inferred schemas as Python code for Pandera.
    Pandera,
}
