//! State of a task or question as it is stored: JSON with the version of its writer.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

/// State of a task or question.
///
/// A store holds it whole. What another version has written may mean something else by the same words, so it is neither read nor written over.
pub trait State: Serialize + DeserializeOwned + Clone + Send + Sync + 'static {
    /// Version of the serialised form, in its field `version`.
    const VERSION: u32;
}

/// Stored state that cannot be gone on from.
#[derive(Debug, Error)]
pub enum UnreadableState {
    /// Another version has written it.
    #[error(
        "another version has begun it (state {found}, this one knows {expected}) and nothing of it was touched: go on with that version, or begin anew"
    )]
    OtherVersion {
        /// Version that it says.
        found: u64,
        /// Version of this program.
        expected: u32,
    },
    /// Something in it is not what was written.
    #[error("its state is damaged ({0}) and was left as it is: restore it from a backup, or begin anew")]
    Damaged(String),
}

impl UnreadableState {
    /// The error about bytes that say this.
    #[must_use]
    pub fn damaged(detail: &impl ToString) -> Self {
        Self::Damaged(detail.to_string())
    }
}

/// Reads a stored state.
pub fn read_state<S: State>(stored: Value) -> Result<S, UnreadableState> {
    // First: another version may have stages that are unknown here.
    match stored["version"].as_u64() {
        Some(found) if found != u64::from(S::VERSION) => Err(UnreadableState::OtherVersion {
            found,
            expected: S::VERSION,
        }),
        _ => serde_json::from_value(stored).map_err(|error| UnreadableState::damaged(&error)),
    }
}

/// Reads a stored state from its bytes.
pub fn state_of_bytes<S: State>(bytes: &[u8]) -> Result<S, UnreadableState> {
    read_state(serde_json::from_slice(bytes).map_err(|error| UnreadableState::damaged(&error))?)
}

/// The state as bytes. Plain data with string keys: writing it to memory cannot fail.
#[must_use]
pub fn bytes_of_state<S: State>(state: &S) -> Vec<u8> {
    serde_json::to_vec(state).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::code_mode;
    use crate::progress::Progress;
    use crate::test_support::{at, start};

    #[test]
    fn a_state_comes_back_as_it_was() {
        let progress = start();
        assert_eq!(
            state_of_bytes::<Progress>(&bytes_of_state(&progress)).unwrap(),
            progress
        );
    }

    #[rstest]
    #[case::newer(json!({"version": Progress::VERSION + 1}))]
    #[case::newer_with_words_of_its_own(json!({"version": Progress::VERSION + 1, "stage": "Pondering"}))]
    #[case::older(json!({"version": 1}))]
    fn a_state_of_another_version_is_said_to_be_one(#[case] stored: Value) {
        let error = read_state::<Progress>(stored).unwrap_err();
        assert!(matches!(error, UnreadableState::OtherVersion { .. }), "{error}");
        assert!(error.to_string().contains("nothing of it was touched"), "{error}");
    }

    #[test]
    fn a_damaged_state_names_the_damage() {
        let mut stored = serde_json::to_value(code_mode::QuestionProgress::start(at(0))).unwrap();
        stored["stage"] = json!("Pondering");
        let error = read_state::<code_mode::QuestionProgress>(stored).unwrap_err();
        assert!(matches!(error, UnreadableState::Damaged(_)), "{error}");
        assert!(error.to_string().contains("Pondering"), "{error}");
        let error = state_of_bytes::<Progress>(b"{").unwrap_err();
        assert!(matches!(error, UnreadableState::Damaged(_)), "{error}");
    }
}
