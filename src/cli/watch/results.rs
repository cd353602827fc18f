//! Results on this machine, as a list.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cli::command::{CommandError, warning};
use crate::cli::progress::ProgressPrinter;
use crate::cli::recorded::{RecordedTask, from_folder, is_result};
use crate::cli::table::{NONE, columns};

/// The results that lie in `folder`, as a table; `None` where there are none.
pub(super) async fn listed(
    folder: &Path,
    progress: &ProgressPrinter,
) -> Result<Option<String>, CommandError> {
    let mut rows = Vec::new();
    for place in results_in(folder)? {
        match from_folder(&place).await {
            Ok(task) => {
                if let Some(foreign) = &task.foreign {
                    progress.lines(&warning(foreign));
                }
                rows.push(row(task));
            }
            // One that is damaged hides no other.
            Err(absent) => progress.lines(&warning(&absent.to_string())),
        }
    }
    let header = ["NAME", "STAGE", "REASON", "ATTEMPT", "TESTS", "TOKENS"];
    Ok((!rows.is_empty()).then(|| columns(&header, &rows)))
}

fn results_in(folder: &Path) -> Result<Vec<PathBuf>, CommandError> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let unreadable = |error| CommandError::usage(format!("cannot read {}: {error}", folder.display()));
    let mut places = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let place = entry.map_err(unreadable)?.path();
        if is_result(&place) {
            places.push(place);
        }
    }
    places.sort();
    Ok(places)
}

fn row(task: RecordedTask) -> Vec<String> {
    let name = task.argument();
    let status = task.status;
    let or_none = |text: Option<String>| text.unwrap_or_else(|| NONE.to_owned());
    vec![
        name,
        or_none(status.stage),
        or_none(status.reason),
        or_none(status.attempt.map(|attempt| attempt.to_string())),
        or_none(status.tests),
        status.tokens.total.to_string(),
    ]
}
