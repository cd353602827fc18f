//! What follows from what happened: the transitions of the state machine.

use std::collections::BTreeSet;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::api::common::TestingMode;
use crate::api::status::{
    AttemptStatus, ConstraintStatus, ErrorType, FailureDiagnosis, PlanStatus, SampleStatus,
};

use super::diagnosis::{Diagnosis, only_acceptance};
use super::digest::sha256_hex_of_parts;
use super::progress::{BuildFault, BuiltImage, Document, Progress, Recurrence, Tried, Waiting};
use super::sandbox::Packages;
use super::stage::{Category, Stage, Stop, StopReason};
use super::task::Task;
use super::verdict::{CheckSource, Verdict};

/// Replies to one call that may be refused before the task stops (two of them are asked again).
pub const MAX_REJECTIONS: usize = 3;
/// Tries of one fix: plainly, with a warning, as an ultimatum (S09, S11).
pub const MAX_FIX_TRIES: u32 = 3;
/// Failed runs with the same failures after a reclassification before the task stops (B19).
pub const MAX_RECURRENCES: u32 = 3;
/// Failures whose diagnosis the status shows.
const SHOWN_FAILURES: usize = 5;
/// Characters of one field of a shown diagnosis.
const SHOWN_CHARACTERS: usize = 300;

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The samples were read.
    SamplesRead {
        /// The data context.
        context: Document,
        /// Profiles and inferred schemas.
        profiles: Document,
        /// What was read.
        samples: Vec<SampleStatus>,
    },
    /// The constraints are checks now.
    ConstraintsRead {
        /// The checks.
        checks: Document,
        /// What became of each constraint.
        constraints: Vec<ConstraintStatus>,
    },
    /// There is a plan.
    Planned(PlanStatus),
    /// There is a program.
    CodeWritten(Written),
    /// There is a suite.
    TestsWritten(Written),
    /// There is an image.
    ImageReady {
        /// The image.
        built: BuiltImage,
        /// Whether it was built for this (and not found).
        fresh: bool,
    },
    /// The image cannot be built for want of a package.
    BuildFailed {
        /// Why.
        fault: BuildFault,
    },
    /// Other packages took the place of those that cannot be installed.
    EnvironmentFixed {
        /// What was replaced by what.
        replaced: Vec<(String, String)>,
        /// What is wanted now.
        wanted: Packages,
    },
    /// Tests and rehearsal ran.
    Ran {
        /// The record of the run.
        run: Document,
        /// What it showed.
        verdict: Box<Verdict>,
        /// When it started.
        started_at: Timestamp,
    },
    /// The failures have a diagnosis.
    Diagnosed {
        /// The record of the diagnosis.
        document: Document,
        /// What it says.
        diagnosis: Diagnosis,
        /// Packages that it declares.
        declared: Packages,
        /// What is wanted now.
        wanted: Packages,
    },
    /// The program was changed, and every named function with it.
    CodeFixed(Written),
    /// The suite was changed, and every named test with it.
    TestsFixed(Written),
    /// A fix came back that changes nothing, or not what it should.
    FixNotApplied {
        /// What is still as it was.
        reason: String,
    },
    /// A reply cannot be used.
    ReplyRejected {
        /// Why, as a sentence for the model.
        reason: String,
    },
    /// Something must change before the task can go on.
    Blocked {
        /// Infrastructure or configuration.
        category: Category,
        /// What happened, to which object, and what to do.
        message: String,
        /// When it is tried again.
        retry_at: Timestamp,
    },
    /// A person says that the cause is gone.
    Resumed,
    /// A limit is spent.
    Stopped(Stop),
    /// The limit that stopped the task was raised.
    LimitRaised,
}

/// Source that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Where it lies.
    pub document: Document,
    /// Hash of its syntax tree.
    pub tree: String,
    /// Packages that replies declared so far.
    pub declared: Packages,
    /// What program and suite need now.
    pub wanted: Packages,
}

/// An outcome that cannot happen in a stage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("outcome {outcome} cannot happen in stage {stage}; this is a bug of the operator, please report it")]
pub struct IllegalTransition {
    /// The stage.
    pub stage: Stage,
    /// The outcome.
    pub outcome: &'static str,
}

