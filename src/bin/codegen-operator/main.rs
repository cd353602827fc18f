//! The operator.

mod in_pod;
mod probe;
mod push_layout;
mod read_sources;
mod ready;
mod run;
mod serve_replies;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, Subcommand};
use codegen_data::worker;
use codegen_operator::controller::config::OperatorConfig;

/// Turns prompts, sample data and typed outputs into tested Python programs, on Kubernetes.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print the CustomResourceDefinitions as one YAML stream, for `kubectl apply -f -`.
    Crds {
        /// Write one file a definition into this folder instead.
        #[arg(long, value_name = "FOLDER")]
        output: Option<PathBuf>,
    },
    /// Print the JSON schema of the configuration file, for editors and charts.
    ConfigSchema,
    Run(run::Run),
    PushLayout(push_layout::PushLayout),
    ServeReplies(serve_replies::ServeReplies),
    Probe(probe::Probe),
    Ready(ready::Ready),
    /// Read data for the operator: requests on standard input, answers on standard output.
    #[command(hide = true)]
    Worker,
    /// Read samples and inputs on claims for the operator, in a Pod that mounts them.
    #[command(hide = true)]
    ReadSources,
    /// Copy the program that installs packages, which lies beside this one, to where a build runs it.
    #[command(hide = true)]
    LayOutInstaller {
        /// The file to write.
        target: PathBuf,
    },
}

fn main() -> anyhow::Result<ExitCode> {
    match Cli::parse().command {
        Command::Crds { output: Some(folder) } => write_crds(&folder)?,
        Command::Crds { output: None } => print_crds()?,
        Command::ConfigSchema => print_config_schema()?,
        Command::Run(command) => return run::run(command),
        Command::PushLayout(command) => return push_layout::run(&command),
        Command::ServeReplies(command) => serve_replies::run(&command)?,
        Command::Probe(command) => probe::run(&command)?,
        Command::Ready(command) => return ready::run(&command),
        Command::ReadSources => read_sources::run()?,
        Command::LayOutInstaller { target } => lay_out_installer(&target)?,
        Command::Worker => worker::serve(io::stdin().lock(), io::stdout().lock())
            .context("the worker lost the operator that it reads for")?,
    }
    Ok(ExitCode::SUCCESS)
}

fn lay_out_installer(target: &std::path::Path) -> anyhow::Result<()> {
    let uv = std::env::current_exe()?.with_file_name("uv");
    std::fs::copy(&uv, target)
        .with_context(|| format!("failed to copy {} to {}", uv.display(), target.display()))?;
    Ok(())
}

fn print_crds() -> anyhow::Result<()> {
    print(&codegen_api::crds_yaml().map_err(anyhow::Error::msg)?)
}

fn print_config_schema() -> anyhow::Result<()> {
    print(&format!("{:#}\n", OperatorConfig::schema().to_value()))
}

/// Prints `text`; its reader may stop reading.
fn print(text: &str) -> anyhow::Result<()> {
    // `codegen-operator crds | head` is no failure.
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context("failed to write to standard output"),
    }
}

fn write_crds(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("failed to make the folder {}", folder.display()))?;
    for crd in codegen_api::crds() {
        let file = folder.join(format!("{}.yaml", crd.spec.names.plural));
        let yaml = codegen_api::crd::crd_yaml(&crd).map_err(anyhow::Error::msg)?;
        std::fs::write(&file, yaml).with_context(|| format!("failed to write {}", file.display()))?;
    }
    Ok(())
}
