//! Questions whose operator is killed, or which are suspended, while a call is in flight.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use codegen_api::CodeGenRun;
use codegen_api::code_mode::{CodeModeRun, CodeModeRunStatus};
use kube::ResourceExt;
use kube::api::ListParams;
use kube::runtime::wait::await_condition;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::model::{Asked, Model};
use super::own::{OPERATOR, Own, apply_manifest};
use super::runs::pod_of;
use super::seed;
use crate::code_mode::ended;
use crate::space::{SOON, Space, in_space};

const TASK: &str = "tables";
const AGENT: &str = "shop";
/// Those of the task, and a program for each question in the order in which they are asked.
const REPLIES: &str = concat!(
    include_str!("../replies/tables.jsonl"),
    include_str!("../replies/in-flight.jsonl")
);

/// Servers of tools in the test's process. A call that is held has no answer until its tool is not held any more.
#[derive(Clone, Default)]
struct Tools(Arc<Mutex<Conduct>>);

#[derive(Default)]
struct Conduct {
    calls: BTreeMap<&'static str, usize>,
    held: Option<&'static str>,
}

impl Tools {
    async fn start(self) -> SocketAddr {
        let router = Router::new()
            .route(
                "/rate",
                get(async |State(tools): State<Self>| tools.answer("rate", json!(3)).await),
            )
            .route(
                "/refund",
                post(async |State(tools): State<Self>| tools.answer("refund", json!(4)).await),
            )
            .route("/mcp", post(mcp))
            .with_state(self);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        address
    }

    /// Calls of this tool have no answer from now on, or those of none.
    fn hold(&self, tool: Option<&'static str>) {
        self.0.lock().unwrap().held = tool;
    }

    fn calls(&self, tool: &str) -> usize {
        self.0
            .lock()
            .unwrap()
            .calls
            .get(tool)
            .copied()
            .unwrap_or_default()
    }

    async fn answer(&self, tool: &'static str, value: Value) -> Response {
        let is_held = {
            let mut state = self.0.lock().unwrap();
            *state.calls.entry(tool).or_default() += 1;
            state.held == Some(tool)
        };
        let mut poll = tokio::time::interval(Duration::from_millis(20));
        while is_held && self.0.lock().unwrap().held == Some(tool) {
            poll.tick().await;
        }
        Json(value).into_response()
    }

    /// Waits until so many calls of a tool have come in.
    async fn has_called(&self, tool: &str, times: usize) {
        let begun = Instant::now();
        let mut look = tokio::time::interval(Duration::from_millis(20));
        while self.calls(tool) < times {
            look.tick().await;
            assert!(
                begun.elapsed() < SOON,
                "{tool} was called {} times",
                self.calls(tool)
            );
        }
    }
}

/// An MCP server with the tool `stock`, which changes nothing.
async fn mcp(State(tools): State<Tools>, Json(request): Json<Value>) -> Response {
    let result = match request["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": request["params"]["protocolVersion"], "capabilities": {"tools": {}},
            "serverInfo": {"name": "warehouse", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{
            "name": "stock", "description": "How many are left.", "inputSchema": {"type": "object", "properties": {}},
            "annotations": {"readOnlyHint": true},
        }]}),
        "tools/call" => {
            tools.answer("stock", Value::Null).await;
            json!({"content": [{"type": "text", "text": "7"}]})
        }
        _ if request["id"].is_null() => return StatusCode::ACCEPTED.into_response(),
        other => {
            let error = json!({"code": -32601, "message": format!("there is no method {other}")});
            return Json(json!({"jsonrpc": "2.0", "id": request["id"], "error": error})).into_response();
        }
    };
    Json(json!({"jsonrpc": "2.0", "id": request["id"], "result": result})).into_response()
}

fn apply(space: &Space, kind: &str, name: &str, spec: &Value) {
    space.apply_objects(&[json!({
        "apiVersion": "codegen-operator.dev/v1alpha1", "kind": kind, "spec": spec,
        "metadata": {"name": name, "labels": {OPERATOR: space.name}},
    })]);
}

fn apply_agent(space: &Space, model: &Model, tools: SocketAddr) {
    let number = json!({"type": "number"});
    let spec = json!({
        "model": {
            "name": "recorded", "baseURL": model.base_url(AGENT), "apiKeySecretRef": {"name": "openai", "key": "api-key"},
        },
        "tools": [
            {"name": "rate", "http": {"url": format!("http://{tools}/rate"), "result": number}},
            {"name": "refund", "http": {"method": "POST", "url": format!("http://{tools}/refund"), "result": number}},
            {"name": "warehouse", "mcp": {"url": format!("http://{tools}/mcp")}},
            {"name": "tables", "taskRef": {"name": TASK}},
        ],
    });
    apply(space, "CodeModeAgent", AGENT, &spec);
}

fn ask(space: &Space, name: &str) {
    let spec = json!({"agentRef": {"name": AGENT}, "message": format!("What about {name}?")});
    apply(space, "CodeModeRun", name, &spec);
}

