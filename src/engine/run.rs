//! Runs tests, vacuity check, rehearsal and acceptance tests, and has them judged.

use std::collections::BTreeMap;

use futures::future::join;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::api::common::TestingMode;
use crate::ledger::Store;
use crate::model::Model;
use crate::pipeline::advance::Outcome;
use crate::pipeline::digest::sha256_hex;
use crate::pipeline::mounts::Rehearsal;
use crate::pipeline::progress::{Document, Progress};
use crate::pipeline::python::{Module, outline::stub};
use crate::pipeline::sandbox::{
    Job, JobLimits, OutputReport, Phase, PhaseEnd, PhaseName, ProgramPhase, Report, Sentinels, TestPhase,
};
use crate::pipeline::stage::Category;
use crate::pipeline::verdict::{RehearsalFindings, Verdict, judge};
use crate::sandbox::{Progressing, Sandbox, SandboxError};

use super::data::DataReader;
use super::event::Event;
use super::redaction;
use super::{Engine, EngineError, damaged};

/// Largest output that is brought back from a sandbox.
const MAX_OUTPUT_BYTES: u64 = 1 << 20;
/// Processes and threads of one sandbox.
const MAX_PROCESSES: u32 = 128;
/// Largest file that a sandboxed program may write.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Everything that one attempt's run showed, as it is stored.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct RunRecord {
    /// Which attempt.
    pub attempt: u32,
    /// When it started.
    pub started_at: Timestamp,
    /// What the sandbox reported, secrets taken out. Never holds anything of the acceptance tests but their count.
    pub report: Report,
    /// What was found in the rehearsal's outputs.
    pub findings: RehearsalFindings,
    /// The verdict.
    pub verdict: Verdict,
}

impl RunRecord {
    /// What the rehearsal wrote.
    #[must_use]
    pub fn outputs(&self) -> &[OutputReport] {
        let rehearsal = self
            .report
            .phases
            .iter()
            .find(|phase| phase.name == PhaseName::Rehearsal);
        rehearsal.map_or(&[], |phase| &phase.outputs)
    }
}

