//! Ctrl-C, SIGTERM and kill -9 at every stage: nothing that was paid for is lost, and nothing goes on running.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rstest::rstest;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::{Value, json};

use crate::support::gate::{Gate, PATIENCE};
use crate::support::{document, examples, expect_code, manifest, program};

/// The calls of the penguins, in order.
const CALLS: [&str; 6] = ["constraints", "plan", "code", "tests", "diagnosis", "fix_code"];

fn penguins() -> PathBuf {
    examples().join("penguins")
}

fn gate() -> Gate {
    Gate::open(&penguins().join("replies.jsonl"))
}

fn against(gate: &Gate, output: &Path) -> Running {
    let mut command = program(output);
    command
        .args(manifest(&penguins()))
        .args(["--model-url", &gate.url]);
    Running::start(command)
}

/// The program in a process group of its own, as a terminal starts it.
struct Running {
    child: Child,
    stderr: BufReader<ChildStderr>,
    said: String,
}

impl Running {
    fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Self {
            child,
            stderr,
            said: String::new(),
        }
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// What a terminal does at Ctrl-C: every process of the group is told.
    fn press_ctrl_c(&self) {
        kill_process_group(self.pid(), Signal::INT).unwrap();
    }

    /// Reads what it says on stderr until there is a line with `text`.
    fn until_it_says(&mut self, text: &str) {
        loop {
            let start = self.said.len();
            let read = self.stderr.read_line(&mut self.said).unwrap();
            assert!(read > 0, "it ended without {text:?}:\n{}", self.said);
            if self.said[start..].contains(text) {
                return;
            }
        }
    }

    fn end(mut self) -> Output {
        self.stderr.read_to_string(&mut self.said).unwrap();
        let mut output = self.child.wait_with_output().unwrap();
        output.stderr = self.said.into_bytes();
        output
    }

    fn kill(self) {
        self.signal(Signal::KILL);
        self.end();
    }
}

/// Looks again until it is so. There is nothing to wait on: the processes are not this one's children.
fn eventually(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "never: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Processes that have `word` among their arguments.
fn processes(word: &str) -> Vec<Pid> {
    let has_word = |path: PathBuf| {
        fs::read(path.join("cmdline"))
            .is_ok_and(|arguments| String::from_utf8_lossy(&arguments).contains(word))
    };
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| has_word(entry.path()))
        .filter_map(|entry| Pid::from_raw(entry.file_name().to_string_lossy().parse().ok()?))
        .collect()
}

fn runs(word: &str) -> bool {
    !processes(word).is_empty()
}

fn status(output: &Output) -> Value {
    document(output)["status"].clone()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[rstest]
#[case::ctrl_c(Signal::INT)]
#[case::sigterm(Signal::TERM)]
fn a_call_in_flight_is_waited_for_recorded_and_never_made_again(#[case] signal: Signal) {
    let (gate, output) = (gate(), tempfile::tempdir().unwrap());
    for (number, kind) in (1..).zip(CALLS) {
        let mut run = against(&gate, output.path());
        let arrival = gate.arrival();
        assert_eq!(arrival.kind, kind);
        run.signal(signal);
        run.until_it_says("stopping");
        arrival.answer();
        let ended = run.end();
        expect_code(&ended, 130);
        assert!(said(&ended).contains("error: interrupted; the same command goes on from here"));
        let calls = fs::read_dir(revision_folder(output.path()).join("record/calls")).unwrap();
        let recorded = calls
            .filter(|entry| {
                entry
                    .as_ref()
                    .unwrap()
                    .file_name()
                    .to_string_lossy()
                    .contains(kind)
            })
            .count();
        assert_eq!(recorded, 1, "{kind}");
        assert_ne!(status(&ended)["stage"], "Failed", "call {number}");
    }
    let ended = against(&gate, output.path()).end();
    expect_code(&ended, 0);
    let status = status(&ended);
    assert_eq!(
        (&status["modelCalls"], &status["lostCalls"]),
        (&6.into(), &0.into())
    );
    assert!(gate.is_idle());
}

#[test]
fn a_task_that_ends_with_the_call_in_flight_has_its_own_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let replies = folder.path().join("replies.jsonl");
    fs::write(
        &replies,
        "{\"kind\": \"plan\", \"reply\": {\"no\": \"plan\"}}\n".repeat(3),
    )
    .unwrap();
    let gate = Gate::open(&replies);
    let mut command = program(&folder.path().join("out"));
    command
        .args(manifest(&examples().join("prompt-only")))
        .args(["--model-url", &gate.url]);
    let mut run = Running::start(command);
    gate.answer(&["plan", "plan"]);
    let third = gate.arrival();
    run.press_ctrl_c();
    run.until_it_says("stopping");
    third.answer();
    let ended = run.end();
    expect_code(&ended, 1);
    assert_eq!(status(&ended)["reason"], "InvalidReply");
}

