//! Text that a program prints, up to a bound.

use std::borrow::Cow;

use monty_types::{MontyException, PrintWriterCallback};

/// The first bytes that were printed, and how many came after them.
#[derive(Debug)]
pub(crate) struct Printed {
    text: String,
    most: usize,
    cut: usize,
}

impl Printed {
    pub(crate) fn new(most: u64) -> Self {
        Self {
            text: String::new(),
            most: usize::try_from(most).unwrap_or(usize::MAX),
            cut: 0,
        }
    }

    /// The text, with a note where it was cut.
    pub(crate) fn into_text(mut self) -> String {
        if self.cut > 0 {
            let note = format!("\n[{} more bytes were printed and are not shown]", self.cut);
            self.text.push_str(&note);
        }
        self.text
    }

    fn push(&mut self, output: &str) {
        // What comes after a gap would read as if nothing were missing.
        let room = if self.cut > 0 {
            0
        } else {
            self.most - self.text.len()
        };
        let end = output.floor_char_boundary(room);
        self.text.push_str(&output[..end]);
        self.cut += output.len() - end;
    }
}

impl PrintWriterCallback for Printed {
    fn stdout_write(&mut self, output: Cow<'_, str>) -> Result<(), MontyException> {
        self.push(&output);
        Ok(())
    }

    fn stdout_push(&mut self, end: char) -> Result<(), MontyException> {
        self.push(end.encode_utf8(&mut [0; 4]));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_past_the_bound_is_counted_and_no_character_is_split() {
        let mut printed = Printed::new(4);
        for part in ["abc", "éé", "x"] {
            printed.push(part);
        }
        assert_eq!(
            printed.into_text(),
            "abc\n[5 more bytes were printed and are not shown]"
        );
    }
}
