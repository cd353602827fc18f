//! Loads what prompts and checks of replies need.

use serde::de::DeserializeOwned;

use codegen_core::agent::AgentSession;
use codegen_core::cases::{Blamed, CaseSet, Forms, output_names};
use codegen_core::diagnosis::Diagnosis;
use codegen_core::progress::{Document, Progress};
use codegen_core::prompts::Material;
use codegen_core::stage::Stage;
use codegen_ledger::Store;
use codegen_model::Model;
use codegen_sandbox::Sandbox;

use super::attempt::AttemptRecord;
use super::data::DataReader;
use super::{Engine, EngineError, damaged, documents};

impl<M: Model, S: Store<Progress = Progress>, B: Sandbox, D: DataReader> Engine<'_, M, S, B, D> {
    /// Everything that the present call may need.
    pub(super) async fn material(&self, progress: &Progress) -> Result<Material, EngineError> {
        let documents = &progress.documents;
        let mut verdict = match &documents.run {
            Some(document) => Some(self.get_json::<AttemptRecord>(document).await?.verdict),
            None => None,
        };
        if let Some(verdict) = verdict.as_mut().filter(|verdict| !verdict.held.is_empty()) {
            let runs = self.cases(progress).await?;
            verdict.show_held(|id| runs.iter().any(|run| run.is_settled && run.id() == id));
        }
        let diagnosis = match &documents.diagnosis {
            Some(document) => self.get_json(document).await?,
            None => Diagnosis::default(),
        };
        let fault = progress.build.fault.as_ref().map(|fault| {
            let packages = [fault.packages.pip.clone(), fault.packages.apt.clone()].concat();
            (packages, fault.message.clone())
        });
        let blamed = self.blamed(progress).await?;
        let cases = self.case_set(progress).await?;
        Ok(Material {
            context: self.text(documents.context.as_ref()).await?,
            hint: progress.hint().unwrap_or_default().to_owned(),
            plan: progress.plan.clone().unwrap_or_default(),
            solution: self.text(documents.solution.as_ref()).await?,
            tests: self.text(documents.tests.as_ref()).await?,
            verdict,
            diagnosis,
            fault,
            acceptance_tests: self.surroundings.acceptance_tests.clone().unwrap_or_default(),
            blamed,
            output_names: output_names(self.task, &cases),
            forms: if matches!(progress.stage, Stage::Planning | Stage::ExtendingCases) {
                self.forms(progress).await?
            } else {
                Forms::new()
            },
            cases: if progress.stage == Stage::ExtendingCases {
                cases
            } else {
                CaseSet::default()
            },
            session: if progress.stage == Stage::Working {
                self.session(progress).await?
            } else {
                AgentSession::default()
            },
            rejections: progress.rejections.clone(),
            model: self.task.asked_model(progress),
        })
    }

    /// The cases of the plan; none where it brought none.
    pub(super) async fn case_set(&self, progress: &Progress) -> Result<CaseSet, EngineError> {
        match &progress.documents.cases {
            Some(document) => self.get_json(document).await,
            None => Ok(CaseSet::default()),
        }
    }

    /// Returns the forms in which the samples are written; nothing where there are none.
    pub(super) async fn forms(&self, progress: &Progress) -> Result<Forms, EngineError> {
        match &progress.documents.profiles {
            Some(document) if !self.task.samples.is_empty() => {
                Ok(self.data.forms(&self.get(document).await?))
            }
            _ => Ok(Forms::new()),
        }
    }

    /// Cases that the present diagnosis blames, and what they came to.
    pub(super) async fn blamed(&self, progress: &Progress) -> Result<Vec<Blamed>, EngineError> {
        let Some(document) = progress
            .documents
            .run
            .as_ref()
            // Without a blamed case nothing need be read.
            .filter(|_| !progress.blamed_cases.is_empty())
        else {
            return Ok(Vec::new());
        };
        let mut record: AttemptRecord = self.get_json(document).await?;
        let runs = self.cases(progress).await?;
        let blamed = runs.into_iter().filter_map(|run| {
            let id = run.id();
            progress.blamed_cases.contains(&id).then(|| Blamed {
                phase: record.failed_cases.remove(&id),
                run,
            })
        });
        Ok(blamed.collect())
    }

    /// A document's text; empty when there is none yet.
    pub(super) async fn text(&self, document: Option<&Document>) -> Result<String, EngineError> {
        let Some(document) = document else {
            return Ok(String::new());
        };
        let bytes = self.get(document).await?;
        String::from_utf8(bytes).map_err(|_| damaged(&document.name, "it is not UTF-8"))
    }

    /// A document's value.
    pub(super) async fn get_json<T: DeserializeOwned>(&self, document: &Document) -> Result<T, EngineError> {
        documents::get_json(self.store, document).await
    }
}
