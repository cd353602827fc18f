//! Performs a question step by step until it ends, waits for a person, or is stopped.

use std::time::Duration;

use codegen_interpreter::{Interpreter, Program, WorkerLimits};
use jiff::Timestamp;
use tokio::sync::watch;
use tokio::time::Instant;

use super::begin::{Begun, QuestionRequest, QuestionTools};
use super::error::{AskError, stopped};
use super::programs::ProgramCaller;
use super::runs::Runs;
use crate::local::approval::Approvals;
use crate::local::client;
use crate::local::credentials::ModelCredentials;
use crate::local::error::TaskError;
use crate::local::execute::{asked_to_stop, ends_here, pause};
use crate::local::interrupt::StopSignal;
use crate::local::objects::Objects;
use crate::local::options::TaskOptions;
use codegen_api::approval::{AwaitedApproval, QuestionGate};
use codegen_code_mode::journal::Call;
use codegen_core::call::{CallKind, ModelIndex};
use codegen_core::causes::with_causes;
use codegen_core::code_mode::{Question, QuestionProgress};
use codegen_engine::EngineError;
use codegen_engine::code_mode::clients::Caller;
use codegen_engine::code_mode::{CodeModeEngine, Happened, QuestionStep};
use codegen_ledger::{FolderStore, Ledger, Store as _, StoreError};
use codegen_model::AnyModel;

/// Receives what happens.
pub(crate) type Observe<'a> = &'a (dyn Fn(&Happened) + Send + Sync);

/// Progress of a question, with its record.
pub(super) struct ExecutedQuestion {
    pub store: FolderStore<QuestionProgress>,
    pub progress: QuestionProgress,
    /// Error that stopped it before its end; `None` when it ended, or waits for a person.
    pub stopped: Option<AskError>,
    /// Notices for a person.
    pub notices: Vec<String>,
}

/// Answers a question that has begun. Where it has ended before, nothing is called.
pub(super) async fn execute(
    request: &QuestionRequest<'_>,
    begun: &mut Begun,
    runs: &Runs,
    observe: Observe<'_>,
    stop: &StopSignal,
) -> Result<ExecutedQuestion, AskError> {
    let store = begun.run.store().map_err(|error| stopped(&error))?;
    let before = load(&store).await?;
    if before.stage.is_terminal() {
        let ended_at = before.completed_at.unwrap_or(before.started_at);
        return Ok(ExecutedQuestion {
            store,
            progress: before,
            stopped: None,
            notices: vec![cached(ended_at, Timestamp::now())],
        });
    }
    let QuestionTools { clients, programs } = begun.tools(request).await?;
    let question = &begun.frozen.question;
    let mut notices: Vec<String> = programs
        .values()
        .flat_map(|finished| finished.notices.clone())
        .collect();
    let programs = ProgramCaller::new(programs, runs, (request.objects, &request.options.allowed_hosts));
    let caller = Caller::new(programs, clients, &begun.frozen.name, question);
    let interpreter = interpreter(question).await?;
    let model = model(question, request.objects, request.options, (&store, &before)).await?;
    let (in_call, calling) = watch::channel(false);
    let engine = CodeModeEngine {
        question,
        uid: &begun.frozen.name,
        model: &model,
        store: &store,
        interpreter: &interpreter,
        tools: &caller,
        clock: Timestamp::now,
        in_call: &in_call,
        is_stopped: &|| stop.is_requested(),
        observer: observe,
    };
    let (progress, stopped) =
        Box::pin(follow(&engine, before, &request.options.approvals, stop, calling)).await;
    notices.extend(model.mismatch());
    Ok(ExecutedQuestion {
        store,
        progress,
        stopped,
        notices,
    })
}

/// The notice about an answer of an earlier command.
fn cached(ended_at: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(ended_at).as_secs();
    let age = match seconds {
        ..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    };
    format!(
        "this is the end of an earlier command, {age} ago ({ended_at:.0}): nothing was called now; without --cached it is asked anew"
    )
}

/// Loads the progress of the question: what blocked it before is tried again at once.
async fn load(store: &FolderStore<QuestionProgress>) -> Result<QuestionProgress, AskError> {
    let stored = store.load().await.map_err(|error| stopped(&error))?;
    let Some(mut progress) = stored else {
        return Ok(QuestionProgress::start(Timestamp::now()));
    };
    if !progress.stage.is_terminal() {
        progress.waiting = None;
        // Nothing of it ran while no command was there, nor does anything while a person decides.
        progress.active_since = progress.waits.is_empty().then(Timestamp::now);
    }
    Ok(progress)
}

/// The interpreter, which has shown that it starts: before a call is paid for.
async fn interpreter(question: &Question) -> Result<Interpreter, AskError> {
    let interpreter = Interpreter {
        memory_bytes: question.limits.memory_bytes,
        ..Interpreter::default()
    };
    let program = Program {
        code: "None".to_owned(),
        limits: WorkerLimits {
            memory_bytes: question.limits.memory_bytes,
            ..WorkerLimits::default()
        },
        ..Program::default()
    };
    let first = async { interpreter.start(program).await?.next().await };
    match first.await {
        Ok(_) => Ok(interpreter),
        Err(error) => Err(AskError::NoInterpreter(with_causes(&error))),
    }
}

