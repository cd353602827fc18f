//! Agents and questions of code mode from their creation to their ends, with real programs in real workers.

mod approvals;
mod ended;
mod hostile;
mod memory;
mod waiting;

use kube::ResourceExt as _;
use kube::runtime::controller::Action;
use rstest::rstest;
use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::controller::schedule::interpreters::ProgramRoom;
use crate::controller::tests::api_server::Fault;
use crate::controller::tests::world::World;
use codegen_api::CodeGenRun;
use codegen_api::code_mode::{CodeModeAgent, CodeModeRun};
use codegen_core::call::CallKind;

/// An operator whose model answers with this program, a till over HTTP, and an agent `shop` with both of its tools.
pub(crate) struct Shop {
    pub(crate) world: World,
    till: MockServer,
}

impl Shop {
    /// The task `words` has succeeded, and the till gives 20 a call.
    pub(crate) async fn new(program: &str) -> Self {
        let mut shop = Self::without_task(program).await;
        shop.world.succeeded("words").await;
        shop.world.server.calls();
        shop
    }

    async fn without_task(program: &str) -> Self {
        Self::configured(program, &json!({})).await
    }

    /// One with further settings of code mode, without a task.
    async fn configured(program: &str, more: &Value) -> Self {
        let till = MockServer::start().await;
        Mock::given(method("GET"))
            .and(path("/till"))
            .respond_with(ResponseTemplate::new(200).set_body_json(20))
            .mount(&till)
            .await;
        let mut settings = json!({"codeMode": {"allowedEndpoints": [till.uri()]}});
        let code_mode = settings["codeMode"].as_object_mut().unwrap();
        code_mode.extend(more.as_object().unwrap().clone());
        let settings = settings.to_string();
        let reply = [(CallKind::Program, json!({"program": program}))];
        let world = World::answering(&settings, &reply).await;
        let shop = Self { world, till };
        shop.apply_agent(&json!([
            {"name": "till", "http": {"url": format!("{}/till", shop.till.uri()), "result": {"type": "integer"}}},
            {"name": "count_words", "taskRef": {"name": "words"}},
        ]));
        shop
    }

    fn apply_agent(&self, tools: &Value) {
        let model = json!({"name": "test-model", "baseURL": format!("{}/v1", self.world.provider.origin())});
        self.world.server.create(json!({
            "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeModeAgent", "metadata": {"name": "shop"},
            "spec": {"model": model, "tools": tools},
        }));
    }

    pub(crate) fn ask(&self, name: &str, more: &Value) {
        let mut spec = json!({"agentRef": {"name": "shop"}, "message": "How much?"});
        spec.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        self.world.server.create(json!({
            "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeModeRun", "metadata": {"name": name}, "spec": spec,
        }));
    }

    /// Goes on with a question, and with the runs that it makes, until nothing changes.
    pub(crate) async fn settle(&mut self, name: &str) -> Action {
        loop {
            let action = self.world.settle::<CodeModeRun>(name).await;
            let before = self.world.server.all("codegenruns");
            for run in &before {
                self.world
                    .settle::<CodeGenRun>(run["metadata"]["name"].as_str().unwrap())
                    .await;
            }
            if self.world.server.all("codegenruns") == before {
                return action;
            }
        }
    }

    fn status(&self, name: &str) -> Value {
        self.world.object::<CodeModeRun>(name)["status"].clone()
    }

    /// Other programs take all the room that there is.
    fn filled(&self) -> Vec<ProgramRoom> {
        std::iter::from_fn(|| self.world.context.interpreters.try_reserve()).collect()
    }

    async fn calls_of_the_till(&self) -> usize {
        self.till.received_requests().await.unwrap().len()
    }
}

const BOTH: &str = "words = await count_words()\nwords['words'] + await till()";

#[tokio::test]
async fn a_question_goes_from_creation_to_its_answer_in_these_calls_and_no_others() {
    let mut shop = Shop::new("await till() + 1").await;
    shop.ask("ask", &json!({}));
    assert_eq!(shop.settle("ask").await, Action::await_change());
    shop.world.server.assert_calls(
        "get CodeModeAgent shop
         get CodeGenTask words
         get Secret result
         create Secret record question.json
         ~ status CodeModeRun ask: Writing Progressing
         ~ create Secret record calls/prefix
         create Secret record calls/0001-program.json
         status CodeModeRun ask: Running Running
         create Secret record journal/0001-0001.json
         create Secret record documents/answer-0001.json
         create Secret result
         status CodeModeRun ask: Succeeded Answered
         delete all Secret record",
    );
}

