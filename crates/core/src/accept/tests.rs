mod replacements;

use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::call::{FaultClass, FinishReason, Usage};
use crate::cases::{Blamed, CaseExecution, CaseOrigin};
use crate::progress::{BuildFault, BuiltImage};
use crate::test_support::{failed, pip, start, task, verdict};
use crate::verdict::CheckSource;
use codegen_api::status::ErrorType;
use codegen_api::values::{Input, Output, ValueType};

const SOLUTION: &str = "def count(text: str) -> int:\n    \"\"\"Number of words.\"\"\"\n    return len(text)\n\n\ndef main() -> None:\n    \"\"\"Print a count.\"\"\"\n    print(count(\"a b\"))\n\n\nif __name__ == \"__main__\":\n    main()\n";
const TESTS: &str = "import solution\n\n\ndef test_counts():\n    assert solution.count(\"a b\") == 2\n\n\ndef test_none():\n    assert solution.count(\"\") == 0\n";

fn reply(value: &Value) -> Reply {
    Reply {
        text: value.to_string(),
        finish: FinishReason::Complete,
        usage: Usage::default(),
        ..Reply::default()
    }
}

fn material() -> Material {
    Material {
        solution: SOLUTION.into(),
        tests: TESTS.into(),
        verdict: Some(verdict(vec![failed(
            CheckSource::Test,
            "test_solution.py::test_counts",
            "assert 3 == 2",
        )])),
        ..Material::default()
    }
}

fn taken(kind: CallKind, value: &Value) -> Result<Accepted, Refusal> {
    accept(&task(), &start(), &material(), kind, &reply(value))
}

fn refused(result: Result<Accepted, Refusal>) -> String {
    match result.unwrap_err() {
        Refusal::Reply(fault) | Refusal::NotApplied(fault) => fault.reason,
    }
}

fn code(source: &str) -> Value {
    json!({"code": source, "packages": [], "systemPackages": []})
}

fn row(error_type: &str, functions: &[&str], packages: &[&str]) -> Value {
    json!({
        "failure": 1, "errorType": error_type, "expected": "e", "actual": "a", "rootCause": "c", "suggestedFix": "f",
        "functions": functions, "packages": packages, "systemPackages": [],
    })
}

/// Material in which `functions` must change because of `error_type`.
fn diagnosed(error_type: &str, functions: &[&str]) -> Material {
    let rows = json!({"failures": [row(error_type, functions, &[])]});
    let mut material = material();
    match taken(CallKind::Diagnosis, &rows).unwrap() {
        Accepted::Diagnosis { diagnosis, .. } => material.diagnosis = diagnosis,
        other => panic!("{other:?}"),
    }
    material
}

#[test]
fn a_program_brings_its_packages_along() {
    let source = format!("import yaml\nimport json\n\n\n{SOLUTION}");
    let mut value = code(&source);
    value["packages"] = json!(["Tabulate"]);
    let Ok(Accepted::Source(accepted)) = taken(CallKind::Code, &value) else {
        panic!("refused")
    };
    assert_eq!(accepted.wanted, pip(&["pyyaml", "tabulate"]));
    assert_eq!(accepted.source, source);
}

#[rstest]
#[case::fence("```python\nx = 1\n```", "inside a fence")]
#[case::empty("  \n", "The code is empty")]
#[case::prose("Here is the code you asked for", "does not parse")]
fn a_program_that_cannot_run_is_refused_with_the_evidence(#[case] source: &str, #[case] says: &str) {
    let reason = refused(taken(CallKind::Code, &code(source)));
    assert!(reason.contains(says), "{reason}");
}

#[test]
fn a_program_that_leaves_out_an_option_or_an_output_is_refused_with_what_is_missing() {
    let input: Input = serde_json::from_value(json!({"name": "decimals", "type": "Int"})).unwrap();
    let output = Output {
        name: "total_words".into(),
        type_: ValueType::Int,
        format: None,
        description: None,
    };
    let task = Task {
        inputs: vec![input],
        outputs: vec![output],
        ..task()
    };
    let reason = refused(accept(
        &task,
        &start(),
        &material(),
        CallKind::Code,
        &reply(&code(SOLUTION)),
    ));
    assert!(
        reason.contains("--decimals") && reason.contains("/var/outputs/total_words"),
        "{reason}"
    );
}

