//! Cases that are worked out again, replaced or dropped.

use super::*;

#[test]
fn a_dropped_case_decides_nothing_and_its_output_is_silent() {
    let set = CaseSet {
        cases: vec![PlannedCase {
            case: ties(),
            revision: Some(CaseRevision::Dropped),
        }],
        ..CaseSet::default()
    };
    assert_eq!(executions(&sales(), &set), []);
    let task = sales();
    let outputs = task.outputs.iter().map(|output| output.name.as_str());
    let silent: Vec<&str> = set.silent(outputs).collect();
    assert_eq!(silent, ["total", "summary", "parts"]);
}

fn blamed(origin: CaseOrigin, report: &PhaseReport) -> Blamed {
    Blamed {
        run: CaseExecution {
            origin,
            case: ties(),
            is_settled: false,
            is_held: false,
            is_apart: false,
        },
        phase: Some(report.clone()),
    }
}

fn second_answer(total: &str, summary: &str) -> Case {
    let mut answer = ties();
    answer.expect[0].value = total.into();
    answer.expect[1].value = summary.into();
    answer
}

#[rstest]
#[case::the_same(("2.0", "units,item\n1,a\n1,b\n"), CaseRevision::Confirmed)]
#[case::what_the_program_does(("3", "item,units\na,1\nb,2\n"), CaseRevision::Corrected)]
#[case::another(("4", "item,units\na,1\nb,3\n"), CaseRevision::Dropped)]
fn a_second_answer_settles_a_case(#[case] (total, summary): (&str, &str), #[case] expected: CaseRevision) {
    let set = CaseSet {
        cases: vec![PlannedCase {
            case: ties(),
            revision: None,
        }],
        ..CaseSet::default()
    };
    let program = wrote(&[("total", "3"), ("summary", "item,units\na,1\nb,2\n")]);
    let blamed = [blamed(CaseOrigin::Plan(1), &program)];
    let revised = revise(&sales(), &set, &blamed, &[second_answer(total, summary)], false);
    assert_eq!(revised.set.cases[0].revision, Some(expected));
    assert_eq!(
        revised.confirmed.len(),
        usize::from(expected == CaseRevision::Confirmed)
    );
    let value = &revised.set.cases[0].case.expect[0].value;
    assert_eq!(value == "3", expected == CaseRevision::Corrected);
}

#[rstest]
#[case::nobody(false, CaseRevision::Corrected)]
#[case::a_person(true, CaseRevision::Dropped)]
fn a_case_that_a_person_approved_of_is_never_replaced(
    #[case] are_approved: bool,
    #[case] expected: CaseRevision,
) {
    let set = plan_of(&sales(), vec![ties()]);
    let program = wrote(&[("total", "3"), ("summary", "item,units\na,1\nb,2\n")]);
    let blamed = [blamed(CaseOrigin::Plan(1), &program)];
    let answer = second_answer("3", "item,units\na,1\nb,2\n");
    let revised = revise(&sales(), &set, &blamed, &[answer], are_approved);
    assert_eq!(revised.set.cases[0].revision, Some(expected));
    let value = &revised.set.cases[0].case.expect[0].value;
    assert_eq!(value == "2", are_approved);
}

#[rstest]
#[case::no_refusal_and_nothing_else_states_nothing(true, 0, false, CaseRevision::Dropped)]
#[case::the_program_refuses_what_must_be_refused(false, 1, true, CaseRevision::Corrected)]
#[case::the_program_takes_what_must_be_refused(false, 0, true, CaseRevision::Dropped)]
#[case::both_refuse_and_the_program_does_not(true, 0, true, CaseRevision::Confirmed)]
fn a_second_answer_may_be_about_the_refusal_alone(
    #[case] first: bool,
    #[case] exit_code: i32,
    #[case] second: bool,
    #[case] expected: CaseRevision,
) {
    let refused = |refused, expect: Value| case(json!({"about": "a", "refused": refused, "expect": expect}));
    let output = if first { "stderr" } else { "total" };
    let planned = refused(
        first,
        json!([{"output": output, "check": "Contains", "value": "2"}]),
    );
    let run = CaseExecution {
        origin: CaseOrigin::Plan(1),
        case: planned.clone(),
        is_settled: false,
        is_held: false,
        is_apart: false,
    };
    let program = phase(PhaseName::Case, exit_code);
    let blamed = [Blamed {
        run,
        phase: Some(program),
    }];
    let set = CaseSet {
        cases: vec![PlannedCase {
            case: planned,
            revision: None,
        }],
        ..CaseSet::default()
    };
    let revised = revise(&sales(), &set, &blamed, &[refused(second, json!([]))], false);
    assert_eq!(revised.set.cases[0].revision, Some(expected));
}
