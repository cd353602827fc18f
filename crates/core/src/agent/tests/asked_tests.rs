//! A command that starts pytest in the sandbox: it ends there, and the task's own tests follow.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::reply;
use crate::agent::session::{AgentSession, Pending};
use crate::agent::step::{AgentStep, CallResult};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

/// A session, and one that is replayed from what the first records.
struct Sessions {
    live: AgentSession,
    replayed: AgentSession,
}

impl Sessions {
    fn new(commands: &[&str]) -> Self {
        let calls: Vec<(&str, Value)> = commands
            .iter()
            .map(|command| ("Bash", json!({"command": command})))
            .collect();
        let (mut live, mut replayed) = (AgentSession::default(), AgentSession::default());
        live.begin(2, reply(&calls));
        replayed.begin(2, reply(&calls));
        Self { live, replayed }
    }

    fn pending(&mut self) -> Pending {
        let [live, replayed] =
            [&mut self.live, &mut self.replayed].map(|session| session.proceed(NOW).pending);
        assert_eq!(live, replayed);
        live
    }

    fn commands(&mut self) -> Vec<String> {
        match self.pending() {
            Pending::Commands(commands) => commands.into_iter().map(|command| command.line).collect(),
            other => panic!("{other:?}"),
        }
    }

    /// The next commands come to these, one after the other.
    fn run(&mut self, results: &Value) -> AgentStep {
        let asked = self.commands().len();
        let run = serde_json::from_value(json!({ "results": results })).unwrap();
        let step = self.live.ran(run, asked, None, NOW, NOW);
        self.replay(step)
    }

    fn test(&mut self, tests: Result<&str, &str>) -> CallResult {
        assert_eq!(self.pending(), Pending::Tests);
        let tests = tests.map(str::to_owned).map_err(str::to_owned);
        let mut step = self.live.step();
        let result = CallResult::at_once("Bash", tests, NOW);
        step.results = vec![self.live.answer_tests(result)];
        self.replay(step).results.remove(0)
    }

    fn replay(&mut self, step: AgentStep) -> AgentStep {
        let recorded: AgentStep = serde_json::from_value(json!(step)).unwrap();
        self.replayed.take(&recorded);
        step
    }
}

#[test]
fn a_row_of_commands_ends_with_one_that_starts_the_tests_and_its_call_stays_open_for_them() {
    let mut sessions = Sessions::new(&["ls", "make && pytest && run", "cat a"]);
    assert_eq!(sessions.commands(), ["ls", "make && pytest && run", "cat a"]);
    let step = sessions.run(&json!([
        {"exit": 0},
        {"exit": 137, "output": "made\n", "bytes": 5, "asksForTests": true},
    ]));
    assert_eq!((step.results.len(), step.calls().count()), (2, 1));
    let result = sessions.test(Err("1 failed"));
    assert_eq!(
        (
            result.class.as_str(),
            result.exit,
            result.is_partial,
            result.is_error
        ),
        ("Intercepted", None, false, true)
    );
    let lines: Vec<&str> = result.text.lines().collect();
    assert_eq!((lines[0], lines[2], lines.len()), ("made", "1 failed", 3));
    assert!(
        lines[1].contains("after it in this command is not run"),
        "{}",
        lines[1]
    );
    assert_eq!(sessions.commands(), ["cat a"]);
}

#[test]
fn a_command_whose_first_part_fails_starts_no_tests() {
    let mut sessions = Sessions::new(&["make && pytest"]);
    let step = sessions.run(&json!([{"exit": 2, "output": "no rule"}]));
    let call = &step.results[0];
    assert_eq!((call.class.as_str(), call.exit), ("Safe", Some(2)));
    assert_eq!(sessions.pending(), Pending::Turn);
}

#[test]
fn a_refused_program_before_the_tests_keeps_no_call_from_them() {
    let mut sessions = Sessions::new(&["curl x; pytest"]);
    sessions.run(&json!([
        {"exit": 137, "output": "", "asksForTests": true, "denied": ["curl is not run"]},
    ]));
    let call = sessions.test(Ok("2 passed"));
    assert_eq!((call.class.as_str(), call.is_error), ("Intercepted", false));
    assert!(
        call.text.starts_with("[curl is not run]\n[pytest: "),
        "{}",
        call.text
    );
}

#[test]
fn a_command_that_asks_for_the_tests_again_and_again_has_them_once() {
    let mut sessions = Sessions::new(&["while true; do pytest; done"]);
    sessions.run(&json!([{"exit": 137, "asksForTests": true}, {"exit": 0, "asksForTests": true}]));
    sessions.test(Ok("2 passed"));
    assert_eq!(sessions.pending(), Pending::Turn);
}
