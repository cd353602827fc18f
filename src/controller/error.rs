//! Reasons for which a reconcile pass could not be finished, and what a status says of them.

use crate::controller::hold::{Blocked, misconfigured};
use codegen_api::conditions::reason;
use codegen_core::causes::with_causes;
use codegen_core::status::{Hold, Until};
use codegen_engine::EngineError;
use codegen_ledger::StoreError;

/// A pass that could not be finished; what is recorded is as it was.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// The task cannot go on for now; its status says why.
    #[error(transparent)]
    Blocked(#[from] Blocked),
    /// A step failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A write or a read failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<Hold> for ReconcileError {
    fn from(hold: Hold) -> Self {
        Self::Blocked(Blocked(hold))
    }
}

/// Returns the hold that a failed pass writes to the status.
pub fn hold_for(error: &ReconcileError) -> Hold {
    // The same would be read again: somebody has to delete, restore or permit something.
    let is_in_somebodys_hands = match error {
        ReconcileError::Engine(
            EngineError::State { .. } | EngineError::Store(StoreError::Damaged { .. }),
        )
        | ReconcileError::Store(StoreError::Damaged { .. }) => true,
        _ => is_forbidden(error),
    };
    let message = with_causes(error);
    if is_in_somebodys_hands {
        misconfigured(message).0
    } else {
        Hold {
            reason: reason::INFRASTRUCTURE,
            message: format!("{message}; it is tried again"),
            until: Until::Room,
        }
    }
}

/// Reports whether the API server refuses, as for a quota or a missing permission.
pub fn is_forbidden(error: &(dyn std::error::Error + 'static)) -> bool {
    // The error of the API server is wrapped in those of the store and the engine.
    std::iter::successors(Some(error), |error| error.source())
        .filter_map(|error| error.downcast_ref::<kube::Error>())
        .any(|error| matches!(error, kube::Error::Api(status) if status.is_forbidden()))
}

pub fn is_conflict(error: &ReconcileError) -> bool {
    matches!(
        error,
        ReconcileError::Store(StoreError::Conflict { .. })
            | ReconcileError::Engine(EngineError::Store(StoreError::Conflict { .. }))
    )
}

/// The faults of a spec as one message.
pub fn unresolved(faults: &[codegen_core::task::ResolveError]) -> Blocked {
    let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
    misconfigured(lines.join("; "))
}
