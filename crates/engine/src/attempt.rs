//! Runs tests, vacuity check, rehearsal and acceptance tests, and has them judged.

use std::collections::BTreeMap;
use std::mem::take;

use futures::future::{join, join_all};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use codegen_api::common::TestingMode;
use codegen_api::status::SuiteStrength;
use codegen_core::machine::{Outcome, Tested};
use codegen_core::private_samples::visible_report;
use codegen_core::progress::{Document, Progress};
use codegen_core::run::OutputsRead;
use codegen_core::sandbox::{Job, OutputReport, PhaseEnd, PhaseName, PhaseReport, Report, TestFailure};
use codegen_core::scope::doubtful;
use codegen_core::stage::Category;
use codegen_core::verdict::{RehearsalFindings, Verdict, acceptance_failures, judge};
use codegen_ledger::Store;
use codegen_model::Model;
use codegen_sandbox::{Progressing, Sandbox, SandboxError};

use super::data::DataReader;
use super::documents::{from_bytes, to_bytes};
use super::event::Event;
use super::jobs::{Jobs, Reports};
use super::on_disk::take_rehearsal;
use super::redaction;
use super::{Engine, EngineError, MAX_LOST_CHILDREN, Performed};

/// Everything that the tests of one attempt showed, as it is stored.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct AttemptRecord {
    /// Number of the attempt.
    pub attempt: u32,
    /// Time at which it started.
    pub started_at: Timestamp,
    /// Report of the sandbox, secrets taken out. Never holds anything of the acceptance tests.
    pub report: Report,
    /// Findings in the rehearsal's outputs.
    pub findings: RehearsalFindings,
    /// Reports of the cases that failed, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed_cases: BTreeMap<String, PhaseReport>,
    /// Failures of acceptance tests, for their owner: no prompt is made of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_acceptance: Vec<TestFailure>,
    /// Examples that failed, for their owner: no prompt is made of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_examples: Vec<TestFailure>,
    /// The verdict.
    pub verdict: Verdict,
    /// The program that was tested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub solution: Option<Document>,
    /// The suite that it was tested with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<Document>,
}

impl AttemptRecord {
    /// Returns the outputs of the rehearsal.
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

impl<M: Model, S: Store<Progress = Progress>, B: Sandbox, D: DataReader> Engine<'_, M, S, B, D> {
    /// Tests the present attempt, or takes the result that is recorded.
    pub(super) async fn run(&self, progress: &Progress) -> Result<Performed, EngineError> {
        let name = format!("documents/run-{:04}.json", progress.attempt);
        // The name follows from the attempt: after a kill the tests that ran are judged as they were, and not run again.
        if let Some(bytes) = self.store.read(&name).await? {
            let record: AttemptRecord = from_bytes(&name, &bytes)?;
            return Ok(Performed::Done(self.ran(Document::of(name, &bytes), record)));
        }
        // Only reads, up to the sandboxes.
        let started_at = (self.clock)();
        let mut jobs = self.jobs(progress).await?;
        let image = progress
            .build
            .built
            .as_ref()
            .map(|built| built.image.clone())
            .unwrap_or_default();
        let answer = self.execute(progress, &image, &jobs).await;
        let reports = match self.reported(progress, &image, answer) {
            Ok(reports) => reports,
            Err(performed) => return Ok(*performed),
        };
        // A pass that finds them done began after they did.
        let took = SignedDuration::try_from_secs_f64(reports.seconds).unwrap_or_default();
        let started_at = (self.clock)()
            .checked_sub(took)
            .map_or(started_at, |began| began.min(started_at));
        // Only decides, then writes the record; the state moves after that.
        let slowest = reports.slowest_cases(&jobs.cases);
        let mut record = match self.judged(progress, &mut jobs, reports, started_at).await? {
            Ok(record) => record,
            Err(message) => {
                return Ok(Performed::Done(self.blocked(
                    progress,
                    Category::Infrastructure,
                    &message,
                )));
            }
        };
        if record.verdict.passed()
            && let Some(asked) = self.near_miss_jobs(progress, &slowest).await?
        {
            let answer = self.count_near_misses(progress, &image, &asked).await;
            match self.reported(progress, &image, answer) {
                Ok(counts) => record.verdict.near_misses = Some(counts),
                Err(performed) => return Ok(*performed),
            }
        }
        let bytes = to_bytes(&name, &record)?;
        let document = self.put(name, &bytes).await?;
        Ok(Performed::Done(self.ran(document, record)))
    }

