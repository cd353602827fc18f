//! Memory of runs while they are worked on, and of which of them wait for what.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use kube::ResourceExt as _;

use super::frozen::FrozenRun;
use super::program::FinishedProgram;
use super::status::ended_in;
use crate::controller::config::ConcurrencyLimits;
use crate::controller::record::cache;
use crate::controller::schedule::gate::PlaceCount;
use crate::controller::schedule::shared::{Shared, SharedKind};
use crate::controller::telemetry::metrics::{Metrics, by_stage};
use codegen_api::common::CacheMode;
use codegen_api::conditions::{reason, run_reason};
use codegen_api::{CodeGenRun, CodeGenRunStatus, CodeGenTask};
use codegen_core::stage::Stage;

/// Most programs that are cached: those of tasks with run after run.
const MOST_PROGRAMS: usize = 16;

/// Memory of one run.
#[derive(Default)]
pub struct RunMemory {
    frozen: Option<Arc<FrozenRun>>,
    /// The execution whose sandbox was seen under way.
    under_way: Option<i32>,
    /// The executions that ended without a report, since the last one that had one.
    silent: BTreeSet<i32>,
}

/// Memory beside that of the single runs.
#[derive(Default)]
pub struct MemoryBesideRuns {
    /// By the task's uid and the name of its result.
    programs: HashMap<(String, String), Arc<FinishedProgram>>,
}

impl SharedKind for CodeGenRun {
    type Memory = RunMemory;
    type Beside = MemoryBesideRuns;

    fn places(limits: ConcurrencyLimits) -> PlaceCount {
        PlaceCount::of_runs(limits)
    }

    fn count_queued(metrics: &Metrics, waiting: usize) {
        metrics.set_queued_runs(waiting);
    }

    fn has_begun(&self) -> bool {
        self.status
            .as_ref()
            .is_some_and(|status| status.snapshot.is_some())
    }

    /// Reports whether the program was under way when the status was written.
    fn is_under_way(&self) -> bool {
        let reasons = [
            run_reason::RUNNING,
            run_reason::READING_OUTPUTS,
            reason::INFRASTRUCTURE,
        ];
        let reason = self.status.as_ref().and_then(|status| status.reason.as_deref());
        self.has_begun()
            && ended_in(self).is_none()
            && reasons.into_iter().any(|under_way| reason == Some(under_way))
    }

    fn was_worked_on(memory: &RunMemory) -> bool {
        memory.frozen.is_some()
    }
}

impl Shared<CodeGenRun> {
    /// Returns the frozen inputs of the run, where they are in memory.
    #[must_use]
    pub fn frozen(&self, uid: &str) -> Option<Arc<FrozenRun>> {
        self.with(uid, |memory| memory.frozen.clone())
    }

    /// Caches the frozen inputs of the run.
    pub fn cache_frozen(&self, uid: &str, frozen: Arc<FrozenRun>) {
        self.with(uid, |memory| memory.frozen = Some(frozen));
    }

    /// The sandbox of this execution is under way, or none is any more.
    pub fn is_under_way(&self, uid: &str, execution: Option<i32>) {
        self.with(uid, |memory| memory.under_way = execution);
    }

    /// Reports whether the sandbox of this execution was seen under way: where it is not there, it is lost.
    #[must_use]
    pub fn was_under_way(&self, uid: &str, execution: i32) -> bool {
        self.with(uid, |memory| memory.under_way == Some(execution))
    }

    /// This execution ended without a report; how many have in a row. The same execution counts once.
    #[must_use]
    pub fn ended_silently(&self, uid: &str, execution: i32) -> usize {
        self.with(uid, |memory| {
            memory.silent.insert(execution);
            memory.silent.len()
        })
    }

    /// An execution has reported: those before it that did not count no more.
    pub fn has_reported(&self, uid: &str) {
        self.with(uid, |memory| memory.silent.clear());
    }

    /// The program of a task, where it is in memory.
    #[must_use]
    pub fn program(&self, uid: &str, result: &str) -> Option<Arc<FinishedProgram>> {
        let key = (uid.to_owned(), result.to_owned());
        self.beside().programs.get(&key).cloned()
    }

    /// Caches the program of a task.
    pub fn cache_program(&self, uid: &str, result: &str, program: Arc<FinishedProgram>) {
        let mut state = self.beside();
        if state.programs.len() >= MOST_PROGRAMS {
            state.programs.clear();
        }
        state
            .programs
            .insert((uid.to_owned(), result.to_owned()), program);
    }

