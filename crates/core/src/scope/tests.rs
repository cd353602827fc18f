use rstest::rstest;

use super::*;
use crate::checks::Rule;
use crate::test_support::{start, task};

/// A check of the first constraint on a column that a sample has, or that none has.
fn check(column: &str, rule: Rule, in_samples: bool) -> ColumnCheck {
    ColumnCheck {
        in_samples,
        ..ColumnCheck::new(0, column, rule)
    }
}

/// Returns what is asked where the output breaks this constraint.
fn asked(constraint: &str, check: &ColumnCheck, output: &str) -> Vec<Break> {
    let task = Task {
        constraints: vec![constraint.to_owned()],
        ..task()
    };
    let fault = BrokenOutput {
        output: output.to_owned(),
        problem: "2 of 3 values break it".to_owned(),
        without_values: String::new(),
        broken: Some(in_words(check)),
    };
    doubtful(&task, &start(), std::slice::from_ref(check), &[fault])
}

fn one_of(values: &[&str]) -> Rule {
    Rule::IsIn(values.iter().map(ToString::to_string).collect())
}

#[rstest]
#[case::quarters("quarter is one of 1, 2, 3, 4", check("quarter", one_of(&["1", "2", "3", "4"]), true), "means")]
#[case::prices("price is at least 0", check("price", Rule::GreaterOrEqual(0.into()), true), "report")]
#[case::names("id is greater than 0", check("id", Rule::GreaterThan(0.into()), true), "directory")]
fn a_break_on_a_column_that_a_sample_has_too_is_asked_about_once(
    #[case] constraint: &str,
    #[case] check: ColumnCheck,
    #[case] output: &str,
) {
    let found = asked(constraint, &check, output);
    assert_eq!(found.len(), 1, "{found:?}");
    let task = Task {
        constraints: vec![constraint.to_owned()],
        ..task()
    };
    let mut progress = start();
    progress.settled_breaks.insert(found[0].signature());
    let fault = BrokenOutput {
        output: output.to_owned(),
        problem: String::new(),
        without_values: String::new(),
        broken: Some(in_words(&check)),
    };
    assert_eq!(doubtful(&task, &progress, &[check], &[fault]), []);
}

#[rstest]
#[case::names_the_output("every price in the report is at least 0", check("price", Rule::GreaterOrEqual(0.into()), true), "report")]
#[case::names_it_in_other_letters("In Monthly Means the mean is positive", check("mean", Rule::GreaterThan(0.into()), true), "monthly_means")]
#[case::names_it_with_hyphens("month of monthly-means is 1 to 12", check("month", Rule::Between(1.into(), 12.into()), true), "monthly_means")]
#[case::a_column_of_outputs_alone("total is at least 0", check("total", Rule::GreaterOrEqual(0.into()), false), "summary")]
#[case::a_share("share is between 0 and 1", check("share", Rule::Between(0.into(), 1.into()), false), "shares")]
#[case::a_label("label is one of low, high", check("label", one_of(&["low", "high"]), false), "labels")]
#[case::a_key("key has three letters", check("key", Rule::Regex("[a-z]{3}".into()), false), "index")]
#[case::a_missing_value("mean is never missing", check("mean", Rule::NotNull, false), "means")]
fn a_break_of_what_speaks_of_the_output_is_never_asked_about(
    #[case] constraint: &str,
    #[case] check: ColumnCheck,
    #[case] output: &str,
) {
    assert_eq!(asked(constraint, &check, output), []);
}

#[test]
fn a_name_within_a_word_is_no_name() {
    let check = check("price", Rule::GreaterOrEqual(0.into()), true);
    assert_eq!(asked("prices are reported in euros", &check, "report").len(), 1);
}

#[test]
fn what_does_not_speak_of_an_output_stays_for_samples_and_other_outputs() {
    let mut checks = vec![
        check("quarter", one_of(&["1", "2"]), true),
        check("year", Rule::NotNull, true),
    ];
    let mut constraints = vec![ConstraintStatus {
        text: "quarter is one of 1, 2".into(),
        bound_to: vec!["sales".into()],
        check: "quarter is one of 1, 2".into(),
        not_applied_to: Vec::new(),
    }];
    let one = Break {
        constraint: 0,
        column: "quarter".into(),
        output: "means".into(),
    };
    waive(&mut checks, &mut constraints, &[&one]);
    let held = |check: &ColumnCheck| [check.holds_of("means"), check.holds_of("totals")];
    assert_eq!(
        checks.iter().map(held).collect::<Vec<_>>(),
        [[false, true], [true, true]]
    );
    assert_eq!(not_applied(&constraints), ["quarter is one of 1, 2 (means)"]);
}
