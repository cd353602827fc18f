//! Runs of finished programs: each `CodeGenRun` is reconciled as tasks are, one decision a pass.
//!
//! ```text
//! start     the task's program, the inputs -> what another run wrote for the same, or a frozen run
//! step      a sandbox runs it -> its outputs in Secrets of the run, the end in its status
//! ```
//!
//! From its frozen copy on a run depends on nothing but its own objects: task and sources may change or go.

mod control;
mod inputs;
pub(super) mod image;
pub(super) mod memory;
pub(crate) mod outputs;
mod finish;
mod frozen;
pub(super) mod origin;
pub(super) mod program;
mod reconcile;
mod reuse;
mod source;
pub mod status;
mod step;
mod claim_outputs;

use kube::{Resource as _, ResourceExt as _};

use codegen_api::CodeGenRun;
use codegen_sandbox::kubernetes::Owner;

/// Returns the owner of the objects of a run. `run` distinguishes executions on other inputs.
fn owner(object: &CodeGenRun, run: &str) -> Owner {
    Owner {
        namespace: object.namespace().unwrap_or_default(),
        name: object.name_any(),
        uid: object.uid().unwrap_or_default(),
        run: run.to_owned(),
        wish: String::new(),
        generation: object.metadata.generation.unwrap_or_default(),
        attempt: 0,
        reference: object.controller_owner_ref(&()).unwrap_or_default(),
    }
}