    /// The tasks were listed anew: any of them may have ended meanwhile.
    pub fn tasks_are_there(&self) {
        self.wake_those(has_not_begun);
    }

    /// A task is there, or has changed.
    pub fn task_is_there(&self, task: &CodeGenTask) {
        let is_new = task
            .status
            .as_ref()
            .and_then(|status| status.stage.as_ref())
            .is_none();
        // Between the creation and the end of a task nothing changes for a run.
        if is_new || cache::ended_in(task).is_some() {
            self.task_has_changed(task);
        }
    }

    /// A task has ended, begun, or is gone.
    pub fn task_has_changed(&self, task: &CodeGenTask) {
        let (namespace, name) = (task.namespace(), task.name_any());
        self.wake_those(|run| {
            let is_of_it = run.spec.task_ref.as_ref().is_some_and(|task| task.name == name);
            is_of_it && run.namespace() == namespace && has_not_begun(run)
        });
    }

    /// A run is there, or has changed.
    pub fn is_there(&self, run: &CodeGenRun) {
        // As with tasks, only the creation and the end of a run matter to others.
        if run.status.is_none() || ended_in(run).is_some() {
            self.has_changed(run);
        }
    }

    /// A run has begun, ended or is gone: those that take its outputs go on, or say so.
    pub fn has_changed(&self, other: &CodeGenRun) {
        let (namespace, name) = (other.namespace(), other.name_any());
        self.wake_those(|run| {
            let sources = run.spec.inputs.iter().filter_map(|input| input.source.as_ref());
            let mut outputs = sources.filter_map(|source| source.run_output.as_ref());
            outputs.any(|output| output.run == name) && run.namespace() == namespace && has_not_begun(run)
        });
    }
}

/// Says whether it may wait for its task, or for another run.
#[must_use]
pub fn has_not_begun(run: &CodeGenRun) -> bool {
    !run.has_begun() && ended_in(run).is_none()
}

/// Drops what nobody asks a run in memory for.
pub fn trim(run: &mut CodeGenRun) {
    run.metadata.managed_fields = None;
    if ended_in(run).is_none() {
        return;
    }
    let Some(status) = run.status.take() else { return };
    run.status = Some(CodeGenRunStatus {
        stage: status.stage,
        key: status.key,
        completed_at: status.completed_at,
        ..CodeGenRunStatus::default()
    });
    // Inline texts have up to 256 KiB each.
    run.spec.inputs = Vec::new();
    run.spec.sandbox = None;
    run.metadata.annotations = None::<BTreeMap<String, String>>;
    run.metadata.labels = None;
}

/// The runs of the namespace of `object` whose outputs it may take, the one that ended last first.
#[must_use]
pub fn alike(object: &CodeGenRun, key: &str, all: &[Arc<CodeGenRun>]) -> Vec<Arc<CodeGenRun>> {
    let is_alike = |other: &&Arc<CodeGenRun>| {
        other.namespace() == object.namespace()
            && other.uid() != object.uid()
            && ended_in(other) == Some(Stage::Succeeded)
            && other.spec.cache != Some(CacheMode::Disable)
            && other.spec.output_claim().is_none()
            && other.status.as_ref().and_then(|status| status.key.as_deref()) == Some(key)
    };
    let ended = |run: &Arc<CodeGenRun>| {
        let status = run.status.as_ref();
        status.and_then(|status| status.completed_at.as_ref().map(|time| time.0))
    };
    let mut alike: Vec<_> = all.iter().filter(is_alike).cloned().collect();
    alike.sort_by_key(|run| std::cmp::Reverse((ended(run), run.uid())));
    alike
}

/// Counts the runs of each stage.
#[must_use]
pub fn counts(all: &[Arc<CodeGenRun>]) -> Vec<(&'static str, i64)> {
    let stages = all.iter().map(|run| run.status.as_ref()?.stage.as_deref());
    by_stage(&["Pending", "Running", "Succeeded", "Failed"], stages)
}

#[cfg(test)]
mod tests {
    use codegen_api::run::{OutputClaim, RunOutputs};
    use jiff::Timestamp;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use kube::runtime::reflector;
    use kube::runtime::watcher::Event;
    use serde_json::json;

    use super::*;