async fn status_of(space: &Space, name: &str) -> CodeModeRunStatus {
    ended(space, name).await.status.unwrap()
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_kill_during_a_call_of_any_kind_repeats_nothing_that_is_recorded_and_guesses_nothing() {
    in_space("in-flight", async |space| {
        let model = Model::start(space, REPLIES, &[TASK, AGENT], Duration::ZERO).await;
        let tools = Tools::default();
        let address = tools.clone().start().await;
        let listed = |config: &mut Value| {
            config["codeMode"] = json!({"allowedEndpoints": [format!("http://{address}")]});
        };
        let mut own = Own::start_with(space, &model, seed(), listed).await;
        apply_manifest(space, &model, "tests/e2e/manifests/tables.yaml", TASK);
        space.succeeded(TASK).await;
        apply_agent(space, &model, address);

        // What changes nothing is asked again, and the model is not.
        for (question, answer) in [("rate", "3"), ("stock", "7")] {
            tools.hold(Some(question));
            ask(space, question);
            tools.has_called(question, 1).await;
            own = replaced(own, space, &model, listed, &tools).await;
            let status = status_of(space, question).await;
            assert_eq!(status.reason.as_deref(), Some("Answered"), "{status:#?}");
            assert_eq!(status.answer.unwrap().text, answer);
            assert_eq!(tools.calls(question), 2);
        }

        // What may have been done is not done twice, and what came before it is not asked again.
        tools.hold(Some("refund"));
        ask(space, "refund");
        tools.has_called("refund", 1).await;
        own = replaced(own, space, &model, listed, &tools).await;
        let status = status_of(space, "refund").await;
        assert_eq!(status.reason.as_deref(), Some("UnknownOutcome"), "{status:#?}");
        let message = status.message.unwrap();
        assert!(message.contains("call 2, refund"), "{message}");
        assert_eq!((tools.calls("rate"), tools.calls("refund")), (3, 1));

        // A program that runs goes on, and is not started again.
        ask(space, "table");
        let run = waited_for(space, "table").await;
        let pod = pod_of(space, &run).await;
        own = replaced(own, space, &model, listed, &tools).await;
        let status = status_of(space, "table").await;
        assert_eq!(status.reason.as_deref(), Some("Answered"), "{status:#?}");
        assert_eq!(status.answer.unwrap().text, "4");
        let runs = space
            .api::<CodeGenRun>()
            .list(&ListParams::default())
            .await
            .unwrap();
        let names: Vec<String> = runs.iter().map(ResourceExt::name_any).collect();
        assert_eq!(names, [run], "{pod}");
        assert_eq!(runs.items[0].status.as_ref().unwrap().executions, 0);

        let expected = Asked {
            requests: 4,
            distinct: 4,
        };
        assert_eq!(
            model.asked(AGENT).await,
            expected,
            "no program is asked for again"
        );
        drop(own);
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_question_that_is_suspended_in_the_middle_of_its_program_calls_nothing_until_it_is_resumed() {
    const LOOP: &str = include_str!("../replies/loop.jsonl");
    in_space("in-the-middle", async |space| {
        let model = Model::start(space, LOOP, &[AGENT], Duration::ZERO).await;
        let tools = Tools::default();
        let address = tools.clone().start().await;
        let listed = |config: &mut Value| {
            config["codeMode"] = json!({"allowedEndpoints": [format!("http://{address}")]});
        };
        let own = Own::start_with(space, &model, seed(), listed).await;
        let spec = json!({
            "model": {
                "name": "recorded", "baseURL": model.base_url(AGENT),
                "apiKeySecretRef": {"name": "openai", "key": "api-key"},
            },
            "tools": [{"name": "rate", "http": {"url": format!("http://{address}/rate"), "result": {"type": "number"}}}],
        });
        apply(space, "CodeModeAgent", AGENT, &spec);
        tools.hold(Some("rate"));
        ask(space, "rates");
        tools.has_called("rate", 1).await;
        suspend(space, "rates", true);
        // The operator's watch has it by then.
        tokio::time::sleep(Duration::from_secs(2)).await;
        tools.hold(None);
        let is_suspended = |run: Option<&CodeModeRun>| {
            let status = run.and_then(|run| run.status.as_ref());
            status.is_some_and(|status| status.reason.as_deref() == Some("Suspended"))
        };
        let wait = await_condition(space.api::<CodeModeRun>(), "rates", is_suspended);
        let waited = Box::pin(tokio::time::timeout(SOON, wait)).await;
        waited.expect("it is not suspended").unwrap();
        assert_eq!(tools.calls("rate"), 1);
        suspend(space, "rates", false);
        let status = status_of(space, "rates").await;
        assert_eq!(status.reason.as_deref(), Some("Answered"), "{status:#?}");
        assert_eq!(status.answer.unwrap().text, "9");
        assert_eq!(tools.calls("rate"), 3, "what was recorded is not asked again");
        drop(own);
    })
    .await;
}

fn suspend(space: &Space, question: &str, suspend: bool) {
    let patch = json!({"spec": {"suspend": suspend}}).to_string();
    space.kubectl(&[
        "patch",
        "codemoderun",
        question,
        "--type",
        "merge",
        "--patch",
        &patch,
    ]);
}

/// The operator is killed, the tools answer again, and another operator begins.
async fn replaced(
    mut own: Own,
    space: &Space,
    model: &Model,
    listed: impl FnOnce(&mut Value),
    tools: &Tools,
) -> Own {
    own.kill();
    own.ended().await;
    drop(own);
    tools.hold(None);
    Own::start_with(space, model, seed(), listed).await
}

/// The run that a question waits for, as soon as it does.
async fn waited_for(space: &Space, question: &str) -> String {
    let begun = Instant::now();
    let mut look = tokio::time::interval(Duration::from_millis(100));
    loop {
        look.tick().await;
        let run = space.api::<CodeModeRun>().get(question).await.unwrap();
        let status = run.status.unwrap_or_default();
        if let Some(call) = status.waiting_for.first() {
            return call.run.clone();
        }
        assert!(
            begun.elapsed() < SOON,
            "{question} waits for nothing: {status:#?}"
        );
    }
}
