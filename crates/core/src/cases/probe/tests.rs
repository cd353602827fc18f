use rstest::rstest;
use serde_json::{Value, json};

use super::super::tests::{case, sales};
use super::super::{CaseRevision, CaseSet, PlannedCase};
use crate::task::Task;
use codegen_api::case::{Case, CaseMode};

/// Sales by item; besides a truth value, a document, lines of documents and a moment.
fn shop() -> Task {
    let mut task = sales();
    let more = json!([
        {"name": "is_empty", "type": "Bool"},
        {"name": "report", "type": "File", "format": "JSON"},
        {"name": "log", "type": "File", "format": "JSONLines"},
        {"name": "newest", "type": "Datetime"},
        {"name": "page", "type": "File"},
    ]);
    let more: Vec<_> = serde_json::from_value(more).unwrap();
    task.outputs.extend(more);
    task
}

/// Cases of these expectations, one each.
fn cases(expectations: &Value) -> Vec<Case> {
    let each = expectations.as_array().unwrap().iter().enumerate();
    each.map(|(index, expect)| {
        let refused = expect.as_array().is_some_and(Vec::is_empty) || expect[0]["output"] == "stderr";
        case(json!({"about": index.to_string(), "refused": refused, "expect": expect}))
    })
    .collect()
}

fn set(cases: Vec<Case>, revision: Option<CaseRevision>) -> CaseSet {
    CaseSet {
        cases: cases
            .into_iter()
            .map(|case| PlannedCase { case, revision })
            .collect(),
        ..CaseSet::default()
    }
}

fn are_vacuous(expectations: &Value) -> bool {
    set(cases(expectations), None).evidence(&shop()).vacuous
}

/// Reports whether nonsense passes: of a task without inputs no constants are tried.
fn pass_nonsense(expectations: &Value) -> bool {
    let task = Task {
        inputs: Vec::new(),
        ..shop()
    };
    set(cases(expectations), None).evidence(&task).vacuous
}

#[rstest]
#[case::contains_nothing(json!([[{"output": "summary", "check": "Contains", "value": ""}]]))]
#[case::between_anything(json!([[{"output": "total", "check": "Between", "value": "-1e308,1e308"}]]))]
#[case::any_tolerance(json!([[{"output": "total", "value": "0", "tolerance": "1e308"}]]))]
#[case::any_tolerance_of_a_table(json!([[{"output": "summary", "value": "item,units\nx,0", "tolerance": "1e308"}]]))]
#[case::any_tolerance_of_a_document(json!([[{"output": "report", "value": "{\"a\": [0]}", "tolerance": "1e308"}]]))]
#[case::lacks_nonsense(json!([
    [{"output": "summary", "check": "Lacks", "value": "zzzz-never-ever"}],
    [{"output": "stdout", "check": "Lacks", "value": "qqqq"}],
]))]
#[case::one_row_in_order(json!([[{"output": "summary", "check": "Ordered", "at": "item", "value": "ascending"}]]))]
#[case::columns(json!([[{"output": "summary", "check": "Columns", "value": "item,units"}]]))]
#[case::keys(json!([[{"output": "report", "check": "Columns", "value": "a,b"}]]))]
#[case::no_elements(json!([[{"output": "log", "check": "Rows", "value": "0"}], [{"output": "report", "check": "Rows", "value": "0"}]]))]
#[case::a_silent_program(json!([[{"output": "stdout", "value": ""}]]))]
#[case::silence_beside_a_column(json!([
    [{"output": "stdout", "value": ""}],
    [{"output": "summary", "check": "Columns", "value": "item"}],
]))]
#[case::empty_files(json!([[{"output": "parts/a.csv", "check": "Lacks", "value": "x"}], [{"output": "page", "check": "Equals", "value": ""}]]))]
#[case::one_truth(json!([[{"output": "is_empty", "value": "false"}]]))]
#[case::a_relation_that_constants_keep(json!([[{"output": "summary", "check": "Total", "at": "units", "value": "$total"}]]))]
#[case::an_output_that_is_another(json!([[{"output": "page", "value": "$total"}]]))]
#[case::outputs_in_a_row(json!([[
    {"output": "page", "value": "$total"},
    {"output": "total", "check": "Between", "value": "-1e308,1e308"},
    {"output": "stdout", "value": "$page"},
]]))]
#[case::refusals_alone(json!([[], []]))]
#[case::refusals_with_any_words(json!([[{"output": "stderr", "check": "Contains", "value": "Error"}]]))]
#[case::the_nine_of_an_attack(json!([
    [{"output": "summary", "check": "Contains", "value": ""}],
    [{"output": "total", "check": "Between", "value": "-1e308,1e308"}],
    [{"output": "total", "value": "0", "tolerance": "1e308"}, {"output": "summary", "value": "item,units\nx,0", "tolerance": "1e308"}],
    [{"output": "summary", "check": "Lacks", "value": "zzzz-never-ever"}, {"output": "stdout", "check": "Lacks", "value": "qqqq"}],
    [{"output": "summary", "check": "Ordered", "at": "item", "value": "ascending"}],
    [{"output": "stdout", "value": ""}],
]))]
fn cases_that_a_program_passes_without_reading_its_input_prove_nothing(#[case] expectations: Value) {
    assert!(pass_nonsense(&expectations) && are_vacuous(&expectations));
}

