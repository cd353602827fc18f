//! A suite is run against mutants of its program, each in a process of its own, and what one does reaches no other.

use std::collections::BTreeMap;

use codegen_operator::pipeline::mutants::{Mutant, MutantOutcome, MutantPhase, MutantReport};
use codegen_operator::pipeline::sandbox::{Phase, PhaseEnd, PhaseName};
use rstest::rstest;

use crate::support::{job, run, tests};

use MutantOutcome::{Caught, Survived, TimedOut};

const PROGRAM: &str = "\
import os
import signal


def double(x):
    y = x * 2
    return y


def unused(x):
    return x
";
const SUITE: &str = "\
import os
from pathlib import Path

import pytest
import solution


@pytest.mark.parametrize('x', [0, 2])
def test_double(x, tmp_path, monkeypatch, capsys):
    assert solution.double(x) == 2 * x


def test_nothing_is_left_of_others():
    assert not {'conftest.py', 'test_more.py'} & {path.name for path in Path('/sandbox').iterdir()}
    assert not [path for path in Path('/tmp').iterdir() if not path.name.startswith('pytest-of-')]
    others = {name for name in os.listdir('/proc') if name.isdigit()} - {'1', str(os.getpid()), str(os.getppid())}
    assert not others
";

/// The program with `y` on the line that is returned replaced.
fn mutant(id: &str, replacement: &str) -> Mutant {
    let start = PROGRAM.find("return y").unwrap();
    Mutant {
        id: id.into(),
        function: "double".into(),
        line: 7,
        what: String::new(),
        start,
        end: start + "return y".len(),
        replacement: replacement.into(),
    }
}

fn phase(suite: &str, mutants: Vec<Mutant>) -> MutantPhase {
    MutantPhase {
        solution: PROGRAM.into(),
        tests: BTreeMap::from([("test_solution.py".to_owned(), suite.to_owned())]),
        mutants,
        most: 8,
        preload: vec!["json".into(), "no_such_module".into()],
        decides: true,
    }
}

async fn report(suite: &str, mutants: MutantPhase) -> MutantReport {
    let job = job(vec![tests(PROGRAM, suite), Phase::Mutants(mutants)]);
    let report = run(&job).await;
    assert!(!report.is_failed_execution(&job));
    let [_, done] = report.phases.as_slice() else {
        panic!("{report:?}");
    };
    assert_eq!((done.name, &done.end), (PhaseName::Mutants, &PhaseEnd::Exited(0)));
    done.mutants.clone().unwrap()
}

async fn outcomes(replacements: &[&str]) -> Vec<MutantOutcome> {
    let mutants = replacements.iter().enumerate();
    let mutants = mutants.map(|(number, replacement)| mutant(&number.to_string(), replacement));
    let report = report(SUITE, phase(SUITE, mutants.collect())).await;
    assert_eq!(report.not_run, 0, "{report:?}");
    report.results.into_iter().map(|result| result.outcome).collect()
}

#[tokio::test]
async fn what_a_test_notices_is_caught_and_the_rest_survives() {
    let found = outcomes(&[
        "return None",
        "return 0 + y",
        "return y + 1",
        "raise ValueError(x)",
        "return y if x < 5 else 0",
    ]);
    assert_eq!(found.await, [Caught, Survived, Caught, Caught, Survived]);
}

#[rstest]
#[case::ends_as_if_all_were_well("os._exit(0)", Caught)]
#[case::ends_itself("os.kill(os.getpid(), 9)", Caught)]
#[case::ends_what_forked_it("os.kill(os.getppid(), 9)", Caught)]
#[case::ends_everything("os.kill(-1, 9)", Caught)]
#[case::runs_for_ever("while True: pass", TimedOut)]
#[case::waits_for_nothing("signal.pause()", TimedOut)]
#[case::takes_the_channel("os.closerange(3, 64)", Caught)]
#[case::fills_the_memory("return bytearray(1 << 30)", Caught)]
#[tokio::test]
async fn a_mutant_that_breaks_its_process_is_caught_and_the_next_ones_run(
    #[case] replacement: &str,
    #[case] expected: MutantOutcome,
) {
    assert_eq!(
        outcomes(&[replacement, "return y + 0", "return y + 1"]).await,
        [expected, Survived, Caught]
    );
}

#[tokio::test]
async fn nothing_of_a_mutant_reaches_the_next() {
    let leaves = "\
pid = os.fork()
    if pid == 0:
        signal.pause()
    open('/tmp/left', 'w').close()
    open('/sandbox/conftest.py', 'w').close()
    open('/sandbox/test_more.py', 'w').close()
    return None";
    assert_eq!(outcomes(&[leaves, "return y + 0"]).await, [Caught, Survived]);
}

#[tokio::test]
async fn functions_take_turns_and_those_without_a_notice_come_first() {
    let mut asked = phase(SUITE, vec![mutant("a1", "return None"), mutant("a2", "return 1")]);
    let start = PROGRAM.find("return x").unwrap();
    asked.mutants.extend((1..=3).map(|number| Mutant {
        function: "unused".into(),
        start,
        end: start + "return x".len(),
        ..mutant(&format!("b{number}"), &format!("return {number}"))
    }));
    asked.most = 4;
    let report = report(SUITE, asked).await;
    let ids: Vec<&str> = report.results.iter().map(|result| result.id.as_str()).collect();
    assert_eq!(ids, ["a1", "b1", "b2", "b3"]);
}

#[rstest]
#[case::that_fails(SUITE, "import solution\ndef test_a():\n    assert solution.double(1) == 3\n")]
#[case::that_passes_only_once(
    "import os\nimport solution\ndef test_a():\n    assert solution.double(1) == 2 and os.getppid() != 1\n",
    "import os\nimport solution\ndef test_a():\n    assert solution.double(1) == 2 and os.getppid() == 1\n"
)]
#[tokio::test]
async fn no_mutant_is_run_for_a_suite(#[case] _honest: &str, #[case] suite: &str) {
    let report = report(suite, phase(suite, vec![mutant("m", "return None")])).await;
    assert_eq!(report.results, []);
}