impl<M: Model, S: Store, B: Sandbox, D: DataReader> Engine<'_, M, S, B, D> {
    /// Runs the present attempt, or takes the run that is recorded; `None` while a child still runs it.
    pub(super) async fn run(&self, progress: &Progress) -> Result<Option<Outcome>, EngineError> {
        let name = format!("documents/run-{:04}.json", progress.attempt);
        if let Some(bytes) = self.store.read(&name).await? {
            let record: RunRecord =
                serde_json::from_slice(&bytes).map_err(|error| damaged(&name, &error.to_string()))?;
            let document = Document {
                sha256: sha256_hex(&bytes),
                bytes: bytes.len() as u64,
                name,
            };
            return Ok(Some(self.ran(document, record)));
        }
        let started_at = (self.clock)();
        let jobs = self.jobs(progress).await?;
        let image = progress
            .build
            .built
            .as_ref()
            .map(|built| built.image.clone())
            .unwrap_or_default();
        let reports = match self.execute(&image, &jobs).await {
            Ok(Some(reports)) => reports,
            Ok(None) => return Ok(None),
            Err(SandboxError::EnvironmentMissing(_)) => return Ok(Some(Outcome::ImageLost)),
            Err(error) => return Ok(Some(self.blocked(progress, error.category(), &error.to_string()))),
        };
        let record = match self.judged(progress, &jobs, reports, started_at).await? {
            Ok(record) => record,
            Err(message) => {
                return Ok(Some(self.blocked(progress, Category::Infrastructure, &message)));
            }
        };
        let bytes = serde_json::to_vec(&record).map_err(|error| damaged(&name, &error.to_string()))?;
        let document = self.put(name, &bytes).await?;
        Ok(Some(self.ran(document, record)))
    }

    fn ran(&self, document: Document, record: RunRecord) -> Outcome {
        let verdict = &record.verdict;
        self.tell(&Event::TestsFinished {
            attempt: record.attempt,
            tests: verdict.tests,
            acceptance: verdict.acceptance,
            failing: verdict
                .failed
                .iter()
                .map(crate::pipeline::verdict::FailedCheck::headline)
                .collect(),
            rehearsal: verdict.rehearsal.clone(),
        });
        Outcome::Ran {
            run: document,
            verdict: Box::new(record.verdict),
            started_at: record.started_at,
        }
    }

    async fn execute(&self, image: &str, jobs: &Jobs) -> Result<Option<Reports>, SandboxError> {
        let acceptance = async {
            match &jobs.acceptance {
                Some(job) => self.execute_one(image, job).await.map(Some),
                None => Ok(None),
            }
        };
        let (main, acceptance) = join(self.execute_one(image, &jobs.main), acceptance).await;
        let (main, acceptance) = (main?, acceptance?);
        Ok(match (main, acceptance) {
            (Progressing::Done(main), None) => Some(Reports {
                main,
                acceptance: None,
            }),
            (Progressing::Done(main), Some(Progressing::Done(done))) => Some(Reports {
                main,
                acceptance: Some(done),
            }),
            (Progressing::Pending, _) | (_, Some(Progressing::Pending)) => None,
        })
    }

    /// One execution, repeated when it failed as an execution (S07: never for a failing test).
    async fn execute_one(&self, image: &str, job: &Job) -> Result<Progressing<Report>, SandboxError> {
        if job.phases.is_empty() {
            return Ok(Progressing::Done(Report {
                phases: Vec::new(),
                seconds: 0.0,
            }));
        }
        let mut tries = self.task.sandbox.retries;
        loop {
            match self.sandbox.run(image, job).await {
                Ok(Progressing::Done(report)) if tries > 0 && failed_execution(job, &report) => tries -= 1,
                Err(error) if tries > 0 && error.category() == Category::Infrastructure => tries -= 1,
                other => return other,
            }
        }
    }

    async fn judged(
        &self,
        progress: &Progress,
        jobs: &Jobs,
        reports: Reports,
        started_at: Timestamp,
    ) -> Result<Result<RunRecord, String>, EngineError> {
        let redactor = &self.surroundings.redactor;
        let mut report = reports.main;
        let rehearsal = report
            .phases
            .iter()
            .find(|phase| phase.name == PhaseName::Rehearsal);
        let mut findings = match rehearsal {
            Some(phase) if phase.end == PhaseEnd::Exited(0) => {
                let checks = self.checks(progress).await?;
                match self.data.judge(self.task, &phase.outputs, &checks).await {
                    Ok(findings) => findings,
                    Err(error) => return Ok(Err(error.to_string())),
                }
            }
            _ => RehearsalFindings::default(),
        };
        let acceptance = jobs
            .acceptance_sentinels
            .as_ref()
            .zip(reports.acceptance.as_ref());
        let mut verdict = judge(
            &jobs.main,
            &report,
            acceptance,
            &findings,
            jobs.skipped_rehearsal.as_deref(),
        );
        redaction::report(redactor, &mut report);
        redaction::findings(redactor, &mut findings);
        redaction::verdict(redactor, &mut verdict);
        Ok(Ok(RunRecord {
            attempt: progress.attempt,
            started_at,
            report,
            findings,
            verdict,
        }))
    }

    async fn jobs(&self, progress: &Progress) -> Result<Jobs, EngineError> {
        let solution = self.text(progress.documents.solution.as_ref()).await?;
        let mut phases = Vec::new();
        if self.task.testing == TestingMode::Generate {
            let tests = self.text(progress.documents.tests.as_ref()).await?;
            phases.push(test_phase(
                PhaseName::Tests,
                &solution,
                "test_solution.py",
                &tests,
            ));
        }
        let skipped_rehearsal = match self.task.rehearsal() {
            Rehearsal::Run(args) => {
                phases.push(Phase::Program(ProgramPhase {
                    name: PhaseName::Rehearsal,
                    solution: solution.clone(),
                    args,
                    outputs: self
                        .task
                        .outputs
                        .iter()
                        .map(|output| output.name.clone())
                        .collect(),
                    max_output_bytes: MAX_OUTPUT_BYTES,
                }));
                None
            }
            Rehearsal::Skip(why) => Some(why),
        };
        // Last, so that a suite that hangs without the bodies takes no time from what counts.
        if self.task.testing == TestingMode::Generate {
            let tests = self.text(progress.documents.tests.as_ref()).await?;
            let module = Module::parse(&solution).map_err(crate::pipeline::prompts::PromptError::from)?;
            phases.push(test_phase(
                PhaseName::Vacuity,
                &stub(&module),
                "test_solution.py",
                &tests,
            ));
        }
        let acceptance = self
            .surroundings
            .acceptance_tests
            .as_ref()
            .map(|tests| test_phase(PhaseName::Acceptance, &solution, "test_acceptance.py", tests));
        let acceptance_sentinels = match &acceptance {
            Some(Phase::Tests(phase)) => Some(phase.sentinels.clone()),
            Some(Phase::Program(_)) | None => None,
        };
        Ok(Jobs {
            main: self.job(phases),
            acceptance: acceptance.map(|phase| self.job(vec![phase])),
            acceptance_sentinels,
            skipped_rehearsal,
        })
    }

    fn job(&self, phases: Vec<Phase>) -> Job {
        let sandbox = &self.task.sandbox;
        let sources = &self.surroundings.sources;
        let mut env = sandbox.env.clone();
        env.extend(self.surroundings.secret_env.clone());
        Job {
            phases,
            inputs: self
                .task
                .mounts(|file| sources.get(&file.name).cloned().unwrap_or_default()),
            env,
            limits: JobLimits {
                timeout_seconds: sandbox.timeout_seconds,
                cpus: sandbox.cpus,
                memory_bytes: sandbox.memory_bytes,
                processes: MAX_PROCESSES,
                file_bytes: MAX_FILE_BYTES,
            },
            network: sandbox.network.clone(),
        }
    }
}

struct Jobs {
    main: Job,
    acceptance: Option<Job>,
    acceptance_sentinels: Option<Sentinels>,
    skipped_rehearsal: Option<String>,
}

struct Reports {
    main: Report,
    acceptance: Option<Report>,
}

/// Whether the execution as such failed: a limit, a signal, a phase that never started. How the program without bodies fares
/// is no matter of the execution.
fn failed_execution(job: &Job, report: &Report) -> bool {
    let vacuity = |phase: &Phase| matches!(phase, Phase::Tests(asked) if asked.name == PhaseName::Vacuity);
    job.phases
        .iter()
        .enumerate()
        .filter(|(_, phase)| !vacuity(phase))
        .any(|(index, _)| {
            !report
                .phases
                .get(index)
                .is_some_and(|done| matches!(done.end, PhaseEnd::Exited(_)))
        })
}

fn test_phase(name: PhaseName, solution: &str, file: &str, tests: &str) -> Phase {
    Phase::Tests(TestPhase {
        name,
        solution: solution.to_owned(),
        tests: BTreeMap::from([(file.to_owned(), tests.to_owned())]),
        sentinels: Sentinels {
            must_pass: random_name(),
            must_fail: random_name(),
        },
    })
}

/// A name that code under test cannot guess.
fn random_name() -> String {
    let letters: String = std::iter::repeat_with(fastrand::lowercase).take(16).collect();
    format!("test_{letters}")
}
