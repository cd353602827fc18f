//! One question on this machine, start to end: freeze, follow, publish.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use codegen_interpreter::{Pool, Settings};
use jiff::Timestamp;
use tokio::sync::watch;
use tokio::time::Instant;

use super::answer::Ended;
use super::caller::Caller;
use super::clients::clients;
use super::error::{AskError, stopped};
use super::folder::{Frozen, earlier, freeze};
use super::pick::Picked;
use super::programs::{ProgramCaller, Programs, digests, same_programs};
use super::resolve::{Resolved, fingerprint, model_of, resolve};
use super::results::files;
use super::runs::Runs;
use crate::api::approval::{AwaitedApproval, QuestionGate};
use crate::api::code_mode::CodeModeRunStatus;
use crate::code_mode::journal::{Call, Ended as EndedCall};
use crate::engine::code_mode::clients::{Servers, ToolClients};
use crate::engine::code_mode::record::{Record, record};
use crate::engine::code_mode::{CodeModeEngine, CodeModeError, Happened, PULSE, Step};
use crate::ledger::{FolderStore, Ledger, Store as _, StoreError, export_replies};
use crate::local::approval::Approvals;
use crate::local::client;
use crate::local::commands::{Commands, of_sources, of_tools};
use crate::local::credentials::ModelCredentials;
use crate::local::error::TaskError;
use crate::local::folder::{DEFAULT_OUTPUT, RevisionFolder, TaskFolder};
use crate::local::interrupt::Stop;
use crate::local::objects::Objects;
use crate::local::options::TaskOptions;
use crate::model::AnyModel;
use crate::pipeline::call::CallKind;
use crate::pipeline::causes::with_causes;
use crate::pipeline::code_mode::{
    Progress, Question, StatusContext, call_hash, conversation, conversation_document, conversation_file,
    status,
};
use crate::pipeline::stage::Category;

/// Failures of infrastructure in a row after which the command ends; the same command goes on.
const MAX_WAITS: u32 = 3;
/// Characters that distinguish the calls of one start from those of another.
const KEY_CHARACTERS: usize = 8;
/// Folder of questions among the results.
const QUESTIONS: &str = "ask";
/// Folder of the runs of programs in the state of a question.
const CALLS: &str = "calls";

/// Receives what happens.
pub(crate) type Observe<'a> = &'a (dyn Fn(&Happened) + Send + Sync);

/// Where the results of a question go.
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
    picked: &Picked<'_>,
    objects: &Objects,
    options: &TaskOptions,
    output: &Path,
    observe: Observe<'_>,
    stop: &Stop,
) -> Result<Ended, AskError> {
    let mut stopped_before = stop.clone();
    // Nothing that is asked before the question changes anything: nobody waits for it.
    let begun = tokio::select! {
        biased;
        begun = begin(picked, objects, options, output) => begun?,
        () = stopped_before.requested() => return Err(TaskError::Interrupted.into()),
    };
    let store = FolderStore::open(&begun.run.record()).map_err(|error| stopped(&error))?;
    let before = load(&store).await?;
    let runs = Runs::open(begun.run.root().join(CALLS))?;
    let mut notices = begun.notices;
    let question = &begun.frozen.question;
    let (progress, why) = if before.stage.is_terminal() {
        notices.push(
            "this is the end of an earlier command: nothing was called now; --fresh asks again".to_owned(),
        );
        (before, None)
    } else {
        let Tools { clients, programs } = match begun.tools {
            Some(tools) => tools,
            None => tools_again(&begun.frozen, picked, objects, &options.commands).await?,
        };
        notices.extend(programs.values().flat_map(|finished| finished.notices.clone()));
        let caller = Caller {
            programs: ProgramCaller::new(programs, &runs, objects),
            clients,
            name: begun.frozen.name.clone(),
            timeout: Duration::try_from_secs_f64(question.limits.tool_seconds).unwrap_or(Duration::MAX),
        };
        let pool = interpreter(question).await?;
        let model = model(question, objects, options, (&store, &before)).await?;
        let (in_call, calling) = watch::channel(false);
        let engine = CodeModeEngine {
            question,
            uid: &begun.frozen.name,
            model: &model,
            store: &store,
            interpreter: &pool,
            tools: &caller,
            clock: Timestamp::now,
            in_call: &in_call,
            is_stopped: &|| stop.is_requested(),
            // Each step is a write to a file of this machine, which nobody waits for.
            room: &|| None,
            pulse: PULSE,
            observer: observe,
        };
        let followed = Box::pin(follow(&engine, before, &options.approvals, stop, calling)).await;
        notices.extend(model.mismatch());
        followed
    };
    let record = record(&store, &progress).await?;
    let answer = record.answer.as_ref();
    let said = answer.map(|answer| conversation_file(&conversation(question, answer)));
    notices.extend(answer.and_then(|answer| answer.cut.clone()));
    notices.extend(unused(&options.approvals, &progress, &record, &begun.frozen.name));
    let status = status_of(&progress, &record, said.as_deref());
    let mut unknown = BTreeMap::new();
    for (_, call) in &record.in_flight {
        *unknown.entry(call.tool.clone()).or_default() += 1;
    }
    let files = files(&record, said.as_deref(), &status, &store).await?;
    let edited = begun.folder.publish_with(&files, &runs.files()?)?;
    notices.extend(
        edited
            .iter()
            .map(|path| format!("your edited file is now {}", path.display())),
    );
    Ok(Ended {
        stage: progress.stage,
        status,
        folder: output.to_owned(),
        notices,
        recording: export_replies(&record.entries),
        answer: record.answer,
        conversation: said,
        code: record.program,
        unknown,
        stopped: why,
    })
}

