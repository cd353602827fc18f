//! Tools of a server that is a program of this machine.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rstest::rstest;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::terminal::Terminal;
use crate::support::{document, expect_code};
use crate::{Case, QUESTION, stderr};

const TOTAL: &str = "total = await add(2, 3)\ntotal['sum'] * 2";
const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/code_mode/stdio_server.py");

/// A question to an agent with a server that is a command.
struct Commanded(Case);

impl Commanded {
    fn new(program: &str, behaviour: &str) -> Self {
        let case = Self(Case::new(&[program, program, program]));
        case.server(SERVER, behaviour);
        case
    }

    /// Writes the manifest with this server.
    fn server(&self, script: &str, behaviour: &str) {
        let command = json!(["python3", script, behaviour]);
        self.0
            .agent(&[json!({"name": "sums", "mcp": {"command": command}})]);
    }

    /// Asks without a terminal, as a user who has allowed nothing yet.
    fn command(&self, options: &[&str]) -> Command {
        let mut command = self.0.command(QUESTION);
        command
            .args(options)
            .env("CODEGEN_CACHE_DIR", self.0.path("cache"));
        command
    }

    fn ask(&self, options: &[&str]) -> Output {
        self.command(options).output().unwrap()
    }

    /// Asks at a terminal on which this is typed.
    fn at_a_terminal(&self, typed: &str, options: &[&str]) -> (String, Option<i32>) {
        let cache = self.0.path("cache").display().to_string();
        let terminal = Terminal {
            columns: 400,
            typed,
            environment: &[("CODEGEN_CACHE_DIR", &cache)],
            ..Terminal::default()
        };
        let url = format!("{}/v1", self.0.shop.origin);
        let arguments = [
            "ask",
            "-f",
            "agent.json",
            "-o",
            "json",
            "--output",
            "out",
            "--model-url",
            &url,
            "--allow-host",
            "127.0.0.1",
            QUESTION,
        ];
        terminal.run(self.0.folder.path(), &[&arguments, options].concat())
    }

    /// Whether its server was started.
    fn was_started(&self) -> bool {
        self.0.path("pids").exists()
    }

    /// Waits for the end of its server and of what that has started.
    fn expect_its_end(&self) {
        let ids = fs::read_to_string(self.0.path("pids")).unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        for id in ids.split(' ') {
            while is_alive(id) {
                assert!(Instant::now() < deadline, "{id} lives on");
                std::thread::yield_now();
            }
        }
    }

    /// Ends what nobody ends where the command was killed.
    fn end_its_group(&self) {
        let ids = fs::read_to_string(self.0.path("pids")).unwrap();
        for id in ids.split(' ') {
            // The server ends with its input.
            let _ = kill_process(Pid::from_raw(id.parse().unwrap()).unwrap(), Signal::KILL);
        }
    }

    /// The file with the question as it was when it was asked.
    fn record(&self) -> PathBuf {
        let runs = fs::read_dir(self.0.path("out").join(".runs")).unwrap();
        let mut records = runs.map(|run| run.unwrap().path().join("question.json"));
        records.find(|record| record.is_file()).unwrap()
    }
}

fn kill(child: &Child, signal: Signal) {
    let id = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(id, signal).unwrap();
}

const ALLOWED: [&str; 1] = ["--allow-command"];

/// Whether a process is there; one that has ended and was not waited for is not.
fn is_alive(id: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let state = status.rsplit_once(") ").map(|(_, rest)| rest.starts_with('Z'));
    state == Some(false)
}

#[test]
fn a_program_calls_a_server_that_is_a_command_and_ends_with_the_question() {
    let case = Commanded::new(TOTAL, "good");
    let output = case.ask(&ALLOWED);
    expect_code(&output, 0);
    assert_eq!(document(&output)["value"], 10);
    case.expect_its_end();
}

#[test]
fn a_command_gets_no_keys_of_whoever_asks() {
    let case = Commanded::new("await variables()", "good");
    let mut command = case.command(&ALLOWED);
    let output = command.env("SOME_API_KEY", "sk-1").output().unwrap();
    expect_code(&output, 0);
    let names: Vec<Value> = document(&output)["value"].as_array().unwrap().clone();
    assert!(names.contains(&json!("PATH")), "{names:?}");
    assert!(!names.contains(&json!("SOME_API_KEY")), "{names:?}");
}

#[test]
fn what_a_command_said_before_its_end_is_shown_and_bounded() {
    let case = Commanded::new("await add(2, 3)", "fail");
    let output = case.ask(&ALLOWED);
    expect_code(&output, 1);
    let said = document(&output).to_string();
    assert!(said.contains("and said: the index is gone"), "{said}");
    let shown = stderr(&output);
    assert!(said.len() + shown.len() < 30_000, "{said}\n{shown}");
}

#[test]
fn a_command_that_is_not_there_is_named_before_the_model_is_asked() {
    let case = Commanded::new("1", "good");
    case.0
        .agent(&[json!({"name": "sums", "mcp": {"command": ["no-such-server"]}})]);
    let output = case.ask(&ALLOWED);
    expect_code(&output, 2);
    assert!(
        stderr(&output).contains("`no-such-server` could not be started"),
        "{}",
        stderr(&output)
    );
    assert_eq!(case.0.shop.count("model"), 0);
}