#[rstest]
#[case::a_number(json!([[{"output": "total", "value": "2"}]]))]
#[case::a_range_that_says_something(json!([[{"output": "total", "check": "Between", "value": "0,99"}]]))]
#[case::a_table(json!([[{"output": "summary", "value": "item,units\na,1\n"}]]))]
#[case::a_table_of_texts(json!([[{"output": "summary", "check": "SameRows", "value": "item,place\na,north\n"}]]))]
#[case::a_cell(json!([[{"output": "summary", "at": "item=a/units", "value": "1"}]]))]
#[case::a_count_of_rows(json!([[{"output": "summary", "check": "Rows", "value": "2"}]]))]
#[case::a_document(json!([[{"output": "report", "value": "{\"a\": 1}"}]]))]
#[case::a_place_in_a_document(json!([[{"output": "report", "at": "/a/0", "value": "x"}]]))]
#[case::lines(json!([[{"output": "log", "value": "{\"a\": 1}\n{\"a\": 2}"}]]))]
#[case::both_truths(json!([[{"output": "is_empty", "value": "false"}], [{"output": "is_empty", "value": "true"}]]))]
#[case::a_moment(json!([[{"output": "newest", "value": "2026-01-02T03:04:05Z"}]]))]
#[case::a_word_on_stdout(json!([[{"output": "stdout", "check": "Contains", "value": "100"}, {"output": "stdout", "check": "Lacks", "value": "121"}]]))]
#[case::a_file_of_a_folder(json!([[{"output": "parts/a.txt", "check": "Contains", "value": "a note"}]]))]
#[case::a_refusal_in_its_words(json!([[{"output": "stderr", "check": "Contains", "value": "units"}]]))]
#[case::a_refusal_beside_a_result(json!([[], [{"output": "total", "value": "3"}]]))]
#[case::little_beside_a_result(json!([
    [{"output": "summary", "check": "Ordered", "at": "item", "value": "ascending"}],
    [{"output": "summary", "check": "Total", "at": "units", "value": "$total"}, {"output": "total", "value": "31"}],
]))]
#[case::nothing_to_do_beside_a_result(json!([
    [{"output": "summary", "check": "Rows", "value": "0"}, {"output": "total", "value": "0"}],
    [{"output": "summary", "check": "Lacks", "at": "item", "value": "b"}, {"output": "total", "value": "5"}],
]))]
fn a_case_that_states_a_result_rejects_nonsense(#[case] expectations: Value) {
    assert!(!pass_nonsense(&expectations));
}

