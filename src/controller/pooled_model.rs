//! A model behind the pool of calls, made when a call is due: its Secrets are read then and not stored.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio::time::Instant;

use crate::controller::context::Context;
use crate::controller::hold::{Blocked, misconfigured};
use crate::controller::schedule::calls::CallPermit;
use crate::controller::sources::credentials;
use codegen_api::model::Provider;
use codegen_core::call::{ModelIndex, Reply, Request};
use codegen_core::task::ModelSettings;
use codegen_model::{AnyModel, Model, ModelError, NamedIn};

/// A model behind the pool of calls that its endpoint has.
pub struct PooledModel<'a> {
    context: &'a Context,
    namespace: &'a str,
    prepared: OnceCell<Prepared>,
}

/// A model with a place among the calls of its endpoint.
struct Prepared {
    model: AnyModel,
    provider: Provider,
    /// For others as soon as the model has answered: what follows in the same pass may take its time.
    place: Mutex<Option<CallPermit>>,
}

impl Prepared {
    const fn new(model: AnyModel, provider: Provider, place: CallPermit) -> Self {
        Self {
            model,
            provider,
            place: Mutex::new(Some(place)),
        }
    }
}

impl<'a> PooledModel<'a> {
    /// A model of an object in `namespace`; nothing is read yet.
    #[must_use]
    pub fn new(context: &'a Context, namespace: &'a str) -> Self {
        Self {
            context,
            namespace,
            prepared: OnceCell::new(),
        }
    }

    /// Reads what a call of the model of `settings`, at `index` in the spec, needs and waits for its place, before its intent is written:
    /// what is missing must not cost a call. False when no call may start any more.
    /// It gives up when so much time has passed as is left.
    pub async fn prepare(
        &self,
        (index, settings): (ModelIndex, &ModelSettings),
        seconds_left: f64,
    ) -> Result<bool, Blocked> {
        let model = self.model(index, settings, seconds_left).await?;
        // Last: a call that cannot be made takes no place.
        let Some(place) = self.context.calls.enter(&settings.base_url).await else {
            return Ok(false);
        };
        // It is prepared once.
        let _ = self.prepared.set(Prepared::new(model, settings.provider, place));
        Ok(true)
    }

    /// The model with its Secrets as they are now.
    async fn model(
        &self,
        index: ModelIndex,
        settings: &ModelSettings,
        seconds_left: f64,
    ) -> Result<AnyModel, Blocked> {
        let (client, gate) = (&self.context.client, &self.context.models);
        let mut options = credentials::model_options(client, gate, self.namespace, (index, settings)).await?;
        // A deadline beyond what a clock can say is none.
        options.task_deadline = Duration::try_from_secs_f64(seconds_left)
            .ok()
            .and_then(|left| Instant::now().checked_add(left));
        options.client = self.context.model_client.clone();
        AnyModel::new(&options).map_err(|error| misconfigured(error.to_string()))
    }
}

impl Model for PooledModel<'_> {
    async fn call(&self, request: &Request) -> Result<Reply, ModelError> {
        let Some(prepared) = self.prepared.get() else {
            return Err(ModelError::Unreachable {
                endpoint: request.model.index.to_string(),
                address_from: NamedIn::default().address,
                tries: 0,
                detail: "the call was not prepared".to_owned(),
            });
        };
        let place = prepared
            .place
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let reply = prepared.model.call(request).await;
        drop(place);
        let failed = reply.as_ref().err().map(ModelError::category);
        self.context.metrics.call_ended(prepared.provider, failed);
        reply
    }
}
