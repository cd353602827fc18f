//! `read-sources`: reads what a task has on claims. A Pod that mounts them runs it.

use std::fs;
use std::io::{self, Write as _};

use anyhow::{Context as _, anyhow, bail};
use codegen_operator::data::worker::Client;
use codegen_operator::sandbox::kubernetes::{
    JOB_FILE, JOB_KEY, JOB_SHA256, NONCE, ReadReport, ReadRequest, decrypt_job, send,
};
use codegen_operator::sources::reading;

/// What the node hands to the API server when the container ends.
const MESSAGE: &str = "/dev/termination-log";

/// Reads, and sends what was found.
pub fn run() -> anyhow::Result<()> {
    let variable = |name| std::env::var(name).context("this is started by the operator, in a Pod");
    let (nonce, key, sha256) = (variable(NONCE)?, variable(JOB_KEY)?, variable(JOB_SHA256)?);
    let request = fs::read(JOB_FILE).with_context(|| format!("failed to read {JOB_FILE}"))?;
    // Others may write the object that is mounted here.
    let Some(request) = decrypt_job(&request, &key, &sha256) else {
        bail!(
            "{JOB_FILE} is not what the operator wrote: somebody has replaced the Secret that is mounted there"
        );
    };
    let request: ReadRequest = serde_json::from_slice(&request).context("the request cannot be read")?;
    let program = std::env::current_exe().context("cannot find this program")?;
    let worker = Client::new(&program, ["worker"]);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    // What is read may be hostile: a child with limits of its own reads it.
    let report = runtime.block_on(reading::read(&request, &worker));
    let sent = send(&serde_json::to_vec(&report)?, &nonce).map_or_else(too_long(&nonce), Ok)?;
    let mut log = io::stdout().lock();
    // The log before the message: the message announces what must be complete by then.
    log.write_all(sent.log.as_bytes())?;
    log.flush()?;
    fs::write(MESSAGE, sent.message).with_context(|| format!("failed to write {MESSAGE}"))
}

/// Says instead of a report that it is too long to be sent.
fn too_long(nonce: &str) -> impl FnOnce() -> anyhow::Result<codegen_operator::sandbox::kubernetes::Sent> {
    move || {
        let why = "the description of the samples is too long to be sent: lower maxSampleRows, or give fewer samples";
        let report = serde_json::to_vec(&ReadReport::Refused(why.to_owned()))?;
        send(&report, nonce).ok_or_else(|| anyhow!("the key of the message cannot be read"))
    }
}
