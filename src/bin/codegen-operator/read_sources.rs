//! `read-sources`: reads what a task has on claims. A Pod that mounts them runs it.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use codegen_data::worker::WorkerClient;
use codegen_sandbox::kubernetes::{JOB_FILE, ReadReport, ReadRequest, SentReport, send};
use codegen_sources::reading;

use crate::in_pod::{self, MESSAGE};

/// Reads, and sends what was found.
pub fn run() -> anyhow::Result<()> {
    let (request, nonce) = in_pod::request::<ReadRequest>(Path::new(JOB_FILE))?;
    let program = std::env::current_exe().context("cannot find this program")?;
    let worker = WorkerClient::new(&program, ["worker"]);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    // What is read may be hostile: a child with limits of its own reads it.
    let report = runtime.block_on(reading::read(&request, &worker));
    let sent = send(&serde_json::to_vec(&report)?, &nonce).map_or_else(too_long(&nonce), Ok)?;
    in_pod::leave(&sent, Path::new(MESSAGE))
}

/// Says instead of a report that it is too long to be sent.
fn too_long(nonce: &str) -> impl FnOnce() -> anyhow::Result<SentReport> {
    move || {
        let why = "the description of the samples is too long to be sent: lower maxSampleRows, or give fewer samples";
        let report = serde_json::to_vec(&ReadReport::Refused(why.to_owned()))?;
        send(&report, nonce).ok_or_else(|| anyhow!("the key of the message cannot be read"))
    }
}
