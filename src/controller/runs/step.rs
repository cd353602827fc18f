//! Runs the program of a frozen run in a sandbox, and says what came of it.

use std::collections::BTreeMap;

use super::claim_outputs;
use super::frozen::FrozenRun;
use super::image;
use super::outputs;
use super::owner;
use super::reconcile::{Paused, RunPass};
use crate::controller::control::{self, MOMENT, READING, SAFETY_NET};
use crate::controller::error::ReconcileError;
use crate::controller::hold::{Blocked, misconfigured, queued, unavailable};
use crate::controller::isolation;
use crate::controller::sources::credentials;
use codegen_api::conditions::run_reason;
use codegen_api::values::Output;
use codegen_core::causes::with_causes;
use codegen_core::redact::Redactor;
use codegen_core::run::checks::Severities;
use codegen_core::run::{
    FailureReason, OutputRoom, OutputsRead, RunEnd, RunFailure, TypedOutput, conclude, program_end,
    redacted_finding,
};
use codegen_core::sandbox::{Job, Report};
use codegen_core::stage::Category;
use codegen_core::status::{Hold, Until};
use codegen_core::stored_outputs::FoundOutput;
use codegen_engine::run_data::{ColumnsByInput, RunData};
use codegen_ledger::StoreError;
use codegen_sandbox::kubernetes::{KubernetesSandbox, OutputFolder, Owner};
use codegen_sandbox::{Progressing, Sandbox as _, SandboxError};

/// Sandboxes that may end without a report in a row, while this process lives: the program ended the harness.
const MOST_SILENT: usize = 3;
/// Sandboxes of a run that may be lost, those that ended without a report among them, before it waits for a person.
const MOST_LOST: i32 = 10;

