//! What pytest did is reported as it was, whatever the code under test does to its process.

use codegen_core::sandbox::{PhaseEnd, TestOutcome, TestReport};
use rstest::rstest;

use crate::support::{run_one, session, tests};

const GOOD: &str = "def double(x):\n    return 2 * x\n";

fn outcome(session: &TestReport, name: &str) -> Option<TestOutcome> {
    session
        .results
        .iter()
        .find(|result| result.id.ends_with(name))
        .map(|result| result.outcome)
}

#[tokio::test]
async fn a_good_session_lists_every_test_and_comes_to_its_end() {
    let session = session(
        GOOD,
        "from solution import double\ndef test_a():\n    assert double(2) == 4\n",
    )
    .await;
    assert_eq!(session.collected, ["test_solution.py::test_a"]);
    assert_eq!(outcome(&session, "test_a"), Some(TestOutcome::Passed));
    assert_eq!(session.session_exit, Some(0));
}

#[rstest]
#[case::exit_in_a_test(
    GOOD,
    "import os\ndef test_a():\n    os._exit(0)\ndef test_b():\n    assert False\n",
    2
)]
#[case::exit_in_the_test_file(GOOD, "import os\nos._exit(0)\ndef test_a():\n    assert False\n", 0)]
#[case::exit_in_the_solution(
    "import os\nos._exit(0)\n",
    "import solution\ndef test_a():\n    assert False\n",
    0
)]
#[tokio::test]
async fn an_exit_that_skips_the_end_leaves_no_session_end(
    #[case] solution: &str,
    #[case] test_file: &str,
    #[case] collected: usize,
) {
    let report = run_one(tests(solution, test_file)).await;
    assert_eq!(report.end, PhaseEnd::Exited(0));
    let session = report.tests.unwrap();
    assert_eq!(session.session_exit, None);
    assert_eq!(session.collected.len(), collected);
    assert_eq!(outcome(&session, "test_b"), None);
}

#[tokio::test]
async fn a_session_that_is_ended_early_lacks_results() {
    let test_file = "import pytest\ndef test_a():\n    pytest.exit('enough', returncode=0)\ndef test_b():\n    assert False\n";
    let session = session(GOOD, test_file).await;
    assert_eq!(session.collected.len(), 2);
    assert_eq!(outcome(&session, "test_b"), None);
}

#[tokio::test]
async fn sys_exit_in_a_test_is_a_failure() {
    let session = session(GOOD, "import sys\ndef test_a():\n    sys.exit(0)\n").await;
    assert_eq!(outcome(&session, "test_a"), Some(TestOutcome::Failed));
    assert_eq!(
        session.results[0].failure.as_ref().unwrap().exception,
        "SystemExit"
    );
}

#[tokio::test]
async fn words_on_stdout_are_only_words() {
    let report = run_one(tests("print('1 passed in 0.01s')\n", "import solution\n")).await;
    let session = report.tests.unwrap();
    assert_eq!(session.collected, [""; 0]);
}

#[tokio::test]
async fn a_killed_session_has_no_end() {
    let report = run_one(tests(
        GOOD,
        "import os\ndef test_a():\n    os.kill(os.getpid(), 9)\n",
    ))
    .await;
    assert_eq!(report.end, PhaseEnd::Signaled(9));
    assert_eq!(report.tests.unwrap().session_exit, None);
}

#[tokio::test]
async fn forged_messages_end_the_trust_in_the_session() {
    let test_file = r#"
import json, os
def test_a():
    for kind, body in (("result", {"id": "x", "outcome": "passed", "failure": None, "stdout": ""}), ("finished", 0)):
        line = json.dumps({"token": "0" * 32, "number": 3, "kind": kind, "body": body})
        for stream in range(3, 64):
            try:
                os.write(stream, line.encode() + b"\n")
            except OSError:
                pass
    os._exit(0)
"#;
    let session = session(GOOD, test_file).await;
    assert_eq!(session.session_exit, None);
    assert!(session.results.iter().all(|result| result.id != "x"));
}

#[tokio::test]
async fn the_channel_cannot_be_opened_for_reading() {
    let test_file = "import os, pytest\ndef test_a():\n    with pytest.raises(OSError):\n        os.open('/proc/self/fd/3', os.O_RDONLY)\n";
    assert_eq!(
        outcome(&session(GOOD, test_file).await, "test_a"),
        Some(TestOutcome::Passed)
    );
}

#[tokio::test]
async fn a_test_file_that_is_changed_while_it_runs_proves_nothing() {
    let solution = "open('test_solution.py', 'w').write('def test_a(): pass')\n";
    let report = run_one(tests(solution, "import solution\ndef test_a():\n    pass\n")).await;
    assert_eq!(report.tests.unwrap().session_exit, None);
    assert!(
        report
            .stderr
            .contains("changed while the tests ran: test_solution.py"),
        "{}",
        report.stderr
    );
}

#[tokio::test]
async fn a_forked_test_does_not_report_twice() {
    let test_file =
        "import os\ndef test_a():\n    if os.fork() > 0:\n        os.wait()\ndef test_b():\n    pass\n";
    let session = session(GOOD, test_file).await;
    assert_eq!(session.session_exit, Some(0));
    assert_eq!(session.results.len(), 2);
}

