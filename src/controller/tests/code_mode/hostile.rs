//! Attacks by programs, tools and neighbours in a namespace, against real passes with real workers.

use super::*;

impl Shop {
    fn runs_of_calls(&self) -> Vec<Value> {
        self.world.server.all("codegenruns")
    }

    async fn answer(&mut self) -> String {
        self.ask("ask", &json!({}));
        self.settle("ask").await;
        let status = self.status("ask");
        status["answer"]["text"].as_str().unwrap_or_default().to_owned()
    }
}

#[rstest]
#[case::a_query("count?watch=true&x=")]
#[case::the_whole_list("?watch=true&x=")]
#[case::an_encoded_path("..%2F..%2Fsecrets%2Fkey")]
#[case::a_fragment("count#")]
#[tokio::test]
async fn no_name_in_the_handle_of_a_file_becomes_another_request_of_the_operator(#[case] run: &str) {
    let program = format!(
        "try:\n    text = await read_text({{'file': '{run}/words', 'sha256': '0', 'bytes': 1}})\nexcept Exception as error:\n    text = str(error)\ntext"
    );
    let mut shop = Shop::new(&program).await;
    shop.world.server.edit("codemodeagents", "shop", |agent| {
        agent["spec"]["tools"][0]["http"]["result"] = json!({"type": "object", "format": "codegen-file"});
    });
    assert_eq!(shop.answer().await, "this is no file: pass on what a tool gave");
    let calls = shop.world.server.calls();
    assert!(
        !calls.iter().any(|call| call.contains("CodeGenRun")),
        "{calls:#?}"
    );
}

#[rstest]
#[case::another_program(json!({"taskRef": {"name": "lies"}}))]
#[case::in_another_environment(json!({"taskRef": {"name": "words"}, "sandbox": {"env": {"PYTHONPATH": "/var/inputs"}}}))]
#[case::without_its_checks(json!({"taskRef": {"name": "words"}, "validation": "Off"}))]
#[tokio::test]
async fn a_run_of_another_program_under_the_name_of_a_call_is_not_believed_whoever_it_says_made_it(
    #[case] spec: Value,
) {
    let mut shop = Shop::new(BOTH).await;
    shop.world.succeeded("lies").await;
    shop.ask("ask", &json!({}));
    shop.world.settle::<CodeModeRun>("ask").await;
    let made = shop.runs_of_calls().remove(0);
    let name = made["metadata"]["name"].as_str().unwrap();
    shop.world.server.remove("codegenruns", name);
    shop.world.server.create(json!({
        "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenRun",
        "metadata": {"name": name, "ownerReferences": made["metadata"]["ownerReferences"]},
        "spec": spec,
    }));
    shop.settle("ask").await;
    assert_eq!(
        shop.world.stage_and_reason::<CodeModeRun>("ask"),
        "Running Configuration"
    );
    let message = shop.world.message::<CodeModeRun>("ask");
    assert!(message.contains("made by somebody else: delete it"), "{message}");
}

#[tokio::test]
async fn no_label_of_a_question_marks_its_runs_as_the_operators() {
    let mut shop = Shop::new(BOTH).await;
    shop.world.server.create(json!({
        "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeModeRun",
        "metadata": {"name": "ask", "labels": {"codegen-operator.dev/component": "sandbox", "team": "shop"}},
        "spec": {"agentRef": {"name": "shop"}, "message": "How much?"},
    }));
    shop.world.settle::<CodeModeRun>("ask").await;
    let labels = &shop.runs_of_calls()[0]["metadata"]["labels"];
    assert!(
        labels.as_object().is_none_or(serde_json::Map::is_empty),
        "{labels}"
    );
}

#[tokio::test]
async fn the_line_of_an_answer_in_a_table_holds_nothing_that_a_terminal_obeys() {
    let mut shop = Shop::new(r#""\x1b[2J\x1b]0;gone\x07 \u009b31m \u202eanswer""#).await;
    shop.answer().await;
    let status = shop.status("ask");
    for shown in [&status["summary"], &status["message"]] {
        let shown = shown.as_str().unwrap();
        assert!(shown.contains("answer"), "{shown:?}");
        assert!(
            !shown.contains(|c: char| c.is_control() || c == '\u{202e}'),
            "{shown:?}"
        );
    }
}

#[tokio::test]
async fn what_the_tools_of_one_program_give_has_a_bound_in_the_memory_of_the_operator() {
    let program = "
given = 0
said = ''
for _ in range(24):
    try:
        await big()
        given += 1
    except RuntimeError as error:
        said = str(error)
[given, said]";
    let mut shop = Shop::new(program).await;
    let large = "x".repeat(1_000_000);
    Mock::given(method("GET"))
        .and(path("/big"))
        .respond_with(ResponseTemplate::new(200).set_body_json(&large))
        .mount(&shop.till)
        .await;
    shop.world.server.remove("codemodeagents", "shop");
    shop.apply_agent(&json!([{"name": "big", "http": {"url": format!("{}/big", shop.till.uri())}}]));
    let answer = shop.answer().await;
    assert!(
        answer.starts_with("[17, ") && answer.contains("16 MiB"),
        "{answer}"
    );
}
