//! Columns on which samples may be joined, one line each.

use crate::joins::{JoinProfile, JoinSide};
use crate::rows::cut_with_marker;

use super::put;

const LONGEST_NAME: usize = 80;

/// A line for each join, after a blank line.
pub(super) fn print_joins(text: &mut String, joins: &[JoinProfile]) {
    if !joins.is_empty() {
        text.push('\n');
    }
    for join in joins {
        let about = if join.is_estimated { "≈" } else { "" };
        let (left, right) = (&join.left, &join.right);
        let mut facts = Vec::new();
        if right.is_unique {
            facts.push("unique".to_owned());
        }
        if right.found < right.distinct || !right.is_unique {
            facts.push(format!("{about}{} of {about}{}", right.found, right.distinct));
        }
        put(
            text,
            format_args!(
                "Join: {} ({about}{} of {about}{} distinct values) -> {} ({})",
                name(left),
                left.found,
                left.distinct,
                name(right),
                facts.join(", ")
            ),
        );
    }
}

fn name(side: &JoinSide) -> String {
    let column = cut_with_marker(&side.column, LONGEST_NAME);
    match &side.sheet {
        Some(sheet) => format!("{}[{sheet:?}].{column}", side.sample),
        None => format!("{}.{column}", side.sample),
    }
}
