//! Describes a text by its lines.

use std::io::Read as _;

use crate::data::column::distinct::cut_at;
use crate::data::profile::{Content, TextProfile};
use crate::data::rows::cut_with_marker;
use crate::data::source::{Encoding, HEAD_BYTES, Scan, Source};

const SHOWN_LINES: usize = 5;
const LONGEST_SHOWN_LINE: usize = 200;

/// The first lines of a text and how many there are.
pub(super) fn text(source: &Source, encoding: Encoding, scan: &Scan) -> std::io::Result<Content> {
    let mut head = Vec::new();
    source
        .open_decoded(encoding)?
        .take(HEAD_BYTES as u64)
        .read_to_end(&mut head)?;
    let head = String::from_utf8_lossy(&head);
    let first_lines = head
        .lines()
        .take(SHOWN_LINES)
        .map(|line| shown_line(line, head.len(), scan))
        .collect();
    Ok(Content::Text(TextProfile {
        lines: scan.lines(),
        longest_line: scan.longest_line,
        first_lines,
    }))
}

/// A line of a text; of one that fills the head it is not known here how long it is.
fn shown_line(line: &str, head: usize, scan: &Scan) -> String {
    if line.len() == head && scan.longest_line > head as u64 {
        return format!("{}…[cut]", cut_at(line, LONGEST_SHOWN_LINE));
    }
    cut_with_marker(line, LONGEST_SHOWN_LINE)
}
