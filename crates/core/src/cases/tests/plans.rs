//! Tests of the cases of a plan and the examples that are used.

use super::*;

#[rstest]
#[case::unknown_input(json!({"inputs": [{"name": "sale", "value": ""}]}), "no option --sale")]
#[case::wrong_type(json!({"inputs": [{"name": "decimals", "value": "two"}]}), "no value of --decimals")]
#[case::folder(json!({"inputs": [{"name": "months", "value": ""}]}), "months/FILE")]
#[case::way_out(json!({"inputs": [{"name": "months/..", "value": ""}]}), "months/FILE")]
#[case::no_folder(json!({"inputs": [{"name": "sales/a", "value": ""}]}), "is no folder")]
#[case::nothing(json!({"expect": []}), "expects nothing")]
#[case::unknown_output(json!({"expect": [{"output": "sum", "value": "1"}]}), "no output sum")]
#[case::unknown_reference(json!({"expect": [{"output": "summary", "check": "Total", "at": "units", "value": "$sum"}]}), "no value of check Total")]
#[case::itself(json!({"expect": [{"output": "summary", "value": "$summary"}]}), "compared with itself")]
#[case::exact_chance(json!({"expect": [{"output": "parts/a.csv", "value": "1"}]}), "time, chance or the network")]
fn a_case_that_cannot_be_run_or_compared_is_not_used(#[case] change: Value, #[case] says: &str) {
    let mut value = json!(ties());
    value
        .as_object_mut()
        .unwrap()
        .extend(change.as_object().unwrap().clone());
    let why = usable(&sales(), &case(value), &["parts".into()], CaseData::Exposed).unwrap();
    assert!(why.contains(says), "{why}");
}

#[test]
fn cases_of_private_data_bring_their_own_and_examples_need_not() {
    let private = Task {
        exposure: Exposure::Statistics,
        ..sales()
    };
    let on_the_sample = case(json!({"about": "all", "expect": [{"output": "total", "value": "2"}]}));
    let why = usable(&private, &on_the_sample, &[], CaseData::Exposed).unwrap();
    assert!(why.contains("private"), "{why}");
    assert_eq!(usable(&private, &on_the_sample, &[], CaseData::Everything), None);
}

#[test]
fn a_plan_without_a_usable_case_is_asked_again_where_cases_are_required() {
    let bad = case(json!({"about": "sum", "expect": [{"output": "sum", "value": "1"}]}));
    let why = plan_of(&sales(), vec![bad]).lack(&sales()).unwrap();
    assert!(why.reason.contains("case 1: there is no output sum"), "{why}");
    let none = plan_of(&sales(), Vec::new()).lack(&sales()).unwrap();
    assert_eq!([why.class, none.class], [FaultClass::NoCase; 2]);
    assert_eq!(plan_of(&sales(), vec![ties()]).lack(&sales()), None);
    let off = Task {
        cases: CaseMode::Off,
        ..sales()
    };
    assert_eq!(plan_of(&off, vec![ties()]), CaseSet::default());
    assert_eq!(plan_of(&off, Vec::new()).lack(&off), None);
}

#[test]
fn of_private_data_that_is_no_text_no_case_is_asked_for_and_one_reason_is_said() {
    let mut private = Task {
        exposure: Exposure::Statistics,
        ..sales()
    };
    private.samples[0].file_name = "sales.parquet".into();
    let on_the_sample = case(json!({"about": "all", "expect": [{"output": "total", "value": "2"}]}));
    let set = plan_of(&private, vec![on_the_sample, ties()]);
    let why = "the data of --sales is private, and a file that is no text cannot be given in its place";
    assert_eq!(set.unusable, [format!("case 1: {why}"), format!("case 2: {why}")]);
    assert_eq!(set.lack(&private), None);
    private.samples[0].file_name = "sales.csv".into();
    let mut with_months = ties();
    with_months.inputs.push(CaseInput {
        name: "months/may.csv".into(),
        value: "item,units\n".into(),
    });
    assert_eq!(plan_of(&private, vec![with_months]).cases.len(), 1);
}

#[test]
fn a_case_counts_once_under_however_many_names() {
    let again = Case {
        about: "ties once more".into(),
        ..ties()
    };
    let mut other = again.clone();
    other.inputs[1].value = "1".into();
    let set = plan_of(&sales(), vec![ties(), again, other]);
    let names: Vec<&str> = set
        .cases
        .iter()
        .map(|planned| planned.case.about.as_str())
        .collect();
    assert_eq!(names, ["ties", "ties once more"]);
    assert_eq!(set.unusable, [""; 0]);
}

#[rstest]
#[case::itself(json!({"output": "summary", "value": "$summary"}), 1)]
#[case::its_rows(json!({"output": "summary", "check": "SameRows", "value": "$summary"}), 1)]
#[case::another(json!({"output": "summary", "check": "Total", "at": "units", "value": "$total"}), 0)]
#[case::a_price(json!({"output": "stdout", "check": "Contains", "value": "$5"}), 0)]
fn an_output_is_not_held_against_itself(#[case] expectation: Value, #[case] unusable: usize) {
    let mut with_it = ties();
    with_it.expect.push(serde_json::from_value(expectation).unwrap());
    let set = plan_of(&sales(), vec![with_it]);
    assert_eq!(set.unusable.len(), unusable, "{:?}", set.unusable);
}