/// What follows from `outcome`. Pure and total.
pub fn advance(
    task: &Task,
    progress: &Progress,
    outcome: Outcome,
    now: Timestamp,
) -> Result<Progress, IllegalTransition> {
    let mut next = progress.clone();
    let stage = progress.stage;
    let keeps_waiting = matches!(outcome, Outcome::Blocked { .. });
    if !keeps_waiting {
        next.waiting = None;
    }
    match (stage, outcome) {
        (
            Stage::ReadingSamples,
            Outcome::SamplesRead {
                context,
                profiles,
                samples,
            },
        ) => {
            next.documents.context = Some(context);
            next.documents.profiles = Some(profiles);
            next.samples = samples;
            let unread = !task.constraints.is_empty();
            next.enter(if unread {
                Stage::ReadingConstraints
            } else {
                Stage::Planning
            });
        }
        (Stage::ReadingConstraints, Outcome::ConstraintsRead { checks, constraints }) => {
            next.documents.checks = Some(checks);
            next.constraints = constraints;
            next.enter(Stage::Planning);
        }
        (Stage::Planning, Outcome::Planned(plan)) => {
            next.plan = Some(plan);
            next.enter(Stage::GeneratingCode);
        }
        (Stage::GeneratingCode, Outcome::CodeWritten(written)) => {
            next.take_solution(written);
            match task.testing {
                TestingMode::Generate => next.enter(Stage::GeneratingTests),
                TestingMode::Skip => next.enter_image(now),
            }
        }
        (Stage::GeneratingTests, Outcome::TestsWritten(written)) => {
            next.take_tests(written);
            next.enter_image(now);
        }
        (Stage::GeneratingTests, Outcome::ImageReady { built, fresh }) => next.take_image(built, fresh),
        (Stage::AwaitingImage, Outcome::ImageReady { built, fresh }) => {
            next.take_image(built, fresh);
            next.enter_image(now);
        }
        (Stage::GeneratingTests, Outcome::BuildFailed { fault }) => next.take_fault(fault),
        (Stage::AwaitingImage, Outcome::BuildFailed { fault }) => {
            next.take_fault(fault);
            next.enter_image(now);
        }
        (Stage::FixingEnvironment, Outcome::EnvironmentFixed { replaced, wanted }) => {
            next.build.replaced.extend(replaced);
            next.build.wanted = wanted;
            next.fix_tries += 1;
            next.enter_image(now);
        }
        (
            Stage::RunningTests,
            Outcome::Ran {
                run,
                verdict,
                started_at,
            },
        ) => {
            next.documents.run = Some(run);
            next.take_verdict(task, *verdict, started_at, now);
        }
        (
            Stage::Diagnosing,
            Outcome::Diagnosed {
                document,
                diagnosis,
                declared,
                wanted,
            },
        ) => {
            next.documents.diagnosis = Some(document);
            next.take_diagnosis(&diagnosis, declared, wanted, now);
        }
        (Stage::FixingCode, Outcome::CodeFixed(written)) => {
            next.take_solution(written);
            next.fix_done(ErrorType::Logic, now);
        }
        (Stage::FixingTests, Outcome::TestsFixed(written)) => {
            next.take_tests(written);
            next.fix_done(ErrorType::TestError, now);
        }
        (Stage::FixingCode | Stage::FixingTests, Outcome::FixNotApplied { reason }) => {
            next.fix_tries += 1;
            next.rejections.push(reason);
            if next.fix_tries >= MAX_FIX_TRIES {
                next.skip_fix(now);
            }
        }
        (
            Stage::ReadingConstraints
            | Stage::Planning
            | Stage::GeneratingCode
            | Stage::GeneratingTests
            | Stage::Diagnosing
            | Stage::FixingEnvironment
            | Stage::FixingCode
            | Stage::FixingTests,
            Outcome::ReplyRejected { reason },
        ) => next.take_rejection(reason, now),
        (
            _,
            Outcome::Blocked {
                category,
                message,
                retry_at,
            },
        ) if !stage.is_terminal() => {
            let times = progress.waiting.as_ref().map_or(1, |waiting| waiting.times + 1);
            next.waiting = Some(Waiting {
                category,
                message,
                times,
                retry_at,
            });
        }
        (_, Outcome::Resumed) if !stage.is_terminal() => {}
        (_, Outcome::Stopped(stop)) if !stage.is_terminal() => next.end(stop, stage, now),
        (Stage::Failed, Outcome::LimitRaised) if progress.stopped_in.is_some() => {
            next.stop = None;
            next.completed_at = None;
            next.stage = progress.stopped_in.unwrap_or(Stage::Failed);
            next.stopped_in = None;
        }
        (_, outcome) => {
            return Err(IllegalTransition {
                stage,
                outcome: outcome.name(),
            });
        }
    }
    Ok(next)
}

