use rstest::rstest;

use super::*;
use crate::call::Usage;
use crate::task::EscalationSettings;
use crate::test_support::{start, task};

fn escalating(after: &[u32]) -> Task {
    let entry = |after: &u32| EscalationSettings {
        after: *after,
        model: ModelSettings {
            name: format!("after-{after}"),
            ..task().model
        },
    };
    Task {
        escalation: after.iter().map(entry).collect(),
        ..task()
    }
}

#[rstest]
#[case::nobody_is_stronger(&[], 9, None)]
#[case::nothing_is_refuted(&[1], 0, None)]
#[case::too_little_is_refuted(&[2, 4], 1, None)]
#[case::as_much_as_the_first_takes_over_after(&[2, 4], 2, Some(0))]
#[case::more_than_that(&[2, 4], 3, Some(0))]
#[case::as_much_as_the_second_takes_over_after(&[2, 4], 4, Some(1))]
#[case::more_than_anybody_takes_over_after(&[1, 2, 3], 99, Some(2))]
fn the_model_follows_from_the_number_of_refuted_attempts(
    #[case] after: &[u32],
    #[case] refuted: u32,
    #[case] expected: Option<usize>,
) {
    let task = escalating(after);
    let mut progress = start();
    progress.memory.refuted = refuted;
    let asked = task.asked_model(&progress);
    assert_eq!(
        asked.index,
        expected.map_or(ModelIndex::Own, ModelIndex::Escalation)
    );
    assert_eq!(
        asked.other,
        expected.map(|index| format!("after-{}", after[index]))
    );
}

#[rstest]
#[case::from_its_own(0, Some(0))]
#[case::past_one_that_has_taken_over(2, Some(1))]
#[case::from_the_last(4, None)]
fn without_progress_the_next_stronger_model_takes_over_where_there_is_one(
    #[case] refuted: u32,
    #[case] expected: Option<usize>,
) {
    let task = escalating(&[2, 4]);
    let mut progress = start();
    progress.memory.refuted = refuted;
    progress.rejections = vec!["no code".into()];
    let asked = model_for(&task, &progress);
    assert_eq!(progress.escalate(&task, asked), expected.is_some());
    let now = expected.map_or(asked, ModelIndex::Escalation);
    assert_eq!(model_for(&task, &progress), now);
    assert_eq!(progress.rejections.is_empty(), expected.is_some());
    assert!(
        progress.escalate(&task, ModelIndex::Own),
        "whoever has taken over since has nothing held against it either"
    );
    assert_eq!(model_for(&task, &progress), now);
}

#[test]
fn answers_are_counted_by_the_name_of_another_model() {
    let mut progress = start();
    let usage = Usage { input: 7, output: 2 };
    for model in [None, Some("strong"), Some("strong")] {
        progress.count_answer(&Reply {
            model: model.map(str::to_owned),
            usage,
            ..Reply::default()
        });
    }
    assert_eq!(progress.other_models.len(), 1);
    let strong = progress.other_models["strong"];
    assert_eq!(
        (strong.calls, strong.tokens.input, strong.tokens.output),
        (2, 14, 4)
    );
}

#[test]
fn every_model_is_found_at_its_place() {
    let task = escalating(&[1, 3]);
    for (index, settings) in task.models() {
        assert_eq!(task.settings_of(index), settings);
    }
    let places: Vec<String> = task.models().map(|(index, _)| index.to_string()).collect();
    assert_eq!(
        places,
        [
            "spec.model",
            "spec.escalation[0].model",
            "spec.escalation[1].model"
        ]
    );
}
