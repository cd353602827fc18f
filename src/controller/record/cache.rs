//! The tasks that are held in memory: whole while something is left to do, a few fields of them afterwards.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use kube::ResourceExt as _;

use codegen_api::conditions::{PUBLISHED, reason};
use codegen_api::retry::RETRY;
use codegen_api::status::CodeGenTaskStatus;
use codegen_api::{CodeGenTask, CodeGenTaskSpec};
use codegen_core::stage::Stage;

/// Drops what nobody asks a task in memory for.
pub fn trim(task: &mut CodeGenTask) {
    task.metadata.managed_fields = None;
    // Most tasks in memory have ended: of each only what reuse, history limits and metrics ask for stays.
    if !is_at_rest(task) {
        return;
    }
    let Some(status) = task.status.take() else { return };
    task.status = Some(CodeGenTaskStatus {
        observed_generation: status.observed_generation,
        stage: status.stage,
        reason: status.reason,
        run: status.run,
        reuse_key: status.reuse_key,
        result: status.result,
        retry_handled: status.retry_handled,
        completed_at: status.completed_at,
        ..CodeGenTaskStatus::default()
    });
    task.spec = CodeGenTaskSpec {
        ttl_seconds_after_finished: task.spec.ttl_seconds_after_finished,
        ..CodeGenTaskSpec::default()
    };
    // `has_ended` compares it with the wish that was acted on.
    let retry = task.annotations().get(RETRY).cloned();
    task.metadata.annotations = retry.map(|token| BTreeMap::from([(RETRY.to_owned(), token)]));
    task.metadata.labels = None;
}

/// Reports whether nothing is left to do for the task as it stands.
#[must_use]
pub fn is_at_rest(task: &CodeGenTask) -> bool {
    has_ended(task) && !is_publishing(task)
}

/// Reports whether the task waits until its program is an image. One that has succeeded does so where the image was asked for later.
#[must_use]
pub fn is_publishing(task: &CodeGenTask) -> bool {
    let mut conditions = task.status.iter().flat_map(|status| &status.conditions);
    conditions.any(|condition| condition.type_ == PUBLISHED && condition.status != "True")
}

/// Reports whether the task has ended for the spec that it has now.
#[must_use]
pub fn has_ended(task: &CodeGenTask) -> bool {
    ended_in(task).is_some() && {
        // A changed spec gets a pass, even if nothing follows from it.
        let seen = task.status.as_ref().and_then(|status| status.observed_generation);
        seen == task.metadata.generation && retry_asked(task).is_none()
    }
}

/// The terminal stage that the task is in.
#[must_use]
pub fn ended_in(task: &CodeGenTask) -> Option<Stage> {
    terminal(task.status.as_ref()?.stage.as_deref()?)
}

/// The terminal stage of this name.
#[must_use]
pub fn terminal(stage: &str) -> Option<Stage> {
    [Stage::Succeeded, Stage::Failed]
        .into_iter()
        .find(|end| end.as_str() == stage)
}

/// The wish for another try that was not acted on yet.
#[must_use]
pub fn retry_asked(task: &CodeGenTask) -> Option<&String> {
    let token = task.annotations().get(RETRY)?;
    let handled = task
        .status
        .as_ref()
        .and_then(|status| status.retry_handled.as_ref());
    (handled != Some(token)).then_some(token)
}

/// Reports whether `other` is of the namespace and stage of `task`, and ended after it.
#[must_use]
pub fn ended_after(task: &CodeGenTask, other: &CodeGenTask) -> bool {
    is_alike(task, other) && end(other) > end(task)
}

/// The tasks at rest, of the namespace and stage of `task`, after which `limit` others ended.
pub fn surplus<'a>(
    task: &CodeGenTask,
    limit: usize,
    all: &'a [Arc<CodeGenTask>],
) -> impl Iterator<Item = &'a CodeGenTask> {
    let alike = all.iter().map(Arc::as_ref).filter(|other| is_alike(task, other));
    let mut latest_first: Vec<&CodeGenTask> = alike.collect();
    latest_first.sort_unstable_by(|one, other| end(other).cmp(&end(one)));
    // What is not at rest gets a pass of its own when it is.
    latest_first
        .into_iter()
        .skip(limit)
        .filter(|other| is_at_rest(other))
}

fn is_alike(task: &CodeGenTask, other: &CodeGenTask) -> bool {
    other.metadata.namespace == task.metadata.namespace && ended_in(other) == ended_in(task)
}

/// Returns the time and the uid by which ends of tasks are ordered. Times have whole seconds: the uid decides between two ends of the same
/// one.
fn end(task: &CodeGenTask) -> (Option<Timestamp>, Option<&str>) {
    let status = task.status.as_ref();
    let ended = status.and_then(|status| status.completed_at.as_ref());
    (ended.map(|time| time.0), task.metadata.uid.as_deref())
}

