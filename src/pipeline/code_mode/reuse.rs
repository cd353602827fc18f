//! What a question takes over from an answered one of its namespace that asked the same.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::progress::{Progress, Stage};
use super::question::Question;
use crate::code_mode::journal::Entry;
use crate::code_mode::signature::Effect;
use crate::pipeline::digest::{sha256_hex, sha256_hex_of_parts};
use crate::pipeline::progress::Document;

/// Version of what a key covers.
const VERSION: &str = "code-mode-1";

/// Documents of a question by name.
pub type Documents = BTreeMap<String, Vec<u8>>;

/// Hash of everything that decides the answer, with the operator's version: model, agent, tools with their programs, conversation, question
/// and limits.
#[must_use]
pub fn reuse_key(question: &Question) -> String {
    let mut asked = json!(question);
    if let Some(asked) = asked.as_object_mut() {
        // Who asks whom decides nothing beside what the agent is.
        asked.remove("namespace");
        asked.remove("agent");
    }
    sha256_hex_of_parts(&[VERSION, env!("CARGO_PKG_VERSION"), &asked.to_string()])
}

/// The key under which others may take over the answer; none where a program called a tool that is neither durable nor read-only: it did
/// something that no copy of its answer does. Nor where persons decide about calls: that is for each question to ask.
#[must_use]
pub fn reusable_key(question: &Question, documents: &Documents) -> Option<String> {
    if !question.require_approval.is_empty() {
        return None;
    }
    let journals = documents.iter().filter(|(name, _)| name.starts_with("journal/"));
    for (_, bytes) in journals {
        let entries: Vec<Entry> = serde_json::from_slice(bytes).ok()?;
        let is_reusable = |entry| tool_of(entry).is_some_and(|tool| is_reusable(question, tool));
        if !entries.iter().all(is_reusable) {
            return None;
        }
    }
    Some(reuse_key(question))
}

fn tool_of(entry: &Entry) -> Option<&str> {
    match entry {
        Entry::Begun(call) | Entry::Withdrawn(call) => Some(&call.tool),
        Entry::Ended(ended) => Some(&ended.call.tool),
        // Nobody decides about calls of a question whose answer others take.
        Entry::Approved(_) => None,
    }
}

fn is_reusable(question: &Question, tool: &str) -> bool {
    match question.effect(tool) {
        Effect::Durable | Effect::ReadOnly => true,
        Effect::Idempotent | Effect::Once => false,
    }
}

/// An answer that was taken over.
#[derive(Clone, Debug, PartialEq)]
pub struct Adopted {
    /// The end of the question that takes it.
    pub progress: Progress,
    /// Its documents.
    pub documents: Documents,
}

/// What a question with this key takes from the documents that `origin` has left. `None` where these are not the whole record of an
/// answer to the same: nothing but what they say of themselves is believed.
#[must_use]
pub fn adopt(
    key: &str,
    (question, progress): (&str, &str),
    documents: &Documents,
    origin: &str,
    now: Timestamp,
) -> Option<Adopted> {
    let asked: Question = read(documents, question)?;
    let ended: Progress = read(documents, progress)?;
    if ended.stage != Stage::Succeeded || reusable_key(&asked, documents)? != key {
        return None;
    }
    let answer = ended.answer?;
    let mut taken = Documents::new();
    for document in ended.program.iter().chain([&answer]) {
        taken.insert(document.name.clone(), whole(documents, document)?.clone());
    }
    let progress = Progress {
        stage: Stage::Succeeded,
        program: ended.program,
        answer: Some(answer),
        // Names the question that was answered by a program, not one that took its answer.
        adopted_from: ended.adopted_from.or_else(|| Some(origin.to_owned())),
        completed_at: Some(now),
        active_since: None,
        ..Progress::start(now)
    };
    Some(Adopted {
        progress,
        documents: taken,
    })
}

fn read<D: DeserializeOwned>(documents: &Documents, name: &str) -> Option<D> {
    serde_json::from_slice(documents.get(name)?).ok()
}

