//! Samples and inputs as volumes. Pure.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use k8s_openapi::api::core::v1::{
    KeyToPath, ProjectedVolumeSource, SecretProjection, Volume, VolumeMount, VolumeProjection,
};

use super::super::manifest::{claim_volume, mount};
use super::super::{MountedFile, MountedInput, OutputFolder};
use crate::SandboxError;
use codegen_core::digest::sha256_hex_of_parts;
use codegen_core::sandbox::{InputMount, Job, PhaseFile};

/// Folder of the outputs in a sandbox.
pub(super) const OUTPUTS: &str = "/var/outputs";
/// Folder of the inputs in a sandbox.
pub(super) const FOLDER: &str = "/var/inputs";
/// Name of the volume of all Secrets.
const VOLUME: &str = "inputs";
/// Every user may read, nobody write.
const READABLE: i32 = 0o444;

/// Returns the places of the inputs: those of the snapshot where it says, those of the job in its Secret.
pub(super) fn places(
    job: &Job,
    snapshot: &BTreeMap<String, MountedInput>,
    secret: &str,
) -> BTreeMap<String, MountedInput> {
    let mut places = snapshot.clone();
    for input in job.inputs.iter().filter(|input| !input.content.is_empty()) {
        let file = |file: &PhaseFile| MountedFile {
            path: file.path.clone(),
            secret: secret.to_owned(),
            key: key(input, file),
        };
        let files = input.content.iter().map(file).collect();
        places.insert(input.name.clone(), MountedInput::Secrets(files));
    }
    places
}

/// Contents of those inputs, as its Secret has them.
pub(super) fn contents(job: &Job) -> impl Iterator<Item = (String, Vec<u8>)> {
    let files = job.inputs.iter().flat_map(|input| {
        let files = input.content.iter();
        files.map(move |file| (input, file))
    });
    files.map(|(input, file)| {
        let bytes = BASE64_STANDARD.decode(&file.content).unwrap_or_default();
        (key(input, file), bytes)
    })
}

/// A key by digest: a file's name may have characters that keys do not.
fn key(input: &InputMount, file: &PhaseFile) -> String {
    format!("input-{}", &sha256_hex_of_parts(&[&input.name, &file.path])[..16])
}

/// Volumes of a job's inputs and where they are mounted, each input under its file name and its bare name, `has_own` where the
/// folder is written by the harness as well; and the claim that its outputs go to, which may be one that inputs lie on: a Pod names each claim once.
pub(super) fn volumes(
    inputs: &[InputMount],
    has_own: bool,
    places: &BTreeMap<String, MountedInput>,
    outputs: Option<&OutputFolder>,
) -> Result<(Vec<Volume>, Vec<VolumeMount>), SandboxError> {
    let mut projected = Projected::default();
    let mut claims: BTreeMap<&str, String> = BTreeMap::new();
    let mut mounts = Vec::new();
    for input in inputs {
        let place = places.get(&input.name).ok_or_else(|| SandboxError::Input {
            name: input.name.clone(),
            reason: "it is not among the frozen inputs".to_owned(),
        })?;
        let mut names = vec![input.file_name.as_str()];
        if input.name != input.file_name {
            names.push(&input.name);
        }
        match place {
            MountedInput::Secrets(files) => names.iter().for_each(|name| projected.add(name, files)),
            MountedInput::Claim { claim, path } => {
                let number = claims.len();
                let volume = claims.entry(claim).or_insert_with(|| format!("claim-{number}"));
                let path = Some(path.clone()).filter(|path| !path.is_empty());
                let at = |name: &&str| mount(volume, format!("{FOLDER}/{name}"), path.clone(), true);
                mounts.extend(names.iter().map(at));
            }
        }
    }
    mounts.extend(projected.mounts(has_own || !claims.is_empty()));
    if let Some(OutputFolder { claim, path, .. }) = outputs {
        let number = claims.len();
        let volume = claims.entry(claim).or_insert_with(|| format!("claim-{number}"));
        mounts.push(mount(volume, OUTPUTS.to_owned(), Some(path.clone()), false));
    }
    // A group is set on every volume of a Pod that is not mounted read-only as a whole, and so on what others own.
    let grouped = outputs.filter(|outputs| outputs.fs_group.is_some());
    let claims = claims.into_iter().map(|(claim, name)| {
        let is_of_others = grouped.is_some_and(|outputs| outputs.claim != claim);
        claim_volume(name, claim, is_of_others.then_some(true))
    });
    let volumes = projected.volume().into_iter().chain(claims).collect();
    Ok((volumes, mounts))
}

/// One volume with files of many Secrets.
#[derive(Default)]
struct Projected<'a> {
    /// Keys and paths of each Secret.
    items: BTreeMap<&'a str, Vec<KeyToPath>>,
    /// Names below `/var/inputs`.
    names: Vec<&'a str>,
}

impl<'a> Projected<'a> {
    fn add(&mut self, name: &'a str, files: &'a [MountedFile]) {
        self.names.push(name);
        for file in files {
            let path = if file.path.is_empty() {
                name.to_owned()
            } else {
                format!("{name}/{}", file.path)
            };
            self.items.entry(&file.secret).or_default().push(KeyToPath {
                key: file.key.clone(),
                path,
                mode: None,
            });
        }
    }

    /// A mount inside of another one needs a place there, which a read-only one does not give: beside claims, each name is
    /// mounted by itself; so it is in a folder of the harness.
    fn mounts(&self, apart: bool) -> Vec<VolumeMount> {
        let names = self.names.iter();
        match (self.names.is_empty(), apart) {
            (true, _) => Vec::new(),
            (false, false) => vec![mount(VOLUME, FOLDER.to_owned(), None, true)],
            (false, true) => names
                .map(|name| mount(VOLUME, format!("{FOLDER}/{name}"), Some((*name).to_owned()), true))
                .collect(),
        }
    }

    fn volume(self) -> Option<Volume> {
        if self.names.is_empty() {
            return None;
        }
        let sources = self.items.into_iter().map(|(secret, items)| VolumeProjection {
            secret: Some(SecretProjection {
                name: secret.to_owned(),
                items: Some(items),
                optional: None,
            }),
            ..VolumeProjection::default()
        });
        Some(Volume {
            name: VOLUME.to_owned(),
            projected: Some(ProjectedVolumeSource {
                default_mode: Some(READABLE),
                sources: Some(sources.collect()),
            }),
            ..Volume::default()
        })
    }
}