/// A question that is frozen in its folder, which is locked as long as this lives.
struct Begun {
    folder: TaskFolder,
    run: RevisionFolder,
    frozen: Frozen,
    /// Of a question that begins now.
    tools: Option<Tools>,
    notices: Vec<String>,
}

/// What calls of a question's tools go through.
struct Tools {
    clients: ToolClients,
    programs: Programs,
}

/// The tools of a question that goes on.
async fn tools_again(
    frozen: &Frozen,
    picked: &Picked<'_>,
    objects: &Objects,
    commands: &Commands,
) -> Result<Tools, AskError> {
    let question = &frozen.question;
    // The record may be anybody's: what it starts is asked about as what the manifests start is.
    let of_manifests = of_sources(&picked.agent.spec.tools).into_keys().collect();
    let allowed = commands.allow(of_tools(&question.tools), &of_manifests).await?;
    let servers = (Servers::new(), &allowed);
    Ok(Tools {
        clients: clients(&question.tools, servers, &question.namespace, objects)?,
        programs: same_programs(&question.tools, &frozen.programs, picked, objects).await?,
    })
}

async fn begin(
    picked: &Picked<'_>,
    objects: &Objects,
    options: &TaskOptions,
    output: &Path,
) -> Result<Begun, AskError> {
    let command = format!("kubectl-codegen ask, agent {},", picked.agent_name());
    let folder = TaskFolder::open(output, &command)?;
    let hash = picked.hash();
    let agent = fingerprint(picked, objects);
    if !options.fresh
        && let Some((run, mut frozen)) = earlier(&folder, &hash)?
    {
        let mut notices = Vec::new();
        if agent != frozen.agent {
            notices.push(format!(
                "the agent {} has changed since this was asked: it goes on as it was; --fresh asks the new one",
                picked.agent_name()
            ));
        }
        // Where the model is, and by which key, decides nothing of what is recorded.
        frozen.question.model = model_of(picked, objects, &options.model)?;
        return Ok(Begun {
            folder,
            run,
            frozen,
            tools: None,
            notices,
        });
    }
    let wanted = of_sources(&picked.agent.spec.tools);
    let of_manifests = wanted.keys().cloned().collect();
    let allowed = options.commands.allow(wanted, &of_manifests).await?;
    let Resolved {
        question,
        servers,
        programs,
    } = resolve(picked, objects, &options.model, &allowed).await?;
    let servers = (servers, &allowed);
    let clients = clients(&question.tools, servers, &question.namespace, objects)?;
    let distinct: String = std::iter::repeat_with(fastrand::alphanumeric)
        .take(KEY_CHARACTERS)
        .collect();
    let frozen = Frozen {
        name: format!("{}-{distinct}", picked.folder_name()),
        agent,
        programs: digests(&programs),
        question,
    };
    // Writes, after everything that may be refused.
    let aside = if options.fresh {
        folder.set_aside(&hash)?
    } else {
        None
    };
    let run = freeze(&folder, &hash, &frozen)?;
    let notices = aside
        .iter()
        .map(|path| format!("what was asked before is now {}", path.display()));
    Ok(Begun {
        notices: notices.collect(),
        folder,
        run,
        frozen,
        tools: Some(Tools { clients, programs }),
    })
}

/// Where the question stands: what blocked it before is tried again at once.
async fn load(store: &FolderStore) -> Result<Progress, AskError> {
    let bytes = store.load().await.map_err(|error| stopped(&error))?;
    let Some(bytes) = bytes else {
        return Ok(Progress::start(Timestamp::now()));
    };
    let recorded = serde_json::from_slice(&bytes).map_err(|error| stopped(&error))?;
    let mut progress = Progress::read(recorded).map_err(|error| stopped(&error))?;
    if !progress.stage.is_terminal() {
        progress.waiting = None;
        // Nothing of it ran while no command was there, nor does anything while a person decides.
        progress.active_since = progress.waits.is_empty().then(Timestamp::now);
    }
    Ok(progress)
}

/// Workers that run the programs, of which the first has shown that it starts: before a call is paid for.
async fn interpreter(question: &Question) -> Result<Pool, AskError> {
    let pool = Pool::new(Settings {
        memory_bytes: question.limits.memory_bytes,
        ..Settings::default()
    });
    let checked = pool.check("None".to_owned(), String::new()).await;
    checked.map_err(|error| AskError::NoInterpreter(with_causes(&error)))?;
    Ok(pool)
}

