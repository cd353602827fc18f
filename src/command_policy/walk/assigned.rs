//! Which variables a list of commands may change, whatever of it runs.

use std::collections::BTreeSet;

use brush_parser::ast::{
    AssignmentName, Command, CommandPrefixOrSuffixItem as Item, CompoundCommand, CompoundList, SimpleCommand,
};

/// What loops need to know of their body before it is settled.
#[derive(Debug, Default)]
pub(super) struct Body {
    /// The variables that it may assign.
    pub(super) assigned: BTreeSet<String>,
    /// Whether it may leave a pass before its end.
    pub(super) leaves: bool,
}

impl Body {
    pub(super) fn read(lists: &[&CompoundList]) -> Self {
        let mut body = Self::default();
        lists.iter().for_each(|list| body.list(list));
        body
    }

    fn list(&mut self, list: &CompoundList) {
        for item in &list.0 {
            for (_, pipeline) in &item.0 {
                pipeline.seq.iter().for_each(|command| self.command(command));
            }
        }
    }

    fn command(&mut self, command: &Command) {
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Compound(compound, _) => self.compound(compound),
            // They are not run, and assign nothing.
            Command::Function(_) | Command::ExtendedTest(..) => {}
        }
    }

    fn simple(&mut self, simple: &SimpleCommand) {
        let Some(name) = &simple.word_or_name else {
            for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
                if let Item::AssignmentWord(assignment, _) = item
                    && let AssignmentName::VariableName(name) = &assignment.name
                {
                    self.assigned.insert(name.clone());
                }
            }
            return;
        };
        let words = simple.suffix.iter().flat_map(|suffix| &suffix.0);
        let words = words.filter_map(|item| match item {
            Item::Word(word) | Item::AssignmentWord(_, word) => Some(&word.value),
            _ => None,
        });
        match name.value.as_str() {
            // Names are written out, or `read` is denied; `export` sets what is settled.
            "read" => {
                self.assigned.insert(super::read::DEFAULT.to_owned());
                self.assigned.extend(words.cloned());
            }
            "break" | "continue" => self.leaves = true,
            _ => {}
        }
    }

    fn compound(&mut self, compound: &CompoundCommand) {
        match compound {
            CompoundCommand::BraceGroup(group) => self.list(&group.list),
            CompoundCommand::Subshell(subshell) => self.list(&subshell.list),
            CompoundCommand::ForClause(clause) => {
                self.assigned.insert(clause.variable_name.clone());
                self.list(&clause.body.list);
            }
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
            // They are not run.
            CompoundCommand::Coprocess(_)
            | CompoundCommand::Arithmetic(_)
            | CompoundCommand::ArithmeticForClause(_) => {}
        }
    }
}
