//! The folders that a script may be in after a command, by whether it succeeded.

use std::collections::BTreeSet;

use crate::scope::Scope;
use crate::script::After;

/// Folders after success and after failure.
#[derive(Debug, Clone)]
pub(super) struct Folders {
    pub(super) success: BTreeSet<String>,
    pub(super) failure: BTreeSet<String>,
}

impl Folders {
    /// Those of a command that changes none.
    pub(super) fn of(scope: &Scope) -> Self {
        Self {
            success: scope.folders.clone(),
            failure: scope.folders.clone(),
        }
    }

    /// Those after either.
    pub(super) fn any(self) -> BTreeSet<String> {
        self.success.into_iter().chain(self.failure).collect()
    }

    pub(super) fn at(&self, after: After) -> BTreeSet<String> {
        match after {
            After::Success => self.success.clone(),
            After::Failure => self.failure.clone(),
        }
    }

    /// Those after a further command, which runs after this status alone.
    pub(super) fn then(self, after: After, then: Self) -> Self {
        let union = |a: BTreeSet<String>, b: BTreeSet<String>| a.into_iter().chain(b).collect();
        match after {
            After::Success => Self {
                success: then.success,
                failure: union(self.failure, then.failure),
            },
            After::Failure => Self {
                success: union(self.success, then.success),
                failure: then.failure,
            },
        }
    }

    pub(super) fn negated(self) -> Self {
        Self {
            success: self.failure,
            failure: self.success,
        }
    }
}
