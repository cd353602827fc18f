//! The operator.

use std::io::{self, Write};

use anyhow::Context;
use clap::{Parser, Subcommand};

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
    Crds,
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Crds => {
            let yaml = codegen_operator::api::crds_yaml().map_err(anyhow::Error::msg)?;
            match io::stdout().lock().write_all(yaml.as_bytes()) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                written => written.context("failed to write the definitions to standard output"),
            }
        }
    }
}
