//! Live progress on stderr: one line for what is done, a moving one for what runs.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use console::Term;
use indicatif::{ProgressBar, ProgressStyle};

use super::args::Color;
use super::paint::{PaintedLine, paint};
use super::render::{Rendered, render, same_again};
use super::text::{columns, count, cut, set_columns};
use codegen_engine::event::{Event, Observer};

/// Columns of what stands beside the label of the moving line.
const CLOCK_COLUMNS: usize = 8;

/// Shows events to a person. One for the whole command.
pub struct ProgressPrinter {
    bar: Mutex<Option<ProgressBar>>,
    running: Mutex<Running>,
    /// Text that it last waited for: the same again is said in a word.
    waited_for: Mutex<String>,
    is_terminal: bool,
    is_coloured: bool,
    color: Color,
}

impl ProgressPrinter {
    /// Progress on stderr.
    #[must_use]
    pub fn new(color: Color) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        if let Some(columns) = terminal_columns() {
            set_columns(columns);
        }
        Self {
            bar: Mutex::new(None),
            running: Mutex::default(),
            waited_for: Mutex::default(),
            // A dumb terminal takes no line back.
            is_terminal: is_terminal && !is_dumb(),
            is_coloured: is_coloured(color, is_terminal),
            color,
        }
    }

    /// Reports whether text on stderr is coloured.
    #[must_use]
    pub const fn colours_stderr(&self) -> bool {
        self.is_coloured
    }

    /// Reports whether text on stdout is coloured.
    #[must_use]
    pub fn colours_stdout(&self) -> bool {
        is_coloured(self.color, std::io::stdout().is_terminal())
    }

    /// Writes finished lines above the moving one.
    pub fn lines(&self, lines: &[PaintedLine]) {
        let bar = self.bar.lock().unwrap_or_else(PoisonError::into_inner);
        for line in lines {
            let text = paint(line, self.is_coloured);
            match bar.as_ref() {
                Some(bar) => bar.suspend(|| write_line(&text)),
                None => write_line(&text),
            }
        }
    }

    /// Takes the moving line away.
    pub fn stop(&self) {
        if let Some(bar) = self.bar.lock().unwrap_or_else(PoisonError::into_inner).take() {
            bar.finish_and_clear();
        }
    }

    /// Changes what the moving line says, where there is one: its clock goes on.
    pub fn update(&self, label: &str) {
        let bar = self.bar.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bar) = bar.as_ref() {
            bar.set_message(cut(label, columns() - CLOCK_COLUMNS));
        }
    }

    /// Writes the lines of an event, and shows what runs after it.
    pub(super) fn show(&self, shown: Rendered) {
        self.lines(&shown.lines);
        match shown.running {
            Some(label) => self.run(&label),
            None => self.stop(),
        }
    }

    /// Shows what runs, on a terminal.
    pub fn run(&self, label: &str) {
        if !self.is_terminal {
            return;
        }
        // A status may have written it, and it must fit the line that is drawn again and again.
        let label = cut(label, columns() - CLOCK_COLUMNS);
        let mut bar = self.bar.lock().unwrap_or_else(PoisonError::into_inner);
        if bar.as_ref().is_some_and(|bar| bar.message() == label) {
            return;
        }
        if let Some(old) = bar.take() {
            old.finish_and_clear();
        }
        let new = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}  {elapsed}") {
            new.set_style(style);
        }
        new.set_message(label);
        new.enable_steady_tick(Duration::from_millis(120));
        *bar = Some(new);
    }
}

impl Observer for ProgressPrinter {
    fn commands_start(&self, commands: usize) {
        let label = self
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .commands(commands);
        self.run(&label);
    }

    fn event(&self, event: &Event) {
        if let Event::Waiting { message, .. } = event {
            let mut last = self.waited_for.lock().unwrap_or_else(PoisonError::into_inner);
            if *last == *message {
                self.stop();
                return self.lines(&[same_again()]);
            }
            last.clone_from(message);
        }
        let Rendered { lines, running } = render(event);
        let running = self
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .after(event, running);
        self.show(Rendered { lines, running });
    }
}

/// Work that runs now. A call and a build may run at once: the end of one must not hide the other.
#[derive(Default)]
struct Running {
    call: Option<String>,
    build: Option<String>,
    other: Option<String>,
}

