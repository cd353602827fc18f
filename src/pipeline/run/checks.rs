//! Which data of a run is checked, and what it means when a rule is broken.

use crate::api::run::Validation;
use crate::api::run_status::{DataSide, Finding, Severity};

/// What a broken rule means; `None` where nothing is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Severities {
    /// Of the inputs: constraints, and the types that the samples have.
    pub inputs: Option<Severity>,
    /// Of the outputs: constraints on columns that they have.
    pub outputs: Option<Severity>,
}

impl From<Option<Validation>> for Severities {
    fn from(validation: Option<Validation>) -> Self {
        let both = |severity| Self {
            inputs: severity,
            outputs: severity,
        };
        match validation {
            // Programs that clean data are given dirty data: that is why they exist. What they write is a promise.
            None => Self {
                inputs: Some(Severity::Warning),
                outputs: Some(Severity::Violation),
            },
            Some(Validation::Enforce) => both(Some(Severity::Violation)),
            Some(Validation::Warn) => both(Some(Severity::Warning)),
            Some(Validation::Off) => both(None),
        }
    }
}

impl Finding {
    /// The finding as a sentence: what of which data breaks what, and where first.
    #[must_use]
    pub fn sentence(&self) -> String {
        let side = match self.of {
            DataSide::Input => "input",
            DataSide::Output => "output",
        };
        let Self { name, check, .. } = self;
        let first = self.first.join(", ");
        match (self.count, first.is_empty()) {
            (0, _) if self.column.is_empty() => format!("{side} {name}: expected {check}"),
            (0, _) => format!("{side} {name}: lacks {check}; give a file that has what the sample has"),
            (1, false) => format!("{side} {name}: 1 value breaks {check} ({first})"),
            (1, true) => format!("{side} {name}: 1 value breaks {check}"),
            (count, false) => format!("{side} {name}: {count} values break {check} ({first})"),
            (count, true) => format!("{side} {name}: {count} values break {check}"),
        }
    }
}
