//! Runs a job in a Pod.

use super::KubernetesSandbox;
use crate::pipeline::sandbox::{Job, Report};
use crate::sandbox::{Progressing, SandboxError};

/// Runs a job in a Pod, or sees how far the one that runs it is.
pub(super) async fn run(
    _sandbox: &KubernetesSandbox<'_>,
    _image: &str,
    _job: &Job,
    _repeat: u32,
) -> Result<Progressing<Report>, SandboxError> {
    Ok(Progressing::Pending)
}
