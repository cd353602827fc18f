//! Prompt tokens of a question whose data comes from a tool, against a model that is given what each tool returned: counted with the
//! cl100k vocabulary, deterministic, so asserted. Descriptions of tools and of the reply's form count on both sides.

use serde_json::{Map, Value, json};

use super::MemoryStore;
use super::answer;
use super::world::{World, world};
use crate::code_mode::{CallKey, Made};
use crate::tests::figures::tokens;
use codegen_code_mode::journal::CallOutcome;
use codegen_code_mode::signature::Effect;
use codegen_core::code_mode::QuestionStage;

/// Tokens that a protocol adds to each message.
const FRAME: usize = 4;
const ROWS: usize = 1_000;
const QUESTION: &str = "What did each region sell in March 2027, in euros, and which region sold most?";
const DESCRIPTION: &str = "The orders of a month.";
const PROGRAM: &str = "\
totals = {}
for order in await orders('2027-03'):
    totals[order['region']] = totals.get(order['region'], 0.0) + order['amount']
ranked = sorted(totals.items(), key=lambda pair: pair[1], reverse=True)
lines = [f'{region}: {total:.2f}' for region, total in ranked]
'Most was sold in ' + ranked[0][0] + '. ' + ', '.join(lines)
";

fn rows() -> Value {
    let of = |names: &[&str], number: usize| names[number % names.len()].to_owned();
    let row = |number: usize| {
        let cents = number % 97 * 125 + 50;
        json!({
            "order": 40_000 + number,
            "date": format!("2027-03-{:02}", number % 28 + 1),
            "region": of(&["north", "south", "east", "west"], number),
            "article": of(&["mug", "plate", "bowl", "jug", "cup"], number),
            "quantity": number % 7 + 1,
            "amount": format!("{}.{:02}", cents / 100, cents % 100).parse::<f64>().unwrap(),
        })
    };
    (0..ROWS).map(row).collect()
}

fn orders(_: &World, _: &CallKey, _: &Map<String, Value>) -> Made {
    Made::Ended(CallOutcome::Returned(rows()))
}

fn parameters() -> Value {
    json!({"type": "object", "properties": {"month": {"type": "string"}}, "required": ["month"], "additionalProperties": false})
}

fn result() -> Value {
    let kinds = json!({
        "order": {"type": "integer"}, "date": {"type": "string"}, "region": {"type": "string"},
        "article": {"type": "string"}, "quantity": {"type": "integer"}, "amount": {"type": "number"},
    });
    let names: Vec<&String> = kinds.as_object().unwrap().keys().collect();
    json!({"type": "array", "items": {"type": "object", "properties": kinds, "required": names}})
}

/// A question about a thousand rows, answered by a program that sums them up.
async fn of_code_mode() -> (usize, String) {
    let mut world = world(&[PROGRAM]);
    world.question.message = QUESTION.to_owned();
    world.question.tools.truncate(1);
    let tool = &mut world.question.tools[0].tool;
    tool.name = "orders".to_owned();
    tool.description = DESCRIPTION.to_owned();
    (tool.parameters, tool.result, tool.effect) = (parameters(), Some(result()), Effect::ReadOnly);
    world.conducts.insert("orders", orders);
    let store = MemoryStore::new();
    let progress = world.go_on(&store).await.unwrap();
    assert_eq!(progress.stage, QuestionStage::Succeeded, "{progress:#?}");
    let text = answer(&store, &progress).await.text;
    let requests = world.script.requests.lock().unwrap();
    let count = requests
        .iter()
        .map(|request| {
            let messages = tokens(&request.system) + tokens(&request.user_message());
            messages + tokens(&request.schema.to_string()) + 2 * FRAME
        })
        .sum();
    (count, text)
}

/// The same question to a model that calls the tool itself and is given the rows: every request holds all messages before it.
fn of_a_loop() -> usize {
    let tool = json!({"type": "function", "function": {"name": "orders", "description": DESCRIPTION, "parameters": parameters()}});
    let call = json!({"name": "orders", "arguments": "{\"month\":\"2027-03\"}"});
    let first = tokens("Answer with the tools that you have.")
        + tokens(QUESTION)
        + tokens(&tool.to_string())
        + 2 * FRAME;
    let second = first + tokens(&call.to_string()) + tokens(&rows().to_string()) + 2 * FRAME;
    first + second
}

#[tokio::test]
async fn a_question_about_a_thousand_rows_takes_a_twentieth_of_the_prompt_of_a_loop_that_is_given_them() {
    let (ours, text) = of_code_mode().await;
    assert!(text.starts_with("Most was sold in "), "{text}");
    let theirs = of_a_loop();
    println!(
        "code mode {ours} prompt tokens, a loop {theirs}: {} per mille",
        ours * 1000 / theirs
    );
    assert!(ours * 20 <= theirs, "{ours} of {theirs}");
}
