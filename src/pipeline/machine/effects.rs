//! What outcomes do to the progress of a task.

use std::collections::BTreeSet;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::api::approval::{ApprovalDecision, ApprovalStatus, AwaitedApproval, Gate};
use crate::api::common::TestingMode;
use crate::api::status::{
    AttemptStatus, CaseEvidence, ConstraintStatus, ErrorType, FailureDiagnosis, PlanStatus,
};
use crate::pipeline::approval::{awaited, rejected};
use crate::pipeline::bounds;
use crate::pipeline::diagnosis::{Diagnosis, only_acceptance};
use crate::pipeline::progress::{
    Document, LONGEST_PAUSE_FOR_A_PERSON, Progress, PublishedImage, WaitReason, Waiting,
};
use crate::pipeline::python::rule::Rule;
use crate::pipeline::sandbox::Packages;
use crate::pipeline::stage::{Category, Stage, Stop, StopReason};
use crate::pipeline::task::Task;
use crate::pipeline::verdict::{CheckSource, Verdict};

use super::{Blocked, BuildFailed, CasesRevised, Diagnosed, ImageReady, NewSource, SamplesRead, Tested};

/// Replies to one call that may be refused before the task stops (two of them are asked again).
pub const MAX_REJECTIONS: usize = 3;
/// Tries of one fix: plainly, with a warning, as an ultimatum.
pub const MAX_FIX_TRIES: u32 = 3;
/// Failures whose diagnosis the status shows.
const SHOWN_FAILURES: usize = 5;
/// Bytes of one field of a shown diagnosis, and of a failure in one sentence.
const SHOWN_BYTES: usize = 300;

impl Progress {
    pub(super) fn enter(&mut self, stage: Stage) {
        self.stage = stage;
        self.rejections.clear();
    }

