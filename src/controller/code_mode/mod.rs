//! Code mode: agents whose tools are looked up, and questions that are answered by programs that call them.
//!
//! ```text
//! agent      what its tools are -> signatures in its status
//! question   the agent as it is -> a frozen question -> one step of the engine a pass
//! ```
//!
//! From its frozen copy on a question depends on its own objects, and on the tools that it calls.

mod agent;
mod archive;
mod children;
mod happened;
mod hold;
pub(super) mod memory;
mod question;
mod resolve;
mod start;
pub mod store;

use kube::{Resource as _, ResourceExt as _};

use crate::controller::record::records::CODE_MODE;
use codegen_api::code_mode::CodeModeRun;
use codegen_sandbox::kubernetes::Owner;

/// Returns the owner of the objects of a question.
pub fn owner(object: &CodeModeRun) -> Owner {
    Owner {
        namespace: object.namespace().unwrap_or_default(),
        name: object.name_any(),
        uid: object.uid().unwrap_or_default(),
        run: CODE_MODE.to_owned(),
        wish: String::new(),
        generation: object.metadata.generation.unwrap_or_default(),
        attempt: 0,
        reference: object.controller_owner_ref(&()).unwrap_or_default(),
    }
}
