//! Story from a record and the Events of a cluster, in order of time. Pure.

use std::collections::BTreeSet;
use std::fmt::Display;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use serde::Serialize;

use crate::cli::ended::Absent;
use crate::cli::recorded::RecordedTask;
use crate::cli::render::doing;
use crate::cli::text::{seconds, thousands};
use codegen_api::approval::{ApprovalDecision, ApprovalStatus};
use codegen_api::conditions::reason;
use codegen_core::agent::CallResult;
use codegen_core::stage::Stage;
use codegen_ledger::Entry;
use codegen_sandbox::kubernetes::names;

/// Label of the entries of a task's own record.
pub(super) const TASK: &str = "task";
/// Label of the entries of a question's own record.
pub(super) const QUESTION: &str = "question";

/// Something that happened.
#[derive(Serialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(super) struct Happening {
    /// Time of the first.
    pub at: Timestamp,
    /// `task`, `question`, `pod/NAME`, `job/NAME`, `codegenrun/NAME`.
    pub object: String,
    pub reason: String,
    pub message: String,
    pub warning: bool,
    /// Number of times.
    pub count: i32,
    /// Time of the last, where there was more than one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_at: Option<Timestamp>,
    /// The call of a tool that an agent made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call: Option<AgentCall>,
}

/// A call of a tool that an agent made.
#[derive(Serialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(super) struct AgentCall {
    /// Turn of the try, counted from 1.
    turn: u32,
    tool: String,
    /// Its command or file, in a line.
    what: String,
    /// Class of a command: `Safe`, `Intercepted` or `Denied`.
    #[serde(skip_serializing_if = "String::is_empty")]
    class: String,
    /// Exit code of a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit: Option<i32>,
    started_at: Timestamp,
}

impl Happening {
    fn of_task(at: Timestamp, reason: &str, message: String) -> Self {
        Self::of(TASK, at, reason, message)
    }

    /// Something that happened to `object`.
    pub fn of(object: &str, at: Timestamp, reason: &str, message: String) -> Self {
        Self {
            at,
            object: object.to_owned(),
            reason: reason.to_owned(),
            message,
            warning: false,
            count: 1,
            last_at: None,
            tool_call: None,
        }
    }

    /// The message, with how often it came.
    pub fn sentence(&self) -> String {
        match self.last_at {
            Some(last) if self.count > 1 => {
                format!("{} ({} times, until {last:.0})", self.message, self.count)
            }
            _ => self.message.clone(),
        }
    }
}

/// Objects whose Events belong to a story.
pub(super) struct StorySubject {
    /// Its kind.
    pub kind: &'static str,
    /// Label of its own entries.
    pub label: &'static str,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Names of its Jobs.
    pub jobs: BTreeSet<String>,
    /// Names of its runs.
    pub runs: BTreeSet<String>,
}

impl StorySubject {
    fn is_about(&self, kind: &str, name: &str, uid: &str) -> bool {
        // Such a Pod has the name of its Job, a dash and five characters.
        let is_pod_of_job = || {
            let job = name.rsplit_once('-').map(|(job, _)| job);
            job.is_some_and(|job| self.jobs.contains(job))
        };
        match kind {
            kind if kind == self.kind => uid == self.uid,
            "Pod" => {
                let mut owners = self.runs.iter().chain([&self.name]);
                owners.any(|owner| names::is_name_of_pod(name, owner)) || is_pod_of_job()
            }
            "CodeGenRun" => self.runs.contains(name),
            "Job" => self.jobs.contains(name),
            _ => false,
        }
    }
}

/// The Events of a cluster that are about a task, its Pods and its Jobs.
pub(super) fn of_events(events: &[Event], subject: &StorySubject) -> Vec<Happening> {
    events
        .iter()
        .filter_map(|event| of_event(event, subject))
        .collect()
}

