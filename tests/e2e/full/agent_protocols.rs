//! One agent task, asked of a server of each protocol: what comes of it is the same.

use codegen_api::CodeGenTask;
use k8s_openapi::api::core::v1::ConfigMap;
use regex::Regex;
use serde_json::{Value, json};

use crate::full::server::Server;
use crate::identity::without_identity;
use crate::space::{Space, in_space, is_task};

const EXAMPLE: &str = "examples/penguins-agent";
const RECORDING: &str = include_str!("../../../examples/penguins-agent/replies.jsonl");
/// Calls of it.
const CALLS: u64 = 7;

/// Applies the example under the name of the protocol.
fn apply(space: &Space, server: &Server<'_>, protocol: &str) -> String {
    let name = protocol.to_lowercase();
    let mut objects = space.objects(EXAMPLE, "penguins-agent");
    for task in objects.iter_mut().filter(|object| is_task(object)) {
        task["metadata"]["name"] = json!(name);
        // Each asks for itself.
        task["spec"]["cache"] = json!("Disable");
        let model = &mut task["spec"]["model"];
        model["provider"] = json!(protocol);
        model["apiKeySecretRef"]["name"] = json!("openai");
        model["baseURL"] = json!(server.base_url(&name));
    }
    space.apply_objects(&objects);
    name
}

/// The status, but for what the operator alone reads and for who of both had their image built: two builds of one image differ in their times.
fn compared(task: &CodeGenTask, name: &str) -> Value {
    let digest = Regex::new("@sha256:[0-9a-f]{64}").unwrap();
    let status = without_identity(&serde_json::to_value(&task.status).unwrap(), name).to_string();
    let mut status: Value = serde_json::from_str(&digest.replace_all(&status, "")).unwrap();
    let fields = status.as_object_mut().unwrap();
    fields.remove("progress");
    fields.remove("builds");
    status
}

/// Program and suite.
async fn result(space: &Space, task: &CodeGenTask) -> ConfigMap {
    let name = task.status.as_ref().unwrap().result.clone().unwrap();
    space.api::<ConfigMap>().get(&name).await.unwrap()
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e-full"]
async fn an_agent_leaves_the_same_whichever_protocol_its_model_speaks() {
    in_space("protocols", async |space| {
        let protocols = ["Anthropic", "OpenAI"];
        let names = protocols.map(str::to_lowercase);
        let server = Server::start(space, RECORDING, &names, "0s");
        let names = protocols.map(|protocol| apply(space, &server, protocol));
        let mut ends = Vec::new();
        for name in &names {
            let task = space.succeeded(name).await;
            let asked = server.asked(name);
            assert_eq!((asked.requests, asked.distinct), (CALLS, CALLS), "{name}");
            ends.push((compared(&task, name), result(space, &task).await));
        }
        let (anthropic, openai) = (&ends[0], &ends[1]);
        assert_eq!(anthropic.0, openai.0);
        assert_eq!(anthropic.0["agent"]["turns"], 5);
        assert!(
            anthropic
                .1
                .data
                .as_ref()
                .is_some_and(|files| files.contains_key("solution.py"))
        );
        assert_eq!(anthropic.1.data, openai.1.data);
    })
    .await;
}