/// The bytes of a document, where they are those that it was recorded with.
fn whole<'a>(documents: &'a Documents, document: &Document) -> Option<&'a Vec<u8>> {
    let bytes = documents.get(&document.name);
    bytes.filter(|bytes| sha256_hex(bytes) == document.sha256)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::Value;

    use super::*;
    use crate::code_mode::prompt::{Message, Role};
    use crate::pipeline::code_mode::test_support::{question, sourced};
    use crate::pipeline::code_mode::{Answer, ToolOrigin};
    use crate::pipeline::test_support::at;

    const NAMES: (&str, &str) = ("question.json", "progress.json");

    fn asked() -> Question {
        question(vec![
            sourced("rate", Effect::ReadOnly),
            sourced("report", Effect::Durable),
            sourced("limit", Effect::Idempotent),
            sourced("refund", Effect::Once),
        ])
    }

    fn called(tools: &[&str]) -> Vec<u8> {
        let call = |(number, tool): (usize, &&str)| json!({"ended": {"number": number + 1, "tool": tool, "arguments": {}, "outcome": {"returned": 1}, "startedAt": "", "endedAt": ""}});
        let entries: Vec<Value> = tools.iter().enumerate().map(call).collect();
        serde_json::to_vec(&entries).unwrap()
    }

    /// What a question leaves whose program called these tools.
    fn left(tools: &[&str]) -> Documents {
        let answer = Answer {
            text: "22".to_owned(),
            ..Answer::default()
        };
        let answer = serde_json::to_vec(&answer).unwrap();
        let document = Document {
            name: "documents/answer-0001.json".to_owned(),
            sha256: sha256_hex(&answer),
            bytes: answer.len() as u64,
        };
        let progress = Progress {
            stage: Stage::Succeeded,
            answer: Some(document.clone()),
            ..Progress::start(at(1))
        };
        Documents::from([
            (document.name, answer),
            ("question.json".to_owned(), serde_json::to_vec(&asked()).unwrap()),
            ("progress.json".to_owned(), serde_json::to_vec(&progress).unwrap()),
            ("journal/0001-0001.json".to_owned(), called(tools)),
        ])
    }

    fn take(documents: &Documents) -> Option<Adopted> {
        adopt(&reuse_key(&asked()), NAMES, documents, "first", at(9))
    }

    #[test]
    fn an_answer_to_the_same_is_taken_and_costs_nothing() {
        let documents = left(&["rate", "report", "read_text"]);
        let adopted = take(&documents).unwrap();
        assert_eq!(adopted.progress.stage, Stage::Succeeded);
        assert_eq!(adopted.progress.adopted_from.as_deref(), Some("first"));
        assert_eq!(adopted.progress.spent.model_calls, 0);
        let answer = "documents/answer-0001.json";
        assert_eq!(adopted.documents[answer], documents[answer]);
        assert_eq!(adopted.documents.len(), 1);
    }

    #[test]
    fn of_an_answer_that_was_taken_itself_the_first_one_is_named() {
        let mut documents = left(&[]);
        documents.remove("journal/0001-0001.json");
        let mut progress: Progress = read(&documents, "progress.json").unwrap();
        progress.adopted_from = Some("zeroth".to_owned());
        documents.insert("progress.json".to_owned(), serde_json::to_vec(&progress).unwrap());
        assert_eq!(
            take(&documents).unwrap().progress.adopted_from.as_deref(),
            Some("zeroth")
        );
    }

    #[rstest]
    #[case("refund")]
    #[case("limit")]
    fn no_answer_is_taken_whose_program_changed_something(#[case] tool: &str) {
        assert_eq!(take(&left(&["rate", tool])), None);
        let begun = json!([{"begun": {"number": 1, "tool": tool, "arguments": {}}}]);
        let mut documents = left(&["rate"]);
        documents.insert(
            "journal/0001-0002.json".to_owned(),
            serde_json::to_vec(&begun).unwrap(),
        );
        assert_eq!(take(&documents), None);
    }

    #[rstest]
    #[case::another_answer("documents/answer-0001.json", json!({"text": "23"}))]
    #[case::a_journal_that_cannot_be_read("journal/0001-0001.json", json!({"tool": "refund"}))]
    #[case::no_progress("progress.json", json!({}))]
    #[case::no_question("question.json", json!({}))]
    fn documents_that_somebody_has_changed_are_not_taken(#[case] name: &str, #[case] forged: Value) {
        let mut documents = left(&["rate"]);
        assert!(take(&documents).is_some());
        documents.insert(name.to_owned(), serde_json::to_vec(&forged).unwrap());
        assert_eq!(take(&documents), None);
    }

    #[test]
    fn no_answer_is_taken_where_persons_decide_about_calls() {
        let mut guarded = asked();
        guarded.require_approval.insert("rate".to_owned());
        let mut documents = left(&["rate"]);
        documents.insert("question.json".to_owned(), serde_json::to_vec(&guarded).unwrap());
        assert_eq!(
            adopt(&reuse_key(&guarded), NAMES, &documents, "first", at(9)),
            None
        );
    }

    #[test]
    fn a_question_that_failed_gives_nothing() {
        let mut documents = left(&["rate"]);
        let mut progress: Progress = read(&documents, "progress.json").unwrap();
        progress.stage = Stage::Failed;
        documents.insert("progress.json".to_owned(), serde_json::to_vec(&progress).unwrap());
        assert_eq!(take(&documents), None);
    }

    #[test]
    fn whatever_decides_an_answer_is_in_the_key_and_who_asks_is_not() {
        let key = reuse_key(&asked());
        let with = |change: fn(&mut Question)| {
            let mut other = asked();
            change(&mut other);
            reuse_key(&other)
        };
        assert_eq!(with(|other| other.agent = "another".to_owned()), key);
        let changes: [fn(&mut Question); 9] = [
            |other| other.message.push('?'),
            |other| other.model.name.push('2'),
            |other| other.model.base_url = "https://elsewhere.example/v1".to_owned(),
            |other| other.persona.prefix.push('x'),
            |other| other.persona.skills.push("Prices are in cents.".to_owned()),
            |other| {
                other.history.push(Message {
                    role: Role::User,
                    content: "Hello".to_owned(),
                });
            },
            |other| other.limits.max_tool_calls += 1,
            |other| other.tools[0].tool.parameters = json!({"type": "object"}),
            |other| {
                other.tools[1].origin = ToolOrigin::Task {
                    name: "report".to_owned(),
                    program: "another".to_owned(),
                };
            },
        ];
        for (number, change) in changes.into_iter().enumerate() {
            assert_ne!(with(change), key, "change {number}");
        }
    }
}
