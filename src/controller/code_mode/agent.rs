//! Agents as a kind: a pass looks up what the tools are, and says it in the status.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::runtime::reflector::Store;
use kube::runtime::watcher;

use super::memory::{agent_has_changed, has_not_begun};
use super::resolve::resolve;
use crate::controller::api;
use crate::controller::context::Context;
use crate::controller::control::{Controlled, Pass, PassResult};
use crate::controller::error::ReconcileError;
use crate::controller::hold::is_said;
use crate::controller::schedule::shared::Shared;
use crate::controller::telemetry::metrics::Reconciled;
use codegen_api::code_mode::{CodeModeAgent, CodeModeAgentStatus};
use codegen_api::conditions::READY;
use codegen_core::code_mode::{resolved, unresolved};
use codegen_core::status::Hold;

/// Pause before the tools of servers are listed again, which nothing announces.
const LIST_AGAIN: Duration = Duration::from_mins(10);

impl Controlled for CodeModeAgent {
    type Pass<'a> = AgentPass<'a>;

    fn shared(context: &Context) -> &Shared<Self> {
        &context.code_mode_agents
    }

    fn pass(self, context: &Context) -> AgentPass<'_> {
        AgentPass {
            object: self,
            context,
        }
    }

    fn observe(context: &Arc<Context>, _: Option<&str>, event: &watcher::Event<Self>, _: &Store<Self>) {
        match event {
            watcher::Event::Delete(agent) => {
                Self::release(context, agent.metadata.uid.as_deref().unwrap_or_default());
            }
            watcher::Event::Apply(agent) => agent_has_changed(context, agent),
            // The first list, before any pass, or one after a break.
            watcher::Event::InitDone => {
                Self::forget_deleted(context);
                context.code_mode_runs.wake_those(has_not_begun);
            }
            watcher::Event::Init | watcher::Event::InitApply(_) => {}
        }
    }
}

/// One pass over one agent.
pub struct AgentPass<'a> {
    object: CodeModeAgent,
    context: &'a Context,
}

impl AgentPass<'_> {
    /// Writes the status, where it says anything new: a write comes back by the watch and starts another pass.
    async fn write(&mut self, status: CodeModeAgentStatus) -> Result<(), ReconcileError> {
        if self.object.status.as_ref() == Some(&status) {
            return Ok(());
        }
        let object = CodeModeAgent {
            status: Some(status),
            ..self.object.clone()
        };
        self.object = api::replace_status(&self.context.client, &object).await?;
        self.context.code_mode_agents.wrote(&self.object);
        Ok(())
    }
}

impl Pass for AgentPass<'_> {
    type Of = CodeModeAgent;

    fn object(&self) -> &CodeModeAgent {
        &self.object
    }

    fn context(&self) -> &Context {
        self.context
    }

    async fn act(&mut self) -> PassResult {
        let (agent, _) = Box::pin(resolve(self.context, &self.object)).await?;
        let before = self.object.status.clone().unwrap_or_default();
        let generation = self.object.metadata.generation;
        let (tools, toolbox) = (&agent.tools, &agent.toolbox);
        self.write(resolved(
            tools,
            toolbox,
            &self.object.spec.require_approval,
            generation,
            &before.conditions,
            Timestamp::now(),
        ))
        .await?;
        self.context.code_mode_agents.reset_backoff(&self.object);
        Ok((Some(LIST_AGAIN), Reconciled::Idle))
    }

    fn says_hold(&self, hold: &Hold) -> bool {
        let status = self.object.status.as_ref();
        let conditions = status.map(|status| status.conditions.as_slice());
        let ready = conditions
            .unwrap_or_default()
            .iter()
            .find(|said| said.type_ == READY);
        ready.is_some_and(|said| {
            let words = (Some(said.reason.as_str()), Some(said.message.as_str()));
            is_said(hold, words, said.observed_generation, &self.object)
        })
    }

    async fn write_hold(&mut self, hold: &Hold) -> Result<(), ReconcileError> {
        let before = self.object.status.clone().unwrap_or_default();
        let generation = self.object.metadata.generation;
        self.write(unresolved(before, hold, generation, Timestamp::now()))
            .await?;
        self.context.events.code_mode_agent_held(&self.object, hold);
        Ok(())
    }
}
