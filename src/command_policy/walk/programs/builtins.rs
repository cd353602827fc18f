//! Commands that are no programs.

use super::Call;
use crate::denial::Denial;
use crate::scope::Scope;
use crate::script::{Argument, Builtin, Part, Run};
use crate::walk::Walk;

impl Walk<'_> {
    pub(super) fn builtin_call(&mut self, call: &Call<'_>, scope: &Scope) -> Result<Run, Denial> {
        // They do nothing with their arguments, which may be commands.
        let filled_in = |argument: &&Argument| argument.text().is_none();
        let filled_in: Vec<Argument> = call.arguments.iter().filter(filled_in).cloned().collect();
        let (name, arguments) = match call.name {
            "true" | ":" => (Builtin::True, filled_in),
            "false" => (Builtin::False, filled_in),
            "break" | "continue" => {
                let loops = loops_left(&call.arguments, scope)?;
                self.loops_left = self.loops_left.max(loops);
                let is_break = call.name == "break";
                let name = if is_break {
                    Builtin::Break
                } else {
                    Builtin::Continue
                };
                let count = (loops > 1).then(|| Argument::Text(loops.to_string()));
                (name, count.into_iter().collect())
            }
            "pwd" => {
                let has_others = call
                    .arguments
                    .iter()
                    .any(|argument| !matches!(argument.text(), Some("-L" | "-P")));
                if has_others {
                    return Err(Denial::new("builtins", "pwd is run without arguments"));
                }
                (Builtin::Pwd, Vec::new())
            }
            "exit" => (Builtin::Exit, status(&call.arguments)?),
            "set" => (Builtin::Set, switches(&call.arguments)?),
            name => {
                return Err(Denial::new(
                    "builtins",
                    format!("{name} is run as a command of its own: write it without env, timeout or xargs"),
                ));
            }
        };
        self.builtin(name, arguments)
    }
}

fn status(arguments: &[Argument]) -> Result<Vec<Argument>, Denial> {
    match arguments {
        [] => Ok(Vec::new()),
        [Argument::Text(text)] if text.parse::<u8>().is_ok() => Ok(arguments.to_vec()),
        [Argument::Parts(parts)] if matches!(parts.as_slice(), [part] if is_status(part)) => {
            Ok(arguments.to_vec())
        }
        _ => Err(Denial::new(
            "builtins",
            "exit is run with a number from 0 to 255 or $?",
        )),
    }
}

/// What holds a status. What is none ends with 2, as in bash.
fn is_status(part: &Part) -> bool {
    match part {
        Part::Fields(part) => is_status(part),
        part => matches!(part, Part::Status | Part::PipeStatus(_) | Part::Variable(_)),
    }
}

/// How many loops are left. They are left where they began: afterwards the script is in one of the folders that are followed.
fn loops_left(arguments: &[Argument], scope: &Scope) -> Result<usize, Denial> {
    let refused = |reason: &str| Denial::new("builtins", format!("break and continue {reason}"));
    let depth = scope.loop_folders.len();
    if depth == 0 {
        return Err(refused(
            "stand in a loop alone, not in a pipe or in parentheses: use if",
        ));
    }
    let count = match arguments {
        [] => Some(1),
        [count] => count.text().and_then(|text| text.parse::<u8>().ok()),
        _ => None,
    };
    let count = count.filter(|count| *count > 0).ok_or_else(|| {
        refused("are run without an argument, or with a number of loops that is written out: write break or break 2")
    })?;
    // Where there are fewer loops, bash leaves all.
    let loops = depth.min(count.into());
    if !scope.folders.is_subset(&scope.loop_folders[depth - loops]) {
        return Err(refused(
            "are not run after cd: use if, and (cd FOLDER && COMMAND)",
        ));
    }
    Ok(loops)
}

/// `-e`, `-u`, `-o pipefail` and their opposites, as single switches.
fn switches(arguments: &[Argument]) -> Result<Vec<Argument>, Denial> {
    let refused = || {
        Denial::new(
            "builtins",
            "set is run with -e, -u and -o pipefail alone: print what you want to see with echo",
        )
    };
    let mut switches = Vec::new();
    let mut rest = arguments.iter().map(Argument::text);
    while let Some(argument) = rest.next() {
        let argument = argument.ok_or_else(refused)?;
        let mut letters = argument.chars();
        let sign = letters
            .next()
            .filter(|sign| matches!(sign, '-' | '+'))
            .ok_or_else(refused)?;
        if letters.as_str().is_empty() {
            return Err(refused());
        }
        for letter in letters {
            let name = match letter {
                'e' => Some("errexit"),
                'o' => rest.next().flatten(),
                'u' => Some("nounset"),
                _ => None,
            };
            match name {
                // Variables that are not set are denied anyway.
                Some("nounset") => {}
                Some(name @ ("errexit" | "pipefail")) => {
                    switches.push(Argument::Text(format!("{sign}{name}")));
                }
                _ => return Err(refused()),
            }
        }
    }
    Ok(switches)
}
