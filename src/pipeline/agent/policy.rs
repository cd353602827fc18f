//! What the policy of commands says, as a turn needs it.

use std::sync::{Arc, LazyLock};

use serde_json::json;

use super::command::{BesideTests, Judged};
use crate::command_policy::{Class, Rules, Script, judge};

/// The rules that come with the operator; a test loads them.
static RULES: LazyLock<Option<Rules>> = LazyLock::new(|| Rules::shipped().ok());

/// Which commands of an agent run: the rules that come with the operator, and what an administrator denies besides.
#[derive(Clone, Debug, Default)]
pub struct CommandPolicy {
    /// The rules with what is denied besides; `None` where nothing is.
    stricter: Option<Arc<Rules>>,
}

impl CommandPolicy {
    /// The policy that denies these programs besides.
    #[must_use]
    pub fn denying(programs: &[String]) -> Self {
        let shipped = RULES.as_ref().filter(|_| !programs.is_empty());
        let stricter = shipped.map(|rules| Arc::new(rules.clone().with_denied(programs.to_vec())));
        Self { stricter }
    }

    /// Judges a command line.
    #[must_use]
    pub fn judge(&self, command: &str) -> Judged {
        let Some(rules) = self.stricter.as_deref().or(RULES.as_ref()) else {
            return Judged::Denied(
                "The rules of commands cannot be read; this is a bug of the operator, please report it."
                    .to_owned(),
            );
        };
        let judgement = judge(command, rules);
        let value = |script: Script| json!(script);
        match (judgement.class, judgement.parsed) {
            (Class::Safe, Some(script)) => Judged::Safe(value(script)),
            (Class::Intercepted, _) => Judged::Tests(BesideTests {
                before: judgement.before.map(value),
                passed: judgement.after.passed.map(value),
                failed: judgement.after.failed.map(value),
            }),
            (Class::Safe | Class::Denied, _) => Judged::Denied(judgement.reason),
        }
    }
}
