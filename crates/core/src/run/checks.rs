//! Selection of the data of a run that is checked, and the meaning of a rule that is broken.

use codegen_api::run::Validation;
use codegen_api::run_status::Severity;

/// Severity of a broken rule, per side; `None` where nothing is checked.
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