fn revision_folder(output: &Path) -> PathBuf {
    let runs = fs::read_dir(output.join(".runs")).unwrap().flatten();
    runs.map(|entry| entry.path())
        .find(|path| path.join("record").is_dir())
        .unwrap()
}

#[test]
fn after_kill_9_a_call_in_flight_is_lost_and_counted_and_no_other_is_made_again() {
    let (gate, output) = (gate(), tempfile::tempdir().unwrap());
    for kind in CALLS {
        let run = against(&gate, output.path());
        let arrival = gate.arrival();
        assert_eq!(arrival.kind, kind);
        run.kill();
        drop(arrival);
        let run = against(&gate, output.path());
        gate.answer(&[kind]);
        // The reply is recorded before the next call, or the tests that follow, begin.
        if let Some(next) = CALLS.iter().skip_while(|one| **one != kind).nth(1) {
            assert_eq!(gate.arrival().kind, *next);
            run.kill();
        } else {
            let ended = run.end();
            expect_code(&ended, 0);
            let status = status(&ended);
            // Of the second kills, too, each lost the call that was in flight.
            assert_eq!(
                (&status["modelCalls"], &status["lostCalls"]),
                (&17.into(), &11.into())
            );
        }
    }
    assert!(gate.is_idle());
}

#[test]
fn a_second_ctrl_c_leaves_at_once() {
    let (gate, output) = (gate(), tempfile::tempdir().unwrap());
    let mut run = against(&gate, output.path());
    let arrival = gate.arrival();
    run.press_ctrl_c();
    run.until_it_says("stopping");
    run.press_ctrl_c();
    expect_code(&run.end(), 130);
    drop(arrival);
    let run = against(&gate, output.path());
    gate.answer(&CALLS);
    let ended = run.end();
    expect_code(&ended, 0);
    assert_eq!(status(&ended)["lostCalls"], 1);
}

#[test]
fn a_second_process_on_a_task_gets_a_message_until_the_first_is_gone() {
    let (gate, output) = (gate(), tempfile::tempdir().unwrap());
    let first = against(&gate, output.path());
    let arrival = gate.arrival();
    let second = against(&gate, output.path());
    let pid = first.child.id();
    let refused = second.end();
    expect_code(&refused, 2);
    assert!(refused.stdout.is_empty());
    let holder = format!("kubectl-codegen local, task penguin-masses, (process {pid} on ");
    assert!(said(&refused).contains(&holder), "{}", said(&refused));
    first.kill();
    drop(arrival);
    let third = against(&gate, output.path());
    gate.answer(&CALLS);
    expect_code(&third.end(), 0);
}

/// A task whose tests never end; a process of theirs has `word` among its arguments.
fn endless(folder: &Path, word: &str) -> Command {
    let task = json!({
        "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenTask", "metadata": {"name": "endless"},
        "spec": {"prompt": "wait", "model": {"name": "m"}, "outputs": [{"name": "n", "type": "Int"}]},
    });
    fs::write(folder.join("task.json"), task.to_string()).unwrap();
    let code = "from pathlib import Path\n\n\ndef number() -> int:\n    \"\"\"Return one.\"\"\"\n    return 1\n\n\nif __name__ == \"__main__\":\n    Path(\"/var/outputs/n\").write_text(str(number()))\n";
    let tests = format!(
        "import subprocess\n\nimport solution\n\n\ndef test_number():\n    subprocess.run([\"sleep\", \"1d\", \"0.{word}\"], check=True)\n    assert solution.number() == 1\n"
    );
    let replies = [
        json!({"kind": "plan", "reply": {
            "description": "d", "approach": "a", "libraries": [],
            "cases": [
                {"about": "one whole number", "inputs": [], "refused": false, "expect": [{"output": "n", "check": "Between", "at": "", "value": "0,100", "tolerance": ""}]},
            ],
            "unstable": [],
        }}),
        json!({"kind": "code", "reply": {"code": code, "packages": [], "systemPackages": []}}),
        json!({"kind": "tests", "reply": {"code": tests}}),
    ];
    let lines: Vec<String> = replies.iter().map(Value::to_string).collect();
    fs::write(folder.join("replies.jsonl"), lines.join("\n")).unwrap();
    let mut command = program(&folder.join("out"));
    command
        .current_dir(folder)
        .args(["-f", "task.json", "--replay", "replies.jsonl"]);
    command
}

