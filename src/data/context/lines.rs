//! Lines of a text.

use std::fmt::Write as _;

use crate::data::profile::TextProfile;

use super::rows::masking;
use super::{Detail, counted};

/// Some of the first lines.
pub(super) fn print_lines(text: &mut String, lines: &TextProfile, detail: Detail) {
    let shown: Vec<_> = lines.first_lines.iter().take(detail.rows).collect();
    if shown.is_empty() {
        return;
    }
    let first = counted(shown.len() as u64, "line");
    let _ = writeln!(text, "First {first}{}:", masking(detail.exposure));
    for line in shown {
        let _ = writeln!(text, "{line}");
    }
}
