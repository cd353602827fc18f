//! Builds an image, or finds the one that is there.

use super::KubernetesSandbox;
use crate::sandbox::{Built, ImageSpec, Progressing, SandboxError};

/// Builds an image, or finds the one that is there.
pub(super) async fn build(
    _sandbox: &KubernetesSandbox<'_>,
    _spec: &ImageSpec,
) -> Result<Progressing<Built>, SandboxError> {
    Ok(Progressing::Pending)
}
