//! Holds of an object that could go on, and what ends each.

use codegen_api::conditions::reason;

/// Hold of a task that could go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// One word (`Queued`).
    pub reason: &'static str,
    /// Message about what it waits for, and what to do where somebody must do something.
    pub message: String,
    /// Event that ends the hold.
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

/// Event that ends a hold: it ends by itself, or a person ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// It ends by itself.
    Room,
    /// A person must change something that is wrong.
    Corrected,
    /// A person who wanted it so.
    Resumed,
}
