//! Another try of a task that has ended.

use rstest::rstest;

use super::limits::calling_stages;
use super::*;
use crate::reuse::key_of;

const HINT: &str = "the dates are day first";

fn retry(replan: bool, hint: Option<&str>) -> Outcome {
    Outcome::Retried(Retry {
        replan,
        hint: hint.map(str::to_owned),
    })
}

/// A task whose only attempt failed.
fn exhausted() -> Walk {
    let mut walk = Walk::new(task());
    walk.task.limits.max_iterations = 1;
    walk.progress.sequence = 4;
    walk.until_tests().ran(vec![logic("m")]);
    assert_eq!(walk.stop().reason, StopReason::IterationsExhausted);
    walk
}

fn stopped(reason: StopReason) -> Outcome {
    Outcome::Stopped(Stop {
        reason,
        message: "it ended".into(),
    })
}

#[rstest]
#[case::plainly(false, Stage::GeneratingCode)]
#[case::with_a_new_plan(true, Stage::Planning)]
fn a_failed_task_goes_on_with_a_new_program_or_a_new_plan(#[case] replan: bool, #[case] stage: Stage) {
    let mut walk = exhausted();
    let before = walk.progress.clone();
    walk.take(retry(replan, Some(HINT)));
    assert_eq!(walk.stage(), stage);
    let progress = &walk.progress;
    assert_eq!((&progress.stop, progress.completed_at), (&None, None));
    assert_eq!(progress.hint(), Some(HINT));
    assert_eq!(progress.attempts, before.attempts, "what was tried stays");
    assert_eq!(
        (progress.sequence, progress.attempt),
        (before.sequence, before.attempt),
        "numbers go on, so that nothing recorded is written over"
    );
    assert_eq!(progress.spent, before.spent);
    let documents = &progress.documents;
    assert_eq!(documents.context, before.documents.context);
    assert_eq!(progress.plan.is_some(), stage != Stage::Planning);
    assert_eq!((&documents.solution, &documents.run), (&None, &None));
    let [tried] = progress.retries.as_slice() else {
        panic!("one try: {:?}", progress.retries)
    };
    assert_eq!(
        (tried.replan, tried.after.as_str(), tried.attempts),
        (replan, "IterationsExhausted", 1)
    );
}

#[test]
fn each_try_has_the_iterations_of_a_task_of_its_own() {
    let mut walk = exhausted();
    walk.take(retry(false, None));
    let code = walk.new_source(&[]);
    walk.take(Outcome::CodeWritten(code));
    let tests = walk.new_source(&[]);
    walk.take(Outcome::TestsWritten(tests));
    assert_eq!((walk.stage(), walk.progress.attempt), (Stage::RunningTests, 2));
    walk.ran(vec![logic("m")]);
    assert_eq!(walk.stop().reason, StopReason::IterationsExhausted);
    assert!(walk.stop().message.contains("1 of 1 attempts failed"));
    assert_eq!(walk.progress.attempts.len(), 2);
}

#[test]
fn what_failed_before_is_not_held_against_another_try() {
    let mut walk = exhausted();
    walk.take(retry(false, None));
    assert_eq!(walk.progress.memory, Memory::default());
}

#[rstest]
#[case::replies_of_no_use(StopReason::InvalidReply, Stage::Planning)]
#[case::no_progress(StopReason::NoProgress, Stage::Planning)]
#[case::a_rule_on_packages(StopReason::PolicyDenied, Stage::Planning)]
fn an_end_before_there_is_anything_begins_with_the_plan(#[case] reason: StopReason, #[case] stage: Stage) {
    let mut walk = Walk::new(task());
    walk.take(samples())
        .take(stopped(reason))
        .take(retry(false, None));
    assert_eq!(walk.stage(), stage);
}

#[test]
fn replies_that_were_of_no_use_are_asked_for_where_they_were() {
    for (stage, mut walk) in calling_stages() {
        walk.take(stopped(StopReason::InvalidReply))
            .take(retry(false, None));
        assert_eq!(walk.stage(), stage);
    }
}