impl Outcome {
    /// The outcome's name, for messages.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::SamplesRead { .. } => "SamplesRead",
            Self::ConstraintsRead { .. } => "ConstraintsRead",
            Self::Planned(_) => "Planned",
            Self::CodeWritten(_) => "CodeWritten",
            Self::TestsWritten(_) => "TestsWritten",
            Self::ImageReady { .. } => "ImageReady",
            Self::BuildFailed { .. } => "BuildFailed",
            Self::EnvironmentFixed { .. } => "EnvironmentFixed",
            Self::Ran { .. } => "Ran",
            Self::Diagnosed { .. } => "Diagnosed",
            Self::CodeFixed(_) => "CodeFixed",
            Self::TestsFixed(_) => "TestsFixed",
            Self::FixNotApplied { .. } => "FixNotApplied",
            Self::ReplyRejected { .. } => "ReplyRejected",
            Self::Blocked { .. } => "Blocked",
            Self::Resumed => "Resumed",
            Self::Stopped(_) => "Stopped",
            Self::LimitRaised => "LimitRaised",
        }
    }
}

impl Progress {
    fn enter(&mut self, stage: Stage) {
        self.stage = stage;
        self.rejections.clear();
    }

    /// To the tests when the image holds everything, to the builder when not, to the model when it cannot be built.
    fn enter_image(&mut self, now: Timestamp) {
        if self.build.ready().is_some() {
            self.fix_tries = 0;
            self.attempt += 1;
            self.enter(Stage::RunningTests);
        } else if self.build.present_fault().is_some() {
            if self.fix_tries >= MAX_FIX_TRIES {
                let stop = self.no_progress(&format!(
                    "{MAX_FIX_TRIES} replacements in a row could not be installed either"
                ));
                return self.end(stop, Stage::FixingEnvironment, now);
            }
            self.enter(Stage::FixingEnvironment);
        } else {
            self.enter(Stage::AwaitingImage);
        }
    }

    fn take_solution(&mut self, written: Written) {
        self.documents.solution = Some(written.document);
        self.memory.solution_tree = written.tree;
        self.build.declared = written.declared;
        self.build.wanted = written.wanted;
    }

    fn take_tests(&mut self, written: Written) {
        self.documents.tests = Some(written.document);
        self.memory.tests_tree = written.tree;
        self.build.declared = written.declared;
        self.build.wanted = written.wanted;
    }

    fn take_image(&mut self, built: BuiltImage, fresh: bool) {
        self.spent.builds += u32::from(fresh);
        self.build.built = Some(built);
        self.build.fault = None;
    }

    fn take_fault(&mut self, fault: BuildFault) {
        self.spent.builds += 1;
        self.last_error = Some(fault.message.clone());
        self.build.fault = Some(fault);
    }

    fn take_verdict(&mut self, task: &Task, verdict: Verdict, started_at: Timestamp, now: Timestamp) {
        self.record_attempt(&verdict, started_at, now);
        if verdict.passed() {
            self.last_error = None;
            self.completed_at = Some(now);
            self.memory.failing.clear();
            return self.enter(Stage::Succeeded);
        }
        self.last_error = Some(verdict.summary());
        let failing = verdict.failing();
        let stuck = self.remember_failing(&failing);
        self.memory.only_acceptance_fails = only_acceptance(&verdict.failed);
        let vacuity = verdict
            .failed
            .iter()
            .find(|check| check.source == CheckSource::Vacuity);
        let following = if vacuity.is_some() {
            Stage::GeneratingTests
        } else {
            Stage::Diagnosing
        };
        self.fix_applied = false;
        self.fix_tries = 0;
        self.enter(following);
        self.rejections
            .extend(vacuity.map(|check| check.detail.message.clone()));
        if let Some(why) = stuck {
            self.end(self.no_progress(&why), following, now);
        } else if self.attempt >= task.limits.max_iterations {
            self.end(self.exhausted(task), following, now);
        }
    }