/// Counts the tasks of each stage and reason.
#[must_use]
pub fn counts(all: &[Arc<CodeGenTask>]) -> Vec<(&'static str, &'static str, i64)> {
    let mut counts: BTreeMap<_, i64> = BTreeMap::new();
    for task in all {
        let status = task.status.as_ref();
        let stage = status.and_then(|status| status.stage.as_deref());
        // A status may hold any text: only stages and reasons of our own become labels.
        let stage = stage.and_then(|name| name.parse().ok()).map(Stage::as_str);
        let reason = status.and_then(|status| status.reason.as_deref());
        let reason = reason::ALL.into_iter().find(|known| reason == Some(known));
        *counts
            .entry((stage.unwrap_or("Pending"), reason.unwrap_or_default()))
            .or_default() += 1;
    }
    counts
        .into_iter()
        .map(|((stage, reason), number)| (stage, reason, number))
        .collect()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

    use super::*;

    fn task(name: &str, stage: Stage, ended: i64) -> CodeGenTask {
        let spec = CodeGenTaskSpec {
            prompt: "p".repeat(1000),
            ttl_seconds_after_finished: Some(5),
            ..CodeGenTaskSpec::default()
        };
        let mut task = CodeGenTask::new(name, spec);
        task.metadata.uid = Some(name.to_owned());
        task.metadata.generation = Some(2);
        task.metadata.namespace = Some("data".to_owned());
        task.status = Some(CodeGenTaskStatus {
            stage: Some(stage.as_str().to_owned()),
            observed_generation: Some(2),
            message: Some("m".repeat(1000)),
            completed_at: Timestamp::from_second(ended).ok().map(Time),
            ..CodeGenTaskStatus::default()
        });
        task
    }

    #[test]
    fn of_an_ended_task_little_stays_and_of_another_everything() {
        let mut ended = task("a", Stage::Succeeded, 1);
        trim(&mut ended);
        assert!(serde_json::to_string(&ended).unwrap().len() < 600);
        assert!(has_ended(&ended));
        assert_eq!(ended.spec.ttl_seconds_after_finished, Some(5));
        let mut changed = task("b", Stage::Succeeded, 1);
        changed.metadata.generation = Some(3);
        trim(&mut changed);
        assert_eq!(changed.spec.prompt.len(), 1000);
    }

    #[test]
    fn a_task_that_has_succeeded_is_whole_in_memory_until_its_program_is_the_image_that_is_asked_for() {
        let condition = |status: &str| Condition {
            type_: PUBLISHED.to_owned(),
            status: status.to_owned(),
            reason: reason::PROGRESSING.to_owned(),
            message: String::new(),
            observed_generation: Some(2),
            last_transition_time: Time(Timestamp::UNIX_EPOCH),
        };
        for (status, is_whole) in [("False", true), ("True", false)] {
            let mut ended = task("a", Stage::Succeeded, 1);
            if let Some(shown) = &mut ended.status {
                shown.conditions = vec![condition(status)];
            }
            assert!(has_ended(&ended), "its program can be run");
            assert_eq!(is_at_rest(&ended), !is_whole);
            trim(&mut ended);
            assert_eq!(ended.spec.prompt.len() == 1000, is_whole);
            assert_eq!(is_at_rest(&ended), !is_whole, "as it is in memory");
        }
    }

    #[test]
    fn a_request_for_another_try_stays_until_it_is_acted_on() {
        let mut asked = task("a", Stage::Failed, 1);
        asked.annotations_mut().insert(RETRY.to_owned(), "1".to_owned());
        trim(&mut asked);
        assert_eq!(asked.spec.prompt.len(), 1000);
        assert!(!has_ended(&asked));
    }

    #[test]
    fn the_ends_after_a_task_are_those_of_its_kind() {
        let first = task("a", Stage::Succeeded, 1);
        let all = [
            first.clone(),
            task("b", Stage::Succeeded, 2),
            task("c", Stage::Failed, 3),
            task("d", Stage::Succeeded, 0),
        ];
        let found = all.each_ref().map(|other| ended_after(&first, other));
        assert_eq!(found, [false, true, false, false]);
    }

    #[test]
    fn of_the_tasks_that_are_too_many_those_are_surplus_for_which_nothing_is_left_to_do() {
        let latest = task("a", Stage::Succeeded, 9);
        let mut changed = task("b", Stage::Succeeded, 2);
        changed.metadata.generation = Some(3);
        let mut elsewhere = task("c", Stage::Succeeded, 1);
        elsewhere.metadata.namespace = Some("other".to_owned());
        let all = vec![
            task("d", Stage::Succeeded, 1),
            task("e", Stage::Succeeded, 3),
            task("f", Stage::Failed, 1),
            latest.clone(),
            changed,
            elsewhere,
        ];
        let all = all.into_iter().map(Arc::new).collect::<Vec<_>>();
        let surplus = |limit| {
            surplus(&latest, limit, &all)
                .map(kube::ResourceExt::name_any)
                .collect::<Vec<_>>()
        };
        assert_eq!(surplus(1), ["e", "d"]);
        assert_eq!(surplus(2), ["d"]);
        assert_eq!(surplus(4), Vec::<String>::new());
    }
}
