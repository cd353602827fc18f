use rstest::rstest;

use super::*;
use crate::pipeline::python::tampering::suite_findings;
use crate::pipeline::sandbox::{PhaseName, TestOutcome, TestPhase};
use crate::pipeline::test_support::{session, test_job};

const SUITE: &str = "\"\"\"Tests.\"\"\"\n\nfrom __future__ import annotations\n\nimport pytest\n\nfrom solution import mean, median\n\n\n\
    def test_mean_of_two_rows():\n    assert mean([1, 3]) == 2\n\n\n\
    @pytest.mark.parametrize('x', [1])\ndef test_median_single(x):\n    text = \"\"\"\n\n\n\"\"\"\n    assert median([x]) == 1\n\n\n\
    class TestEmpty:\n    def test_mean_is_refused(self):\n        assert mean([]) is None\n";

fn suite(text: &str) -> BTreeMap<String, String> {
    BTreeMap::from([("test_solution.py".to_owned(), text.to_owned())])
}

fn own(id: &str) -> &str {
    id.split_once("::").map(|(_, name)| name).unwrap()
}

#[test]
fn no_line_of_the_suite_moves_and_all_of_it_stays() {
    for secret in 0..200 {
        let (planted, sentinels) = plant(&suite(SUITE), &secret.to_string());
        let text = &planted["test_solution.py"];
        for (before, after) in SUITE.lines().zip(text.lines()) {
            assert!(before.is_empty() || before == after, "{before}\n{text}");
        }
        let module = Module::parse(text).unwrap();
        let names: Vec<String> = test_functions(&module)
            .into_iter()
            .map(|test| test.qualname)
            .collect();
        assert_eq!(names.len(), 5, "{text}");
        for id in [&sentinels.must_pass, &sentinels.must_fail] {
            assert!(id.starts_with("test_solution.py::"), "{id}");
            assert_eq!(names.iter().filter(|name| *name == own(id)).count(), 1, "{text}");
        }
        assert!(suite_findings(&module).is_empty(), "{text}");
    }
}

#[test]
fn they_take_every_place_and_the_words_of_the_suite() {
    let mut places = BTreeSet::new();
    for secret in 0..200 {
        let (planted, sentinels) = plant(&suite(SUITE), &secret.to_string());
        let text = &planted["test_solution.py"];
        let line = text
            .lines()
            .position(|line| line.contains(own(&sentinels.must_fail)))
            .unwrap();
        places.insert(line);
        for word in own(&sentinels.must_fail).split('_') {
            assert!(
                SUITE.contains(word) || word.parse::<u32>().is_ok(),
                "{}",
                sentinels.must_fail
            );
        }
    }
    assert!(places.len() >= 4, "{places:?}");
}

#[test]
fn people_are_not_shown_what_nobody_knows() {
    let words =
        "..F\n==== FAILURES ====\n____ test_a ____\nE 1\n____ test_a_row ____\nE 2\n____ test_b ____\nE 3\n";
    assert_eq!(
        without_section(words, "test_a_row"),
        words.replace("____ test_a_row ____\nE 2\n", "")
    );
    assert_eq!(without_section("printed", "test_a"), "printed\n");
}

#[test]
fn the_same_secret_plants_the_same_and_another_another() {
    assert_eq!(plant(&suite(SUITE), "a"), plant(&suite(SUITE), "a"));
    assert_ne!(plant(&suite(SUITE), "a").1, plant(&suite(SUITE), "b").1);
}

#[rstest]
#[case::marks("pytestmark = pytest.mark.parametrize('x', [1])\ndef test_a(x):\n    pass\n")]
#[case::hook("def pytest_generate_tests(metafunc):\n    pass\ndef test_a():\n    pass\n")]
#[case::fixture(
    "@pytest.fixture(autouse=True, params=[1, 2])\ndef f():\n    pass\ndef test_a():\n    pass\n"
)]
fn where_a_file_decides_about_its_tests_they_have_files_of_their_own(#[case] text: &str) {
    let (planted, sentinels) = plant(&suite(text), "a");
    assert_eq!(planted["test_solution.py"], text);
    assert_eq!(planted.len(), 3);
    for id in [sentinels.must_pass, sentinels.must_fail] {
        let (file, name) = id.split_once("::").unwrap();
        assert!(planted[file].contains(&format!("def {name}():")), "{planted:?}");
    }
}

#[rstest]
#[case::no_test("")]
#[case::one_line("def test_a(): pass")]
#[case::windows("from solution import a\r\n\r\n\r\ndef test_a():\r\n    pass\r\n\r\n\r\nx = 1\r\n")]
#[case::comments("import solution\n\n# first\n\ndef test_a():\n    pass\n# last")]
fn a_suite_of_any_form_is_python_still(#[case] text: &str) {
    for secret in ["a", "b", "c", "d"] {
        let (planted, sentinels) = plant(&suite(text), secret);
        let module = Module::parse(&planted["test_solution.py"]).unwrap();
        let names: Vec<String> = test_functions(&module)
            .into_iter()
            .map(|test| test.qualname)
            .collect();
        for id in [&sentinels.must_pass, &sentinels.must_fail] {
            assert!(names.iter().any(|name| name == own(id)), "{planted:?}");
        }
    }
}

#[rstest]
#[case::no_python("def test_(:".to_owned())]
#[case::too_long("x = 1\n".repeat(200_000))]
fn where_a_file_is_not_read_they_have_files_of_their_own(#[case] text: String) {
    let (planted, _) = plant(&suite(&text), "a");
    assert_eq!(planted["test_solution.py"], text);
    assert_eq!(planted.len(), 3);
}

#[rstest]
#[case::goes_on("x = 1 \\\n\n\ny = 2\n\n\ndef test_a():\n    pass\n")]
#[case::lone_return("x = 1\ry = 2\nz = \"\"\"\n\n\n\"\"\"\n\n\ndef test_a():\n    pass\n")]
fn a_sentinel_is_planted_between_statements_only(#[case] text: &str) {
    let before = Module::parse(text).unwrap().body().len();
    for secret in 0..50 {
        let (planted, _) = plant(&suite(text), &secret.to_string());
        let after = Module::parse(&planted["test_solution.py"]).unwrap();
        assert_eq!(after.body().len(), before + 2, "{planted:?}");
    }
}

#[test]
fn a_sandbox_does_not_learn_which_tests_are_sentinels() {
    let (tests, sentinels) = plant(&suite(SUITE), "a");
    let phase = TestPhase {
        name: PhaseName::Tests,
        solution: String::new(),
        tests,
        sentinels: sentinels.clone(),
        channel: None,
    };
    let told = serde_json::to_value(&phase).unwrap();
    let keys: Vec<&String> = told.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["name", "solution", "tests"]);
    assert!(!told.to_string().contains(&sentinels.must_fail), "{told}");
}

#[test]
fn a_shown_report_holds_the_suites_own_tests_alone() {
    let job = test_job(PhaseName::Tests);
    let mut report = Report {
        phases: vec![session(&[("test_solution.py::test_a", TestOutcome::Passed)])],
        seconds: 0.0,
    };
    take_out(&job, &mut report);
    let tests = report.phases[0].tests.as_ref().unwrap();
    assert_eq!(tests.collected, ["test_solution.py::test_a"]);
    assert_eq!(tests.results.len(), 1);
}
