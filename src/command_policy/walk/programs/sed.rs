//! Scripts of sed: without commands and files of their own.

use std::iter::Peekable;
use std::str::Chars;

use super::{Call, check_target, checks};
use crate::denial::Denial;
use crate::rules::SafeRule;
use crate::scope::Scope;
use crate::script::{Check, Requirement};

pub(super) fn check(rule: &SafeRule, call: &Call<'_>, scope: &Scope) -> Result<Vec<Check>, Denial> {
    let parsed = rule.options.parse(call.name, &call.arguments)?;
    if parsed.has(&["f"]) {
        return Err(refused("lies in a file: write it in the command"));
    }
    let mut operands = parsed.operands.iter();
    let mut scripts = Vec::new();
    for given in &parsed.options {
        if matches!(given.name.as_str(), "e" | "expression") {
            scripts.push(given.value.as_ref().and_then(crate::options::Value::text));
        }
    }
    if scripts.is_empty() && !parsed.has(&["version", "help"]) {
        scripts.push(operands.next().and_then(|operand| operand.text()));
    }
    let scripts: Option<Vec<&str>> = scripts.into_iter().collect();
    let scripts = scripts.ok_or_else(|| refused("is not written out: write it in single quotes"))?;
    check_script(&scripts.join("\n"))?;
    let in_place = parsed
        .options
        .iter()
        .find(|given| matches!(given.name.as_str(), "i" | "in-place"));
    let mut required = Vec::new();
    if let Some(given) = in_place {
        let suffix = given
            .value
            .as_ref()
            .and_then(crate::options::Value::text)
            .unwrap_or_default();
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
