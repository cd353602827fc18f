//! Commands of an agent: what a shell makes of them, what is refused or ended in them, and what they leave in the workspace.

use std::net::TcpListener;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use codegen_core::agent::{AgentCommand, CommandRun, Workspace};
use codegen_core::sandbox::{CommandsPhase, LimitKind, Phase, PhaseEnd, PhaseReport};

use crate::support::{job, run, run_one};

fn workspace(files: &[(&str, &str)]) -> Workspace {
    let mut workspace = Workspace::default();
    for (path, content) in files {
        workspace.put(path, content.as_bytes().to_vec()).unwrap();
    }
    workspace
}

pub fn phase(files: &[(&str, &str)], commands: &[&str]) -> Phase {
    let command = |line: &&str| AgentCommand {
        line: (*line).to_owned(),
        timeout: None,
    };
    let commands: Vec<AgentCommand> = commands.iter().map(command).collect();
    Phase::Commands(CommandsPhase::new(
        &workspace(files),
        &commands,
        &["jq".to_owned()],
    ))
}

async fn report(files: &[(&str, &str)], commands: &[&str]) -> PhaseReport {
    run_one(phase(files, commands)).await
}

async fn done(files: &[(&str, &str)], commands: &[&str]) -> CommandRun {
    let report = report(files, commands).await;
    assert_eq!(report.end, PhaseEnd::Exited(0), "{}", report.stderr);
    report.commands.unwrap()
}

fn outputs(run: &CommandRun) -> Vec<(i32, &str)> {
    run.results
        .iter()
        .map(|result| (result.exit, result.output.as_str()))
        .collect()
}

/// What a file was changed to; `None` for one that is gone.
fn changed(run: &CommandRun, path: &str) -> Option<String> {
    let content = run.changes[path].as_ref()?;
    Some(String::from_utf8(BASE64_STANDARD.decode(content).unwrap()).unwrap())
}

#[tokio::test]
async fn commands_run_one_after_another_on_the_files_of_the_workspace() {
    let files = [("a.txt", "b\na\n"), ("data/c.txt", "c\n")];
    let run = done(
        &files,
        &[
            "sort a.txt data/*.txt > all.txt; rm a.txt",
            "wc -l < all.txt",
            "cat a.txt",
            "echo $?",
        ],
    )
    .await;
    assert_eq!(
        outputs(&run),
        [
            (0, ""),
            (0, "3\n"),
            (1, "cat: a.txt: No such file or directory\n"),
            (0, "0\n")
        ]
    );
    assert_eq!(changed(&run, "all.txt").unwrap(), "a\nb\nc\n");
    assert_eq!(changed(&run, "a.txt"), None);
    assert_eq!(run.changes.len(), 2, "{:?}", run.changes);
}

#[tokio::test]
async fn a_command_has_what_a_shell_has() {
    let files = [("a.txt", "b\na\n"), ("c.txt", "c\n")];
    let run = done(
        &files,
        &[
            "n=$(wc -l < a.txt); echo \"lines: $n, $((n * 21))\"",
            "comm -13 <(sort a.txt) <(sort a.txt c.txt)",
            "ls *.txt | while read -r f; do sort \"$f\" > \"$f.sorted\"; done; cat *.sorted",
            "while read -r x; do echo \"<$x>\"; done < <(sort a.txt)",
            "x=$(echo /etc/made); touch \"$x\" 2> /dev/null; echo $?",
            "tar czf all.tgz ./*.txt && mkdir out && tar xzf all.tgz -C out && ls out && rm -r out all.tgz",
        ],
    )
    .await;
    assert_eq!(
        outputs(&run),
        [
            (0, "lines: 2, 42\n"),
            (0, "c\n"),
            (0, "a\nb\nc\n"),
            (0, "<a>\n<b>\n"),
            (0, "1\n"),
            (0, "a.txt\nc.txt\n"),
        ]
    );
    let changed: Vec<&String> = run.changes.keys().collect();
    assert_eq!(changed, ["a.txt.sorted", "c.txt.sorted"]);
}

