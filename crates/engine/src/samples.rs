//! Reads the samples and binds the constraints.

use codegen_core::cases::unwritable_example;
use codegen_core::checks::{Break, ColumnCheck};
use codegen_core::machine::{Outcome, SamplesRead, ScopesDecided};
use codegen_core::progress::Progress;
use codegen_core::python::in_process::imports_program;
use codegen_core::reply::ConstraintsReply;
use codegen_core::scope::waive;
use codegen_core::stage::Category;
use codegen_ledger::Store;
use codegen_model::Model;
use codegen_sandbox::Sandbox;

use super::data::DataReader;
use super::{Engine, EngineError, damaged};

impl<M: Model, S: Store<Progress = Progress>, B: Sandbox, D: DataReader> Engine<'_, M, S, B, D> {
    pub(super) async fn read_samples(&self, progress: &Progress) -> Result<Outcome, EngineError> {
        let described = match self.data.describe(self.task).await {
            Ok(described) => described,
            Err(error) => {
                let category = if error.is_passing() {
                    Category::Infrastructure
                } else {
                    Category::Configuration
                };
                return Ok(self.blocked(progress, category, &error.to_string()));
            }
        };
        // Only now is it known how the samples are written, and the examples with them.
        let forms = self.data.forms(&described.profiles);
        if let Some(why) = unwritable_example(self.task, &forms) {
            return Ok(self.blocked(progress, Category::Configuration, &why));
        }
        let context = self
            .put(
                "documents/data-context.txt".into(),
                described.context.text.as_bytes(),
            )
            .await?;
        let profiles = self
            .put("documents/profiles.json".into(), &described.profiles)
            .await?;
        Ok(Outcome::SamplesRead(SamplesRead {
            context,
            profiles,
            samples: described.samples,
            acceptance_is_apart: self
                .surroundings
                .acceptance_tests
                .as_deref()
                .is_some_and(|tests| !imports_program(tests)),
        }))
    }

    pub(super) async fn bind_constraints(
        &self,
        progress: &Progress,
        reply: &ConstraintsReply,
    ) -> Result<Outcome, EngineError> {
        let profiles = match &progress.documents.profiles {
            Some(document) => self.get(document).await?,
            None => Vec::new(),
        };
        let (checks, constraints) = self.data.bind(self.task, &profiles, reply);
        let name = "documents/checks.json".to_owned();
        let bytes = serde_json::to_vec_pretty(&checks).map_err(|error| damaged(&name, &error.to_string()))?;
        Ok(Outcome::ConstraintsRead {
            checks: self.put(name, &bytes).await?,
            constraints,
        })
    }

    /// Takes constraints from outputs that they do not speak of; `number` is that of the call that said so.
    pub(super) async fn decide_scopes(
        &self,
        progress: &Progress,
        number: u32,
        answers: &[(Break, bool)],
    ) -> Result<Outcome, EngineError> {
        let settled = answers.iter().map(|(one, _)| one.signature()).collect();
        let waived: Vec<&Break> = answers
            .iter()
            .filter(|(_, holds)| !holds)
            .map(|(one, _)| one)
            .collect();
        let mut changed = None;
        if !waived.is_empty() {
            let mut checks = self.checks(progress).await?;
            let mut constraints = progress.constraints.clone();
            waive(&mut checks, &mut constraints, &waived);
            // Under the number of this call: a document is never changed.
            let name = format!("documents/checks-{number:04}.json");
            let bytes =
                serde_json::to_vec_pretty(&checks).map_err(|error| damaged(&name, &error.to_string()))?;
            changed = Some((self.put(name, &bytes).await?, constraints));
        }
        Ok(Outcome::ScopesDecided(ScopesDecided { settled, changed }))
    }

    /// The checks that hold for this task; none without constraints.
    pub(super) async fn checks(&self, progress: &Progress) -> Result<Vec<ColumnCheck>, EngineError> {
        match &progress.documents.checks {
            Some(document) => self.get_json(document).await,
            None => Ok(Vec::new()),
        }
    }
}