#[tokio::test]
async fn a_call_of_a_task_is_a_run_of_its_own_that_the_question_waits_for() {
    let mut shop = Shop::new(BOTH).await;
    shop.ask("ask", &json!({}));
    shop.world.settle::<CodeModeRun>("ask").await;
    assert_eq!(
        shop.world.stage_and_reason::<CodeModeRun>("ask"),
        "Running AwaitingRun"
    );
    let runs = shop.world.server.all("codegenruns");
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0]["metadata"]["ownerReferences"][0]["kind"], "CodeModeRun");
    assert_eq!(
        shop.status("ask")["waitingFor"][0]["run"],
        runs[0]["metadata"]["name"]
    );
    shop.settle("ask").await;
    assert_eq!(
        shop.world.stage_and_reason::<CodeModeRun>("ask"),
        "Succeeded Answered"
    );
    let status = shop.status("ask");
    assert_eq!(
        (&status["answer"]["text"], &status["toolCallCount"]),
        (&json!("22"), &json!(2))
    );
    assert_eq!(status["toolCalls"], json!({"count_words": 1, "till": 1}));
    assert_eq!(shop.calls_of_the_till().await, 1);
    assert_eq!(shop.world.events("ask").await, ["Succeeded"]);
}

#[rstest]
#[case::question("create Secret record")]
#[case::first_status("status CodeModeRun ask: Writing")]
#[case::written("status CodeModeRun ask: Running")]
#[case::run("create CodeGenRun")]
#[case::end("status CodeModeRun ask: Succeeded")]
#[tokio::test]
async fn a_write_whose_reply_is_lost_costs_no_call_of_model_or_tool(#[case] write: &str) {
    let mut shop = Shop::new(BOTH).await;
    shop.ask("ask", &json!({}));
    shop.world.server.fail(write, Fault::ReplyLost);
    for _ in 0..10 {
        shop.settle("ask").await;
        shop.world.restart().await;
    }
    assert_eq!(
        shop.world.stage_and_reason::<CodeModeRun>("ask"),
        "Succeeded Answered"
    );
    let programs = shop.world.provider.calls().await;
    let programs = programs.iter().filter(|kind| *kind == "program").count();
    assert_eq!((programs, shop.calls_of_the_till().await), (1, 1));
    assert_eq!(shop.world.server.all("codegenruns").len(), 1);
}

#[tokio::test]
async fn an_operator_that_is_replaced_after_every_pass_goes_on_where_the_other_was() {
    let mut shop = Shop::new(BOTH).await;
    shop.ask("ask", &json!({}));
    for _ in 0..12 {
        shop.world.reconcile::<CodeModeRun>("ask").await;
        for run in shop.world.server.all("codegenruns") {
            shop.world
                .settle::<CodeGenRun>(run["metadata"]["name"].as_str().unwrap())
                .await;
        }
        shop.world.restart().await;
    }
    assert_eq!(
        shop.world.stage_and_reason::<CodeModeRun>("ask"),
        "Succeeded Answered"
    );
    let programs = shop.world.provider.calls().await;
    let programs = programs.iter().filter(|kind| *kind == "program").count();
    assert_eq!((programs, shop.calls_of_the_till().await), (1, 1));
}

#[tokio::test]
async fn an_agent_waits_for_its_task_and_says_then_what_it_can_do() {
    let mut shop = Shop::without_task(BOTH).await;
    shop.world.settle::<CodeModeAgent>("shop").await;
    let ready = |shop: &Shop| shop.world.condition::<CodeModeAgent>("shop", "Ready");
    assert_eq!(ready(&shop).as_deref(), Some("False ToolsAwaited"));
    shop.ask("ask", &json!({}));
    shop.world.settle::<CodeModeRun>("ask").await;
    assert_eq!(
        shop.world.stage_and_reason::<CodeModeRun>("ask"),
        "Pending ToolsAwaited"
    );
    let message = shop.world.message::<CodeModeRun>("ask");
    assert!(
        message.contains("tool `count_words`: taskRef refers to the CodeGenTask data/words"),
        "{message}"
    );
    let mut woken = shop.world.context.code_mode_agents.woken();
    let mut questions = shop.world.context.code_mode_runs.woken();
    shop.world.succeeded("words").await;
    assert_eq!(woken.try_recv().unwrap().name, "shop");
    shop.world.settle::<CodeModeAgent>("shop").await;
    assert_eq!(ready(&shop).as_deref(), Some("True ToolsResolved"));
    assert_eq!(questions.try_recv().unwrap().name, "ask");
    let tools = shop.world.object::<CodeModeAgent>("shop")["status"]["tools"].clone();
    assert_eq!(tools[1]["signature"], "count_words() -> CountWordsResult");
    assert_eq!(
        (&tools[1]["source"], &tools[1]["durable"]),
        (&json!("Task"), &json!(true))
    );
    shop.settle("ask").await;
    assert_eq!(
        shop.world.stage_and_reason::<CodeModeRun>("ask"),
        "Succeeded Answered"
    );
}

