//! A recorded task for tests of what is shown of one.

use std::collections::BTreeMap;
use std::path::PathBuf;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::task::{Place, RecordedTask};
use crate::cli::cluster::Cluster;
use crate::controller::tests::api_server::NAMESPACE;
use crate::controller::tests::world::World;
use codegen_api::status::{
    AttemptStatus, CaseCounts, CodeGenTaskStatus, RehearsalResult, TestCounts, TokenStatus,
};
use codegen_core::call::{CallKind, FinishReason, Reply, Usage};
use codegen_core::progress::Progress;
use codegen_core::sandbox::{PhaseName, TestFailure, TestOutcome, TestReport, TestResult};
use codegen_core::stage::Stage;
use codegen_core::test_support::{at, document, phase, report, start, task, verdict};
use codegen_core::verdict::{CheckSource, FailedCheck, RehearsalFindings};
use codegen_engine::attempt::AttemptRecord;
use codegen_ledger::Entry;

pub const FIRST_PROGRAM: &str = "def count(text):\n    return 1\n";
pub const SECOND_PROGRAM: &str = "def count(text):\n    return len(text.split())\n";
pub const SUITE: &str = "def test_two():\n    assert count('a b') == 2\n";

const TRACEBACK: &str = "def test_two():\n>       assert count('a b') == 2\nE       assert 1 == 2\u{1b}[2J\n";

/// The cluster of a test as commands see it.
pub fn seen(world: &World) -> Cluster {
    Cluster {
        client: world.server.client(),
        namespace: NAMESPACE.to_owned(),
    }
}

/// A task on this machine that needed one fix.
pub fn recorded() -> RecordedTask {
    let task = task();
    let mut documents = BTreeMap::new();
    for entry in entries() {
        let name = Entry::name(entry.sequence, entry.kind);
        documents.insert(name, serde_json::to_vec(&entry).unwrap());
    }
    for (name, source) in [
        ("documents/solution-0002.py", FIRST_PROGRAM),
        ("documents/tests-0003.py", SUITE),
        ("documents/solution-0005.py", SECOND_PROGRAM),
    ] {
        documents.insert(name.to_owned(), source.as_bytes().to_vec());
    }
    for attempt in [first(), second()] {
        let name = format!("documents/run-{:04}.json", attempt.attempt);
        documents.insert(name, serde_json::to_vec(&attempt).unwrap());
    }
    RecordedTask {
        name: task.name.clone(),
        place: Place::Folder(PathBuf::from("codegen-out/words")),
        status: status(),
        progress: Some(progress()),
        task: Some(task),
        documents,
        withheld: None,
        foreign: None,
        is_private: false,
    }
}

/// The same for whoever may read its status alone.
pub fn withheld() -> RecordedTask {
    RecordedTask {
        documents: BTreeMap::new(),
        task: None,
        withheld: Some("ask for the right to get Secrets".to_owned()),
        ..recorded()
    }
}

fn progress() -> Progress {
    let mut progress = start();
    progress.stage = Stage::Succeeded;
    progress.documents.solution = Some(document("documents/solution-0005.py"));
    progress.documents.tests = Some(document("documents/tests-0003.py"));
    progress
}

fn status() -> CodeGenTaskStatus {
    let attempt = |number, passed, summary: &str, second| AttemptStatus {
        number,
        tests: Some(TestCounts {
            total: 2,
            passed,
            failed: 2 - passed,
            skipped: 0,
        }),
        cases: Some(CaseCounts {
            total: 1,
            passed: passed - 1,
        }),
        summary: Some(summary.to_owned()),
        started_at: Some(Time(at(second - 5))),
        completed_at: Some(Time(at(second))),
        ..AttemptStatus::default()
    };
    CodeGenTaskStatus {
        stage: Some("Succeeded".to_owned()),
        reason: Some("TestsPassed".to_owned()),
        message: Some("2 tests passed".to_owned()),
        run: Some("0123456789abcdef".to_owned()),
        attempts: vec![
            attempt(
                1,
                1,
                "test_solution.py::test_two: AssertionError: assert 1 == 2",
                40,
            ),
            attempt(2, 2, "1 of 1 cases and 2 tests passed", 70),
        ],
        // One call more than there are replies.
        model_calls: 6,
        tokens: TokenStatus::new(6_100, 600),
        started_at: Some(Time(at(0))),
        completed_at: Some(Time(at(71))),
        ..CodeGenTaskStatus::default()
    }
}

