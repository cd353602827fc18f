//! The commands within a command as they are written, whatever becomes of them.

use brush_parser::ast::{
    Command, CommandPrefixOrSuffixItem as Item, CompoundCommand, CompoundList, SimpleCommand,
};
use serde::Serialize;

use crate::syntax;

/// What the grammar reads of a command. Nothing of it is settled, and nothing of it is executed.
#[derive(Serialize, Debug, Clone, PartialEq, Eq, Default)]
pub struct Outline {
    /// The words of each command, with assignments and redirections, in the order of the text.
    pub commands: Vec<Vec<String>>,
}

impl Outline {
    /// Reads a command; nothing where the grammar does not.
    #[must_use]
    pub fn read(command: &str) -> Option<Self> {
        let program = syntax::parse(command).ok()?;
        let mut outline = Self::default();
        for list in &program.complete_commands {
            outline.list(list);
        }
        Some(outline)
    }

    fn list(&mut self, list: &CompoundList) {
        for item in &list.0 {
            for (_, pipeline) in &item.0 {
                for command in &pipeline.seq {
                    self.command(command);
                }
            }
        }
    }

    fn command(&mut self, command: &Command) {
        match command {
            Command::Simple(simple) => self.commands.push(words(simple)),
            Command::Compound(compound, _) => self.compound(compound),
            Command::Function(function) => self.compound(&function.body.0),
            Command::ExtendedTest(test, _) => self.commands.push(vec![test.to_string()]),
        }
    }

    fn compound(&mut self, compound: &CompoundCommand) {
        match compound {
            CompoundCommand::BraceGroup(group) => self.list(&group.list),
            CompoundCommand::Subshell(subshell) => self.list(&subshell.list),
            CompoundCommand::ForClause(clause) => self.list(&clause.body.list),
            CompoundCommand::ArithmeticForClause(clause) => self.list(&clause.body.list),
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0);
                self.list(&clause.1.list);
            }
            CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition);
                self.list(&clause.then);
                for other in clause.elses.iter().flatten() {
                    other.condition.iter().for_each(|condition| self.list(condition));
                    self.list(&other.body);
                }
            }
            CompoundCommand::CaseClause(clause) => {
                let bodies = clause.cases.iter().filter_map(|case| case.cmd.as_ref());
                bodies.for_each(|body| self.list(body));
            }
            CompoundCommand::Coprocess(coprocess) => self.command(&coprocess.body),
            CompoundCommand::Arithmetic(arithmetic) => self.commands.push(vec![arithmetic.to_string()]),
        }
    }
}

fn words(simple: &SimpleCommand) -> Vec<String> {
    let before = simple
        .prefix
        .iter()
        .flat_map(|prefix| &prefix.0)
        .map(Item::to_string);
    let name = simple.word_or_name.iter().map(ToString::to_string);
    let after = simple
        .suffix
        .iter()
        .flat_map(|suffix| &suffix.0)
        .map(Item::to_string);
    before.chain(name).chain(after).collect()
}
