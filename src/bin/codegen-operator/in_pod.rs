//! Common parts of the subcommands that run in Pods of the operator: the job that they are given, and the report that they leave.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use anyhow::{Context as _, bail};
use codegen_sandbox::kubernetes::{JOB_KEY, JOB_SHA256, NONCE, SentReport, decrypt_job};
use serde::de::DeserializeOwned;

/// File that the node passes on to the API server when the container ends.
pub const MESSAGE: &str = "/dev/termination-log";

/// The request that lies encrypted in `file`, and the key that its report is signed with.
pub fn request<T: DeserializeOwned>(file: &Path) -> anyhow::Result<(T, String)> {
    let variable = |name| std::env::var(name).context("this is started by the operator, in a Pod");
    let (nonce, key, sha256) = (variable(NONCE)?, variable(JOB_KEY)?, variable(JOB_SHA256)?);
    let request = fs::read(file).with_context(|| format!("failed to read {}", file.display()))?;
    // Others may write the object that is mounted here.
    let Some(request) = decrypt_job(&request, &key, &sha256) else {
        bail!(
            "{} is not what the operator wrote: somebody has replaced the Secret that is mounted there",
            file.display()
        );
    };
    let request = serde_json::from_slice(&request).context("the request cannot be read")?;
    Ok((request, nonce))
}

/// Leaves a report.
pub fn leave(sent: &SentReport, message: &Path) -> anyhow::Result<()> {
    let mut log = io::stdout().lock();
    // The log before the message: the message announces what must be complete by then.
    log.write_all(sent.log.as_bytes())?;
    log.flush()?;
    fs::write(message, &sent.message).with_context(|| format!("failed to write {}", message.display()))
}
