mod command_results;
mod files;
mod asked_tests;

use std::collections::BTreeMap;

use jiff::Timestamp;
use rstest::rstest;
use serde_json::{Value, json};

use super::command::{AgentCommand, is_call_of_tests};
use super::conversation::{conversation, cut};
use super::session::{AgentSession, Pending};
use super::step::{AgentStep, CallResult};
use super::workspace::{MAX_BYTES, MAX_FILES, Workspace};
use crate::call::{FinishReason, Reply};
use crate::conversation::{Exchange, ToolCall, ToolResult};
use crate::sandbox::CommandsPhase;

fn reply(calls: &[(&str, Value)]) -> Reply {
    let call = |(name, input): &(&str, Value)| ToolCall {
        id: String::new(),
        name: (*name).to_owned(),
        input: input.clone(),
    };
    Reply {
        calls: calls.iter().map(call).collect(),
        ..Reply::default()
    }
}

fn write(path: &str, content: &str) -> (&'static str, Value) {
    ("Write", json!({"file_path": path, "content": content}))
}

/// Returns the results of these calls of one turn, each in words.
fn results_of(calls: &[(&str, Value)]) -> Vec<(String, bool)> {
    let mut session = AgentSession::default();
    session.begin(2, reply(calls));
    let proceeded = session.proceed(Timestamp::UNIX_EPOCH);
    assert_eq!(proceeded.pending, Pending::Turn);
    proceeded
        .results
        .into_iter()
        .map(|result| (result.text, result.is_error))
        .collect()
}

fn last(calls: &[(&str, Value)]) -> (String, bool) {
    results_of(calls).pop().unwrap()
}

#[rstest]
#[case::unknown("Grep", json!({}), "There is no tool")]
#[case::no_json("Write", json!("{\"file_path\": "), "cannot be used")]
#[case::incomplete("Write", json!({"file_path": "a"}), "missing field `content`")]
#[case::words_for_a_number("Bash", json!({"command": "ls", "timeout": "long"}), "expected a number")]
#[case::words_for_a_line("Read", json!({"file_path": "a", "offset": "first"}), "expected a whole number")]
fn a_call_that_cannot_be_understood_says_why(#[case] name: &str, #[case] input: Value, #[case] why: &str) {
    let (text, is_error) = last(&[(name, input)]);
    assert!(is_error && text.contains(why), "{text}");
}

#[test]
fn commands_in_a_row_are_one_sandbox_and_one_that_is_nothing_but_the_tests_ends_the_row() {
    let command = |command: &str| ("Bash", json!({"command": command}));
    let mut session = AgentSession::default();
    session.begin(
        2,
        reply(&[command("ls"), command("cat a"), command("pytest"), command("ls")]),
    );
    let count = |pending: &Pending| match pending {
        Pending::Commands(commands) => commands.len(),
        Pending::Turn | Pending::Tests | Pending::Claim | Pending::Unfinished(_) => 0,
    };
    assert_eq!(count(&session.proceed(Timestamp::UNIX_EPOCH).pending), 2);
    let run = json!({"results": [{"exit": 0}, {"exit": 2, "output": "no a"}]});
    let step = session.ran(
        serde_json::from_value(run).unwrap(),
        2,
        None,
        Timestamp::UNIX_EPOCH,
        Timestamp::UNIX_EPOCH,
    );
    let texts: Vec<&str> = step.results.iter().map(|result| result.text.as_str()).collect();
    assert_eq!(texts, ["(no output)", "no a\n[exit code 2]"]);
    assert_eq!(session.proceed(Timestamp::UNIX_EPOCH).pending, Pending::Tests);
    session.answer_tests(CallResult::at_once(
        "Bash",
        Ok("1 passed".to_owned()),
        Timestamp::UNIX_EPOCH,
    ));
    assert_eq!(count(&session.proceed(Timestamp::UNIX_EPOCH).pending), 1);
}

#[rstest]
#[case::alone("pytest", true)]
#[case::module("python3 -m pytest -x -q test_solution.py::test_a", true)]
#[case::folder_time_and_filter("cd /sandbox && timeout 60s python -m pytest -q 2>&1 | tail -20", true)]
#[case::expression("py.test -k 'mean and not empty' | grep -E \"passed|failed\"", true)]
#[case::an_edit_before("sed -i s/a/b/ solution.py && pytest", false)]
#[case::a_program_after("pytest; python solution.py", false)]
#[case::a_line_after("pytest\nls", false)]
#[case::a_file("pytest > log.txt", false)]
#[case::a_substitution("pytest \"$(ls test_*)\"", false)]
#[case::a_variable("pytest $X", false)]
#[case::only_printed("pytest --collect-only -q", false)]
#[case::another_program("pytest-watch", false)]
#[case::as_a_word("echo pytest", false)]
fn a_plain_call_of_tests_needs_no_sandbox_before_them(#[case] command: &str, #[case] is_plain: bool) {
    assert_eq!(is_call_of_tests(command), is_plain);
}

