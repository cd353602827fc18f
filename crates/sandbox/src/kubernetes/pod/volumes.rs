//! Mounts of a Pod of a run besides its inputs. Pure.

use k8s_openapi::api::core::v1::{
    ConfigMapVolumeSource, EmptyDirVolumeSource, KeyToPath, PersistentVolumeClaimVolumeSource,
    SecretVolumeSource, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::execution::{ClaimMount, Execution, PodProgram};
use super::inputs::{FOLDER, OUTPUTS};
use super::job_key::{CHECK_NAME, JOB_NAME};
use crate::harness;

/// Folder in which the checker finds the outputs.
pub(super) const OUTPUTS_CHECKED: &str = OUTPUTS;
/// The volume with what it is to check.
const CHECK_VOLUME: &str = "check";
/// Folder of the job.
const JOB_FOLDER: &str = "/job";
/// Folders that a job writes to; in memory, so that what lies there counts as its memory. `/dev/shm` is the runtime's.
const SCRATCH: [(&str, &str); 4] = [
    ("sandbox", "/sandbox"),
    ("tmp", "/tmp"),
    ("outputs", OUTPUTS),
    ("own-inputs", FOLDER),
];

impl Execution<'_> {
    /// The job, and what its program needs.
    pub(super) fn own_volumes(&self) -> (Vec<Volume>, Vec<VolumeMount>) {
        let job = Volume {
            name: "job".to_owned(),
            secret: Some(SecretVolumeSource {
                secret_name: Some(self.name.to_owned()),
                // Not the key.
                items: Some(vec![KeyToPath {
                    key: JOB_NAME.to_owned(),
                    path: JOB_NAME.to_owned(),
                    mode: None,
                }]),
                ..SecretVolumeSource::default()
            }),
            ..Volume::default()
        };
        let (mut volumes, mut mounts) = match self.program {
            PodProgram::Harness => self.harness_volumes(),
            PodProgram::Reader(claims) => claim_volumes(claims),
        };
        volumes.push(job);
        volumes.extend(self.check.map(|_| Volume {
            name: CHECK_VOLUME.to_owned(),
            secret: Some(SecretVolumeSource {
                secret_name: Some(self.name.to_owned()),
                items: Some(vec![KeyToPath {
                    key: CHECK_NAME.to_owned(),
                    path: JOB_NAME.to_owned(),
                    mode: None,
                }]),
                ..SecretVolumeSource::default()
            }),
            ..Volume::default()
        }));
        mounts.push(mount("job", JOB_FOLDER, true));
        (volumes, mounts)
    }

    /// The harness, and the folders that may be written.
    fn harness_volumes(&self) -> (Vec<Volume>, Vec<VolumeMount>) {
        let mut volumes = vec![Volume {
            name: "harness".to_owned(),
            config_map: Some(ConfigMapVolumeSource {
                name: harness_name(),
                ..ConfigMapVolumeSource::default()
            }),
            ..Volume::default()
        }];
        let mut mounts = vec![mount("harness", harness::FOLDER, true)];
        for (name, path) in SCRATCH {
            // It is the claim's folder then, and mounted beside the inputs.
            let is_a_claims = path == OUTPUTS && self.outputs.is_some();
            if is_a_claims || path == FOLDER && !self.job.has_own_inputs() {
                continue;
            }
            let empty_dir = if path == OUTPUTS && self.check.is_some() {
                EmptyDirVolumeSource {
                    medium: None,
                    size_limit: Some(bytes(self.volume_bytes())),
                }
            } else {
                EmptyDirVolumeSource {
                    medium: Some("Memory".to_owned()),
                    // Each may fill up to the whole limit; the sum is bounded by the container's memory.
                    size_limit: Some(bytes(self.job.limits.memory_bytes)),
                }
            };
            volumes.push(Volume {
                name: name.to_owned(),
                empty_dir: Some(empty_dir),
                ..Volume::default()
            });
            mounts.push(mount(name, path, false));
        }
        (volumes, mounts)
    }
}

/// Returns the mounts of the checker: what it is to check, and where. Nothing of it can be written.
pub(super) fn checker_mounts() -> Vec<VolumeMount> {
    vec![
        mount("outputs", OUTPUTS_CHECKED, true),
        mount(CHECK_VOLUME, JOB_FOLDER, true),
    ]
}

/// Each claim, in the order of their folders.
fn claim_volumes(claims: &[ClaimMount]) -> (Vec<Volume>, Vec<VolumeMount>) {
    let volume = |(number, ClaimMount { claim, folder }): (usize, &ClaimMount)| {
        let name = format!("claim-{number}");
        let mount = VolumeMount {
            sub_path: folder.clone(),
            ..mount(&name, &claim_folder(number), true)
        };
        let volume = Volume {
            name,
            persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
                claim_name: claim.clone(),
                read_only: None,
            }),
            ..Volume::default()
        };
        (volume, mount)
    };
    claims.iter().enumerate().map(volume).unzip()
}

/// Returns the folder in which a reader finds its claim of this number.
pub(super) fn claim_folder(number: usize) -> String {
    format!("/claims/{number}")
}

fn mount(name: &str, path: &str, read_only: bool) -> VolumeMount {
    VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        read_only: read_only.then_some(true),
        ..VolumeMount::default()
    }
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
