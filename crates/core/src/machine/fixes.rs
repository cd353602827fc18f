//! Effects of diagnoses and fixes on the progress of a task.

use jiff::Timestamp;

use crate::agent::Next;
use crate::bounds;
use crate::call::ReplyFault;
use crate::diagnosis::Diagnosis;
use crate::evidence::has_proof;
use crate::progress::{Document, Progress};
use crate::stage::{Stage, Stop, StopReason};
use crate::task::Task;
use codegen_api::status::{CaseEvidence, ErrorType, FailureDiagnosis};

use super::effects::{MAX_FIX_TRIES, MAX_REJECTIONS, SHOWN_BYTES};
use super::{CasesRevised, Diagnosed, ScopesDecided};

/// Failures whose diagnosis the status shows.
const SHOWN_FAILURES: usize = 5;

impl Progress {
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
    pub(super) fn take_revision(&mut self, task: &Task, revised: CasesRevised, now: Timestamp) {
        self.documents.cases = Some(revised.cases.0);
        self.cases = Some(revised.cases.1);
        self.documents.diagnosis = Some(revised.document);
        self.present_diagnosis(shown(&revised.diagnosis));
        self.seen_cases = revised.seen;
        if let Some(plan) = &mut self.plan {
            plan.cases = revised.lines;
        }
        if self.agent.is_some() {
            return self.take_agent_revision(revised.are_all_confirmed);
        }
        self.blamed_cases.clear();
        if revised.was_held && revised.program_is_at_fault {
            // What was held back is shown, and diagnosed as any other.
            self.enter(Stage::Diagnosing);
            if self.attempts_of_try() >= task.limits.max_iterations {
                self.end(self.exhausted(task), Stage::Diagnosing, now);
            }
            return;
        }
        // The case was at fault, and it is no longer asked; with nothing else failing the next run decides.
        if !revised.program_is_at_fault {
            self.fix_applied = true;
        } else if !self.pending_fixes.contains(&ErrorType::Logic) {
            self.pending_fixes.insert(0, ErrorType::Logic);
        }
        self.enter_next_fix(now);
    }

    /// Records decided scopes: where a constraint speaks of other data, the next run decides without it; else its break is a fault of the
    /// program.
    pub(super) fn take_scopes(&mut self, task: &Task, decided: ScopesDecided, now: Timestamp) {
        self.settled_breaks.extend(decided.settled);
        let is_waived = decided.changed.is_some();
        if let Some((checks, constraints)) = decided.changed {
            self.documents.checks = Some(checks);
            self.constraints = constraints;
        }
        if let Some(agent) = self.agent.as_mut().filter(|_| is_waived) {
            agent.tested = None;
            agent.same_failures = 0;
        } else if is_waived {
            self.fix_applied = true;
            return self.enter_image(now);
        }
        self.leave_scopes(task, now);
    }

    /// The same program is tested again, with further cases.
    pub(super) fn take_more_cases(
        &mut self,
        cases: (Document, CaseEvidence),
        lines: Vec<String>,
        now: Timestamp,
    ) {
        self.documents.cases = Some(cases.0);
        self.cases = Some(cases.1);
        if let Some(plan) = &mut self.plan {
            plan.cases = lines;
        }
        let Some(agent) = &mut self.agent else {
            return self.enter_image(now);
        };
        agent.tested = None;
        agent.passed = None;
        agent.next = Next::Continue;
        self.enter(Stage::Working);
    }

    /// With the cases that there are.
    pub(super) fn leave_cases(&mut self, task: &Task, now: Timestamp) {
        if let Some(agent) = &mut self.agent {
            agent.next = Next::Continue;
            return self.enter(Stage::Working);
        }
        self.pass(task, now);
    }

    /// To whoever finds out why the outputs are as they are.
    fn leave_scopes(&mut self, task: &Task, now: Timestamp) {
        if let Some(agent) = &mut self.agent {
            agent.next = Next::Continue;
            return self.enter(Stage::Working);
        }
        self.enter(Stage::Diagnosing);
        if self.attempts_of_try() >= task.limits.max_iterations {
            self.end(self.exhausted(task), Stage::Diagnosing, now);
        }
    }

    pub(super) fn fix_done(&mut self, error_type: ErrorType, now: Timestamp) {
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
                last_reason.map(|fault| fault.reason).unwrap_or_default()
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

    pub(super) fn take_missed_fix(&mut self, task: &Task, fault: ReplyFault, now: Timestamp) {
        self.fix_tries += 1;
        self.rejections.push(fault);
        self.leave_unusable(task);
        if self.fix_tries >= MAX_FIX_TRIES {
            self.leave_fix(now);
        }
    }

    pub(super) fn take_rejection(&mut self, task: &Task, fault: ReplyFault, now: Timestamp) {
        self.rejections.push(fault);
        self.leave_unusable(task);
        if self.rejections.len() < MAX_REJECTIONS {
            return;
        }
        // An unusable fix of one side leaves the other side's fix to be made.
        if matches!(self.stage, Stage::FixingCode | Stage::FixingTests) {
            return self.leave_fix(now);
        }
        // The suite that was to be better stays as it is, and none is needed where something else decides.
        let has_suite = self.documents.tests.is_some();
        if self.stage == Stage::GeneratingTests && (has_suite || has_proof(task, self)) {
            return self.enter_image(now);
        }
        if self.stage == Stage::ExtendingCases {
            return self.leave_cases(task, now);
        }
        if self.stage == Stage::RecheckingConstraints {
            return self.leave_scopes(task, now);
        }
        let last = self.rejections.last().map_or("", |fault| fault.reason.as_str());
        let message = format!(
            "{MAX_REJECTIONS} replies in a row could not be used in stage {}; the last: {last} Use a model that keeps to structured \
             output, or make the task plainer.",
            self.stage,
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