#[test]
fn denials_count_by_turn_and_a_turn_with_another_call_begins_anew() {
    let denied = |count: usize| vec![("Bash", json!({"command": "curl x"})); count];
    let mut session = AgentSession::default();
    let mut turn = |sequence: u32, calls: &[(&str, Value)]| {
        session.begin(sequence, reply(calls));
        let now = Timestamp::UNIX_EPOCH;
        if let Pending::Commands(commands) = session.proceed(now).pending {
            let refused =
                json!({"exit": 126, "output": "a", "seconds": sequence, "denied": ["curl is not run"]});
            let run = json!({"results": vec![refused; commands.len()]});
            session.ran(
                serde_json::from_value(run).unwrap(),
                commands.len(),
                None,
                now,
                now,
            );
            session.proceed(now);
        }
        session.stuck().unwrap_or_default()
    };
    assert!(!turn(2, &denied(2)).contains("denied"));
    let mixed = [denied(1), vec![write("a", "x")]].concat();
    assert!(!turn(3, &mixed).contains("denied"));
    for sequence in 4..8 {
        assert!(!turn(sequence, &denied(1)).contains("denied"), "{sequence}");
    }
    assert!(turn(8, &denied(1)).contains("every call of 5 turns in a row was denied"));
}

fn exchange(bytes: usize) -> Exchange {
    Exchange {
        text: String::new(),
        calls: Vec::new(),
        echo: None,
        results: vec![ToolResult {
            id: "a".to_owned(),
            text: format!("first line\n{}\nlast line", "x".repeat(bytes)),
            is_error: false,
        }],
        note: String::new(),
    }
}

#[test]
fn a_long_result_keeps_its_beginning_and_more_of_its_end() {
    let shown = conversation(&[exchange(100_000)]);
    let text = &shown.exchanges[0].results[0].text;
    assert!(text.len() < 17_000, "{}", text.len());
    assert!(text.starts_with("first line\n") && text.ends_with("\nlast line"));
    let marker = text.find("bytes in 1 lines left out").unwrap();
    assert!(marker < text.len() / 3);
}

#[test]
fn old_results_give_way_where_a_conversation_becomes_too_long_and_requests_stay_beginnings_of_each_other() {
    let exchanges: Vec<Exchange> = (0..60).map(|_| exchange(12_000)).collect();
    let mut cuts = 0;
    let mut before = conversation(&exchanges[..1]).exchanges;
    for turns in 2..=exchanges.len() {
        let now = conversation(&exchanges[..turns]).exchanges;
        let bytes: usize = now.iter().map(|exchange| exchange.results[0].text.len()).sum();
        assert!(bytes <= 300_000, "{bytes} bytes after {turns} turns");
        assert!(
            now.iter()
                .rev()
                .take(3)
                .all(|exchange| exchange.results[0].text.len() > 12_000)
        );
        cuts += usize::from(now[..before.len()] != before[..]);
        before = now;
    }
    assert!((1..=5).contains(&cuts), "{cuts} times the beginning changed");
}

#[test]
fn what_a_turn_leaves_is_bounded_whatever_it_calls() {
    let read = ("Read", json!({"file_path": "a"}));
    let mut calls = vec![write("a", &"x\n".repeat(100_000))];
    calls.extend(vec![read; 400]);
    let results = results_of(&calls);
    assert!(
        !results[19].1 && results[20].0.contains("at most 20 calls"),
        "{}",
        results[20].0
    );
    assert_eq!(
        results.len(),
        401,
        "each call has a result, as the protocols want"
    );
    let bytes: usize = results.iter().map(|(text, _)| text.len()).sum();
    assert!(bytes < 2 << 20, "{bytes}");
}