#[test]
fn a_task_that_has_succeeded_is_tried_again_where_somebody_says_how() {
    let mut walk = Walk::new(task());
    walk.until_tests().ran(Vec::new());
    assert_eq!(walk.stage(), Stage::Succeeded);
    let before = walk.progress.clone();
    walk.take(retry(false, None));
    assert_eq!(walk.stage(), Stage::Succeeded);
    let refused = walk.progress.retry_refused.clone().unwrap();
    assert!(
        refused.contains("ask for a new plan, or give a hint"),
        "{refused}"
    );
    assert_eq!(
        walk.progress,
        Progress {
            retry_refused: Some(refused),
            ..before
        }
    );
    walk.take(retry(false, Some(HINT)));
    assert_eq!(walk.stage(), Stage::GeneratingCode);
    assert_eq!(walk.progress.retry_refused, None);
    assert_eq!(walk.progress.retries[0].after, "Succeeded");
}

/// Returns the text that keeps a task that ended so from another try.
fn refusal(walk: &mut Walk, hint: Option<&str>) -> String {
    let before = walk.progress.clone();
    walk.take(retry(false, hint));
    let refused = walk.progress.retry_refused.clone().unwrap_or_default();
    assert_eq!(
        walk.progress,
        Progress {
            retry_refused: Some(refused.clone()),
            ..before
        },
        "all else stays"
    );
    refused
}

#[test]
fn what_cannot_be_tried_again_says_why_and_stays_as_it_was() {
    let mut planning = Walk::new(task());
    planning.take(samples());
    assert!(refusal(&mut planning, Some(HINT)).contains("under way in stage Planning"));
    planning.take(stopped(StopReason::NoProgress));
    assert!(refusal(&mut planning, Some(" ")).contains("the hint is empty"));
    assert!(refusal(&mut planning, Some(&"x".repeat(401))).contains("at most 400"));
    planning.progress.spent.model_calls = 100;
    assert!(refusal(&mut planning, None).contains("Raise limits.maxModelCalls"));
    let shown = status(
        &planning.task,
        &planning.progress,
        StatusContext::default(),
        at(2),
    );
    let message = shown.message.unwrap();
    assert!(message.contains("It is not tried again: "), "{message}");
}

#[test]
fn a_plan_that_was_rejected_is_not_gone_on_with() {
    let mut walk = Walk::new(task());
    walk.task.approvals = [Gate::Plan].into();
    walk.take(samples()).take(planned());
    let asked = crate::approval::awaited(&walk.task, &walk.progress).unwrap();
    walk.take(Outcome::Decided(ApprovalStatus {
        gate: asked.gate,
        hash: asked.hash,
        decision: ApprovalDecision::Reject,
        ..decision()
    }));
    assert_eq!(walk.stop().reason, StopReason::Rejected);
    walk.take(retry(false, Some("count lines, not words")));
    assert_eq!(walk.stage(), Stage::Planning);
}

#[test]
fn what_a_limit_ended_goes_on_there_with_everything_as_it_was() {
    let mut walk = Walk::new(task());
    walk.until_tests().ran(vec![logic("m")]);
    walk.diagnosed(&[(logic("m"), ErrorType::Logic), (logic("n"), ErrorType::TestError)]);
    let before = walk.progress.clone();
    walk.take(stopped(StopReason::BudgetExceeded))
        .take(retry(false, Some(HINT)));
    assert_eq!(walk.stage(), Stage::FixingCode);
    let after = &walk.progress;
    assert_eq!(
        (&after.documents, &after.pending_fixes, &after.memory),
        (&before.documents, &before.pending_fixes, &before.memory)
    );
    walk.take(stopped(StopReason::BudgetExceeded))
        .take(retry(true, None));
    assert_eq!(walk.stage(), Stage::Planning);
}

#[test]
fn a_hint_is_part_of_the_key_of_what_it_led_to() {
    let mut walk = exhausted();
    let key = key_of(&walk.task, &walk.progress);
    assert_eq!(key, walk.task.reuse_key());
    walk.take(retry(false, None));
    assert_eq!(
        key_of(&walk.task, &walk.progress),
        key,
        "fresh replies alone are no other task"
    );
    walk.take(stopped(StopReason::NoProgress))
        .take(retry(false, Some(HINT)));
    let hinted = key_of(&walk.task, &walk.progress);
    assert_ne!(hinted, key);
    walk.take(stopped(StopReason::NoProgress))
        .take(retry(false, None));
    assert_eq!(
        key_of(&walk.task, &walk.progress),
        hinted,
        "what came of the hint may still be in it"
    );
}
