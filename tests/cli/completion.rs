//! Completion in real shells.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::expect_code;

const PROGRAM: &str = env!("CARGO_BIN_EXE_kubectl-codegen");

/// Calls what the script has registered, as Bash does when it completes the last of the words.
const DRIVER: &str = r#"
source "$1"
shift
registered=$(complete -p kubectl-codegen)
[[ $registered =~ -F\ ([^ ]+) ]] || exit 1
COMP_WORDS=(kubectl-codegen "$@")
COMP_CWORD=$#
COMPREPLY=()
# Only a shell that is completing knows compopt.
compopt() { :; }
"${BASH_REMATCH[1]}" kubectl-codegen "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
"#;

fn lines(output: &Output) -> Vec<String> {
    expect_code(output, 0);
    assert!(
        output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Writes the script for a shell to a folder.
fn script(shell: &str, folder: &Path) -> String {
    let output = Command::new(PROGRAM)
        .args(["completion", shell])
        .output()
        .unwrap();
    expect_code(&output, 0);
    let path = folder.join(format!("script.{shell}"));
    fs::write(&path, output.stdout).unwrap();
    path.display().to_string()
}

#[test]
fn bash_completes_commands_flags_and_values() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("replies.jsonl"), "").unwrap();
    let script = script("bash", folder.path());
    let completed = |words: &[&str]| {
        let output = Command::new("bash")
            .current_dir(folder.path())
            .args(["--norc", "-c", DRIVER, "driver", &script])
            .args(words)
            .output()
            .unwrap();
        lines(&output)
    };
    assert_eq!(completed(&["loc"]), ["local"]);
    assert_eq!(completed(&["local", "--model-u"]), ["--model-url"]);
    assert_eq!(completed(&["local", "--provider", ""]), ["openai", "anthropic"]);
    assert_eq!(completed(&["local", "-k", "x", "--format", "j"]), ["json"]);
    assert_eq!(completed(&["local", "run", "--va"]), ["--validation"]);
    assert_eq!(completed(&["local", "run", "--validation", "w"]), ["warn"]);
    assert_eq!(completed(&["local", "--replay", "rep"]), ["replies.jsonl"]);
    assert_eq!(
        completed(&["new", "count", "--exposure", "R"]),
        ["RedactedRows", "Rows"]
    );
    assert_eq!(completed(&["approve", "--gate", "P"]), ["Plan", "Packages"]);
    assert_eq!(completed(&["help", "wa"]), ["watch"]);
    assert_eq!(completed(&["completion", "kub"]), ["kubectl"]);
    // What is hidden from the help is no candidate.
    let commands = completed(&[""]);
    assert!(
        commands.contains(&"new".to_owned()) && !commands.contains(&"worker".to_owned()),
        "{commands:?}"
    );
}

#[test]
fn every_command_has_its_flags_completed_in_bash() {
    let folder = tempfile::tempdir().unwrap();
    let script = script("bash", folder.path());
    for (command, flag) in [
        ("new", "--constraint"),
        ("context", "--max-sample-rows"),
        ("run", "--output-claim"),
        ("watch", "--timeout"),
        ("code", "--kubeconfig"),
        ("export", "--output"),
        ("approve", "--reason"),
        ("reject", "--reason"),
    ] {
        let output = Command::new("bash")
            .args(["--norc", "-c", DRIVER, "driver", &script, command, flag])
            .output()
            .unwrap();
        assert!(lines(&output).contains(&flag.to_owned()), "{command} {flag}");
    }
}

#[test]
fn kubectl_gets_one_candidate_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let script = script("kubectl", folder.path());
    let path = format!(
        "{}:{}",
        Path::new(PROGRAM).parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let completed = |words: &[&str]| {
        let output = Command::new("bash")
            .arg(&script)
            .args(words)
            .env("PATH", &path)
            .output()
            .unwrap();
        lines(&output)
    };
    assert_eq!(completed(&["con"]), ["context"]);
    assert_eq!(completed(&["local", "--provider", "a"]), ["anthropic"]);
    assert_eq!(completed(&["watch", "no-such-task"]), [""; 0]);
}

/// Runs a script of a shell; `None` where there is no such shell.
fn in_shell(shell: &str, arguments: &[&str]) -> Option<Output> {
    match Command::new(shell).args(arguments).output() {
        Ok(output) => Some(output),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => panic!("{shell}: {error}"),
    }
}

#[test]
fn zsh_loads_its_script() {
    let folder = tempfile::tempdir().unwrap();
    let script = script("zsh", folder.path());
    let code = "autoload -U compinit; compinit -D -u; source $1; print -r -- $_comps[kubectl-codegen]";
    if let Some(output) = in_shell("zsh", &["-f", "-c", code, "zsh", &script]) {
        assert_eq!(lines(&output), ["_kubectl-codegen"]);
    }
}

#[test]
fn fish_completes_flags_and_values() {
    let folder = tempfile::tempdir().unwrap();
    let script = script("fish", folder.path());
    for (line, candidate) in [
        ("kubectl-codegen cont", "context"),
        ("kubectl-codegen local --model-u", "--model-url"),
        ("kubectl-codegen local --provider an", "anthropic"),
    ] {
        let code = format!("source {script}; complete -C '{line}'");
        if let Some(output) = in_shell("fish", &["--no-config", "-c", &code]) {
            let found = lines(&output);
            let is_found = found
                .iter()
                .any(|found| found.split('\t').next() == Some(candidate));
            assert!(is_found, "{line}: {found:?}");
        }
    }
}
