//! Live progress on stderr: one line for what is done, a moving one for what runs.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::args::Color;
use super::paint::{Line, paint};
use super::render::{Rendered, render, same_again};
use crate::engine::event::{Event, Observer};

/// Shows events to a person. One for the whole command.
pub struct Progress {
    bar: Mutex<Option<ProgressBar>>,
    /// What it last waited for: the same again is said in a word.
    waited_for: Mutex<String>,
    is_terminal: bool,
    is_coloured: bool,
    color: Color,
}

impl Progress {
    /// Progress on stderr.
    #[must_use]
    pub fn new(color: Color) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        Self {
            bar: Mutex::new(None),
            waited_for: Mutex::default(),
            is_terminal,
            is_coloured: is_coloured(color, is_terminal),
            color,
        }
    }

    /// Whether text on stdout is coloured.
    #[must_use]
    pub fn colours_stdout(&self) -> bool {
        is_coloured(self.color, std::io::stdout().is_terminal())
    }

    /// Writes finished lines above the moving one.
    pub fn lines(&self, lines: &[Line]) {
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

    fn run(&self, label: String) {
        if !self.is_terminal {
            return;
        }
        let mut bar = self.bar.lock().unwrap_or_else(PoisonError::into_inner);
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

impl Observer for Progress {
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
        if let Some(label) = running {
            self.run(label);
        } else if !lines.is_empty() {
            self.stop();
        }
        self.lines(&lines);
    }
}

fn is_coloured(color: Color, is_terminal: bool) -> bool {
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    }
}

/// A closed stderr must not end a run.
fn write_line(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
