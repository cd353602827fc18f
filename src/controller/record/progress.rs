//! The progress inside of a status: what the status says anyway is not said twice, and what is long is packed.

mod dense;

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jiff::Timestamp;
use serde_json::{Map, Value};

use self::dense::{lengthen, shorten};
use crate::controller::record::index::{grouped, names};
use crate::controller::record::pack::{pack, unpacked};
use codegen_api::status::CodeGenTaskStatus;
use codegen_core::progress::{PROGRESS_VERSION, Progress};
use codegen_core::stage::Stage;

/// The progress' own field for its version, which has its own place in the status.
const VERSION: &str = "version";
/// Names of the documents, which no progress knows.
const DOCUMENTS: &str = "records";
/// All of it, packed, where it is long.
const PACKED: &str = "packed";
/// Longer progress is packed, bytes.
const PACKED_FROM: usize = 4 * 1024;
/// Longest progress that is unpacked, bytes.
// A status is short, but what is packed in it may unfold to far more.
const LONGEST: u64 = 4 << 20;

/// `status` with the progress `bytes` and the names of all documents in it.
#[must_use]
pub fn record(mut status: CodeGenTaskStatus, bytes: &[u8], index: &BTreeSet<String>) -> CodeGenTaskStatus {
    let mut progress: Map<String, Value> = serde_json::from_slice(bytes).unwrap_or_default();
    progress.remove(VERSION);
    shorten(&mut progress, &status.artifacts);
    // Whatever is asked for after that is in the result, whole.
    let is_in_result = status.stage.as_deref() == Some(Stage::Succeeded.as_str()) && status.result.is_some();
    let names = grouped(index);
    if !is_in_result && !names.is_empty() {
        progress.insert(DOCUMENTS.to_owned(), names.into_iter().collect());
    }
    status.progress_version = i32::try_from(PROGRESS_VERSION).ok();
    status.progress = Some(packed(progress));
    status
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
    let said = serde_json::to_value(status).ok()?;
    lengthen(&mut progress, &status.artifacts, &said);
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use codegen_api::status::{ArtifactRef, CaseEvidence};
    use codegen_core::call::{FaultClass, ReplyFault};
    use codegen_core::digest::sha256_hex;
    use codegen_core::progress::{
        BuildFault, BuiltImage, Document, EarlierRetries, RecordedLock, Recurrence,
    };
    use codegen_core::status::{StatusContext, status};
    use codegen_core::test_support::{at, start, task};

    fn there_and_back(progress: &Progress) -> Progress {
        beside(progress, Vec::new())
    }

    /// The progress as it comes back from a status with these artifacts.
    fn beside(progress: &Progress, artifacts: Vec<ArtifactRef>) -> Progress {
        let around = StatusContext {
            artifacts,
            ..StatusContext::default()
        };
        let shown = status(&task(), progress, around, at(5));
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
    fn documents_come_back_whether_or_not_an_artifact_says_the_same_of_them() {
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
        let artifact = |name: &str, sha256: &str| ArtifactRef {
            name: name.to_owned(),
            sha256: sha256.to_owned(),
            bytes: 7,
        };
        let artifacts = vec![
            artifact("solution", &document("solution-0003.py").sha256),
            artifact("tests", &sha256_hex(b"other tests")),
        ];
        assert_eq!(beside(&progress, artifacts), progress);
    }

    #[test]
    fn a_task_that_has_succeeded_finds_its_documents_in_its_result() {
        let mut progress = start();
        progress.stage = Stage::Succeeded;
        let documents = BTreeSet::from(["documents/run-0001.json".to_owned()]);
        let mut shown = status(&task(), &progress, StatusContext::default(), at(5));
        let bytes = serde_json::to_vec(&progress).unwrap();
        assert_eq!(index(&record(shown.clone(), &bytes, &documents)), documents);
        shown.result = Some("penguins-0a1b2c".to_owned());
        assert_eq!(index(&record(shown, &bytes, &documents)), BTreeSet::new());
    }

    #[test]
    fn what_version_2_wrote_is_read() {
        let mut progress = start();
        progress.documents.run = Some(document("run-0001.json"));
        let mut shown = status(&task(), &progress, StatusContext::default(), at(5));
        shown.progress_version = Some(2);
        let Value::Object(mut written) = serde_json::to_value(&progress).unwrap() else {
            panic!("a progress is an object");
        };
        written.insert(
            DOCUMENTS.to_owned(),
            json!({"calls/*-plan.json": "1-2", "documents/run-*.json": "1", "calls/prefix-00.json": ""}),
        );
        shown.progress = Some(written);
        let read: Progress = serde_json::from_slice(&recorded(&shown).unwrap()).unwrap();
        assert_eq!(
            read,
            Progress {
                version: 2,
                ..progress
            }
        );
        let names: Vec<String> = index(&shown).into_iter().collect();
        assert_eq!(
            names,
            [
                "calls/0001-plan.json",
                "calls/0002-plan.json",
                "calls/prefix-00.json",
                "documents/run-0001.json"
            ]
        );
    }

    #[test]
    fn what_nobody_can_read_is_an_error_and_nothing_worse() {
        for unreadable in [
            json!({}),
            json!({"packed": "no base64"}),
            json!({"stage": "Succeeded", "spent": "nothing", "documents": {"run": "a b c"}, "build": {"built": []}}),
            json!({"memory": {"solutionTree": "!"}, "records": {"calls/": "*-plan.json=x,9-1,-", "a": 1}}),
        ] {
            let shown = CodeGenTaskStatus {
                progress: unreadable.as_object().cloned(),
                ..CodeGenTaskStatus::default()
            };
            let read = recorded(&shown).map(|bytes| serde_json::from_slice::<Progress>(&bytes).is_ok());
            assert_ne!(read, Some(true), "{unreadable}");
            assert_eq!(index(&shown), BTreeSet::new(), "{unreadable}");
        }
    }

    #[test]
    fn a_hold_stops_the_clock_of_a_status_and_preserves_all_else() {
        let progress = start();
        let bytes = serde_json::to_vec(&progress).unwrap();
        let shown = record(
            status(&task(), &progress, StatusContext::default(), at(5)),
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