/// Its calls, a thousand tokens each.
pub fn entries() -> Vec<Entry> {
    let kinds = [
        (CallKind::Plan, 5),
        (CallKind::Code, 12),
        (CallKind::Tests, 30),
        (CallKind::Diagnosis, 45),
        (CallKind::FixCode, 60),
    ];
    (1..)
        .zip(kinds)
        .map(|(sequence, (kind, second))| Entry {
            sequence,
            kind,
            request_hash: format!("hash {sequence}"),
            prefix: "prefix".to_owned(),
            instruction: format!("Do step {sequence}.\nBe brief."),
            reply: Reply {
                text: "{}".to_owned(),
                finish: FinishReason::Complete,
                usage: Usage {
                    input: 1_000,
                    output: 100,
                },
                ..Reply::default()
            },
            started_at: at(second - 2),
            finished_at: at(second),
        })
        .collect()
}

fn test(name: &str, failure: Option<TestFailure>) -> TestResult {
    TestResult {
        id: format!("test_solution.py::{name}"),
        outcome: if failure.is_some() {
            TestOutcome::Failed
        } else {
            TestOutcome::Passed
        },
        failure,
        stdout: String::new(),
    }
}

fn attempt(number: u32, second: i64, results: Vec<TestResult>, failed: Vec<FailedCheck>) -> AttemptRecord {
    let mut suite = phase(PhaseName::Tests, 1);
    suite.tests = Some(TestReport {
        collected: results.iter().map(|result| result.id.clone()).collect(),
        results,
        session_exit: Some(1),
        ..TestReport::default()
    });
    let passed = i32::from(failed.is_empty());
    let mut judged = verdict(failed);
    judged.cases = Some(CaseCounts { total: 1, passed });
    judged.rehearsal.result = RehearsalResult::Passed;
    AttemptRecord {
        attempt: number,
        started_at: at(second),
        report: report(vec![suite]),
        findings: RehearsalFindings::default(),
        failed_cases: BTreeMap::new(),
        failed_acceptance: Vec::new(),
        failed_examples: Vec::new(),
        verdict: judged,
        solution: None,
        tests: None,
    }
}

fn first() -> AttemptRecord {
    let detail = TestFailure {
        id: "test_solution.py::test_two".to_owned(),
        exception: "AssertionError".to_owned(),
        message: "assert 1 == 2".to_owned(),
        text: TRACEBACK.to_owned(),
        ..TestFailure::default()
    };
    let case = TestFailure {
        id: "two words".to_owned(),
        message: "total is 1, not 2".to_owned(),
        ..TestFailure::default()
    };
    let failed = vec![
        FailedCheck {
            source: CheckSource::Test,
            detail: detail.clone(),
        },
        FailedCheck {
            source: CheckSource::Case,
            detail: case,
        },
    ];
    let mut attempt = attempt(
        1,
        35,
        vec![test("test_one[a-1]", None), test("test_two", Some(detail))],
        failed,
    );
    let mut run = phase(PhaseName::Case, 0);
    run.stdout = "counted 1\n".to_owned();
    attempt.failed_cases.insert("two words".to_owned(), run);
    attempt
}

fn second() -> AttemptRecord {
    attempt(
        2,
        65,
        vec![test("test_one[a-1]", None), test("test_two", None)],
        Vec::new(),
    )
}