impl Running {
    /// Returns what the moving line says while commands of an agent run.
    fn commands(&mut self, commands: usize) -> String {
        let verb = if commands == 1 { "runs" } else { "run" };
        let label = format!("Bash: {} {verb}", count(commands as u64, "command"));
        self.other = Some(label.clone());
        label
    }

    /// Returns what the moving line says after an event, whose own label is `label`.
    fn after(&mut self, event: &Event, label: Option<String>) -> Option<String> {
        match event {
            Event::CallStarted { .. } => self.call = label,
            Event::CallFinished { .. } => self.call = None,
            Event::BuildStarted { .. } => self.build = label,
            Event::BuildFinished { .. } | Event::BuildFailed { .. } => self.build = None,
            // Its commands have ended.
            Event::AgentMoved { .. } => self.other = None,
            Event::StageEntered { .. }
            | Event::Waiting { .. }
            | Event::ApprovalAwaited(_)
            | Event::TestsFinished { .. } => {
                *self = Self {
                    other: label,
                    ..Self::default()
                };
            }
            Event::Resumed { .. }
            | Event::DataShown { .. }
            | Event::RequestChanged { .. }
            | Event::ReplyRejected { .. }
            | Event::PackageDoubtful { .. }
            | Event::ImageReplaced { .. }
            | Event::Diagnosed { .. }
            | Event::FixApplied { .. }
            | Event::Decided(_)
            | Event::Retried { .. }
            | Event::RetryRefused { .. }
            | Event::Published { .. }
            | Event::IterationFinished { .. } => {}
        }
        match (&self.call, &self.build) {
            (Some(call), Some(build)) => Some(format!("{call}; {build}")),
            (Some(one), None) | (None, Some(one)) => Some(one.clone()),
            (None, None) => self.other.clone(),
        }
    }
}

fn is_coloured(color: Color, is_terminal: bool) -> bool {
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            let is_wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
            is_terminal && is_wanted && !is_dumb()
        }
    }
}

/// Reports whether the terminal knows neither colours nor a cursor that moves.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|name| name == "dumb")
}

/// Columns of the terminal that people read: that of stderr, else that of stdout.
fn terminal_columns() -> Option<usize> {
    let terminal = [Term::stderr(), Term::stdout()].into_iter().find(Term::is_term)?;
    let (_, columns) = terminal.size_checked()?;
    Some(usize::from(columns))
}

/// A closed stderr must not end a run.
fn write_line(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use codegen_core::call::{CallKind, Usage};

    fn after(running: &mut Running, event: &Event) -> Option<String> {
        running.after(event, render(event).running)
    }

    #[test]
    fn commands_of_an_agent_are_on_the_moving_line_until_they_have_ended() {
        let mut running = Running::default();
        assert_eq!(running.commands(1), "Bash: 1 command runs");
        assert_eq!(running.commands(2), "Bash: 2 commands run");
        let step = serde_json::json!({"turn": 3, "sequence": 4, "results": []});
        let moved = Event::AgentMoved {
            turn: 3,
            step: Box::new(serde_json::from_value(step).unwrap()),
        };
        assert_eq!(after(&mut running, &moved), None);
    }

    #[test]
    fn the_end_of_a_build_does_not_hide_the_call_beside_it() {
        let mut running = Running::default();
        let (kind, sequence) = (CallKind::Tests, 3);
        let call = after(&mut running, &Event::CallStarted { kind, sequence });
        assert_eq!(call.as_deref(), Some("call 3: the model writes the tests"));
        let packages = vec!["pytest".to_owned()];
        let both = after(&mut running, &Event::BuildStarted { packages });
        assert_eq!(
            both.as_deref(),
            Some("call 3: the model writes the tests; packages: pytest")
        );
        let built = Event::BuildFinished {
            python: "3.12.4".to_owned(),
            packages: 5,
            seconds: 1.0,
            cached: false,
        };
        assert_eq!(after(&mut running, &built), call);
        let answered = Event::CallFinished {
            kind,
            sequence,
            usage: Usage::default(),
            seconds: 1.0,
            from_ledger: false,
        };
        assert_eq!(after(&mut running, &answered), None);
    }
}
