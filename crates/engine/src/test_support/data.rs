//! Samples and outputs without a file.

use std::collections::BTreeSet;

use crate::data::{DataReader, Described};
use codegen_api::status::{ConstraintStatus, SampleStatus};
use codegen_core::checks::ColumnCheck;
use codegen_core::reply::ConstraintsReply;
use codegen_core::run::OutputsRead;
use codegen_core::sandbox::OutputReport;
use codegen_core::task::Task;
use codegen_data::DataError;
use codegen_data::checks::text::in_words;
use codegen_data::context::DataContext;

/// No samples, no outputs; or a context that is given.
#[derive(Default)]
pub struct FixedData {
    pub context: String,
    /// Findings in the outputs, broken constraints among them as long as they hold for the output.
    pub read: OutputsRead,
    /// Checks that the constraints become.
    pub checks: Vec<ColumnCheck>,
    /// Forms in which the samples are written.
    pub forms: codegen_core::cases::Forms,
}

impl DataReader for FixedData {
    async fn describe(&self, _task: &Task) -> Result<Described, DataError> {
        Ok(Described {
            context: DataContext {
                text: self.context.clone(),
                ..DataContext::default()
            },
            profiles: b"[]".to_vec(),
            joins: Vec::new(),
            samples: Vec::<SampleStatus>::new(),
        })
    }

    fn bind(
        &self,
        task: &Task,
        _profiles: &[u8],
        _reply: &ConstraintsReply,
    ) -> (Vec<ColumnCheck>, Vec<ConstraintStatus>) {
        let status = |text: &String| ConstraintStatus {
            text: text.clone(),
            bound_to: Vec::new(),
            check: "none".into(),
            not_applied_to: Vec::new(),
        };
        (self.checks.clone(), task.constraints.iter().map(status).collect())
    }

    fn columns(&self, _task: &Task, _profiles: &[u8]) -> BTreeSet<String> {
        BTreeSet::new()
    }

    fn forms(&self, _profiles: &[u8]) -> codegen_core::cases::Forms {
        self.forms.clone()
    }

    async fn outputs(
        &self,
        _task: &Task,
        _reported: &[OutputReport],
        checks: &[ColumnCheck],
    ) -> Result<OutputsRead, DataError> {
        let mut read = self.read.clone();
        read.findings.retain(|broken| {
            checks
                .iter()
                .any(|check| broken.check == in_words(check) && check.holds_of(&broken.name))
        });
        Ok(read)
    }
}
