//! `policy`: the class of commands, with the rule and the reason.

use std::io::{self, Read as _};

use serde::Serialize;

use super::args::{PolicyArgs, PolicyFormat};
use super::command::{TASK_FAILED, USAGE};
use super::{print, print_as_it_is};
use crate::command_policy::{AfterTests, Class, Judgement, Outline, Rules, Script, judge};
use crate::data::escape;

/// Most bytes of commands that are read at once.
const MOST_BYTES: u64 = 64 << 20;

/// A judgement beside its command.
#[derive(Serialize)]
struct Judged<'a> {
    command: &'a str,
    class: Class,
    rule: String,
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parsed: Option<Parsed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Script>,
    #[serde(skip_serializing_if = "AfterTests::is_empty")]
    after: AfterTests,
}

/// What is read of a command.
#[derive(Serialize)]
#[serde(untagged)]
enum Parsed {
    /// What is executed of a safe one.
    Executed(Script),
    /// What the grammar reads of another one.
    Read(Outline),
}

impl<'a> Judged<'a> {
    fn new(command: &'a str, judgement: Judgement) -> Self {
        let parsed = match judgement.parsed {
            Some(script) => Some(Parsed::Executed(script)),
            None => Outline::read(command).map(Parsed::Read),
        };
        Self {
            command,
            class: judgement.class,
            rule: judgement.rule,
            reason: judgement.reason,
            parsed,
            before: judgement.before,
            after: judgement.after,
        }
    }
}

/// Prints the judgements, and gives the exit code.
pub(super) fn run(args: &PolicyArgs) -> i32 {
    match printed(args) {
        Ok(true) => TASK_FAILED,
        Ok(false) => 0,
        Err(message) => {
            let _ = io::Write::write_all(&mut io::stderr().lock(), format!("error: {message}\n").as_bytes());
            USAGE
        }
    }
}

/// Whether any command is denied.
fn printed(args: &PolicyArgs) -> Result<bool, String> {
    let rules = Rules::shipped().map_err(|error| error.to_string())?;
    let rules = if args.deny.is_empty() {
        rules
    } else {
        rules.with_denied(args.deny.clone())
    };
    let text = match args.command.as_str() {
        "-" => from_stdin()?,
        command => command.to_owned(),
    };
    let commands: Vec<&str> = match args.command.as_str() {
        "-" => text.lines().filter(|line| !line.trim().is_empty()).collect(),
        _ => vec![text.as_str()],
    };
    let mut is_denied = false;
    for command in commands {
        let judgement = judge(command, &rules);
        is_denied |= judgement.class == Class::Denied;
        let judged = Judged::new(command, judgement);
        let result = match args.format {
            PolicyFormat::Json => serde_json::to_string(&judged)
                .map_err(io::Error::other)
                .and_then(|line| print(format!("{line}\n").as_bytes())),
            PolicyFormat::Text => print_as_it_is(as_text(&judged).as_bytes()),
        };
        result.map_err(|error| error.to_string())?;
    }
    Ok(is_denied)
}

fn from_stdin() -> Result<String, String> {
    let mut text = String::new();
    let read = io::stdin().lock().take(MOST_BYTES + 1).read_to_string(&mut text);
    let read = read
        .map_err(|error| format!("cannot read commands from standard input: {error}; write them as UTF-8"))?;
    if read as u64 > MOST_BYTES {
        return Err(format!(
            "more than {MOST_BYTES} bytes of commands: judge them in parts"
        ));
    }
    Ok(text)
}

fn as_text(judged: &Judged<'_>) -> String {
    let class = format!("{:?}", judged.class);
    format!(
        "{class:<11}  {}\n{:<11}  {}: {}\n",
        escape::one_line(judged.command),
        "",
        judged.rule,
        escape::one_line(&judged.reason)
    )
}