#[test]
fn a_program_that_a_manifest_names_is_reported_before_it_starts_and_one_that_nobody_allowed_is_not_started() {
    let case = Commanded::new(TOTAL, "good");
    let refused = case.ask(&[]);
    expect_code(&refused, 2);
    let told = stderr(&refused);
    assert!(told.contains("nobody has allowed `python3 "), "{told}");
    assert!(told.contains("give --allow-command"), "{told}");
    assert!(!case.was_started());
    assert_eq!(case.0.shop.count("model"), 0);

    let allowed = case.ask(&ALLOWED);
    expect_code(&allowed, 0);
    let told = stderr(&allowed);
    assert!(
        told.contains(&format!("! sums starts `python3 {SERVER} good` on this machine")),
        "{told}"
    );
    // The option is of one command.
    expect_code(&case.ask(&["--fresh"]), 2);
}

#[test]
fn whoever_sits_at_a_terminal_is_asked_once_for_each_program() {
    let case = Commanded::new(TOTAL, "good");
    let (seen, code) = case.at_a_terminal("n", &[]);
    assert!(
        seen.contains(&format!("Start `python3 {SERVER} good` on this machine? [y/N]")),
        "{seen}"
    );
    assert_eq!((code, case.was_started()), (Some(2), false), "{seen}");
    let (seen, code) = case.at_a_terminal("y", &[]);
    assert_eq!(code, Some(0), "{seen}");
    for (options, asks) in [(&["--fresh"][..], false), (&["--cached"], false)] {
        let (seen, code) = case.at_a_terminal("n", options);
        assert_eq!((seen.contains("[y/N]"), code), (asks, Some(0)), "{seen}");
    }
    // Without a terminal too, and with other words not.
    expect_code(&case.ask(&["--fresh"]), 0);
    case.server(SERVER, "stays");
    expect_code(&case.ask(&["--fresh"]), 2);
}

#[test]
fn a_question_goes_on_with_no_other_program_than_its_manifest_names() {
    let case = Commanded::new("await slow()\nawait add(1, 2)", "good");
    let command = json!(["python3", SERVER, "good"]);
    let mut tools = case.0.tools();
    tools.push(json!({"name": "sums", "mcp": {"command": command}}));
    case.0.agent(&tools);
    let mut child = case
        .command(&ALLOWED)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    case.0.shop.until("slow");
    child.kill().unwrap();
    child.wait().unwrap();
    case.end_its_group();
    fs::remove_file(case.0.path("pids")).unwrap();

    // The same command, to which somebody has given another record; and the honest one.
    let record = case.record();
    let honest = fs::read_to_string(&record).unwrap();
    let planted = case.0.path("planted.py");
    fs::copy(SERVER, &planted).unwrap();
    let forged = honest.replace(SERVER, &planted.display().to_string());
    assert_ne!(honest, forged);
    fs::write(&record, forged).unwrap();
    for (options, reason) in [
        (&["--allow-command"][..], "these records were made elsewhere: "),
        // Who goes by it allows nothing with that.
        (
            &["--allow-command", "--trust"],
            "the record of this question starts `python3 ",
        ),
    ] {
        let refused = case.ask(options);
        expect_code(&refused, 2);
        let told = stderr(&refused);
        assert!(told.contains(reason), "{told}");
        assert!(!case.was_started());
    }
    fs::write(&record, honest).unwrap();
    let honest = case.ask(&ALLOWED);
    expect_code(&honest, 0);
    assert_eq!(document(&honest)["value"]["sum"], 3);
    assert!(case.was_started());
}

#[rstest]
#[case::interrupted_twice(Signal::INT)]
#[case::the_terminal_is_gone(Signal::HUP)]
#[case::ended_by_others(Signal::TERM)]
fn a_server_that_ignores_the_end_of_its_input_ends_with_a_command_that_is_left_at_once(
    #[case] signal: Signal,
) {
    let case = Commanded::new("await slow()", "stays");
    let mut tools = case.0.tools();
    tools.push(json!({"name": "sums", "mcp": {"command": ["python3", SERVER, "stays"]}}));
    case.0.agent(&tools);
    let mut child = case
        .command(&ALLOWED)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Its second call has no answer, so that the first signal waits for it.
    case.0.shop.until("slow");
    kill(&child, signal);
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(
        told.any(|line| line.unwrap().contains("stopping;")),
        "it ended at the first signal"
    );
    kill(&child, signal);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    case.expect_its_end();
}

#[test]
fn ctrl_c_during_the_listing_of_tools_ends_at_once() {
    let case = Commanded::new("1", "mute");
    let begun = Instant::now();
    let mut child = case
        .command(&ALLOWED)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = begun + Duration::from_secs(30);
    while !case.0.path("listing").exists() {
        assert!(
            Instant::now() < deadline,
            "the server was not asked for its tools"
        );
        std::thread::yield_now();
    }
    kill(&child, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    case.expect_its_end();
}
