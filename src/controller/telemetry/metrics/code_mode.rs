//! Counters and gauges of code mode.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::{Counters, Gauges, count, seconds};

/// Counters and gauges of questions to agents of code mode. Clones count together.
#[derive(Clone, Debug)]
pub struct CodeModeMetrics {
    runs: Gauges<1>,
    ended: Counters<2>,
    queued: Gauge,
    programs_failed: Counter,
    tool_calls: Counters<2>,
    seconds: Histogram,
    tokens: Counters<1>,
    interpreters: Gauge,
}

impl Default for CodeModeMetrics {
    fn default() -> Self {
        Self {
            runs: Family::default(),
            ended: Family::default(),
            queued: Gauge::default(),
            programs_failed: Counter::default(),
            tool_calls: Family::default(),
            seconds: seconds(),
            tokens: Family::default(),
            interpreters: Gauge::default(),
        }
    }
}

impl CodeModeMetrics {
    pub(super) fn register(&self, all: &mut Registry) {
        all.register("code_mode_runs", "Questions by stage", self.runs.clone());
        all.register(
            "code_mode_runs_ended",
            "Questions that ended, by stage and reason",
            self.ended.clone(),
        );
        all.register(
            "queued_code_mode_runs",
            "Questions that wait for their turn under a concurrency limit",
            self.queued.clone(),
        );
        all.register(
            "code_mode_programs_failed",
            "Programs that were refused, or failed",
            self.programs_failed.clone(),
        );
        all.register(
            "tool_calls",
            "Calls of tools that were made, by what the tool is and how they ended",
            self.tool_calls.clone(),
        );
        all.register_with_unit(
            "code_mode_run",
            "From the start of a question to its end; those that took an answer aside",
            Unit::Seconds,
            self.seconds.clone(),
        );
        all.register(
            "code_mode_tokens",
            "Tokens of questions that ended, lost calls by their estimate",
            self.tokens.clone(),
        );
        all.register(
            "code_mode_interpreters",
            "Programs of questions that run, or wait for what they called",
            self.interpreters.clone(),
        );
    }

    /// Takes over how many questions there are of each stage. What is not named is none.
    pub fn set_runs(&self, counts: impl IntoIterator<Item = (&'static str, i64)>) {
        // A stage without questions must not show its last number.
        self.runs.clear();
        for (stage, number) in counts {
            self.runs.get_or_create(&[("stage", stage)]).set(number);
        }
    }

    /// Takes over how many questions wait for their turn.
    pub fn set_queued(&self, number: usize) {
        self.queued.set(i64::try_from(number).unwrap_or(i64::MAX));
    }

    /// A question has ended, after so many seconds and tokens sent and received; without either where it took an answer.
    pub fn ended(&self, stage: &'static str, reason: &'static str, spent: Option<(f64, u64, u64)>) {
        count(&self.ended, [("stage", stage), ("reason", reason)], 1);
        if let Some((seconds, input, output)) = spent {
            self.seconds.observe(seconds);
            count(&self.tokens, [("direction", "input")], input);
            count(&self.tokens, [("direction", "output")], output);
        }
    }

    /// A program has room to run.
    pub fn interpreter_started(&self) {
        self.interpreters.inc();
    }

    /// It does not run any more.
    pub fn interpreter_ended(&self) {
        self.interpreters.dec();
    }

    /// A program was refused, or failed.
    pub fn program_failed(&self) {
        self.programs_failed.inc();
    }

    /// A tool was called.
    pub fn tool_called(&self, source: &'static str, has_raised: bool) {
        let outcome = if has_raised { "raised" } else { "returned" };
        count(&self.tool_calls, [("source", source), ("outcome", outcome)], 1);
    }
}