    /// Returns the report of a sandbox with `image`, or the outcome of its absence.
    pub(super) fn reported<T>(
        &self,
        progress: &Progress,
        image: &str,
        answer: Result<Progressing<T>, SandboxError>,
    ) -> Result<T, Box<Performed>> {
        let outcome = match answer {
            Ok(progressing) => return progressing.done().map_err(Box::new),
            // The image was built again since, so another build would change nothing.
            Err(SandboxError::EnvironmentMissing(_)) if progress.build.lost.as_deref() == Some(image) => {
                let message = format!(
                    "the image {image} is in its registry, and a sandbox cannot find it there: nodes may know the registry by \
                     another name, which image.pullRepository says"
                );
                self.blocked(progress, Category::Configuration, &message)
            }
            Err(SandboxError::EnvironmentMissing(_)) => Outcome::ImageLost,
            Err(error) => self.sandbox_failed(progress, &error),
        };
        Err(Box::new(Performed::Done(outcome)))
    }

    fn ran(&self, document: Document, record: AttemptRecord) -> Outcome {
        let verdict = &record.verdict;
        self.emit(&Event::TestsFinished {
            attempt: record.attempt,
            tests: verdict.tests,
            cases: verdict.cases,
            examples: verdict.examples,
            acceptance: verdict.acceptance,
            failing: verdict
                .failed
                .iter()
                .map(codegen_core::verdict::FailedCheck::headline)
                .collect(),
            rehearsal: verdict.rehearsal.clone(),
        });
        Outcome::Tested(Tested {
            record: document,
            verdict: Box::new(record.verdict),
            started_at: record.started_at,
        })
    }

    /// Runs the jobs. A program can leave words for one that runs at the same time on the same machine, whatever is between them
    /// (locks, load, time), so nothing that sees what models shall not see runs beside something whose output they are shown.
    async fn execute(
        &self,
        progress: &Progress,
        image: &str,
        jobs: &Jobs,
    ) -> Result<Progressing<Reports>, SandboxError> {
        // A case that is executed as a run is begins with the tests, so that nobody waits for it. What it is given is the plan's, and no data of
        // the user's.
        let main = self.execute_one(progress, image, &jobs.main);
        let shown = self.execute_cases(progress, image, jobs, false);
        let (main, shown) = join(main, shown).await;
        let (main, shown) = match both(main?, shown?).done() {
            Ok(done) => done,
            Err(waits) => return Ok(waits),
        };
        // All that a model sees has ended, so that this may run. Of a rehearsal a little is shown.
        let hidden = match self
            .execute_any(progress, image, jobs.hidden.as_ref())
            .await?
            .done()
        {
            Ok(hidden) => hidden,
            Err(waits) => return Ok(waits),
        };
        let in_memory = hidden.as_ref().and_then(rehearsal_in).or(rehearsal_in(&main));
        let on_disk = self.execute_on_disk(progress, image, jobs.on_disk.as_ref(), in_memory);
        let on_disk = match on_disk.await?.done() {
            Ok(on_disk) => on_disk,
            Err(waits) => return Ok(waits),
        };
        let acceptance = self.execute_any(progress, image, jobs.acceptance.as_ref());
        let examples = self.execute_cases(progress, image, jobs, true);
        let (acceptance, examples) = join(acceptance, examples).await;
        let (acceptance, examples) = match both(acceptance?, examples?).done() {
            Ok(done) => done,
            Err(waits) => return Ok(waits),
        };
        let seconds = longest(&shown).max(main.seconds)
            + longest([&hidden])
            + on_disk.as_ref().map_or(0.0, |done| done.report.seconds)
            + longest(examples.iter().chain([&acceptance]));
        let cases = shown
            .into_iter()
            .zip(examples)
            .map(|(shown, hidden)| shown.or(hidden));
        Ok(Progressing::Done(Reports {
            main,
            hidden,
            on_disk,
            acceptance,
            cases: cases.collect(),
            seconds,
        }))
    }

    /// The sandboxes of cases that are hidden or not, all at once; `None` in the place of the others.
    async fn execute_cases(
        &self,
        progress: &Progress,
        image: &str,
        jobs: &Jobs,
        are_hidden: bool,
    ) -> Result<Progressing<Vec<Option<Report>>>, SandboxError> {
        let done = join_all(jobs.cases.iter().map(|cases| {
            let job = cases.job.as_ref().filter(|_| cases.is_hidden == are_hidden);
            self.execute_any(progress, image, job)
        }));
        let mut all = Progressing::Done(Vec::new());
        for report in done.await {
            all = both(all, report?).done().map_or_else(
                |waits| waits,
                |(mut reports, report): (Vec<_>, _)| {
                    reports.push(report);
                    Progressing::Done(reports)
                },
            );
        }
        Ok(all)
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
        let done = self.execute_one(progress, image, job).await?.done();
        Ok(done.map_or_else(|waits| waits, |report| Progressing::Done(Some(report))))
    }