#[tokio::test]
async fn a_question_that_a_newer_operator_has_begun_says_so_and_stays_as_it_was() {
    let mut shop = Shop::new("await till()").await;
    shop.ask("ask", &json!({}));
    shop.world.reconcile::<CodeModeRun>("ask").await;
    shop.world.server.edit("codemoderuns", "ask", |run| {
        run["status"]["progress"]["version"] = json!(99);
        run["status"]["progress"]["stage"] = json!("Pondering");
    });
    let before = shop.status("ask")["progress"].clone();
    shop.settle("ask").await;
    assert_eq!(shop.status("ask")["progress"], before);
    let message = shop.world.message::<CodeModeRun>("ask");
    assert!(
        message.contains("another version has begun it (state 99"),
        "{message}"
    );
    assert_eq!(shop.calls_of_the_till().await, 0);
}

#[tokio::test]
async fn an_operator_that_ends_lets_a_program_make_no_further_call_and_the_next_one_goes_on() {
    let mut shop = Shop::new("await till() + await till()").await;
    shop.ask("ask", &json!({}));
    shop.world.reconcile::<CodeModeRun>("ask").await;
    assert_eq!(shop.status("ask")["stage"], "Running");
    shop.world.context.stopping.cancel();
    shop.world.reconcile::<CodeModeRun>("ask").await;
    assert_eq!(shop.calls_of_the_till().await, 0);
    shop.world.restart().await;
    shop.settle("ask").await;
    assert_eq!(shop.status("ask")["answer"]["text"], "40");
    assert_eq!(shop.calls_of_the_till().await, 2);
}

#[tokio::test]
async fn a_question_waits_for_its_agent() {
    let mut shop = Shop::new("1").await;
    shop.world.server.remove("codemodeagents", "shop");
    shop.ask("ask", &json!({}));
    shop.world.settle::<CodeModeRun>("ask").await;
    assert_eq!(
        shop.world.stage_and_reason::<CodeModeRun>("ask"),
        "Pending AwaitingAgent"
    );
    let mut woken = shop.world.context.code_mode_runs.woken();
    shop.apply_agent(&json!([{"name": "till", "http": {"url": format!("{}/till", shop.till.uri())}}]));
    shop.world.watch_all();
    assert_eq!(woken.try_recv().unwrap().name, "ask");
    shop.settle("ask").await;
    assert_eq!(
        shop.world.stage_and_reason::<CodeModeRun>("ask"),
        "Succeeded Answered"
    );
}

#[tokio::test]
async fn a_question_keeps_the_agent_that_it_started_with() {
    let mut shop = Shop::new("await till()").await;
    shop.ask("ask", &json!({}));
    shop.world.reconcile::<CodeModeRun>("ask").await;
    shop.world.server.edit("codemodeagents", "shop", |agent| {
        agent["spec"]["tools"][0]["http"]["url"] = json!("https://elsewhere.example/till");
    });
    shop.settle("ask").await;
    assert_eq!(shop.status("ask")["answer"]["text"], "20");
}

#[tokio::test]
async fn a_run_goes_on_with_the_conversation_of_an_earlier_one_once_that_has_an_answer() {
    let mut shop = Shop::new("await till()").await;
    shop.ask(
        "later",
        &json!({"continues": {"name": "earlier"}, "message": "And now?"}),
    );
    shop.ask("earlier", &json!({}));
    shop.world.settle::<CodeModeRun>("later").await;
    assert_eq!(
        shop.world.stage_and_reason::<CodeModeRun>("later"),
        "Pending AwaitingRun"
    );
    let mut woken = shop.world.context.code_mode_runs.woken();
    shop.settle("earlier").await;
    assert_eq!(woken.try_recv().unwrap().name, "later");
    shop.settle("later").await;
    assert_eq!(
        shop.world.stage_and_reason::<CodeModeRun>("later"),
        "Succeeded Answered"
    );
    let said = shop.world.provider.said().await;
    let last = said.last().unwrap();
    assert!(
        last.contains("And now?") && last.contains("How much?") && last.contains("20"),
        "{last}"
    );
}

