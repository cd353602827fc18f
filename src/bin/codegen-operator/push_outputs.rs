//! `push-outputs`: pushes what a run wrote to a claim. A Pod that mounts its folder runs it, alone with the credentials.

use std::fs;
use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use codegen_registry::Credentials;
use codegen_sandbox::kubernetes::{CREDENTIALS_FILE, JOB_FILE, PushReport, PushRequest, send};
use codegen_sources::reading::pushing;

use crate::in_pod::{self, MESSAGE};

/// Push outputs on a claim for the operator, in a Pod that mounts them.
#[derive(Args)]
pub struct PushOutputs {
    /// The job.
    #[arg(long, value_name = "FILE", default_value = JOB_FILE)]
    job: PathBuf,
    /// Credentials, as a Secret of type kubernetes.io/dockerconfigjson holds them.
    #[arg(long, value_name = "FILE", default_value = CREDENTIALS_FILE)]
    credentials: PathBuf,
    /// Where the message about the report goes.
    #[arg(long, value_name = "FILE", default_value = MESSAGE)]
    message: PathBuf,
}

/// Pushes, and sends what came of it.
pub fn run(command: &PushOutputs) -> anyhow::Result<()> {
    // The error is that a provider is there already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (request, nonce) = in_pod::request::<PushRequest>(&command.job)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let report = match credentials(command, &request) {
        Ok(credentials) => runtime.block_on(pushing::push(&request, credentials)),
        Err(why) => PushReport::Unauthorized(why),
    };
    let sent = send(&serde_json::to_vec(&report)?, &nonce);
    let sent = sent.ok_or_else(|| anyhow!("the key of the message cannot be read"))?;
    in_pod::leave(&sent, &command.message)
}

fn credentials(command: &PushOutputs, request: &PushRequest) -> Result<Credentials, String> {
    if !request.has_credentials {
        return Ok(Credentials::default());
    }
    let file = &command.credentials;
    let bytes = fs::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    Credentials::from_docker_config(&bytes).map_err(|error| error.to_string())
}
