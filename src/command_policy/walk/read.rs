//! `read`: a line of the input, as variables of which nothing is known.

use super::Walk;
use super::simple::is_reserved;
use crate::denial::Denial;
use crate::scope::{Content, Scope};
use crate::script::{Argument, ReadCall, Run};

/// The variable of a `read` without names.
pub(super) const DEFAULT: &str = "REPLY";

impl Walk<'_> {
    /// `IFS=, read -r A B`.
    pub(super) fn read(
        &mut self,
        assigned: &[(String, Argument)],
        arguments: &[Argument],
        scope: &mut Scope,
    ) -> Result<Run, Denial> {
        self.count("builtins")?;
        let mut call = ReadCall {
            variables: Vec::new(),
            separators: None,
            end: None,
            raw: false,
        };
        for (name, value) in assigned {
            match value.text() {
                Some(separators) if name == "IFS" => call.separators = Some(separators.to_owned()),
                _ => return Err(refused()),
            }
        }
        let words: Option<Vec<&str>> = arguments.iter().map(Argument::text).collect();
        let words = words.ok_or_else(refused)?;
        let mut rest = words.as_slice();
        while let [option, after @ ..] = rest
            && option.starts_with('-')
        {
            rest = after;
            match *option {
                "-r" => call.raw = true,
                "-d" | "-rd" => {
                    let [end, after @ ..] = rest else {
                        return Err(refused());
                    };
                    call.raw |= *option == "-rd";
                    call.end = Some(end.chars().take(1).collect());
                    rest = after;
                }
                _ => return Err(refused()),
            }
        }
        call.variables = rest.iter().map(|name| (*name).to_owned()).collect();
        if call.variables.is_empty() {
            call.variables.push(DEFAULT.to_owned());
            // Without a name nothing of the line is cut off.
            call.separators = Some(String::new());
        }
        for name in &call.variables {
            self.check_name(name)?;
            self.note(name, Content::Any, scope);
        }
        Ok(Run::Read(call))
    }

    /// Whether a loop or `read` may change a variable.
    pub(super) fn check_name(&self, name: &str) -> Result<(), Denial> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_name) || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(Denial::syntax(format!(
                "{name} is no name of a variable: use letters"
            )));
        }
        if is_reserved(name) || self.rules.is_assignable(name) {
            return Err(Denial::syntax(format!(
                "a loop or read does not change {name}: use another name"
            )));
        }
        Ok(())
    }
}

fn refused() -> Denial {
    Denial::new(
        "builtins",
        "read is run as read -r NAMES, with IFS=... before it and -d where lines end otherwise: write it so, or a small Python file",
    )
}
