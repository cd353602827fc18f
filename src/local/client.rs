//! Client that answers the calls of a command: the endpoint of a task's model, or recorded replies.

use tokio::time::Instant;

use super::credentials::{CredentialError, KeyOptions, ModelCredentials, model_credentials};
use super::error::TaskError;
use super::objects::Objects;
use super::options::TaskOptions;
use codegen_core::call::{ModelIndex, Reply, Request};
use codegen_core::task::{ModelSettings, Task};
use codegen_model::{AnyModel, Model, ModelError, ModelOptions, NamedIn, Recorded};

/// Reads what is sent to the model beside requests. A replay sends nothing, so it asks for nothing.
pub(super) async fn credentials(
    (at, model): (ModelIndex, &ModelSettings),
    namespace: &str,
    objects: &Objects,
    options: &TaskOptions,
) -> Result<ModelCredentials, TaskError> {
    if options.replay.is_some() {
        return Ok(ModelCredentials::default());
    }
    let variable = |name: &str| std::env::var(name).ok();
    let found = |may_send| {
        let is_own = at == ModelIndex::Own;
        let key_options = KeyOptions {
            at,
            // The command line speaks of the task's own model.
            variable: options.model.key_variable.as_deref().filter(|_| is_own),
            endpoint_given: options.model.base_url.is_some() && is_own,
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
    (at, settings): (ModelIndex, &ModelSettings),
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
    let variable = options.model.key_variable.as_ref();
    if let Some(variable) = variable.filter(|_| at == ModelIndex::Own) {
        model.key_source = format!("the variable {variable}");
    }
    model.named = if at == ModelIndex::Own {
        options.model.named_in()
    } else {
        NamedIn::at(at)
    };
    AnyModel::new(&model).map_err(|error| TaskError::Model(error.to_string()))
}

/// The clients of all models of a task, or recorded replies of whichever gave them.
pub(super) struct Clients {
    own: AnyModel,
    others: Vec<(ModelIndex, AnyModel)>,
}

impl Clients {
    /// Recorded replies.
    pub(super) const fn recorded(recorded: Recorded) -> Self {
        Self {
            own: AnyModel::Recorded(recorded),
            others: Vec::new(),
        }
    }

    /// Clients of the endpoints of `task`, with the credentials of each. No call begins after `deadline`.
    pub(super) fn of_task(
        task: &Task,
        credentials: &[ModelCredentials],
        options: &TaskOptions,
        deadline: Option<Instant>,
    ) -> Result<Self, TaskError> {
        // A command that sends nothing has none.
        let none = ModelCredentials::default();
        let at_place = |place: usize| credentials.get(place).unwrap_or(&none);
        let own = client((ModelIndex::Own, &task.model), at_place(0), options, deadline)?;
        let mut others = Vec::new();
        for (place, (at, settings)) in task.models().enumerate().skip(1) {
            others.push((at, client((at, settings), at_place(place), options, deadline)?));
        }
        Ok(Self { own, others })
    }

    /// Returns what a person should know of recorded replies that do not fit what was asked; `None` where all do.
    pub(super) fn mismatch(&self) -> Option<String> {
        self.own.mismatch()
    }
}

impl Model for Clients {
    async fn call(&self, request: &Request) -> Result<Reply, ModelError> {
        let mut others = self.others.iter();
        let other = others.find(|(at, _)| *at == request.model.index);
        other.map_or(&self.own, |(_, model)| model).call(request).await
    }
}
