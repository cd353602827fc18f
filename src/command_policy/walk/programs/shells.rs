//! `bash -c 'COMMAND'`: a command within a command.

use super::Call;
use crate::denial::Denial;
use crate::scope::{Content, Scope};
use crate::script::Run;
use crate::syntax;
use crate::walk::Walk;

impl Walk<'_> {
    /// The command of a shell has nothing of the settings and variables of this one.
    pub(super) fn shell(&mut self, call: &Call<'_>, scope: &Scope) -> Result<Run, Denial> {
        let words: Option<Vec<&str>> = call.arguments.iter().map(|argument| argument.text()).collect();
        let command = match words.as_deref() {
            Some(["-c" | "-lc", command]) => *command,
            _ => {
                return Err(Denial::new(
                    "shells",
                    format!(
                        "{} runs no file and no input: write the commands themselves, or a small Python file",
                        call.name
                    ),
                ));
            }
        };
        if !call.environment.is_empty() && !scope.exported.is_empty() {
            return Err(Denial::new(
                "shells",
                "write the commands themselves, without a shell before them",
            ));
        }
        let program = syntax::parse(command)?;
        let mut inner = scope.inner();
        for (name, value) in &call.environment {
            let Some(value) = value.text() else {
                return Err(Denial::syntax(format!(
                    "{name} is not settled before the command runs: write its value"
                )));
            };
            inner
                .variables
                .insert(name.clone(), Content::Text(value.to_owned()));
            inner.exported.insert(name.clone(), value.to_owned());
        }
        Ok(Run::Shell(self.script(&program, inner)?))
    }
}