fn of_event(event: &Event, subject: &StorySubject) -> Option<Happening> {
    let about = &event.involved_object;
    let (kind, name) = (about.kind.as_deref()?, about.name.as_deref()?);
    if !subject.is_about(kind, name, about.uid.as_deref().unwrap_or_default()) {
        return None;
    }
    let micro = event.event_time.as_ref().map(|time| time.0);
    let first = event.first_timestamp.as_ref().map(|time| time.0);
    let created = event.metadata.creation_timestamp.as_ref().map(|time| time.0);
    let series = event.series.as_ref();
    let last = series
        .and_then(|series| series.last_observed_time.as_ref().map(|time| time.0))
        .or_else(|| event.last_timestamp.as_ref().map(|time| time.0));
    let count = series
        .and_then(|series| series.count)
        .or(event.count)
        .unwrap_or(1)
        .max(1);
    Some(Happening {
        at: micro.or(first).or(created)?,
        object: match kind {
            kind if kind == subject.kind => subject.label.to_owned(),
            kind => format!("{}/{name}", kind.to_lowercase()),
        },
        reason: event.reason.clone().unwrap_or_default(),
        message: event.message.clone().unwrap_or_default(),
        warning: event.type_.as_deref() == Some("Warning"),
        count,
        last_at: last.filter(|_| count > 1),
        tool_call: None,
    })
}

/// Reads the record: beginning, calls of the model and of an agent, attempts, decisions, end.
pub(super) fn of_record(task: &RecordedTask) -> Result<Vec<Happening>, Absent> {
    let status = &task.status;
    let entries = task.entries()?;
    let mut all: Vec<Happening> = entries.iter().map(|entry| call(entry, TASK)).collect();
    for step in task.steps()? {
        all.extend(step.calls().map(|result| tool_called(step.turn, result)));
    }
    if let Some(started) = &status.started_at {
        let run = status.run.as_deref().unwrap_or_default();
        let run: String = run.chars().take(12).collect();
        all.push(Happening::of_task(
            started.0,
            "Started",
            format!("Revision {run} begins"),
        ));
    }
    let passed = status
        .stage
        .as_deref()
        .and_then(|stage| stage.parse::<Stage>().ok())
        .is_some_and(Stage::has_passed);
    let last = status.attempts.last().map(|attempt| attempt.number);
    for attempt in &status.attempts {
        let Some(at) = &attempt.completed_at else { continue };
        let is_passed = passed && last == Some(attempt.number);
        let (reason, verb) = if is_passed {
            ("AttemptPassed", "passed")
        } else {
            ("AttemptFailed", "failed")
        };
        let summary = attempt.summary.as_deref().unwrap_or_default();
        let message = format!("Attempt {} {verb}; {summary}", attempt.number);
        all.push(Happening {
            warning: !is_passed,
            ..Happening::of_task(at.0, reason, message)
        });
    }
    all.extend(task.retries()?.iter().filter_map(|retry| {
        Some(Happening::of_task(
            retry.at.as_ref()?.0,
            "Retried",
            retry.to_string(),
        ))
    }));
    all.extend(status.approvals.iter().map(|decided| decision(decided, TASK)));
    if let (Some(at), Some(stage)) = (&status.completed_at, &status.stage) {
        let message = status.message.clone().unwrap_or_default();
        all.push(Happening {
            warning: stage == Stage::Failed.as_str(),
            ..Happening::of_task(at.0, stage, message)
        });
    }
    Ok(all)
}

/// Tells what a person decided about `object`.
pub(super) fn decision<G: Display>(decided: &ApprovalStatus<G>, object: &str) -> Happening {
    let (reason, verb) = match decided.decision {
        ApprovalDecision::Approve => ("Approved", "approved"),
        ApprovalDecision::Reject => (reason::REJECTED, "rejected"),
    };
    let message = format!("Gate {}: {verb} by {}", decided.gate, decided.decided_by);
    Happening::of(object, decided.decided_at.0, reason, message)
}

