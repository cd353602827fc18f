//! The class of a command.

use serde::{Deserialize, Serialize};

use crate::before::before_tests;
use crate::denial::Denial;
use crate::rules::Rules;
use crate::script::Script;
use crate::syntax;
use crate::walk::Walk;

/// What becomes of a command. Of its parts the strictest counts.
#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// It runs in the sandbox.
    Safe,
    /// It asks for the tests, which the operator runs itself.
    Intercepted,
    /// It does not run.
    Denied,
}

/// What was decided of a command, and why.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The class.
    pub class: Class,
    /// The rules that decided.
    pub rule: String,
    /// Why, with what to write instead where it does not run.
    pub reason: String,
    /// What is executed, of a safe command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parsed: Option<Script>,
    /// What is executed before the tests that a command asks for; where it fails, they are not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Script>,
}

/// Judges a command, and reads it into what is executed.
#[must_use]
pub fn judge(command: &str, rules: &Rules) -> Judgement {
    let judgement = |class, rule, reason, parsed, before| Judgement {
        class,
        rule,
        reason,
        parsed,
        before,
    };
    match settled(command, rules) {
        Err(Denial { rule, reason }) => judgement(Class::Denied, rule, reason, None, None),
        Ok(Settled::Tests(rule, reason, before)) => judgement(Class::Intercepted, rule, reason, None, before),
        Ok(Settled::Safe(rules, script)) => {
            let reason = "every part of it is listed, and it writes to files of its own alone".to_owned();
            judgement(Class::Safe, rules, reason, Some(script), None)
        }
    }
}

/// A command that is not denied.
enum Settled {
    /// The rules of its parts, and what is executed.
    Safe(String, Script),
    /// The rule that takes it, the reason, and what is executed before the tests.
    Tests(String, String, Option<Script>),
}

fn settled(command: &str, rules: &Rules) -> Result<Settled, Denial> {
    let mut walk = Walk::new(rules);
    let script = walk.program(&syntax::parse(command)?)?;
    match walk.intercepted.take() {
        Some((rule, reason)) => {
            let before = before_tests(script.statements, rules)?;
            let before = before.map(|statements| Script { statements });
            Ok(Settled::Tests(rule, reason, before))
        }
        None => Ok(Settled::Safe(walk.rules_used(), script)),
    }
}