#[tokio::test]
async fn a_loop_that_does_not_end_is_ended_with_all_that_it_started() {
    let Phase::Commands(mut phase) = phase(&[], &["while true; do x=$(sleep 60); done", "echo next"]) else {
        panic!("no commands")
    };
    phase.commands[0].seconds = Some(0.5);
    let run = run_one(Phase::Commands(phase)).await.commands.unwrap();
    assert!(run.results[0].timed_out);
    assert_eq!(
        (run.results[1].exit, run.results[1].output.as_str()),
        (0, "next\n")
    );
}

#[tokio::test]
async fn python_is_that_of_the_environment_and_its_caches_are_not_files_of_the_agent() {
    let files = [("solution.py", "def two():\n    return 2\n")];
    let run = done(
        &files,
        &[
            "python -c 'import solution; print(solution.two())'",
            "python -m py_compile solution.py",
        ],
    )
    .await;
    assert_eq!(outputs(&run), [(0, "2\n"), (0, "")]);
    assert!(run.changes.is_empty(), "{:?}", run.changes);
}

#[tokio::test]
async fn what_is_no_file_or_has_no_room_is_left_out_and_named() {
    let code = "import os\nos.symlink('/etc/passwd', 'link')\nos.mkfifo('pipe')\nopen('big', 'wb').truncate(2 << 20)\n\
                for n in range(70): open(f'{n:02}', 'w').close()\n";
    let run = done(&[("make.py", code)], &["python make.py"]).await;
    assert_eq!(run.changes.len(), 63, "with make.py there are 64");
    for (name, why) in [
        ("link", "a link"),
        ("pipe", "a named pipe"),
        ("big", "2097152 bytes"),
        ("69", "no room"),
    ] {
        assert!(
            run.left_out
                .iter()
                .any(|line| line.starts_with(name) && line.contains(why)),
            "{name}: {:?}",
            run.left_out
        );
    }
}

#[tokio::test]
async fn a_command_ends_when_its_time_is_over_and_the_next_one_runs() {
    let Phase::Commands(mut phase) = phase(&[], &["sleep 30", "echo next"]) else {
        panic!("no commands")
    };
    phase.commands[0].seconds = Some(0.3);
    let run = run_one(Phase::Commands(phase)).await.commands.unwrap();
    assert!(run.results[0].timed_out);
    let [first, next] = [0, 1].map(|index: usize| run.results[index].started_at.unwrap());
    assert!(next - first >= 0.3, "{first} {next}");
    assert_eq!(
        (run.results[1].exit, run.results[1].output.as_str()),
        (0, "next\n")
    );
}

#[tokio::test]
async fn a_command_that_takes_too_much_memory_ends_the_phase_and_says_so() {
    let mut job = job(vec![phase(
        &[],
        &[
            "echo first",
            "python -c 'print(len(bytearray(1 << 31)))'",
            "echo never",
        ],
    )]);
    job.limits.memory_bytes = 256 << 20;
    let report = run(&job).await;
    let report = &report.phases[0];
    let results = report.commands.as_ref().unwrap();
    assert_eq!(results.results[0].output, "first\n");
    // Whichever is seen first: that the process was killed, or that the sandbox had met its limit.
    let ended = &results.results[1];
    assert!(
        ended.interrupted || ended.exit == 137 || ended.exit == 1,
        "{report:?}"
    );
    if ended.interrupted || ended.exit == 137 {
        assert_eq!(report.end, PhaseEnd::LimitHit(LimitKind::Memory), "{report:?}");
    }
}

