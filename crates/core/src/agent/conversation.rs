//! Content of a turn's request: everything that was said, long results cut, and old ones left out when it becomes too much.
//!
//! A function of the session alone, and of its beginning for what comes first: a request begins as the one before it did, so that the
//! provider's cache serves it.

use crate::conversation::{Conversation, Exchange, ToolResult};

use super::tools::TOOLS;

/// Most bytes of one result.
pub(super) const READ_BYTES: usize = 16 * 1024;
/// Most bytes of the line that says how much of a result is left out.
const MARKER_BYTES: usize = 80;
/// Most bytes of a conversation. What goes beyond is cut to half of it at once, for each cut makes the provider read anew.
const CONVERSATION_BYTES: usize = 300_000;
/// The newest turns, of which nothing is left out.
const NEWEST: usize = 3;

/// The conversation of a session.
#[must_use]
pub fn conversation(exchanges: &[Exchange]) -> Conversation {
    let mut shown: Vec<Exchange> = Vec::with_capacity(exchanges.len());
    let mut left_out = 0;
    for exchange in exchanges {
        shown.push(cut_results(exchange));
        // As it was decided when this turn was the newest, so that earlier requests are beginnings of later ones.
        if size(&shown) > CONVERSATION_BYTES {
            while left_out + NEWEST < shown.len() && size(&shown) > CONVERSATION_BYTES / 2 {
                if let Some(old) = shown.get_mut(left_out) {
                    leave_out(old);
                }
                left_out += 1;
            }
        }
    }
    Conversation {
        tools: TOOLS.clone(),
        exchanges: shown,
    }
}

fn size(exchanges: &[Exchange]) -> usize {
    exchanges
        .iter()
        .map(|exchange| {
            let calls: usize = exchange
                .calls
                .iter()
                .map(|call| call.input.to_string().len())
                .sum();
            let results: usize = exchange.results.iter().map(|result| result.text.len()).sum();
            exchange.text.len() + exchange.note.len() + calls + results
        })
        .sum()
}

fn cut_results(exchange: &Exchange) -> Exchange {
    let cut = |result: &ToolResult| ToolResult {
        text: cut(&result.text, READ_BYTES),
        ..result.clone()
    };
    Exchange {
        results: exchange.results.iter().map(cut).collect(),
        ..exchange.clone()
    }
}

fn leave_out(exchange: &mut Exchange) {
    for result in &mut exchange.results {
        let line = format!(
            "[{} bytes, left out to save room: call the tool again if they are needed]",
            result.text.len()
        );
        if line.len() < result.text.len() {
            result.text = line;
        }
    }
}

/// A text of at most `most` bytes: a quarter of them from its beginning and the rest from its end, where results and errors stand.
pub(super) fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let shown = most.saturating_sub(MARKER_BYTES);
    let head = floor(text, shown / 4);
    let tail = ceil(text, text.len() - (shown - shown / 4));
    let (first, rest) = text.split_at(head);
    let (middle, last) = rest.split_at(tail - head);
    let (bytes, lines) = left_out_of(middle);
    format!("{first}{BEFORE}{bytes} bytes in {lines} lines{AFTER}{last}")
}

/// Beginning and end of the line that says how much is left out; the harness writes the same.
const BEFORE: &str = "\n[... ";
const AFTER: &str = " left out ...]\n";

/// Bytes and lines of a part of a text, with what was left out of it before.
fn left_out_of(part: &str) -> (u64, u64) {
    let (mut bytes, mut lines) = (0_u64, 0_u64);
    for line in part.split_inclusive('\n') {
        let (more, count) = marked(line).unwrap_or((line.len() as u64, 1));
        bytes = bytes.saturating_add(more);
        lines = lines.saturating_add(count);
    }
    (bytes, lines)
}

/// Reads the numbers of bytes and lines that are left out from the line that stands in their place.
fn marked(line: &str) -> Option<(u64, u64)> {
    let marker = line.strip_prefix(BEFORE.trim_start())?.strip_suffix(AFTER)?;
    let (bytes, lines) = marker.strip_suffix(" lines")?.split_once(" bytes in ")?;
    Some((bytes.parse().ok()?, lines.parse().ok()?))
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn ceil(text: &str, at: usize) -> usize {
    (at..text.len())
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(text.len())
}
