//! A question that takes the answer of an earlier one.

use super::*;

const AUTO: &str = "Auto";

impl Shop {
    async fn answered(&mut self, name: &str, more: &Value) -> Value {
        self.ask(name, more);
        self.settle(name).await;
        assert_eq!(self.status(name)["stage"], "Succeeded", "{}", self.status(name));
        self.status(name)
    }

    async fn programs(&self) -> usize {
        let calls = self.world.provider.calls().await;
        calls.iter().filter(|kind| *kind == "program").count()
    }
}

#[tokio::test]
async fn a_question_takes_the_answer_of_one_that_asked_the_same_without_any_call() {
    let mut shop = Shop::new(BOTH).await;
    let first = shop.answered("first", &json!({})).await;
    shop.world.server.calls();
    let second = shop.answered("second", &json!({"reuse": AUTO})).await;
    assert_eq!(second["adoptedFrom"], "first");
    for field in ["answer", "code", "artifacts", "reuseKey"] {
        assert_eq!(second[field], first[field], "{field}");
    }
    assert_eq!(
        (&second["toolCallCount"], &second["modelCalls"]),
        (&json!(0), &json!(0))
    );
    assert_eq!((shop.programs().await, shop.calls_of_the_till().await), (1, 1));
    assert_eq!(shop.world.server.all("codegenruns").len(), 1);
    shop.world.server.assert_calls(
        "get CodeModeAgent shop
         get CodeGenTask words
         get CodeModeRun first
         get Secret result
         create Secret result
         status CodeModeRun second: Succeeded Answered
         delete all Secret record",
    );
    assert_eq!(shop.world.events("second").await, ["Adopted", "Succeeded"]);
    // Of one that took it the answer can be taken too, and the first one is named.
    shop.world.server.remove("codemoderuns", "first");
    shop.world.watch_all();
    let third = shop.answered("third", &json!({"reuse": AUTO})).await;
    assert_eq!(third["adoptedFrom"], "first");
    // And it is a conversation as every other one.
    let later = json!({"continues": {"name": "third"}, "message": "And now?"});
    shop.answered("later", &later).await;
    assert!(shop.world.provider.said().await.last().unwrap().contains("22"));
}

#[rstest]
#[case::never(json!({"reuse": "Never"}))]
#[case::by_default(json!({}))]
#[case::another_question(json!({"reuse": AUTO, "message": "How many?"}))]
#[case::another_conversation(json!({"reuse": AUTO, "history": [{"role": "user", "content": "Hello"}]}))]
#[tokio::test]
async fn a_question_that_asks_something_else_or_wants_no_other_answer_is_answered_anew(#[case] spec: Value) {
    let mut shop = Shop::new("await till()").await;
    shop.answered("first", &json!({})).await;
    let second = shop.answered("second", &spec).await;
    assert_eq!(second["adoptedFrom"], Value::Null);
    assert_eq!(shop.programs().await, 2);
}

#[tokio::test]
async fn an_agent_that_has_changed_answers_anew_and_one_of_another_name_does_not() {
    let mut shop = Shop::new("await till()").await;
    shop.answered("first", &json!({})).await;
    let spec = shop.world.object::<CodeModeAgent>("shop")["spec"].clone();
    shop.world.server.create(json!({
        "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeModeAgent", "metadata": {"name": "twin"}, "spec": spec,
    }));
    let twin = shop
        .answered("twin", &json!({"reuse": AUTO, "agentRef": {"name": "twin"}}))
        .await;
    assert_eq!(twin["adoptedFrom"], "first");
    shop.world.server.edit("codemodeagents", "shop", |agent| {
        agent["spec"]["systemPromptPrefix"] = json!("You answer for the till.");
    });
    let second = shop.answered("second", &json!({"reuse": AUTO})).await;
    assert_eq!(second["adoptedFrom"], Value::Null);
}

#[tokio::test]
async fn no_answer_is_taken_of_a_question_that_failed_or_was_deleted() {
    let mut shop = Shop::new("await till()").await;
    shop.answered("first", &json!({})).await;
    shop.world.server.remove("codemoderuns", "first");
    shop.world.watch_all();
    let second = shop.answered("second", &json!({"reuse": AUTO})).await;
    assert_eq!(second["adoptedFrom"], Value::Null);
    let mut shop = Shop::new("raise ValueError('no')").await;
    for name in ["first", "second"] {
        shop.ask(name, &json!({"reuse": AUTO}));
        shop.settle(name).await;
        assert_eq!(shop.status(name)["stage"], "Failed");
        assert_eq!(shop.status(name)["reuseKey"], Value::Null);
    }
}