#[test]
fn a_declared_package_that_is_no_name_is_refused() {
    let mut value = code(SOLUTION);
    value["packages"] = json!(["--index-url=http://evil.example"]);
    let reason = refused(taken(CallKind::Code, &value));
    assert!(reason.contains("options of pip are not allowed"), "{reason}");
}

#[rstest]
#[case::unittest_base(
    "import unittest\nimport solution\n\n\nclass Base(unittest.TestCase):\n    def given(self):\n        return 'a b'\n\n\nclass Counts(Base):\n    def test_words(self):\n        self.assertEqual(solution.count(self.given()), 2)\n"
)]
#[case::mixin(
    "import solution\n\n\nclass Checks:\n    def test_words(self):\n        assert solution.count(self.given) == self.wanted\n\n\nclass TestOne(Checks):\n    given = 'a'\n    wanted = 1\n"
)]
#[case::what_the_heir_looks_at(
    "import solution\n\n\nclass Checks:\n    def test_words(self):\n        assert self.count('a') == 1\n\n\nclass Further(Checks):\n    pass\n\n\nclass TestOne(Further):\n    count = staticmethod(solution.count)\n"
)]
#[case::made(
    "import solution\n\n\ndef make(given, wanted):\n    def test():\n        assert solution.count(given) == wanted\n\n    return test\n\n\ntest_one = make('a', 1)\n"
)]
#[case::made_in_a_loop(
    "import solution\n\n\ndef make(given):\n    def test():\n        assert solution.count(given) == 1\n\n    return test\n\n\nfor word in ['a', 'b']:\n    globals()[f'test_{word}'] = make(word)\n"
)]
#[case::of_another_file(
    "import solution\nfrom checks import Checks\n\n\nclass TestWords(Checks):\n    count = solution.count\n"
)]
fn a_suite_whose_tests_come_by_other_ways_is_taken(#[case] source: &str) {
    taken(CallKind::Tests, &json!({"code": source})).unwrap();
}

#[rstest]
#[case::no_test("import solution\n\n\ndef helper():\n    return 1\n", "no test")]
#[case::no_python("def test_a(:\n", "does not parse")]
fn a_suite_without_a_test_is_refused_with_the_evidence(#[case] source: &str, #[case] says: &str) {
    let reason = refused(taken(CallKind::Tests, &json!({"code": source})));
    assert!(reason.contains(says), "{reason}");
}

#[test]
fn every_constraint_needs_a_row_and_none_beyond() {
    let task = Task {
        constraints: vec!["a".into(), "b".into()],
        ..task()
    };
    let check = |number: usize| json!({"constraint": number, "column": "", "kind": "none", "arguments": []});
    let ask = |rows: Value| {
        accept(
            &task,
            &start(),
            &material(),
            CallKind::Constraints,
            &reply(&json!({"checks": rows})),
        )
    };
    assert!(ask(json!([check(0), check(1)])).is_ok());
    assert_eq!(
        refused(ask(json!([check(0)]))),
        "Constraint 1 has no row; give it one, of kind none if need be."
    );
    assert_eq!(
        refused(ask(json!([check(0), check(1), check(2)]))),
        "There is no constraint 2: they are numbered 0 to 1."
    );
}

#[test]
fn a_reply_of_too_many_rows_or_functions_is_refused_before_they_are_read() {
    let task = Task {
        constraints: vec!["a".into()],
        ..task()
    };
    let row = json!({"constraint": 0, "column": "", "kind": "none", "arguments": []});
    let rows = |count: usize| {
        let reply = reply(&json!({"checks": vec![&row; count]}));
        accept(&task, &start(), &material(), CallKind::Constraints, &reply)
    };
    assert!(rows(256).is_ok());
    assert_eq!(
        refused(rows(257)),
        "There are 257 rows, and at most 256 are used: leave out what another row says."
    );

    let functions = "def f():\n    pass\n".repeat(1_001);
    let reason = refused(taken(
        CallKind::Code,
        &json!({"code": functions, "packages": [], "systemPackages": []}),
    ));
    assert!(
        reason.contains("has 1001 functions, and at most 1000 are read"),
        "{reason}"
    );
}

#[test]
fn a_diagnosis_of_no_failure_is_refused() {
    let mut other = row("logic", &["count"], &[]);
    other["failure"] = json!(2);
    for rows in [json!([]), json!([other])] {
        let reason = refused(taken(CallKind::Diagnosis, &json!({"failures": rows})));
        assert_eq!(
            reason,
            "None of the failures has a diagnosis; diagnose each of the 1 by its number."
        );
    }
}

