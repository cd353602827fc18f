//! Meaning of the API server's refusal of a request, for sandboxes, builds and canaries alike.

use std::fmt::Debug;

use kube::api::PostParams;
use kube::core::Status;
use kube::{Api, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::SandboxError;

/// Outcome of creating an object.
#[derive(Debug)]
pub(super) enum Creation<K> {
    /// It was not there: as it is now.
    New(K),
    /// It is there already.
    Exists,
    /// It waits for room that others take: the words of the quota.
    Queued(String),
}

/// Creates an object: `Pod team-a/penguins-7d0c1`.
pub(super) async fn create<K>(
    api: &Api<K>,
    parameters: &PostParams,
    object: &str,
    wanted: &K,
) -> Result<Creation<K>, SandboxError>
where
    K: Resource + Clone + DeserializeOwned + Serialize + Debug,
{
    match api.create(parameters, wanted).await {
        Ok(made) => Ok(Creation::New(made)),
        Err(error) => classify("create", object, error),
    }
}

/// Classifies the error by which the operator could not `create`, or do another `action` to, this object.
fn classify<K>(action: &str, object: &str, error: kube::Error) -> Result<Creation<K>, SandboxError> {
    let broken = |error| {
        Err(SandboxError::Cluster {
            action: format!("{action} {object}"),
            source: Box::new(error),
        })
    };
    let kube::Error::Api(status) = &error else {
        return broken(error);
    };
    if status.is_already_exists() {
        return Ok(Creation::Exists);
    }
    let says = |words: &str| status.message.contains(words);
    // A quota frees by itself when others end; any other refusal needs a person.
    if status.is_forbidden() && says("exceeded quota") {
        return Ok(Creation::Queued(status.message.clone()));
    }
    // A namespace that ends takes the task along.
    if says("is being terminated") || !(status.is_forbidden() || status.is_invalid()) {
        return broken(error);
    }
    Err(SandboxError::Refused {
        object: object.to_owned(),
        reason: status.message.clone(),
        remedy: remedy(status).to_owned(),
    })
}

/// Makes the error of a refusal where nothing can wait for room, and what is there was read before.
pub(super) fn failed(action: &str, object: &str, error: kube::Error) -> SandboxError {
    match classify::<()>(action, object, error) {
        Err(error) => error,
        Ok(Creation::Queued(reason)) => no_room(object, reason),
        Ok(Creation::New(()) | Creation::Exists) => SandboxError::Refused {
            object: object.to_owned(),
            reason: "somebody changes it again and again".to_owned(),
            remedy: "leave it to the operator".to_owned(),
        },
    }
}

/// Makes the error of a quota without room for what a Pod cannot do without.
pub(super) fn no_room(object: &str, reason: String) -> SandboxError {
    SandboxError::Refused {
        object: object.to_owned(),
        reason,
        remedy: "raise the quota of the namespace".to_owned(),
    }
}

/// Makes the error of an object that is another than the operator writes, where it keeps this.
pub(super) fn replaced(object: &str, what: &str) -> SandboxError {
    SandboxError::Refused {
        object: object.to_owned(),
        reason: format!(
            "it stands where the operator keeps {what}, and is not what the operator writes: somebody has replaced it"
        ),
        remedy: "delete it, and see who may write such objects here; the operator makes it anew by itself"
            .to_owned(),
    }
}

fn remedy(status: &Status) -> &'static str {
    let says = |words: &str| status.message.contains(words);
    if says("violates PodSecurity") {
        "sandboxes keep to the level `restricted`; look at what the operator's settings or a webhook add to them"
    } else if says("failed quota") {
        "have the quota of the namespace ask for nothing but cpu, memory and ephemeral-storage"
    } else if says("RuntimeClass") {
        "create the RuntimeClass, or name another one in sandbox.runtimeClassName"
    } else if says("PriorityClass") {
        "create the PriorityClass, or name another one in sandbox.priorityClassName"
    } else if says("is forbidden: User") {
        "grant the operator's service account what the chart grants it"
    } else if status.is_invalid() {
        "correct the field of the task's sandbox or of the operator's settings that the API server names"
    } else {
        "change the task's sandbox, or what the namespace allows (LimitRange, admission policies)"
    }
}

#[cfg(test)]
mod tests;
