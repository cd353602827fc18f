//! A conversation with tools as messages, and what comes back as one.

use serde_json::{Map, Value, json};

use codegen_core::call::Request;
use codegen_core::conversation::{Conversation, Exchange, ModelTool, ToolCall};

pub(super) fn tools(conversation: &Conversation) -> Vec<Value> {
    let tool = |tool: &ModelTool| {
        json!({
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
        })
    };
    conversation.tools.iter().map(tool).collect()
}

pub(super) fn messages(request: &Request, conversation: &Conversation) -> Vec<Value> {
    let mut messages = vec![
        json!({"role": "system", "content": request.system}),
        json!({"role": "user", "content": request.user_message()}),
    ];
    for exchange in &conversation.exchanges {
        messages.push(said(exchange));
        messages.extend(
            exchange
                .results
                .iter()
                .map(|result| json!({"role": "tool", "tool_call_id": result.id, "content": result.text})),
        );
        if !exchange.note.is_empty() {
            messages.push(json!({"role": "user", "content": exchange.note}));
        }
    }
    messages
}

fn said(exchange: &Exchange) -> Value {
    let mut message = Map::new();
    message.insert("role".to_owned(), "assistant".into());
    message.insert("content".to_owned(), exchange.text.as_str().into());
    if exchange.calls.is_empty() {
        return message.into();
    }
    let called = |(index, call): (usize, &ToolCall)| {
        let echo = exchange.echo.as_ref().and_then(|echo| echo.get(index)).cloned();
        let echo = echo.filter(|echo| echo["function"].is_object() && call.input.is_object());
        let mut said = echo.unwrap_or_else(|| {
            let function = json!({"name": call.name, "arguments": arguments(&call.input)});
            json!({"type": "function", "function": function})
        });
        // Its result has the same, also where the server gave none.
        said["id"] = call.id.as_str().into();
        said
    };
    let calls: Vec<Value> = exchange.calls.iter().enumerate().map(called).collect();
    message.insert("tool_calls".to_owned(), calls.into());
    message.into()
}

/// Arguments as servers take them back: several refuse a whole request in which those of an earlier call are no JSON object.
fn arguments(input: &Value) -> String {
    if input.is_object() {
        input.to_string()
    } else {
        json!({"unreadable": input}).to_string()
    }
}

/// The calls of a message, and these as they are where a server adds to them what it wants back (the signature of a thought).
pub(super) fn read(message: &Map<String, Value>) -> (Vec<ToolCall>, Option<Value>) {
    const STANDARD: [&str; 4] = ["id", "type", "function", "index"];
    let Some(Value::Array(given)) = message.get("tool_calls") else {
        return (Vec::new(), None);
    };
    let calls = given.iter().map(|call| {
        let input = match &call["function"]["arguments"] {
            Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| text.as_str().into()),
            // Some servers send them as they are.
            other => other.clone(),
        };
        ToolCall {
            id: call["id"].as_str().unwrap_or_default().to_owned(),
            name: call["function"]["name"].as_str().unwrap_or_default().to_owned(),
            input,
        }
    });
    let has_more = given
        .iter()
        .filter_map(Value::as_object)
        .any(|call| call.keys().any(|key| !STANDARD.contains(&key.as_str())));
    (calls.collect(), has_more.then(|| given.as_slice().into()))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use codegen_core::conversation::ToolResult;

    fn message(calls: &Value) -> Map<String, Value> {
        Map::from_iter([("tool_calls".to_owned(), calls.clone())])
    }

    fn input_of(arguments: &Value) -> Value {
        let calls = json!([{"id": "a", "function": {"name": "Bash", "arguments": arguments}}]);
        read(&message(&calls)).0[0].input.clone()
    }

    #[rstest]
    #[case::text(json!("{\"command\": \"ls\"}"), json!({"command": "ls"}))]
    #[case::an_object(json!({"command": "ls"}), json!({"command": "ls"}))]
    #[case::cut(json!("{\"command\": \"l"), json!("{\"command\": \"l"))]
    fn arguments_are_read_as_servers_send_them(#[case] arguments: Value, #[case] input: Value) {
        assert_eq!(input_of(&arguments), input);
    }

    #[rstest]
    #[case::cut(json!("{\"command\": \"l"))]
    #[case::a_list(json!("[1]"))]
    #[case::nothing(json!(""))]
    #[case::missing(Value::Null)]
    fn what_no_server_would_read_goes_back_as_an_object(#[case] given: Value) {
        let (mut calls, echo) = read(&message(
            &json!([{"id": "", "function": {"name": "Bash", "arguments": given}, "more": 1}]),
        ));
        calls[0].id = "call-1-1".to_owned();
        let said = said(&exchange(calls, echo));
        let sent = said["tool_calls"][0]["function"]["arguments"].as_str().unwrap();
        assert!(serde_json::from_str::<Value>(sent).unwrap().is_object(), "{sent}");
    }

    #[test]
    fn a_call_goes_back_with_what_its_server_added_and_the_id_of_its_result() {
        let given = json!([{"id": "", "type": "function", "function": {"name": "Bash", "arguments": "{ }"}, "signature": "x"}]);
        let (mut calls, echo) = read(&message(&given));
        calls[0].id = "call-1-1".to_owned();
        let said = said(&exchange(calls, echo));
        let mut expected = given;
        expected[0]["id"] = json!("call-1-1");
        assert_eq!(said["tool_calls"], expected);
    }

    #[test]
    fn calls_that_are_no_objects_are_calls_of_no_tool() {
        let (calls, echo) = read(&message(&json!(["x", {"function": "y", "more": 1}])));
        assert_eq!(calls.len(), 2);
        assert_eq!(
            said(&exchange(calls, echo))["tool_calls"][0]["function"]["name"],
            ""
        );
    }

    fn exchange(calls: Vec<ToolCall>, echo: Option<Value>) -> Exchange {
        let result = |call: &ToolCall| ToolResult {
            id: call.id.clone(),
            text: String::new(),
            is_error: true,
        };
        Exchange {
            text: String::new(),
            results: calls.iter().map(result).collect(),
            calls,
            echo,
            note: String::new(),
        }
    }
}
