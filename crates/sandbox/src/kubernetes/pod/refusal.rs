//! Meaning of the API server's refusal of an object. Pure.

use kube::core::Status;

use crate::SandboxError;

/// Meaning of a refusal.
#[derive(Debug)]
pub(super) enum ApiRefusal {
    /// It waits for room that others take: the words of the quota.
    Queued(String),
    /// It is there already.
    Exists,
    /// Somebody must change something, or the API server does not answer as it should.
    Error(SandboxError),
}

/// Classifies the error by which `object` (`Pod team-a/penguins-7d0c1`) could not be created.
pub(super) fn classify(object: &str, error: kube::Error) -> ApiRefusal {
    let kube::Error::Api(status) = &error else {
        return ApiRefusal::Error(failed(object, error));
    };
    if status.is_already_exists() {
        return ApiRefusal::Exists;
    }
    let says = |words: &str| status.message.contains(words);
    // A quota frees by itself when others end; any other refusal needs a person.
    if status.is_forbidden() && says("exceeded quota") {
        return ApiRefusal::Queued(status.message.clone());
    }
    // A namespace that ends takes the task along.
    if says("is being terminated") || !(status.is_forbidden() || status.is_invalid()) {
        return ApiRefusal::Error(failed(object, error));
    }
    ApiRefusal::Error(SandboxError::Refused {
        object: object.to_owned(),
        reason: status.message.clone(),
        remedy: remedy(status).to_owned(),
    })
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
    } else if says("cannot create resource") {
        "grant the operator's service account what the chart grants it"
    } else if status.is_invalid() {
        "correct the field of the task's sandbox or of the operator's settings that the API server names"
    } else {
        "change the task's sandbox, or what the namespace allows (LimitRange, admission policies)"
    }
}

/// The API server does not answer as it should.
pub(super) fn failed(object: &str, error: kube::Error) -> SandboxError {
    SandboxError::Cluster {
        action: format!("create {object}"),
        source: Box::new(error),
    }
}

#[cfg(test)]
mod tests;