#[rstest]
#[case::one_case(json!([[{"output": "total", "value": "2"}, {"output": "summary", "value": "item,units\na,2\n"}]]))]
#[case::one_case_of_parts(json!([[{"output": "summary", "at": "1/units", "value": "5"}, {"output": "summary", "check": "Rows", "value": "3"}]]))]
#[case::the_same_result_twice(json!([[{"output": "total", "value": "0"}], [{"output": "total", "value": "0"}]]))]
#[case::results_that_go_together(json!([
    [{"output": "total", "value": "5"}, {"output": "summary", "check": "Columns", "value": "item,units"}],
    [{"output": "summary", "value": "item,units\na,5\n"}, {"output": "total", "check": "Between", "value": "0,9"}],
]))]
#[case::a_word_and_a_whole_text(json!([
    [{"output": "stdout", "check": "Contains", "value": "done"}],
    [{"output": "stdout", "check": "Contains", "value": "done"}, {"output": "total", "value": "3"}],
]))]
#[case::one_refusal_beside_one_result(json!([[], [{"output": "total", "value": "3"}]]))]
#[case::a_refusal_in_its_words_beside_one_result(json!([
    [{"output": "stderr", "check": "Contains", "value": "row 2"}],
    [{"output": "total", "value": "3"}],
]))]
fn cases_that_the_constants_of_one_of_them_pass_prove_nothing(#[case] expectations: Value) {
    assert!(are_vacuous(&expectations));
}

#[rstest]
#[case::two_results(json!([[{"output": "total", "value": "2"}], [{"output": "total", "value": "3"}]]))]
#[case::two_cells(json!([
    [{"output": "summary", "at": "1/units", "value": "5"}],
    [{"output": "summary", "at": "1/units", "value": "6"}],
]))]
#[case::a_result_and_a_range_beside_it(json!([
    [{"output": "total", "value": "5"}],
    [{"output": "total", "check": "Between", "value": "6,9"}],
]))]
#[case::two_refusals_in_different_words(json!([
    [{"output": "stderr", "check": "Contains", "value": "row 2"}],
    [{"output": "stderr", "value": "row 3"}],
]))]
#[case::both_truths(json!([[{"output": "is_empty", "value": "false"}], [{"output": "is_empty", "value": "true"}]]))]
#[case::two_results_beside_a_refusal(json!([[], [{"output": "total", "value": "2"}], [{"output": "total", "value": "3"}]]))]
#[case::nothing_to_do_beside_a_result(json!([
    [{"output": "summary", "check": "Rows", "value": "0"}, {"output": "total", "value": "0"}],
    [{"output": "summary", "check": "Lacks", "at": "item", "value": "b"}, {"output": "total", "value": "5"}],
]))]
fn cases_that_state_a_result_reject_a_program_that_ignores_its_input(#[case] expectations: Value) {
    assert!(!are_vacuous(&expectations));
}

#[test]
fn a_case_that_was_corrected_proves_nothing_and_one_that_was_confirmed_does() {
    let right = json!([[{"output": "total", "value": "2"}], [{"output": "total", "value": "3"}]]);
    let vacuous = |revision| set(cases(&right), revision).evidence(&shop()).vacuous;
    assert!(vacuous(Some(CaseRevision::Corrected)));
    assert!(!vacuous(Some(CaseRevision::Confirmed)));
    // Of one that decides nothing nothing is said.
    assert!(!vacuous(Some(CaseRevision::Dropped)));
    let mut beside = set(cases(&right), Some(CaseRevision::Corrected));
    beside.cases.extend(set(cases(&right), None).cases);
    assert!(!beside.evidence(&shop()).vacuous);
    let mut one_each = set(
        cases(&json!([[{"output": "total", "value": "2"}]])),
        Some(CaseRevision::Corrected),
    );
    let other = cases(&json!([[{"output": "total", "value": "3"}]]));
    one_each.cases.extend(set(other, None).cases);
    // The corrected one shows that the program does not always write the same.
    assert!(!one_each.evidence(&shop()).vacuous);
}

#[test]
fn examples_and_cases_are_held_against_constants_together() {
    let strong = cases(&json!([[{"output": "total", "value": "2"}], [{"output": "total", "value": "3"}]]));
    let weak = || cases(&json!([[{"output": "stdout", "value": ""}]]));
    let vacuous = |examples: &[Case], mode, planned| {
        let task = Task {
            examples: examples.to_vec(),
            cases: mode,
            ..shop()
        };
        set(planned, None).evidence(&task).vacuous
    };
    assert!(vacuous(&weak(), CaseMode::Require, weak()));
    assert!(!vacuous(&strong, CaseMode::Require, weak()));
    assert!(!vacuous(&weak(), CaseMode::Require, strong.clone()));
    assert!(vacuous(&weak(), CaseMode::Report, strong));
}