    fn record_attempt(&mut self, verdict: &Verdict, started_at: Timestamp, now: Timestamp) {
        for earlier in &mut self.attempts {
            earlier.diagnosis.clear();
        }
        let installed = |attempts: &[AttemptStatus], package: &String| {
            attempts
                .iter()
                .any(|attempt| attempt.packages_added.contains(package))
        };
        let built = self.build.built.clone().unwrap_or_default();
        let asked = built.packages.pip.iter().chain(&built.packages.apt);
        let packages_added = asked
            .filter(|package| !installed(&self.attempts, package))
            .cloned()
            .collect();
        self.attempts.push(AttemptStatus {
            number: i32::try_from(self.attempt).unwrap_or(i32::MAX),
            image: Some(built.image),
            packages_added,
            tests: verdict.tests,
            acceptance_tests: verdict.acceptance,
            summary: Some(cut(&verdict.summary(), SHOWN_CHARACTERS)),
            diagnosis: Vec::new(),
            started_at: Some(Time(started_at)),
            completed_at: Some(Time(now)),
        });
        self.exit_code = verdict.exit_code;
        self.rehearsal = Some(verdict.rehearsal.clone());
    }

    /// Remembers what fails; says why going on would repeat itself, if it would.
    fn remember_failing(&mut self, failing: &BTreeSet<String>) -> Option<String> {
        for signature in failing {
            if let Some(tried) = self.memory.tried.get_mut(signature) {
                tried.failed += 1;
            }
        }
        self.memory
            .tried
            .retain(|signature, _| failing.contains(signature));
        self.memory.failing.clone_from(failing);
        match &mut self.memory.after_reclassification {
            Some(recurrence) if recurrence.failing == *failing => recurrence.times += 1,
            other => *other = None,
        }
        let recurrences = self.memory.after_reclassification.as_ref().map_or(0, |r| r.times);
        if !self.memory.seen.insert(self.state_hash(failing)) {
            return Some("the same program, suite and packages fail in the same way as before".into());
        }
        (recurrences >= MAX_RECURRENCES).then(|| {
            format!("the same failures came back {recurrences} times after they were blamed on program and tests in turn")
        })
    }

    fn state_hash(&self, failing: &BTreeSet<String>) -> String {
        let packages = self.build.wanted.pip.iter().chain(&self.build.wanted.apt);
        let sources = [&self.memory.solution_tree, &self.memory.tests_tree].into_iter();
        let parts: Vec<&str> = sources
            .chain(packages)
            .chain(failing)
            .map(String::as_str)
            .collect();
        sha256_hex_of_parts(&parts)[..16].to_owned()
    }

    fn take_diagnosis(
        &mut self,
        diagnosis: &Diagnosis,
        declared: Packages,
        wanted: Packages,
        now: Timestamp,
    ) {
        self.build.declared = declared;
        self.build.wanted = wanted;
        self.pending_fixes = diagnosis.fixes();
        self.present_diagnosis(shown(diagnosis));
        for failure in &diagnosis.failures {
            let tried = self
                .memory
                .tried
                .entry(failure.signature.clone())
                .or_insert(Tried {
                    as_type: failure.diagnosis.error_type,
                    fixes: 0,
                    failed: 1,
                });
            if tried.as_type != failure.diagnosis.error_type {
                tried.as_type = failure.diagnosis.error_type;
                tried.fixes = 0;
            }
        }
        if diagnosis.reclassified() && self.memory.after_reclassification.is_none() {
            self.memory.after_reclassification = Some(Recurrence {
                failing: self.memory.failing.clone(),
                times: 0,
            });
        }
        if self.pending_fixes.first() == Some(&ErrorType::Environment) {
            self.pending_fixes.remove(0);
            self.count_fix(ErrorType::Environment);
            self.fix_applied = true;
        }
        self.enter_next_fix(now);
    }

