//! What holds an object that could go on, and who ends that.

use codegen_api::conditions::reason;

/// What holds a task that could go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// One word (`Queued`).
    pub reason: &'static str,
    /// What it waits for, and what to do where somebody must do something.
    pub message: String,
    /// Who ends it.
    pub until: Until,
}

impl Hold {
    /// Somebody paused the task.
    #[must_use]
    pub fn suspended() -> Self {
        Self {
            reason: reason::SUSPENDED,
            message: "spec.suspend is true; remove it to go on".to_owned(),
            until: Until::Resumed,
        }
    }
}

/// Who ends a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// It ends by itself.
    Room,
    /// A person must change something that is wrong.
    Corrected,
    /// A person who wanted it so.
    Resumed,
}