    fn run(name: &str, key: &str, ended: i64) -> Arc<CodeGenRun> {
        let mut run: CodeGenRun = serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": "data", "uid": name},
            "spec": {"taskRef": {"name": "penguins"}},
        }))
        .unwrap();
        run.status = Some(CodeGenRunStatus {
            stage: Some("Succeeded".to_owned()),
            key: Some(key.to_owned()),
            message: Some("m".repeat(1000)),
            completed_at: Timestamp::from_second(ended).ok().map(Time),
            ..CodeGenRunStatus::default()
        });
        Arc::new(run)
    }

    #[test]
    fn outputs_are_taken_from_the_newest_run_with_the_same_key_that_left_any() {
        let new = run("new", "k", 0);
        let mut disabled = (*run("disabled", "k", 9)).clone();
        disabled.spec.cache = Some(CacheMode::Disable);
        let mut on_claim = (*run("on-claim", "k", 9)).clone();
        on_claim.spec.outputs = Some(RunOutputs {
            persistent_volume_claim: Some(OutputClaim::default()),
        });
        let mut elsewhere = (*run("elsewhere", "k", 9)).clone();
        elsewhere.metadata.namespace = Some("other".to_owned());
        let all = [
            run("older", "k", 5),
            run("newer", "k", 7),
            run("other-key", "l", 9),
            Arc::new(disabled),
            Arc::new(elsewhere),
            Arc::new(on_claim),
            Arc::clone(&new),
        ];
        let found: Vec<String> = alike(&new, "k", &all).iter().map(|run| run.name_any()).collect();
        assert_eq!(found, ["newer", "older"]);
    }

    #[test]
    fn a_run_that_waits_is_woken_when_its_task_has_ended() {
        let runs = Shared::<CodeGenRun>::new(ConcurrencyLimits::default(), Metrics::new());
        let mut woken = runs.woken();
        let (store, mut writer) = reflector::store();
        let mut waits = (*run("new", "k", 0)).clone();
        waits.status = None;
        for object in [waits, (*run("ended", "k", 0)).clone()] {
            writer.apply_watcher_event(&Event::Apply(object));
        }
        runs.knows(store);
        let mut task = CodeGenTask::new("penguins", codegen_api::CodeGenTaskSpec::default());
        task.metadata.namespace = Some("data".to_owned());
        let stage = |stage: &str| codegen_api::CodeGenTaskStatus {
            stage: Some(stage.to_owned()),
            ..Default::default()
        };
        task.status = Some(stage("Planning"));
        runs.task_is_there(&task);
        assert!(woken.try_recv().is_err());
        task.status = Some(stage("Succeeded"));
        runs.task_is_there(&task);
        assert_eq!(woken.try_recv().unwrap().name, "new");
        assert!(woken.try_recv().is_err());
    }

    #[test]
    fn a_run_without_a_place_waits_and_is_woken_when_one_is_free() {
        let limits = ConcurrencyLimits {
            max_concurrent_runs: 1,
            ..ConcurrencyLimits::default()
        };
        let metrics = Metrics::new();
        let runs = Shared::<CodeGenRun>::new(limits, metrics.clone());
        let mut woken = runs.woken();
        assert_eq!(runs.admit(&run("first", "k", 0)), None);
        let limit = runs.admit(&run("second", "k", 0)).unwrap();
        assert!(
            limit.contains("at most 1 runs run at once (limits.maxConcurrentRuns"),
            "{limit}"
        );
        assert!(metrics.text().unwrap().contains("queued_runs 1\n"));
        runs.release("first");
        assert_eq!(woken.try_recv().unwrap().name, "second");
        assert_eq!(runs.admit(&run("second", "k", 0)), None);
    }

    #[test]
    fn a_run_that_was_under_way_is_so_after_a_restart_and_one_that_waited_for_a_person_is_not() {
        let mut under_way = (*run("a", "k", 0)).clone();
        let status = under_way.status.get_or_insert_default();
        status.stage = Some("Running".to_owned());
        status.snapshot = Some("a-0123456789".to_owned());
        status.reason = Some(run_reason::RUNNING.to_owned());
        assert!(under_way.is_under_way());
        under_way.status.get_or_insert_default().reason = Some(reason::CONFIGURATION.to_owned());
        assert!(!under_way.is_under_way());
        assert!(!run("ended", "k", 5).is_under_way());
    }

    #[test]
    fn a_run_that_ended_takes_little_memory() {
        let mut run = (*run("a", "k", 5)).clone();
        trim(&mut run);
        assert!(serde_json::to_vec(&run).unwrap().len() < 600);
        assert_eq!(run.status.unwrap().key.as_deref(), Some("k"));
    }
}
