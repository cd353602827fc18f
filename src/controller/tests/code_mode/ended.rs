//! Objects that a question leaves in the cluster when it has ended.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;

use super::*;
use crate::controller::record::pack::{LARGEST_DOCUMENT, unpacked};

impl Shop {
    /// The Secrets of a question that are for this (`record`, `result`).
    fn secrets(&self, question: &str, component: &str) -> Vec<Value> {
        let mut secrets = self.world.server.of_component("secrets", component);
        secrets.retain(|secret| {
            let owner = &secret["metadata"]["ownerReferences"][0];
            owner["kind"] == "CodeModeRun" && owner["name"] == question
        });
        secrets
    }

    /// Returns the packed documents of a question, by name.
    fn packed(&self, question: &str) -> BTreeMap<String, Vec<u8>> {
        let secret = self.secrets(question, "result").remove(0);
        assert_eq!(secret["metadata"]["name"], self.status(question)["result"]);
        let data: BTreeMap<String, ByteString> = serde_json::from_value(secret["data"].clone()).unwrap();
        let json = unpacked(&data["record.json.gz"].0, LARGEST_DOCUMENT).unwrap();
        let documents: BTreeMap<String, ByteString> = serde_json::from_slice(&json).unwrap();
        let documents = documents.into_iter();
        documents.map(|(name, bytes)| (name, bytes.0)).collect()
    }

    async fn calls(&self) -> (usize, usize) {
        let programs = self.world.provider.calls().await;
        let programs = programs.iter().filter(|kind| *kind == "program").count();
        (programs, self.calls_of_the_till().await)
    }
}

fn bytes(secrets: &[Value]) -> usize {
    secrets.iter().map(|secret| secret.to_string().len()).sum()
}

#[tokio::test]
async fn a_question_that_has_ended_leaves_one_secret_with_everything_that_it_left() {
    let mut shop = Shop::new(BOTH).await;
    shop.ask("ask", &json!({}));
    shop.settle("ask").await;
    assert_eq!(shop.secrets("ask", "record"), Vec::<Value>::new());
    assert_eq!(shop.secrets("ask", "result").len(), 1);
    let packed = shop.packed("ask");
    let mut names: Vec<&str> = packed.keys().map(String::as_str).collect();
    names.retain(|name| !name.starts_with("calls/prefix"));
    let expected = [
        "calls/0001-program.json",
        "documents/answer-0001.json",
        "documents/conversation.json",
        "journal/0001-0001.json",
        "progress.json",
        "question.json",
    ];
    assert_eq!((names, packed.len()), (expected.to_vec(), expected.len() + 1));
    let said: Value = serde_json::from_slice(&packed["documents/conversation.json"]).unwrap();
    let expected = json!([{"role": "user", "content": "How much?"}, {"role": "assistant", "content": "22"}]);
    assert_eq!(said, expected);
    let status = shop.status("ask");
    let artifacts = status["artifacts"].as_array().unwrap();
    let names: Vec<&str> = artifacts.iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["program", "answer", "conversation"]);
    assert_eq!(artifacts[2]["bytes"], packed["documents/conversation.json"].len());
}

#[tokio::test]
async fn what_is_packed_needs_less_room_than_what_it_is_made_of() {
    let mut shop = Shop::new(BOTH).await;
    shop.ask("ask", &json!({}));
    // What is packed stays, so that both can be weighed.
    shop.world
        .server
        .fail("delete all Secret record", Fault::Refused(403, "Forbidden"));
    shop.settle("ask").await;
    let (before, after) = (shop.secrets("ask", "record"), shop.secrets("ask", "result"));
    assert_eq!((before.len(), after.len()), (5, 1));
    assert!(
        bytes(&after) < bytes(&before),
        "{} bytes, then {}",
        bytes(&before),
        bytes(&after)
    );
}

