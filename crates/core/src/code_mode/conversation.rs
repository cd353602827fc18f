//! The conversation of a question that has its answer, as the next question takes it.

use super::question::Question;
use super::status::Answer;
use crate::progress::Document;
use codegen_code_mode::prompt::{ChatMessage, SpeakerRole};

/// Name of the document with the conversation.
pub const CONVERSATION: &str = "documents/conversation.json";
/// Messages of a conversation that the next question takes.
const MOST_MESSAGES: usize = 200;
/// Characters of one of them.
const MOST_CHARACTERS: usize = 65_536;

/// Returns the messages so far, with the question and its answer: of a conversation that is too long for another question, the newest
/// messages.
#[must_use]
pub fn conversation(question: &Question, answer: &Answer) -> Vec<ChatMessage> {
    let text = match answer.text().trim() {
        "" => "(no text)",
        text => text,
    };
    let said = |role, content: &str| ChatMessage {
        role,
        content: content.chars().take(MOST_CHARACTERS).collect(),
    };
    let mut messages = question.history.clone();
    messages.push(said(SpeakerRole::User, &question.message));
    messages.push(said(SpeakerRole::Assistant, text));
    let excess = messages.len().saturating_sub(MOST_MESSAGES);
    messages.drain(..excess);
    messages
}

/// The file of a conversation: a JSON array of `{role, content}`, as `--history` takes it.
#[must_use]
pub fn conversation_file(messages: &[ChatMessage]) -> Vec<u8> {
    // Plain data: writing it to memory cannot fail.
    let mut bytes = serde_json::to_vec_pretty(messages).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// The document with these bytes.
#[must_use]
pub fn conversation_document(bytes: &[u8]) -> Document {
    Document::of(CONVERSATION.to_owned(), bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::code_mode::test_support::question;

    fn answer(text: &str) -> Answer {
        Answer {
            value: Some(json!(text)),
            ..Answer::default()
        }
    }

    #[test]
    fn a_conversation_ends_with_the_question_and_its_answer() {
        let mut asked = question(Vec::new());
        asked.history = vec![ChatMessage {
            role: SpeakerRole::User,
            content: "Hello".to_owned(),
        }];
        let said = conversation(&asked, &answer("22"));
        let file: serde_json::Value = serde_json::from_slice(&conversation_file(&said)).unwrap();
        assert_eq!(
            file,
            json!([
                {"role": "user", "content": "Hello"},
                {"role": "user", "content": "How much?"},
                {"role": "assistant", "content": "22"},
            ])
        );
    }

    #[test]
    fn the_next_question_can_take_it_however_long_it_is() {
        let mut asked = question(Vec::new());
        let message = |number: usize| ChatMessage {
            role: SpeakerRole::User,
            content: number.to_string(),
        };
        asked.history = (0..MOST_MESSAGES).map(message).collect();
        let said = conversation(&asked, &answer(&"é".repeat(MOST_CHARACTERS + 1)));
        assert_eq!((said.len(), said[0].content.as_str()), (MOST_MESSAGES, "2"));
        assert_eq!(said[MOST_MESSAGES - 1].content.chars().count(), MOST_CHARACTERS);
        let said = conversation(&asked, &answer(" "));
        assert_eq!(said[MOST_MESSAGES - 1].content, "(no text)");
    }
}