#[tokio::test]
async fn the_last_command_that_fits_into_the_time_has_what_it_wrote_and_the_next_is_not_begun() {
    let code =
        "import time\nopen('left.txt', 'w').write('kept')\nprint('working', flush=True)\ntime.sleep(60)\n";
    let mut job = job(vec![phase(
        &[("slow.py", code)],
        &["python slow.py", "echo never"],
    )]);
    job.limits.timeout_seconds = 5.0;
    let report = run(&job).await;
    let report = &report.phases[0];
    let run = report.commands.as_ref().unwrap();
    assert_eq!(run.results.len(), 1, "{report:?}");
    assert_eq!(
        (run.results[0].timed_out, run.results[0].output.as_str()),
        (true, "working\n")
    );
    assert!(report.stderr.contains("its time was over"), "{report:?}");
    assert_eq!(changed(run, "left.txt").unwrap(), "kept");
}

#[tokio::test]
async fn a_file_of_the_workspace_that_cannot_be_taken_back_stays_as_it_was() {
    let code = "import os\nopen('grown', 'wb').truncate(2 << 20)\nos.remove('linked')\nos.symlink('/etc/passwd', 'linked')\n\
                os.chmod('hidden', 0)\nos.chmod('folder', 0)\nos.rename('old', 'new')\nos.remove('gone')\nos.mkdir('empty')\n\
                open(b'\\xff', 'w').close()\n";
    let names = ["grown", "linked", "hidden", "folder/inner", "old", "gone"];
    let mut files: Vec<(&str, &str)> = names.iter().map(|name| (*name, "as it was")).collect();
    files.push(("make.py", code));
    let run = done(&files, &["python make.py"]).await;
    let changed: Vec<(&str, bool)> = run
        .changes
        .iter()
        .map(|(path, content)| (path.as_str(), content.is_some()))
        .collect();
    assert_eq!(changed, [("gone", false), ("new", true), ("old", false)]);
    for (name, why) in [
        ("grown: ", "2097152 bytes; in the workspace it stays as it was"),
        ("linked: ", "a link; in the workspace it stays"),
        ("hidden: ", "without permission"),
        ("folder: ", "Permission denied"),
        ("empty: ", "an empty folder"),
        ("?: ", "not text"),
    ] {
        assert!(
            run.left_out
                .iter()
                .any(|line| line.starts_with(name) && line.contains(why)),
            "{name}: {:?}",
            run.left_out
        );
    }
}

#[tokio::test]
async fn the_only_file_of_a_folder_that_is_removed_or_moved_is_gone() {
    let code =
        "import os\nos.remove('old/only.py')\nos.rename('pkg/moved.py', 'moved.py')\nos.chmod('hidden', 0)\n";
    let files = [
        ("old/only.py", "1\n"),
        ("pkg/moved.py", "2\n"),
        ("hidden/there.py", "3\n"),
        ("make.py", code),
    ];
    let run = done(&files, &["python make.py"]).await;
    let gone = ["old/only.py", "pkg/moved.py"].map(|path| changed(&run, path));
    assert_eq!(gone, [None, None]);
    assert_eq!(changed(&run, "moved.py").unwrap(), "2\n");
    assert_eq!(
        run.changes.len(),
        3,
        "what may still be there stays: {:?}",
        run.changes
    );
    for folder in ["old", "pkg"] {
        let line = format!("{folder}: it is an empty folder");
        assert!(run.left_out.contains(&line), "{:?}", run.left_out);
    }
}

#[tokio::test]
async fn a_file_that_is_renamed_keeps_its_place_whatever_else_grows() {
    let code = "import os\nos.rename('a.csv', 'b.csv')\nopen('c.csv', 'a').write('c' * 100_000)\nos.rename('z.py', 'zz.py')\n\
                open('zzz.py', 'w').write(open('zz.py').read())\nfor n in range(64): open(f'{n:02}', 'w').write('new')\n";
    let (a, c) = ("a".repeat(500_000), "c".repeat(500_000));
    let files = [
        ("a.csv", a.as_str()),
        ("c.csv", &c),
        ("z.py", "print(1)\n"),
        ("make.py", code),
    ];
    let run = done(&files, &["python make.py"]).await;
    assert_eq!(changed(&run, "b.csv").unwrap(), a);
    assert_eq!(changed(&run, "zz.py").unwrap(), "print(1)\n");
    for (path, why) in [
        ("a.csv", "it has another name"),
        ("z.py", "it has another name"),
        ("00", "what is left has room for it"),
    ] {
        assert!(run.changes.contains_key(path), "{path}: {why}");
    }
    for (path, why) in [
        ("c.csv", "b.csv has its room"),
        ("63", "zz.py has its place"),
        ("zzz.py", "a copy is new"),
    ] {
        assert!(!run.changes.contains_key(path), "{path}: {why}");
    }
}

