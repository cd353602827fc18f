//! `probe`: what runs in the Pods that show whether the cluster isolates sandboxes.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use codegen_sandbox::kubernetes::isolation::prober::{self, Hoped};

/// Knock at targets and say which answered, or listen.
#[derive(Args)]
#[command(hide = true)]
pub struct Probe {
    /// Listen on this port until the end of the process, and knock nowhere.
    #[arg(long, value_name = "PORT", conflicts_with_all = ["targets", "hoping_for"])]
    listen: Option<u16>,
    /// What ends the knocking early: an answer for a control, silence for a canary.
    #[arg(long, value_name = "END", default_value = "silence")]
    hoping_for: HopingFor,
    /// Where the finding is written.
    #[arg(long, value_name = "FILE", default_value = prober::LAST_WORDS)]
    output: PathBuf,
    /// What to knock at: `NAME=HOST:PORT`.
    #[arg(value_name = "TARGET", value_parser = target)]
    targets: Vec<(String, String)>,
}

#[derive(ValueEnum, Clone, Copy)]
enum HopingFor {
    Answer,
    Silence,
}

/// Listens, or knocks once at all targets.
pub fn run(command: &Probe) -> anyhow::Result<()> {
    if let Some(port) = command.listen {
        return prober::listen(port).with_context(|| format!("cannot listen on port {port}"));
    }
    let hoped = match command.hoping_for {
        HopingFor::Answer => Hoped::Answer,
        HopingFor::Silence => Hoped::Silence,
    };
    let found = prober::probe(&command.targets, hoped);
    prober::write_report(&found, &command.output)
        .with_context(|| format!("failed to write {}", command.output.display()))
}

fn target(text: &str) -> Result<(String, String), String> {
    let (name, address) = text.split_once('=').ok_or("write it as NAME=HOST:PORT")?;
    Ok((name.to_owned(), address.to_owned()))
}