async fn model(
    question: &Question,
    objects: &Objects,
    options: &TaskOptions,
    (store, progress): (&FolderStore<QuestionProgress>, &QuestionProgress),
) -> Result<AnyModel, AskError> {
    const KIND: CallKind = CallKind::Program;
    if let Some(recorded) = client::recorded(options)? {
        let entries = Ledger::new(store).entries_of(&[KIND], progress.sequence).await;
        let answered = entries.map_err(|error| stopped(&error))?.len();
        return Ok(AnyModel::Recorded(
            recorded.only(|kind| kind == KIND).skip(answered),
        ));
    }
    let model = (ModelIndex::Own, &question.model);
    let credentials: ModelCredentials =
        client::credentials(model, &question.namespace, objects, options).await?;
    let rest = (question.limits.deadline_seconds - progress.spent.active_seconds).max(0.0);
    // A deadline beyond what a clock can say is none.
    let deadline = Duration::try_from_secs_f64(rest)
        .ok()
        .and_then(|rest| Instant::now().checked_add(rest));
    Ok(client::client(model, &credentials, options, deadline)?)
}

type LocalEngine<'a> = CodeModeEngine<'a, AnyModel, FolderStore<QuestionProgress>, Caller<ProgramCaller<'a>>>;

/// Steps until the question has its end or waits for a person (`None`), or something stops it.
async fn follow(
    engine: &LocalEngine<'_>,
    mut progress: QuestionProgress,
    approvals: &Approvals,
    stop: &StopSignal,
    calling: watch::Receiver<bool>,
) -> (QuestionProgress, Option<AskError>) {
    let stop_here = || Some(AskError::from(TaskError::Interrupted));
    // An earlier command has come to this call, and nothing in this one has announced it.
    if let Some(awaited) = &progress.waits.approval {
        (engine.observer)(&Happened::ApprovalAwaited(awaited.asked.clone()));
    }
    loop {
        let performed = tokio::select! {
            // A step that has ended counts, also where a stop was asked for at the same moment: it is recorded.
            biased;
            performed = engine.step(progress.clone()) => performed,
            () = asked_to_stop(stop.clone(), calling.clone()) => return (progress, stop_here()),
        };
        let came_to = match performed {
            Ok((next, came_to)) => {
                progress = next;
                came_to
            }
            Err(error) => return (progress, Some(error.into())),
        };
        if progress.stage.is_terminal() {
            return (progress, None);
        }
        if stop.is_requested() {
            return (progress, stop_here());
        }
        match came_to {
            QuestionStep::Advanced => {}
            QuestionStep::Gate(asked) => {
                let decided = tokio::select! {
                    decided = decide(engine, &progress, &asked, approvals) => decided,
                    () = asked_to_stop(stop.clone(), calling.clone()) => return (progress, stop_here()),
                };
                match decided {
                    Ok(Some(next)) => progress = next,
                    // Nobody decides now.
                    Ok(None) => return (progress, None),
                    Err(error) => return (progress, Some(error.into())),
                }
            }
            // Nothing here comes from other objects.
            QuestionStep::Finished | QuestionStep::Pending => return (progress, None),
            QuestionStep::Stopped => return (progress, stop_here()),
            QuestionStep::Waiting(_) if ends_here(progress.waiting.as_ref()) => return (progress, None),
            QuestionStep::Waiting(until) => tokio::select! {
                () = tokio::time::sleep(pause(until)) => {}
                () = asked_to_stop(stop.clone(), calling.clone()) => return (progress, stop_here()),
            },
        }
    }
}

/// Goes by what a person decides about a call. `None` where nobody does.
async fn decide(
    engine: &LocalEngine<'_>,
    progress: &QuestionProgress,
    asked: &AwaitedApproval<QuestionGate>,
    approvals: &Approvals,
) -> Result<Option<QuestionProgress>, EngineError> {
    let whole = whole_call(engine.store, progress).await?;
    let Some(decision) = approvals.decide_call(asked, whole).await else {
        return Ok(None);
    };
    engine.take_decision(progress.clone(), decision).await.map(Some)
}

/// The whole of the call that waits, where not all of it is shown.
async fn whole_call(
    store: &FolderStore<QuestionProgress>,
    progress: &QuestionProgress,
) -> Result<String, StoreError> {
    let awaited = progress.waits.approval.as_ref();
    let Some(document) = awaited.and_then(|awaited| awaited.document.as_ref()) else {
        return Ok(String::new());
    };
    let bytes = store.read(&document.name).await?.unwrap_or_default();
    let call: Option<Call> = serde_json::from_slice(&bytes).ok();
    let text = call.map(|call| serde_json::to_string_pretty(&call.arguments).unwrap_or_default());
    Ok(text.unwrap_or_default())
}