impl RunPass<'_> {
    /// Starts the program of a run while its snapshot is stored: whether that is done. What prevents it from starting is met again, and
    /// said, by [`Self::step`].
    pub async fn begin(
        &self,
        frozen: &FrozenRun,
        owner: &Owner,
        write: impl Future<Output = Result<(), StoreError>>,
    ) -> Result<bool, StoreError> {
        let variables = credentials::sandbox_variables(&self.context.client, &frozen.task).await;
        let (Ok(variables), None) = (variables, isolation::hold_of_run(self.context, &frozen.task)) else {
            return write.await.map(|()| false);
        };
        let folder = self.folder(frozen);
        let sandbox = KubernetesSandbox {
            outputs: folder.as_ref(),
            ..self.context.sandbox(&frozen.task, owner, &frozen.inputs)
        };
        let job = job(frozen, &variables);
        // The sandbox has errors of its own kind only: that of the write comes back beside them.
        let mut unwritten = None;
        let needs = async {
            write.await.map_err(|error| {
                let source = error.to_string().into();
                unwritten = Some(error);
                SandboxError::Cluster {
                    action: "write a run down".to_owned(),
                    source,
                }
            })
        };
        let begun = sandbox.begin(&frozen.image, &job, needs).await;
        let has_begun = matches!(begun, Ok(Progressing::Done(true)));
        if has_begun {
            // From here on a Pod that is not there is lost, and no longer one that is yet to be made.
            self.context.runs.is_under_way(self.uid(), Some(0));
        }
        unwritten.map_or(Ok(has_begun), Err)
    }

    /// Starts the program, or sees how far it is.
    pub async fn step(&mut self, frozen: &FrozenRun) -> Paused {
        // Only decides.
        if let Some(hold) = isolation::hold_of_run(self.context, &frozen.task) {
            return Err(hold.into());
        }
        // Read in each pass: credentials are in no snapshot.
        let variables = credentials::sandbox_variables(&self.context.client, &frozen.task).await?;
        let status = self.status();
        let owner = owner(&self.object, status.key.as_deref().unwrap_or_default());
        let job = job(frozen, &variables);
        let folder = self.folder(frozen);
        let runs = &self.context.runs;
        let sandbox = KubernetesSandbox {
            outputs: folder.as_ref(),
            is_under_way: runs.was_under_way(self.uid(), status.executions),
            ..self.context.sandbox(&frozen.task, &owner, &frozen.inputs)
        };
        let execution = u32::try_from(status.executions).unwrap_or_default();
        let redactor = Redactor::new(variables.iter());
        // Creates the Pod, or reads how far it is.
        let found = sandbox.run(&frozen.image, &job, execution).await;
        match &found {
            Ok(Progressing::Pending) => runs.is_under_way(self.uid(), Some(status.executions)),
            Ok(_) => {}
            // It may have been removed, to be made anew.
            Err(_) => runs.is_under_way(self.uid(), None),
        }
        match found {
            Ok(Progressing::Pending) => {
                self.goes_on().await?;
                Ok(Some(SAFETY_NET))
            }
            Ok(Progressing::Unseen) => Ok(Some(MOMENT)),
            Ok(Progressing::Queued(why)) => Err(queued(why).into()),
            Ok(Progressing::Done(report)) => {
                self.context.runs.has_reported(self.uid());
                Box::pin(self.ended(frozen, report, &redactor)).await
            }
            Err(error) => Box::pin(self.without_report(frozen, &error, &redactor)).await,
        }
    }

    /// There is a report: the run ends, or is repeated.
    async fn ended(&mut self, frozen: &FrozenRun, report: Report, redactor: &Redactor) -> Paused {
        // Reads, where need be by a Pod, before anything is concluded.
        let on_claim = match Box::pin(self.read_claim(frozen, &report)).await? {
            Progressing::Done(found) => found,
            Progressing::Queued(why) => return Err(queued(why).into()),
            Progressing::Pending | Progressing::Unseen => {
                control::record_hold(self, &claim_outputs::reading()).await?;
                return Ok(Some(READING));
            }
        };
        // The data is checked in a child process, not here.
        let mut read = self.read_outputs(frozen, &report).await?;
        match self.folder(frozen) {
            Some(folder) => claim_outputs::join(&mut read, &frozen.run.outputs, &folder, on_claim),
            None => read.room = OutputRoom::Unnamed,
        }
        let mut status = self.status();
        // Findings quote values, and a value may be a secret.
        status.findings.extend(
            read.findings
                .iter()
                .cloned()
                .map(|finding| redacted_finding(finding, redactor)),
        );
        let seconds = report.phases.first().map(|phase| phase.seconds);
        match bounded(conclude(report, read, redactor)) {
            RunEnd::Succeeded(written) => {
                // Writes the outputs, and after that the end that refers to them.
                let written = written
                    .into_iter()
                    .map(|output| without_secret(output, redactor))
                    .collect();
                let key = status.key.clone().unwrap_or_default();
                let owner = owner(&self.object, &key);
                let kept = outputs::store(&self.context.client, &owner, status.executions, written).await?;
                let status = self.writer().succeeded(status, kept, seconds.unwrap_or_default());
                self.end(status).await
            }
            RunEnd::Failed(failure) if failure.may_be_repeated() && self.has_retries(frozen) => {
                // Only recorded here: the change triggers the pass that starts it.
                let mut again = self.status();
                again.failures += 1;
                again.executions += 1;
                self.write(self.writer().running(again)).await?;
                Ok(None)
            }
            RunEnd::Failed(failure) => self.end(self.writer().failed(status, &failure, seconds)).await,
        }
    }

    /// Returns the folder that the present execution writes to, where it writes to a claim.
    fn folder(&self, frozen: &FrozenRun) -> Option<OutputFolder> {
        let claim = frozen.run.claim.as_ref()?;
        Some(claim_outputs::folder(
            &self.object,
            claim,
            self.status().executions,
        ))
    }

    /// Reads the outputs that the program left on the claim that the run names, once the Pod has ended that reads it.
    async fn read_claim<'a>(
        &self,
        frozen: &'a FrozenRun,
        report: &Report,
    ) -> Result<Progressing<Vec<(&'a Output, FoundOutput)>>, ReconcileError> {
        let (Some(folder), Ok(phase)) = (self.folder(frozen), program_end(report)) else {
            return Ok(Progressing::Done(Vec::new()));
        };
        let there = claim_outputs::left_there(frozen, phase);
        if there.is_empty() {
            return Ok(Progressing::Done(Vec::new()));
        }
        let owner = owner(&self.object, self.status().key.as_deref().unwrap_or_default());
        let found = claim_outputs::read(self.context, &owner, frozen, &folder, &there).await?;
        Ok(match found.done() {
            Ok(found) => Progressing::Done(there.into_iter().zip(found).collect()),
            Err(progress) => progress,
        })
    }

    async fn read_outputs(&self, frozen: &FrozenRun, report: &Report) -> Result<OutputsRead, Blocked> {
        let Ok(phase) = program_end(report) else {
            return Ok(OutputsRead::default());
        };
        let client = self.context.worker.clone().in_turn_of(&frozen.task.namespace);
        let data = RunData {
            client: &client,
            columns: &ColumnsByInput::new(),
            checks: &frozen.checks,
        };
        let severity = Severities::from(frozen.run.validation).outputs;
        let read = data.outputs(&frozen.run.outputs, severity, &phase.outputs).await;
        read.map_err(|error| unavailable(&format!("the outputs cannot be read: {}", with_causes(&error))))
    }

    fn has_retries(&self, frozen: &FrozenRun) -> bool {
        let failures = u32::try_from(self.status().failures).unwrap_or_default();
        failures < frozen.run.sandbox.retries
    }

    /// There is none: another sandbox is tried, or the run waits for a person.
    async fn without_report(
        &mut self,
        frozen: &FrozenRun,
        error: &SandboxError,
        redactor: &Redactor,
    ) -> Paused {
        let mut status = self.status();
        // Executions without a report: those in which the program failed are in `failures`.
        let lost = status.executions - status.failures;
        // Apart from those whose node went, which says nothing of the program.
        let silent = match error {
            SandboxError::NoReport(_) => self.context.runs.ended_silently(self.uid(), status.executions),
            _ => 0,
        };
        match error {
            SandboxError::EnvironmentMissing(image) => Err(Blocked(Hold {
                reason: run_reason::IMAGE_GONE,
                message: if self.object.spec.program_image.is_some() {
                    image::gone(image::ImageFields::OF_RUN, image)
                } else {
                    format!(
                        "the registry does not have the image {image}: push it again, or delete the task, apply it again and make \
                         another run"
                    )
                },
                until: Until::Corrected,
            })
            .into()),
            // The program can end the harness, so that must not be tried for ever.
            SandboxError::NoReport(_) if silent > MOST_SILENT => {
                let report = Report {
                    phases: Vec::new(),
                    seconds: 0.0,
                };
                Box::pin(self.ended(frozen, report, redactor)).await
            }
            error if error.needs_another_child() && lost < MOST_LOST => {
                tracing::info!(
                    error = with_causes(error),
                    "a sandbox of a run is lost, and another one takes its place"
                );
                status.executions += 1;
                self.write(self.writer().running(status)).await?;
                Ok(None)
            }
            error if error.needs_another_child() => Err(misconfigured(format!(
                "{}: that was {lost} times; look at the nodes, and make another run",
                with_causes(error)
            ))
            .into()),
            error => Err(match error.category() {
                Category::Configuration => misconfigured(with_causes(error)),
                Category::Infrastructure => {
                    unavailable(&with_causes(error))
                }
            }
            .into()),
        }
    }
}