async fn model(
    question: &Question,
    objects: &Objects,
    options: &TaskOptions,
    (store, progress): (&FolderStore, &Progress),
) -> Result<AnyModel, AskError> {
    const KIND: CallKind = CallKind::Program;
    if let Some(recorded) = client::recorded(options)? {
        let entries = Ledger::new(store).entries_of(&[KIND], progress.sequence).await;
        let answered = entries.map_err(|error| stopped(&error))?.len();
        return Ok(AnyModel::Recorded(
            recorded.only(|kind| kind == KIND).skip(answered),
        ));
    }
    let credentials: ModelCredentials =
        client::credentials(&question.model, &question.namespace, objects, options)?;
    let rest = (question.limits.deadline_seconds - progress.spent.active_seconds).max(0.0);
    // A deadline beyond what a clock can say is none.
    let deadline = Duration::try_from_secs_f64(rest)
        .ok()
        .and_then(|rest| Instant::now().checked_add(rest));
    Ok(client::client(&question.model, &credentials, options, deadline)?)
}

type LocalEngine<'a> = CodeModeEngine<'a, AnyModel, FolderStore, Caller<'a>>;

/// Steps until the question has its end or waits for a person (`None`), or something stops it.
async fn follow(
    engine: &LocalEngine<'_>,
    mut progress: Progress,
    approvals: &Approvals,
    stop: &Stop,
    calling: watch::Receiver<bool>,
) -> (Progress, Option<AskError>) {
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
            Step::Advanced => {}
            Step::Gate(asked) => {
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
            Step::Finished | Step::Pending => return (progress, None),
            Step::Stopped => return (progress, stop_here()),
            Step::Waiting(_) if ends_here(&progress) => return (progress, None),
            Step::Waiting(until) => {
                let pause = Duration::try_from(until.duration_since(Timestamp::now())).unwrap_or_default();
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = asked_to_stop(stop.clone(), calling.clone()) => return (progress, stop_here()),
                }
            }
        }
    }
}

/// Goes by what a person decides about a call. `None` where nobody does.
async fn decide(
    engine: &LocalEngine<'_>,
    progress: &Progress,
    asked: &AwaitedApproval<QuestionGate>,
    approvals: &Approvals,
) -> Result<Option<Progress>, CodeModeError> {
    let whole = whole_call(engine.store, progress).await?;
    let Some(decision) = approvals.decide_call(asked, whole).await else {
        return Ok(None);
    };
    engine.take_decision(progress.clone(), decision).await.map(Some)
}

/// The whole of the call that waits, where not all of it is shown.
async fn whole_call(store: &FolderStore, progress: &Progress) -> Result<String, StoreError> {
    let awaited = progress.waits.approval.as_ref();
    let Some(document) = awaited.and_then(|awaited| awaited.document.as_ref()) else {
        return Ok(String::new());
    };
    let bytes = store.read(&document.name).await?.unwrap_or_default();
    let call: Option<Call> = serde_json::from_slice(&bytes).ok();
    let text = call.map(|call| serde_json::to_string_pretty(&call.arguments).unwrap_or_default());
    Ok(text.unwrap_or_default())
}

/// A person must act, or the same infrastructure failed often enough.
fn ends_here(progress: &Progress) -> bool {
    progress
        .waiting
        .as_ref()
        .is_none_or(|waiting| waiting.category == Category::Configuration || waiting.times >= MAX_WAITS)
}

/// Ends when the user wants to stop and nothing is in flight.
async fn asked_to_stop(mut stop: Stop, mut calling: watch::Receiver<bool>) {
    stop.requested().await;
    // An error means that the engine is gone, and no call with it.
    let _ = calling.wait_for(|calling| !*calling).await;
}

/// Hashes that were given and that no call of the question has, recorded or waiting.
fn unused(approvals: &Approvals, progress: &Progress, record: &Record, uid: &str) -> Vec<String> {
    let ended = record.calls.iter().flat_map(|(attempt, calls)| {
        let hash = move |ended: &EndedCall| call_hash(uid, *attempt, &ended.call);
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

fn status_of(progress: &Progress, record: &Record, conversation: Option<&[u8]>) -> CodeModeRunStatus {
    let said = conversation.map(conversation_document);
    let awaited = progress.waits.approval.as_ref();
    let hash = awaited.map_or("", |awaited| awaited.asked.hash.as_str());
    let how_to_decide = format!(
        "run the same command at a terminal, or with --approve {hash}, or with --reject and the same hash"
    );
    let around = StatusContext {
        conversation: said.as_ref(),
        how_to_decide: &how_to_decide,
        answer: record.answer.as_ref(),
        code: record.program.as_deref(),
        ..StatusContext::default()
    };
    let mut status = status(progress, &[], &around, Timestamp::now());
    // The state counts those of programs that have ended.
    let made = record.made.iter();
    let made = made.map(|(tool, times)| (tool.clone(), i32::try_from(*times).unwrap_or(i32::MAX)));
    status.tool_calls = made.collect();
    status.tool_call_count = status.tool_calls.values().sum();
    status
}
