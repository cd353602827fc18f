//! Programs of awk: without commands, files and pipes of their own.

use std::str::Chars;

use super::{Call, checks};
use crate::denial::Denial;
use crate::rules::SafeRule;
use crate::scope::Scope;
use crate::script::Check;

pub(super) fn check(rule: &SafeRule, call: &Call<'_>, scope: &Scope) -> Result<Vec<Check>, Denial> {
    let parsed = rule.options.parse(call.name, &call.arguments)?;
    let own = &call.arguments[..parsed.before_operands];
    let checks = checks::of(call.name, own, &[], scope)?;
    if parsed.has(&["version"]) && parsed.operands.is_empty() {
        return Ok(checks);
    }
    let program = parsed.operands.first().and_then(|operand| operand.text());
    let program =
        program.ok_or_else(|| refused("has no program that is written out: write it in single quotes"))?;
    check_program(program)?;
    Ok(checks)
}

fn refused(what: &str) -> Denial {
    Denial::new(
        "awk",
        format!("the awk program {what}, or use a small Python file"),
    )
}

/// What a slash after it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// An operand: it divides.
    Operand,
    /// What needs an operand: it begins a regular expression.
    Operator,
    /// What awks read in different ways.
    Unclear,
}

/// A reader of a program that sees pipes and redirections. What could be read in two ways is refused.
struct Reader<'a> {
    rest: Chars<'a>,
    before: Before,
    is_print: bool,
    depth: i32,
}

fn check_program(program: &str) -> Result<(), Denial> {
    for word in ["system", "getline", "@"] {
        if program.contains(word) {
            return Err(refused(&format!("has {word}: leave it out")));
        }
    }
    if program.contains("\\\n") {
        return Err(refused("has lines that are joined: write them as one"));
    }
    let mut reader = Reader {
        rest: program.chars(),
        before: Before::Operator,
        is_print: false,
        depth: 0,
    };
    while reader.next()? {}
    Ok(())
}

impl Reader<'_> {
    /// Reads a word, a string, an expression or a sign; false at the end.
    fn next(&mut self) -> Result<bool, Denial> {
        let text = self.rest.as_str();
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = text.find(|c| !is_word(c)).unwrap_or(text.len());
        if length > 0 {
            self.rest = text[length..].chars();
            self.word(&text[..length]);
            return Ok(true);
        }
        let Some(c) = self.rest.next() else {
            return Ok(false);
        };
        match c {
            ' ' | '\t' => return Ok(true),
            '"' => skip_string(&mut self.rest)?,
            '/' => self.slash()?,
            '#' => {
                let comment = self.rest.as_str();
                self.rest = comment[comment.find('\n').unwrap_or(comment.len())..].chars();
            }
            '(' | '[' => self.depth += 1,
            ')' | ']' => self.depth -= 1,
            ';' | '{' | '}' => {
                self.is_print = false;
                self.depth = 0;
            }
            '|' => {
                if !self.rest.as_str().starts_with('|') {
                    return Err(refused("has a pipe: pipe its output to a command instead"));
                }
                self.rest.next();
            }
            '>' if self.is_print && self.depth <= 0 => {
                return Err(refused(
                    "writes to a file: redirect the output of awk instead, and put a comparison in parentheses",
                ));
            }
            _ => {}
        }
        self.before = match c {
            '"' | ']' => Before::Operand,
            // After an if, it begins an expression for some.
            ')' => Before::Unclear,
            '+' | '-' if self.rest.as_str().starts_with(c) => {
                self.rest.next();
                Before::Unclear
            }
            '/' => self.before,
            _ => Before::Operator,
        };
        Ok(true)
    }

    fn word(&mut self, word: &str) {
        self.is_print |= matches!(word, "print" | "printf");
        self.before = match word {
            "length" => Before::Unclear,
            "print" | "printf" | "return" | "in" | "else" | "do" | "case" | "exit" | "delete" => {
                Before::Operator
            }
            _ => Before::Operand,
        };
    }

    /// A division, or a regular expression to its end.
    fn slash(&mut self) -> Result<(), Denial> {
        let line = self.rest.as_str().lines().next().unwrap_or_default();
        // If it began an expression, that would end at the next slash: nothing may be hidden between the two.
        let between = line
            .split_once('/')
            .map(|(between, _)| between)
            .unwrap_or_default();
        let hides: &[char] = match self.before {
            Before::Operator => &[],
            Before::Operand => &['"'],
            Before::Unclear => &['"', '(', ')', '[', ']', '{', '}', ';', '#', '>', '|'],
        };
        if between.contains(hides) {
            return Err(refused(
                "has slashes that could divide or begin a regular expression: compute in two steps",
            ));
        }
        if self.before == Before::Operator {
            skip_regex(&mut self.rest)?;
            self.before = Before::Operand;
        } else {
            self.before = Before::Operator;
        }
        Ok(())
    }
}

fn skip_string(rest: &mut Chars<'_>) -> Result<(), Denial> {
    while let Some(c) = rest.next() {
        match c {
            '\\' => {
                rest.next();
            }
            '"' => return Ok(()),
            '\n' => break,
            _ => {}
        }
    }
    Err(refused("has a string without an end: close it"))
}

/// A regular expression. Quotes in it would be strings if the slash divided.
fn skip_regex(rest: &mut Chars<'_>) -> Result<(), Denial> {
    while let Some(c) = rest.next() {
        match c {
            '\\' => {
                rest.next();
            }
            '/' => return Ok(()),
            // A slash in brackets ends the expression for one awk and not for another; `|` and `>` stay hidden in neither.
            '"' | '\n' | '[' if c != '[' => break,
            '[' => skip_brackets(rest)?,
            _ => {}
        }
    }
    Err(refused(
        "has a regular expression with a quote, or without an end: write it as a string",
    ))
}

fn skip_brackets(rest: &mut Chars<'_>) -> Result<(), Denial> {
    let mut is_first = true;
    for c in rest.by_ref() {
        match c {
            ']' if !is_first => return Ok(()),
            '/' | '"' | '\n' | '\\' => break,
            '^' if is_first => continue,
            _ => {}
        }
        is_first = false;
    }
    Err(refused(
        "has brackets with a slash, quote or backslash in a regular expression: write it as a string",
    ))
}
