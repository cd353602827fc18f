//! Stronger models: when one takes over.

use super::limits::calling_stages;
use super::*;
use crate::call::ModelIndex;
use crate::models::model_for;
use crate::task::EscalationSettings;

fn escalating(after: &[u32]) -> Vec<EscalationSettings> {
    let entry = |after: &u32| EscalationSettings {
        after: *after,
        model: task().model,
    };
    after.iter().map(entry).collect()
}

fn asked(walk: &Walk) -> ModelIndex {
    model_for(&walk.task, &walk.progress)
}

/// Fails, is diagnosed and fixed.
fn refuted(walk: &mut Walk, message: &str) {
    walk.ran(vec![logic(message)])
        .diagnosed(&[(logic(message), ErrorType::Logic)])
        .code_fixed();
}

#[test]
fn after_two_refuted_attempts_the_stronger_model_diagnoses_and_stays() {
    let mut walk = Walk::new(task());
    walk.task.escalation = escalating(&[2]);
    refuted(walk.until_tests(), "first");
    assert_eq!(asked(&walk), ModelIndex::Own);
    walk.ran(vec![logic("second")]);
    assert_eq!(
        (walk.stage(), asked(&walk)),
        (Stage::Diagnosing, ModelIndex::Escalation(0))
    );
    walk.diagnosed(&[(logic("second"), ErrorType::Logic)]);
    assert_eq!(
        (walk.stage(), asked(&walk)),
        (Stage::FixingCode, ModelIndex::Escalation(0))
    );
}

#[test]
fn a_program_that_passed_refutes_nobody() {
    let mut walk = Walk::new(task());
    walk.task.escalation = escalating(&[1]);
    walk.until_tests().ran(Vec::new());
    assert_eq!(asked(&walk), ModelIndex::Own);
}

#[test]
fn whoever_repeats_itself_is_followed_by_each_stronger_model_before_the_task_ends() {
    let mut walk = Walk::new(task());
    walk.task.escalation = escalating(&[8, 9]);
    walk.until_tests();
    let again = |walk: &mut Walk| {
        walk.progress.memory.solution_tree = "the same".into();
        walk.ran(vec![logic("m")]);
        (walk.stage(), asked(walk))
    };
    for expected in [
        ModelIndex::Own,
        ModelIndex::Escalation(0),
        ModelIndex::Escalation(1),
    ] {
        assert_eq!(again(&mut walk), (Stage::Diagnosing, expected));
        walk.diagnosed(&[(logic("m"), ErrorType::Logic)]).code_fixed();
    }
    assert_eq!(again(&mut walk).0, Stage::Failed);
    assert_eq!(walk.stop().reason, StopReason::NoProgress);
}

#[test]
fn two_replies_in_a_row_that_cannot_be_used_bring_the_stronger_model_in_every_stage() {
    for (stage, mut walk) in calling_stages() {
        walk.task.escalation = escalating(&[50]);
        for expected in [ModelIndex::Own, ModelIndex::Escalation(0)] {
            walk.take(Outcome::ReplyRejected("not JSON.".into()));
            assert_eq!((walk.stage(), asked(&walk)), (stage, expected));
        }
        assert_eq!(
            walk.progress.rejections,
            [],
            "{stage}: nothing is held against it"
        );
    }
}

#[test]
fn another_try_begins_with_the_own_model() {
    let mut walk = Walk::new(task());
    walk.task.escalation = escalating(&[1]);
    walk.task.limits.max_iterations = 1;
    walk.until_tests().ran(vec![logic("m")]);
    assert_eq!(
        (walk.stage(), asked(&walk)),
        (Stage::Failed, ModelIndex::Escalation(0))
    );
    walk.take(Outcome::Retried(Retry::default()));
    assert_eq!(asked(&walk), ModelIndex::Own);
}
