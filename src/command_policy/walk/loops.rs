//! Loops. Of what their body assigns nothing is known where it runs more than once.

use brush_parser::ast;

use super::Walk;
use super::compound::{alone, single};
use super::folders::Folders;
use crate::denial::Denial;
use crate::scope::{Content, MOST_OUTLINES, Scope};
use crate::script::{Argument, Command, Loop, Run, WhileLoop};
use crate::words;

/// Passes over a loop until the folders that it may be in are found.
const MOST_PASSES: usize = 4;

impl Walk<'_> {
    pub(super) fn for_loop(
        &mut self,
        clause: &ast::ForClauseCommand,
        scope: &mut Scope,
    ) -> Result<(Run, Folders), Denial> {
        self.check_name(&clause.variable_name)?;
        let Some(values) = &clause.values else {
            return Err(Denial::syntax(
                "a loop without words is not run: write for NAME in WORDS",
            ));
        };
        let mut words = Vec::new();
        for value in values {
            words.extend(words::arguments(&value.value, scope, self)?);
        }
        if words.iter().all(|word| word.text().is_some()) {
            let left_outside = std::mem::take(&mut self.loops_left);
            let mut after = scope.clone();
            let settled = self.over_literals(clause, &words, &mut after)?;
            if std::mem::replace(&mut self.loops_left, left_outside) == 0 {
                *scope = after;
                return Ok(settled);
            }
        }
        let known = content_of_all(&words, scope)?;
        let variable = clause.variable_name.clone();
        let body = self.repeated(scope, |walk, inner| {
            walk.note(&variable, known.clone(), inner);
            walk.list(&clause.body.list, inner)
        })?;
        let run = Run::For(Loop {
            variable,
            words,
            body,
        });
        Ok((run, Folders::of(scope)))
    }

    /// A loop over literals is its body for each of them.
    fn over_literals(
        &mut self,
        clause: &ast::ForClauseCommand,
        literals: &[Argument],
        scope: &mut Scope,
    ) -> Result<(Run, Folders), Denial> {
        let variable = &clause.variable_name;
        let mut passes = Vec::new();
        for literal in literals {
            self.note(variable, scope.content(literal), scope);
            scope.loop_folders.push(scope.folders.clone());
            let run = Run::For(Loop {
                variable: variable.clone(),
                words: vec![literal.clone()],
                body: self.list(&clause.body.list, scope)?,
            });
            scope.loop_folders.pop();
            passes.push(alone(single(Command {
                run,
                redirections: Vec::new(),
            })));
        }
        Ok((Run::Group(passes), Folders::of(scope)))
    }

    pub(super) fn while_loop(
        &mut self,
        clause: &ast::WhileOrUntilClauseCommand,
        until: bool,
        scope: &mut Scope,
    ) -> Result<(Run, Folders), Denial> {
        let ast::WhileOrUntilClauseCommand(condition, body, _) = clause;
        let (condition, body) = self.repeated(scope, |walk, inner| {
            let condition = walk.list(condition, inner)?;
            // It ends in the folders of its condition, too.
            let between = inner.folders.clone();
            let body = walk.list(&body.list, inner)?;
            inner.folders.extend(between);
            Ok((condition, body))
        })?;
        let run = Run::While(WhileLoop {
            until,
            condition,
            body,
        });
        Ok((run, Folders::of(scope)))
    }

    /// Settles what runs any number of times: again, until the folders that it begins in and the variables that it assigns are those of
    /// before. Of these variables nothing is known at its start and afterwards.
    fn repeated<T>(
        &mut self,
        scope: &mut Scope,
        mut settle: impl FnMut(&mut Self, &mut Scope) -> Result<T, Denial>,
    ) -> Result<T, Denial> {
        let left_outside = std::mem::take(&mut self.loops_left);
        let outer = std::mem::take(&mut self.assigned);
        for _ in 0..MOST_PASSES {
            let known = self.assigned.clone();
            let mut inner = scope.clone();
            inner.is_unconditional = false;
            inner.loop_folders.push(scope.folders.clone());
            let settled = settle(self, &mut inner)?;
            let is_same = inner.folders.is_subset(&scope.folders) && self.assigned == known;
            scope.folders.extend(inner.folders);
            scope.forget(&self.assigned);
            if is_same {
                self.assigned.extend(outer);
                self.loops_left = left_outside.max(self.loops_left.saturating_sub(1));
                return Ok(settled);
            }
        }
        Err(Denial::syntax(
            "cd in a loop leads elsewhere each time: write (cd FOLDER && COMMAND)",
        ))
    }
}

/// What is known of a variable that has each of these words as its value.
fn content_of_all(words: &[Argument], scope: &Scope) -> Result<Content, Denial> {
    if words.iter().any(|word| scope.is_unknown(word)) {
        return Ok(Content::Any);
    }
    let begins_with_a_dash = |word: &Argument| !word.is_pattern() && word.beginning().0.starts_with('-');
    let outlines: Vec<String> = words.iter().flat_map(|word| scope.outlines(word)).collect();
    if outlines.len() > MOST_OUTLINES {
        return Err(Denial::syntax(format!(
            "a loop over patterns has at most {MOST_OUTLINES} words: use fewer"
        )));
    }
    let is_plain = |form: &String| !form.is_empty() && !form.starts_with('-');
    if words.iter().all(|word| word.text().is_some()) && !outlines.iter().all(is_plain) {
        return Ok(Content::Any);
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
    Ok(Content::Path(outlines))
}
