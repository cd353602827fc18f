//! The models of tasks and questions, by themselves and by their agents.

use std::collections::{BTreeMap, BTreeSet};

use kube::{Api, ResourceExt as _};

use crate::cli::cluster::Cluster;
use crate::cli::recorded::model_of;
use codegen_api::code_mode::{CodeModeAgent, CodeModeRun};
use codegen_api::{CodeGenAgent, CodeGenTask, Namespaced};

/// Namespace and name.
type Key = (String, String);

/// The agents that name the models of tasks and questions. What cannot be read is left out.
#[derive(Default)]
pub(super) struct Models {
    agents: BTreeMap<Key, CodeGenAgent>,
    code_mode: BTreeMap<Key, CodeModeAgent>,
}

impl Models {
    /// Reads the agents of what does not name its model.
    pub async fn of(cluster: &Cluster, tasks: &[CodeGenTask], questions: &[CodeModeRun]) -> Self {
        let asked = questions.iter().map(agent_of_question).collect();
        let code_mode: BTreeMap<Key, CodeModeAgent> = fetched(cluster, asked).await;
        let open = tasks.iter().filter(|task| model_of(task, None).is_none());
        let mut wanted: BTreeSet<Key> = open.filter_map(agent_of_task).collect();
        wanted.extend(code_mode.values().filter_map(agent_of_agent));
        Self {
            agents: fetched(cluster, wanted).await,
            code_mode,
        }
    }

    /// Name of the model of a task.
    pub fn of_task<'a>(&'a self, task: &'a CodeGenTask) -> Option<&'a str> {
        let agent = agent_of_task(task).and_then(|key| self.agents.get(&key));
        model_of(task, agent)
    }

    /// Name of the model of a question, as its agent has it now.
    pub fn of_question(&self, run: &CodeModeRun) -> Option<&str> {
        let agent = self.code_mode.get(&agent_of_question(run))?;
        let own = agent.spec.model.as_ref().and_then(|model| model.name.as_deref());
        let shared = || {
            let agent = self.agents.get(&agent_of_agent(agent)?)?;
            agent.spec.model.as_ref()?.name.as_deref()
        };
        own.or_else(shared)
    }
}

fn agent_of_task(task: &CodeGenTask) -> Option<Key> {
    let agent = task.spec.agent_ref.as_ref()?;
    Some((task.namespace().unwrap_or_default(), agent.name.clone()))
}

fn agent_of_question(run: &CodeModeRun) -> Key {
    (
        run.namespace().unwrap_or_default(),
        run.spec.agent_ref.name.clone(),
    )
}

fn agent_of_agent(agent: &CodeModeAgent) -> Option<Key> {
    let shared = agent.spec.agent_ref.as_ref()?;
    Some((agent.namespace().unwrap_or_default(), shared.name.clone()))
}

async fn fetched<K: Namespaced>(cluster: &Cluster, keys: BTreeSet<Key>) -> BTreeMap<Key, K> {
    let mut all = BTreeMap::new();
    for (namespace, name) in keys {
        let api: Api<K> = Api::namespaced(cluster.client.clone(), &namespace);
        if let Ok(Some(found)) = api.get_opt(&name).await {
            all.insert((namespace, name), found);
        }
    }
    all
}
