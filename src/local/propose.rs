//! Outputs for a task whose user names none: one model call with the task's prompt and data, before there is a task.

use jiff::Timestamp;

use super::client::{client, credentials, recorded};
use super::context::TaskContext;
use super::error::{TaskError, stopped};
use super::objects::Objects;
use super::options::TaskOptions;
use codegen_api::values::Output;
use codegen_core::accept::proposed_outputs;
use codegen_core::budget::allow_call;
use codegen_core::call::{CallKind, ModelIndex};
use codegen_core::causes::with_causes;
use codegen_core::machine::MAX_REJECTIONS;
use codegen_core::progress::Progress;
use codegen_core::prompts::{Material, request};
use codegen_core::reply::not_json;
use codegen_core::stage::Category;
use codegen_engine::ask::{AskResult, Asker};
use codegen_engine::event::{Event, Observer};
use codegen_ledger::{Ledger, MemoryStore, export_replies};
use codegen_model::AnyModel;

/// Proposal of a model.
#[derive(Debug)]
pub struct Proposal {
    /// At least one.
    pub outputs: Vec<Output>,
    /// Every reply, as `--replay` reads them.
    pub recording: String,
    /// Warning about recorded replies; `None` where nothing is.
    pub caution: Option<String>,
}

/// Looks for the key of the model, as a run of the task does.
pub async fn check_key(
    context: &TaskContext,
    objects: &Objects,
    options: &TaskOptions,
) -> Result<(), TaskError> {
    let task = &context.task;
    credentials((ModelIndex::Own, &task.model), &task.namespace, objects, options)
        .await
        .map(drop)
}

/// Asks for outputs. A reply that cannot be used is asked for again with the reason, as in a task. Calls are reported to `observer`.
pub async fn propose(
    context: &TaskContext,
    objects: &Objects,
    options: &TaskOptions,
    observer: &dyn Observer,
) -> Result<Proposal, TaskError> {
    const KIND: CallKind = CallKind::Outputs;
    let task = &context.task;
    let model = match recorded(options)? {
        Some(recorded) => AnyModel::Recorded(recorded.only(|kind| kind == KIND)),
        None => client(
            (ModelIndex::Own, &task.model),
            &credentials((ModelIndex::Own, &task.model), &task.namespace, objects, options).await?,
            options,
            None,
        )?,
    };
    let store = MemoryStore::default();
    let asker = Asker {
        model: &model,
        store: &store,
        clock: Timestamp::now,
        observe: &|event| observer.event(event),
    };
    let mut progress = Progress::start(String::new(), Timestamp::now());
    let mut material = Material {
        context: context.context.text.clone(),
        ..Material::default()
    };
    for _ in 0..MAX_REJECTIONS {
        let request =
            request(task, &material, KIND).map_err(|error| TaskError::Stopped(with_causes(&error)))?;
        let allow = |progress: &Progress, size| allow_call(task, progress, size);
        let answer;
        (progress, answer) = asker.ask(progress, &request, allow).await.map_err(stopped)?;
        let reply = match answer {
            AskResult::Reply(reply) => reply,
            AskResult::Stopped(stop) => return Err(TaskError::Stopped(stop.message)),
            AskResult::Failed(error) => {
                return Err(match error.category() {
                    Category::Configuration => TaskError::Model(error.to_string()),
                    Category::Infrastructure => TaskError::Stopped(error.to_string()),
                });
            }
        };
        match proposed_outputs(&reply) {
            Ok(outputs) => {
                let calls = Ledger::new(&store).entries_of(&[KIND], progress.sequence).await;
                return Ok(Proposal {
                    outputs,
                    recording: export_replies(&calls.map_err(stopped)?),
                    caution: model.mismatch(),
                });
            }
            Err(fault) => {
                let reason = fault.reason.clone();
                let said = not_json(&reply);
                observer.event(&Event::ReplyRejected {
                    kind: KIND,
                    reason,
                    said,
                });
                material.rejections.push(fault);
            }
        }
    }
    Err(TaskError::NoProposal {
        tries: MAX_REJECTIONS,
        last: material
            .rejections
            .pop()
            .map(|fault| fault.reason)
            .unwrap_or_default(),
    })
}
