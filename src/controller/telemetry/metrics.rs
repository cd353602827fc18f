//! Counters and gauges of the operator. Every label has a bounded set of values: no name, no text of a user.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use codegen_api::model::Provider;
use codegen_core::stage::Category;
use codegen_engine::event::Event;

mod code_mode;

pub use code_mode::CodeModeMetrics;

type Label = (&'static str, &'static str);
type Counters<const N: usize> = Family<[Label; N], Counter>;
type Gauges<const N: usize> = Family<[Label; N], Gauge>;
type Histograms<const N: usize> = Family<[Label; N], Histogram>;

/// Outcome of a reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reconciled {
    /// The task moved on.
    Advanced,
    /// A child runs.
    Pending,
    /// It waits for room or for its turn.
    Queued,
    /// It waits for a person or a moment.
    Waiting,
    /// There was nothing to do.
    Idle,
    /// It failed and is repeated.
    Error,
}

impl Reconciled {
    /// As labels and log records have it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Advanced => "advanced",
            Self::Pending => "pending",
            Self::Queued => "queued",
            Self::Waiting => "waiting",
            Self::Idle => "idle",
            Self::Error => "error",
        }
    }
}

/// Counters, gauges and histograms of the operator. Clones count together.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Arc<Registry>,
    tasks: Gauges<2>,
    tasks_ended: Counters<1>,
    queued: Gauge,
    runs: Gauges<1>,
    runs_ended: Counters<2>,
    run_seconds: Histogram,
    queued_runs: Gauge,
    code_mode: CodeModeMetrics,
    model_requests: Counters<2>,
    model_replies: Counters<2>,
    rejected_replies: Counters<1>,
    tokens: Counters<1>,
    call_seconds: Histograms<1>,
    calls_in_flight: Gauge,
    calls_waiting: Gauge,
    builds: Counters<1>,
    build_seconds: Histogram,
    attempts: Counters<1>,
    failures: Counters<1>,
    waits: Counters<1>,
    reconcile_seconds: Histograms<1>,
    pauses_over: Counters<1>,
    leader: Gauge,
    isolated: Family<[(&'static str, String); 1], Gauge>,
    events_dropped: Counter,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

fn milliseconds() -> Histogram {
    // From 1 ms to 4 min, since a model call is part of a pass.
    Histogram::new(exponential_buckets(0.001, 4.0, 10))
}

fn seconds() -> Histogram {
    // From 0.25 s to 9 min.
    Histogram::new(exponential_buckets(0.25, 2.0, 12))
}

impl Metrics {
    /// Metrics in which nothing has happened.
    #[must_use]
    pub fn new() -> Self {
        let mut metrics = Self {
            registry: Arc::default(),
            tasks: Family::default(),
            tasks_ended: Family::default(),
            queued: Gauge::default(),
            runs: Family::default(),
            runs_ended: Family::default(),
            run_seconds: seconds(),
            queued_runs: Gauge::default(),
            code_mode: CodeModeMetrics::default(),
            model_requests: Family::default(),
            model_replies: Family::default(),
            rejected_replies: Family::default(),
            tokens: Family::default(),
            call_seconds: Family::new_with_constructor(seconds),
            calls_in_flight: Gauge::default(),
            calls_waiting: Gauge::default(),
            builds: Family::default(),
            build_seconds: seconds(),
            attempts: Family::default(),
            failures: Family::default(),
            waits: Family::default(),
            reconcile_seconds: Family::new_with_constructor(milliseconds),
            pauses_over: Family::default(),
            leader: Gauge::default(),
            isolated: Family::default(),
            events_dropped: Counter::default(),
        };
        metrics.registry = Arc::new(metrics.registered());
        metrics
    }

    fn registered(&self) -> Registry {
        let mut all = Registry::with_prefix("codegen_operator");
        let version = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        all.register("build", "Version of the operator", version);
        all.register("leader", "1 where this replica leads", self.leader.clone());
        all.register(
            "isolated",
            "1 where the nodes of a pool were seen to isolate sandboxes and builds",
            self.isolated.clone(),
        );
        self.register_tasks(&mut all);
        self.register_runs(&mut all);
        self.code_mode.register(&mut all);
        self.register_calls(&mut all);
        all.register_with_unit(
            "reconcile",
            "Duration of reconciles by how they ended",
            Unit::Seconds,
            self.reconcile_seconds.clone(),
        );
        all.register(
            "pauses_over",
            "Passes over a task for no cause but that a requeue was due, by what the pass before came to",
            self.pauses_over.clone(),
        );
        all.register(
            "events_dropped",
            "Events that were not sent because the API server did not keep up",
            self.events_dropped.clone(),
        );
        all
    }

    fn register_tasks(&self, all: &mut Registry) {
        all.register("tasks", "Tasks by stage and reason", self.tasks.clone());
        all.register(
            "tasks_ended",
            "Tasks that ended, by stage",
            self.tasks_ended.clone(),
        );
        all.register(
            "queued_tasks",
            "Tasks that wait for their turn under a concurrency limit",
            self.queued.clone(),
        );
        all.register("builds", "Image builds by how they ended", self.builds.clone());
        all.register_with_unit(
            "build",
            "Duration of builds",
            Unit::Seconds,
            self.build_seconds.clone(),
        );
        all.register("attempts", "Attempts by result", self.attempts.clone());
        all.register(
            "failures",
            "Diagnosed failures by error type",
            self.failures.clone(),
        );
        all.register(
            "waits",
            "Times that a task had to wait, by category of the cause",
            self.waits.clone(),
        );
    }

    fn register_runs(&self, all: &mut Registry) {
        all.register("runs", "Runs of finished programs by stage", self.runs.clone());
        all.register(
            "runs_ended",
            "Runs of finished programs that ended, by stage and reason",
            self.runs_ended.clone(),
        );
        all.register_with_unit(
            "run",
            "Time from the start of a run of a finished program to its end, those that took the outputs of another one aside",
            Unit::Seconds,
            self.run_seconds.clone(),
        );
        all.register(
            "queued_runs",
            "Runs of finished programs that wait for their turn under a concurrency limit",
            self.queued_runs.clone(),
        );
    }

    fn register_calls(&self, all: &mut Registry) {
        all.register(
            "model_requests",
            "Model calls that were sent, by provider and how they ended",
            self.model_requests.clone(),
        );
        all.register(
            "model_replies",
            "Replies by kind of call and source: the model, or the record of a call made before",
            self.model_replies.clone(),
        );
        all.register(
            "model_replies_rejected",
            "Replies that could not be used, by kind of call",
            self.rejected_replies.clone(),
        );
        all.register(
            "model_tokens",
            "Tokens paid for, by direction",
            self.tokens.clone(),
        );
        all.register_with_unit(
            "model_call",
            "Duration of model calls",
            Unit::Seconds,
            self.call_seconds.clone(),
        );
        all.register(
            "model_calls_in_flight",
            "Model calls under way",
            self.calls_in_flight.clone(),
        );
        all.register(
            "model_calls_waiting",
            "Model calls that wait because their endpoint has as many as it may",
            self.calls_waiting.clone(),
        );
    }

    /// Everything in the text format of `OpenMetrics`.
    pub fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }

    /// Counts what the engine does.
    pub fn observe(&self, event: &Event) {
        match event {
            Event::CallFinished {
                kind,
                usage,
                seconds,
                from_ledger,
                ..
            } => {
                let kind = ("kind", kind.as_str());
                let source = if *from_ledger { "record" } else { "model" };
                count(&self.model_replies, [kind, ("source", source)], 1);
                // What comes from the record was paid for, and counted, before.
                if !from_ledger {
                    count(&self.tokens, [("direction", "input")], usage.input);
                    count(&self.tokens, [("direction", "output")], usage.output);
                    self.call_seconds.get_or_create(&[kind]).observe(*seconds);
                }
            }
            Event::ReplyRejected { kind, .. } => {
                count(&self.rejected_replies, [("kind", kind.as_str())], 1);
            }
            Event::BuildFinished { seconds, cached, .. } => {
                if *cached {
                    count(&self.builds, [("outcome", "found")], 1);
                } else {
                    count(&self.builds, [("outcome", "built")], 1);
                    self.build_seconds.observe(*seconds);
                }
            }
            Event::BuildFailed { .. } => count(&self.builds, [("outcome", "failed")], 1),
            Event::Diagnosed { failures, .. } => {
                for failure in failures {
                    let name = codegen_core::diagnosis::name(failure.error_type);
                    count(&self.failures, [("error_type", name)], 1);
                }
            }
            Event::IterationFinished { passed, .. } => {
                let result = if *passed { "passed" } else { "failed" };
                count(&self.attempts, [("result", result)], 1);
            }
            Event::Waiting { category, .. } => {
                count(&self.waits, [("category", category_name(*category))], 1);
            }
            Event::StageEntered { stage, .. } if stage.is_terminal() => {
                count(&self.tasks_ended, [("stage", stage.as_str())], 1);
            }
            Event::StageEntered { .. }
            | Event::DataShown { .. }
            | Event::Resumed { .. }
            | Event::CallStarted { .. }
            | Event::RequestChanged { .. }
            | Event::BuildStarted { .. }
            | Event::PackageDoubtful { .. }
            | Event::ImageReplaced { .. }
            | Event::TestsFinished { .. }
            | Event::FixApplied { .. }
            | Event::AgentMoved { .. }
            | Event::ApprovalAwaited(_)
            | Event::Decided(_)
            | Event::Retried { .. }
            | Event::RetryRefused { .. }
            | Event::Published { .. } => {}
        }
    }

    /// Takes over how many tasks there are of each stage and reason. What is not named is none.
    pub fn set_tasks(&self, counts: impl IntoIterator<Item = (&'static str, &'static str, i64)>) {
        // A stage that no task is in any more would show its last number.
        self.tasks.clear();
        for (stage, reason, number) in counts {
            self.tasks
                .get_or_create(&[("stage", stage), ("reason", reason)])
                .set(number);
        }
    }

    /// Takes over how many tasks wait for their turn.
    pub fn set_queued(&self, number: usize) {
        self.queued.set(i64::try_from(number).unwrap_or(i64::MAX));
    }

    /// Takes over how many runs there are of each stage. What is not named is none.
    pub fn set_runs(&self, counts: impl IntoIterator<Item = (&'static str, i64)>) {
        // As for tasks: a stage without runs must not show its last number.
        self.runs.clear();
        for (stage, number) in counts {
            self.runs.get_or_create(&[("stage", stage)]).set(number);
        }
    }

    /// Takes over how many runs wait for their turn.
    pub fn set_queued_runs(&self, number: usize) {
        self.queued_runs.set(i64::try_from(number).unwrap_or(i64::MAX));
    }

    /// A run has ended, after so many seconds where its program ran.
    pub fn run_ended(&self, stage: &'static str, reason: &'static str, seconds: Option<f64>) {
        count(&self.runs_ended, [("stage", stage), ("reason", reason)], 1);
        if let Some(seconds) = seconds {
            self.run_seconds.observe(seconds);
        }
    }

    /// Returns the metrics of code mode.
    #[must_use]
    pub const fn code_mode(&self) -> &CodeModeMetrics {
        &self.code_mode
    }

    /// Records whether this replica leads.
    pub fn set_leader(&self, leads: bool) {
        self.leader.set(i64::from(leads));
    }

    /// Records whether a pool of nodes was found to isolate.
    pub fn set_isolated(&self, pool: &str, isolates: bool) {
        self.isolated
            .get_or_create(&[("pool", pool.to_owned())])
            .set(i64::from(isolates));
    }

    /// A model call was sent and ended; where there is no reply, by which category of failure.
    pub fn call_ended(&self, provider: Provider, failed: Option<Category>) {
        let outcome = failed.map_or("answered", category_name);
        count(
            &self.model_requests,
            [("provider", provider.as_str()), ("outcome", outcome)],
            1,
        );
    }

    /// Takes over how many model calls are under way and how many wait.
    pub fn set_calls(&self, in_flight: i64, waiting: i64) {
        self.calls_in_flight.set(in_flight);
        self.calls_waiting.set(waiting);
    }

    /// A reconcile ended.
    pub fn reconciled(&self, how: Reconciled, time: Duration) {
        self.reconcile_seconds
            .get_or_create(&[("outcome", how.as_str())])
            .observe(time.as_secs_f64());
    }

    /// A pass over a task for no cause but that the pause after one was over that came to this.
    pub fn pause_over(&self, after: Reconciled) {
        count(&self.pauses_over, [("after", after.as_str())], 1);
    }

    /// An event was not sent.
    pub fn event_dropped(&self) {
        self.events_dropped.inc();
    }
}

/// Counts the objects of each of `stages` that has any; one without a stage is in the first.
#[must_use]
pub fn by_stage<'a>(
    stages: &[&'static str],
    found: impl Iterator<Item = Option<&'a str>>,
) -> Vec<(&'static str, i64)> {
    let mut counts = vec![0; stages.len()];
    for stage in found {
        let place = stages.iter().position(|known| stage == Some(*known));
        if let Some(count) = counts.get_mut(place.unwrap_or_default()) {
            *count += 1;
        }
    }
    let counted = stages.iter().copied().zip(counts);
    counted.filter(|(_, number)| *number > 0).collect()
}

fn count<const N: usize>(counters: &Counters<N>, labels: [Label; N], by: u64) {
    counters.get_or_create(&labels).inc_by(by);
}

/// The category in labels, reasons of events and log records.
const fn category_name(category: Category) -> &'static str {
    match category {
        Category::Infrastructure => "infrastructure",
        Category::Configuration => "configuration",
    }
}

#[cfg(test)]
mod tests;
