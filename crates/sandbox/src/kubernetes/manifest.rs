//! Manifests that stand beside the code: what every object of a kind has. The code sets what varies. Pure.

use k8s_openapi::api::core::v1::{
    Container, EnvVar, PersistentVolumeClaimVolumeSource, PodSpec, Volume, VolumeMount,
};
use serde::de::DeserializeOwned;

/// Reads a manifest of this program.
#[expect(
    clippy::expect_used,
    reason = "the manifests are constants; a test reads each of them"
)]
pub(super) fn parse<T: DeserializeOwned>(text: &str) -> T {
    serde_saphyr::from_str(text).expect("a valid manifest")
}

/// Containers in the order in which they start.
pub(super) fn containers(spec: &mut PodSpec) -> impl Iterator<Item = &mut Container> {
    let before = spec.init_containers.iter_mut().flatten();
    before.chain(&mut spec.containers)
}

/// Names the Secret of a volume; without one, nothing mounts that volume.
pub(super) fn name_secret(spec: &mut PodSpec, volume: &str, secret: Option<&str>) {
    let Some(secret) = secret else {
        return remove_volume(spec, volume);
    };
    let volumes = spec.volumes.iter_mut().flatten();
    for volume in volumes.filter(|found| found.name == volume) {
        volume.secret.get_or_insert_default().secret_name = Some(secret.to_owned());
    }
}

/// Removes a volume, and all that mounts it.
pub(super) fn remove_volume(spec: &mut PodSpec, name: &str) {
    spec.volumes
        .get_or_insert_default()
        .retain(|volume| volume.name != name);
    for container in containers(spec) {
        let mounts = container.volume_mounts.get_or_insert_default();
        mounts.retain(|mount| mount.name != name);
    }
}

/// The volume of a claim.
pub(super) fn claim_volume(name: String, claim: &str, read_only: Option<bool>) -> Volume {
    Volume {
        name,
        persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
            claim_name: claim.to_owned(),
            read_only,
        }),
        ..Volume::default()
    }
}

/// A mount of a volume, or of what lies on it at `sub_path`.
pub(super) fn mount(volume: &str, path: String, sub_path: Option<String>, is_read_only: bool) -> VolumeMount {
    VolumeMount {
        name: volume.to_owned(),
        mount_path: path,
        sub_path,
        read_only: is_read_only.then_some(true),
        ..VolumeMount::default()
    }
}

/// A variable of a container.
pub(super) fn variable(name: &str, value: &str) -> EnvVar {
    EnvVar {
        name: name.to_owned(),
        value: Some(value.to_owned()),
        value_from: None,
    }
}

#[cfg(test)]
mod tests;
