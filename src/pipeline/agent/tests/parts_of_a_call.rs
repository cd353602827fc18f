//! A call that asks for the tests, with commands before and after them.

use jiff::Timestamp;
use rstest::rstest;
use serde_json::{Value, json};

use super::{judge, reply};
use crate::pipeline::agent::command::{Command, Then};
use crate::pipeline::agent::session::{Pending, Session};
use crate::pipeline::agent::step::{CallResult, Step};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

/// A session, and one that is replayed from what the first records.
struct Sessions {
    live: Session,
    replayed: Session,
}

impl Sessions {
    fn new(commands: &[&str]) -> Self {
        let calls: Vec<(&str, Value)> = commands
            .iter()
            .map(|command| ("Bash", json!({"command": command})))
            .collect();
        let (mut live, mut replayed) = (Session::default(), Session::default());
        live.begin(2, reply(&calls));
        replayed.begin(2, reply(&calls));
        Self { live, replayed }
    }

    fn pending(&mut self) -> Pending {
        let [live, replayed] =
            [&mut self.live, &mut self.replayed].map(|session| session.proceed(&judge, NOW).pending);
        assert_eq!(live, replayed);
        live
    }

    fn commands(&mut self) -> Vec<Command> {
        match self.pending() {
            Pending::Commands(commands) => commands,
            other => panic!("{other:?}"),
        }
    }

    /// The next commands come to these, one after the other.
    fn run(&mut self, results: &Value) -> Step {
        let commands = self.commands();
        let run = serde_json::from_value(json!({ "results": results })).unwrap();
        let step = self.live.ran(run, &commands, None, NOW, NOW);
        self.replay(step)
    }

    fn test(&mut self, tests: Result<&str, &str>) -> CallResult {
        assert_eq!(self.pending(), Pending::Tests);
        let tests = tests.map(str::to_owned).map_err(str::to_owned);
        let mut step = self.live.step();
        let result = CallResult::at_once("Bash", tests, NOW);
        step.results = vec![self.live.answer_tests(result, &judge)];
        self.replay(step).results.remove(0)
    }

    fn replay(&mut self, step: Step) -> Step {
        let recorded: Step = serde_json::from_value(json!(step)).unwrap();
        self.replayed.take(&recorded);
        step
    }
}

fn scripts(commands: &[Command]) -> Vec<(&str, Then)> {
    commands
        .iter()
        .map(|command| (command.script.as_str().unwrap(), command.then))
        .collect()
}

#[test]
fn a_row_of_commands_ends_with_what_comes_before_the_tests_and_the_call_stays_open_for_them() {
    let mut sessions = Sessions::new(&["ls", "make && pytest && run", "ls"]);
    assert_eq!(
        scripts(&sessions.commands()),
        [("ls", Then::Nothing), ("make", Then::Tests)]
    );
    let step = sessions.run(&json!([{"exit": 0}, {"exit": 0, "output": "made"}]));
    assert_eq!((step.results.len(), step.calls().count()), (2, 1));
    let result = sessions.test(Err("1 failed"));
    assert_eq!(
        (
            result.text.as_str(),
            result.bytes,
            result.is_partial,
            result.is_error
        ),
        ("made\n1 failed", 12, false, true)
    );
    assert_eq!(scripts(&sessions.commands()), [("ls", Then::Nothing)]);
}

#[test]
fn what_follows_the_tests_runs_with_the_commands_after_the_call_and_its_call_is_one_of_tests() {
    let mut sessions = Sessions::new(&["make && pytest && run", "ls"]);
    sessions.run(&json!([{"exit": 0, "output": "made"}]));
    assert!(sessions.test(Ok("2 passed")).is_partial);
    assert_eq!(
        scripts(&sessions.commands()),
        [("run", Then::Nothing), ("ls", Then::Nothing)]
    );
    let step = sessions.run(&json!([{"exit": 3, "output": "ran"}, {"exit": 0}]));
    let [call, _] = step.results.as_slice() else {
        panic!("{step:?}")
    };
    assert_eq!(call.text, "made\n2 passed\nran\n[exit code 3]");
    assert_eq!(
        (call.class.as_str(), call.exit, call.is_error, call.is_partial),
        ("Intercepted", Some(3), true, false)
    );
    assert_eq!(sessions.pending(), Pending::Turn);
}

#[rstest]
#[case::passed(Ok("2 passed"), "run; ls", false)]
#[case::failed(Err("1 failed"), "ls", true)]
fn what_runs_after_the_tests_depends_on_what_they_came_to(
    #[case] tests: Result<&str, &str>,
    #[case] after: &str,
    #[case] is_error: bool,
) {
    let mut sessions = Sessions::new(&["make && pytest && run; ls"]);
    assert_eq!(scripts(&sessions.commands()), [("make", Then::TestsOrCommand)]);
    sessions.run(&json!([{"exit": 0}]));
    sessions.test(tests);
    assert_eq!(scripts(&sessions.commands()), [(after, Then::Nothing)]);
    let call = sessions.run(&json!([{"exit": 0}])).results.remove(0);
    let told = tests.unwrap_or_else(|told| told);
    assert_eq!((call.text.as_str(), call.is_error), (told, is_error));
}

#[test]
fn where_what_comes_before_the_tests_fails_only_what_follows_a_failure_runs() {
    let mut sessions = Sessions::new(&["make && pytest && run; ls"]);
    sessions.run(&json!([{"exit": 2, "output": "no rule"}]));
    assert_eq!(scripts(&sessions.commands()), [("ls", Then::Nothing)]);
    let call = sessions
        .run(&json!([{"exit": 0, "output": "a"}]))
        .results
        .remove(0);
    assert_eq!(
        call.text,
        "no rule\n[exit code 2]\n[the tests were not run: what comes before them failed]\na"
    );
    assert_eq!(
        (call.class.as_str(), call.exit, call.is_error),
        ("Safe", Some(2), true)
    );
}

#[test]
fn nothing_follows_a_part_whose_time_was_over() {
    let mut sessions = Sessions::new(&["make && pytest && run; ls"]);
    let step = sessions.run(&json!([{"exit": 137, "timedOut": true}]));
    assert!(step.results[0].is_error && !step.results[0].is_partial);
    assert_eq!(sessions.pending(), Pending::Turn);
}
