//! One question on this machine, start to end: freeze, follow, publish.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::begin::{Begun, QuestionRequest, begin};
use super::error::AskError;
use super::execute::{ExecutedQuestion, Observe, execute};
use super::pick::Picked;
use super::results::files;
use super::runs::Runs;
use crate::local::approval::Approvals;
use crate::local::error::TaskError;
use crate::local::folder::{CALLS, DEFAULT_OUTPUT};
use crate::local::interrupt::StopSignal;
use codegen_api::code_mode::CodeModeRunStatus;
use codegen_code_mode::journal::CallEnd;
use codegen_core::code_mode::{
    Answer, QuestionProgress, QuestionStage, QuestionStatusContext, call_hash, conversation,
    conversation_document, conversation_file, status,
};
use codegen_engine::code_mode::record::{QuestionRecord, record};
use codegen_ledger::export_replies;

/// Folder of questions among the results.
const QUESTIONS: &str = "ask";

/// Outcome of a question.
#[derive(Debug)]
pub(crate) struct QuestionOutcome {
    /// Stage that it has reached.
    pub stage: QuestionStage,
    /// As a cluster would show it.
    pub status: CodeModeRunStatus,
    /// The answer, whole.
    pub answer: Option<Answer>,
    /// The conversation with the answer, as `--history` takes it.
    pub conversation: Option<Vec<u8>>,
    /// The present program, whole.
    pub code: Option<String>,
    /// Folder of the results.
    pub folder: PathBuf,
    /// Further notices for a person.
    pub notices: Vec<String>,
    /// Every reply so far, as `--replay` reads them.
    pub recording: String,
    /// Number of calls of each tool of which nobody knows what they came to.
    pub unknown: BTreeMap<String, i32>,
    /// Error that stopped it before its end; none where it ended, or waits for something.
    pub stopped: Option<AskError>,
}

/// Returns the folder for the results of a question.
pub(crate) fn output_folder(output: Option<&Path>, picked: &Picked<'_>) -> PathBuf {
    let usual = || {
        Path::new(DEFAULT_OUTPUT)
            .join(QUESTIONS)
            .join(picked.folder_name())
    };
    output.map_or_else(usual, Path::to_owned)
}

/// Answers a question, or goes on with what an earlier command began. Where that has ended, nothing is called.
pub(crate) async fn ask(
    request: &QuestionRequest<'_>,
    observe: Observe<'_>,
    stop: &StopSignal,
) -> Result<QuestionOutcome, AskError> {
    let mut stopped_before = stop.clone();
    // Nothing that is asked before the question changes anything: nobody waits for it.
    let mut begun = tokio::select! {
        biased;
        begun = begin(request) => begun?,
        () = stopped_before.requested() => return Err(TaskError::Interrupted.into()),
    };
    let runs = Runs::open(begun.run.root().join(CALLS), begun.run.seals().clone())?;
    let executed = Box::pin(execute(request, &mut begun, &runs, observe, stop)).await?;
    publish(request, begun, executed, &runs).await
}

/// Writes the results.
async fn publish(
    request: &QuestionRequest<'_>,
    begun: Begun,
    executed: ExecutedQuestion,
    runs: &Runs,
) -> Result<QuestionOutcome, AskError> {
    let ExecutedQuestion {
        store,
        progress,
        stopped,
        notices,
    } = executed;
    let record = record(&store, &progress).await?;
    let answer = record.answer.as_ref();
    let said = answer.map(|answer| conversation_file(&conversation(&begun.frozen.question, answer)));
    let status = status_of(&progress, &record, said.as_deref());
    let files = files(&record, said.as_deref(), &status, &store).await?;
    let edited = begun.folder.publish_with(&files, &runs.files()?)?;
    let edited = edited
        .iter()
        .map(|path| format!("your edited file is now {}", path.display()));
    let mut unknown = BTreeMap::new();
    for (_, call) in &record.in_flight {
        *unknown.entry(call.tool.clone()).or_default() += 1;
    }
    let cut = answer.and_then(|answer| answer.cut.clone());
    let unused = unused(&request.options.approvals, &progress, &record, &begun.frozen.name);
    let notices = begun.notices.into_iter().chain(notices);
    Ok(QuestionOutcome {
        stage: progress.stage,
        status,
        folder: request.output.to_owned(),
        notices: notices.chain(cut).chain(unused).chain(edited).collect(),
        recording: export_replies(&record.entries),
        answer: record.answer,
        conversation: said,
        code: record.program,
        unknown,
        stopped,
    })
}

/// Hashes that were given and that no call of the question has, recorded or waiting.
fn unused(
    approvals: &Approvals,
    progress: &QuestionProgress,
    record: &QuestionRecord,
    uid: &str,
) -> Vec<String> {
    let ended = record.calls.iter().flat_map(|(attempt, calls)| {
        let hash = move |ended: &CallEnd| call_hash(uid, *attempt, &ended.call);
        calls.iter().map(hash)
    });
    let in_flight = record.in_flight.iter();
    let in_flight = in_flight.map(|(attempt, call)| call_hash(uid, *attempt, call));
    let decided = progress.approvals.iter().map(|decision| decision.hash.clone());
    let used: BTreeSet<String> = ended.chain(in_flight).chain(decided).collect();
    let unused = approvals.calls.keys().filter(|hash| !used.contains(*hash));
    unused
        .map(|hash| {
            format!("no call of this question waited with the hash {hash}: that decision was not used")
        })
        .collect()
}

fn status_of(
    progress: &QuestionProgress,
    record: &QuestionRecord,
    conversation: Option<&[u8]>,
) -> CodeModeRunStatus {
    let said = conversation.map(conversation_document);
    let awaited = progress.waits.approval.as_ref();
    let hash = awaited.map_or("", |awaited| awaited.asked.hash.as_str());
    let how_to_decide = format!(
        "run the same command at a terminal, or with --approve {hash}, or with --reject and the same hash"
    );
    let around = QuestionStatusContext {
        conversation: said.as_ref(),
        how_to_decide: &how_to_decide,
        answer: record.answer.as_ref(),
        code: record.program.as_deref(),
        ..QuestionStatusContext::default()
    };
    let mut status = status(progress, &[], &around, Timestamp::now());
    // The state counts those of programs that have ended.
    let made = record.made.iter();
    let made = made.map(|(tool, times)| (tool.clone(), i32::try_from(*times).unwrap_or(i32::MAX)));
    status.tool_calls = made.collect();
    status.tool_call_count = status.tool_calls.values().sum();
    status
}
