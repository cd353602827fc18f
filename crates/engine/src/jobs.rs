//! The jobs of an attempt: what runs in which sandbox.

use std::collections::{BTreeMap, BTreeSet};

use codegen_api::common::TestingMode;
use codegen_core::cases::{self, CaseExecution, CaseOrigin, CasesJudged};
use codegen_core::failed_check::tail;
use codegen_core::mounts::Rehearsal;
use codegen_core::progress::Progress;
use codegen_core::python::{Module, in_process::imports_program, outline::stub};
use codegen_core::sandbox::{
    InputMount, Job, MAX_OUTPUT_BYTES, Phase, PhaseEnd, PhaseName, PhaseReport, ProgramChannel, ProgramPhase,
    Report, TestPhase,
};
use codegen_core::stored_outputs::RunOnDisk;
use codegen_core::task::{FrozenFile, Task};
use codegen_ledger::Store;
use codegen_model::Model;
use codegen_sandbox::Sandbox;

use super::data::DataReader;
use super::on_disk::OnDisk;
use super::{Engine, EngineError};

/// Most bytes that are kept of the end of a failed case's output streams.
const CASE_STREAM_BYTES: usize = 4_096;

pub(super) struct Jobs {
    /// Job that a model may learn of.
    pub main: Job,
    /// The rehearsal where the samples are private: what runs beside it shows less.
    pub hidden: Option<Job>,
    /// True where the samples are private.
    pub is_private: bool,
    /// The rehearsal with its outputs on a disk, where it has any that may be too large for memory.
    pub on_disk: Option<OnDisk>,
    pub acceptance: Option<Job>,
    /// True where those tests have the program in their own process.
    pub acceptance_imports: bool,
    pub skipped_rehearsal: Option<String>,
    /// The cases, by sandbox.
    pub cases: Vec<CaseJob>,
}

/// Properties that cases which share a sandbox have in common: hidden or not, executed apart or not, and the frozen inputs.
type Key = (bool, bool, BTreeSet<String>);

/// Cases that share a sandbox.
pub(super) struct CaseJob {
    /// The job; `None` for those in the main one.
    pub job: Option<Job>,
    /// True where they are the user's examples, of which no model learns more than their count.
    pub is_hidden: bool,
    /// The cases in the order of the phases, each with its place among all.
    cases: Vec<(usize, CaseExecution)>,
}

/// Reports of the jobs of an attempt.
pub(super) struct Reports {
    pub main: Report,
    pub hidden: Option<Report>,
    pub on_disk: Option<RunOnDisk>,
    pub acceptance: Option<Report>,
    /// In the order of the sandboxes of cases; `None` for those in the main job.
    pub cases: Vec<Option<Report>>,
    /// Wall time from the beginning of the first execution to the end of the last.
    pub seconds: f64,
}

/// Seconds of the longest cases. Those of examples say nothing of a sandbox that a model learns of.
pub(super) struct SlowestCases {
    pub planned: f64,
    pub example: f64,
}

