//! Client that answers the calls of a command: the endpoint of a task's model, or recorded replies.

use tokio::time::Instant;

use super::credentials::{CredentialError, KeyOptions, ModelCredentials, model_credentials};
use super::error::TaskError;
use super::objects::Objects;
use super::options::TaskOptions;
use codegen_core::task::ModelSettings;
use codegen_model::{AnyModel, ModelOptions, Recorded};

/// Reads what is sent to the model beside requests. A replay sends nothing, so it asks for nothing.
pub(super) async fn credentials(
    model: &ModelSettings,
    namespace: &str,
    objects: &Objects,
    options: &TaskOptions,
) -> Result<ModelCredentials, TaskError> {
    if options.replay.is_some() {
        return Ok(ModelCredentials::default());
    }
    let variable = |name: &str| std::env::var(name).ok();
    let found = |may_send| {
        let key_options = KeyOptions {
            variable: options.model.key_variable.as_deref(),
            endpoint_given: options.model.base_url.is_some(),
            may_send,
        };
        model_credentials(model, key_options, namespace, objects, &variable)
    };
    let found = match found(None) {
        Err(CredentialError::NotSent { name, address, .. }) => {
            found(options.commands.may_send_key(name, &address).await)
        }
        found => found,
    };
    Ok(found?)
}

/// The recorded replies that `--replay` names.
pub(super) fn recorded(options: &TaskOptions) -> Result<Option<Recorded>, TaskError> {
    let Some(file) = &options.replay else {
        return Ok(None);
    };
    let unreadable = |why: String| TaskError::Replay {
        file: file.clone(),
        why,
    };
    let text = std::fs::read_to_string(file).map_err(|error| unreadable(error.to_string()))?;
    let recorded = Recorded::parse(&file.display().to_string(), &text);
    let recorded = recorded.map_err(|error| unreadable(error.to_string()))?;
    Ok(Some(recorded.strict(options.replay_strict)))
}

/// A client of the endpoint. No call begins after `deadline`.
pub(super) fn client(
    settings: &ModelSettings,
    credentials: &ModelCredentials,
    options: &TaskOptions,
    deadline: Option<Instant>,
) -> Result<AnyModel, TaskError> {
    let mut model = ModelOptions::new(settings.clone());
    model.api_key.clone_from(&credentials.api_key);
    model.headers.clone_from(&credentials.headers);
    if let Some(deadline) = options.model_timeout {
        model.call_deadline = deadline;
    }
    model.task_deadline = deadline;
    if let Some(variable) = &options.model.key_variable {
        model.key_source = format!("the variable {variable}");
    }
    model.named = options.model.named_in();
    AnyModel::new(&model).map_err(|error| TaskError::Model(error.to_string()))
}