/// Digits that no other process has among its arguments.
fn unique_word() -> String {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    format!("{}{}", std::process::id(), now.subsec_nanos())
}

#[test]
fn ctrl_c_during_the_tests_ends_every_process_of_the_sandbox() {
    let (folder, word) = (tempfile::tempdir().unwrap(), unique_word());
    let run = Running::start(endless(folder.path(), &word));
    eventually("the tests run", || runs(&format!("0.{word}")));
    run.press_ctrl_c();
    let ended = run.end();
    expect_code(&ended, 130);
    eventually("the sandbox is gone", || !runs(&format!("0.{word}")));
    let status = status(&ended);
    assert_eq!(
        (&status["stage"], &status["modelCalls"]),
        (&"RunningTests".into(), &3.into())
    );
}

#[test]
fn kill_9_during_the_tests_ends_every_process_of_the_sandbox() {
    let (folder, word) = (tempfile::tempdir().unwrap(), unique_word());
    let run = Running::start(endless(folder.path(), &word));
    eventually("the tests run", || runs(&format!("0.{word}")));
    run.kill();
    eventually("the sandbox is gone", || !runs(&format!("0.{word}")));
    let again = Running::start(endless(folder.path(), &word));
    eventually("the tests run again", || runs(&format!("0.{word}")));
    again.press_ctrl_c();
    let status = status(&again.end());
    assert_eq!(
        (&status["modelCalls"], &status["lostCalls"]),
        (&3.into(), &0.into())
    );
}

/// An index that takes the connection of an installer and says nothing.
fn silent_index(command: &mut Command) -> TcpListener {
    let index = TcpListener::bind("127.0.0.1:0").unwrap();
    command
        .env(
            "PIP_INDEX_URL",
            format!("http://{}/simple", index.local_addr().unwrap()),
        )
        .env("no_proxy", "127.0.0.1")
        .env("NO_PROXY", "127.0.0.1");
    index
}

#[test]
fn ctrl_c_during_an_installation_is_no_missing_package() {
    let (gate, cache, output) = (gate(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let in_cache = cache.path().display().to_string();
    let command = || {
        let mut command = program(output.path());
        command
            .args(manifest(&penguins()))
            .args(["--model-url", &gate.url])
            .env("CODEGEN_CACHE_DIR", cache.path());
        command
    };
    let mut installing = command();
    let index = silent_index(&mut installing);
    let mut run = Running::start(installing);
    gate.answer(&CALLS[..3]);
    let (_connection, _) = index.accept().unwrap();
    let tests = gate.arrival();
    // Else the installer would die of Ctrl-C while the call is waited for, which looks like a package that is missing.
    for installer in processes(&in_cache) {
        let group = rustix::process::getpgid(Some(installer)).unwrap();
        assert_ne!(group, run.pid(), "Ctrl-C reaches the installer");
    }
    run.press_ctrl_c();
    run.until_it_says("stopping");
    tests.answer();
    expect_code(&run.end(), 130);
    eventually("the installer is gone", || !runs(&in_cache));
    let run = Running::start(command());
    gate.answer(&CALLS[4..]);
    expect_made_anew(&run.end(), cache.path());
}

#[test]
fn kill_9_during_an_installation_ends_the_installer_too() {
    let (cache, output) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let replay = || {
        let mut command = program(output.path());
        command
            .args(manifest(&penguins()))
            .arg("--replay")
            .arg(penguins().join("replies.jsonl"))
            .env("CODEGEN_CACHE_DIR", cache.path());
        command
    };
    let mut installing = replay();
    let index = silent_index(&mut installing);
    let run = Running::start(installing);
    let (_connection, _) = index.accept().unwrap();
    run.kill();
    eventually("the installer is gone", || {
        !runs(&cache.path().display().to_string())
    });
    expect_made_anew(&Running::start(replay()).end(), cache.path());
}

fn expect_made_anew(ended: &Output, cache: &Path) {
    expect_code(ended, 0);
    let status = status(ended);
    assert_eq!(
        (&status["modelCalls"], &status["lostCalls"]),
        (&6.into(), &0.into())
    );
    let left = fs::read_dir(cache.join("environments")).unwrap().count();
    assert_eq!(left, 2, "the environment and its lock");
}