#[test]
fn the_more_a_session_has_recorded_the_less_it_records_of_a_result() {
    let text = format!("{}\n", "x".repeat(1_000)).repeat(100);
    let (mut session, mut replayed) = (AgentSession::default(), AgentSession::default());
    let mut bytes = Vec::new();
    for turn in 0..10 {
        let mut calls = vec![("Read", json!({"file_path": "a"})); 20];
        if turn == 0 {
            calls[0] = write("a", &text);
        }
        session.begin(turn + 2, reply(&calls));
        replayed.begin(turn + 2, reply(&calls));
        let results = session.proceed(Timestamp::UNIX_EPOCH).results;
        bytes.extend(results.iter().map(|result| result.text.len()));
        replayed.take(&AgentStep {
            results,
            ..replayed.step()
        });
    }
    assert_eq!(session.exchanges(), replayed.exchanges());
    let recorded = &session.exchanges()[0].results;
    let read = &conversation(&session.exchanges()[..1]).exchanges[0].results;
    assert!(
        bytes[1] > 65_000,
        "the first is recorded whole, or almost: {}",
        bytes[1]
    );
    assert!((16_000..=16_384).contains(&bytes[5]), "{}", bytes[5]);
    assert_eq!(recorded[5], read[5], "the model reads what is recorded");
    assert!(bytes[199] <= 2_048, "{}", bytes[199]);
    let all: usize = bytes.iter().sum();
    assert!(all < 3 << 19, "{all}");
}

#[test]
fn what_is_left_out_is_counted_whole_however_often_a_text_was_cut() {
    let text = format!("{}\n", "x".repeat(99)).repeat(3_000);
    let once = cut(&text, 64 * 1024);
    let counted = |text: &str| {
        let (_, rest) = text.split_once("[... ").unwrap();
        let (bytes, rest) = rest.split_once(" bytes in ").unwrap();
        let lines = rest.split_once(" lines left out ...]").unwrap().0;
        (bytes.parse::<usize>().unwrap(), lines.parse::<usize>().unwrap())
    };
    let (twice, directly) = (counted(&cut(&once, 16 * 1024)), counted(&cut(&text, 16 * 1024)));
    assert!(
        twice.0.abs_diff(directly.0) <= 120 && twice.1.abs_diff(directly.1) <= 2,
        "{twice:?} {directly:?}"
    );
    assert!(cut(&once, 16 * 1024).len() <= 16 * 1024);
}

/// A reply that met its limit of output tokens.
fn cut_reply(calls: &[(&str, Value)], finish: FinishReason) -> Reply {
    Reply {
        finish,
        ..reply(calls)
    }
}

#[test]
fn the_last_call_of_a_reply_that_was_cut_is_not_made() {
    let mut session = AgentSession::default();
    session.begin(
        2,
        cut_reply(&[write("a", "whole"), write("b", "hal")], FinishReason::Length),
    );
    let proceeded = session.proceed(Timestamp::UNIX_EPOCH);
    assert_eq!(proceeded.pending, Pending::Turn);
    assert!(
        proceeded.results[1].text.contains("limit of output tokens"),
        "{:?}",
        proceeded.results
    );
    assert_eq!(
        (session.workspace().text("a"), session.workspace().get("b")),
        (Ok("whole"), None)
    );
    let command = |command: &str| ("Bash", json!({"command": command}));
    session.begin(
        3,
        cut_reply(&[command("ls"), command("rm a")], FinishReason::Length),
    );
    let pending = session.proceed(Timestamp::UNIX_EPOCH).pending;
    assert!(matches!(pending, Pending::Commands(commands) if commands.len() == 1));
}

#[rstest]
#[case::said_everything(FinishReason::Complete, "")]
#[case::in_words_of_a_server(FinishReason::Other("eos".to_owned()), "")]
#[case::cut(FinishReason::Length, "limit of output tokens")]
#[case::refused(FinishReason::Refused, "refused")]
#[case::paused(FinishReason::Other("pause_turn".to_owned()), "pause_turn")]
#[case::unreadable(FinishReason::Other("MALFORMED_FUNCTION_CALL".to_owned()), "MALFORMED")]
fn a_reply_that_ended_early_does_not_say_that_its_agent_is_done(
    #[case] finish: FinishReason,
    #[case] told: &str,
) {
    let mut session = AgentSession::default();
    session.begin(2, cut_reply(&[], finish));
    match session.proceed(Timestamp::UNIX_EPOCH).pending {
        Pending::Claim => assert_eq!(told, ""),
        Pending::Unfinished(note) => assert!(!told.is_empty() && note.contains(told), "{note}"),
        other => panic!("{other:?}"),
    }
}

#[rstest]
#[case::seconds_for_milliseconds(30.0, 1.0)]
#[case::milliseconds(30_000.0, 30.0)]
fn a_command_has_a_second_at_least_and_its_report_comes_with_its_pod(
    #[case] asked: f64,
    #[case] seconds: f64,
) {
    let command = AgentCommand {
        line: "ls".to_owned(),
        timeout: Some(asked),
    };
    let phase = json!(CommandsPhase::new(&Workspace::default(), &[command], &[]));
    assert_eq!(
        (&phase["commands"][0]["seconds"], &phase["inMessage"]),
        (&json!(seconds), &json!(true))
    );
}
