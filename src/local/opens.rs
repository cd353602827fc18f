//! The networks and hosts that manifests open: somebody else may have written them, so they are shown before they are used, once.

use std::collections::BTreeSet;

use reqwest::Url;

use super::commands::Remembered;
use super::objects::Objects;
use codegen_api::code_mode::CodeModeAgentSpec;
use codegen_api::common::LocalRef;
use codegen_api::model::Model;
use codegen_api::sandbox::{Egress, Sandbox};
use codegen_api::{CodeGenAgent, CodeGenTask, CodeModeAgent};
use codegen_sources::find;

/// The lines that nobody has been shown in this folder; from now on somebody has.
pub(crate) fn not_shown_before(lines: Vec<String>) -> Vec<String> {
    let is_new = |line: &String| {
        // No command begins like this.
        let words = ["--opens".to_owned(), line.clone()];
        let Some(remembered) = Remembered::of(&words) else {
            return true;
        };
        let is_new = !remembered.is_there();
        if is_new {
            // What cannot be remembered is shown again.
            let _ = remembered.write(&words);
        }
        is_new
    };
    lines.into_iter().filter(is_new).collect()
}

/// Lines on what a task opens. `asks_a_model` where the manifests' model is asked.
pub(crate) fn of_task(task: &CodeGenTask, objects: &Objects, asks_a_model: bool) -> Vec<String> {
    let spec = &task.spec;
    let agent = shared(
        spec.agent_ref.as_ref(),
        task.metadata.namespace.as_deref(),
        objects,
    );
    let name = task.metadata.name.as_deref().unwrap_or_default();
    let network = |sandbox: Option<&Sandbox>| sandbox?.network.as_ref()?.egress;
    let egress = network(spec.sandbox.as_ref()).or_else(|| network(agent?.sandbox.as_ref()));
    let mut lines = Vec::new();
    if egress == Some(Egress::Internet) {
        lines.push(format!(
            "programs of task {name} reach the internet (sandbox.network)"
        ));
    }
    if asks_a_model {
        let models = [spec.model.as_ref(), agent.and_then(|agent| agent.model.as_ref())];
        lines.extend(model(&format!("task {name}"), models));
        let shared = agent.map(|agent| &agent.escalation);
        let stronger = shared
            .filter(|_| spec.escalation.is_empty())
            .unwrap_or(&spec.escalation);
        lines.extend(
            stronger
                .iter()
                .filter_map(|one| model(&format!("task {name}"), [Some(&one.model), None])),
        );
    }
    lines
}

/// Lines on what an agent of code mode opens. `asks_a_model` where the manifests' model is asked.
pub(crate) fn of_agent(
    (name, namespace): (&str, &str),
    agent: &CodeModeAgent,
    objects: &Objects,
    asks_a_model: bool,
) -> Vec<String> {
    let spec: &CodeModeAgentSpec = &agent.spec;
    let urls = spec.tools.iter().filter_map(|tool| {
        let of_http = tool.http.as_ref().map(|http| http.url.as_str());
        of_http.or_else(|| tool.mcp.as_ref()?.url.as_deref())
    });
    let hosts: BTreeSet<String> = urls.filter_map(origin).collect();
    let mut lines = Vec::new();
    if !hosts.is_empty() {
        let hosts = hosts.into_iter().collect::<Vec<_>>().join(", ");
        lines.push(format!("tools of agent {name} ask {hosts}"));
    }
    if asks_a_model {
        let shared = shared(spec.agent_ref.as_ref(), Some(namespace), objects);
        let models = [spec.model.as_ref(), shared.and_then(|agent| agent.model.as_ref())];
        lines.extend(model(&format!("agent {name}"), models));
    }
    lines
}

fn shared<'a>(
    wanted: Option<&LocalRef>,
    namespace: Option<&str>,
    objects: &'a Objects,
) -> Option<&'a codegen_api::CodeGenAgentSpec> {
    let agent: &CodeGenAgent = find(&objects.agents, namespace.unwrap_or("default"), &wanted?.name)?;
    Some(&agent.spec)
}

/// The address of a model that is not its provider's own.
fn model(whose: &str, layers: [Option<&Model>; 2]) -> Option<String> {
    let layers = || layers.into_iter().flatten();
    let provider = layers().find_map(|model| model.provider).unwrap_or_default();
    let address = layers().find_map(|model| model.base_url.as_deref())?;
    let url = Url::parse(address).ok()?;
    let is_own = url.host_str() == Some(provider.own_host());
    (!is_own).then(|| {
        format!("the model of {whose} is at {address} (baseURL): what it is asked and shown goes there")
    })
}

/// Scheme, host and port. A parameter in braces may stand in the path.
fn origin(url: &str) -> Option<String> {
    Some(Url::parse(url).ok()?.origin().ascii_serialization())
}

#[cfg(test)]
mod tests {
    use super::super::manifest::parse;
    use super::*;

    fn objects(text: &str) -> Objects {
        Objects::collect(parse("t.yaml", text).unwrap()).unwrap()
    }

    const SHARED: &str = "apiVersion: codegen-operator.dev/v1alpha1\nkind: CodeGenAgent\nmetadata: {name: shared}\nspec:\n  model: {name: m, baseURL: 'http://models.lan/v1'}\n  sandbox: {network: {egress: Internet}}\n---\n";

    #[test]
    fn a_task_is_shown_with_its_network_and_the_address_of_its_model() {
        let task = "apiVersion: codegen-operator.dev/v1alpha1\nkind: CodeGenTask\nmetadata: {name: sum}\nspec: {prompt: add, agentRef: {name: shared}}\n";
        let objects = objects(&format!("{SHARED}{task}"));
        let network = "programs of task sum reach the internet (sandbox.network)";
        assert_eq!(of_task(&objects.tasks[0], &objects, false), [network]);
        let model = "the model of task sum is at http://models.lan/v1 (baseURL): what it is asked and shown goes there";
        assert_eq!(of_task(&objects.tasks[0], &objects, true), [network, model]);
    }

    #[test]
    fn what_opens_nothing_is_not_mentioned() {
        let task = "apiVersion: codegen-operator.dev/v1alpha1\nkind: CodeGenTask\nmetadata: {name: sum}\nspec: {prompt: add, model: {name: m, baseURL: 'https://api.openai.com/v1'}}\n";
        let objects = objects(task);
        assert_eq!(of_task(&objects.tasks[0], &objects, true), [""; 0]);
    }

    #[test]
    fn an_agent_is_shown_with_the_hosts_of_its_tools() {
        let agent = "apiVersion: codegen-operator.dev/v1alpha1\nkind: CodeModeAgent\nmetadata: {name: shop}\nspec:\n  agentRef: {name: shared}\n  tools:\n  - {name: order, description: d, http: {url: 'https://shop.example/orders/{id}'}}\n  - {name: stock, mcp: {url: 'http://127.0.0.1:8000/mcp'}}\n";
        let objects = objects(&format!("{SHARED}{agent}"));
        let agent = objects.code_mode_agents.values().next().unwrap();
        let lines = of_agent(("shop", "default"), agent, &objects, true);
        assert_eq!(
            lines,
            [
                "tools of agent shop ask http://127.0.0.1:8000, https://shop.example",
                "the model of agent shop is at http://models.lan/v1 (baseURL): what it is asked and shown goes there"
            ]
        );
    }
}
