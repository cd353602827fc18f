//! Results of commands whose sandbox ended, as the agent is told them.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::reply;
use crate::agent::session::AgentSession;
use crate::agent::step::{CallResult, EarlyEnd};

/// Returns the results that are told of two commands of which this became known.
fn ran(run: Value, ended: Option<&EarlyEnd>) -> Vec<CallResult> {
    let mut session = AgentSession::default();
    let command = |command: &str| ("Bash", json!({"command": command}));
    session.begin(2, reply(&[command("first"), command("second")]));
    let run = serde_json::from_value(run).unwrap();
    let now = Timestamp::from_second(1_000).unwrap();
    session.ran(run, 2, ended, now, now).results
}

#[test]
fn a_command_that_ran_when_its_sandbox_ended_is_not_called_one_that_never_ran() {
    let memory = memory();
    let why = Some(&memory);
    let results = ran(
        json!({"results": [{"exit": 0}, {"startedAt": 990.0, "interrupted": true}]}),
        why,
    );
    let [first, second] = results.as_slice() else {
        panic!("{results:?}")
    };
    assert!(!first.is_error && second.is_error);
    assert_eq!(second.exit, None);
    for part in ["while this command ran", "memory", "files are as it left them"] {
        assert!(second.text.contains(part), "{}", second.text);
    }
    assert_eq!(
        (second.started_at.as_second(), second.finished_at.as_second()),
        (990, 1_000)
    );
    let never = ran(
        json!({"results": [{"startedAt": 990.0, "interrupted": true}]}),
        why,
    );
    assert!(never[1].text.contains("was not run"), "{}", never[1].text);
}

#[test]
fn a_command_that_was_killed_before_its_sandbox_ended_names_the_limit_that_was_met() {
    let killed = json!({"results": [{"exit": 0, "output": "1"}, {"exit": 137}]});
    assert_eq!(named(&killed, &memory()), [false, true]);
    assert_eq!(ran(killed, None)[1].text, "(no output)\n[exit code 137]");
}

fn memory() -> EarlyEnd {
    EarlyEnd::Limit("memory".to_owned())
}

/// Finds the one of two commands that is told why their sandbox ended: whichever is told has failed.
fn named(run: &Value, ended: &EarlyEnd) -> Vec<bool> {
    let results = ran(run.clone(), Some(ended)).into_iter();
    let named = results.map(|result| {
        let is_told = result.text.contains(&ended.words());
        assert!(result.is_error || !is_told, "{}", result.text);
        is_told
    });
    named.collect()
}

#[test]
fn a_limit_that_is_met_within_a_pipe_is_named_although_the_pipe_ends_well() {
    let well = json!({"results": [{"exit": 0}, {"exit": 0}]});
    assert_eq!(named(&well, &memory()), [false, true]);
    let result = ran(well.clone(), Some(&memory())).remove(1);
    assert_eq!(
        result.text,
        "(no output)\n[It ended because a limit was met: memory.]"
    );
    assert_eq!(result.headline(), "Bash (failed) second");
    assert!(ran(well.clone(), None).iter().all(|result| !result.is_error));
    // Where the time was over, the command that took it says so itself.
    let late = EarlyEnd::Other("It ended because its time was over.".to_owned());
    assert_eq!(named(&well, &late), [false, false]);
}

#[test]
fn a_limit_is_named_once_by_the_last_command_that_may_have_met_it() {
    for (results, expected) in [
        (json!([{"exit": 0}, {"exit": 1}]), [false, true]),
        (json!([{"exit": 137}, {"exit": 0}]), [true, false]),
        (json!([{"exit": 0}, {"interrupted": true}]), [false, true]),
        // It is told of the one that was not begun.
        (json!([{"exit": 0}]), [false, true]),
    ] {
        let run = json!({"results": results});
        assert_eq!(named(&run, &memory()), expected, "{run}");
    }
}

#[test]
fn a_command_has_times_of_its_own() {
    let results = ran(
        json!({"results": [{"startedAt": 900.5, "seconds": 2.0}, {"startedAt": 1e300, "seconds": 1e300}]}),
        None,
    );
    let times = |result: &CallResult| {
        (
            result.started_at.as_millisecond(),
            result.finished_at.as_millisecond(),
        )
    };
    assert_eq!(times(&results[0]), (900_500, 902_500));
    assert_eq!(
        times(&results[1]),
        (1_000_000, 1_000_000),
        "what cannot be is not taken"
    );
}

#[test]
fn what_was_refused_in_a_command_stands_in_its_result_once_with_what_to_do_instead() {
    let line = "curl is not run: there is no network";
    let denied = |output: &str, exit: i32| json!({"exit": exit, "output": output, "denied": [line]});
    let results = ran(
        json!({"results": [denied("", 0), denied(&format!("a\n{line}\n"), 126)]}),
        None,
    );
    let texts: Vec<&str> = results.iter().map(|result| result.text.as_str()).collect();
    let (hidden, shown) = (format!("[{line}]"), format!("a\n{line}\n[exit code 126]"));
    assert_eq!(texts, [hidden, shown]);
    assert!(results.iter().all(|result| result.is_denied() && result.is_error));
    assert_eq!(results[0].headline(), "Bash (denied) first");
}
