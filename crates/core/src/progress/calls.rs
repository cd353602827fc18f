//! The calls of a model as a state counts them: one way for tasks and for questions.

use super::{Intent, Spent};
use crate::call::Usage;

/// Record that a state holds of its calls.
#[derive(Debug)]
pub struct CallCount<'a> {
    /// The call in flight.
    pub intent: &'a mut Option<Intent>,
    /// Number of the next call, counted from 1.
    pub sequence: &'a mut u32,
    /// Cost of all of them.
    pub spent: &'a mut Spent,
}

/// A state that asks a model.
pub trait CountsCalls: Sized {
    /// Returns its record of calls.
    fn calls(&mut self) -> CallCount<'_>;

    /// The call is about to start.
    #[must_use]
    fn with_intent(mut self, intent: Intent) -> Self {
        *self.calls().intent = Some(intent);
        self
    }

    /// The call in flight was answered: its tokens are spent, its number is taken.
    #[must_use]
    fn with_call_answered(mut self, usage: Usage) -> Self {
        let calls = self.calls();
        *calls.intent = None;
        *calls.sequence += 1;
        calls.spent.add_call(usage);
        self
    }

    /// No model had the call in flight for certain: nothing is spent, and its number is free for the next try.
    #[must_use]
    fn with_call_not_made(mut self) -> Self {
        *self.calls().intent = None;
        self
    }

    /// The call in flight, if there is one, left no reply and may be billed all the same: it is charged by its estimate, and its
    /// number is free for the next try.
    #[must_use]
    fn with_call_lost(mut self) -> Self {
        let calls = self.calls();
        if let Some(intent) = calls.intent.take() {
            calls.spent.add_lost_call(intent.estimate);
        }
        self
    }
}
