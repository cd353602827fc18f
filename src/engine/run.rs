//! Runs tests, vacuity check, rehearsal and acceptance tests, and has them judged.

use std::collections::BTreeMap;

use futures::future::join3;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::api::common::TestingMode;
use crate::ledger::Store;
use crate::model::Model;
use crate::pipeline::advance::Outcome;
use crate::pipeline::cases::{self, CaseRun, CasesJudged, Origin};
use crate::pipeline::digest::sha256_hex;
use crate::pipeline::mounts::Rehearsal;
use crate::pipeline::private_run::told;
use crate::pipeline::progress::{Document, Progress};
use crate::pipeline::python::mutants::mutant_phase;
use crate::pipeline::python::sentinels::{self, plant};
use crate::pipeline::python::{Module, outline::stub, reach::imports_program};
use crate::pipeline::sandbox::{
    Job, MAX_OUTPUT_BYTES, OutputReport, Phase, PhaseEnd, PhaseName, PhaseReport, ProgramChannel,
    ProgramPhase, Report, Sentinels, TestPhase,
};
use crate::pipeline::stage::Category;
use crate::pipeline::task::Task;
use crate::pipeline::verdict::{RehearsalFindings, Verdict, judge, tail};
use crate::sandbox::{Progressing, Sandbox, SandboxError};

use super::data::DataReader;
use super::event::Event;
use super::redaction;
use super::{Engine, EngineError, MAX_LOST_CHILDREN, Performed, damaged};

