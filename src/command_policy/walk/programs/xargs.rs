//! xargs, before programs that nothing can make do harm.

use super::{Call, checks};
use crate::denial::Denial;
use crate::rules::{Found, Reading, SafeRule};
use crate::scope::Scope;
use crate::script::{Argument, Part, Run};
use crate::walk::Walk;

impl Walk<'_> {
    pub(super) fn xargs(
        &mut self,
        rule: &SafeRule,
        mut call: Call<'_>,
        scope: &Scope,
    ) -> Result<Run, Denial> {
        let parsed = rule.options.parse(call.name, &call.arguments)?;
        let at = parsed.before_operands;
        let checks = checks::of(call.name, &call.arguments[..at], &[], scope)?;
        let name = match parsed.operands.first() {
            None => "echo".to_owned(),
            Some(name) => name
                .text()
                .map(str::to_owned)
                .ok_or_else(|| Denial::syntax("the command after xargs is not settled: write its name"))?,
        };
        let rules = self.rules;
        match rules.program(&name) {
            Found::Safe(rule) if rule.arguments == Reading::Any => {}
            Found::Intercepted(rule) => self.intercept(rule),
            _ => {
                return Err(Denial::new(
                    "xargs",
                    format!(
                        "xargs is not run with {name}, whose arguments would not be read before: use it with cat, grep, wc, head and their like, or a small Python file"
                    ),
                ));
            }
        }
        let program = Argument::Parts(vec![Part::Program(rules.paths(&name))]);
        if call.arguments.len() > at {
            call.arguments[at] = program;
        } else {
            call.arguments.push(program);
        }
        Ok(self.program_call(&call, rules.paths("xargs"), checks))
    }
}
