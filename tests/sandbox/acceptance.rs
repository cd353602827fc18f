//! Acceptance tests see the program by a channel alone: it is never there while they are.

use std::collections::BTreeMap;

use codegen_core::sandbox::{Phase, PhaseName, PhaseReport, ProgramChannel, TestOutcome, TestPhase};

use crate::jobs::suite;
use crate::support::{run_one, tests};

const MEAN: &str = include_str!("acceptance/mean.py");
const OUTPUTS: [&str; 5] = ["mean", "facts", "table", "parts", "found"];

/// Acceptance tests of a program, which they do not import.
fn acceptance(solution: &str, file: &str) -> Phase {
    let Phase::Tests(phase) = suite(PhaseName::Acceptance, solution, &[("test_acceptance.py", file)]) else {
        unreachable!()
    };
    Phase::Tests(TestPhase {
        channel: Some(ProgramChannel {
            outputs: OUTPUTS.map(str::to_owned).to_vec(),
            max_output_bytes: 1 << 20,
        }),
        ..phase
    })
}

/// Names of the tests that ended so, with the message of each.
fn ended(report: &PhaseReport, outcome: TestOutcome) -> Vec<(String, String)> {
    let session = report.tests.as_ref().unwrap();
    session
        .results
        .iter()
        .filter(|result| result.outcome == outcome)
        .map(|result| {
            let name = result.id.rsplit("::").next().unwrap_or_default().to_owned();
            let failure = result.failure.clone().unwrap_or_default();
            (name, format!("{}: {}", failure.exception, failure.message))
        })
        .collect()
}

#[tokio::test]
async fn honest_acceptance_tests_run_as_people_expect() {
    let report = run_one(acceptance(MEAN, include_str!("acceptance/honest.py"))).await;
    assert_eq!(ended(&report, TestOutcome::Failed), []);
    assert_eq!(ended(&report, TestOutcome::Error), []);
    assert_eq!(ended(&report, TestOutcome::Passed).len(), 12, "{}", report.stderr);
    assert_eq!(report.tests.unwrap().session_exit, Some(0));
}

#[tokio::test]
async fn a_failing_acceptance_test_says_what_was_wrong() {
    let report = run_one(acceptance(MEAN, include_str!("acceptance/failing.py"))).await;
    let failed: BTreeMap<String, String> = ended(&report, TestOutcome::Failed).into_iter().collect();
    for (test, says) in [
        ("test_wrong_value", "AssertionError: assert '1.0' == '2.0'"),
        ("test_missing_output", "wrote no output 'median'"),
        ("test_failed_program", "CalledProcessError"),
        ("test_that_expects_anything_to_fail", "it did not fail"),
        (
            "test_import_is_explained",
            "the program runs apart from its acceptance tests",
        ),
    ] {
        assert!(
            failed.get(test).is_some_and(|said| said.contains(says)),
            "{test}: {failed:#?}"
        );
    }
    assert_eq!(failed.len(), 5, "{failed:#?}");
}

#[tokio::test]
async fn a_program_finds_nothing_of_the_acceptance_tests_and_leaves_nothing_for_them() {
    let report = run_one(acceptance(
        include_str!("acceptance/spy.py"),
        include_str!("acceptance/expects.py"),
    ))
    .await;
    let failed = ended(&report, TestOutcome::Failed);
    assert_eq!(failed.len(), 1, "{failed:#?}\n{}", report.stderr);
    assert_eq!(failed[0].0, "test_that_fails");
    assert_eq!(ended(&report, TestOutcome::Passed).len(), 2);
}

/// The same program beside the same tests, as it was before there was a channel: it finds them.
#[tokio::test]
async fn beside_its_tests_a_program_finds_them() {
    let beside = "import json\nimport subprocess\nimport sys\n\nimport solution\n\n\ndef test_the_secret_expectation():\n    \
                  subprocess.run([sys.executable, solution.__file__], check=True)\n    \
                  with open('/var/outputs/found') as file:\n        found = json.load(file)\n    \
                  assert '/sandbox/test_solution.py' in found['files']\n    assert 'PYTEST_CURRENT_TEST' in found['environment']\n    \
                  assert found['processes']\n";
    let report = run_one(tests(include_str!("acceptance/spy.py"), beside)).await;
    let session = report.tests.unwrap();
    let result = session
        .results
        .iter()
        .find(|result| result.id.contains("secret"))
        .unwrap();
    assert_eq!(result.outcome, TestOutcome::Passed, "{result:#?}");
}

/// Makes every test of its process pass.
const PATCH: &str = "import _pytest.python\n_pytest.python.Function.runtest = lambda self: None\n";

#[tokio::test]
async fn a_program_that_patches_pytest_has_no_effect_on_acceptance_tests() {
    let attack = PATCH.replace('\n', "\n    ");
    let attack = format!("try:\n    {attack}\nexcept ImportError:\n    pass\n");
    let file = "def test_sum(program):\n    assert program(files={'data': '1\\n'}).text('mean') == '7.0'\n";
    let report = run_one(acceptance(&format!("{attack}\n{MEAN}"), file)).await;
    let failed = ended(&report, TestOutcome::Failed);
    assert_eq!(failed.len(), 1, "{:#?}\n{}", report.tests, report.stderr);
    assert!(
        failed[0].1.starts_with("AssertionError: assert '1.0' == '7.0'"),
        "{failed:?}"
    );
}

#[tokio::test]
async fn a_program_that_patches_pytest_decides_tests_that_import_it() {
    let beside = "import solution\n\n\ndef test_sum():\n    assert solution.main() == 7\n";
    let report = run_one(tests(&format!("{PATCH}\n{MEAN}"), beside)).await;
    let session = report.tests.unwrap();
    let result = session
        .results
        .iter()
        .find(|result| result.id.ends_with("test_sum"))
        .unwrap();
    assert_eq!(result.outcome, TestOutcome::Passed);
}

#[tokio::test]
async fn tests_whose_calls_differ_each_time_prove_nothing_and_say_why() {
    let report = run_one(acceptance(MEAN, include_str!("acceptance/restless.py"))).await;
    assert_eq!(report.tests.as_ref().unwrap().session_exit, None);
    assert!(
        report.stderr.contains("differ from one session to the next"),
        "{}",
        report.stderr
    );
}

#[tokio::test]
async fn a_call_that_takes_too_long_ends_alone() {
    let slow = "import sys\nwhile '--data' in sys.argv:\n    pass\nprint('fast')\n";
    let file = "import subprocess\nimport pytest\n\n\ndef test_slow():\n    with pytest.raises(subprocess.TimeoutExpired):\n        \
                subprocess.run(['python3', 'solution.py', '--data', 'x'], timeout=0.5)\n\n\n\
                def test_fast(program):\n    assert program().stdout == 'fast\\n'\n";
    let report = run_one(acceptance(slow, file)).await;
    assert_eq!(
        ended(&report, TestOutcome::Passed).len(),
        2,
        "{:#?}",
        report.tests
    );
}
