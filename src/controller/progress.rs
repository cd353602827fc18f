//! The progress inside of a status: what the status says anyway is not said twice, and what is long is packed.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::index::{grouped, names};
use super::store::{pack, unpacked};
use crate::api::status::CodeGenTaskStatus;
use crate::pipeline::progress::{PROGRESS_VERSION, Progress};

/// Fields that progress and status share, spelled alike in both.
const SHARED: [&str; 10] = [
    "adoptedFrom",
    "approvals",
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
/// Packages of an image with their versions.
const RESOLVED: &str = "resolved";
/// All of it, packed, where it is long.
const PACKED: &str = "packed";
/// Longer progress is packed, bytes.
const PACKED_FROM: usize = 4 * 1024;
/// Longest progress that is unpacked, bytes.
const LONGEST: u64 = 4 << 20;

/// `status` with the progress `bytes` and the names of all documents in it.
#[must_use]
pub fn record(mut status: CodeGenTaskStatus, bytes: &[u8], index: &BTreeSet<String>) -> CodeGenTaskStatus {
    let mut progress: Map<String, Value> = serde_json::from_slice(bytes).unwrap_or_default();
    for shared in SHARED.into_iter().chain([VERSION]) {
        progress.remove(shared);
    }
    // Those of the image stand in the status; an image of which nothing is known says so by an empty list.
    if let Some(built) = built(&mut progress)
        && built.get(RESOLVED).is_some_and(|resolved| !is_empty(resolved))
    {
        built.remove(RESOLVED);
    }
    let names = grouped(index);
    progress.insert(DOCUMENTS.to_owned(), names.into_iter().collect());
    progress.retain(|_, value| !is_empty(value));
    status.progress_version = i32::try_from(PROGRESS_VERSION).ok();
    status.progress = Some(packed(progress));
    status
}

/// The image that was built last.
fn built(progress: &mut Map<String, Value>) -> Option<&mut Map<String, Value>> {
    progress.get_mut("build")?.get_mut("built")?.as_object_mut()
}

fn packed(progress: Map<String, Value>) -> Map<String, Value> {
    // Plain data with string keys: writing it to memory cannot fail.
    let bytes = serde_json::to_vec(&progress).unwrap_or_default();
    if bytes.len() <= PACKED_FROM {
        return progress;
    }
    let text = BASE64.encode(pack(&bytes));
    Map::from_iter([(PACKED.to_owned(), text.into())])
}

/// The progress that a status holds, unpacked.
fn held(status: &CodeGenTaskStatus) -> Option<Map<String, Value>> {
    let progress = status.progress.as_ref()?;
    let Some(text) = progress.get(PACKED).and_then(Value::as_str) else {
        return Some(progress.clone());
    };
    let bytes = unpacked(&BASE64.decode(text).ok()?, LONGEST).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// The names of all documents.
#[must_use]
pub fn index(status: &CodeGenTaskStatus) -> BTreeSet<String> {
    let groups = held(status).and_then(|mut progress| progress.remove(DOCUMENTS));
    let groups = groups.and_then(|groups| serde_json::from_value(groups).ok());
    names(&groups.unwrap_or_default())
}

/// The progress that `status` holds, as it was before [`record`].
#[must_use]
pub fn recorded(status: &CodeGenTaskStatus) -> Option<Vec<u8>> {
    let mut progress = held(status)?;
    progress.remove(DOCUMENTS);
    let Ok(Value::Object(mut shown)) = serde_json::to_value(status) else {
        return None;
    };
    if let Some(built) = built(&mut progress)
        && !built.contains_key(RESOLVED)
    {
        built.insert(RESOLVED.to_owned(), status.packages.clone().into());
    }
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
            cases: vec!["1. one row: defaults -> total = 1".into()],
        });
        later.attempt = 2;
        later.exit_code = Some(1);
        later.rejections = vec!["not JSON".into()];
        later.build.wanted.pip = vec!["pandas".into()];
        later.build.built = Some(crate::pipeline::test_support::image(&["pandas"]));
        assert_eq!(there_and_back(&later), later);
        if let Some(built) = &mut later.build.built {
            built.resolved = (0..1_000).map(|number| format!("package=={number}")).collect();
        }
        later.rejections = vec!["x".repeat(5_000)];
        assert_eq!(there_and_back(&later), later, "packed");
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
