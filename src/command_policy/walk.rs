//! From the tree of the grammar to what is executed: every node is settled, or the command is denied.

mod cases;
mod compound;
mod folders;
mod loops;
mod programs;
mod read;
mod redirections;
mod simple;
mod substitution;

use std::collections::BTreeSet;

use brush_parser::ast::{self, AndOr, SeparatorOperator};

use crate::denial::Denial;
use crate::rules::{RefusingRule, Rules};
use crate::scope::{Content, Scope};
use crate::script::{After, Next, Pipeline, Script, Statement};
use folders::Folders;

/// Commands of a script, loops over literals counted for each literal.
const MOST_COMMANDS: usize = 500;

/// A walk over one command.
pub(crate) struct Walk<'r> {
    rules: &'r Rules,
    /// The rules under which parts run, in order.
    pub(crate) used: Vec<String>,
    /// The rule that takes the command, and its reason.
    pub(crate) intercepted: Option<(String, String)>,
    /// How many parts ask for the tests.
    interceptions: usize,
    commands: usize,
    /// How many scripts within scripts this is in.
    depth: usize,
    /// The variables that the loop around what is settled has assigned, and how many loops are left before their end.
    assigned: BTreeSet<String>,
    loops_left: usize,
}

impl<'r> Walk<'r> {
    pub(crate) fn new(rules: &'r Rules) -> Self {
        Self {
            rules,
            used: Vec::new(),
            intercepted: None,
            interceptions: 0,
            commands: 0,
            depth: 0,
            assigned: BTreeSet::new(),
            loops_left: 0,
        }
    }

    /// Settles a whole command.
    pub(crate) fn program(&mut self, program: &ast::Program) -> Result<Script, Denial> {
        let mut scope = Scope::new();
        let mut statements = Vec::new();
        for list in &program.complete_commands {
            statements.extend(self.list(list, &mut scope)?);
        }
        if statements.is_empty() {
            return Err(Denial::syntax("there is no command, only a comment"));
        }
        Ok(Script { statements })
    }

    /// Settles statements that follow each other. The scope is afterwards what follows would find.
    fn list(&mut self, list: &ast::CompoundList, scope: &mut Scope) -> Result<Vec<Statement>, Denial> {
        let mut statements = Vec::new();
        for ast::CompoundListItem(and_or, separator) in &list.0 {
            if matches!(separator, SeparatorOperator::Async) {
                return Err(Denial::syntax(
                    "a command is not run in the background with &: run it without, with timeout SECONDS before it where it may take long",
                ));
            }
            let (statement, after) = self.and_or(and_or, scope)?;
            scope.folders = after.any();
            if scope.is_lost() {
                return Err(Denial::syntax(
                    "too many cd commands: write paths that begin with /sandbox",
                ));
            }
            statements.push(statement);
        }
        Ok(statements)
    }

    fn and_or(&mut self, list: &ast::AndOrList, scope: &mut Scope) -> Result<(Statement, Folders), Denial> {
        let was_unconditional = scope.is_unconditional;
        let (first, mut folders) = self.pipeline(&list.first, scope)?;
        let mut only_assigns = assigns(&list.first);
        let mut rest = Vec::new();
        for next in &list.additional {
            let (after, pipeline) = match next {
                AndOr::And(pipeline) => (After::Success, pipeline),
                AndOr::Or(pipeline) => (After::Failure, pipeline),
            };
            scope.folders = folders.at(after);
            // An assignment succeeds, so what follows it with && runs as surely.
            scope.is_unconditional &= only_assigns && after == After::Success;
            only_assigns &= assigns(pipeline);
            let before = scope.clone();
            let (pipeline, then) = self.pipeline(pipeline, scope)?;
            if !scope.is_unconditional {
                scope.join(before);
            }
            folders = folders.then(after, then);
            rest.push(Next { after, pipeline });
        }
        scope.is_unconditional = was_unconditional;
        Ok((Statement { first, rest }, folders))
    }

    fn pipeline(
        &mut self,
        pipeline: &ast::Pipeline,
        scope: &mut Scope,
    ) -> Result<(Pipeline, Folders), Denial> {
        if pipeline
            .timed
            .as_ref()
            .is_some_and(ast::PipelineTimed::is_posix_output)
        {
            return Err(Denial::syntax("time is run without options: write time COMMAND"));
        }
        let mut commands = Vec::new();
        let mut folders = Folders::of(scope);
        if let [single] = pipeline.seq.as_slice() {
            let (command, after) = self.command(single, scope)?;
            commands.push(command);
            folders = after;
        } else {
            for part in &pipeline.seq {
                // Each part of a pipeline is a subshell.
                commands.push(self.command(part, &mut scope.subshell())?.0);
            }
        }
        if commands.is_empty() {
            return Err(Denial::syntax("time and ! stand before a command: write one"));
        }
        if pipeline.bang {
            folders = folders.negated();
        }
        let settled = Pipeline {
            negated: pipeline.bang,
            timed: pipeline.timed.is_some(),
            commands,
        };
        Ok((settled, folders))
    }

    /// The rules that decided; what runs nothing is the shell's own matter.
    pub(crate) fn rules_used(&self) -> String {
        if self.used.is_empty() {
            return "builtins".to_owned();
        }
        self.used.join(", ")
    }

    /// Counts a command and notes the rule under which it runs.
    fn count(&mut self, rule: &str) -> Result<(), Denial> {
        self.commands += 1;
        if self.commands > MOST_COMMANDS {
            return Err(Denial::syntax(format!(
                "it is more than {MOST_COMMANDS} commands: write a small Python file"
            )));
        }
        if !self.used.iter().any(|used| used == rule) {
            self.used.push(rule.to_owned());
        }
        Ok(())
    }

    /// Notes what a variable becomes.
    fn note(&mut self, name: &str, known: Content, scope: &mut Scope) {
        self.assigned.insert(name.to_owned());
        scope.variables.insert(name.to_owned(), known);
    }

    fn intercept(&mut self, rule: &RefusingRule) {
        self.interceptions += 1;
        self.intercepted
            .get_or_insert_with(|| (rule.rule.clone(), rule.reason.clone()));
    }
}

/// Whether a pipeline does nothing but assign variables, and succeeds: the status of one with `$(...)` is that of its commands.
fn assigns(pipeline: &ast::Pipeline) -> bool {
    let [ast::Command::Simple(simple)] = pipeline.seq.as_slice() else {
        return false;
    };
    let items = simple.prefix.iter().flat_map(|prefix| &prefix.0);
    let mut items = items.map(|item| match item {
        ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) => {
            matches!(&assignment.value, ast::AssignmentValue::Scalar(word) if !word.value.contains('$'))
        }
        _ => false,
    });
    !pipeline.bang && simple.word_or_name.is_none() && items.all(|is_assignment| is_assignment)
}
