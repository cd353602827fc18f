//! The model of a task, made when a call is due: its Secrets are read then and not kept.

use tokio::sync::OnceCell;

use super::context::Context;
use super::credentials;
use super::hold::{Blocked, misconfigured};
use crate::model::{AnyModel, Model, ModelError};
use crate::pipeline::call::{Reply, Request};
use crate::pipeline::task::Task;

/// A model behind the pool of calls that its endpoint has.
pub struct PooledModel<'a> {
    context: &'a Context,
    task: &'a Task,
    model: OnceCell<AnyModel>,
}

impl<'a> PooledModel<'a> {
    /// The model of `task`; nothing is read yet.
    #[must_use]
    pub fn new(context: &'a Context, task: &'a Task) -> Self {
        Self {
            context,
            task,
            model: OnceCell::new(),
        }
    }

    /// Reads what the call needs, before its intent is written: what is missing must not cost a call.
    pub async fn prepare(&self) -> Result<(), Blocked> {
        let options = credentials::model_options(&self.context.client, self.task).await?;
        let model = AnyModel::new(&options).map_err(|error| misconfigured(error.to_string()))?;
        // It is prepared once.
        let _ = self.model.set(model);
        Ok(())
    }
}

impl Model for PooledModel<'_> {
    async fn call(&self, request: &Request) -> Result<Reply, ModelError> {
        let Some(model) = self.model.get() else {
            return Err(ModelError::Unreachable {
                endpoint: self.task.model.base_url.clone(),
                tries: 0,
                detail: "the call was not prepared".to_owned(),
            });
        };
        let _permit = self.context.call_permit(&self.task.model.base_url).await;
        model.call(request).await
    }
}
