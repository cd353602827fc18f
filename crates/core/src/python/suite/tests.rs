//! Patches of suites.

use super::*;
use rstest::rstest;

const SUITE: &str = r#"import pytest
from solution import mean


@pytest.fixture
def rows():
    return [1, 2]


# Means.
@pytest.mark.parametrize("values, expected", [([1], 1), ([1, 3], 2)])
def test_mean(values, expected):
    assert mean(values) == expected


class TestMean:
    def setup_method(self):
        self.rows = [1]

    @pytest.mark.parametrize("value", ["a-1", "b"])
    def test_empty(self, value):
        assert mean([]) == 0

    async def test_later(self):
        assert mean([2]) == 2


class Helper:
    def test_nothing(self):
        return 1
"#;

fn suite() -> Module {
    Module::parse(SUITE).unwrap()
}

fn patched(patch_text: &str, named: &[&str]) -> Result<String, PatchFault> {
    patch(
        &suite(),
        patch_text,
        &named.iter().map(ToString::to_string).collect::<Vec<_>>(),
    )
}

#[test]
fn tests_are_found_with_their_class() {
    assert_eq!(
        all_tests(&suite()),
        ["test_mean", "TestMean.test_empty", "TestMean.test_later"]
    );
}

#[rstest]
#[case("test_solution.py::TestMean::test_empty[a-1]", Some("TestMean.test_empty"))]
#[case("tests/test_solution.py::test_mean[values0::x]", Some("test_mean"))]
#[case("TestMean::test_empty", Some("TestMean.test_empty"))]
#[case("TestMean.test_empty", Some("TestMean.test_empty"))]
#[case("test_later", Some("TestMean.test_later"))]
#[case("test_missing", None)]
fn node_ids_name_tests(#[case] named: &str, #[case] expected: Option<&str>) {
    assert_eq!(resolve(&suite(), named).as_deref(), expected);
}

#[test]
fn a_method_is_exchanged_and_keeps_its_decorators() {
    let text = patched(
        "class TestMean:\n    def test_empty(self, value):\n        assert mean([1]) == 1\n",
        &[
            "test_solution.py::TestMean::test_empty[a-1]",
            "test_solution.py::TestMean::test_empty[b]",
        ],
    );
    assert_eq!(
        text.unwrap(),
        SUITE.replace("assert mean([]) == 0", "assert mean([1]) == 1")
    );
}

#[test]
fn a_method_without_its_class_finds_its_place() {
    let text = patched(
        "async def test_later(self):\n    assert mean([4]) == 4\n",
        &["test_later"],
    )
    .unwrap();
    assert_eq!(text, SUITE.replace("mean([2]) == 2", "mean([4]) == 4"));
}

#[test]
fn decorators_of_the_patch_win() {
    let text = patched(
        "@pytest.mark.parametrize('values, expected', [([2], 2)])\ndef test_mean(values, expected):\n    assert mean(values) == expected\n",
        &["test_mean"],
    );
    assert!(
        text.unwrap()
            .contains("# Means.\n@pytest.mark.parametrize('values, expected', [([2], 2)])\ndef test_mean")
    );
}

#[test]
fn imports_and_fixtures_come_along_but_other_tests_stay() {
    let text = patched(
        "import math\n\n@pytest.fixture\ndef more():\n    return [3]\n\ndef test_mean(more):\n    assert math.isclose(mean(more), 3)\n\n\
         def test_new():\n    assert True\n\nclass TestMean:\n    def test_empty(self, value):\n        assert True\n",
        &["test_mean"],
    )
    .unwrap();
    assert!(
        text.contains("from solution import mean\nimport math\n"),
        "{text}"
    );
    assert!(text.contains("def more():"));
    assert!(text.contains("def test_mean(more):"));
    assert!(!text.contains("test_new") && !text.contains("assert True"));
}

#[test]
fn a_new_parameter_list_drops_old_parameters() {
    let text = patched("def test_mean():\n    assert mean([5]) == 5\n", &["test_mean"]).unwrap();
    assert!(
        text.contains("# Means.\ndef test_mean():\n    assert mean([5]) == 5\n"),
        "{text}"
    );
}

#[rstest]
#[case("def test_mean(:", &["test_mean"], "not valid Python")]
#[case("def test_mean():\n    assert 1\n", &["test_other"], "the suite has no test test_other")]
#[case("def test_mean():\n    assert 1\n", &["test_mean", "TestMean::test_later"], "lacks TestMean.test_later")]
#[case("def test_mean(values, expected):\n    assert mean(values) == expected  # same\n", &["test_mean"], "test_mean did not change")]
fn a_patch_that_does_not_do_what_it_should_is_refused(
    #[case] text: &str,
    #[case] named: &[&str],
    #[case] message: &str,
) {
    let fault = patched(text, named).unwrap_err().to_string();
    assert!(fault.contains(message), "{fault}");
}

const FAMILY: &str = "\
import unittest

class Base(unittest.TestCase):
    def test_base(self):
        self.check()

class Counts(Base):
    def test_words(self):
        self.check()

class Checks:
    def test_rows(self):
        assert self.rows

class Further(Checks):
    pass

class TestRows(Further):
    rows = [1]

class Helper:
    def test_nothing(self):
        return 1
";

#[test]
fn tests_are_found_in_heirs_of_unittest_and_in_what_test_classes_inherit() {
    let family = Module::parse(FAMILY).unwrap();
    let found = all_tests(&family);
    assert_eq!(found, ["Base.test_base", "Counts.test_words", "Checks.test_rows"]);
}

#[rstest]
#[case("test_solution.py::TestRows::test_rows", Some("Checks.test_rows"))]
#[case("test_solution.py::Counts::test_base", Some("Base.test_base"))]
#[case("test_solution.py::Counts::test_words", Some("Counts.test_words"))]
#[case("test_solution.py::Helper::test_nothing", None)]
fn a_node_id_names_the_test_where_it_is_defined(#[case] named: &str, #[case] expected: Option<&str>) {
    let family = Module::parse(FAMILY).unwrap();
    assert_eq!(resolve(&family, named).as_deref(), expected);
}

#[test]
fn cyclic_base_classes_are_no_tests() {
    let circle = Module::parse("class A(B):\n    def test_a(self):\n        pass\n\nclass B(A):\n    pass\n");
    assert_eq!(all_tests(&circle.unwrap()), [""; 0]);
}