#[tokio::test]
async fn files_that_grow_have_the_room_that_others_leave() {
    let code = "import os\nhalf = 1 << 19\nopen('a', 'w').write('x' * (half + 1000))\nopen('b', 'w').write('x' * 10)\n\
                open('c', 'w').write('x' * (half + 1000))\n";
    let half = "y".repeat(1 << 19);
    let files = [("a", "y"), ("b", half.as_str()), ("c", "y"), ("make.py", code)];
    let run = done(&files, &["python make.py"]).await;
    let taken: Vec<&str> = run.changes.keys().map(String::as_str).collect();
    assert_eq!(taken, ["a", "b"], "a and c together have no room");
    assert!(
        run.left_out[0].starts_with("c (525288 bytes): there is no room for it; in the workspace"),
        "{:?}",
        run.left_out
    );
}

#[tokio::test]
async fn what_is_left_out_is_counted_where_it_is_too_much_to_name() {
    let code = "for n in range(100): open(f'{n:03}', 'w').close()\n";
    let run = done(&[("make.py", code)], &["python make.py"]).await;
    assert_eq!(run.left_out.len(), 21);
    assert_eq!(run.left_out[20], "and 17 more");
}

/// What a command may do is not read from it: here everything that Python may do.
#[tokio::test]
async fn a_command_that_walks_past_the_shims_reaches_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let attack = format!(
        r#"
import os, signal, socket, subprocess
def attempt(name, what):
    try:
        print(name, "got", repr(what()))
    except BaseException as error:
        print(name, "met", type(error).__name__)
attempt("network", lambda: socket.create_connection(("127.0.0.1", {port}), 2))
attempt("harness", lambda: open("/proc/1/environ").read())
attempt("job", lambda: open("/job/job.json").read())
attempt("system", lambda: open("/usr/bin/evil", "w"))
attempt("inputs", lambda: open("/var/inputs/evil", "w"))
attempt("home", lambda: os.listdir("/root") or os.listdir("/home"))
attempt("parent", lambda: os.kill(1, signal.SIGKILL))
subprocess.Popen(["sleep", "600"], start_new_session=True)
print("secret", os.environ.get("TOKEN"))
"#
    );
    let mut job = job(vec![phase(
        &[("attack.py", &attack)],
        &["python attack.py", "echo still here"],
    )]);
    job.env.clear();
    let report = run(&job).await;
    let run = report.phases[0].commands.as_ref().unwrap();
    let output = &run.results[0].output;
    for name in ["network", "harness", "job", "system", "inputs"] {
        assert!(output.contains(&format!("{name} met")), "{output}");
    }
    assert!(output.contains("secret None"), "{output}");
    assert_eq!(run.results[1].output, "still here\n");
    assert_eq!(
        report.phases[0].end,
        PhaseEnd::Exited(0),
        "what it left behind was not waited for"
    );
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err());
}

