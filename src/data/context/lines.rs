//! Lines of a text.

use std::fmt::Write as _;

use crate::data::profile::TextProfile;

use super::counted;

/// At most `most` of the first lines.
pub(super) fn print_lines(text: &mut String, lines: &TextProfile, most: usize) {
    let shown: Vec<_> = lines.first_lines.iter().take(most).collect();
    if shown.is_empty() {
        return;
    }
    let _ = writeln!(text, "First {}:", counted(shown.len() as u64, "line"));
    for line in shown {
        let _ = writeln!(text, "{line}");
    }
}
