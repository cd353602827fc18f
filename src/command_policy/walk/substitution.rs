//! Commands whose output stands in a word: `$(...)` and `<(...)`, each judged as a script of its own.

use brush_parser::ast::{self, ProcessSubstitutionKind, SubshellCommand};

use super::Walk;
use crate::denial::Denial;
use crate::scope::Scope;
use crate::script::{Argument, Command, Part, Run, Statement, Target};
use crate::syntax;
use crate::words::Commands;

/// Scripts within scripts: shells and substitutions.
const DEEPEST: usize = 3;

impl Commands for Walk<'_> {
    fn substitution(&mut self, text: &str, scope: &Scope) -> Result<Vec<Statement>, Denial> {
        let program = syntax::parse(text)?;
        let mut statements = self.script(&program, scope.subshell())?;
        if let [statement] = statements.as_mut_slice()
            && let [command] = statement.first.commands.as_mut_slice()
            && statement.rest.is_empty()
            && is_file(command)
        {
            command.run = self.listed("cat", Vec::new())?;
        }
        Ok(statements)
    }
}

impl Walk<'_> {
    /// Settles a script within the script.
    pub(super) fn script(
        &mut self,
        program: &ast::Program,
        mut scope: Scope,
    ) -> Result<Vec<Statement>, Denial> {
        if self.depth == DEEPEST {
            return Err(Denial::syntax(format!(
                "more than {DEEPEST} commands lie within each other: write NAME=$(...) first, and then $NAME"
            )));
        }
        self.depth += 1;
        let mut statements = Vec::new();
        for list in &program.complete_commands {
            statements.extend(self.list(list, &mut scope)?);
        }
        self.depth -= 1;
        Ok(statements)
    }

    /// `<(...)` as an argument.
    pub(super) fn process_path(
        &mut self,
        kind: &ProcessSubstitutionKind,
        subshell: &SubshellCommand,
        scope: &Scope,
    ) -> Result<Argument, Denial> {
        let statements = self.process(kind, subshell, scope)?;
        Ok(Argument::Parts(vec![Part::Process(statements)]))
    }

    /// The commands of `<(...)`.
    pub(super) fn process(
        &mut self,
        kind: &ProcessSubstitutionKind,
        subshell: &SubshellCommand,
        scope: &Scope,
    ) -> Result<Vec<Statement>, Denial> {
        match kind {
            ProcessSubstitutionKind::Read => self.list(&subshell.list, &mut scope.subshell()),
            ProcessSubstitutionKind::Write => Err(Denial::syntax(
                ">(...) is not run: write to a file in /tmp, and read that afterwards",
            )),
        }
    }
}

/// Whether a command is `< FILE`, which prints the file within `$(...)`.
fn is_file(command: &Command) -> bool {
    let is_nothing = matches!(&command.run, Run::Assign(assigned) if assigned.is_empty());
    let reads = |to: &Target| matches!(to, Target::Read(_));
    is_nothing
        && matches!(command.redirections.as_slice(), [redirection] if redirection.stream == 0 && reads(&redirection.to))
}
