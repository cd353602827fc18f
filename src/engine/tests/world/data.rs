//! Samples and outputs without a file.

use std::collections::BTreeSet;

use crate::api::status::{ConstraintStatus, SampleStatus};
use crate::data::DataError;
use crate::data::checks::text::in_words;
use crate::data::context::Context;
use crate::engine::data::{DataReader, Described};
use crate::pipeline::checks::ColumnCheck;
use crate::pipeline::reply::ConstraintsReply;
use crate::pipeline::sandbox::OutputReport;
use crate::pipeline::task::Task;
use crate::pipeline::verdict::RehearsalFindings;

/// No samples, no outputs; or a context that is given.
#[derive(Default)]
pub struct FixedData {
    pub context: String,
    /// What is found in the outputs, broken constraints among it as long as they hold for the output.
    pub findings: RehearsalFindings,
    /// What the constraints become.
    pub checks: Vec<ColumnCheck>,
    /// How the samples are written.
    pub forms: crate::pipeline::cases::Forms,
}

impl DataReader for FixedData {
    async fn describe(&self, _task: &Task) -> Result<Described, DataError> {
        Ok(Described {
            context: Context {
                text: self.context.clone(),
                ..Context::default()
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

    fn forms(&self, _profiles: &[u8]) -> crate::pipeline::cases::Forms {
        self.forms.clone()
    }

    async fn judge(
        &self,
        _task: &Task,
        _outputs: &[OutputReport],
        checks: &[ColumnCheck],
    ) -> Result<RehearsalFindings, DataError> {
        let mut findings = self.findings.clone();
        findings.faults.retain(|fault| {
            let is_broken =
                |check: &ColumnCheck| fault.broken == Some(in_words(check)) && check.holds_of(&fault.output);
            fault.broken.is_none() || checks.iter().any(is_broken)
        });
        Ok(findings)
    }
}
