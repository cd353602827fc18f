//! The progress inside of a status: what the status says anyway is not said twice.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::api::status::CodeGenTaskStatus;
use crate::pipeline::progress::{PROGRESS_VERSION, Progress};

/// Fields that progress and status share, spelled alike in both.
const SHARED: [&str; 8] = [
    "run",
    "plan",
    "samples",
    "constraints",
    "attempts",
    "rehearsal",
    "exitCode",
    "lastError",
];
/// The progress' own field for its version, which has its own place in the status.
const VERSION: &str = "version";
/// Names of the documents, which no progress knows.
const DOCUMENTS: &str = "records";

/// `status` with the progress `bytes` and the names of all documents in it.
#[must_use]
pub fn record(mut status: CodeGenTaskStatus, bytes: &[u8], index: &BTreeSet<String>) -> CodeGenTaskStatus {
    let mut progress: Map<String, Value> = serde_json::from_slice(bytes).unwrap_or_default();
    for shared in SHARED.into_iter().chain([VERSION]) {
        progress.remove(shared);
    }
    let names = index.iter().map(|name| Value::from(name.as_str()));
    progress.insert(DOCUMENTS.to_owned(), names.collect());
    progress.retain(|_, value| !is_empty(value));
    status.progress_version = i32::try_from(PROGRESS_VERSION).ok();
    status.progress = Some(progress);
    status
}

/// The names of all documents.
#[must_use]
pub fn index(status: &CodeGenTaskStatus) -> BTreeSet<String> {
    let names = status
        .progress
        .as_ref()
        .and_then(|progress| progress.get(DOCUMENTS)?.as_array());
    let names = names.into_iter().flatten().filter_map(Value::as_str);
    names.map(str::to_owned).collect()
}

/// The progress that `status` holds, as it was before [`record`].
#[must_use]
pub fn recorded(status: &CodeGenTaskStatus) -> Option<Vec<u8>> {
    let mut progress = status.progress.clone()?;
    progress.remove(DOCUMENTS);
    let Ok(Value::Object(mut shown)) = serde_json::to_value(status) else {
        return None;
    };
    for shared in SHARED {
        if let Some(value) = shown.remove(shared) {
            progress.insert(shared.to_owned(), value);
        }
    }
    progress.insert(
        VERSION.to_owned(),
        status.progress_version.unwrap_or_default().into(),
    );
    serde_json::to_vec(&progress).ok()
}

/// A status whose progress counts no further active time from `now` on.
#[must_use]
pub fn paused(status: CodeGenTaskStatus, now: Timestamp) -> CodeGenTaskStatus {
    let progress = recorded(&status).and_then(|bytes| serde_json::from_slice::<Progress>(&bytes).ok());
    let Some(mut progress) = progress.filter(|progress| progress.active_since.is_some()) else {
        return status;
    };
    progress.pause_at(now);
    // Plain data with string keys: writing it to memory cannot fail.
    let bytes = serde_json::to_vec(&progress).unwrap_or_default();
    let documents = index(&status);
    record(status, &bytes, &documents)
}

/// Left out, for they are what a missing field means.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::status::{Around, status};
    use crate::pipeline::test_support::{at, start, task};

    fn there_and_back(progress: &Progress) -> Progress {
        let shown = status(&task(), progress, Around::default(), at(5));
        let bytes = serde_json::to_vec(progress).unwrap();
        let written = serde_json::to_string(&record(
            shown,
            &bytes,
            &BTreeSet::from(["documents/run-0001.json".to_owned()]),
        ))
        .unwrap();
        let read: CodeGenTaskStatus = serde_json::from_str(&written).unwrap();
        assert_eq!(index(&read).len(), 1);
        serde_json::from_slice(&recorded(&read).unwrap()).unwrap()
    }

    #[test]
    fn a_progress_comes_back_as_it_was() {
        let progress = start();
        assert_eq!(there_and_back(&progress), progress);
        let mut later = progress;
        later.plan = Some(crate::api::status::PlanStatus {
            description: "d".into(),
            approach: "a".into(),
            libraries: vec!["pandas".into()],
        });
        later.attempt = 2;
        later.exit_code = Some(1);
        later.rejections = vec!["not JSON".into()];
        later.build.wanted.pip = vec!["pandas".into()];
        assert_eq!(there_and_back(&later), later);
    }

    #[test]
    fn a_status_that_says_what_holds_the_task_stops_its_clock_and_keeps_all_else() {
        let progress = start();
        let bytes = serde_json::to_vec(&progress).unwrap();
        let shown = record(
            status(&task(), &progress, Around::default(), at(5)),
            &bytes,
            &BTreeSet::from(["documents/run-0001.json".to_owned()]),
        );
        let held = paused(shown, at(30));
        assert_eq!(index(&held).len(), 1);
        let read: Progress = serde_json::from_slice(&recorded(&held).unwrap()).unwrap();
        let mut expected = progress;
        expected.spent.active_seconds = 30.0;
        expected.active_since = None;
        assert_eq!(read, expected);
        assert_eq!(paused(held.clone(), at(90)), held);
        assert_eq!(
            paused(CodeGenTaskStatus::default(), at(90)),
            CodeGenTaskStatus::default()
        );
    }

    #[test]
    fn a_task_without_progress_has_none() {
        assert_eq!(recorded(&CodeGenTaskStatus::default()), None);
    }
}