/// A call of the model for `object`.
pub(super) fn call(entry: &Entry, object: &str) -> Happening {
    let took = entry.finished_at.duration_since(entry.started_at).as_secs_f64();
    let usage = entry.reply.usage;
    let message = format!(
        "Call {}: the model {}, {} + {} tokens, {}",
        entry.sequence,
        doing(entry.kind),
        thousands(usage.input),
        thousands(usage.output),
        seconds(took)
    );
    Happening::of(object, entry.finished_at, "Call", message)
}

/// A call that an agent made in a turn: `Turn 2: Bash (Denied, exit 126) curl https://example.org`.
fn tool_called(turn: u32, result: &CallResult) -> Happening {
    let class = Some(result.class.clone()).filter(|class| !matches!(class.as_str(), "" | "Safe"));
    let exit = result.exit.filter(|code| *code != 0);
    let exit = exit.map(|code| format!("exit {code}"));
    let failed = (result.is_error && exit.is_none()).then(|| "failed".to_owned());
    let ends: Vec<String> = [class, exit, failed].into_iter().flatten().collect();
    let ends = if ends.is_empty() {
        String::new()
    } else {
        format!(" ({})", ends.join(", "))
    };
    let CallResult { tool, what, .. } = result;
    let message = format!("Turn {turn}: {tool}{ends} {what}");
    let reason = if result.is_error {
        "ToolFailed"
    } else {
        "ToolCalled"
    };
    Happening {
        warning: result.is_error,
        tool_call: Some(AgentCall {
            turn,
            tool: tool.clone(),
            what: what.clone(),
            class: result.class.clone(),
            exit: result.exit,
            started_at: result.started_at,
        }),
        ..Happening::of_task(result.finished_at, reason, message.trim_end().to_owned())
    }
}

/// Both in order of time. What an Event says as well as the record is said once, in the words of the Event, which has more of them.
pub(super) fn story(recorded: Vec<Happening>, events: Vec<Happening>) -> Vec<Happening> {
    let is_said = |one: &Happening| {
        let about = beginning(&one.message);
        events.iter().any(|event| {
            event.object == one.object
                && event.reason == one.reason
                && about.is_none_or(|about| event.message.starts_with(about))
        })
    };
    let mut all: Vec<Happening> = recorded.into_iter().filter(|one| !is_said(one)).collect();
    all.extend(events);
    all.sort_by_key(|one| one.at);
    all
}

