//! Cases that were worked out again.

use codegen_api::case::Case;
use codegen_core::approval;
use codegen_core::cases::{Revised, revise};
use codegen_core::diagnosis::{Diagnosis, of_doubtful_case};
use codegen_core::machine::{CasesRevised, Outcome};
use codegen_core::progress::Progress;
use codegen_ledger::Store;
use codegen_model::Model;
use codegen_sandbox::Sandbox;

use super::attempt::AttemptRecord;
use super::data::DataReader;
use super::{Engine, EngineError, damaged};

impl<M: Model, S: Store<Progress = Progress>, B: Sandbox, D: DataReader> Engine<'_, M, S, B, D> {
    /// Holds the second answers to blamed cases against the first ones and what the program did.
    pub(super) async fn revise_cases(
        &self,
        progress: &Progress,
        number: u32,
        answers: &[Case],
    ) -> Result<Outcome, EngineError> {
        let set = self.case_set(progress).await?;
        let blamed = self.blamed(progress).await?;
        // A case that a person has approved of is dropped rather than corrected by a model.
        let are_approved = approval::has_approved_plan(self.task, progress);
        let Revised { set, confirmed } = revise(self.task, &set, &blamed, answers, are_approved);
        let shown = blamed
            .iter()
            .filter(|blamed| confirmed.contains(&blamed.run.id()));
        let mut seen = progress.seen_cases.clone();
        seen.extend(shown.filter_map(|blamed| blamed.run.number()));
        let mut diagnosis = self.diagnosis_of_cases(progress).await?;
        diagnosis.settle_cases(&confirmed);
        // Under the number of this call, beside the diagnosis before it: a document is never changed.
        let name = format!("documents/diagnosis-{:04}-{number:04}.json", progress.attempt);
        let bytes =
            serde_json::to_vec_pretty(&diagnosis).map_err(|error| damaged(&name, &error.to_string()))?;
        let document = self.put(name, &bytes).await?;
        let name = format!("documents/cases-{number:04}.json");
        let bytes = serde_json::to_vec_pretty(&set).map_err(|error| damaged(&name, &error.to_string()))?;
        let cases = self.put(name, &bytes).await?;
        Ok(Outcome::CasesRevised(CasesRevised {
            cases: (cases, set.evidence(self.task)),
            lines: set.lines(),
            document,
            diagnosis,
            program_is_at_fault: !confirmed.is_empty(),
            are_all_confirmed: confirmed.len() == blamed.len(),
            was_held: blamed.iter().any(|blamed| blamed.run.is_held),
            seen: set.still_deciding(&seen),
        }))
    }

    /// The diagnosis that blames cases: the model's, or the one that follows from what fails: of an agent's program, and of a case that is
    /// held back.
    async fn diagnosis_of_cases(&self, progress: &Progress) -> Result<Diagnosis, EngineError> {
        let documents = &progress.documents;
        if let Some(run) = &documents.run {
            let verdict = self.get_json::<AttemptRecord>(run).await?.verdict;
            let is_blamed = |id: &String| progress.blamed_cases.contains(id);
            if progress.agent.is_some() || verdict.only_held_fails() {
                let failed = verdict.failed.iter().chain(&verdict.held);
                let blamed = failed.filter(|check| is_blamed(&check.detail.id));
                return Ok(Diagnosis {
                    failures: blamed.map(of_doubtful_case).collect(),
                });
            }
        }
        match &documents.diagnosis {
            Some(document) => self.get_json(document).await,
            None => Ok(Diagnosis::default()),
        }
    }
}
