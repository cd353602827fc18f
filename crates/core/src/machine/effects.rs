//! Effects of outcomes on the progress of a task.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::bounds;
use crate::call::ReplyFault;
use crate::diagnosis::only_acceptance;
use crate::models::model_for;
use crate::progress::{Document, Progress, WaitReason, Waiting};
use crate::sandbox::Packages;
use crate::stage::{Category, Stage};
use crate::task::Task;
use crate::verdict::Verdict;
use codegen_api::approval::Gate;
use codegen_api::common::{Backend, TestingMode};
use codegen_api::status::{AttemptStatus, CaseEvidence, ConstraintStatus, ErrorType, PlanStatus};

use super::{BlockedTask, BuildFailed, ImageReady, LostChild, NewSource, SamplesRead, Tested};

/// Replies to one call that may be refused before the task stops (two of them are asked again).
pub const MAX_REJECTIONS: usize = 3;
/// Tries of one fix: plainly, with a warning, as an ultimatum.
pub const MAX_FIX_TRIES: u32 = 3;
/// Pause before outputs that were too large to be checked are made again.
const PAUSE_FOR_SMALLER_OUTPUTS: SignedDuration = SignedDuration::from_hours(1);
/// Bytes of one field of a shown diagnosis, and of a failure in one sentence.
pub(super) const SHOWN_BYTES: usize = 300;

impl Progress {
    pub(super) fn enter(&mut self, stage: Stage) {
        self.stage = stage;
        self.rejections.clear();
        // What is diagnosed was refuted by a run.
        self.memory.refuted += u32::from(stage == Stage::Diagnosing);
    }

    /// To the tests when the image holds everything, to the builder when not, to the model when it cannot be built.
    pub(super) fn enter_image(&mut self, now: Timestamp) {
        if self.agent.is_some() {
            return self.enter_agent_sandbox();
        }
        if self.build.ready().is_some() {
            // What could not be built is not wanted any more.
            self.build.fault = None;
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
        self.acceptance_is_apart = read.acceptance_is_apart;
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

    pub(super) fn take_plan(
        &mut self,
        task: &Task,
        plan: PlanStatus,
        cases: Option<(Document, CaseEvidence)>,
    ) {
        self.plan = Some(plan);
        (self.documents.cases, self.cases) = cases.unzip();
        self.seen_cases.clear();
        if let Some(agent) = &mut self.agent {
            // Those of the plan before.
            agent.rechecked_cases.clear();
        }
        match task.backend {
            Backend::Pipeline => self.enter(Stage::GeneratingCode),
            Backend::Agent => self.begin_agent(),
        }
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
        // `enter_image` counts it again; commands of an agent are no attempt.
        self.attempt -= u32::from(self.stage == Stage::RunningTests);
        self.enter_image(now);
    }

    pub(super) fn take_environment(
        &mut self,
        task: &Task,
        replaced: Vec<(String, String)>,
        wanted: Packages,
        now: Timestamp,
    ) {
        self.build.replaced.extend(replaced);
        self.build.wanted = wanted;
        self.fix_tries += 1;
        self.leave_unusable(task);
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
        self.writes_to_disk |= verdict.is_on_disk;
        if let Some(message) = verdict.unchecked() {
            return self.wait_for_smaller_outputs(&verdict, message, now);
        }
        self.record_attempt(&verdict, started_at, now);
        self.seen_cases.extend(&verdict.seen);
        self.near_misses.clone_from(&verdict.near_misses);
        if self.agent.is_some() {
            self.take_agent_verdict(task, &verdict, now);
            if !verdict.doubtful.is_empty() && self.stage == Stage::Working {
                self.enter(Stage::RecheckingConstraints);
            } else if verdict.passed() && self.needs_more_cases(task) {
                self.ask_for_cases();
            }
            return;
        }
        if verdict.passed() {
            self.last_error = None;
            self.memory.failing.clear();
            if self.needs_more_cases(task) {
                return self.ask_for_cases();
            }
            return self.pass(task, now);
        }
        self.last_error = Some(bounds::cut(&verdict.summary(), SHOWN_BYTES));
        // The program of another task, which its agent knows nothing of: this one begins with its own.
        if task.backend == Backend::Agent {
            self.forget_program();
            return self.begin_agent();
        }
        // Before any diagnosis, which could only guess, and whatever the limit: the case may be at fault.
        if verdict.only_held_fails() {
            self.memory.only_acceptance_fails = false;
            self.fix_applied = false;
            self.fix_tries = 0;
            self.pending_fixes.clear();
            self.blamed_cases = verdict.held.iter().map(|check| check.detail.id.clone()).collect();
            return self.enter(Stage::RecheckingCases);
        }
        let asked = model_for(task, self);
        let failing = verdict.failing();
        let stuck = self.remember_failing(&failing);
        // Then no model is asked for a diagnosis.
        self.memory.only_acceptance_fails = only_acceptance(&verdict.failed);
        // A suite that finds no fault has nothing to diagnose: it is asked for again with what was found.
        let of_the_suite = verdict.asks_for_a_stronger_suite();
        self.memory.suite_asked |= of_the_suite.is_some();
        let following = if of_the_suite.is_some() {
            Stage::GeneratingTests
        } else if verdict.doubtful.is_empty() {
            Stage::Diagnosing
        } else {
            Stage::RecheckingConstraints
        };
        self.fix_applied = false;
        self.fix_tries = 0;
        self.enter(following);
        // Nothing of what came before is held against a stronger model.
        let is_due = stuck.is_some() || model_for(task, self) != asked;
        let takes_over = is_due && self.escalate(task, asked);
        self.rejections
            .extend(of_the_suite.map(|check| ReplyFault::from(check.detail.message.clone())));
        // Whatever the limit: the constraint may speak of other data.
        if following == Stage::RecheckingConstraints {
            return;
        }
        // The state is entered before it ends, so a raised limit goes on from there.
        if let Some(why) = stuck.filter(|_| !takes_over) {
            self.end(self.no_progress(&why), following, now);
        } else if self.attempts_of_try() >= task.limits.max_iterations {
            self.end(self.exhausted(task), following, now);
        }
    }

    /// Once: whoever has answered as well as it can answers no better the next time.
    fn ask_for_cases(&mut self) {
        self.memory.cases_asked = true;
        self.enter(Stage::ExtendingCases);
    }

    /// Past everything that decides by itself.
    pub(super) fn pass(&mut self, task: &Task, now: Timestamp) {
        if task.approvals.contains(&Gate::Result) {
            return self.enter(Stage::Passed);
        }
        self.accept(task, now);
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
            retry_at: now.checked_add(PAUSE_FOR_SMALLER_OUTPUTS).unwrap_or(now),
            since: Some(now),
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
            suite_strength: verdict.suite,
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

    /// Nothing goes on before something has changed; `before` is the progress until then.
    pub(super) fn wait_after(&mut self, before: &Self, blocked: BlockedTask, now: Timestamp) {
        self.lost_children = before.lost_children;
        self.silent_ends = before.silent_ends;
        match blocked.lost_child {
            Some(LostChild::Gone) => self.lost_children += 1,
            Some(LostChild::Silent) => self.silent_ends += 1,
            None => {}
        }
        self.waiting = Some(Waiting {
            category: blocked.category,
            message: blocked.message,
            times: before.waiting.as_ref().map_or(1, |waiting| waiting.times + 1),
            retry_at: blocked.retry_at,
            since: Some(now),
            reason: None,
        });
    }
}
