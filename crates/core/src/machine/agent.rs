//! Effects of outcomes on the progress of a task whose program an agent writes.

use jiff::Timestamp;

use super::AgentMoved;
use crate::agent::{AgentProgress, LISTED_ATTEMPTS, MAX_SAME_FAILURES, Next, ToolCounts};
use crate::models::model_for;
use crate::progress::Progress;
use crate::stage::{Stage, Stop, StopReason};
use crate::task::Task;
use crate::verdict::Verdict;
use crate::{bounds, budget};
use codegen_api::approval::Gate;

use super::effects::SHOWN_BYTES;

impl Progress {
    /// Begins a session; counts of tries before it stay.
    pub(super) fn begin_agent(&mut self) {
        let before = self.agent.take().unwrap_or_default();
        self.agent = Some(AgentProgress {
            first_step: before.next_step,
            next_step: before.next_step,
            counts: before.counts,
            // They are those of the plan, which this session may share with the one before it.
            rechecked_cases: before.rechecked_cases,
            ..AgentProgress::default()
        });
        self.enter(Stage::Working);
    }

    pub(super) fn take_agent_move(&mut self, task: &Task, moved: AgentMoved, now: Timestamp) {
        let AgentMoved {
            began,
            steps,
            counts,
            next,
            packages,
            sources,
            doubtful_cases,
            stuck,
            not_tested,
            users_fault,
        } = moved;
        if !not_tested.is_empty() {
            self.last_error = Some(bounds::cut(&not_tested, SHOWN_BYTES));
        }
        let agent = self.agent.get_or_insert_default();
        if let Some(sequence) = began {
            agent.sequence = sequence;
            agent.turns += 1;
            agent.counts.turns += 1;
        }
        agent.next_step += steps;
        agent.counts.add(counts);
        agent.next = next;
        if let Some(sources) = sources {
            agent.tested = Some(sources.state);
            self.documents.solution = Some(sources.solution);
            self.documents.tests = Some(sources.tests);
            self.memory.solution_tree = sources.solution_tree;
            self.memory.tests_tree = sources.tests_tree;
        }
        if let Some((declared, wanted)) = packages {
            self.build.declared = declared;
            self.build.wanted = wanted;
        }
        self.enter(Stage::Working);
        if let Some(message) = users_fault {
            let reason = StopReason::NoProgress;
            return self.end(Stop { reason, message }, Stage::Working, now);
        }
        if let Some(why) = stuck.filter(|_| !self.escalate(task, model_for(task, self))) {
            return self.end(self.agent_without_progress(&why), Stage::Working, now);
        }
        if !doubtful_cases.is_empty() {
            self.blamed_cases = doubtful_cases;
            return self.enter(Stage::RecheckingCases);
        }
        match next {
            // What passes is proved with the packages that it names, and no others.
            Next::Test if self.build.has_surplus() && budget::allow_build(task, self).is_ok() => {
                self.enter(Stage::AwaitingImage);
            }
            Next::Run | Next::Test => self.enter_agent_sandbox(),
            Next::Done if task.approvals.contains(&Gate::Result) => self.enter(Stage::Passed),
            Next::Done => self.accept(task, now),
            Next::Ask | Next::Continue => {}
        }
    }

    /// To what the agent waits for where the image holds everything, to the builder where not, back to the agent where it cannot be built.
    pub(super) fn enter_agent_sandbox(&mut self) {
        let is_ready = self.build.ready().is_some();
        let has_fault = self.build.present_fault().is_some();
        let agent = self.agent.get_or_insert_default();
        if is_ready && agent.next == Next::Test {
            self.attempt += 1;
            return self.enter(Stage::RunningTests);
        }
        if is_ready {
            return self.enter(Stage::Working);
        }
        if has_fault {
            agent.next = Next::Continue;
            agent.tested = None;
            return self.enter(Stage::Working);
        }
        self.enter(Stage::AwaitingImage);
    }

    /// The turn goes on with cases that were worked out again: with other ones the same files are tested again.
    pub(super) fn take_agent_revision(&mut self, are_all_confirmed: bool) {
        let rechecked = std::mem::take(&mut self.blamed_cases);
        let agent = self.agent.get_or_insert_default();
        agent.rechecked_cases.extend(rechecked);
        agent.next = Next::Continue;
        if !are_all_confirmed {
            agent.tested = None;
            agent.same_failures = 0;
        }
        self.enter(Stage::Working);
    }

    /// The agent is told what its tests came to; whether it is done then is for it to say.
    pub(super) fn take_agent_verdict(&mut self, task: &Task, verdict: &Verdict, now: Timestamp) {
        if self.attempts.len() > LISTED_ATTEMPTS {
            self.attempts.remove(0);
        }
        let failing = bounds::bounded_signatures(&verdict.failing());
        let is_same = !failing.is_empty() && failing == self.memory.failing;
        self.memory.failing = failing;
        self.memory.suite_asked |= verdict.asks_for_a_stronger_suite().is_some();
        let asked = model_for(task, self);
        self.memory.refuted += u32::from(!verdict.passed() && verdict.doubtful.is_empty());
        self.last_error = (!verdict.passed()).then(|| bounds::cut(&verdict.summary(), SHOWN_BYTES));
        let agent = self.agent.get_or_insert_default();
        agent.next = Next::Continue;
        agent.passed = agent.tested.clone().filter(|_| verdict.passed());
        agent.same_failures = if is_same { agent.same_failures + 1 } else { 0 };
        let times = agent.same_failures;
        self.enter(Stage::Working);
        if times >= MAX_SAME_FAILURES && !self.escalate(task, asked) {
            let stop = self.agent_without_progress(&format!(
                "the same checks fail in the same way after {times} changes"
            ));
            self.end(stop, Stage::Working, now);
        }
    }
}

impl Progress {
    /// The end of a task whose agent gets nowhere.
    fn agent_without_progress(&self, why: &str) -> Stop {
        let turns = self.agent.as_ref().map_or(0, |agent| agent.turns);
        let last = self.last_error.as_deref();
        let last = last.map_or_else(String::new, |last| {
            format!(" Last failure: {}.", last.trim_end_matches('.'))
        });
        Stop {
            reason: StopReason::NoProgress,
            message: format!(
                "Stopped in turn {turns}: {why}.{last} Read the agent's trace. Another try begins a new session (kubectl-codegen \
                 retry TASK; of a task on this machine local --retry), with --hint TEXT where the task leaves something open, with \
                 --replan for a new plan, or with another model."
            ),
        }
    }
}

/// The end of a task whose turns are used up.
pub(super) fn turns_exhausted(task: &Task, progress: &Progress) -> Option<Stop> {
    let turns = progress.agent.as_ref().map_or(0, |agent| agent.turns);
    let limit = task.limits.agent_max_turns;
    (turns >= limit).then(|| {
        let last = progress.last_error.as_deref().unwrap_or("none");
        Stop {
            reason: StopReason::IterationsExhausted,
            message: format!(
                "limits.agentMaxTurns: {turns} of {limit} turns are used up. Last failure: {last}. Read the agent's trace; make the \
                 task more precise, or raise limits.agentMaxTurns to go on."
            ),
        }
    })
}

impl ToolCounts {
    fn add(&mut self, more: Self) {
        self.denied += more.denied;
        self.failed += more.failed;
        for (tool, calls) in more.by_tool {
            *self.by_tool.entry(tool).or_default() += calls;
        }
    }
}