#[tokio::test]
async fn a_program_that_has_no_use_there_is_refused_with_the_reason_and_the_command_goes_on() {
    let run = done(
        &[(
            "fetch.py",
            "import os, subprocess\nos.system('curl x')\nsubprocess.run(['git', 'log'])\n",
        )],
        &[
            "echo a > made; pip install pandas 2> /dev/null; echo $?",
            "python -m pip list",
            "python fetch.py",
            "jq . x || cat made",
            "echo curl",
        ],
    )
    .await;
    let denied = |index: usize| {
        run.results[index]
            .denied
            .iter()
            .map(|line| line.split(' ').next().unwrap())
    };
    let names: Vec<Vec<&str>> = (0..5).map(|index| denied(index).collect()).collect();
    assert_eq!(
        names,
        [vec!["pip"], vec!["pip"], vec!["curl", "git"], vec!["jq"], vec![]]
    );
    assert_eq!(outputs(&run)[0], (0, "126\n"));
    let (exit, output) = outputs(&run)[1];
    assert!(exit == 126 && output.contains("packages.txt"), "{output}");
    assert!(
        outputs(&run)[2]
            .1
            .contains("curl is not run: the sandbox has no network"),
        "{:?}",
        outputs(&run)
    );
    let (_, output) = outputs(&run)[3];
    assert!(
        output.contains("the administrator of this cluster has denied it") && output.ends_with("a\n"),
        "{output}"
    );
    assert_eq!(changed(&run, "made").unwrap(), "a\n");
}

#[tokio::test]
async fn a_command_ends_where_it_starts_pytest_and_so_does_the_row() {
    let files = [
        (
            "test_solution.py",
            "def test_one():\n    open('ran', 'w').close()\n",
        ),
        (
            "check.py",
            "import pytest\nraise SystemExit(pytest.main(['-q']))\n",
        ),
    ];
    let ways = [
        "pytest",
        "python check.py",
        "setsid python -m pytest & wait",
        "\"$(python -c 'import sys; print(sys.executable)')\" -m pytest",
        "PYTHONPATH=. PYTEST_ADDOPTS=-q python3 -m pytest | tail -1",
        "python -c 'import subprocess, sys; subprocess.run([sys.executable, \"-m\", \"pytest\"])'",
    ];
    for way in ways {
        let run = done(
            &files,
            &[&format!("echo before; {way}; echo after > after"), "echo next"],
        )
        .await;
        assert_eq!(run.results.len(), 1, "{way}: {run:?}");
        assert!(run.results[0].asks_for_tests, "{way}: {run:?}");
        assert_eq!(
            (outputs(&run)[0].1, run.changes.len()),
            ("before\n", 0),
            "{way}: {run:?}"
        );
    }
}

#[tokio::test]
async fn pytest_that_runs_nothing_is_run() {
    let files = [("test_solution.py", "def test_one():\n    pass\n")];
    let run = done(
        &files,
        &[
            "pytest --version",
            "pytest --collect-only -q",
            "pytest -h | head -1",
        ],
    )
    .await;
    let [version, collected, help] = run.results.as_slice() else {
        panic!("{run:?}")
    };
    assert!(version.output.starts_with("pytest "), "{run:?}");
    assert!(collected.output.contains("test_solution.py::test_one"), "{run:?}");
    assert!(help.output.contains("usage:"), "{run:?}");
}