impl<M: Model, S: Store<Progress = Progress>, B: Sandbox, D: DataReader> Engine<'_, M, S, B, D> {
    /// The jobs of the present attempt.
    pub(super) async fn jobs(&self, progress: &Progress) -> Result<Jobs, EngineError> {
        let solution = self.text(progress.documents.solution.as_ref()).await?;
        let is_private = self.task.has_private_data();
        let mut phases = Vec::new();
        let mut hidden = Vec::new();
        let suite = self.suite(progress).await?;
        phases.extend(
            suite
                .as_deref()
                .map(|tests| suite_phase(PhaseName::Tests, &solution, tests)),
        );
        let on_disk = self.on_disk(&solution, self.checks(progress).await?);
        let skipped_rehearsal = match self.task.rehearsal() {
            Rehearsal::Run(_) if self.begins_on_disk(progress) && on_disk.is_some() => None,
            Rehearsal::Run(args) => {
                let rehearsal = Phase::Program(self.rehearsal(&solution, args));
                if is_private { &mut hidden } else { &mut phases }.push(rehearsal);
                None
            }
            Rehearsal::Skip(why) => Some(why),
        };
        if let Some(tests) = &suite {
            // Whether it finds a fault where there is nothing but faults.
            let module = Module::parse(&solution).map_err(codegen_core::prompts::PromptError::from)?;
            phases.push(suite_phase(PhaseName::Vacuity, &stub(&module), tests));
        }
        let samples = self.mounts(|_| true);
        // Private samples are not mounted where models see what is printed.
        let inputs = if is_private { Vec::new() } else { samples.clone() };
        let cases = self.case_jobs(progress, &solution, &inputs, &mut phases).await?;
        let acceptance = self.surroundings.acceptance_tests.as_ref().map(|tests| {
            let file = "test_acceptance.py".to_owned();
            TestPhase {
                name: PhaseName::Acceptance,
                solution: solution.clone(),
                tests: BTreeMap::from([(file, tests.clone())]),
                channel: self.channel(tests),
            }
        });
        let acceptance_imports = acceptance.as_ref().is_some_and(|phase| phase.channel.is_none());
        Ok(Jobs {
            main: self.job(phases, inputs),
            hidden: (!hidden.is_empty()).then(|| self.job(hidden, samples.clone())),
            is_private,
            on_disk,
            acceptance: acceptance.map(|phase| self.job(vec![Phase::Tests(phase)], samples)),
            acceptance_imports,
            skipped_rehearsal,
            cases,
        })
    }

    /// The cases of the present attempt by sandbox: each has the inputs that a run of it would have and no others. Those that have what
    /// the main job has (`inputs`) become `phases` of it.
    async fn case_jobs(
        &self,
        progress: &Progress,
        solution: &str,
        inputs: &[InputMount],
        phases: &mut Vec<Phase>,
    ) -> Result<Vec<CaseJob>, EngineError> {
        // Files of cases are written as the samples are.
        let forms = self.forms(progress).await?;
        let mut groups: BTreeMap<Key, Vec<_>> = BTreeMap::new();
        for (place, run) in self.cases(progress).await?.into_iter().enumerate() {
            let key = (
                run.origin == CaseOrigin::Example,
                run.is_apart,
                run.frozen(self.task),
            );
            groups.entry(key).or_default().push((place, run));
        }
        let of_main: BTreeSet<String> = inputs.iter().map(|input| input.name.clone()).collect();
        let job = |((is_hidden, is_apart, frozen), cases): (Key, Vec<(usize, CaseExecution)>)| {
            let beside = cases
                .iter()
                .map(|(_, run)| run.phase(self.task, &forms, solution));
            let job = if is_apart {
                cases.first().map(|(_, run)| {
                    let (phase, inputs) = run.as_run(self.task, &forms, solution, |file| self.source(file));
                    self.job(vec![phase], inputs)
                })
            } else if !is_hidden && frozen == of_main {
                // A program that hangs in one of them takes the time of no other phase with it.
                phases.extend(beside);
                None
            } else {
                let inputs = self.mounts(|name| frozen.contains(name));
                Some(self.job(beside.collect(), inputs))
            };
            CaseJob {
                job,
                is_hidden,
                cases,
            }
        };
        Ok(groups.into_iter().map(job).collect())
    }

    /// The generated suite; `None` where there is none.
    async fn suite(&self, progress: &Progress) -> Result<Option<String>, EngineError> {
        match &progress.documents.tests {
            Some(tests) if self.task.testing == TestingMode::Generate => {
                Ok(Some(self.text(Some(tests)).await?))
            }
            _ => Ok(None),
        }
    }

    /// The cases of the present attempt.
    pub(super) async fn cases(&self, progress: &Progress) -> Result<Vec<CaseExecution>, EngineError> {
        let mut set = self.case_set(progress).await?;
        set.seen.clone_from(&progress.seen_cases);
        Ok(cases::executions(self.task, &set))
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

    pub(super) fn rehearsal(&self, solution: &str, args: Vec<String>) -> ProgramPhase {
        let outputs = self.task.outputs.iter().map(|output| output.name.clone());
        ProgramPhase {
            name: PhaseName::Rehearsal,
            solution: solution.to_owned(),
            args,
            files: Vec::new(),
            outputs: outputs.collect(),
            max_output_bytes: MAX_OUTPUT_BYTES,
            disk_bytes: None,
            in_message: false,
        }
    }

    pub(super) fn job(&self, phases: Vec<Phase>, inputs: Vec<InputMount>) -> Job {
        let sandbox = &self.task.sandbox;
        let mut env = sandbox.env.clone();
        env.extend(self.surroundings.secret_env.clone());
        Job {
            phases,
            inputs,
            env,
            limits: sandbox.job_limits(),
            network: sandbox.network.clone(),
        }
    }

    /// The frozen inputs of these names, as they are mounted.
    pub(super) fn mounts(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<InputMount> {
        let mounts = self.task.mounts(|file| self.source(file)).into_iter();
        mounts.filter(|mount| is_wanted(&mount.name)).collect()
    }

    fn source(&self, file: &FrozenFile) -> String {
        self.surroundings
            .sources
            .get(&file.name)
            .cloned()
            .unwrap_or_default()
    }
}

impl Reports {
    /// Seconds of the longest of the plan's cases and of the longest example; 0 without any.
    pub fn slowest_cases(&self, jobs: &[CaseJob]) -> SlowestCases {
        let longest = |is_hidden: bool| {
            let own = jobs
                .iter()
                .zip(&self.cases)
                .filter(|(job, _)| job.is_hidden == is_hidden);
            let reports = own.filter_map(|(_, report)| report.as_ref());
            let main = (!is_hidden).then_some(&self.main);
            let phases = reports.chain(main).flat_map(|report| &report.phases);
            let cases = phases.filter(|phase| phase.name == PhaseName::Case);
            cases.map(|phase| phase.seconds).fold(0.0, f64::max)
        };
        SlowestCases {
            planned: longest(false),
            example: longest(true),
        }
    }
}

impl Jobs {
    /// Judges the cases that were reached. Where a program hung none follows in that sandbox: those decide nothing, and count as not passed.
    pub fn judge_cases(&self, task: &Task, reports: &Reports) -> CasesJudged {
        let mut runs = Vec::new();
        let mut done = Vec::new();
        let mut unreached = Vec::new();
        for (run, phase, has_hung) in self.case_reports(reports) {
            if phase.is_none() && has_hung {
                unreached.push(run.origin);
            } else {
                runs.push(run.clone());
                done.push(phase);
            }
        }
        let mut judged = cases::judge(task, &runs, done.into_iter());
        for origin in unreached {
            let counts = match origin {
                CaseOrigin::Example => &mut judged.examples,
                CaseOrigin::Plan(_) => &mut judged.cases,
            };
            counts.get_or_insert_default().total += 1;
        }
        judged
    }

    /// Returns the reports of the plan's cases that failed, by their names: the others are compared and forgotten.
    pub fn failed_cases(&self, reports: &Reports, judged: &CasesJudged) -> BTreeMap<String, PhaseReport> {
        let is_failed = |id: &String| {
            let mut failed = judged.failed.iter().chain(&judged.reported).chain(&judged.held);
            failed.any(|check| check.detail.id == *id)
        };
        self.case_reports(reports)
            .into_iter()
            .filter(|(run, ..)| run.origin != CaseOrigin::Example)
            .filter_map(|(run, phase, _)| {
                let id = Some(run.id()).filter(is_failed)?;
                let mut phase = phase?.clone();
                phase.stdout = tail(&phase.stdout, CASE_STREAM_BYTES);
                phase.stderr = tail(&phase.stderr, CASE_STREAM_BYTES);
                Some((id, phase))
            })
            .collect()
    }

    /// Returns each case with its report (`None` for one that never ran), and true where its sandbox ended with a phase that used up its
    /// time.
    fn case_reports<'a>(
        &'a self,
        reports: &'a Reports,
    ) -> Vec<(&'a CaseExecution, Option<&'a PhaseReport>, bool)> {
        let mut all: Vec<_> = (self.cases.iter().zip(&reports.cases))
            .flat_map(|(shared, report)| {
                let job = shared.job.as_ref().unwrap_or(&self.main);
                let report = report.as_ref().unwrap_or(&reports.main);
                let phases = phases_of_cases(job, report);
                let cases = shared.cases.iter().zip(phases);
                cases.map(move |((place, run), phase)| (*place, (run, phase, has_hung(report))))
            })
            .collect();
        all.sort_by_key(|(place, _)| *place);
        all.into_iter().map(|(_, case)| case).collect()
    }
}

/// The generated suite against a program.
fn suite_phase(name: PhaseName, solution: &str, tests: &str) -> Phase {
    Phase::Tests(TestPhase {
        name,
        solution: solution.to_owned(),
        tests: BTreeMap::from([("test_solution.py".to_owned(), tests.to_owned())]),
        channel: None,
    })
}

/// Reports whether a job ended with a phase that used up its time, as its own failure says.
fn has_hung(report: &Report) -> bool {
    report
        .phases
        .last()
        .is_some_and(|phase| phase.end == PhaseEnd::TimedOut && phase.name != PhaseName::Vacuity)
}

/// Returns the report of each case of a job; `None` for one that never ran.
fn phases_of_cases<'a>(job: &'a Job, report: &'a Report) -> impl Iterator<Item = Option<&'a PhaseReport>> {
    let is_case = |phase: &Phase| matches!(phase, Phase::Program(run) if run.name == PhaseName::Case);
    job.phases
        .iter()
        .enumerate()
        .filter(move |(_, phase)| is_case(phase))
        .map(|(index, _)| report.phases.get(index))
}