#[tokio::test]
async fn no_answer_is_taken_whose_program_called_a_tool_that_changes_something() {
    let mut shop = Shop::new("await pay()").await;
    Mock::given(method("POST"))
        .and(path("/pay"))
        .respond_with(ResponseTemplate::new(200).set_body_json(1))
        .mount(&shop.till)
        .await;
    shop.world.server.remove("codemodeagents", "shop");
    let url = format!("{}/pay", shop.till.uri());
    shop.apply_agent(&json!([{"name": "pay", "http": {"method": "POST", "url": url}}]));
    for name in ["first", "second"] {
        let status = shop.answered(name, &json!({"reuse": AUTO})).await;
        assert_eq!(
            (&status["adoptedFrom"], &status["reuseKey"]),
            (&Value::Null, &Value::Null)
        );
    }
    assert_eq!(shop.calls_of_the_till().await, 2);
}

#[tokio::test]
async fn no_answer_is_taken_that_an_earlier_program_of_a_task_gave() {
    let mut shop = Shop::new("(await count_words())['words']").await;
    shop.answered("first", &json!({})).await;
    let same = shop.answered("same", &json!({"reuse": AUTO})).await;
    assert_eq!(same["adoptedFrom"], "first");
    shop.world.server.remove("codegentasks", "words");
    shop.world.watch_all();
    let spec = json!({
        "prompt": "Count the words otherwise.",
        "outputs": [{"name": "words", "type": "Int"}], "testing": {"cases": "Off"},
    });
    shop.world.apply_task("words", &spec);
    shop.world.settle::<crate::api::CodeGenTask>("words").await;
    let second = shop.answered("second", &json!({"reuse": AUTO})).await;
    assert_eq!(second["adoptedFrom"], Value::Null);
}

/// Somebody who may write statuses says that a question of his own asked what another one asks.
#[rstest]
#[case::his_own_record(false)]
#[case::the_record_of_another(true)]
#[tokio::test]
async fn a_forged_end_gives_nobody_its_answer(#[case] points_elsewhere: bool) {
    let mut shop = Shop::new("await till()").await;
    let first = shop.answered("first", &json!({})).await;
    shop.answered("forged", &json!({"message": "Say nonsense."}))
        .await;
    let mut forged = first.clone();
    forged["answer"]["text"] = json!("a million");
    forged["completedAt"] = json!("2126-01-01T00:00:00Z");
    if !points_elsewhere {
        forged["result"] = shop.status("forged")["result"].clone();
    }
    shop.world
        .server
        .edit("codemoderuns", "forged", |run| run["status"] = forged);
    shop.world.watch_all();
    let second = shop.answered("second", &json!({"reuse": AUTO})).await;
    // The forged one is tried first, for it says that it ended last.
    assert_eq!(second["adoptedFrom"], "first");
    assert_eq!(second["answer"]["text"], "20");
}

#[tokio::test]
async fn a_planted_record_gives_nobody_its_answer() {
    let mut shop = Shop::new("await till()").await;
    let first = shop.answered("first", &json!({})).await;
    let name = first["result"].as_str().unwrap();
    let secrets = shop.world.server.of_component("secrets", "result");
    let mut planted = secrets
        .into_iter()
        .find(|secret| secret["metadata"]["name"] == name)
        .unwrap();
    shop.world.server.remove("secrets", name);
    planted["type"] = json!("Opaque");
    shop.world.server.create(planted);
    let second = shop.answered("second", &json!({"reuse": AUTO})).await;
    assert_eq!(second["adoptedFrom"], Value::Null);
    assert_eq!(shop.programs().await, 2);
}

#[rstest]
#[case::packed("create Secret result")]
#[case::end("status CodeModeRun second: Succeeded")]
#[tokio::test]
async fn a_write_whose_reply_is_lost_takes_the_answer_once(#[case] write: &str) {
    let mut shop = Shop::new("await till()").await;
    shop.answered("first", &json!({})).await;
    shop.ask("second", &json!({"reuse": AUTO}));
    shop.world.server.fail(write, Fault::ReplyLost);
    for _ in 0..4 {
        shop.settle("second").await;
        shop.world.restart().await;
    }
    assert_eq!(shop.status("second")["adoptedFrom"], "first");
    let results = shop.world.server.of_component("secrets", "result");
    let own = results
        .iter()
        .filter(|secret| secret["metadata"]["ownerReferences"][0]["name"] == "second");
    assert_eq!((own.count(), shop.programs().await), (1, 1));
}
