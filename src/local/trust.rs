//! The say on records that were made elsewhere: they are gone by where whoever runs a command says so, for that command.

use std::path::Path;

use super::terminal::{AskYes, on_a_thread};
use codegen_ledger::Key;

/// The say on a folder of records that somebody else has made.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    /// True where the command line has said yes.
    pub given: bool,
    /// Asks a person; nobody is there without it.
    pub ask: Option<AskYes>,
}

impl Trust {
    /// Says whether the records in the folder of these results are gone by. Nothing remembers it.
    pub async fn allows(&self, results: &Path) -> bool {
        if self.given {
            return true;
        }
        let Some(ask) = self.ask else { return false };
        let shown = results.display().to_string();
        on_a_thread(move || ask(&shown)).await.unwrap_or(false)
    }
}

/// The notice of records that this user's key has not sealed.
pub(crate) fn foreign_notice(results: &Path, key_is_new: bool) -> String {
    // As in a job whose home is fresh each time.
    let hint = match (key_is_new, Key::path()) {
        (true, Ok(path)) => format!(
            "; no key of this user was here before, {}: where results stay from job to job, that file must too",
            path.display()
        ),
        _ => String::new(),
    };
    format!(
        "these records were made elsewhere: {} (by another user, on another machine, or changed since){hint}",
        results.display()
    )
}
