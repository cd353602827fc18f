//! Scripts of sed: without commands and files of their own.

use std::iter::Peekable;
use std::str::Chars;

use super::{Call, check_target, checks};
use crate::denial::Denial;
use crate::options::Value;
use crate::rules::SafeRule;
use crate::scope::Scope;
use crate::script::{Argument, Check, Part, Requirement};

pub(super) fn check(rule: &SafeRule, call: &Call<'_>, scope: &Scope) -> Result<Vec<Check>, Denial> {
    let parsed = rule.options.parse(call.name, &call.arguments)?;
    if parsed.has(&["f"]) {
        return Err(refused("lies in a file: write it in the command"));
    }
    let mut operands = parsed.operands.iter();
    let mut scripts = Vec::new();
    for given in &parsed.options {
        if matches!(given.name.as_str(), "e" | "expression") {
            scripts.extend(given.value.clone());
        }
    }
    if scripts.is_empty() && !parsed.has(&["version", "help"]) {
        let script = operands
            .next()
            .ok_or_else(|| refused("is missing: write it in single quotes"))?;
        scripts.push(Value::Word(script));
    }
    let mut required = Vec::new();
    if let [Value::Word(script @ Argument::Parts(parts))] = scripts.as_slice()
        && is_of_lines(parts)
    {
        required.push((*script, Requirement::Lines));
    } else {
        let scripts: Result<Vec<&str>, Denial> = scripts.iter().map(settled).collect();
        check_script(&scripts?.join("\n"))?;
    }
    let in_place = parsed
        .options
        .iter()
        .find(|given| matches!(given.name.as_str(), "i" | "in-place"));
    if let Some(given) = in_place {
        let suffix = given.value.as_ref().and_then(Value::text).unwrap_or_default();
        if suffix.contains(['/', '*']) {
            return Err(refused("is in place with a backup elsewhere: write -i or -i.bak"));
        }
        for operand in operands {
            check_target(call.name, operand, Requirement::Writable, scope)?;
            required.push((*operand, Requirement::Writable));
        }
    }
    checks::of(call.name, &call.arguments, &required, scope)
}

/// Whether a script prints or leaves out lines by numbers that are filled in, and does nothing else. What they are is looked at then.
fn is_of_lines(parts: &[Part]) -> bool {
    let ends_with_command =
        matches!(parts.last(), Some(Part::Text(text)) if text.contains(['p', 'd', 'q', '=']));
    ends_with_command && parts.iter().all(may_be_of_lines)
}

fn may_be_of_lines(part: &Part) -> bool {
    match part {
        Part::Text(text) => text
            .chars()
            .all(|c| c.is_ascii_digit() || ",~+$!; {}pdq=".contains(c)),
        Part::Fields(part) => may_be_of_lines(part),
        part => matches!(part, Part::Variable(_) | Part::Output(_) | Part::Arithmetic(_)),
    }
}

fn settled<'v>(script: &'v Value<'_>) -> Result<&'v str, Denial> {
    script.text().ok_or_else(|| {
        let found = match script {
            Value::Word(Argument::Parts(parts)) => parts.iter().find_map(unsettled),
            _ => None,
        };
        let found = found.unwrap_or_else(|| "a pattern of files".to_owned());
        refused(&format!(
            "has {found}, which is not settled before it runs: write the script out in single quotes, let line numbers alone come from a variable (sed -n \"${{n}}p\"), use python -c 'PROGRAM' \"$NAME\""
        ))
    })
}

fn unsettled(part: &Part) -> Option<String> {
    match part {
        Part::Variable(name) => Some(format!("${name}")),
        Part::Output(_) => Some("$(...)".to_owned()),
        Part::Arithmetic(_) => Some("$((...))".to_owned()),
        Part::Status => Some("$?".to_owned()),
        Part::Folder => Some("$PWD".to_owned()),
        Part::Fields(part) => unsettled(part),
        _ => None,
    }
}

fn refused(what: &str) -> Denial {
    Denial::new("sed", format!("the sed script {what}, or use the tool Edit"))
}

type Script<'a> = Peekable<Chars<'a>>;

fn check_script(script: &str) -> Result<(), Denial> {
    let mut rest = script.chars().peekable();
    loop {
        skip(&mut rest, |c| c.is_ascii_whitespace() || c == ';');
        if rest.peek().is_none() {
            return Ok(());
        }
        addresses(&mut rest)?;
        skip(&mut rest, |c| c == ' ' || c == '\t' || c == '!');
        command(&mut rest)?;
    }
}

