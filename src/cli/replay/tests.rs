use super::*;
use crate::cli::paint::paint;
use crate::cli::recorded::fixture::{entries, recorded, withheld};
use codegen_core::call::CallKind;

fn end() -> ReplayEnd {
    let task = recorded();
    ReplayEnd::of(&task.status, task.progress.as_ref(), &entries())
}

fn text(replayed: &Replayed) -> String {
    replayed
        .lines
        .iter()
        .map(|line| paint(line, false) + "\n")
        .collect()
}

#[test]
fn the_same_end_by_the_same_way_is_one_line() {
    let replayed = verdict("words", &end(), &end());
    assert!(replayed.is_same);
    assert_eq!(
        text(&replayed),
        "✓ words came to the same end on 5 recorded replies: Succeeded, TestsPassed after 2 attempts\n"
    );
}

#[test]
fn the_same_end_by_another_way_says_where_the_ways_part() {
    let mut after = end();
    after.calls[3].hash = "another".to_owned();
    after.calls[3].instruction = "Do step 4.\nBe long.".to_owned();
    let replayed = verdict("words", &end(), &after);
    assert!(replayed.is_same);
    let text = text(&replayed);
    assert!(
        text.contains("call 4 (diagnosis) was asked \"Be brief.\" and is asked \"Be long.\" now"),
        "{text}"
    );
}

#[test]
fn another_end_names_both_and_the_first_difference() {
    let first = |change: &dyn Fn(&mut ReplayEnd)| {
        let mut after = end();
        after.stage = "Failed".to_owned();
        after.reason = "NoProgress".to_owned();
        after.message = "no reply is left".to_owned();
        change(&mut after);
        let replayed = verdict("words", &end(), &after);
        assert!(!replayed.is_same);
        let text = text(&replayed);
        assert!(
            text.contains("recorded: Succeeded") && text.contains("replayed: Failed, NoProgress"),
            "{text}"
        );
        text.split("first difference: ")
            .nth(1)
            .unwrap()
            .trim_end()
            .to_owned()
    };
    let other_kind = first(&|after| after.calls[1].kind = CallKind::Plan);
    assert_eq!(
        other_kind,
        "call 2 asked for code when it was recorded, and asks for plan now"
    );
    let other_data = first(&|after| {
        after.calls[0].hash = "x".to_owned();
        after.calls[0].prefix = "y".to_owned();
    });
    assert!(
        other_data.starts_with("call 1 (plan) has another task or data context"),
        "{other_data}"
    );
    let fewer = first(&|after| after.calls.truncate(4));
    assert_eq!(fewer, "call 5 (fix_code) was not made again: no reply is left");
    let counts = first(&|after| after.attempts[0].tests = None);
    assert_eq!(
        counts,
        "attempt 1 came to 1 of 2 tests passed, cases 0/1 when it was recorded, and to cases 0/1 now"
    );
    assert_eq!(first(&|_| {}), "the end: no reply is left");
    assert_eq!(first(&|after| after.solution = None), "the programs differ");
}

#[test]
fn only_a_task_that_has_ended_by_its_replies_is_replayed() {
    assert_eq!(replayable(&recorded()).unwrap().1.len(), 5);
    let refused = |change: &dyn Fn(&mut RecordedTask)| {
        let mut task = recorded();
        change(&mut task);
        let absent = replayable(&task).unwrap_err();
        assert_eq!(absent.code, 2);
        absent.to_string()
    };
    let under_way = refused(&|task| task.status.stage = Some("RunningTests".to_owned()));
    assert!(under_way.contains("stage RunningTests"), "{under_way}");
    let rejected = refused(&|task| task.status.reason = Some("Rejected".to_owned()));
    assert!(rejected.contains("rejected it at a gate"), "{rejected}");
    let empty = refused(&|task| task.documents.clear());
    assert!(empty.contains("no reply of a model"), "{empty}");
    assert!(replayable(&withheld()).is_err());
}
