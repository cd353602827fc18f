use serde_json::json;

use super::entry::Role;
use super::*;
use codegen_core::call::{AskedModel, FinishReason, Usage};
use codegen_core::conversation::{Conversation, Exchange};
use codegen_model::{Model as _, Recorded};

fn request(kind: CallKind, instruction: &str) -> Request {
    Request {
        kind,
        system: "You write programs.".to_owned(),
        prefix: "Task: count penguins.".to_owned(),
        instruction: instruction.to_owned(),
        schema: json!({"type": "object"}),
        max_output_tokens: 800,
        model: AskedModel::default(),
        conversation: None,
    }
}

fn reply(text: &str) -> Reply {
    Reply {
        text: text.to_owned(),
        finish: FinishReason::Complete,
        usage: Usage { input: 12, output: 3 },
        ..Reply::default()
    }
}

async fn record(store: &MemoryStore, sequence: u32, request: &Request, text: &str) -> Entry {
    let started = Timestamp::UNIX_EPOCH;
    let finished = Timestamp::from_second(2).unwrap();
    Ledger::new(store)
        .record(sequence, request, reply(text), (started, finished))
        .await
        .unwrap()
}

#[tokio::test]
async fn an_entry_is_found_again_as_it_was_recorded() {
    let store = <MemoryStore>::new();
    let plan = request(CallKind::Plan, "Plan it.");
    let entry = record(&store, 1, &plan, r#"{"description":"x"}"#).await;
    let ledger = Ledger::new(&store);
    assert_eq!(ledger.find(1, CallKind::Plan).await.unwrap(), Some(entry.clone()));
    assert_eq!(ledger.find(2, CallKind::Plan).await.unwrap(), None);
    assert_eq!(ledger.find(1, CallKind::Code).await.unwrap(), None);
    insta::assert_json_snapshot!(entry);
}

#[tokio::test]
async fn a_recorded_reply_stays_when_another_comes() {
    let store = <MemoryStore>::new();
    let plan = request(CallKind::Plan, "Plan it.");
    record(&store, 1, &plan, "first").await;
    assert_eq!(record(&store, 1, &plan, "second").await.reply.text, "first");
}

#[tokio::test]
async fn the_fixed_prefix_is_stored_once() {
    let store = <MemoryStore>::new();
    record(&store, 1, &request(CallKind::Plan, "Plan it."), "{}").await;
    record(&store, 2, &request(CallKind::Code, "Write it."), "{}").await;
    let names = store.names();
    assert_eq!(names[..2], ["calls/0001-plan.json", "calls/0002-code.json"]);
    assert_eq!(names.len(), 3);
    assert!(names[2].starts_with("calls/prefix-"), "{names:?}");
}

#[tokio::test]
async fn the_conversation_holds_every_message_of_every_call_in_order() {
    let store = <MemoryStore>::new();
    record(&store, 1, &request(CallKind::Plan, "Plan it."), "the plan").await;
    let upgraded = Request {
        system: "You write better programs.".to_owned(),
        ..request(CallKind::Code, "Write it.")
    };
    record(&store, 3, &upgraded, "the code").await;
    let ledger = Ledger::new(&store);
    let entries = ledger.entries(3).await.unwrap();
    let messages = ledger.conversation(&entries).await.unwrap();
    let told: Vec<_> = messages
        .iter()
        .map(|told| (told.call, told.kind, told.role, told.content.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            (1, CallKind::Plan, Role::System, "You write programs."),
            (1, CallKind::Plan, Role::User, "Task: count penguins.\n\nPlan it."),
            (1, CallKind::Plan, Role::Assistant, "the plan"),
            (3, CallKind::Code, Role::System, "You write better programs."),
            (
                3,
                CallKind::Code,
                Role::User,
                "Task: count penguins.\n\nWrite it."
            ),
            (3, CallKind::Code, Role::Assistant, "the code"),
        ]
    );
}

#[tokio::test]
async fn what_was_recorded_replays() {
    let store = <MemoryStore>::new();
    let calls = [
        (
            request(CallKind::Plan, "Plan it."),
            r#"{"description":"ä \"quoted\"\n"}"#,
        ),
        (request(CallKind::Code, "Write it."), "```python\nprint(1)\n```"),
        (
            request(CallKind::Code, "Again, as JSON."),
            r#"{"code":"print(1)\n","packages":[]}"#,
        ),
    ];
    for (sequence, (request, text)) in (1..).zip(&calls) {
        record(&store, sequence, request, text).await;
    }
    let recording = export_replies(&Ledger::new(&store).entries(3).await.unwrap());
    assert_eq!(recording.lines().count(), 3);
    let model = Recorded::parse("replies.jsonl", &recording).unwrap().strict(true);
    for (request, text) in &calls {
        assert_eq!(model.call(request).await.unwrap(), reply(text));
    }
}

#[tokio::test]
async fn an_entry_that_is_no_json_is_reported_by_name() {
    let store = <MemoryStore>::new();
    store
        .create("calls/0001-plan.json", b"{\"sequence\": ")
        .await
        .unwrap();
    let error = Ledger::new(&store).find(1, CallKind::Plan).await.unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("`calls/0001-plan.json` is damaged: EOF while parsing"),
        "{error}"
    );
}

#[tokio::test]
async fn what_every_turn_of_an_agent_begins_with_is_recorded_with_its_first() {
    let store = <MemoryStore>::new();
    let said = Exchange {
        text: "I look around.".to_owned(),
        calls: Vec::new(),
        echo: None,
        results: Vec::new(),
        note: String::new(),
    };
    let turn = |exchanges: Vec<Exchange>| Request {
        conversation: Some(Conversation {
            tools: Vec::new(),
            exchanges,
        }),
        ..request(CallKind::Turn, "Work with the tools.")
    };
    let first = record(&store, 1, &turn(Vec::new()), "I look around.").await;
    let later = record(&store, 2, &turn(vec![said]), "I am done.").await;
    assert_eq!(first.instruction, "Work with the tools.");
    assert_eq!(later.instruction, "");
    assert_ne!(first.request_hash, later.request_hash);
}
