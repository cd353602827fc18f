//! `--save-history`: the conversation with a question and its answer, where the next question takes it from.

use std::io::{self, Write as _};
use std::path::Path;

/// Writes the conversation, or leaves what was there: the same file may be the `--history` of the question.
pub(super) fn save(path: &Path, conversation: &[u8]) -> Result<(), String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let write = || -> io::Result<()> {
        // In the same folder, for a rename is atomic on one file system only.
        let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
        file.write_all(conversation)?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|error| {
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