#[tokio::test]
async fn what_failed_programs_called_and_their_evidence_is_packed_too() {
    let mut shop = Shop::new("await till()\nraise ValueError('too little')").await;
    shop.ask("ask", &json!({}));
    shop.settle("ask").await;
    assert_eq!(
        shop.world.stage_and_reason::<CodeModeRun>("ask"),
        "Failed RetriesExhausted"
    );
    assert_eq!(shop.secrets("ask", "record"), Vec::<Value>::new());
    let packed = shop.packed("ask");
    for number in 1..=3 {
        for name in [
            format!("calls/{number:04}-program.json"),
            format!("documents/evidence-{number:04}.json"),
            format!("journal/{number:04}-0001.json"),
        ] {
            assert!(packed.contains_key(&name), "{name}: {:?}", packed.keys());
        }
    }
    let evidence: Value = serde_json::from_slice(&packed["documents/evidence-0001.json"]).unwrap();
    assert_eq!(evidence["error"], "too little");
    assert!(!packed.contains_key("documents/conversation.json"));
}

#[rstest]
#[case::recorded_before("create Secret record journal", Fault::Refused(503, "ServiceUnavailable"))]
#[case::recorded("create Secret record journal", Fault::ReplyLost)]
#[case::packed_before("create Secret result", Fault::Refused(503, "ServiceUnavailable"))]
#[case::packed("create Secret result", Fault::ReplyLost)]
#[case::said_before(
    "status CodeModeRun ask: Succeeded",
    Fault::Refused(503, "ServiceUnavailable")
)]
#[case::said("status CodeModeRun ask: Succeeded", Fault::ReplyLost)]
#[case::removed_before("delete all Secret record", Fault::Refused(403, "Forbidden"))]
#[tokio::test]
async fn an_operator_that_is_replaced_while_it_packs_leaves_the_same_one_secret(
    #[case] write: &str,
    #[case] fault: Fault,
) {
    let mut shop = Shop::new(BOTH).await;
    shop.ask("ask", &json!({}));
    shop.world.server.fail(write, fault);
    for _ in 0..6 {
        shop.settle("ask").await;
        shop.world.restart_now().await;
    }
    shop.world.server.calls();
    assert_eq!(
        shop.world.stage_and_reason::<CodeModeRun>("ask"),
        "Succeeded Answered"
    );
    assert_eq!(shop.calls().await, (1, 1));
    assert_eq!(shop.secrets("ask", "record"), Vec::<Value>::new());
    assert_eq!(shop.secrets("ask", "result").len(), 1);
    assert!(shop.packed("ask").contains_key("journal/0001-0001.json"));
}

#[tokio::test]
async fn nothing_is_removed_where_somebody_has_planted_another_secret_in_the_place_of_what_is_packed() {
    let mut shop = Shop::new("await till()").await;
    shop.ask("ask", &json!({}));
    shop.world.server.fail(
        "status CodeModeRun ask: Succeeded",
        Fault::Refused(503, "ServiceUnavailable"),
    );
    for _ in 0..2 {
        shop.world.reconcile::<CodeModeRun>("ask").await;
    }
    let mut planted = shop.secrets("ask", "result").remove(0);
    let name = planted["metadata"]["name"].as_str().unwrap().to_owned();
    shop.world.server.remove("secrets", &name);
    planted["data"]["record.json.gz"] = json!("bm90aGluZw==");
    shop.world.server.create(planted);
    shop.world.restart().await;
    shop.settle("ask").await;
    assert_ne!(shop.status("ask")["stage"], "Succeeded");
    assert_eq!(shop.secrets("ask", "record").len(), 5);
    shop.world.server.remove("secrets", &name);
    shop.world.restart().await;
    shop.settle("ask").await;
    assert_eq!(shop.status("ask")["stage"], "Succeeded");
    assert_eq!(shop.secrets("ask", "record"), Vec::<Value>::new());
}

#[tokio::test]
async fn no_conversation_is_taken_from_the_packed_documents_of_another_question() {
    let mut shop = Shop::new("await till()").await;
    for name in ["own", "anothers"] {
        shop.ask(name, &json!({}));
        shop.settle(name).await;
    }
    let anothers = shop.status("anothers")["result"].clone();
    shop.world
        .server
        .edit("codemoderuns", "own", |run| run["status"]["result"] = anothers);
    shop.ask("later", &json!({"continues": {"name": "own"}}));
    shop.settle("later").await;
    assert_ne!(shop.status("later")["stage"], "Succeeded");
    shop.ask("honest", &json!({"continues": {"name": "anothers"}}));
    shop.settle("honest").await;
    assert_eq!(shop.status("honest")["stage"], "Succeeded");
}
