//! `--save-history`: the conversation with a question and its answer, where the next question takes it from.

use std::path::Path;

use crate::cli::replace::replace;

/// Writes the conversation, or leaves what was there: the same file may be the `--history` of the question.
pub(super) fn save(path: &Path, conversation: &[u8]) -> Result<(), String> {
    replace(path, conversation).map_err(|error| {
        format!(
            "--save-history {}: {error}; the question is answered, and is not asked again for this",
            path.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_takes_the_place_of_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("talk.json");
        save(&path, b"[1]").unwrap();
        save(&path, b"[2]").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"[2]");
        let error = save(&folder.path().join("none/talk.json"), b"[]").unwrap_err();
        assert!(error.contains("none/talk.json"), "{error}");
    }
}
