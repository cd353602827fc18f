//! The value in the result of a call.

use std::sync::Arc;

use rmcp::model::{CallToolResult, ContentBlock, ServerResult};
use serde_json::Value;
use tokio::time::Instant;

use crate::held::first_allowed;
use crate::json::object_or_list;
use codegen_code_mode::faults::HeldTo;

/// The value, which of text alone is text unless it is a JSON object or list; or what continues the name of the tool where there is none.
pub(super) async fn value(
    result: ServerResult,
    schema: Option<Value>,
    deadline: Instant,
) -> Result<Value, String> {
    let unusable = match result {
        ServerResult::CallToolResult(result) => return of_a_call(result, schema, deadline).await,
        ServerResult::EmptyResult(_) => return Ok(Value::Null),
        ServerResult::InputRequiredResult(_) => {
            "asks for input of a person, which a program cannot give: call another tool"
        }
        ServerResult::CreateTaskResult(_) => {
            "began a task instead of answering, and tasks are not followed: call another tool"
        }
        _ => "was answered with a result of another kind: check the server's log",
    };
    Err(unusable.to_owned())
}

async fn of_a_call(
    result: CallToolResult,
    schema: Option<Value>,
    deadline: Instant,
) -> Result<Value, String> {
    if result.is_error == Some(true) {
        return Err(format!("failed: {}", error_text(&result)));
    }
    if let Some(value) = result.structured_content {
        let Some(schema) = schema else {
            return Ok(value);
        };
        // A schema that is none says nothing.
        let schema = move || HeldTo::new(&schema).ok().map(Arc::new);
        let allowed = first_allowed(schema, vec![value], deadline).await;
        return allowed
            .map_err(|fault| format!("replied with what its output schema does not allow: {fault}"));
    }
    let texts = result.content.into_iter().map(text);
    let texts = texts.collect::<Result<Vec<_>, _>>()?;
    if texts.is_empty() {
        return Ok(Value::Null);
    }
    let text = texts.join("\n");
    Ok(object_or_list(&text).unwrap_or(Value::String(text)))
}

fn error_text(result: &CallToolResult) -> String {
    let texts = result
        .content
        .iter()
        .filter_map(|block| Some(block.as_text()?.text.as_str()));
    let texts: Vec<&str> = texts.collect();
    match (&result.structured_content, texts.is_empty()) {
        (_, false) => texts.join("\n"),
        (Some(value), true) => value.to_string(),
        (None, true) => "it says no more".to_owned(),
    }
}

fn text(block: ContentBlock) -> Result<String, String> {
    let what = match block {
        ContentBlock::Text(text) => return Ok(text.text),
        ContentBlock::Image(image) => format!("an image ({})", image.mime_type),
        ContentBlock::Audio(audio) => format!("sound ({})", audio.mime_type),
        ContentBlock::Resource(_) => "the contents of a resource".to_owned(),
        ContentBlock::ResourceLink(link) => format!("a link to the resource {}", link.uri),
        _ => "content of another kind".to_owned(),
    };
    Err(format!(
        "replied with {what}, which a program cannot have: text and JSON are all there is"
    ))
}
