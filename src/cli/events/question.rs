//! Story of a question, its runs and their Pods, from its record and the Events of a cluster.

use std::collections::BTreeSet;

use jiff::Timestamp;
use kube::api::ListParams;
use kube::{Api, ResourceExt};

use super::cluster::events;
use super::story::{Happening, QUESTION, StorySubject, call, decision, story};
use crate::cli::cluster::{Cluster, refusal};
use crate::cli::command::warning;
use crate::cli::ended::Absent;
use crate::cli::progress::ProgressPrinter;
use crate::cli::recorded::{AnsweringProgram, RecordedQuestion, question_from_cluster};
use codegen_api::CodeGenRun;
use codegen_code_mode::journal::{CallEnd, CallOutcome};
use codegen_core::stage::Stage;

/// The story of the question `name`.
pub(super) async fn happenings(
    cluster: &Cluster,
    name: &str,
    progress: &ProgressPrinter,
) -> Result<Vec<Happening>, Absent> {
    let question = question_from_cluster(cluster, name).await?;
    let recorded = if question.withheld.is_some() {
        progress.lines(&warning(
            "calls of the model and of tools are left out, since they are in Secrets, which you may not read in this namespace",
        ));
        of_status(&question)
    } else {
        of_record(&question).await?
    };
    let subject = StorySubject {
        kind: "CodeModeRun",
        label: QUESTION,
        name: name.to_owned(),
        uid: question.object.uid().unwrap_or_default(),
        jobs: BTreeSet::new(),
        runs: runs(cluster, &question, progress).await,
    };
    let told = events(cluster, &subject, progress).await;
    Ok(story(recorded, told))
}

/// Names of the runs that a question has made, as far as they may be listed.
async fn runs(
    cluster: &Cluster,
    question: &RecordedQuestion,
    progress: &ProgressPrinter,
) -> BTreeSet<String> {
    let uid = question.object.uid().unwrap_or_default();
    let api: Api<CodeGenRun> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    match api.list_metadata(&ListParams::default()).await {
        Ok(runs) => {
            let is_its = |run: &&_| {
                ResourceExt::owner_references(*run)
                    .iter()
                    .any(|owner| owner.uid == uid)
            };
            runs.items
                .iter()
                .filter(is_its)
                .map(ResourceExt::name_any)
                .collect()
        }
        Err(error) => {
            let why = refusal::<CodeGenRun>(&error, "", &cluster.namespace);
            progress.lines(&warning(&format!("Events of its runs are left out: {why}")));
            BTreeSet::new()
        }
    }
}

/// Reads the record: beginning, calls of the model and of tools, programs that failed, decisions, end.
async fn of_record(question: &RecordedQuestion) -> Result<Vec<Happening>, Absent> {
    let mut all = of_status(question);
    let entries = question.entries().await?;
    all.extend(entries.iter().map(|entry| call(entry, QUESTION)));
    for program in question.programs().await? {
        // A program ends after its last call, and one that called nothing after it was written.
        let written = entries.iter().rfind(|entry| entry.sequence <= program.number);
        let mut last = written.map(|entry| entry.finished_at);
        for ended in &program.calls {
            let Some(happening) = tool_called(program.number, ended) else {
                continue;
            };
            last = last.max(Some(happening.at));
            all.push(happening);
        }
        all.extend(last.and_then(|at| failed(at, &program)));
    }
    Ok(all)
}

fn tool_called(program: u32, ended: &CallEnd) -> Option<Happening> {
    // One that an earlier program has made is said there.
    if ended.is_copy {
        return None;
    }
    let at: Timestamp = ended.ended_at.parse().ok()?;
    let made = format!("Program {program} called {}", ended.call);
    Some(match &ended.outcome {
        CallOutcome::Returned(_) => Happening::of(QUESTION, at, "ToolCalled", made),
        CallOutcome::Raised { kind, message } => Happening {
            warning: true,
            ..Happening::of(QUESTION, at, "ToolFailed", format!("{made}: {kind}: {message}"))
        },
    })
}

fn failed(at: Timestamp, program: &AnsweringProgram) -> Option<Happening> {
    let error = program.error.as_ref().filter(|_| !program.has_answered)?;
    let message = format!("Program {}: {error}", program.number);
    Some(Happening {
        warning: true,
        ..Happening::of(QUESTION, at, "ProgramFailed", message)
    })
}

/// Reads what the status alone says.
fn of_status(question: &RecordedQuestion) -> Vec<Happening> {
    let status = question.status();
    // The same to the second stands beside it, which would put an end before its last call.
    let progress = question.progress.as_ref();
    let started = progress.map(|progress| progress.started_at);
    let ended = progress.and_then(|progress| progress.completed_at);
    let mut all = Vec::new();
    if let Some(at) = started.or_else(|| Some(status.started_at.as_ref()?.0)) {
        let message = "The question begins".to_owned();
        all.push(Happening::of(QUESTION, at, "Started", message));
    }
    all.extend(status.approvals.iter().map(|decided| decision(decided, QUESTION)));
    let ended = ended.or_else(|| Some(status.completed_at.as_ref()?.0));
    if let (Some(at), Some(stage)) = (ended, &status.stage) {
        let reason = status.reason.as_deref().unwrap_or_default();
        let message = status.message.as_deref().unwrap_or_default();
        all.push(Happening {
            warning: stage == Stage::Failed.as_str(),
            ..Happening::of(QUESTION, at, stage, format!("{reason}: {message}"))
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cli::args::Color;
    use crate::cli::recorded::fixture::seen;
    use crate::controller::tests::api_server::Fault;
    use crate::controller::tests::code_mode::Shop;

    async fn reasons(shop: &Shop) -> Vec<String> {
        let happenings = happenings(&seen(&shop.world), "ask", &ProgressPrinter::new(Color::Never)).await;
        let happenings = happenings.unwrap();
        happenings.into_iter().map(|one| one.reason).collect()
    }

    #[tokio::test]
    async fn the_story_of_a_question_has_calls_of_model_and_tools_and_its_end() {
        let mut shop = Shop::new("await till() + 1").await;
        shop.ask("ask", &json!({}));
        shop.settle("ask").await;
        assert_eq!(
            reasons(&shop).await,
            ["Started", "Call", "ToolCalled", "Succeeded"]
        );
        shop.world
            .server
            .fail("get Secret", Fault::Refused(403, "Forbidden"));
        assert_eq!(reasons(&shop).await, ["Started", "Succeeded"]);
    }

    #[tokio::test]
    async fn a_program_that_failed_is_said_after_what_it_called() {
        let mut shop = Shop::new("await till()\n1 // 0").await;
        shop.ask("ask", &json!({}));
        shop.settle("ask").await;
        let once = ["Call", "ToolCalled", "ProgramFailed"];
        let expected = [&["Started"][..], &once, &once, &once, &["Failed"]].concat();
        assert_eq!(reasons(&shop).await, expected);
    }
}
