//! The progress inside of a status: the whole state of the machine with the names of all documents, packed, so that everything that a
//! status shows beside it may be cut.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::controller::record::index::{grouped, names};
use crate::controller::record::pack::{pack, unpacked};
use codegen_api::status::CodeGenTaskStatus;
use codegen_core::progress::{Progress, State, UnreadableState, read_state};
use codegen_core::stage::Stage;

/// The progress itself.
const STATE: &str = "state";
/// Names of the documents, which no progress knows.
const DOCUMENTS: &str = "records";
/// Both of them, packed.
const PACKED: &str = "packed";
/// Longest progress that is unpacked, bytes.
// A status is short, but what is packed in it may unfold to far more.
const LONGEST: u64 = 4 << 20;

/// `status` with the progress and the names of all documents in it.
#[must_use]
pub fn record(
    mut status: CodeGenTaskStatus,
    progress: &Progress,
    index: &BTreeSet<String>,
) -> CodeGenTaskStatus {
    // Whatever is asked for after that is in the result, whole.
    let is_in_result = progress.stage == Stage::Succeeded && status.result.is_some();
    let names = if is_in_result {
        grouped(&BTreeSet::new())
    } else {
        grouped(index)
    };
    let held = json!({STATE: progress, DOCUMENTS: names});
    let text = BASE64.encode(pack(held.to_string().as_bytes()));
    status.progress_version = i32::try_from(Progress::VERSION).ok();
    status.progress = Some(Map::from_iter([(PACKED.to_owned(), text.into())]));
    status
}

/// The progress with the names of documents that a status holds, unpacked.
fn held(status: &CodeGenTaskStatus) -> Result<Option<Value>, UnreadableState> {
    let Some(progress) = &status.progress else {
        return Ok(None);
    };
    let version = u64::try_from(status.progress_version.unwrap_or_default()).unwrap_or_default();
    if version != u64::from(Progress::VERSION) {
        return Err(UnreadableState::OtherVersion {
            found: version,
            expected: Progress::VERSION,
        });
    }
    let text = progress.get(PACKED).and_then(Value::as_str).unwrap_or_default();
    let bytes = BASE64
        .decode(text)
        .map_err(|error| UnreadableState::damaged(&error))?;
    let json = unpacked(&bytes, LONGEST).map_err(|error| UnreadableState::damaged(&error))?;
    serde_json::from_slice(&json).map_err(|error| UnreadableState::damaged(&error))
}

/// The names of all documents; none where the progress cannot be read.
#[must_use]
pub fn index(status: &CodeGenTaskStatus) -> BTreeSet<String> {
    let held = held(status).ok().flatten();
    let groups = held.and_then(|mut held| serde_json::from_value(held[DOCUMENTS].take()).ok());
    names(&groups.unwrap_or_default())
}

/// The progress that `status` holds.
pub fn recorded(status: &CodeGenTaskStatus) -> Result<Option<Progress>, UnreadableState> {
    let held = held(status)?;
    held.map(|mut held| read_state(held[STATE].take())).transpose()
}

