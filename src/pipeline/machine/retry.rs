//! How a task goes on that has ended: where a limit was raised, and where somebody asks for another try.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::api::common::Backend;
use crate::api::retry::{RetryFrom, RetryStatus};
use crate::pipeline::agent::Next;
use crate::pipeline::progress::{Memory, Progress};
use crate::pipeline::retry::Retry;
use crate::pipeline::sandbox::Packages;
use crate::pipeline::stage::Stage;
use crate::pipeline::task::Task;

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
            Ok(from) => self.try_again(task, from, retry.hint, now),
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
    fn try_again(&mut self, task: &Task, from: RetryFrom, hint: Option<String>, now: Timestamp) {
        let stop = self.stop.take();
        let after = stop.map_or(Stage::Succeeded.as_str(), |stop| stop.reason.as_str());
        self.retries.push(RetryStatus {
            from,
            hint: hint.map(|hint| hint.trim().to_owned()),
            after: after.to_owned(),
            attempts: i32::try_from(self.attempt).unwrap_or(i32::MAX),
            at: Some(Time(now)),
        });
        self.retry_refused = None;
        self.stopped_in = None;
        self.ended_in = None;
        self.completed_at = None;
        self.fix_tries = 0;
        self.fix_applied = false;
        self.pending_fixes.clear();
        self.blamed_cases.clear();
        self.published = None;
        // An index may have changed since.
        self.build.fault = None;
        let stage = match from {
            RetryFrom::Plan => {
                self.plan = None;
                self.cases = None;
                self.documents.cases = None;
                self.forget_program();
                self.before_planning(task)
            }
            RetryFrom::Code if task.backend == Backend::Agent => {
                self.forget_program();
                return self.begin_agent();
            }
            RetryFrom::Code => {
                self.forget_program();
                Stage::GeneratingCode
            }
            RetryFrom::Tests => {
                self.forget_suite();
                Stage::GeneratingTests
            }
            RetryFrom::Diagnosis if task.backend == Backend::Agent => {
                // The session goes on, with all its turns to come.
                if let Some(agent) = &mut self.agent {
                    agent.turns = 0;
                    agent.try_step = agent.next_step;
                    if agent.next != Next::Ask {
                        // What it waited for is decided anew: an image may be needed again.
                        agent.next = Next::Continue;
                    }
                    agent.same_failures = 0;
                    agent.passed = None;
                    agent.tested = None;
                }
                Stage::Working
            }
            RetryFrom::Diagnosis => {
                // The failures stay; what was tried against them is not held against this try.
                let memory = std::mem::take(&mut self.memory);
                self.memory = Memory {
                    tried: BTreeMap::new(),
                    seen: BTreeSet::new(),
                    after_reclassification: None,
                    ..memory
                };
                Stage::Diagnosing
            }
        };
        self.enter(stage);
    }

    /// Where planning begins: what was read before is not read again.
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
        self.forget_suite();
        self.memory.solution_tree.clear();
    }

    fn forget_suite(&mut self) {
        self.documents.tests = None;
        self.documents.run = None;
        self.documents.diagnosis = None;
        self.rehearsal = None;
        self.exit_code = None;
        self.memory = Memory {
            solution_tree: std::mem::take(&mut self.memory.solution_tree),
            ..Memory::default()
        };
    }
}
