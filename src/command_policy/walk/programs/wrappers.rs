//! Commands before a command: `timeout`, `env`, `nice`, `nohup`, `stdbuf`, `command`.

use super::Call;
use crate::denial::Denial;
use crate::scope::Scope;
use crate::script::{Argument, Run};
use crate::walk::Walk;

impl Walk<'_> {
    pub(super) fn wrapper(&mut self, call: Call<'_>, scope: &Scope) -> Result<Run, Denial> {
        match call.name {
            "timeout" => self.timeout(call, scope),
            "env" => self.env(call, scope),
            "command" => match call.arguments.first().and_then(Argument::text) {
                Some("-v") => self.inner("which", call, 1, scope),
                _ => self.plain(call, 0, scope),
            },
            // What they change is nothing that can be seen here.
            "nice" => {
                let skipped = match call.arguments.first().and_then(Argument::text) {
                    Some("-n") => 2,
                    Some(text) if text.starts_with('-') => 1,
                    _ => 0,
                };
                self.plain(call, skipped, scope)
            }
            "stdbuf" => {
                let options = call.arguments.iter().take_while(|argument| {
                    let text = argument.text().unwrap_or_default();
                    text.len() > 2 && ["-o", "-e", "-i"].iter().any(|option| text.starts_with(option))
                });
                let skipped = options.count();
                self.plain(call, skipped, scope)
            }
            _ => self.plain(call, 0, scope),
        }
    }

    /// The command that stands after so many arguments.
    fn plain(&mut self, call: Call<'_>, skipped: usize, scope: &Scope) -> Result<Run, Denial> {
        let wrapper = call.name;
        let name = call.arguments.get(skipped).and_then(Argument::text);
        let name = name
            .filter(|name| !name.starts_with('-') && !name.is_empty())
            .map(str::to_owned);
        let name = name.ok_or_else(|| {
            Denial::new(
                "wrappers",
                format!("{wrapper} is run with a command after it, and simple options: leave {wrapper} out"),
            )
        })?;
        self.inner(&name, call, skipped + 1, scope)
    }

    fn inner(&mut self, name: &str, call: Call<'_>, skipped: usize, scope: &Scope) -> Result<Run, Denial> {
        let mut arguments = call.arguments;
        let arguments = arguments.split_off(skipped.min(arguments.len()));
        self.call(name, arguments, call.environment, call.redirections, scope)
    }

    fn env(&mut self, mut call: Call<'_>, scope: &Scope) -> Result<Run, Denial> {
        let mut skipped = 0;
        while let Some(text) = call.arguments.get(skipped).and_then(Argument::text) {
            let Some((name, value)) = text.split_once('=') else {
                break;
            };
            self.check_variable(name)?;
            call.environment.push((name.to_owned(), value.into()));
            skipped += 1;
        }
        if call.arguments.len() == skipped {
            return Err(Denial::new(
                "variables",
                "env does not print: variables may hold secrets of the task; write NAME=VALUE before a command",
            ));
        }
        self.plain(call, skipped, scope)
    }

    fn timeout(&mut self, call: Call<'_>, scope: &Scope) -> Result<Run, Denial> {
        let mut skipped = 0;
        loop {
            skipped += match call.arguments.get(skipped).and_then(Argument::text) {
                Some("-k" | "-s" | "--kill-after" | "--signal") => 2,
                Some("--foreground" | "-v" | "--verbose") => 1,
                Some(text) if text.starts_with("--kill-after=") || text.starts_with("--signal=") => 1,
                Some(text) if text.len() > 2 && (text.starts_with("-k") || text.starts_with("-s")) => 1,
                _ => break,
            };
        }
        let duration = call
            .arguments
            .get(skipped)
            .and_then(Argument::text)
            .and_then(milliseconds);
        let duration =
            duration.ok_or_else(|| Denial::new("wrappers", "timeout is run as timeout SECONDS COMMAND"))?;
        match self.plain(call, skipped + 1, scope)? {
            Run::Program(mut program) => {
                let shorter = program.timeout.map_or(duration, |inner| inner.min(duration));
                program.timeout = Some(shorter);
                Ok(Run::Program(program))
            }
            _ => Err(Denial::new(
                "wrappers",
                "timeout is run with a program alone: write it before each program",
            )),
        }
    }
}

fn milliseconds(text: &str) -> Option<u64> {
    let (number, factor) = match text.chars().last()? {
        's' => (&text[..text.len() - 1], 1_000.0),
        'm' => (&text[..text.len() - 1], 60_000.0),
        'h' => (&text[..text.len() - 1], 3_600_000.0),
        _ => (text, 1_000.0),
    };
    if !number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    let milliseconds = number.parse::<f64>().ok()? * factor;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "digits alone, and a cast saturates"
    )]
    let whole = milliseconds as u64;
    Some(whole.clamp(1, 86_400_000))
}