/// A status whose progress counts no further active time from `now` on.
#[must_use]
pub fn paused(status: CodeGenTaskStatus, now: Timestamp) -> CodeGenTaskStatus {
    let progress = recorded(&status).ok().flatten();
    let Some(mut progress) = progress.filter(|progress| progress.active_since.is_some()) else {
        return status;
    };
    progress.pause_at(now);
    let documents = index(&status);
    record(status, &progress, &documents)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use codegen_api::status::CaseEvidence;
    use codegen_core::call::{FaultClass, ReplyFault};
    use codegen_core::digest::sha256_hex;
    use codegen_core::progress::{
        BuildFault, BuiltImage, Document, EarlierRetries, RecordedLock, Recurrence,
    };
    use codegen_core::status::{StatusContext, status};
    use codegen_core::test_support::{at, start, task};

    /// The progress as it comes back from a status.
    fn there_and_back(progress: &Progress) -> Progress {
        let shown = status(&task(), progress, StatusContext::default(), at(5));
        let written = serde_json::to_string(&record(
            shown,
            progress,
            &BTreeSet::from(["documents/run-0001.json".to_owned()]),
        ))
        .unwrap();
        let read: CodeGenTaskStatus = serde_json::from_str(&written).unwrap();
        assert_eq!(index(&read).len(), 1);
        recorded(&read).unwrap().unwrap()
    }

    #[test]
    fn a_progress_comes_back_as_it_was() {
        let progress = start();
        assert_eq!(there_and_back(&progress), progress);
        let mut later = progress;
        later.plan = Some(codegen_api::status::PlanStatus {
            description: "d".into(),
            approach: "a".into(),
            libraries: vec!["pandas".into()],
            cases: vec!["1. one row: defaults -> total = 1".into()],
        });
        later.attempt = 2;
        later.exit_code = Some(1);
        later.rejections = vec![ReplyFault {
            class: FaultClass::NoCase,
            reason: "none".into(),
        }];
        later.build.wanted.pip = vec!["pandas".into()];
        later.build.built = Some(codegen_core::test_support::image(&["pandas"]));
        later.earlier_retries = EarlierRetries {
            count: 3,
            hints: sha256_hex(b"day first"),
        };
        assert_eq!(there_and_back(&later), later);
        if let Some(built) = &mut later.build.built {
            built.resolved = (0..1_000).map(|number| format!("package=={number}")).collect();
        }
        later.rejections = vec!["x".repeat(5_000).into()];
        assert_eq!(there_and_back(&later), later, "packed");
    }

    fn document(name: &str) -> Document {
        Document {
            name: format!("documents/{name}"),
            sha256: sha256_hex(name.as_bytes()),
            bytes: 7,
        }
    }

    #[test]
    fn what_is_empty_comes_back_empty_and_what_is_nothing_nothing() {
        let mut progress = start();
        progress.cases = Some(CaseEvidence::default());
        progress.build.built = Some(BuiltImage::default());
        progress.build.fault = Some(BuildFault::default());
        progress.memory.after_reclassification = Some(Recurrence {
            failing: BTreeSet::new(),
            times: 0,
        });
        assert_eq!(there_and_back(&progress), progress);
        progress.build.wanted.pip = vec!["pandas".into()];
        assert_eq!(
            there_and_back(&progress),
            progress,
            "asked for, nothing known of it"
        );
    }

    #[test]
    fn documents_come_back_as_they_were() {
        let mut progress = start();
        progress.documents.solution = Some(document("solution-0003.py"));
        progress.documents.tests = Some(document("tests-0004.py"));
        progress.documents.run = Some(document("run-0002.json"));
        progress.documents.checks = Some(Document {
            sha256: "no digest".to_owned(),
            ..document("checks.json")
        });
        progress.build.lock = Some(RecordedLock {
            environment: sha256_hex(b"environment"),
            document: document("packages-0a.txt"),
        });
        progress.memory.solution_tree = sha256_hex(b"tree");
        assert_eq!(there_and_back(&progress), progress);
    }

    #[test]
    fn a_task_that_has_succeeded_finds_its_documents_in_its_result() {
        let mut progress = start();
        progress.stage = Stage::Succeeded;
        let documents = BTreeSet::from(["documents/run-0001.json".to_owned()]);
        let mut shown = status(&task(), &progress, StatusContext::default(), at(5));
        assert_eq!(index(&record(shown.clone(), &progress, &documents)), documents);
        shown.result = Some("penguins-0a1b2c".to_owned());
        assert_eq!(index(&record(shown, &progress, &documents)), BTreeSet::new());
    }

    fn holding(version: u32, progress: &Value) -> CodeGenTaskStatus {
        CodeGenTaskStatus {
            progress: progress.as_object().cloned(),
            progress_version: i32::try_from(version).ok(),
            ..CodeGenTaskStatus::default()
        }
    }

    #[test]
    fn a_state_of_another_version_is_never_read_as_none() {
        for version in [3, Progress::VERSION + 1] {
            let shown = holding(version, &json!({"stage": "Succeeded"}));
            let read = recorded(&shown);
            assert!(
                matches!(read, Err(UnreadableState::OtherVersion { found, .. }) if found == u64::from(version)),
                "{read:?}"
            );
            assert_eq!(paused(shown.clone(), at(30)), shown);
        }
    }

    #[test]
    fn a_damaged_state_is_never_read_as_none() {
        let packed = |held: &Value| json!({PACKED: BASE64.encode(pack(held.to_string().as_bytes()))});
        for damaged in [
            json!({}),
            json!({PACKED: "no base64"}),
            json!({PACKED: "AAAA"}),
            packed(&json!({STATE: {"version": Progress::VERSION, "stage": "Pondering"}})),
            packed(&json!({STATE: 1, DOCUMENTS: {"calls/": "*-plan.json=x,9-1,-", "a": 1}})),
        ] {
            let shown = holding(Progress::VERSION, &damaged);
            let read = recorded(&shown);
            assert!(
                matches!(read, Err(UnreadableState::Damaged(_))),
                "{damaged}: {read:?}"
            );
            assert_eq!(index(&shown), BTreeSet::new(), "{damaged}");
            assert_eq!(paused(shown.clone(), at(30)), shown);
        }
    }

    #[test]
    fn a_hold_stops_the_clock_of_a_status_and_preserves_all_else() {
        let progress = start();
        let shown = record(
            status(&task(), &progress, StatusContext::default(), at(5)),
            &progress,
            &BTreeSet::from(["documents/run-0001.json".to_owned()]),
        );
        let held = paused(shown, at(30));
        assert_eq!(index(&held).len(), 1);
        let read = recorded(&held).unwrap().unwrap();
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
        assert_eq!(recorded(&CodeGenTaskStatus::default()).unwrap(), None);
    }
}
