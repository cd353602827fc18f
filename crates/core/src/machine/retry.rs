//! Continuation of a task that has ended: where a limit was raised, and where somebody asks for another try.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::progress::{Memory, Progress};
use crate::retry::{Retry, Start};
use crate::sandbox::Packages;
use crate::stage::Stage;
use crate::task::Task;
use codegen_api::common::Backend;
use codegen_api::retry::RetryStatus;

impl Progress {
    /// From where the raised limit stopped the task.
    pub(super) fn go_on(&mut self) {
        if let Some(stage) = self.stopped_in.take() {
            self.stage = stage;
            self.stop = None;
            self.ended_in = None;
            self.completed_at = None;
        }
    }

    /// Begins another try, or says why there is none; `before` is the progress until then.
    pub(super) fn take_retry(&mut self, task: &Task, before: &Self, retry: Retry, now: Timestamp) {
        match retry.start(task, before, now) {
            Ok(start) => self.try_again(task, start, retry, now),
            // All else stays as it was, also what it waits for.
            Err(why) => {
                *self = Self {
                    retry_refused: Some(why),
                    ..before.clone()
                };
            }
        }
    }

    /// Numbers of calls and attempts go on, so that what was recorded before stays under its names.
    fn try_again(&mut self, task: &Task, start: Start, retry: Retry, now: Timestamp) {
        let stop = self.stop.take();
        let after = stop.map_or(Stage::Succeeded.as_str(), |stop| stop.reason.as_str());
        self.retries.push(RetryStatus {
            replan: retry.replan,
            hint: retry.hint.map(|hint| hint.trim().to_owned()),
            after: after.to_owned(),
            attempts: i32::try_from(self.attempt).unwrap_or(i32::MAX),
            at: Some(Time(now)),
        });
        self.retry_refused = None;
        self.stopped_in = None;
        self.ended_in = None;
        self.completed_at = None;
        if let Start::Stage(stage) = start {
            self.stage = stage;
            return self.rejections.clear();
        }
        self.fix_tries = 0;
        self.fix_applied = false;
        self.pending_fixes.clear();
        self.blamed_cases.clear();
        self.published = None;
        self.forget_program();
        if start == Start::Plan {
            self.plan = None;
            self.cases = None;
            self.documents.cases = None;
            self.enter(self.before_planning(task));
        } else if task.backend == Backend::Agent {
            self.begin_agent();
        } else {
            self.enter(Stage::GeneratingCode);
        }
    }

    /// Returns the stage at which planning begins: what was read before is not read again.
    fn before_planning(&self, task: &Task) -> Stage {
        if self.documents.context.is_none() {
            Stage::ReadingSamples
        } else if self.documents.checks.is_none() && !task.constraints.is_empty() {
            Stage::ReadingConstraints
        } else {
            Stage::Planning
        }
    }

    pub(super) fn forget_program(&mut self) {
        self.documents.solution = None;
        self.adopted_from = None;
        self.build.declared = Packages::default();
        self.build.wanted = Packages::default();
        self.build.fault = None;
        self.documents.tests = None;
        self.documents.run = None;
        self.documents.diagnosis = None;
        self.rehearsal = None;
        self.exit_code = None;
        self.memory = Memory::default();
    }
}
