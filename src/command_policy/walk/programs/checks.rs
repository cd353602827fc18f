//! What is required of arguments that are not settled: no value becomes an option, and none a path that may not be written.

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
        if !scope.is_unknown(argument) {
            continue;
        }
        if argument.begins_with_output() {
            return Err(Denial::syntax(format!(
                "what $(...) prints could be an option of {program}: write NAME=$(...) before, and \"$NAME\" here"
            )));
        }
        let found = required.iter().find(|(one, _)| std::ptr::eq(*one, argument));
        checks.push(Check {
            argument: index,
            is: found.map_or(Requirement::Operand, |(_, requirement)| *requirement),
        });
    }
    Ok(checks)
}
