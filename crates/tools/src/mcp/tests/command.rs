//! Servers that are a process of this machine.

use super::*;

fn allowed(words: &[&str]) -> AllowedCommand {
    let argv = words.iter().map(|word| (*word).to_owned()).collect();
    AllowedCommand::by_the_user(argv)
}

fn command(behaviour: &str) -> McpClient {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/src/mcp/tests/server.py");
    let server = McpServer::Command(allowed(&["python3", script, behaviour]));
    client_of(server, "http://unused.invalid")
}

async fn add(client: &McpClient, timeout: Duration) -> Called {
    let tool = Tool {
        name: "add".to_owned(),
        ..tool()
    };
    let arguments = json!({"a": 2, "b": 3}).as_object().unwrap().clone();
    client.call(&tool, arguments, None, timeout).await
}

#[tokio::test]
async fn a_command_is_a_server_and_gets_no_keys_of_this_process() {
    let client = command("good");
    let tools = list(&client, &[]).await.unwrap();
    assert_eq!(
        tools.iter().map(|tool| tool.effect).collect::<Vec<_>>(),
        [Effect::ReadOnly, Effect::Once]
    );
    assert_eq!(add(&client, LONG).await, Called::Returned(json!("5")));
    let Called::Returned(names) = client.call(&tools[1], Map::new(), None, LONG).await else {
        panic!("the environment was not returned");
    };
    let names: Vec<&str> = names
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert!(names.contains(&"PATH"), "{names:?}");
    assert!(!names.contains(&"CARGO_MANIFEST_DIR"), "{names:?}");
}

#[rstest]
#[case("flood", "it sent a message of more than 1048576 bytes, the limit")]
#[case("exit", "it ended with exit status: 3 and said: the disk is full")]
#[tokio::test]
async fn a_command_that_ends_within_a_call_is_quoted_and_started_again(
    #[case] behaviour: &str,
    #[case] why: &str,
) {
    let client = command(behaviour);
    for _ in 0..2 {
        let raised = raised(add(&client, LONG).await);
        assert_eq!(
            (raised.kind, raised.was_sent),
            (RaisedKind::ConnectionError, Sent::Perhaps)
        );
        assert!(raised.message.contains(why), "{}", raised.message);
    }
}

#[tokio::test]
async fn a_command_that_pings_is_answered() {
    assert_eq!(add(&command("ping"), LONG).await, Called::Returned(json!("5")));
}

#[tokio::test]
async fn a_command_that_says_nothing_is_left_in_time() {
    let raised = raised(add(&command("hang"), Duration::from_secs(2)).await);
    assert_eq!(
        (raised.kind, raised.was_sent),
        (RaisedKind::TimeoutError, Sent::Perhaps)
    );
}

#[rstest]
#[case::another_number("other_id", &["9999"])]
#[case::a_tool_that_is_none("no_tool", &["lists a tool that cannot be read"])]
#[tokio::test]
async fn a_command_that_answers_otherwise_than_the_protocol_says_is_named_with_its_answer(
    #[case] behaviour: &str,
    #[case] words: &[&str],
) {
    let error = list(&command(behaviour), &[]).await.unwrap_err().to_string();
    for words in words {
        assert!(error.contains(words), "{error}");
    }
}

#[tokio::test]
async fn a_command_that_sends_what_is_no_message_is_left_in_time() {
    let client = command("garbage");
    let deadline = Instant::now() + Duration::from_secs(1);
    let error = client.list_tools(&[], deadline).await.unwrap_err().to_string();
    assert!(error.contains("did not list its tools in time"), "{error}");
}

#[tokio::test]
async fn a_command_that_does_not_start_is_named() {
    let error = list(&command("broken"), &[]).await.unwrap_err();
    assert!(error.to_string().contains("no module named tiny"), "{error}");
    let server = McpServer::Command(allowed(&["no-such-program"]));
    let error = list(&client_of(server, "http://unused.invalid"), &[])
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("`no-such-program` could not be started"),
        "{error}"
    );
}
