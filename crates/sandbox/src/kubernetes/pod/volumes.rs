//! Mounts of a Pod of a run besides its inputs. Pure.

use k8s_openapi::api::core::v1::{PodSpec, Volume, VolumeMount};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::super::manifest::{claim_volume, containers, mount, remove_volume};
use super::execution::{ClaimMount, Execution, PodProgram};
use super::inputs::{self, OUTPUTS};
use crate::{SandboxError, harness};

/// Folder in which the checker finds the outputs.
pub(super) const OUTPUTS_CHECKED: &str = OUTPUTS;

impl Execution<'_> {
    /// Sets the volumes and mounts of the program: claims, the job, what it writes to, inputs.
    pub(super) fn fill_volumes(&self, spec: &mut PodSpec) -> Result<(), SandboxError> {
        // It is the claim's folder then, and mounted beside the inputs.
        if self.outputs.is_some() {
            remove_volume(spec, "outputs");
        }
        if !self.job.has_own_inputs() {
            remove_volume(spec, "own-inputs");
        }
        let (claims, written) = match self.program {
            PodProgram::Harness => (&[][..], self.outputs),
            PodProgram::Reader(claims) => (claims.as_slice(), None),
        };
        let places = inputs::places(self.job, self.inputs, self.name);
        let (inputs, input_mounts) =
            inputs::volumes(&self.job.inputs, self.job.has_own_inputs(), &places, written)?;
        let (claims, claim_mounts) = claim_volumes(claims);
        let volumes = spec.volumes.get_or_insert_default();
        for volume in volumes.iter_mut() {
            self.fill_volume(volume);
        }
        volumes.splice(0..0, claims);
        volumes.extend(inputs);
        // The program is the first container, and the checker mounts none of these.
        let program = containers(spec).next();
        let mounts = program.map(|program| program.volume_mounts.get_or_insert_default());
        if let Some(mounts) = mounts {
            mounts.splice(0..0, claim_mounts);
            mounts.extend(input_mounts);
        }
        Ok(())
    }

    fn fill_volume(&self, volume: &mut Volume) {
        if let Some(harness) = &mut volume.config_map {
            harness.name = harness_name();
        }
        if let Some(scratch) = &mut volume.empty_dir {
            scratch.size_limit = Some(bytes(self.job.limits.memory_bytes));
            if self.check.is_some() && volume.name == "outputs" {
                scratch.medium = None;
                scratch.size_limit = Some(bytes(self.volume_bytes()));
            }
        }
        if let Some(secret) = volume
            .secret
            .as_mut()
            .filter(|secret| secret.secret_name.is_none())
        {
            secret.secret_name = Some(self.name.to_owned());
        }
    }
}

/// Each claim, in the order of their folders.
fn claim_volumes(claims: &[ClaimMount]) -> (Vec<Volume>, Vec<VolumeMount>) {
    let volume = |(number, ClaimMount { claim, folder }): (usize, &ClaimMount)| {
        let name = format!("claim-{number}");
        let mount = mount(&name, claim_folder(number), folder.clone(), true);
        (claim_volume(name, claim, None), mount)
    };
    claims.iter().enumerate().map(volume).unzip()
}

/// Returns the folder in which a reader finds its claim of this number.
pub(super) fn claim_folder(number: usize) -> String {
    format!("/claims/{number}")
}

/// Name of the harness of this version.
pub(super) fn harness_name() -> String {
    format!("codegen-harness-{}", &harness::version()[..10])
}

/// A quantity of bytes, as people write it.
pub(super) fn bytes(amount: u64) -> Quantity {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")];
    // Only units that divide it: a rounded limit would be another limit.
    let unit = UNITS
        .iter()
        .find(|(size, _)| amount > 0 && amount.is_multiple_of(*size));
    Quantity(unit.map_or_else(
        || amount.to_string(),
        |(size, name)| format!("{}{name}", amount / size),
    ))
}