fn skip(rest: &mut Script<'_>, skipped: impl Fn(char) -> bool) {
    while rest.next_if(|c| skipped(*c)).is_some() {}
}

fn addresses(rest: &mut Script<'_>) -> Result<(), Denial> {
    address(rest)?;
    skip(rest, |c| c == ' ' || c == '\t');
    if rest.next_if_eq(&',').is_some() {
        skip(rest, |c| c == ' ' || c == '\t');
        if rest.next_if(|c| matches!(c, '+' | '~')).is_some() {
            skip(rest, |c| c.is_ascii_digit());
        } else {
            address(rest)?;
        }
    }
    Ok(())
}

fn address(rest: &mut Script<'_>) -> Result<(), Denial> {
    match rest.peek() {
        Some(c) if c.is_ascii_digit() => {
            skip(rest, |c| c.is_ascii_digit());
            if rest.next_if_eq(&'~').is_some() {
                skip(rest, |c| c.is_ascii_digit());
            }
        }
        Some('$') => {
            rest.next();
        }
        Some('/') => {
            rest.next();
            until(rest, '/')?;
            skip(rest, |c| matches!(c, 'I' | 'M'));
        }
        Some('\\') => {
            rest.next();
            let delimiter = rest.next().filter(|c| *c != '\n' && *c != '\\');
            until(
                rest,
                delimiter.ok_or_else(|| refused("has an address that is not understood: use /.../"))?,
            )?;
            skip(rest, |c| matches!(c, 'I' | 'M'));
        }
        _ => {}
    }
    Ok(())
}

/// Reads to a delimiter that no backslash precedes.
fn until(rest: &mut Script<'_>, delimiter: char) -> Result<(), Denial> {
    while let Some(c) = rest.next() {
        if c == delimiter {
            return Ok(());
        }
        if c == '\\' {
            rest.next();
        }
    }
    Err(refused(&format!(
        "has no second {delimiter}: close the expression"
    )))
}

fn command(rest: &mut Script<'_>) -> Result<(), Denial> {
    match rest.next() {
        Some('{' | '}') => Ok(()),
        Some('=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F') => {
            ended(rest)
        }
        Some('q' | 'Q' | 'l' | 'L') => {
            skip(rest, |c| c == ' ' || c.is_ascii_digit());
            ended(rest)
        }
        Some('a' | 'i' | 'c') => {
            text(rest);
            Ok(())
        }
        // A label ends at a semicolon or a line, for some at the line alone: it has neither.
        Some(':' | 'b' | 't' | 'T') => {
            skip(rest, |c| c == ' ');
            skip(rest, |c| c.is_ascii_alphanumeric() || c == '_');
            ended(rest)
        }
        // A comment, or a file that is read, to the end of the line.
        Some('#' | 'r') => {
            line(rest);
            Ok(())
        }
        Some('y') => {
            let delimiter = delimiter(rest)?;
            until(rest, delimiter)?;
            until(rest, delimiter)?;
            ended(rest)
        }
        Some('s') => {
            let delimiter = delimiter(rest)?;
            until(rest, delimiter)?;
            until(rest, delimiter)?;
            skip(rest, |c| {
                matches!(c, 'g' | 'p' | 'i' | 'I' | 'm' | 'M') || c.is_ascii_digit()
            });
            ended(rest)
        }
        Some(c @ ('e' | 'w' | 'W')) => Err(refused(&format!(
            "has the command {c}, which runs or writes: leave it out"
        ))),
        Some(c) => Err(refused(&format!(
            "has {c:?}, which is not understood: write it more simply"
        ))),
        None => Err(refused("has an address without a command: write one")),
    }
}

fn delimiter(rest: &mut Script<'_>) -> Result<char, Denial> {
    rest.next()
        .filter(|c| !matches!(c, '\n' | '\\'))
        .ok_or_else(|| refused("has no delimiter: write s/.../.../"))
}

/// What follows a command.
fn ended(rest: &mut Script<'_>) -> Result<(), Denial> {
    skip(rest, |c| c == ' ' || c == '\t');
    match rest.peek() {
        None | Some(';' | '\n' | '}' | '#') => Ok(()),
        Some(c) => Err(refused(&format!(
            "has {c:?} after a command, which writes, runs or is not understood: leave it out"
        ))),
    }
}

fn line(rest: &mut Script<'_>) {
    skip(rest, |c| c != '\n');
}

/// The text of `a`, `i` and `c`: to the first line end that no backslash precedes.
fn text(rest: &mut Script<'_>) {
    while let Some(c) = rest.next() {
        match c {
            '\\' => {
                rest.next();
            }
            '\n' => return,
            _ => {}
        }
    }
}