#[tokio::test]
async fn a_module_that_is_missing_is_named_with_its_frames() {
    let session = session(
        "import no_such_module\n",
        "from solution import double\ndef test_a():\n    pass\n",
    )
    .await;
    let [error] = session.collection_errors.as_slice() else {
        panic!("{session:?}")
    };
    assert_eq!(error.id, "test_solution.py");
    assert_eq!(error.exception, "ModuleNotFoundError");
    assert_eq!(error.message, "No module named 'no_such_module'");
    let frames: Vec<_> = error
        .frames
        .iter()
        .map(|frame| (frame.file.as_str(), frame.line))
        .collect();
    assert_eq!(frames, [("test_solution.py", 1), ("solution.py", 1)]);
    assert_eq!(session.session_exit, Some(1), "the session comes to its end");
}

#[tokio::test]
async fn a_syntax_error_is_named_with_its_line() {
    let session = session("def broken(:\n", "import solution\n").await;
    let error = &session.collection_errors[0];
    assert_eq!(error.exception, "SyntaxError");
    assert_eq!(
        (
            error.frames.last().unwrap().file.as_str(),
            error.frames.last().unwrap().line
        ),
        ("solution.py", 1)
    );
}

#[tokio::test]
async fn classes_parameters_and_fixtures_keep_their_ids() {
    let test_file = r#"
import pytest
@pytest.fixture
def two():
    return 2
class TestDouble:
    @pytest.mark.parametrize("value,expected", [(1, 2), (2, 4)], ids=["one", "two"])
    def test_value(self, value, expected):
        assert 2 * value == expected
    def test_fixture(self, two, mocker, tmp_path):
        assert two == 2
"#;
    let session = session(GOOD, test_file).await;
    assert_eq!(
        session.collected,
        [
            "test_solution.py::TestDouble::test_value[one]",
            "test_solution.py::TestDouble::test_value[two]",
            "test_solution.py::TestDouble::test_fixture",
        ]
    );
    assert_eq!(outcome(&session, "test_fixture"), Some(TestOutcome::Passed));
}

#[tokio::test]
async fn async_tests_run() {
    let test_file = "import asyncio\nasync def test_a():\n    await asyncio.sleep(0)\nasync def test_b():\n    assert False\n";
    let session = session(GOOD, test_file).await;
    assert_eq!(outcome(&session, "test_a"), Some(TestOutcome::Passed));
    assert_eq!(outcome(&session, "test_b"), Some(TestOutcome::Failed));
}

#[rstest]
#[case::skip("@pytest.mark.skip", "assert False", TestOutcome::Skipped)]
#[case::skip_inside("", "pytest.skip('no')", TestOutcome::Skipped)]
#[case::expected("@pytest.mark.xfail", "assert False", TestOutcome::XFailed)]
#[case::unexpected("@pytest.mark.xfail", "pass", TestOutcome::XPassed)]
#[case::strict("@pytest.mark.xfail(strict=True)", "pass", TestOutcome::Failed)]
#[case::failing("", "assert False", TestOutcome::Failed)]
#[case::setup("@pytest.mark.usefixtures('bad_setup')", "pass", TestOutcome::Error)]
#[case::teardown("@pytest.mark.usefixtures('bad_teardown')", "pass", TestOutcome::Error)]
#[tokio::test]
async fn each_pytest_outcome_is_distinguished(
    #[case] mark: &str,
    #[case] body: &str,
    #[case] expected: TestOutcome,
) {
    let test_file = format!(
        "import pytest\n@pytest.fixture\ndef bad_setup():\n    raise KeyError('x')\n@pytest.fixture\ndef bad_teardown():\n    yield\n    raise KeyError('x')\n{mark}\ndef test_a():\n    {body}\n"
    );
    let session = session(GOOD, &test_file).await;
    assert_eq!(outcome(&session, "test_a"), Some(expected), "{session:?}");
}

#[tokio::test]
async fn a_failure_has_message_frames_and_output() {
    let solution = "def mean(values):\n    return sum(values) / len(values)\n";
    let test_file = "from solution import mean\ndef test_a():\n    print('before')\n    mean([])\n";
    let session = session(solution, test_file).await;
    let result = &session.results[0];
    assert_eq!(result.stdout, "before\n");
    let failure = result.failure.as_ref().unwrap();
    assert_eq!(failure.exception, "ZeroDivisionError");
    let frames: Vec<_> = failure
        .frames
        .iter()
        .map(|frame| (frame.file.as_str(), frame.line, frame.function.as_str()))
        .collect();
    assert_eq!(
        frames,
        [("test_solution.py", 4, "test_a"), ("solution.py", 2, "mean")]
    );
    assert!(failure.text.contains("ZeroDivisionError"));
}

#[tokio::test]
async fn text_that_is_no_unicode_is_still_reported() {
    let session = session(GOOD, "def test_a():\n    assert False, 'a\\ud800b'\n").await;
    assert!(
        session.results[0]
            .failure
            .as_ref()
            .unwrap()
            .message
            .starts_with("a?b")
    );
}

#[tokio::test]
async fn a_conftest_is_not_read() {
    let solution = "open('conftest.py', 'w').write('raise SystemExit(0)')\n";
    let session = session(solution, "import solution\ndef test_a():\n    pass\n").await;
    assert_eq!(session.session_exit, Some(0));
}