    /// To the tests when the image holds everything, to the builder when not, to the model when it cannot be built.
    pub(super) fn enter_image(&mut self, now: Timestamp) {
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

    pub(super) fn take_samples(&mut self, task: &Task, read: SamplesRead) {
        self.documents.context = Some(read.context);
        self.documents.profiles = Some(read.profiles);
        self.samples = read.samples;
        self.enter(if task.constraints.is_empty() {
            Stage::Planning
        } else {
            Stage::ReadingConstraints
        });
    }

    pub(super) fn take_constraints(&mut self, checks: Document, constraints: Vec<ConstraintStatus>) {
        self.documents.checks = Some(checks);
        self.constraints = constraints;
        self.enter(Stage::Planning);
    }

    pub(super) fn take_plan(&mut self, plan: PlanStatus, cases: Option<(Document, CaseEvidence)>) {
        self.plan = Some(plan);
        (self.documents.cases, self.cases) = cases.unzip();
        self.enter(Stage::GeneratingCode);
    }

    pub(super) fn take_first_solution(&mut self, task: &Task, source: NewSource, now: Timestamp) {
        self.take_solution(source);
        match task.testing {
            TestingMode::Generate => self.enter(Stage::GeneratingTests),
            TestingMode::Skip => self.enter_image(now),
        }
    }

    pub(super) fn take_fixed_solution(&mut self, source: NewSource, now: Timestamp) {
        self.take_solution(source);
        self.fix_done(ErrorType::Logic, now);
    }

    fn take_solution(&mut self, source: NewSource) {
        self.documents.solution = Some(source.document);
        self.memory.solution_tree = source.tree;
        self.build.declared = source.declared;
        self.build.wanted = source.wanted;
    }

    pub(super) fn take_suite(&mut self, source: NewSource, now: Timestamp) {
        self.take_tests(source);
        self.enter_image(now);
    }

    pub(super) fn take_fixed_suite(&mut self, source: NewSource, now: Timestamp) {
        self.take_tests(source);
        self.fix_done(ErrorType::TestError, now);
    }

    fn take_tests(&mut self, source: NewSource) {
        self.documents.tests = Some(source.document);
        self.memory.tests_tree = source.tree;
        self.build.declared = source.declared;
        self.build.wanted = source.wanted;
    }

    /// While the suite is on its way, the image only has to be there when it arrives.
    pub(super) fn take_image(&mut self, ready: ImageReady, now: Timestamp) {
        self.spent.builds += u32::from(ready.fresh);
        self.build.lock = ready.lock;
        self.build.built = Some(ready.built);
        self.build.fault = None;
        if self.stage == Stage::AwaitingImage {
            self.enter_image(now);
        }
    }

    pub(super) fn take_fault(&mut self, failed: BuildFailed, now: Timestamp) {
        // Where only the index was asked, no build was spent.
        self.spent.builds += u32::from(failed.is_tried);
        self.last_error = Some(bounds::cut(&failed.fault.message, SHOWN_BYTES));
        self.build.fault = Some(failed.fault);
        if self.stage == Stage::AwaitingImage {
            self.enter_image(now);
        }
    }

    /// The attempt was not executed: it is entered again when there is an image.
    pub(super) fn take_lost_image(&mut self, now: Timestamp) {
        self.build.lost = self.build.built.take().map(|built| built.image);
        // `enter_image` counts it again.
        self.attempt -= 1;
        self.enter_image(now);
    }

    pub(super) fn take_environment(
        &mut self,
        replaced: Vec<(String, String)>,
        wanted: Packages,
        now: Timestamp,
    ) {
        self.build.replaced.extend(replaced);
        self.build.wanted = wanted;
        self.fix_tries += 1;
        self.enter_image(now);
    }

    pub(super) fn take_verdict(&mut self, task: &Task, tested: Tested, now: Timestamp) {
        let Tested {
            record,
            verdict,
            started_at,
        } = tested;
        // Before anything is decided: the record is what a restart goes on from.
        self.documents.run = Some(record);
        if let Some(message) = verdict.unchecked() {
            return self.wait_for_smaller_outputs(&verdict, message, now);
        }
        self.record_attempt(&verdict, started_at, now);
        if verdict.passed() {
            self.last_error = None;
            self.memory.failing.clear();
            if task.approvals.contains(&Gate::Result) {
                return self.enter(Stage::Passed);
            }
            return self.accept(task, now);
        }
        self.last_error = Some(bounds::cut(&verdict.summary(), SHOWN_BYTES));
        let failing = verdict.failing();
        let stuck = self.remember_failing(&failing);
        // Then no model is asked for a diagnosis.
        self.memory.only_acceptance_fails = only_acceptance(&verdict.failed);
        // A suite that cannot fail has nothing to diagnose: it is asked for again with what was found.
        let of_the_suite = verdict
            .failed
            .iter()
            .find(|check| matches!(check.source, CheckSource::Vacuity | CheckSource::Mutants));
        self.memory.mutants_asked |= of_the_suite.is_some_and(|check| check.source == CheckSource::Mutants);
        let following = if of_the_suite.is_some() {
            Stage::GeneratingTests
        } else {
            Stage::Diagnosing
        };
        self.fix_applied = false;
        self.fix_tries = 0;
        self.enter(following);
        self.rejections
            .extend(of_the_suite.map(|check| check.detail.message.clone()));
        // The state is entered before it ends, so a raised limit goes on from there.
        if let Some(why) = stuck {
            self.end(self.no_progress(&why), following, now);
        } else if self.attempts_of_try() >= task.limits.max_iterations {
            self.end(self.exhausted(task), following, now);
        }
    }

    /// Neither passed nor failed: no attempt, and nothing that a model could fix. Only another execution ends it.
    fn wait_for_smaller_outputs(&mut self, verdict: &Verdict, message: String, now: Timestamp) {
        self.exit_code = verdict.exit_code;
        self.rehearsal = Some(verdict.rehearsal.clone());
        self.waiting = Some(Waiting {
            category: Category::Configuration,
            message,
            times: 1,
            // An operator of a later version may have other limits.
            retry_at: now.checked_add(LONGEST_PAUSE_FOR_A_PERSON).unwrap_or(now),
            reason: Some(WaitReason::OutputTooLarge),
        });
    }

    fn record_attempt(&mut self, verdict: &Verdict, started_at: Timestamp, now: Timestamp) {
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
            mutants: verdict.mutants,
            acceptance_tests: verdict.acceptance,
            cases: verdict.cases,
            examples: verdict.examples,
            summary: Some(bounds::cut(&verdict.summary(), SHOWN_BYTES)),
            diagnosis: Vec::new(),
            started_at: Some(Time(started_at)),
            completed_at: Some(Time(now)),
        });
        self.exit_code = verdict.exit_code;
        self.rehearsal = Some(verdict.rehearsal.clone());
    }

    pub(super) fn take_diagnosis(&mut self, diagnosed: Diagnosed, now: Timestamp) {
        self.documents.diagnosis = Some(diagnosed.document);
        self.build.declared = diagnosed.declared;
        self.build.wanted = diagnosed.wanted;
        let diagnosis = &diagnosed.diagnosis;
        self.pending_fixes = diagnosis.fixes();
        self.present_diagnosis(shown(diagnosis));
        self.remember_diagnosis(diagnosis);
        // A package needs no call: it is named, and the next build has it.
        if self.pending_fixes.first() == Some(&ErrorType::Environment) {
            self.pending_fixes.remove(0);
            self.count_fix(ErrorType::Environment);
            self.fix_applied = true;
        }
        // Before any fix: a wrong case would have the program changed to be wrong.
        self.blamed_cases = diagnosis.blamed_cases();
        if !self.blamed_cases.is_empty() {
            return self.enter(Stage::RecheckingCases);
        }
        self.enter_next_fix(now);
    }

    /// A failure of a wrong case alone is settled; a failure of a right one is a fault of the program.
    pub(super) fn take_revision(&mut self, revised: CasesRevised, now: Timestamp) {
        self.documents.cases = Some(revised.cases.0);
        self.cases = Some(revised.cases.1);
        self.documents.diagnosis = Some(revised.document);
        self.present_diagnosis(shown(&revised.diagnosis));
        if let Some(plan) = &mut self.plan {
            plan.cases = revised.lines;
        }
        self.blamed_cases.clear();
        // The case was at fault, and it is no longer asked; with nothing else failing the next run decides.
        if !revised.program_is_at_fault {
            self.fix_applied = true;
        } else if !self.pending_fixes.contains(&ErrorType::Logic) {
            self.pending_fixes.insert(0, ErrorType::Logic);
        }
        self.enter_next_fix(now);
    }

    fn fix_done(&mut self, error_type: ErrorType, now: Timestamp) {
        self.count_fix(error_type);
        self.fix_applied = true;
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

    pub(super) fn take_missed_fix(&mut self, reason: String, now: Timestamp) {
        self.fix_tries += 1;
        self.rejections.push(reason);
        if self.fix_tries >= MAX_FIX_TRIES {
            self.leave_fix(now);
        }
    }

    pub(super) fn take_rejection(&mut self, reason: String, rules: &BTreeSet<Rule>, now: Timestamp) {
        self.rejections.push(reason);
        if self.rejections.len() < MAX_REJECTIONS {
            return;
        }
        // An unusable fix of one side leaves the other side's fix to be made.
        if matches!(self.stage, Stage::FixingCode | Stage::FixingTests) {
            return self.leave_fix(now);
        }
        let last = self.rejections.last().cloned().unwrap_or_default();
        let message = format!(
            "{MAX_REJECTIONS} replies in a row could not be used in stage {}; the last: {last} {}",
            self.stage,
            instead(rules)
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

    /// Nothing goes on before something has changed; `before` is the progress until then.
    pub(super) fn wait_after(&mut self, before: &Self, blocked: Blocked) {
        self.lost_children = before.lost_children + u32::from(blocked.lost_child);
        self.waiting = Some(Waiting {
            category: blocked.category,
            message: blocked.message,
            times: before.waiting.as_ref().map_or(1, |waiting| waiting.times + 1),
            retry_at: blocked.retry_at,
            reason: None,
        });
    }

    pub(super) fn take_published(&mut self, image: PublishedImage, now: Timestamp) {
        self.published = Some(image);
        if self.stage == Stage::Publishing {
            self.succeed(now);
        }
    }

    /// A decision about what is shown now. An approval opens the gate, a rejection ends the task.
    pub(super) fn take_decision(&mut self, task: &Task, decision: ApprovalStatus, now: Timestamp) {
        let is_of_this = |asked: &AwaitedApproval| asked.gate == decision.gate && asked.hash == decision.hash;
        // A decision may arrive when the task shows something else already; then it is none about this.
        if !awaited(task, self).as_ref().is_some_and(is_of_this) {
            return;
        }
        let stop = (decision.decision == ApprovalDecision::Reject).then(|| rejected(&decision));
        self.approvals.push(decision);
        if let Some(stop) = stop {
            let stage = self.stage;
            self.end(stop, stage, now);
        }
    }

    /// To its end, by way of a registry where it is to be published.
    pub(in crate::pipeline) fn accept(&mut self, task: &Task, now: Timestamp) {
        if task.publish.is_some() {
            return self.enter(Stage::Publishing);
        }
        self.succeed(now);
    }

    pub(in crate::pipeline) fn succeed(&mut self, now: Timestamp) {
        // No repetition can follow any more.
        self.memory.tried.clear();
        self.memory.seen.clear();
        self.completed_at = Some(now);
        self.enter(Stage::Succeeded);
    }

    pub(in crate::pipeline) fn end(&mut self, stop: Stop, stage: Stage, now: Timestamp) {
        let can_go_on = matches!(
            stop.reason,
            StopReason::BudgetExceeded | StopReason::IterationsExhausted | StopReason::PolicyDenied
        );
        // Only what a person can raise or allow can be gone on from.
        self.stopped_in = can_go_on.then_some(stage);
        self.ended_in = Some(stage);
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
                self.attempts_of_try(),
                task.limits.max_iterations
            ),
        }
    }
}

