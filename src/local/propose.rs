//! Outputs for a task whose user names none: one model call with the task's prompt and data, before there is a task.

use std::time::Instant;

use super::client::{client, credentials, recorded};
use super::context::TaskContext;
use super::error::TaskError;
use super::objects::Objects;
use super::options::TaskOptions;
use crate::api::values::Output;
use crate::engine::event::{Event, Observer};
use crate::model::{AnyModel, Model as _, RecordedReply};
use crate::pipeline::accept::proposed_outputs;
use crate::pipeline::call::{CallKind, request_hash};
use crate::pipeline::causes::with_causes;
use crate::pipeline::machine::MAX_REJECTIONS;
use crate::pipeline::prompts::{Material, request};
use crate::pipeline::stage::Category;

/// What a model proposes.
#[derive(Debug)]
pub struct Proposal {
    /// At least one.
    pub outputs: Vec<Output>,
    /// Every reply, as `--replay` reads them.
    pub recording: String,
    /// What a person should know of recorded replies; `None` where nothing is.
    pub caution: Option<String>,
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
            &task.model,
            &credentials(&task.model, &task.namespace, objects, options).await?,
            options,
            None,
        )?,
    };
    let mut material = Material {
        context: context.context.text.clone(),
        ..Material::default()
    };
    let mut recording = String::new();
    for sequence in (1..).take(MAX_REJECTIONS) {
        let request =
            request(task, &material, KIND).map_err(|error| TaskError::Stopped(with_causes(&error)))?;
        observer.event(&Event::CallStarted { kind: KIND, sequence });
        let started = Instant::now();
        let reply = model
            .call(&request)
            .await
            .map_err(|error| match error.category() {
                Category::Configuration => TaskError::Model(error.to_string()),
                Category::Infrastructure => TaskError::Stopped(error.to_string()),
            })?;
        observer.event(&Event::CallFinished {
            kind: KIND,
            sequence,
            usage: reply.usage,
            seconds: started.elapsed().as_secs_f64(),
            from_ledger: false,
        });
        let line = RecordedReply::new(KIND, &request_hash(&request), &reply);
        // String keys only: writing to memory cannot fail.
        recording.push_str(&serde_json::to_string(&line).unwrap_or_default());
        recording.push('\n');
        match proposed_outputs(&reply) {
            Ok(outputs) => {
                return Ok(Proposal {
                    outputs,
                    recording,
                    caution: model.mismatch(),
                });
            }
            Err(fault) => {
                let reason = fault.reason.clone();
                observer.event(&Event::ReplyRejected { kind: KIND, reason });
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
