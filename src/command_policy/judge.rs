//! The class of a command.

use serde::{Deserialize, Serialize};

use crate::after::{AfterTests, take_after_tests};
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
    /// What is executed after them.
    #[serde(default, skip_serializing_if = "AfterTests::is_empty")]
    pub after: AfterTests,
}

/// Judges a command, and reads it into what is executed.
#[must_use]
pub fn judge(command: &str, rules: &Rules) -> Judgement {
    settled(command, rules).unwrap_or_else(|Denial { rule, reason }| Judgement {
        class: Class::Denied,
        rule,
        reason,
        parsed: None,
        before: None,
        after: AfterTests::default(),
    })
}

fn settled(command: &str, rules: &Rules) -> Result<Judgement, Denial> {
    let mut walk = Walk::new(rules);
    let Script { mut statements } = walk.program(&syntax::parse(command)?)?;
    let Some((rule, reason)) = walk.intercepted.take() else {
        return Ok(Judgement {
            class: Class::Safe,
            rule: walk.rules_used(),
            reason: "every part of it is listed, and it writes to files of its own alone".to_owned(),
            parsed: Some(Script { statements }),
            before: None,
            after: AfterTests::default(),
        });
    };
    let after = take_after_tests(&mut statements);
    let before = before_tests(statements, rules)?;
    Ok(Judgement {
        class: Class::Intercepted,
        rule,
        reason,
        parsed: None,
        before: before.map(|statements| Script { statements }),
        after,
    })
}
