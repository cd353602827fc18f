//! The answer of an earlier question of the namespace that asked the same, taken in the place of another program.
//!
//! Such questions are found among those in memory, by the key in their status. Nothing else of that is believed: what they left is read
//! from the Secrets that only the operator writes, the key is computed again from it, and so is what their programs called.

use std::cmp::Reverse;
use std::sync::Arc;

use jiff::Timestamp;
use kube::{Api, ResourceExt as _};

use super::archive::PROGRESS;
use super::memory::ended_in;
use crate::api::code_mode::CodeModeRun;
use crate::controller::context::Context;
use crate::controller::record::records::QUESTION;
use crate::controller::record::unpack::unpack_of;
use crate::pipeline::causes::with_causes;
use crate::pipeline::code_mode::{Adopted, Question, adopt, reuse_key};

/// Earlier questions that are read before the model is asked, the latest first.
const MOST_TRIED: usize = 3;

/// The answer of the latest question that asked the same; `None` where there is none.
pub async fn find(context: &Context, run: &CodeModeRun, question: &Question) -> Option<Adopted> {
    let key = reuse_key(question);
    let origins = origins(context.code_mode_runs.all(), &key, run);
    for origin in origins.iter().take(MOST_TRIED) {
        match take(context, origin, &key).await {
            Ok(Some(adopted)) => return Some(adopted),
            Ok(None) => {}
            // The question can always be asked.
            Err(error) => tracing::warn!(
                namespace = question.namespace,
                run = run.name_any(),
                origin = origin.name_any(),
                error,
                "the answer of a question that asked the same cannot be taken"
            ),
        }
    }
    None
}

/// The questions whose answer may be taken, the one that ended last first.
fn origins(all: Vec<Arc<CodeModeRun>>, key: &str, run: &CodeModeRun) -> Vec<Arc<CodeModeRun>> {
    let is_one = |origin: &Arc<CodeModeRun>| {
        let status = origin.status.as_ref();
        origin.metadata.namespace == run.metadata.namespace
            && origin.metadata.uid != run.metadata.uid
            && origin.metadata.deletion_timestamp.is_none()
            && ended_in(origin) == Some("Succeeded")
            && status.is_some_and(|status| status.reuse_key.as_deref() == Some(key))
    };
    let ended = |origin: &Arc<CodeModeRun>| {
        let status = origin.status.as_ref();
        status.and_then(|status| status.completed_at.as_ref().map(|time| time.0))
    };
    let mut found: Vec<_> = all.into_iter().filter(is_one).collect();
    found.sort_by_key(|origin| (Reverse(ended(origin)), origin.name_any()));
    found
}

async fn take(context: &Context, origin: &CodeModeRun, key: &str) -> Result<Option<Adopted>, String> {
    let (namespace, name) = (origin.namespace().unwrap_or_default(), origin.name_any());
    let runs: Api<CodeModeRun> = Api::namespaced(context.client.clone(), &namespace);
    // In memory a question that has ended is trimmed, and it may have been deleted since.
    let found = runs.get_opt(&name).await.map_err(|error| with_causes(&error))?;
    let is_the_same = |found: &CodeModeRun| {
        found.metadata.uid == origin.metadata.uid && found.metadata.deletion_timestamp.is_none()
    };
    let Some(present) = found.filter(is_the_same) else {
        return Ok(None);
    };
    let uid = present.uid().unwrap_or_default();
    let Some(result) = present.status.and_then(|status| status.result) else {
        return Ok(None);
    };
    let documents = unpack_of(&context.client, &namespace, &result, &uid).await;
    let documents = documents.map_err(|error| with_causes(&error))?;
    Ok(adopt(
        key,
        (QUESTION, PROGRESS),
        &documents,
        &name,
        Timestamp::now(),
    ))
}
