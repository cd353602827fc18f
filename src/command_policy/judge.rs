//! The class of a command.

use serde::{Deserialize, Serialize};

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
}

/// Judges a command, and reads it into what is executed.
#[must_use]
pub fn judge(command: &str, rules: &Rules) -> Judgement {
    let mut walk = Walk::new(rules);
    match syntax::parse(command).and_then(|program| walk.program(&program)) {
        Err(Denial { rule, reason }) => Judgement {
            class: Class::Denied,
            rule,
            reason,
            parsed: None,
        },
        Ok(script) => match walk.intercepted.take() {
            Some((rule, reason)) => Judgement {
                class: Class::Intercepted,
                rule,
                reason,
                parsed: None,
            },
            None => Judgement {
                class: Class::Safe,
                rule: walk.rules_used(),
                reason: "every part of it is listed, and it writes to files of its own alone".to_owned(),
                parsed: Some(script),
            },
        },
    }
}
