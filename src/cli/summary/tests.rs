//! The summary of tasks that ended well, badly and without a way on.

use std::path::PathBuf;

use super::*;
use crate::cli::paint::paint;
use codegen_api::CodeGenTask;
use codegen_api::status::{ArtifactRef, EvidenceStatus, SuiteStrength, TestCounts, TokenStatus};

fn ended(stage: &str, reason: &str) -> TaskOutcome {
    let counts = |passed| {
        Some(TestCounts {
            total: 8,
            passed,
            failed: 8 - passed,
            skipped: 0,
        })
    };
    let artifact = |name: &str| ArtifactRef {
        name: name.to_owned(),
        sha256: String::new(),
        bytes: 1,
    };
    let mut task = CodeGenTask::new("penguin-masses", codegen_api::CodeGenTaskSpec::default());
    task.status = Some(CodeGenTaskStatus {
        stage: Some(stage.to_owned()),
        reason: Some(reason.to_owned()),
        attempts: vec![
            AttemptStatus {
                number: 1,
                tests: counts(7),
                ..AttemptStatus::default()
            },
            AttemptStatus {
                number: 2,
                tests: counts(8),
                acceptance_tests: counts(8),
                suite_strength: Some(SuiteStrength::PassesWhenEmptied),
                ..AttemptStatus::default()
            },
        ],
        artifacts: vec![artifact("solution"), artifact("tests")],
        tokens: TokenStatus {
            input: 4512,
            output: 812,
            ..TokenStatus::default()
        },
        model_calls: 6,
        ..CodeGenTaskStatus::default()
    });
    TaskOutcome {
        task,
        folder: PathBuf::from("codegen-out/penguin-masses"),
        outputs: Vec::new(),
        first_rows: BTreeMap::new(),
        failed_examples: Vec::new(),
        notices: Vec::new(),
        recording: String::new(),
        stopped: None,
    }
}

fn text(ended: &TaskOutcome) -> String {
    let lines: Vec<String> = summary(ended).iter().map(|line| paint(line, false)).collect();
    for line in &lines {
        assert!(line.chars().count() <= 100, "{line}");
    }
    lines.join("\n")
}

#[test]
fn a_success_whose_cases_are_weak_ends_with_what_they_lack() {
    let mut ended = ended("Succeeded", "Weak");
    ended.task.status.as_mut().unwrap().evidence = Some(EvidenceStatus {
        strength: EvidenceStrength::Weak,
        cases_lack: vec!["duplicates".to_owned(), "text beyond ASCII".to_owned()],
        ..EvidenceStatus::default()
    });
    let text = text(&ended);
    assert!(text.contains("succeeded: Weak"), "{text}");
    assert!(
        text.ends_with("weak       no case or example has duplicates; text beyond ASCII"),
        "{text}"
    );
}

#[test]
fn success_names_program_tests_and_values() {
    let mut ended = ended("Succeeded", "TestsPassed");
    ended.outputs = vec![
        ("summary".to_owned(), "52 bytes".to_owned()),
        ("species".to_owned(), "3".to_owned()),
        ("report".to_owned(), "word ".repeat(40)),
    ];
    let rows = ["species,count,mean", "Adelie,151,3700.7"]
        .map(str::to_owned)
        .to_vec();
    ended.first_rows = BTreeMap::from([("summary".to_owned(), rows)]);
    ended.notices =
        vec!["your own solution.py is now codegen-out/penguin-masses/solution.py.yours-1".to_owned()];
    insta::assert_snapshot!(text(&ended));
}

#[test]
fn a_failing_example_is_explained_and_a_failed_task_ends_with_what_tries_it_again() {
    let mut ended = ended("Failed", "NoProgress");
    ended.failed_examples = vec![(
        "example 1 (January)".to_owned(),
        "total of netto: expected 99563.51, got 99563.50".to_owned(),
    )];
    let text = text(&ended);
    let words: Vec<&str> = text.split_whitespace().collect();
    let words = words.join(" ");
    assert!(
        words.contains("example example 1 (January): total of netto: expected 99563.51, got 99563.50;"),
        "{text}"
    );
    assert!(
        words.contains("next the same command with --retry and --hint '...' goes on"),
        "{text}"
    );
}

#[test]
fn failure_says_why_and_what_to_do() {
    let mut ended = ended("Failed", "BudgetExceeded");
    if let Some(status) = &mut ended.task.status {
        status.message = Some(
            "maxTokens is 5,000 and 5,324 are spent; the last failure was test_mean: 3701 is not 3700.7. Raise \
             limits.maxTokens and run the same command: it goes on from here."
                .to_owned(),
        );
        status.lost_calls = 1;
    }
    insta::assert_snapshot!(text(&ended));
}

#[test]
fn no_progress_shows_the_last_error() {
    let mut ended = ended("Failed", "NoProgress");
    if let Some(status) = &mut ended.task.status {
        status.message = Some("the same tests failed three times with the same program".to_owned());
        status.last_error = Some("test_mean: AssertionError: 3701 != 3700.7".to_owned());
        status.attempts.clear();
        status.artifacts.clear();
    }
    insta::assert_snapshot!(text(&ended));
}
