//! Which acceptance tests have the program in their own process.

use super::*;
use rstest::rstest;

#[rstest]
#[case("import solution\nassert solution.f() == 1\n")]
#[case("from solution import f\n")]
#[case("def test_a():\n    import solution as program\n    assert program.f() == 1\n")]
#[case("import importlib\nprogram = importlib.import_module('solution')\n")]
#[case("from unittest import mock\n@mock.patch('solution.read')\ndef test_a(read):\n    pass\n")]
#[case("import solution\ncheck(solution)\n")]
fn a_program_that_tests_import_is_in_their_process(#[case] source: &str) {
    assert!(imports_program(source), "{source}");
}

#[rstest]
#[case("def test_a(program):\n    assert program().text('mean') == '1'\n")]
#[case("import subprocess, sys\nsubprocess.run([sys.executable, 'solution.py'])\n")]
#[case("import subprocess, sys\nimport solution\nsubprocess.run([sys.executable, solution.__file__])\n")]
#[case("from solutions import table\n")]
#[case("def broken(:\n")]
fn a_program_that_tests_run_is_not(#[case] source: &str) {
    assert!(!imports_program(source), "{source}");
}