/// How much of the end of a failed case's output streams is kept, bytes.
const CASE_STREAM_BYTES: usize = 4_096;

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
    /// What the cases that failed came to, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed_cases: BTreeMap<String, PhaseReport>,
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
    /// Runs the present attempt, or takes the run that is recorded.
    pub(super) async fn run(&self, progress: &Progress) -> Result<Performed, EngineError> {
        let name = format!("documents/run-{:04}.json", progress.attempt);
        if let Some(bytes) = self.store.read(&name).await? {
            let record: RunRecord =
                serde_json::from_slice(&bytes).map_err(|error| damaged(&name, &error.to_string()))?;
            let document = Document {
                sha256: sha256_hex(&bytes),
                bytes: bytes.len() as u64,
                name,
            };
            return Ok(Performed::Done(self.ran(document, record)));
        }
        let started_at = (self.clock)();
        let jobs = self.jobs(progress).await?;
        let image = progress
            .build
            .built
            .as_ref()
            .map(|built| built.image.clone())
            .unwrap_or_default();
        let reports = match self.execute(progress, &image, &jobs).await {
            Ok(Progressing::Done(reports)) => reports,
            Ok(Progressing::Pending) => return Ok(Performed::Pending),
            Ok(Progressing::Unseen) => return Ok(Performed::Unseen),
            Ok(Progressing::Queued(why)) => return Ok(Performed::Queued(why)),
            Err(SandboxError::EnvironmentMissing(_)) if progress.build.lost.as_ref() == Some(&image) => {
                let message = format!(
                    "the image {image} is in its registry, and a sandbox cannot find it there: nodes may know the registry by \
                     another name, which image.pullRepository says"
                );
                return Ok(Performed::Done(self.blocked(
                    progress,
                    Category::Configuration,
                    &message,
                )));
            }
            Err(SandboxError::EnvironmentMissing(_)) => return Ok(Performed::Done(Outcome::ImageLost)),
            Err(error) => return Ok(Performed::Done(self.sandbox_failed(progress, &error))),
        };
        let record = match self.judged(progress, &jobs, reports, started_at).await? {
            Ok(record) => record,
            Err(message) => {
                return Ok(Performed::Done(self.blocked(
                    progress,
                    Category::Infrastructure,
                    &message,
                )));
            }
        };
        let bytes = serde_json::to_vec(&record).map_err(|error| damaged(&name, &error.to_string()))?;
        let document = self.put(name, &bytes).await?;
        Ok(Performed::Done(self.ran(document, record)))
    }

    fn ran(&self, document: Document, record: RunRecord) -> Outcome {
        let verdict = &record.verdict;
        self.tell(&Event::TestsFinished {
            attempt: record.attempt,
            tests: verdict.tests,
            cases: verdict.cases,
            examples: verdict.examples,
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

    async fn execute(
        &self,
        progress: &Progress,
        image: &str,
        jobs: &Jobs,
    ) -> Result<Progressing<Reports>, SandboxError> {
        let (main, private, acceptance) = join3(
            self.execute_one(progress, image, &jobs.main),
            self.execute_any(progress, image, jobs.private.as_ref()),
            self.execute_any(progress, image, jobs.acceptance.as_ref()),
        )
        .await;
        Ok(match (main?, private?, acceptance?) {
            (Progressing::Done(main), Progressing::Done(private), Progressing::Done(acceptance)) => {
                Progressing::Done(Reports {
                    main,
                    private,
                    acceptance,
                })
            }
            (Progressing::Queued(why), _, _)
            | (_, Progressing::Queued(why), _)
            | (_, _, Progressing::Queued(why)) => Progressing::Queued(why),
            (Progressing::Unseen, _, _) | (_, Progressing::Unseen, _) | (_, _, Progressing::Unseen) => {
                Progressing::Unseen
            }
            (Progressing::Pending, _, _) | (_, Progressing::Pending, _) | (_, _, Progressing::Pending) => {
                Progressing::Pending
            }
        })
    }

    async fn execute_any(
        &self,
        progress: &Progress,
        image: &str,
        job: Option<&Job>,
    ) -> Result<Progressing<Option<Report>>, SandboxError> {
        let Some(job) = job else {
            return Ok(Progressing::Done(None));
        };
        Ok(match self.execute_one(progress, image, job).await? {
            Progressing::Done(report) => Progressing::Done(Some(report)),
            Progressing::Pending => Progressing::Pending,
            Progressing::Unseen => Progressing::Unseen,
            Progressing::Queued(why) => Progressing::Queued(why),
        })
    }

    /// One execution, repeated when it failed as an execution (S07: never for a failing test).
    async fn execute_one(
        &self,
        progress: &Progress,
        image: &str,
        job: &Job,
    ) -> Result<Progressing<Report>, SandboxError> {
        if job.phases.is_empty() {
            return Ok(Progressing::Done(nothing_reported()));
        }
        let retries = self.task.sandbox.retries;
        let first = progress.lost_children * (retries + 1);
        let mut repeat = first;
        loop {
            match self.sandbox.run(image, job, repeat).await {
                Ok(Progressing::Done(report))
                    if repeat - first < retries && report.is_failed_execution(job) =>
                {
                    repeat += 1;
                }
                Err(error) if repeat - first < retries && error.category() == Category::Infrastructure => {
                    repeat += 1;
                }
                // Code under test can end the harness, so that must not be tried for ever.
                Err(SandboxError::NoReport(_)) if progress.lost_children >= MAX_LOST_CHILDREN => {
                    return Ok(Progressing::Done(nothing_reported()));
                }
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
        let Reports {
            main,
            private,
            acceptance,
        } = reports;
        let rehearsal = main
            .phases
            .iter()
            .chain(private.iter().flat_map(|report| &report.phases))
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
        let cases = jobs.judge_cases(self.task, &main, private.as_ref());
        let acceptance = jobs.acceptance_sentinels.as_ref().zip(acceptance.as_ref());
        let skipped = jobs.skipped_rehearsal.as_deref();
        let mut verdict = match jobs.private.as_ref().zip(private.as_ref()) {
            None => judge(&[(&jobs.main, &main)], acceptance, &findings, skipped, cases),
            Some((job, report)) => {
                let told = self.told(progress, report).await?;
                let runs = [(&jobs.main, &main), (job, &told)];
                judge(&runs, acceptance, &findings.told(), skipped, cases)
            }
        };
        let mut failed_cases = jobs.failed_cases(&main, &verdict);
        redaction::phases(redactor, failed_cases.values_mut());
        verdict.acceptance_imports = jobs.acceptance_imports;
        let mut report = joined(main, private);
        report.phases.retain(|phase| phase.name != PhaseName::Case);
        redaction::report(redactor, &mut report);
        sentinels::take_out(&jobs.main, &mut report);
        redaction::findings(redactor, &mut findings);
        redaction::verdict(redactor, &mut verdict);
        Ok(Ok(RunRecord {
            attempt: progress.attempt,
            started_at,
            report,
            findings,
            failed_cases,
            verdict,
        }))
    }

    /// What a run on private samples may tell.
    async fn told(&self, progress: &Progress, report: &Report) -> Result<Report, EngineError> {
        let solution = self.text(progress.documents.solution.as_ref()).await?;
        let profiles = match &progress.documents.profiles {
            Some(document) => self.get(document).await?,
            None => Vec::new(),
        };
        Ok(told(report, &solution, &self.data.columns(self.task, &profiles)))
    }

    async fn jobs(&self, progress: &Progress) -> Result<Jobs, EngineError> {
        let solution = self.text(progress.documents.solution.as_ref()).await?;
        let is_private = self.task.has_private_data();
        let mut phases = Vec::new();
        let mut private = Vec::new();
        if self.task.testing == TestingMode::Generate {
            let tests = self.text(progress.documents.tests.as_ref()).await?;
            phases.push(self.test_phase(
                progress.attempt,
                PhaseName::Tests,
                &solution,
                "test_solution.py",
                &tests,
            ));
        }
        let skipped_rehearsal = match self.task.rehearsal() {
            Rehearsal::Run(args) => {
                let rehearsal = self.rehearsal(&solution, args);
                if is_private {
                    private.push(rehearsal);
                } else {
                    phases.push(rehearsal);
                }
                None
            }
            Rehearsal::Skip(why) => Some(why),
        };
        let cases = self.cases(progress).await?;
        let forms = self.forms(progress).await?;
        for run in &cases {
            let phase = run.phase(self.task, &forms, &solution);
            if is_private && run.origin == Origin::Example {
                private.push(phase);
            } else {
                phases.push(phase);
            }
        }
        // Last, so that a suite that hangs without the bodies takes no time from what counts.
        if self.task.testing == TestingMode::Generate {
            let tests = self.text(progress.documents.tests.as_ref()).await?;
            let module = Module::parse(&solution).map_err(crate::pipeline::prompts::PromptError::from)?;
            phases.push(self.test_phase(
                progress.attempt,
                PhaseName::Vacuity,
                &stub(&module),
                "test_solution.py",
                &tests,
            ));
            let suite = Module::parse(&tests).map_err(crate::pipeline::prompts::PromptError::from)?;
            let decides = progress.mutants_decide(self.task);
            phases.extend(mutant_phase(&module, &suite, decides).map(Phase::Mutants));
        }
        let acceptance = self.surroundings.acceptance_tests.as_ref().map(|tests| {
            let file = "test_acceptance.py";
            let mut phase =
                self.test_phase_of(progress.attempt, PhaseName::Acceptance, &solution, file, tests);
            phase.channel = self.channel(tests);
            phase
        });
        let acceptance_sentinels = acceptance.as_ref().map(|phase| phase.sentinels.clone());
        let acceptance_imports = acceptance.as_ref().is_some_and(|phase| phase.channel.is_none());
        Ok(Jobs {
            main: self.job(phases, !is_private),
            private: (!private.is_empty()).then(|| self.job(private, true)),
            acceptance: acceptance.map(|phase| self.job(vec![Phase::Tests(phase)], true)),
            acceptance_sentinels,
            acceptance_imports,
            skipped_rehearsal,
            cases,
        })
    }

    /// The cases of the present attempt.
    pub(super) async fn cases(&self, progress: &Progress) -> Result<Vec<CaseRun>, EngineError> {
        let mut set = self.case_set(progress).await?;
        set.forms = self.forms(progress).await?;
        Ok(cases::runs(self.task, &set, progress.attempt > 1))
    }

    /// By what acceptance tests see the program, unless they import it.
    fn channel(&self, tests: &str) -> Option<ProgramChannel> {
        (!imports_program(tests)).then(|| ProgramChannel {
            outputs: self
                .task
                .outputs
                .iter()
                .map(|output| output.name.clone())
                .collect(),
            max_output_bytes: MAX_OUTPUT_BYTES,
        })
    }

    fn test_phase(&self, attempt: u32, name: PhaseName, solution: &str, file: &str, tests: &str) -> Phase {
        Phase::Tests(self.test_phase_of(attempt, name, solution, file, tests))
    }

    fn test_phase_of(
        &self,
        attempt: u32,
        name: PhaseName,
        solution: &str,
        file: &str,
        tests: &str,
    ) -> TestPhase {
        // The same in every session of the attempt: two sessions of one suite would show where they differ.
        let secret = self.surroundings.unguessable(&[&attempt.to_string(), file]);
        let suite = BTreeMap::from([(file.to_owned(), tests.to_owned())]);
        let (tests, sentinels) = plant(&suite, &secret);
        TestPhase {
            name,
            solution: solution.to_owned(),
            tests,
            sentinels,
            channel: None,
        }
    }

    fn rehearsal(&self, solution: &str, args: Vec<String>) -> Phase {
        let outputs = self.task.outputs.iter().map(|output| output.name.clone());
        Phase::Program(ProgramPhase {
            name: PhaseName::Rehearsal,
            solution: solution.to_owned(),
            args,
            files: Vec::new(),
            outputs: outputs.collect(),
            max_output_bytes: MAX_OUTPUT_BYTES,
            disk_bytes: None,
            in_message: false,
        })
    }

    fn job(&self, phases: Vec<Phase>, has_inputs: bool) -> Job {
        let sandbox = &self.task.sandbox;
        let sources = &self.surroundings.sources;
        let mut env = sandbox.env.clone();
        env.extend(self.surroundings.secret_env.clone());
        Job {
            phases,
            inputs: if has_inputs {
                self.task
                    .mounts(|file| sources.get(&file.name).cloned().unwrap_or_default())
            } else {
                Vec::new()
            },
            env,
            limits: sandbox.job_limits(),
            network: sandbox.network.clone(),
        }
    }
}

fn nothing_reported() -> Report {
    Report {
        phases: Vec::new(),
        seconds: 0.0,
    }
}

struct Jobs {
    /// Everything but the acceptance tests, and the rehearsal where the samples are private.
    main: Job,
    /// The rehearsal where the samples are private: what runs beside them tells less.
    private: Option<Job>,
    acceptance: Option<Job>,
    acceptance_sentinels: Option<Sentinels>,
    /// Whether those tests have the program in their own process.
    acceptance_imports: bool,
    skipped_rehearsal: Option<String>,
    /// In the order in which they run; the user's are in the private job where there is one.
    cases: Vec<CaseRun>,
}

impl Jobs {
    fn judge_cases(&self, task: &Task, main: &Report, private: Option<&Report>) -> CasesJudged {
        let private = self
            .private
            .iter()
            .zip(private)
            .flat_map(|(job, report)| case_reports(job, report));
        cases::judge(task, &self.cases, private.chain(case_reports(&self.main, main)))
    }

    /// What the plan's cases that failed came to, by their names: the others are compared and forgotten.
    fn failed_cases(&self, main: &Report, verdict: &Verdict) -> BTreeMap<String, PhaseReport> {
        let is_failed = |id: &String| verdict.failed.iter().any(|check| check.detail.id == *id);
        let has_private = self.private.is_some();
        let runs = self
            .cases
            .iter()
            .filter(|run| !(has_private && run.origin == Origin::Example));
        runs.zip(case_reports(&self.main, main))
            .filter(|(run, _)| run.origin != Origin::Example)
            .filter_map(|(run, phase)| {
                let id = Some(run.id()).filter(is_failed)?;
                let mut phase = phase?.clone();
                phase.stdout = tail(&phase.stdout, CASE_STREAM_BYTES);
                phase.stderr = tail(&phase.stderr, CASE_STREAM_BYTES);
                Some((id, phase))
            })
            .collect()
    }
}

/// What each case of a job came to; `None` for one that never ran.
fn case_reports<'a>(job: &'a Job, report: &'a Report) -> impl Iterator<Item = Option<&'a PhaseReport>> {
    let is_case = |phase: &Phase| matches!(phase, Phase::Program(run) if run.name == PhaseName::Case);
    job.phases
        .iter()
        .enumerate()
        .filter(move |(_, phase)| is_case(phase))
        .map(|(index, _)| report.phases.get(index))
}

struct Reports {
    main: Report,
    private: Option<Report>,
    acceptance: Option<Report>,
}

/// Two reports as one, as if all had run in one job.
fn joined(mut main: Report, further: Option<Report>) -> Report {
    if let Some(further) = further {
        main.phases.extend(further.phases);
        main.seconds = main.seconds.max(further.seconds);
    }
    main
}