/// What to do about replies that cannot be used.
fn instead(rules: &BTreeSet<Rule>) -> String {
    if rules.is_empty() {
        return "Use a model that keeps to structured output, or make the task plainer.".to_owned();
    }
    let names: Vec<&str> = rules.iter().map(|rule| rule.name()).collect();
    format!(
        "It broke {} of \"What is refused\" in docs/program-contract.md: say in the prompt how the program should do without, or \
         use another model.",
        if names.len() == 1 {
            format!("the rule {}", names[0])
        } else {
            format!("the rules {}", names.join(", "))
        }
    )
}

fn shown(diagnosis: &Diagnosis) -> Vec<FailureDiagnosis> {
    let cut_field = |text: &String| bounds::cut(text, SHOWN_BYTES);
    diagnosis
        .failures
        .iter()
        .take(SHOWN_FAILURES)
        .map(|failure| FailureDiagnosis {
            test: cut_field(&failure.diagnosis.test),
            error: cut_field(&without_test(&failure.diagnosis)),
            expected: cut_field(&failure.diagnosis.expected),
            actual: cut_field(&failure.diagnosis.actual),
            root_cause: cut_field(&failure.diagnosis.root_cause),
            suggested_fix: cut_field(&failure.diagnosis.suggested_fix),
            ..failure.diagnosis.clone()
        })
        .collect()
}

/// The error of a failure whose test is named beside it.
fn without_test(diagnosis: &FailureDiagnosis) -> String {
    let error = diagnosis.error.strip_prefix(&diagnosis.test);
    let error = error.and_then(|error| error.strip_prefix(": "));
    error.unwrap_or(&diagnosis.error).to_owned()
}