/// Returns what distinguishes attempts, programs, gates and retries in messages: `Attempt 2 `, `Program 2:`, `Gate Plan:`, the whole of
/// `Tried again from ...`.
fn beginning(message: &str) -> Option<&str> {
    if message.starts_with("Tried again ") {
        return Some(message);
    }
    let end = match message.strip_prefix("Attempt ") {
        Some(rest) => message.len() - rest.len() + rest.find(' ')?,
        None if message.starts_with("Gate ") || message.starts_with("Program ") => message.find(':')?,
        None => return None,
    };
    message.get(..=end)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use serde_json::{Value, json};

    use super::*;
    use codegen_api::retry::RetryStatus;

    fn event(kind: &str, name: &str, uid: &str, reason: &str, message: &str, at: &str) -> Event {
        serde_json::from_value(json!({
            "metadata": {"name": "e", "namespace": "data"}, "type": "Normal", "reason": reason, "message": message,
            "involvedObject": {"kind": kind, "name": name, "uid": uid}, "eventTime": at,
        }))
        .unwrap()
    }

    fn subject() -> StorySubject {
        StorySubject {
            name: "sum".to_owned(),
            uid: "0c1".to_owned(),
            kind: "CodeGenTask",
            label: TASK,
            runs: BTreeSet::new(),
            jobs: BTreeSet::from(["build-cg0123456789".to_owned()]),
        }
    }

    const AT: &str = "2026-01-02T03:04:05.000000Z";

    #[test]
    fn a_story_is_of_the_task_its_pods_and_its_jobs_and_of_nothing_else() {
        let events = [
            event("CodeGenTask", "sum", "0c1", "ImageBuilt", "a", AT),
            event("CodeGenTask", "sum", "another life", "ImageBuilt", "b", AT),
            event("Pod", "sum-cg00ff00ff00", "1", "Scheduled", "c", AT),
            event("Pod", "sum-2-cg00ff00ff00", "1", "Scheduled", "d", AT),
            event("Pod", "build-cg0123456789-x7k2p", "1", "Pulled", "e", AT),
            event("Job", "build-cg0123456789", "1", "SuccessfulCreate", "f", AT),
            event("Job", "build-cg9999999999", "1", "SuccessfulCreate", "g", AT),
        ];
        let found = of_events(&events, &subject());
        let messages: Vec<&str> = found.iter().map(|one| one.message.as_str()).collect();
        assert_eq!(messages, ["a", "c", "e", "f"]);
        assert_eq!(found[2].object, "pod/build-cg0123456789-x7k2p");
    }

    #[test]
    fn what_came_often_is_said_once_with_how_often() {
        let mut often: Value =
            serde_json::to_value(event("CodeGenTask", "sum", "0c1", "Queued", "full", AT)).unwrap();
        often["series"] = json!({"count": 7, "lastObservedTime": "2026-01-02T03:09:00.000000Z"});
        let found = of_events(&[serde_json::from_value(often).unwrap()], &subject());
        assert_eq!(found[0].sentence(), "full (7 times, until 2026-01-02T03:09:00Z)");
    }

    #[test]
    fn an_attempt_that_an_event_is_about_is_not_said_twice_and_the_others_stay() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let recorded = vec![
            Happening::of_task(at(10), "AttemptFailed", "Attempt 1 failed; 1 of 2".to_owned()),
            Happening::of_task(at(20), "AttemptFailed", "Attempt 11 failed; 1 of 2".to_owned()),
            Happening::of_task(at(30), "Succeeded", "all passed".to_owned()),
        ];
        let events = vec![
            Happening::of_task(
                at(21),
                "AttemptFailed",
                "Attempt 11 failed; error types: logic".to_owned(),
            ),
            Happening::of_task(at(31), "Succeeded", "all passed".to_owned()),
        ];
        let story = story(recorded, events);
        let seconds: Vec<i64> = story.iter().map(|one| one.at.as_second()).collect();
        assert_eq!(seconds, [10, 21, 31]);
    }

    #[test]
    fn each_retry_is_said_once_whether_its_event_is_still_there_or_not() {
        let retry = |attempts, hint: Option<&str>| RetryStatus {
            replan: hint.is_some(),
            hint: hint.map(str::to_owned),
            after: "IterationsExhausted".to_owned(),
            attempts,
            at: Timestamp::from_second(100 * i64::from(attempts)).ok().map(Time),
        };
        let retries = vec![retry(1, Some("dates are day first")), retry(2, None)];
        let mut task = crate::cli::recorded::fixture::recorded();
        task.status.retries.clone_from(&retries);
        let at = Timestamp::from_second(201).unwrap();
        let event = Happening::of_task(at, "Retried", retries[1].to_string());
        let mut story = story(of_record(&task).unwrap(), vec![event]);
        story.retain(|one| one.reason == "Retried");
        let lines: Vec<String> = story
            .iter()
            .map(|one| format!("{} {}", one.at.as_second(), one.message))
            .collect();
        assert_eq!(
            lines,
            [
                "100 Tried again with a new plan after IterationsExhausted and 1 attempt; the hint: dates are day first",
                "201 Tried again after IterationsExhausted and 2 attempts",
            ]
        );
    }

    #[test]
    fn the_record_alone_has_beginning_calls_attempts_and_end() {
        let all = story(
            of_record(&crate::cli::recorded::fixture::recorded()).unwrap(),
            Vec::new(),
        );
        let lines: Vec<String> = all
            .iter()
            .map(|one| format!("{} {} {}", one.at.as_second(), one.reason, one.message))
            .collect();
        insta::assert_snapshot!(lines.join("\n"));
    }
}