/// Returns the job for the sandbox, which finds inputs by their names.
fn job(frozen: &FrozenRun, variables: &BTreeMap<String, String>) -> Job {
    let run = &frozen.run;
    run.job(&frozen.program, variables, |input, _| input.name.clone())
}

/// The end, with no more files than a status names.
fn bounded(end: RunEnd) -> RunEnd {
    let RunEnd::Succeeded(written) = &end else {
        return end;
    };
    let files: usize = written.iter().map(|output| output.files.len()).sum();
    if files <= outputs::MOST_FILES {
        return end;
    }
    RunEnd::Failed(RunFailure {
        reason: FailureReason::OutputTooLarge,
        message: format!(
            "the program wrote {files} files, and at most {} are kept of a run: have it write fewer, or one archive",
            outputs::MOST_FILES
        ),
        exit_code: Some(0),
        limit: None,
        last_lines: String::new(),
    })
}

/// The output; a value that holds a secret stands in its Secret alone.
fn without_secret(mut output: TypedOutput, redactor: &Redactor) -> TypedOutput {
    output.value = output.value.filter(|value| redactor.redact(value) == *value);
    output
}

#[cfg(test)]
mod tests {
    use super::*;
    use codegen_api::values::ValueType;
    use codegen_core::run::OutputFile;

    fn folder(files: usize) -> RunEnd {
        RunEnd::Succeeded(vec![TypedOutput {
            name: "pages".to_owned(),
            type_: ValueType::Dir,
            value: None,
            file_name: "pages".to_owned(),
            files: (0..files)
                .map(|number| OutputFile {
                    path: number.to_string(),
                    bytes: Vec::new(),
                })
                .collect(),
            stored: None,
        }])
    }

    #[test]
    fn a_folder_of_more_files_than_a_status_names_fails_the_run() {
        assert!(matches!(bounded(folder(128)), RunEnd::Succeeded(_)));
        let RunEnd::Failed(failure) = bounded(folder(129)) else {
            panic!("it succeeded");
        };
        assert_eq!(failure.reason, FailureReason::OutputTooLarge);
        assert!(failure.message.contains("129 files"), "{}", failure.message);
    }
}
