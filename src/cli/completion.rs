//! `kubectl-codegen completion`: what completes command lines, in shells and in kubectl.

use clap::{Command, CommandFactory as _};
use clap_complete::{Shell, generate};

use super::args::{Cli, Completion};

/// The program, as it is called.
const PROGRAM: &str = "kubectl-codegen";
/// The program in the names of functions of Bash.
const BASH_NAME: &str = "kubectl_codegen";

/// kubectl calls it with the words behind `kubectl codegen`, the last of which is completed, and reads one candidate a line.
const KUBECTL: &str = r#"#!/usr/bin/env bash
# Completes `kubectl codegen`, once it lies in the PATH under the name kubectl_complete-codegen.
eval "$(kubectl-codegen completion bash)"
COMP_WORDS=(kubectl-codegen "$@")
COMP_CWORD=$#
COMPREPLY=()
# Only a shell that is completing knows `compopt`.
_kubectl_codegen kubectl-codegen "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" 2>/dev/null
[ ${#COMPREPLY[@]} -eq 0 ] || printf '%s\n' "${COMPREPLY[@]}"
"#;

/// The script that is printed.
pub(super) fn script(completion: Completion) -> Vec<u8> {
    let shell = match completion {
        Completion::Bash => return bash().into_bytes(),
        Completion::Kubectl => return KUBECTL.as_bytes().to_vec(),
        Completion::Elvish => Shell::Elvish,
        Completion::Fish => Shell::Fish,
        Completion::Powershell => Shell::PowerShell,
        Completion::Zsh => Shell::Zsh,
    };
    let mut script = Vec::new();
    generate(shell, &mut visible(), PROGRAM, &mut script);
    script
}

/// The script for Bash. With a dash in the program's name, `clap_complete` calls the same command by two names in it, and nothing
/// after a command is completed; so the script is made for a name without one, and is in force for the program's own.
fn bash() -> String {
    let mut script = Vec::new();
    generate(Shell::Bash, &mut visible(), BASH_NAME, &mut script);
    let (made_for, in_force) = (
        format!(" -o default {BASH_NAME}\n"),
        format!(" -o default {PROGRAM}\n"),
    );
    String::from_utf8_lossy(&script).replace(&made_for, &in_force)
}

/// The command line without what is hidden, which scripts would offer all the same.
fn visible() -> Command {
    let whole = Cli::command();
    let shown = whole.get_subcommands().filter(|command| !command.is_hide_set());
    let about = whole.get_about().cloned().unwrap_or_default();
    Command::new(PROGRAM)
        .version(env!("CARGO_PKG_VERSION"))
        .about(about)
        .subcommands(shown.cloned())
}
