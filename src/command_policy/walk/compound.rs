//! Commands of commands: groups, conditions, loops, `[[ ... ]]`.

use brush_parser::ast::{self, BinaryPredicate, CompoundCommand, ExtendedTestExpr, UnaryPredicate};

use super::folders::Folders;
use super::simple::is_reserved;
use super::{Walk, redirections};
use crate::denial::Denial;
use crate::scope::{MOST_OUTLINES, Scope};
use crate::script::{
    After, Argument, Branch, Command, Conditional, Loop, Next, Pipeline, Redirection, Run, Statement,
};
use crate::words;

/// Passes over a loop until the folders that it may be in are found.
const MOST_PASSES: usize = 4;

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
                let redirections = settle_all(redirected.as_ref(), scope)?;
                let (run, folders) = self.compound(compound, scope)?;
                Ok((Command { run, redirections }, folders))
            }
            ast::Command::ExtendedTest(test, redirected) => {
                let redirections = settle_all(redirected.as_ref(), scope)?;
                let pipeline = self.test(&test.expr, scope)?;
                let run = Run::Group(vec![alone(pipeline)]);
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
                let body = self.list(&subshell.list, &mut scope.clone())?;
                Ok((Run::Subshell(body), Folders::of(scope)))
            }
            CompoundCommand::IfClause(clause) => self.conditional(clause, scope),
            CompoundCommand::ForClause(clause) => self.for_loop(clause, scope),
            CompoundCommand::WhileClause(_) | CompoundCommand::UntilClause(_) => Err(Denial::syntax(
                "while and until are not run: use for over names or a pattern, xargs, or a small Python file",
            )),
            CompoundCommand::CaseClause(_) => Err(Denial::syntax(
                "case is not run: use if with [ ... ], or a small Python file",
            )),
            CompoundCommand::Arithmetic(_) | CompoundCommand::ArithmeticForClause(_) => Err(Denial::syntax(
                "((...)) is not run: use for i in {1..10}, or a small Python file",
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
        let mut ends = std::collections::BTreeSet::new();
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
            ends.extend(inner.folders);
            match condition {
                Some(condition) => branches.push(Branch { condition, body }),
                None => otherwise = body,
            }
        }
        scope.folders.extend(ends);
        scope.is_unconditional = was_unconditional;
        Ok((Run::If(Conditional { branches, otherwise }), Folders::of(scope)))
    }

    fn for_loop(
        &mut self,
        clause: &ast::ForClauseCommand,
        scope: &mut Scope,
    ) -> Result<(Run, Folders), Denial> {
        let variable = &clause.variable_name;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !variable.chars().all(is_name) || variable.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(Denial::syntax(format!("{variable} is no name of a variable")));
        }
        if is_reserved(variable) || self.rules.is_assignable(variable) {
            return Err(Denial::syntax(format!(
                "a loop does not change {variable}: use another name"
            )));
        }
        let Some(values) = &clause.values else {
            return Err(Denial::syntax(
                "a loop without words is not run: write for NAME in WORDS",
            ));
        };
        let mut arguments = Vec::new();
        for value in values {
            arguments.extend(words::arguments(&value.value, scope)?);
        }
        let literals: Option<Vec<String>> = arguments
            .iter()
            .map(|word| word.text().map(str::to_owned))
            .collect();
        match literals {
            Some(literals) => self.over_literals(clause, &literals, scope),
            None => self.over_patterns(clause, arguments, scope),
        }
    }

    /// A loop over literals is its body for each of them.
    fn over_literals(
        &mut self,
        clause: &ast::ForClauseCommand,
        literals: &[String],
        scope: &mut Scope,
    ) -> Result<(Run, Folders), Denial> {
        let mut body = Vec::new();
        scope.loops.remove(&clause.variable_name);
        for literal in literals {
            scope
                .variables
                .insert(clause.variable_name.clone(), literal.clone());
            body.extend(self.list(&clause.body.list, scope)?);
        }
        Ok((Run::Group(body), Folders::of(scope)))
    }

    fn over_patterns(
        &mut self,
        clause: &ast::ForClauseCommand,
        words: Vec<Argument>,
        scope: &mut Scope,
    ) -> Result<(Run, Folders), Denial> {
        let begins_with_a_dash = |word: &Argument| !word.is_pattern() && word.beginning().0.starts_with('-');
        let outlines: Vec<String> = words.iter().flat_map(|word| scope.outlines(word)).collect();
        if outlines.len() > MOST_OUTLINES {
            return Err(Denial::syntax(format!(
                "a loop over patterns has at most {MOST_OUTLINES} words: use fewer"
            )));
        }
        if outlines.iter().any(String::is_empty) {
            return Err(Denial::syntax(
                "a loop over a pattern has no empty word: loop over it alone",
            ));
        }
        if words.iter().any(begins_with_a_dash) {
            return Err(Denial::syntax(
                "a loop over a pattern has no word with a dash in front: loop over it alone",
            ));
        }
        let mut inner = scope.clone();
        inner.is_unconditional = false;
        inner.variables.remove(&clause.variable_name);
        inner.loops.insert(clause.variable_name.clone(), outlines);
        for _ in 0..MOST_PASSES {
            let before = inner.folders.clone();
            let body = self.list(&clause.body.list, &mut inner)?;
            inner.folders.extend(before.iter().cloned());
            if inner.folders == before {
                scope.folders = before;
                // What it is afterwards depends on what matched.
                scope.variables.remove(&clause.variable_name);
                scope.loops.remove(&clause.variable_name);
                let variable = clause.variable_name.clone();
                return Ok((
                    Run::For(Loop {
                        variable,
                        words,
                        body,
                    }),
                    Folders::of(scope),
                ));
            }
        }
        Err(Denial::syntax(
            "cd in a loop leads elsewhere each time: write (cd FOLDER && COMMAND)",
        ))
    }

    /// `[[ ... ]]` by the program `test`.
    fn test(&mut self, test: &ExtendedTestExpr, scope: &Scope) -> Result<Pipeline, Denial> {
        let value = |word: &ast::Word| words::value(&word.value, scope);
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
                self.test_program(vec![predicate.to_string().as_str().into(), value(word)?])
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
                self.test_program(vec![value(left)?, operator.as_str().into(), value(right)?])
            }
        }
    }

    fn test_program(&mut self, arguments: Vec<Argument>) -> Result<Pipeline, Denial> {
        let run = self.listed("test", arguments)?;
        Ok(single(Command {
            run,
            redirections: Vec::new(),
        }))
    }
}

fn settle_all(list: Option<&ast::RedirectList>, scope: &Scope) -> Result<Vec<Redirection>, Denial> {
    let mut settled = Vec::new();
    for redirection in list.iter().flat_map(|list| &list.0) {
        settled.extend(redirections::settle(redirection, scope)?);
    }
    Ok(settled)
}

fn single(command: Command) -> Pipeline {
    Pipeline {
        negated: false,
        timed: false,
        commands: vec![command],
    }
}

fn alone(first: Pipeline) -> Statement {
    Statement {
        first,
        rest: Vec::new(),
    }
}
