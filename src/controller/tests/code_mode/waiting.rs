//! Statuses of a question and its agent where a program cannot be had.

use super::*;

#[tokio::test]
async fn a_question_says_what_the_run_that_it_waits_for_waits_for_itself() {
    let mut shop = Shop::new(BOTH).await;
    shop.ask("ask", &json!({}));
    shop.world.settle::<CodeModeRun>("ask").await;
    let run = shop.world.server.all("codegenruns").remove(0);
    let run = run["metadata"]["name"].as_str().unwrap();
    shop.world.server.remove("codegentasks", "words");
    shop.world.settle::<CodeGenRun>(run).await;
    shop.world.settle::<CodeModeRun>("ask").await;
    assert_eq!(
        shop.world.stage_and_reason::<CodeModeRun>("ask"),
        "Running AwaitingRun"
    );
    let message = shop.world.message::<CodeModeRun>("ask");
    let expected = format!(
        "call 1 of `count_words` waits for the run {run}, which waits itself: spec.taskRef refers to the CodeGenTask data/words, which is \
         not there"
    );
    assert!(message.starts_with(&expected), "{message}");
    assert_eq!(
        shop.world.condition::<CodeModeRun>("ask", "Stalled").as_deref(),
        Some("True AwaitingRun")
    );
    shop.world.succeeded("words").await;
    shop.settle("ask").await;
    assert_eq!(
        shop.world.stage_and_reason::<CodeModeRun>("ask"),
        "Succeeded Answered"
    );
    assert_eq!(shop.status("ask")["answer"]["text"], "22");
}

/// Returns the condition of an agent that has a tool with this image.
async fn said_of(shop: &mut Shop, image: &Value) -> (String, String) {
    shop.world.server.remove("codemodeagents", "shop");
    shop.apply_agent(&json!([{"name": "forecast", "programImage": image}]));
    shop.world.settle::<CodeModeAgent>("shop").await;
    let agent = shop.world.object::<CodeModeAgent>("shop");
    let conditions = agent["status"]["conditions"].as_array().unwrap();
    let resolved = conditions
        .iter()
        .find(|condition| condition["type"] == "ToolsResolved")
        .unwrap();
    let text = |field: &str| resolved[field].as_str().unwrap_or_default().to_owned();
    (text("reason"), text("message"))
}

#[tokio::test]
async fn an_agent_names_tool_image_fault_and_remedy_where_a_program_cannot_be_had() {
    let mut shop = Shop::new("1").await;
    let (host, without_program) = (shop.world.registry.host(), shop.world.registry.image());
    let absent = format!("{host}/words@sha256:{}", "0".repeat(64));
    let tagged = format!("{host}/words:v1");
    let about = "tool `forecast`: programImage.reference: ";
    for (image, reason, expected) in [
        (
            &absent,
            "ToolsAwaited",
            "the registry does not have the image {}: push it again, or correct the name",
        ),
        (
            &tagged,
            "ToolsAwaited",
            "the registry does not have the image {}: push it again, or correct the name",
        ),
        (
            &without_program,
            "ToolsRefused",
            "the image {} cannot be run: no layer of it has the annotation",
        ),
    ] {
        let said = said_of(&mut shop, &json!({"reference": image})).await;
        let message = format!("{about}{}", expected.replace("{}", image));
        assert!(said.1.starts_with(&message), "{}", said.1);
        assert_eq!(said.0, reason);
    }
    let image = json!({"reference": without_program, "pullSecretRef": {"name": "pull"}});
    let (_, said) = said_of(&mut shop, &image).await;
    for part in [
        "tool `forecast`",
        &without_program,
        "programImage.pullSecretRef",
        "Secret",
        "pull",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("spec."), "{said}");
    shop.world.registry.refuses(true);
    let (_, said) = said_of(&mut shop, &json!({"reference": without_program})).await;
    for part in [about, &without_program, "refused", "check"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[tokio::test]
async fn an_agent_names_the_tool_and_the_place_of_a_pattern_that_is_not_matched_in_linear_time() {
    let mut shop = Shop::without_task("1").await;
    shop.world.server.remove("codemodeagents", "shop");
    let codes = json!({"type": "array", "items": {"pattern": "^(?:(?:(?=a)a|(?=a)a)*b|a*)$"}});
    shop.apply_agent(
        &json!([{"name": "codes", "http": {"url": "https://example.com/codes", "result": codes}}]),
    );
    shop.world.settle::<CodeModeAgent>("shop").await;
    let agent = shop.world.object::<CodeModeAgent>("shop");
    let condition = &agent["status"]["conditions"][0];
    assert_eq!(condition["reason"], "ToolsRefused");
    let message = condition["message"].as_str().unwrap();
    for part in ["tool `codes`", "`/items/pattern`", "(?=a)a", "linear time"] {
        assert!(message.contains(part), "{part}: {message}");
    }
}

#[tokio::test]
async fn a_server_that_is_a_command_is_refused_in_a_cluster_with_what_to_write() {
    let mut shop = Shop::without_task("1").await;
    shop.world.server.remove("codemodeagents", "shop");
    shop.apply_agent(&json!([{"name": "sums", "mcp": {"command": ["touch", "/tmp/made"]}}]));
    shop.world.settle::<CodeModeAgent>("shop").await;
    let agent = shop.world.object::<CodeModeAgent>("shop");
    let condition = &agent["status"]["conditions"][0];
    assert_eq!(condition["reason"], "ToolsRefused");
    let message = condition["message"].as_str().unwrap();
    assert!(
        message.starts_with("tool `sums`: mcp.command is a program of a laptop")
            && message.contains("give mcp.url"),
        "{message}"
    );
}