    /// One execution, repeated when it failed as an execution (S07: never for a failing test).
    pub(super) async fn execute_one(
        &self,
        progress: &Progress,
        image: &str,
        job: &Job,
    ) -> Result<Progressing<Report>, SandboxError> {
        // An empty job would cost a Pod that has nothing to report.
        if job.phases.is_empty() {
            return Ok(Progressing::Done(Report::nothing()));
        }
        let run = |repeat| self.sandbox.run(image, job, repeat);
        let is_failed = |report: &Report| report.is_failed_execution(job);
        self.repeated(progress, run, is_failed, Report::nothing).await
    }

    /// Number of the first execution of a job. Each lost child has its own row of numbers, so that no sandbox has the name of one before it.
    pub(super) fn first_execution(&self, progress: &Progress) -> u32 {
        progress.unanswered_children() * (self.task.sandbox.retries + 1)
    }

    /// Repeats an execution until it has not failed as an execution or is not to be repeated, and returns its result.
    pub(super) async fn repeated<T, F: Future<Output = Result<Progressing<T>, SandboxError>>>(
        &self,
        progress: &Progress,
        run: impl Fn(u32) -> F,
        is_failed: impl Fn(&T) -> bool,
        nothing: impl Fn() -> T,
    ) -> Result<Progressing<T>, SandboxError> {
        let retries = self.task.sandbox.retries;
        let first = self.first_execution(progress);
        let mut repeat = first;
        loop {
            match run(repeat).await {
                Ok(Progressing::Done(done)) if repeat - first < retries && is_failed(&done) => {
                    repeat += 1;
                }
                Err(error) if repeat - first < retries && error.category() == Category::Infrastructure => {
                    repeat += 1;
                }
                // Code under test can end the harness, so that must not be tried for ever.
                Err(SandboxError::NoReport(_)) if progress.silent_ends >= MAX_LOST_CHILDREN => {
                    return Ok(Progressing::Done(nothing()));
                }
                other => return other,
            }
        }
    }

    /// Turns the reports of a run of jobs into the record of an attempt. The inner error is that its outputs cannot be checked now.
    async fn judged(
        &self,
        progress: &Progress,
        jobs: &mut Jobs,
        mut reports: Reports,
        started_at: Timestamp,
    ) -> Result<Result<AttemptRecord, String>, EngineError> {
        let redactor = &self.surroundings.redactor;
        if reports.on_disk.is_some() {
            // It takes the place of the one in memory.
            take_rehearsal(&mut jobs.main, &mut reports.main);
            if let Some((job, report)) = jobs.hidden.as_mut().zip(reports.hidden.as_mut()) {
                take_rehearsal(job, report);
            }
        }
        let mut cases = jobs.judge_cases(self.task, &reports);
        let mut failed_cases = jobs.failed_cases(&reports, &cases);
        let failed_examples = self.for_the_owner(take(&mut cases.missed_examples));
        let Reports {
            main,
            hidden,
            on_disk,
            acceptance,
            ..
        } = reports;
        let rehearsal = match &on_disk {
            Some(done) => rehearsal_in(&done.report),
            None => rehearsal_in(&main).or(hidden.as_ref().and_then(rehearsal_in)),
        };
        let mut read = match self.rehearsal_outputs(progress, rehearsal).await? {
            Ok(read) => read,
            Err(message) => return Ok(Err(message)),
        };
        let asked = jobs.on_disk.as_ref().map(|on_disk| &on_disk.asked.outputs);
        if let (Some(asked), Some(done)) = (asked, &on_disk) {
            let found = asked.iter().zip(done.found.iter().cloned()).collect();
            read.join_rehearsal(&self.task.outputs, found);
        }
        let mut findings = RehearsalFindings::from(read);
        let acceptance = acceptance.as_ref();
        let skipped = jobs.skipped_rehearsal.as_deref();
        let on_disk = jobs.on_disk.as_ref().map(|on_disk| &on_disk.job).zip(on_disk);
        let mut runs = vec![(&jobs.main, &main)];
        let mut verdict = if jobs.is_private {
            // The verdict, which models see, rests on the reduced reports alone.
            let private = jobs.hidden.as_ref().zip(hidden.as_ref());
            let private = private
                .into_iter()
                .chain(on_disk.as_ref().map(|(job, done)| (*job, &done.report)));
            let mut told = Vec::new();
            for (job, report) in private {
                told.push((job, self.visible_report(progress, report).await?));
            }
            runs.extend(told.iter().map(|(job, report)| (*job, report)));
            let findings = findings.without_private_values();
            judge(&runs, acceptance, &findings, skipped, cases)
        } else {
            runs.extend(on_disk.as_ref().map(|(job, done)| (*job, &done.report)));
            judge(&runs, acceptance, &findings, skipped, cases)
        };
        verdict.is_on_disk = on_disk.is_some();
        redaction::phases(redactor, failed_cases.values_mut());
        verdict.acceptance_imports = jobs.acceptance_imports;
        self.weigh(progress, &mut verdict, &findings).await?;
        let failed_acceptance = self.for_the_owner(acceptance.map_or_else(Vec::new, acceptance_failures));
        let on_disk = on_disk.map(|(_, done)| done.report);
        let mut report = joined(joined(main, hidden), on_disk);
        // Cases that passed are compared and forgotten, those that failed are in `failed_cases`; of the suite without the program's bodies
        // the verdict says all.
        report
            .phases
            .retain(|phase| !matches!(phase.name, PhaseName::Case | PhaseName::Vacuity));
        // Whatever is stored: a program can print the values of its Secrets.
        redaction::report(redactor, &mut report);
        redaction::findings(redactor, &mut findings);
        redaction::verdict(redactor, &mut verdict);
        Ok(Ok(AttemptRecord {
            attempt: progress.attempt,
            started_at,
            report,
            findings,
            failed_cases,
            failed_acceptance,
            failed_examples,
            verdict,
            solution: progress.documents.solution.clone(),
            tests: progress.documents.tests.clone(),
        }))
    }

