//! Texts that are compared with patterns: `case`, and `==` in `[[ ... ]]`.

use brush_parser::ast::{self, CaseItemPostAction};

use super::Walk;
use super::compound::{alone, single};
use super::folders::Folders;
use crate::denial::Denial;
use crate::scope::Scope;
use crate::script::{Argument, Builtin, CaseCall, CaseItem, Command, Pipeline, Run};
use crate::words;

impl Walk<'_> {
    pub(super) fn case(
        &mut self,
        clause: &ast::CaseClauseCommand,
        scope: &mut Scope,
    ) -> Result<(Run, Folders), Denial> {
        let value = words::value(&clause.value.value, scope, self)?;
        let was_unconditional = std::mem::replace(&mut scope.is_unconditional, false);
        let mut items = Vec::new();
        let mut ends = Vec::new();
        for item in &clause.cases {
            if !matches!(item.post_action, CaseItemPostAction::ExitCase) {
                return Err(Denial::syntax(
                    "case ends each of its parts with ;;: write the commands twice",
                ));
            }
            let mut patterns = Vec::new();
            for pattern in &item.patterns {
                patterns.push(words::pattern(&pattern.value, scope, self)?);
            }
            let mut inner = scope.clone();
            let body = item
                .cmd
                .as_ref()
                .map(|body| self.list(body, &mut inner))
                .transpose()?;
            ends.push(inner);
            let body = body.unwrap_or_default();
            items.push(CaseItem { patterns, body });
        }
        for end in ends {
            scope.join(end);
        }
        scope.is_unconditional = was_unconditional;
        Ok((Run::Case(CaseCall { value, items }), Folders::of(scope)))
    }

    /// Succeeds where a text matches a pattern.
    pub(super) fn comparison(&mut self, value: Argument, pattern: Argument) -> Result<Pipeline, Denial> {
        let mut item = |pattern: Argument, result: Builtin| {
            let run = self.builtin(result, Vec::new())?;
            let redirections = Vec::new();
            let body = vec![alone(single(Command { run, redirections }))];
            let patterns = vec![pattern];
            Ok(CaseItem { patterns, body })
        };
        let anything = Argument::Parts(vec![crate::script::Part::Pattern("*".to_owned())]);
        let items = vec![item(pattern, Builtin::True)?, item(anything, Builtin::False)?];
        Ok(single(Command {
            run: Run::Case(CaseCall { value, items }),
            redirections: Vec::new(),
        }))
    }
}
