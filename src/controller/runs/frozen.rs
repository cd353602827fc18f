//! A run as it was when it started, in Secrets of its own: what happens to its task and sources later is of no matter to it.

use std::collections::BTreeMap;

use futures::future::join;
use kube::Client;
use serde::{Deserialize, Serialize};

use super::program::FinishedProgram;
use crate::controller::record::pack::{LARGEST_DOCUMENT, pack, unpacked};
use crate::controller::record::parts::{Contents, Parts};
use crate::controller::record::snapshot;
use codegen_core::checks::ColumnCheck;
use codegen_core::digest::sha256_hex;
use codegen_core::run::ResolvedRun;
use codegen_core::task::Task;
use codegen_ledger::StoreError;
use codegen_sandbox::kubernetes::names::{self, Component};
use codegen_sandbox::kubernetes::{MountedFile, MountedInput, Owner};

/// Everything that a run goes by.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct FrozenRun {
    /// The task, with the sandbox of the run, and without what only a model reads.
    pub task: Task,
    /// The run.
    pub run: ResolvedRun,
    /// Source of the program.
    pub program: String,
    /// The constraints on columns.
    pub checks: Vec<ColumnCheck>,
    /// The image, by digest.
    pub image: String,
    /// Places of the contents of inputs, by name.
    pub inputs: BTreeMap<String, MountedInput>,
}

/// A run whose snapshot is not stored yet.
pub struct UnstoredRun {
    frozen: FrozenRun,
    name: String,
    own: Parts<'static>,
    inputs: Parts<'static>,
}

impl UnstoredRun {
    /// The run, the name of its Secret, and what writes it and its inputs down.
    pub fn write(
        self,
        client: &Client,
        owner: &Owner,
    ) -> (FrozenRun, String, impl Future<Output = Result<(), StoreError>>) {
        let Self {
            frozen,
            name,
            own,
            inputs,
        } = self;
        let write = async move {
            if inputs.is_empty() {
                return own.create(client, owner, Component::Snapshot).await;
            }
            let inputs = inputs.create(client, owner, Component::Snapshot);
            let (inputs, own) = join(inputs, own.create(client, owner, Component::Snapshot)).await;
            inputs.and(own)
        };
        (frozen, name, write)
    }
}

/// Key of the only file in the first Secret.
const FIRST: &str = "file.1";

impl FrozenRun {
    /// A run and its inputs, as its snapshot stores them.
    #[must_use]
    pub fn pack(
        owner: &Owner,
        program: &FinishedProgram,
        run: ResolvedRun,
        contents: BTreeMap<String, Contents>,
    ) -> UnstoredRun {
        // `owner.run` is the key of the run, which follows from the content of the inputs.
        let inputs_name = names::name(&owner.name, &[&owner.uid, &owner.run, "inputs"]);
        let mut parts = Parts::named(inputs_name);
        let inputs = parts.add_all(contents);
        let frozen = Self {
            task: Task {
                prompt: String::new(),
                schema: None,
                system_prompt: None,
                samples: Vec::new(),
                input_files: Vec::new(),
                sandbox: run.sandbox.clone(),
                ..program.task.clone()
            },
            run,
            program: program.source.clone(),
            checks: program.checks.clone(),
            image: program.image.clone(),
            inputs,
        };
        // Plain data with string keys: writing it to memory cannot fail.
        let json = serde_json::to_vec(&frozen).unwrap_or_default();
        // Named by its content: what an earlier try with other inputs has left is in nobody's way.
        let name = names::name(
            &owner.name,
            &[&owner.uid, &owner.run, "pinned", &sha256_hex(&json)],
        );
        let mut own = Parts::named(name.clone());
        own.add(String::new(), pack(&json));
        UnstoredRun {
            frozen,
            name,
            own,
            inputs: parts,
        }
    }

    /// Reads the run whose Secret is `name`.
    pub async fn read(client: &Client, owner: &Owner, name: &str) -> Result<Self, StoreError> {
        let first = MountedFile {
            path: String::new(),
            secret: name.to_owned(),
            key: FIRST.to_owned(),
        };
        let packed = snapshot::content(client, owner, &first).await?;
        let json = unpacked(&packed, LARGEST_DOCUMENT).map_err(|error| error.to_string());
        let frozen = json.and_then(|json| serde_json::from_slice(&json).map_err(|error| error.to_string()));
        frozen.map_err(|detail| StoreError::Damaged {
            name: format!("Secret {}/{name}", owner.namespace),
            detail,
        })
    }
}