#[tokio::test]
async fn a_suspended_question_does_nothing_until_it_is_resumed() {
    let mut shop = Shop::new("await till()").await;
    shop.ask("ask", &json!({"suspend": true}));
    shop.settle("ask").await;
    assert_eq!(
        shop.world.stage_and_reason::<CodeModeRun>("ask"),
        "Pending Suspended"
    );
    assert_eq!(
        shop.world
            .server
            .of_component("secrets", "record")
            .iter()
            .filter(|secret| { secret["metadata"]["ownerReferences"][0]["kind"] == "CodeModeRun" })
            .count(),
        0
    );
    shop.world
        .server
        .edit("codemoderuns", "ask", |run| run["spec"]["suspend"] = json!(false));
    shop.settle("ask").await;
    assert_eq!(
        shop.world.stage_and_reason::<CodeModeRun>("ask"),
        "Succeeded Answered"
    );
}

#[tokio::test]
async fn a_question_is_deleted_when_its_time_after_the_end_is_over() {
    let mut shop = Shop::new("1").await;
    shop.ask("ask", &json!({"ttlSecondsAfterFinished": 0}));
    shop.settle("ask").await;
    assert!(shop.world.server.get::<CodeModeRun>("ask").is_none());
}

#[tokio::test]
async fn a_file_that_no_tool_of_the_question_gave_does_not_exist_for_it() {
    let program = "try:\n    text = await read_text({'file': 'count/words', 'sha256': '0', 'bytes': 1})\nexcept ValueError as error:\n    text = str(error)\ntext";
    let mut shop = Shop::new(program).await;
    shop.world
        .apply_run("count", &json!({"taskRef": {"name": "words"}}));
    shop.world.settle::<CodeGenRun>("count").await;
    shop.world.server.edit("codemodeagents", "shop", |agent| {
        agent["spec"]["tools"][0]["http"]["result"] = json!({"type": "object", "format": "codegen-file"});
    });
    shop.ask("ask", &json!({}));
    shop.settle("ask").await;
    assert_eq!(
        shop.status("ask")["answer"]["text"],
        "no tool gave the file count/words"
    );
}

#[tokio::test]
async fn a_file_that_the_api_server_does_not_give_is_asked_for_again_and_costs_no_attempt() {
    let program = "try:\n    text = await read_text({'file': 'count/words', 'sha256': '0', 'bytes': 1})\nexcept ValueError as error:\n    text = str(error)\ntext";
    let mut shop = Shop::new(program).await;
    shop.world.server.edit("codemodeagents", "shop", |agent| {
        agent["spec"]["tools"][0]["http"]["result"] = json!({"type": "object", "format": "codegen-file"});
    });
    shop.ask("ask", &json!({}));
    let asked = shop.world.provider.calls().await.len();
    let away = Fault::Refused(503, "ServiceUnavailable");
    shop.world.server.fail("get CodeGenRun count", away);
    shop.settle("ask").await;
    assert_eq!(
        shop.world.stage_and_reason::<CodeModeRun>("ask"),
        "Running Infrastructure"
    );
    shop.world.restart().await;
    shop.world.server.edit("codemoderuns", "ask", |run| {
        run["status"]["progress"]["waiting"]["retryAt"] = json!("2026-01-01T00:00:00Z");
    });
    shop.settle("ask").await;
    assert_eq!(
        shop.status("ask")["answer"]["text"],
        "no tool gave the file count/words"
    );
    assert_eq!(shop.world.provider.calls().await.len(), asked + 1);
}

#[tokio::test]
async fn a_run_that_somebody_has_made_under_the_name_of_a_call_is_not_believed() {
    let mut shop = Shop::new(BOTH).await;
    shop.ask("ask", &json!({}));
    shop.world.settle::<CodeModeRun>("ask").await;
    let name = shop.world.server.all("codegenruns")[0]["metadata"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    shop.world.server.remove("codegenruns", &name);
    shop.world
        .apply_run(&name, &json!({"taskRef": {"name": "words"}}));
    shop.settle("ask").await;
    assert_eq!(
        shop.world.stage_and_reason::<CodeModeRun>("ask"),
        "Running Configuration"
    );
    let message = shop.world.message::<CodeModeRun>("ask");
    assert!(
        message.contains(&name) && message.contains("made by somebody else: delete it"),
        "{message}"
    );
}

#[tokio::test]
async fn an_agent_whose_tools_cannot_go_together_says_what_to_change() {
    let mut shop = Shop::new("1").await;
    shop.world.server.remove("codemodeagents", "shop");
    shop.apply_agent(&json!([{"name": "print", "http": {"url": "https://rates.example"}}]));
    shop.world.settle::<CodeModeAgent>("shop").await;
    assert_eq!(
        shop.world
            .condition::<CodeModeAgent>("shop", "ToolsResolved")
            .as_deref(),
        Some("False ToolsRefused")
    );
    let agent: CodeModeAgent = shop.world.server.get("shop").unwrap();
    assert_eq!(agent.name_any(), "shop");
}
