//! Calls that wait for a person, in a cluster: what counts as a decision about one, and what does not.

use kube::runtime::reflector;
use kube::runtime::watcher::Event;
use kube::{Api, Client};

use super::*;
use crate::controller::approvals::watch_decisions;
use crate::controller::tests::api_server::NAMESPACE;
use crate::controller::tests::world::soon;
use codegen_api::CodeGenApproval;
use codegen_code_mode::journal::Call;
use codegen_core::code_mode::call_hash;
use codegen_core::terminal::is_obeyed;

const REFUND: &str = "await refund('7')";

impl Shop {
    /// A shop that refunds by POST, about each of which a person decides.
    async fn guarded(program: &str) -> Self {
        let shop = Self::without_task(program).await;
        Mock::given(method("POST"))
            .and(path("/refund"))
            .respond_with(ResponseTemplate::new(200).set_body_json("refunded"))
            .mount(&shop.till)
            .await;
        shop.world.server.remove("codemodeagents", "shop");
        let order =
            json!({"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]});
        let url = |what: &str| format!("{}/{what}", shop.till.uri());
        shop.apply_agent(&json!([
            {"name": "till", "http": {"url": url("till"), "result": {"type": "integer"}}},
            {"name": "refund", "http": {"method": "POST", "url": url("refund"), "parameters": order, "result": {"type": "string"}}},
        ]));
        shop.require(&json!(["refund"]));
        shop
    }

    fn require(&self, tools: &Value) {
        self.world.server.edit("codemodeagents", "shop", |agent| {
            agent["spec"]["requireApproval"] = tools.clone();
        });
    }

    /// Returns the bodies of the refunds that were asked of the till.
    async fn refunds(&self) -> Vec<Value> {
        let requests = self.till.received_requests().await.unwrap();
        let refunds = requests.iter().filter(|request| request.url.path() == "/refund");
        refunds.map(|request| request.body_json().unwrap()).collect()
    }

    fn uid(&self, name: &str) -> String {
        let run = self.world.object::<CodeModeRun>(name);
        run["metadata"]["uid"].as_str().unwrap().to_owned()
    }

    /// Somebody decides about what the question shows, in everything but what is `other`.
    fn decide(&self, name: &str, decision: &str, other: &Value) {
        let hash = self.status(name)["approval"]["hash"].clone();
        let number = self.world.server.all("codegenapprovals").len();
        let mut object = json!({
            "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenApproval",
            "metadata": {"name": format!("{name}-{number}")},
            "spec": {
                "codeModeRunRef": {"name": name, "uid": self.uid(name)}, "gate": "ToolCall", "hash": hash,
                "decision": decision, "decidedBy": "ada", "reason": "not after 30 days",
            },
        });
        for (pointer, value) in other.as_object().unwrap() {
            *object.pointer_mut(pointer).unwrap() = value.clone();
        }
        self.world.server.create(object);
        self.see_decisions();
    }

    /// The operator knows of the decisions that there are.
    fn see_decisions(&self) {
        let (store, mut writer) = reflector::store();
        for decision in self.world.server.all("codegenapprovals") {
            writer.apply_watcher_event(&Event::Apply(serde_json::from_value(decision).unwrap()));
        }
        self.world.context.decisions.knows(store);
    }

    fn state(&self, name: &str) -> String {
        self.world.stage_and_reason::<CodeModeRun>(name)
    }
}

fn refund(number: u32, order: &str) -> Call {
    let call = json!({"number": number, "tool": "refund", "arguments": {"order": order}});
    serde_json::from_value(call).unwrap()
}

#[tokio::test]
async fn a_call_waits_for_a_person_who_is_shown_it_and_is_made_once_that_has_approved() {
    let mut shop = Shop::guarded(REFUND).await;
    shop.ask("ask", &json!({}));
    let action = shop.settle("ask").await;
    assert_eq!(action, Action::requeue(std::time::Duration::from_mins(5)));
    assert_eq!(shop.state("ask"), "Running AwaitingApproval");
    let status = shop.status("ask");
    assert_eq!(
        status["approval"]["what"],
        json!(["tool: refund (HTTP)", "program 1, call 1", "order: \"7\""])
    );
    assert_eq!(
        status["approval"]["hash"],
        json!(call_hash(&shop.uid("ask"), 1, &refund(1, "7")))
    );
    assert_eq!(
        status["message"],
        "call 1 of `refund` waits until a person has decided about what status.approval shows: \
         kubectl-codegen approve codemoderun/ask --namespace data, or reject"
    );
    assert_eq!(
        shop.world.condition::<CodeModeRun>("ask", "Stalled").as_deref(),
        Some("True AwaitingApproval")
    );
    shop.world.server.calls();
    shop.world.reconcile::<CodeModeRun>("ask").await;
    shop.world.server.assert_calls("");
    assert_eq!(shop.refunds().await, Vec::<Value>::new());

    let mut woken = shop.world.context.code_mode_runs.woken();
    shop.decide("ask", "Approve", &json!({}));
    let decisions: Api<CodeGenApproval> =
        Api::namespaced(Client::clone(&shop.world.context.client), NAMESPACE);
    tokio::select! {
        () = watch_decisions(&shop.world.context, decisions) => unreachable!("it does not end"),
        run = soon(woken.recv()) => assert_eq!(run.unwrap().name, "ask"),
    }
    shop.settle("ask").await;
    assert_eq!(shop.state("ask"), "Succeeded Answered");
    let status = shop.status("ask");
    assert_eq!(status["answer"]["text"], "refunded");
    assert_eq!(status["approval"], Value::Null);
    let decision = &status["approvals"][0];
    assert_eq!(
        (
            &decision["gate"],
            &decision["decision"],
            &decision["decidedBy"],
            &decision["verified"]
        ),
        (
            &json!("ToolCall"),
            &json!("Approve"),
            &json!("ada"),
            &json!(false)
        )
    );
    assert_eq!(shop.refunds().await, [json!({"order": "7"})]);
    assert_eq!(
        shop.world.events("ask").await,
        ["AwaitingApproval", "Approved", "Succeeded"]
    );
}

#[rstest]
#[case::a_question_of_the_same_name_before(json!({"/spec/codeModeRunRef/uid": "uid-of-the-one-before"}))]
#[case::another_question(json!({"/spec/codeModeRunRef/name": "other"}))]
#[case::another_gate(json!({"/spec/gate": "Plan"}))]
#[case::nothing(json!({"/spec/codeModeRunRef": null}))]
#[case::another_call(json!({"/spec/hash": "0".repeat(64)}))]
#[tokio::test]
async fn a_decision_that_differs_in_anything_counts_for_nothing(#[case] other: Value) {
    let mut shop = Shop::guarded(REFUND).await;
    shop.ask("ask", &json!({}));
    shop.settle("ask").await;
    for decision in ["Approve", "Reject"] {
        shop.decide("ask", decision, &other);
        shop.settle("ask").await;
        assert_eq!(shop.state("ask"), "Running AwaitingApproval");
    }
    assert_eq!(shop.refunds().await, Vec::<Value>::new());
    shop.decide("ask", "Approve", &json!({}));
    shop.settle("ask").await;
    assert_eq!(shop.state("ask"), "Succeeded Answered");
}

#[tokio::test]
async fn an_approval_that_was_made_by_guess_counts_for_no_other_argument_place_or_program() {
    let mut shop = Shop::guarded(REFUND).await;
    shop.ask("ask", &json!({}));
    let uid = shop.uid("ask");
    for (attempt, call) in [
        (1, refund(1, "8")),
        (1, refund(2, "7")),
        (2, refund(1, "7")),
        (1, refund(1, "7 ")),
    ] {
        shop.decide(
            "ask",
            "Approve",
            &json!({"/spec/hash": call_hash(&uid, attempt, &call)}),
        );
    }
    shop.settle("ask").await;
    assert_eq!(shop.state("ask"), "Running AwaitingApproval");
    assert_eq!(shop.refunds().await, Vec::<Value>::new());
    // One about exactly this call, by somebody who has the right to decide, is one.
    let exact = call_hash(&uid, 1, &refund(1, "7"));
    shop.decide("ask", "Approve", &json!({"/spec/hash": exact}));
    shop.settle("ask").await;
    assert_eq!(shop.state("ask"), "Succeeded Answered");
}

#[tokio::test]
async fn a_rejected_call_is_an_exception_that_the_program_can_catch() {
    let program = "\
try:
    said = await refund('7')
except PermissionError as error:
    said = str(error)
said";
    let mut shop = Shop::guarded(program).await;
    shop.ask("ask", &json!({}));
    shop.settle("ask").await;
    // A rejection goes before an approval.
    shop.decide("ask", "Approve", &json!({}));
    shop.decide("ask", "Reject", &json!({}));
    shop.settle("ask").await;
    assert_eq!(
        shop.status("ask")["answer"]["text"],
        r#"the call refund(order="7") was refused by ada: not after 30 days"#
    );
    assert_eq!(shop.refunds().await, Vec::<Value>::new());
    assert_eq!(
        shop.world.events("ask").await,
        ["AwaitingApproval", "Rejected", "Succeeded"]
    );
}

#[tokio::test]
async fn each_call_of_a_loop_is_asked_about_and_one_approval_counts_for_one_of_them() {
    let mut shop = Shop::guarded("for _ in range(2):\n    said = await refund('7')\nsaid").await;
    shop.ask("ask", &json!({}));
    shop.settle("ask").await;
    let first = shop.status("ask")["approval"]["hash"].clone();
    shop.decide("ask", "Approve", &json!({}));
    shop.settle("ask").await;
    assert_eq!(shop.state("ask"), "Running AwaitingApproval");
    assert_ne!(shop.status("ask")["approval"]["hash"], first);
    assert_eq!(shop.refunds().await.len(), 1);
    shop.decide("ask", "Approve", &json!({}));
    shop.settle("ask").await;
    assert_eq!(shop.state("ask"), "Succeeded Answered");
    assert_eq!(shop.refunds().await.len(), 2);
}

#[tokio::test]
async fn a_decision_that_was_acted_on_counts_also_after_it_was_deleted_and_the_operator_replaced() {
    let mut shop = Shop::guarded("await refund('7')\nawait refund('8')").await;
    shop.ask("ask", &json!({}));
    shop.settle("ask").await;
    shop.decide("ask", "Approve", &json!({}));
    // The pass that records it.
    shop.world.reconcile::<CodeModeRun>("ask").await;
    shop.world.server.remove("codegenapprovals", "ask-0");
    for _ in 0..4 {
        shop.world.restart().await;
        shop.settle("ask").await;
    }
    assert_eq!(
        shop.status("ask")["approval"]["what"][2],
        json!("order: \"8\""),
        "of the first nobody is asked again"
    );
    assert_eq!(shop.refunds().await, [json!({"order": "7"})]);
}

#[rstest]
#[case::decided("status CodeModeRun ask: Running Running")]
#[case::journal("create Secret record journal")]
#[case::asked_again("status CodeModeRun ask: Running AwaitingApproval")]
#[tokio::test]
async fn a_write_whose_reply_is_lost_asks_nobody_twice_and_makes_the_call_once(#[case] write: &str) {
    let mut shop = Shop::guarded("total = await till()\nawait refund('7')").await;
    shop.require(&json!(["till", "refund"]));
    shop.ask("ask", &json!({}));
    shop.settle("ask").await;
    let hash = |shop: &Shop| shop.status("ask")["approval"]["hash"].as_str().map(str::to_owned);
    let mut asked = vec![hash(&shop).unwrap()];
    shop.decide("ask", "Approve", &json!({}));
    shop.world.server.fail(write, Fault::ReplyLost);
    for _ in 0..6 {
        shop.settle("ask").await;
        if let Some(hash) = hash(&shop).filter(|hash| asked.last() != Some(hash)) {
            asked.push(hash);
            shop.decide("ask", "Approve", &json!({}));
        }
        shop.world.restart().await;
        shop.see_decisions();
    }
    assert_eq!(shop.state("ask"), "Succeeded Answered");
    assert_eq!(asked.len(), 2);
    assert_eq!(
        (shop.calls_of_the_till().await, shop.refunds().await.len()),
        (2, 1)
    );
}

#[tokio::test]
async fn an_agent_that_is_edited_while_a_call_waits_lifts_nothing() {
    let mut shop = Shop::guarded(REFUND).await;
    shop.ask("ask", &json!({}));
    shop.settle("ask").await;
    shop.require(&json!([]));
    for _ in 0..2 {
        shop.settle("ask").await;
        assert_eq!(shop.state("ask"), "Running AwaitingApproval");
        shop.world.restart().await;
    }
    assert_eq!(shop.refunds().await, Vec::<Value>::new());
    shop.ask("later", &json!({}));
    shop.settle("later").await;
    assert_eq!(
        shop.state("later"),
        "Succeeded Answered",
        "asked of the agent as it is now"
    );
}

#[tokio::test]
async fn of_two_questions_that_make_the_same_call_each_waits_for_its_own_decision() {
    let mut shop = Shop::guarded(REFUND).await;
    shop.ask("one", &json!({}));
    shop.ask("two", &json!({}));
    shop.settle("one").await;
    shop.settle("two").await;
    shop.decide("one", "Approve", &json!({}));
    let hash = shop.status("one")["approval"]["hash"].clone();
    shop.decide("two", "Approve", &json!({"/spec/hash": hash}));
    shop.settle("two").await;
    shop.settle("one").await;
    assert_eq!(shop.state("one"), "Succeeded Answered");
    assert_eq!(shop.state("two"), "Running AwaitingApproval");
    assert_eq!(shop.refunds().await.len(), 1);
}

#[tokio::test]
async fn a_question_that_waits_for_a_person_leaves_its_place_to_others() {
    let mut shop = Shop::guarded(REFUND).await;
    shop.world.config.limits.max_concurrent_runs = 1;
    shop.world.restart().await;
    shop.ask("one", &json!({}));
    shop.ask("two", &json!({}));
    shop.settle("one").await;
    shop.settle("two").await;
    assert_eq!(shop.state("two"), "Running AwaitingApproval");
    assert_eq!(shop.state("one"), "Running AwaitingApproval");
}

#[tokio::test]
async fn a_question_that_was_suspended_while_it_waits_says_again_what_it_waits_for() {
    let mut shop = Shop::guarded(REFUND).await;
    shop.ask("ask", &json!({}));
    shop.settle("ask").await;
    let suspend = |shop: &Shop, is_suspended: bool| {
        shop.world.server.edit("codemoderuns", "ask", |run| {
            run["spec"]["suspend"] = json!(is_suspended);
        });
    };
    suspend(&shop, true);
    shop.decide("ask", "Approve", &json!({}));
    shop.settle("ask").await;
    assert_eq!(shop.state("ask"), "Running Suspended");
    assert_eq!(shop.refunds().await, Vec::<Value>::new());
    shop.world.restart().await;
    suspend(&shop, false);
    shop.settle("ask").await;
    assert_eq!(shop.state("ask"), "Running AwaitingApproval");
    shop.see_decisions();
    shop.settle("ask").await;
    assert_eq!(shop.state("ask"), "Succeeded Answered");
}

#[tokio::test]
async fn a_text_of_a_megabyte_and_one_that_a_terminal_obeys_are_shown_in_a_short_status() {
    let program = "await refund('order 7\\x1b[2K\\x1b[Gorder 8 \\u202e' + 'x' * 1000000)";
    let mut shop = Shop::guarded(program).await;
    shop.ask("ask", &json!({}));
    shop.settle("ask").await;
    assert_eq!(shop.state("ask"), "Running AwaitingApproval");
    let status = shop.status("ask");
    let what = status["approval"]["what"].as_array().unwrap();
    let lines: Vec<&str> = what.iter().map(|line| line.as_str().unwrap()).collect();
    assert!(
        lines[2].starts_with(r#"order: "order 7\u001b[2K"#),
        "{}",
        lines[2]
    );
    assert!(
        lines[2].contains("bytes are not shown; sha256 of all of them"),
        "{}",
        lines[2]
    );
    assert!(lines[3].starts_with("caution: "), "{}", lines[3]);
    assert!(!lines.concat().contains(is_obeyed));
    assert!(status.to_string().len() < 8_000, "{}", status.to_string().len());
    let document = status["progress"]["waits"]["approval"]["document"]["name"].clone();
    assert_eq!(document, "documents/call-0001-00001.json");
    shop.decide("ask", "Approve", &json!({}));
    shop.settle("ask").await;
    assert_eq!(shop.state("ask"), "Succeeded Answered");
    let refunds = shop.refunds().await;
    assert_eq!(refunds[0]["order"].as_str().unwrap().chars().count(), 1_000_023);
}

#[tokio::test]
async fn an_agent_says_which_calls_wait_and_refuses_the_name_of_a_tool_that_it_has_not() {
    let mut shop = Shop::guarded(REFUND).await;
    shop.world.settle::<CodeModeAgent>("shop").await;
    let tools = shop.world.object::<CodeModeAgent>("shop")["status"]["tools"].clone();
    let waits: Vec<_> = tools
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| &tool["requiresApproval"])
        .collect();
    assert_eq!(waits, [&json!(false), &json!(true)]);
    shop.require(&json!(["refund", "refunds"]));
    shop.world.settle::<CodeModeAgent>("shop").await;
    let resolved = shop.world.condition::<CodeModeAgent>("shop", "ToolsResolved");
    assert_eq!(resolved.as_deref(), Some("False ToolsRefused"));
    shop.ask("ask", &json!({}));
    shop.settle("ask").await;
    let message = shop.world.message::<CodeModeRun>("ask");
    assert!(
        message.starts_with("spec.requireApproval names `refunds`,"),
        "{message}"
    );
    assert!(message.contains("(till, refund)"), "{message}");
}