/// What is noted decides nothing: a program may only ask for the tests, say that it was refused, or say nothing.
#[tokio::test]
async fn a_command_that_walks_past_the_shims_or_writes_their_notes_has_another_class_and_nothing_else() {
    let test = ("test_solution.py", "def test_one():\n    pass\n");
    let past = [
        "rm -rf /tmp/.codegen; pytest",
        "PATH=/usr/bin:/bin; curl x; exit 0",
        "command -p curl x; true",
        "env -i /bin/sh -c 'curl x; true'",
        "hash -p /bin/true curl; curl x",
        "pytest() { echo passed; }; pytest",
        "python -m pytest -p no:asks_for_tests -q",
        "export BASH_ENV=/sandbox/x; echo 'echo injected' > x",
    ];
    for line in past {
        let run = done(&[test], &[line, "curl x", "echo next"]).await;
        assert_eq!(run.results.len(), 3, "{line}: {run:?}");
        let first = &run.results[0];
        assert!(
            !first.asks_for_tests && first.denied.is_empty(),
            "{line}: {run:?}"
        );
        assert_eq!(outputs(&run)[2], (0, "next\n"), "{line}");
    }
    for notes in [
        "mkfifo /tmp/.codegen/refused",
        "ln -s /dev/zero /tmp/.codegen/refused",
        "ln -s /proc/1/environ /tmp/.codegen/refused",
        "mkdir -p /tmp/.codegen/refused/x",
        "chmod 0 /tmp /tmp/.codegen",
        "head -c 1000000 /dev/zero > /tmp/.codegen/refused",
        "echo everything else > /tmp/.codegen/refused",
    ] {
        let run = done(&[], &[notes, "echo next"]).await;
        let first = &run.results[0];
        assert!(
            !first.asks_for_tests && first.denied.is_empty(),
            "{notes}: {run:?}"
        );
        assert_eq!(outputs(&run)[1], (0, "next\n"), "{notes}");
    }
    let run = done(
        &[],
        &[
            "echo curl >> /tmp/.codegen/refused",
            "echo >> /tmp/.codegen/asked",
            "ls",
        ],
    )
    .await;
    assert_eq!(run.results[0].denied.len(), 1, "{run:?}");
    assert!(run.results[1].asks_for_tests && run.results.len() == 2, "{run:?}");
}

#[tokio::test]
async fn nothing_of_a_command_is_there_for_the_next() {
    // Neither the shell nor grep is one of them, by the brackets.
    let sleeping = "grep -ls 's[l]eep' /proc/[0-9]*/cmdline; echo none";
    let run = done(
        &[],
        &[
            "sleep 600 & setsid sleep 600 & (setsid nohup sleep 600 > /dev/null &); echo on",
            sleeping,
            "export A=1; cd /tmp; set -e; umask 0",
            "pwd; echo \"[$A]\"; false; umask",
        ],
    )
    .await;
    let expected = ["on\n", "none\n", "", "/sandbox\n[]\n0022\n"];
    assert_eq!(outputs(&run), expected.map(|output| (0, output)));
}

#[tokio::test]
async fn a_command_that_kills_what_it_can_ends_its_row_and_what_it_left_is_there() {
    for line in ["kill -9 -1", "kill -9 $PPID"] {
        let report = report(&[], &[&format!("echo a > left; {line}"), "echo never"]).await;
        let run = report.commands.as_ref().unwrap();
        assert_eq!(
            (run.results.len(), run.results[0].interrupted),
            (1, true),
            "{report:?}"
        );
        assert_eq!(changed(run, "left").unwrap(), "a\n");
    }
    let run = done(&[], &["kill -9 0", "kill -9 1; echo next"]).await;
    assert_eq!(
        (run.results[0].exit, outputs(&run)[1].1.ends_with("next\n")),
        (137, true),
        "{run:?}"
    );
}

#[tokio::test]
async fn a_long_output_is_cut_in_its_middle_and_counted_and_a_command_may_be_too_long() {
    let long = format!("echo {}", "x".repeat(140_000));
    let run = done(&[], &["seq 100000", &long, "echo next"]).await;
    let result = &run.results[0];
    assert!(result.output.starts_with("1\n2\n") && result.output.ends_with("\n100000\n"));
    assert!(result.output.contains(" lines left out ...]"));
    assert!(
        result.output.len() < 66_000 && result.bytes == 588_895,
        "{}",
        result.bytes
    );
    let (exit, output) = outputs(&run)[1];
    assert!(
        exit == 126 && output.contains("too long") && output.contains("tool Write"),
        "{output}"
    );
}

#[tokio::test]
async fn a_file_that_names_its_interpreter_is_run_by_its_own_name() {
    let files = [(
        "solution.py",
        "#!/usr/bin/env python3\nimport pytest\nprint('ran')\n",
    )];
    let run = done(&files, &["./solution.py"]).await;
    assert_eq!(outputs(&run), [(0, "ran\n")]);
}
