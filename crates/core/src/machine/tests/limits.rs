//! Tests of the events that end a task or make it wait.

use super::*;

#[test]
fn the_last_iteration_ends_the_task_and_a_raised_limit_goes_on_from_there() {
    let mut walk = Walk::new(task());
    walk.task.limits.max_iterations = 1;
    walk.until_tests().ran(vec![logic("m")]);
    assert_eq!(walk.stop().reason, StopReason::IterationsExhausted);
    assert!(
        walk.stop().message.contains("1 of 1 attempts failed"),
        "{}",
        walk.stop().message
    );
    walk.take(Outcome::LimitRaised);
    assert_eq!(walk.stage(), Stage::Diagnosing);
    assert!(walk.progress.stop.is_none());
}

#[test]
fn a_reply_may_be_refused_twice_and_the_third_time_ends_the_task() {
    for (stage, mut walk) in calling_stages() {
        assert_eq!(walk.stage(), stage);
        for _ in 0..2 {
            walk.take(Outcome::ReplyRejected("not JSON.".into()));
            assert_eq!(walk.stage(), stage);
        }
        assert_eq!(walk.progress.rejections.len(), 2);
        walk.take(Outcome::ReplyRejected("not JSON.".into()));
        assert_eq!(walk.stage(), Stage::Failed, "{stage}");
    }
}

pub(super) fn calling_stages() -> Vec<(Stage, Walk)> {
    let with = |prepare: &dyn Fn(&mut Walk)| {
        let mut walk = Walk::new(task());
        prepare(&mut walk);
        (walk.stage(), walk)
    };
    let mut constraints = Walk::new(Task {
        constraints: vec!["c".into()],
        ..task()
    });
    constraints.take(samples());
    vec![
        (Stage::ReadingConstraints, constraints),
        with(&|w| _ = w.take(samples())),
        with(&|w| _ = w.take(samples()).take(planned())),
        with(&|w| {
            w.take(samples()).take(planned());
            let code = w.new_source(&["x"]);
            w.take(Outcome::CodeWritten(code));
        }),
        with(&|w| _ = w.until_tests().ran(vec![logic("m")])),
        with(&|w| {
            _ = w
                .until_tests()
                .ran(vec![logic("m")])
                .diagnosed(&[(logic("m"), ErrorType::Logic)]);
        }),
        with(&|w| {
            _ = w
                .until_tests()
                .ran(vec![logic("m")])
                .diagnosed(&[(logic("m"), ErrorType::TestError)]);
        }),
        with(&|w| {
            let case = failed(CheckSource::Case, "case 1 (ties)", "m");
            _ = w
                .until_tests()
                .ran(vec![case.clone()])
                .diagnosed(&[(case, ErrorType::TestError)]);
        }),
        with(&|w| {
            w.take(samples()).take(planned());
            let code = w.new_source(&["x"]);
            w.take(Outcome::CodeWritten(code)).take(fault(&["x"]));
            let tests = w.new_source(&["x"]);
            w.take(Outcome::TestsWritten(tests));
        }),
    ]
}

#[test]
fn what_is_blocked_waits_and_goes_on_where_it_was() {
    let mut walk = Walk::new(task());
    walk.take(samples());
    let blocked = |at_| {
        Outcome::Blocked(BlockedTask {
            category: Category::Infrastructure,
            message: "down".into(),
            retry_at: at(at_),
            lost_child: None,
            was_idle: false,
        })
    };
    walk.take(blocked(10)).take(blocked(20));
    let waiting = walk.progress.waiting.clone().unwrap();
    assert_eq!((waiting.times, waiting.retry_at), (2, at(20)));
    assert_eq!(decide(&walk.task, &walk.progress, at(19)), Decision::Wait(at(20)));
    let set_back = decide(&walk.task, &walk.progress, at(-3_580));
    assert!(
        !matches!(set_back, Decision::Wait(_)),
        "it would wait for an hour"
    );
    assert_eq!(
        decide(&walk.task, &walk.progress, at(20)),
        Decision::Call(crate::call::CallKind::Plan)
    );
    walk.take(Outcome::Resumed);
    assert!(walk.progress.waiting.is_none());
    assert_eq!(walk.progress.attempt, 0, "no iteration is spent");
}

#[test]
fn outputs_that_could_not_be_checked_wait_for_a_person_and_cost_no_attempt() {
    let mut walk = Walk::new(task());
    walk.until_tests();
    let mut unchecked = verdict(Vec::new());
    unchecked.too_large.push(OutputTooLarge {
        output: "summary".into(),
        bytes: Some(2_000_000),
    });
    walk.take(Outcome::Tested(Tested {
        record: document("r"),
        verdict: Box::new(unchecked),
        started_at: at(0),
    }));
    let waiting = walk.progress.waiting.clone().unwrap();
    assert_eq!(
        (waiting.category, waiting.reason),
        (Category::Configuration, Some(WaitReason::OutputTooLarge))
    );
    assert_eq!(
        (walk.stage(), walk.progress.attempts.len()),
        (Stage::RunningTests, 0)
    );
    assert_eq!(walk.progress.documents.run, Some(document("r")));
    assert_eq!(
        decide(&walk.task, &walk.progress, at(2)),
        Decision::Wait(waiting.retry_at)
    );
    let shown = status(&walk.task, &walk.progress, StatusContext::default(), at(2));
    assert_eq!(shown.reason.as_deref(), Some("OutputTooLarge"));
    assert!(shown.message.unwrap().contains("2000000 bytes"));
}

#[test]
fn every_limit_stops_the_task_and_names_itself() {
    let mut walk = Walk::new(task());
    walk.take(samples());
    let stop = |task: &Task, progress: &Progress| match decide(task, progress, at(2)) {
        Decision::Stop(stop) => stop.message,
        other => panic!("{other:?}"),
    };
    let mut calls = walk.progress.clone();
    calls.spent.model_calls = 100;
    assert!(stop(&walk.task, &calls).starts_with("limits.maxModelCalls: 100 of 100 model calls are made."));
    let mut time = walk.progress.clone();
    time.spent.active_seconds = 7_200.0;
    time.active_since = None;
    assert!(stop(&walk.task, &time).starts_with("limits.deadline: 7200 s of 7200 s"));
    let mut builds = walk.progress.clone();
    builds.stage = Stage::AwaitingImage;
    builds.spent.builds = 20;
    assert!(stop(&walk.task, &builds).starts_with("limits.maxBuilds: 20 of 20"));
    let mut tokens = walk.progress.clone();
    tokens.spent.tokens.input = 999_000;
    tokens.last_error = Some("test_mean failed".into());
    let message = crate::budget::allow_call(&walk.task, &tokens, 900)
        .unwrap_err()
        .message;
    assert_eq!(
        message,
        "limits.maxTokens: 999000 of 1000000 tokens are spent and the next call needs about 1156. Last failure: \
         test_mean failed Raise limits.maxTokens to go on; nothing is paid for twice."
    );
    walk.take(Outcome::Stopped(Stop {
        reason: StopReason::BudgetExceeded,
        message,
    }));
    assert_eq!(walk.stage(), Stage::Failed);
}

#[test]
fn ten_iterations_of_three_tries_of_each_fix_fit_into_the_default_limits() {
    let limits = task().limits;
    let calls = 4 + limits.max_iterations * (1 + 2 * MAX_FIX_TRIES);
    assert!(calls <= limits.max_model_calls, "{calls}");
}