    /// Takes the suite and broken constraints for what they are worth.
    async fn weigh(
        &self,
        progress: &Progress,
        verdict: &mut Verdict,
        findings: &RehearsalFindings,
    ) -> Result<(), EngineError> {
        if self.task.testing == TestingMode::Generate && progress.documents.tests.is_none() {
            verdict.suite = Some(SuiteStrength::NoSuite);
        }
        verdict.hold_suite(progress.suite_role(self.task));
        if findings.faults.iter().any(|fault| fault.broken.is_some()) {
            let checks = self.checks(progress).await?;
            verdict.doubtful = doubtful(self.task, progress, &checks, &findings.faults);
        }
        Ok(())
    }

    /// Lists the failures of acceptance tests as they are stored, secrets taken out.
    /// Failures as whoever wrote what they are of may see them.
    fn for_the_owner(&self, mut failed: Vec<TestFailure>) -> Vec<TestFailure> {
        for detail in &mut failed {
            redaction::failure(&self.surroundings.redactor, detail);
        }
        failed
    }

    /// The outputs of the program on the samples; none where it has failed. The inner error is that they cannot be checked now.
    async fn rehearsal_outputs(
        &self,
        progress: &Progress,
        rehearsal: Option<&PhaseReport>,
    ) -> Result<Result<OutputsRead, String>, EngineError> {
        // What a failed program wrote says nothing: the failure itself decides.
        let Some(phase) = rehearsal.filter(|phase| phase.end == PhaseEnd::Exited(0)) else {
            return Ok(Ok(OutputsRead::default()));
        };
        let checks = self.checks(progress).await?;
        let read = self.data.outputs(self.task, &phase.outputs, &checks).await;
        Ok(read.map_err(|error| error.to_string()))
    }

    /// Reduces the report of an execution on private samples to the part that may be shown.
    async fn visible_report(&self, progress: &Progress, report: &Report) -> Result<Report, EngineError> {
        let solution = self.text(progress.documents.solution.as_ref()).await?;
        let profiles = match &progress.documents.profiles {
            Some(document) => self.get(document).await?,
            None => Vec::new(),
        };
        Ok(visible_report(
            report,
            &solution,
            &self.data.columns(self.task, &profiles),
        ))
    }
}

/// Returns the duration of the longest of some executions, in seconds.
fn longest<'a>(reports: impl IntoIterator<Item = &'a Option<Report>>) -> f64 {
    let seconds = reports.into_iter().flatten().map(|report| report.seconds);
    seconds.fold(0.0, f64::max)
}

/// Two things that go on at the same time.
fn both<A, B>(one: Progressing<A>, other: Progressing<B>) -> Progressing<(A, B)> {
    match (one, other) {
        (Progressing::Done(one), Progressing::Done(other)) => Progressing::Done((one, other)),
        (Progressing::Queued(why), _) | (_, Progressing::Queued(why)) => Progressing::Queued(why),
        (Progressing::Unseen, _) | (_, Progressing::Unseen) => Progressing::Unseen,
        (Progressing::Pending, _) | (_, Progressing::Pending) => Progressing::Pending,
    }
}

/// Two reports as one, as if all had run in one job.
fn joined(mut main: Report, further: Option<Report>) -> Report {
    if let Some(further) = further {
        main.phases.extend(further.phases);
        main.seconds += further.seconds;
    }
    main
}
/// The execution of the program on the samples.
fn rehearsal_in(report: &Report) -> Option<&PhaseReport> {
    let mut phases = report.phases.iter();
    phases.find(|phase| phase.name == PhaseName::Rehearsal)
}
