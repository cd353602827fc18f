//! What is required of arguments when they are filled in: no value becomes an option, and nothing is written through a link that leads elsewhere.

use crate::denial::Denial;
use crate::scope::Scope;
use crate::script::{Argument, Check, Requirement};

/// The checks of a program that reads options. Of what is not settled each argument is an operand at least.
pub(super) fn of(
    program: &str,
    arguments: &[Argument],
    required: &[(&Argument, Requirement)],
    scope: &Scope,
) -> Result<Vec<Check>, Denial> {
    let mut checks = Vec::new();
    for (index, argument) in arguments.iter().enumerate() {
        let found = required.iter().find(|(one, _)| std::ptr::eq(*one, argument));
        if !scope.is_unknown(argument) {
            // Its form is judged; where a link on the way leads to is looked at before the program starts.
            checks.extend(found.map(|(_, requirement)| Check {
                argument: index,
                is: *requirement,
            }));
            continue;
        }
        if argument.begins_with_output() {
            return Err(Denial::syntax(format!(
                "what $(...) prints could be an option of {program}: write NAME=$(...) before, and \"$NAME\" here"
            )));
        }
        checks.push(Check {
            argument: index,
            is: found.map_or(Requirement::Operand, |(_, requirement)| *requirement),
        });
    }
    Ok(checks)
}
