//! Commands of commands: groups, conditions, loops, `[[ ... ]]`.

use brush_parser::ast::{self, BinaryPredicate, CompoundCommand, ExtendedTestExpr, UnaryPredicate};

use super::Walk;
use super::folders::Folders;
use super::programs::built_in;
use crate::arithmetic;
use crate::denial::Denial;
use crate::scope::Scope;
use crate::script::{
    After, Argument, Branch, Builtin, Command, Conditional, Expression, Next, Part, Pipeline, Redirection,
    Run, Statement,
};
use crate::words;

/// Comparisons of numbers.
const NUMBERS: [&str; 6] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

impl Walk<'_> {
    /// Settles a command, and the folders after it.
    pub(super) fn command(
        &mut self,
        command: &ast::Command,
        scope: &mut Scope,
    ) -> Result<(Command, Folders), Denial> {
        match command {
            ast::Command::Simple(simple) => self.simple(simple, scope),
            ast::Command::Compound(compound, redirected) => {
                let redirections = self.redirections(redirected.as_ref(), scope)?;
                let before = (!redirections.is_empty()).then(|| scope.clone());
                let (run, mut folders) = self.compound(compound, scope)?;
                // Where a redirection fails, nothing of it runs.
                if let Some(before) = before {
                    scope.join(before);
                    folders = Folders::of(scope);
                }
                Ok((Command { run, redirections }, folders))
            }
            ast::Command::ExtendedTest(test, redirected) => {
                let redirections = self.redirections(redirected.as_ref(), scope)?;
                let pipeline = self.test(&test.expr, scope)?;
                let run = Run::Test(vec![alone(pipeline)]);
                Ok((Command { run, redirections }, Folders::of(scope)))
            }
            ast::Command::Function(_) => Err(Denial::syntax(
                "functions are not defined here: write the commands one after the other, or a small Python file",
            )),
        }
    }

    fn compound(&mut self, compound: &CompoundCommand, scope: &mut Scope) -> Result<(Run, Folders), Denial> {
        match compound {
            CompoundCommand::BraceGroup(group) => {
                let body = self.list(&group.list, scope)?;
                Ok((Run::Group(body), Folders::of(scope)))
            }
            CompoundCommand::Subshell(subshell) => {
                let body = self.list(&subshell.list, &mut scope.subshell())?;
                Ok((Run::Subshell(body), Folders::of(scope)))
            }
            CompoundCommand::IfClause(clause) => self.conditional(clause, scope),
            CompoundCommand::ForClause(clause) => self.for_loop(clause, scope),
            CompoundCommand::WhileClause(clause) => self.while_loop(clause, false, scope),
            CompoundCommand::UntilClause(clause) => self.while_loop(clause, true, scope),
            CompoundCommand::CaseClause(clause) => self.case(clause, scope),
            CompoundCommand::Arithmetic(_) | CompoundCommand::ArithmeticForClause(_) => Err(Denial::syntax(
                "((...)) is not run: use [ ... ], NAME=$((NAME + 1)), for i in {1..10}, or a small Python file",
            )),
            CompoundCommand::Coprocess(_) => {
                Err(Denial::syntax("coproc is not run: write a small Python file"))
            }
        }
    }

    fn conditional(
        &mut self,
        clause: &ast::IfClauseCommand,
        scope: &mut Scope,
    ) -> Result<(Run, Folders), Denial> {
        let was_unconditional = std::mem::replace(&mut scope.is_unconditional, false);
        let mut ends = Vec::new();
        let mut branches = Vec::new();
        let mut otherwise = Vec::new();
        let first = [(Some(&clause.condition), &clause.then)];
        let others = clause
            .elses
            .iter()
            .flatten()
            .map(|other| (other.condition.as_ref(), &other.body));
        for (condition, body) in first.into_iter().chain(others) {
            let condition = condition
                .map(|condition| self.list(condition, scope))
                .transpose()?;
            let mut inner = scope.clone();
            let body = self.list(body, &mut inner)?;
            ends.push(inner);
            match condition {
                Some(condition) => branches.push(Branch { condition, body }),
                None => otherwise = body,
            }
        }
        for end in ends {
            scope.join(end);
        }
        scope.is_unconditional = was_unconditional;
        Ok((Run::If(Conditional { branches, otherwise }), Folders::of(scope)))
    }

    fn redirections(
        &mut self,
        list: Option<&ast::RedirectList>,
        scope: &Scope,
    ) -> Result<Vec<Redirection>, Denial> {
        let mut settled = Vec::new();
        for redirection in list.iter().flat_map(|list| &list.0) {
            settled.extend(self.redirection(redirection, scope)?);
        }
        Ok(settled)
    }

    /// `[[ ... ]]` by `test`.
    fn test(&mut self, test: &ExtendedTestExpr, scope: &Scope) -> Result<Pipeline, Denial> {
        match test {
            ExtendedTestExpr::Not(inner) => {
                let mut pipeline = self.test(inner, scope)?;
                pipeline.negated = !pipeline.negated;
                Ok(pipeline)
            }
            ExtendedTestExpr::Parenthesized(inner) => self.test(inner, scope),
            ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
                let after = if matches!(test, ExtendedTestExpr::And(..)) {
                    After::Success
                } else {
                    After::Failure
                };
                let first = self.test(left, scope)?;
                let pipeline = self.test(right, scope)?;
                let rest = vec![Next { after, pipeline }];
                Ok(single(Command {
                    run: Run::Group(vec![Statement { first, rest }]),
                    redirections: Vec::new(),
                }))
            }
            ExtendedTestExpr::UnaryTest(predicate, word) => {
                use UnaryPredicate::{
                    FdIsOpenTerminal, FileExistsAndModifiedSinceLastRead, ShellOptionEnabled,
                    ShellVariableIsSetAndAssigned, ShellVariableIsSetAndNameRef,
                };
                if matches!(
                    predicate,
                    ShellOptionEnabled
                        | ShellVariableIsSetAndAssigned
                        | ShellVariableIsSetAndNameRef
                        | FdIsOpenTerminal
                        | FileExistsAndModifiedSinceLastRead
                ) {
                    return Err(Denial::syntax(format!(
                        "[[ {predicate} ]] is not run: write a small Python file"
                    )));
                }
                let value = words::value(&word.value, scope, self)?;
                self.test_program(vec![predicate.to_string().as_str().into(), value])
            }
            ExtendedTestExpr::BinaryTest(predicate, left, right) => {
                use BinaryPredicate::{
                    LeftSortsAfterRight, LeftSortsBeforeRight, StringContainsSubstring, StringMatchesRegex,
                };
                if matches!(
                    predicate,
                    StringMatchesRegex | StringContainsSubstring | LeftSortsAfterRight | LeftSortsBeforeRight
                ) {
                    return Err(Denial::syntax(format!(
                        "[[ {predicate} ]] is not run: use grep -q, or a small Python file"
                    )));
                }
                let operator = match predicate.to_string().as_str() {
                    "==" => "=".to_owned(),
                    other => other.to_owned(),
                };
                if NUMBERS.contains(&operator.as_str()) {
                    let left = self.number(&left.value, scope)?;
                    let right = self.number(&right.value, scope)?;
                    let arguments = vec![left, operator.as_str().into(), right];
                    let run = self.builtin(Builtin::Compare, arguments)?;
                    return Ok(single(Command {
                        run,
                        redirections: Vec::new(),
                    }));
                }
                let left = words::value(&left.value, scope, self)?;
                if let sign @ ("=" | "!=") = operator.as_str() {
                    let pattern = words::pattern(&right.value, scope, self)?;
                    let mut pipeline = self.comparison(left, pattern)?;
                    pipeline.negated = sign == "!=";
                    return Ok(pipeline);
                }
                let right = words::value(&right.value, scope, self)?;
                self.test_program(vec![left, operator.as_str().into(), right])
            }
        }
    }

    /// A side of a comparison of numbers, which bash evaluates.
    fn number(&mut self, word: &str, scope: &Scope) -> Result<Argument, Denial> {
        let read = arithmetic::parse(word, scope);
        let expression = if let Ok(expression) = read {
            expression
        } else {
            let value = words::value(word, scope, self)?;
            match value.text() {
                Some("") => Expression::Number(0),
                Some(text) => arithmetic::parse(text, scope)?,
                None => return Ok(value),
            }
        };
        Ok(match expression {
            Expression::Number(number) => Argument::Text(number.to_string()),
            expression => Argument::Parts(vec![Part::Arithmetic(expression)]),
        })
    }

    fn test_program(&mut self, arguments: Vec<Argument>) -> Result<Pipeline, Denial> {
        let run = built_in("test", self.listed("test", arguments)?)?;
        Ok(single(Command {
            run,
            redirections: Vec::new(),
        }))
    }
}

pub(super) fn single(command: Command) -> Pipeline {
    Pipeline {
        negated: false,
        timed: false,
        commands: vec![command],
    }
}

pub(super) fn alone(first: Pipeline) -> Statement {
    Statement {
        first,
        rest: Vec::new(),
    }
}
