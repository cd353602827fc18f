//! Pushes the program of a task that has passed as an image.

use std::collections::BTreeMap;

use codegen_api::status::TestCounts;
use codegen_core::digest::sha256_hex;
use codegen_core::machine::Outcome;
use codegen_core::progress::{Progress, PublishedImage};
use codegen_data::profile::SampleProfile;
use codegen_ledger::Store;
use codegen_model::Model;
use codegen_sandbox::{Publication, Sandbox};

use super::data::DataReader;
use super::event::Event;
use super::program_file::ProgramFile;
use super::{Engine, EngineError, damaged};

impl<M: Model, S: Store<Progress = Progress>, B: Sandbox, D: DataReader> Engine<'_, M, S, B, D> {
    /// Publishes the program. What is pushed follows from what is recorded, so that doing it again changes nothing.
    pub(super) async fn publish(&self, progress: &Progress) -> Result<Outcome, EngineError> {
        let publication = self.publication(progress).await?;
        let published = match self.sandbox.publish(&publication).await {
            Ok(published) => published,
            Err(error) => return Ok(self.sandbox_failed(progress, &error)),
        };
        self.emit(&Event::Published {
            image: published.image.clone(),
            tag: published.tag.clone(),
            uploaded_bytes: published.uploaded_bytes,
        });
        Ok(Outcome::Published(PublishedImage {
            image: published.image,
            tag: published.tag,
            asked: self.task.publish.clone().unwrap_or_default(),
        }))
    }

    async fn publication(&self, progress: &Progress) -> Result<Publication, EngineError> {
        let program = self.text(progress.documents.solution.as_ref()).await?;
        let checks = self.checks(progress).await?;
        let profiles: Vec<SampleProfile> = match &progress.documents.profiles {
            // Of an operator that described samples otherwise: then files are compared with constraints alone.
            Some(document) => serde_json::from_slice(&self.get(document).await?).unwrap_or_default(),
            None => Vec::new(),
        };
        let file = ProgramFile::new(self.task, checks, &profiles);
        let file =
            serde_json::to_vec_pretty(&file).map_err(|error| damaged("the program", &error.to_string()))?;
        let built = progress.build.built.clone().unwrap_or_default();
        Ok(Publication {
            labels: self.labels(progress, &program),
            program,
            file,
            environment: built.image,
            python: built.python,
            installed: built.resolved,
            system_packages: built.packages.apt,
        })
    }

    fn labels(&self, progress: &Progress, program: &str) -> BTreeMap<String, String> {
        let task = self.task;
        let program = sha256_hex(program.as_bytes());
        let last = progress.attempts.last();
        let counts =
            |counts: Option<TestCounts>| counts.map(|counts| format!("{}/{}", counts.passed, counts.total));
        let labels = [
            ("org.opencontainers.image.title", Some(task.name.clone())),
            ("org.opencontainers.image.revision", Some(program.clone())),
            ("dev.codegen-operator.program-sha256", Some(program)),
            (
                "dev.codegen-operator.prompt-sha256",
                Some(sha256_hex(task.prompt.as_bytes())),
            ),
            (
                "dev.codegen-operator.data-context-sha256",
                progress
                    .documents
                    .context
                    .as_ref()
                    .map(|context| context.sha256.clone()),
            ),
            (
                "dev.codegen-operator.tests",
                last.and_then(|attempt| counts(attempt.tests)),
            ),
            (
                "dev.codegen-operator.acceptance-tests",
                last.and_then(|attempt| counts(attempt.acceptance_tests)),
            ),
        ];
        labels
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect()
    }
}