    fn count_fix(&mut self, error_type: ErrorType) {
        for tried in self
            .memory
            .tried
            .values_mut()
            .filter(|tried| tried.as_type == error_type)
        {
            tried.fixes += 1;
        }
    }

    fn fix_done(&mut self, error_type: ErrorType, now: Timestamp) {
        self.count_fix(error_type);
        self.fix_applied = true;
        self.leave_fix(now);
    }

    fn skip_fix(&mut self, now: Timestamp) {
        self.leave_fix(now);
    }

    fn leave_fix(&mut self, now: Timestamp) {
        if !self.pending_fixes.is_empty() {
            self.pending_fixes.remove(0);
        }
        let last_reason = self.rejections.last().cloned();
        self.fix_tries = 0;
        if self.pending_fixes.is_empty() && !self.fix_applied {
            let why = format!(
                "{MAX_FIX_TRIES} replies in a row left the fault as it was ({})",
                last_reason.unwrap_or_default()
            );
            let stage = self.stage;
            let stop = self.no_progress(&why);
            return self.end(stop, stage, now);
        }
        self.enter_next_fix(now);
    }

    fn enter_next_fix(&mut self, now: Timestamp) {
        match self.pending_fixes.first() {
            Some(ErrorType::Logic) => self.enter(Stage::FixingCode),
            Some(ErrorType::TestError) => self.enter(Stage::FixingTests),
            Some(ErrorType::Environment) | None => self.enter_image(now),
        }
    }

    fn take_rejection(&mut self, reason: String, now: Timestamp) {
        self.rejections.push(reason);
        if self.rejections.len() < MAX_REJECTIONS {
            return;
        }
        if matches!(self.stage, Stage::FixingCode | Stage::FixingTests) {
            return self.skip_fix(now);
        }
        let last = self.rejections.last().cloned().unwrap_or_default();
        let message = format!(
            "{MAX_REJECTIONS} replies in a row could not be used in stage {}; the last: {last} \
             Use a model that keeps to structured output, or make the task plainer.",
            self.stage
        );
        let stage = self.stage;
        self.end(
            Stop {
                reason: StopReason::InvalidReply,
                message,
            },
            stage,
            now,
        );
    }

    fn end(&mut self, stop: Stop, stage: Stage, now: Timestamp) {
        let can_go_on = matches!(
            stop.reason,
            StopReason::BudgetExceeded | StopReason::IterationsExhausted
        );
        self.stopped_in = can_go_on.then_some(stage);
        self.stop = Some(stop);
        self.completed_at = Some(now);
        self.stage = Stage::Failed;
    }

    fn no_progress(&self, why: &str) -> Stop {
        let last = self.last_error.as_deref().unwrap_or("none");
        Stop {
            reason: StopReason::NoProgress,
            message: format!(
                "Stopped after attempt {}: {why}. Last failure: {last}. Make the prompt, constraints or samples more \
                 precise, or use another model.",
                self.attempt
            ),
        }
    }

    fn exhausted(&self, task: &Task) -> Stop {
        let last = self.last_error.as_deref().unwrap_or("none");
        Stop {
            reason: StopReason::IterationsExhausted,
            message: format!(
                "limits.maxIterations: {} of {} attempts failed. Last failure: {last}. Read the diagnosis; make the task more \
                 precise, or raise limits.maxIterations to go on.",
                self.attempt, task.limits.max_iterations
            ),
        }
    }
}

fn shown(diagnosis: &Diagnosis) -> Vec<FailureDiagnosis> {
    let cut_field = |text: &String| cut(text, SHOWN_CHARACTERS);
    diagnosis
        .failures
        .iter()
        .take(SHOWN_FAILURES)
        .map(|failure| FailureDiagnosis {
            test: cut_field(&failure.diagnosis.test),
            error: cut_field(&failure.diagnosis.error),
            expected: cut_field(&failure.diagnosis.expected),
            actual: cut_field(&failure.diagnosis.actual),
            root_cause: cut_field(&failure.diagnosis.root_cause),
            suggested_fix: cut_field(&failure.diagnosis.suggested_fix),
            ..failure.diagnosis.clone()
        })
        .collect()
}

fn cut(text: &str, characters: usize) -> String {
    if text.chars().count() <= characters {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(characters - 1).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests;