#[test]
fn a_diagnosis_that_leaves_out_failures_is_taken_for_those_that_it_names() {
    let checks = ["test_counts", "test_none", "test_third"].map(|test| {
        failed(
            CheckSource::Test,
            &format!("test_solution.py::{test}"),
            "assert 3 == 2",
        )
    });
    let material = Material {
        verdict: Some(verdict(checks.to_vec())),
        ..material()
    };
    let mut second = row("logic", &["count"], &[]);
    second["failure"] = json!(2);
    let rows = reply(&json!({"failures": [second]}));
    match accept(&task(), &start(), &material, CallKind::Diagnosis, &rows).unwrap() {
        Accepted::Diagnosis { diagnosis, .. } => {
            let tests: Vec<&str> = diagnosis
                .failures
                .iter()
                .map(|failure| failure.diagnosis.test.as_str())
                .collect();
            assert_eq!(tests, ["test_solution.py::test_none"]);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn functions_are_named_as_the_program_has_them_and_unknown_ones_are_dropped() {
    let material = diagnosed("logic", &["solution.count", "count()", "invented"]);
    assert_eq!(material.diagnosis.functions(ErrorType::Logic), ["count"]);
    let material = diagnosed("test_error", &["invented"]);
    assert_eq!(
        material.diagnosis.functions(ErrorType::TestError),
        ["test_counts"]
    );
}

#[test]
fn an_environment_failure_must_name_a_package_that_is_not_there() {
    let mut progress = start();
    let built = BuiltImage {
        packages: pip(&["pandas"]),
        ..BuiltImage::default()
    };
    progress.build.built = Some(built);
    let ask = |packages: &[&str]| {
        let rows = json!({"failures": [row("environment", &[], packages)]});
        accept(
            &task(),
            &progress,
            &material(),
            CallKind::Diagnosis,
            &reply(&rows),
        )
    };
    assert!(refused(ask(&[])).contains("names no package"));
    assert!(refused(ask(&["Pandas"])).contains("installed already"));
    match ask(&["openpyxl"]).unwrap() {
        Accepted::Diagnosis { wanted, .. } => assert_eq!(wanted, pip(&["openpyxl"])),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_fix_is_merged_into_the_program_and_says_what_changed() {
    let material = diagnosed("logic", &["count"]);
    let patch = json!({"code": "def count(text: str) -> int:\n    \"\"\"Number of words.\"\"\"\n    return len(text.split())\n"});
    let Ok(Accepted::Source(fixed)) = accept(&task(), &start(), &material, CallKind::FixCode, &reply(&patch))
    else {
        panic!("refused")
    };
    assert!(
        fixed.source.contains("text.split()") && fixed.source.contains("def main()"),
        "{}",
        fixed.source
    );
    assert_eq!(fixed.changed, ["count"]);
}

#[rstest]
#[case::nothing_changed(
    "def count(text: str) -> int:\n    \"\"\"Number of words.\"\"\"\n    # the same\n    return len(text)\n",
    "leaves the program as it was"
)]
#[case::another_function(
    "def main() -> None:\n    \"\"\"Print a count.\"\"\"\n    print(1)\n",
    "are as they were: count"
)]
#[case::no_python("def count(:\n", "does not parse")]
fn a_fix_that_does_not_do_it_is_not_applied(#[case] patch: &str, #[case] says: &str) {
    let material = diagnosed("logic", &["count"]);
    let result = accept(
        &task(),
        &start(),
        &material,
        CallKind::FixCode,
        &reply(&json!({"code": patch})),
    );
    assert!(
        matches!(&result, Err(Refusal::NotApplied(fault)) if fault.reason.contains(says)),
        "{result:?}"
    );
}

#[test]
fn a_fix_of_a_test_leaves_the_other_tests_alone() {
    let material = diagnosed("test_error", &["test_counts"]);
    let patch = json!({"code": "def test_counts():\n    assert solution.count(\"a b\") == 3\n"});
    let Ok(Accepted::Source(fixed)) =
        accept(&task(), &start(), &material, CallKind::FixTests, &reply(&patch))
    else {
        panic!("refused")
    };
    assert!(
        fixed.source.contains("== 3") && fixed.source.contains("def test_none()"),
        "{}",
        fixed.source
    );
}

fn plan(cases: &Value) -> Value {
    json!({"description": "d", "approach": "a", "libraries": [], "cases": cases})
}

#[test]
fn a_plan_without_any_usable_case_is_refused_once() {
    let task = Task {
        outputs: serde_json::from_value(json!([{"name": "now", "type": "Datetime"}])).unwrap(),
        ..task()
    };
    let asked = |rejections: &[ReplyFault]| {
        let progress = Progress {
            rejections: rejections.to_vec(),
            ..start()
        };
        let cases =
            json!([{"about": "a", "expect": [{"output": "now", "check": "Ordered", "value": "ascending"}]}]);
        accept(
            &task,
            &progress,
            &material(),
            CallKind::Plan,
            &reply(&plan(&cases)),
        )
    };
    let Err(Refusal::Reply(fault)) = asked(&[]) else {
        panic!("it is accepted");
    };
    assert_eq!(fault.class, FaultClass::NoCase);
    assert!(asked(&["it was no JSON".into()]).is_err());
    assert!(asked(&["it was no JSON".into(), "nor this".into()]).is_ok());
    // The same words of another fault: no plan was refused for its cases yet.
    assert!(asked(&[ReplyFault::from(fault.reason.as_str())]).is_err());
    let Ok(Accepted::Plan(plan, set)) = asked(&[fault]) else {
        panic!("it is refused again");
    };
    assert_eq!((plan.cases.len(), set.unusable.len()), (0, 1));
}

#[rstest]
#[case::a_value("3", false, None)]
#[case::another_output("$other", false, Some("whatever the program writes"))]
#[case::itself("$total", false, Some("whatever the program writes"))]
#[case::no_value_of_the_type("three", false, Some("cannot be used"))]
#[case::refused("", true, None)]
fn a_second_answer_is_a_value(#[case] value: &str, #[case] refusal: bool, #[case] says: Option<&str>) {
    let outputs = json!([{"name": "total", "type": "Int"}, {"name": "other", "type": "Int"}]);
    let task = Task {
        outputs: serde_json::from_value(outputs).unwrap(),
        ..task()
    };
    let case = json!({"about": "a", "expect": [{"output": "total", "value": "2"}]});
    let run = CaseExecution {
        origin: CaseOrigin::Plan(1),
        case: serde_json::from_value(case).unwrap(),
        is_settled: false,
        is_held: false,
        is_apart: false,
    };
    let material = Material {
        blamed: vec![Blamed { run, phase: None }],
        ..material()
    };
    let answer = json!({"cases": [{"case": 1, "refused": refusal, "values": [value]}]});
    let taken = accept(&task, &start(), &material, CallKind::Cases, &reply(&answer));
    match says {
        None => assert!(taken.is_ok(), "{taken:?}"),
        Some(says) => {
            let reason = refused(taken);
            assert!(reason.contains(says), "{reason}");
        }
    }
}

#[rstest]
#[case::nothing_expected_and_no_refusal_after_all(json!({"about": "a", "refused": true}), json!({"refused": false, "values": []}))]
#[case::a_refusal_in_place_of_values(
    json!({"about": "a", "expect": [{"output": "stdout", "value": "2"}]}),
    json!({"refused": true, "values": []}),
)]
#[case::a_refusal_with_empty_values(
    json!({"about": "a", "expect": [{"output": "stdout", "value": "2"}]}),
    json!({"refused": true, "values": [""]}),
)]
#[case::no_refusal_and_so_none_of_its_words(
    json!({"about": "a", "refused": true, "expect": [{"output": "stderr", "check": "Contains", "value": "row 2"}]}),
    json!({"refused": false, "values": []}),
)]
fn an_answer_that_reverses_a_refusal_needs_no_values(#[case] first: Value, #[case] second: Value) {
    let case = serde_json::from_value(first).unwrap();
    let run = CaseExecution {
        origin: CaseOrigin::Plan(1),
        case,
        is_settled: false,
        is_held: false,
        is_apart: false,
    };
    let material = Material {
        blamed: vec![Blamed { run, phase: None }],
        ..material()
    };
    let mut answer = second.clone();
    answer["case"] = json!(1);
    let answer = json!({"cases": [answer]});
    let taken = accept(&task(), &start(), &material, CallKind::Cases, &reply(&answer)).unwrap();
    let Accepted::Cases(cases) = taken else {
        panic!("{taken:?}");
    };
    assert_eq!(json!(cases[0].refused), second["refused"]);
    assert_eq!(cases[0].expect, []);
}
