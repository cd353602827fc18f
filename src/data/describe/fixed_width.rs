//! Tables of fixed width: columns of characters that are blank in every line.

use std::ops::Range;

use crate::column::cell::{Cell, Kind};

/// Lines that are judged, and the fewest that show columns: a header and rows.
const JUDGED_LINES: usize = 200;
const FEWEST_LINES: usize = 4;
/// Columns that are listed.
const MOST_COLUMNS: usize = 40;
/// Widest line, characters.
const WIDEST: usize = 2_000;

/// A remark on the columns of a text that looks like such a table, by its first part.
pub(super) fn remark(head: &str, is_cut: bool) -> Option<String> {
    let borders = borders(head, is_cut)?;
    let ends = borders[1..].iter().map(usize::to_string);
    let ends = ends.chain(std::iter::once("None".to_owned()));
    let specs: Vec<String> = borders
        .iter()
        .zip(ends)
        .map(|(start, end)| format!("({start}, {end})"))
        .collect();
    Some(format!(
        "looks like a table of fixed width with a header and {} columns, by its first lines: pandas.read_fwf(path, colspecs=[{}]) reads it",
        borders.len(),
        specs.join(", ")
    ))
}

/// Where the columns of a table begin; `None` where a text is none.
fn borders(head: &str, is_cut: bool) -> Option<Vec<usize>> {
    let mut lines: Vec<&str> = head.lines().collect();
    if is_cut {
        lines.pop();
    }
    let is_rule = |line: &&str| line.chars().all(|sign| "-=+| ".contains(sign));
    let lines: Vec<Vec<char>> = lines
        .into_iter()
        .filter(|line| !is_rule(line))
        .take(JUDGED_LINES)
        .map(|line| line.trim_end().chars().collect())
        .collect();
    let width = lines.iter().map(Vec::len).max()?;
    let has_tabs = lines.iter().flatten().any(|character| *character == '\t');
    if lines.len() < FEWEST_LINES || width > WIDEST || has_tabs {
        return None;
    }
    let fields = runs(&lines, width);
    let (header, rows) = lines.split_first()?;
    let is_table = (2..=MOST_COLUMNS).contains(&fields.len())
        && fields.iter().all(|field| names(&text(header, field)))
        && fields.iter().any(|field| is_typed(rows, field))
        && rows.iter().all(|row| is_filled(row, &fields));
    is_table.then(|| {
        let inner = fields.windows(2).map(|pair| border(rows, &pair[0], &pair[1]));
        std::iter::once(0).chain(inner).collect()
    })
}

/// Where a column begins: with its texts, which stand at the left, and on the way to numbers, which stand at the right.
fn border(rows: &[Vec<char>], before: &Range<usize>, field: &Range<usize>) -> usize {
    let are_filled = |column: usize| {
        rows.iter()
            .all(|row| row.get(column).is_some_and(|sign| *sign != ' '))
    };
    if are_filled(field.end - 1) && !are_filled(field.start) {
        before.end.midpoint(field.start)
    } else {
        field.start
    }
}

/// Columns of characters that are not blank in every line, joined where nothing separates them.
fn runs(lines: &[Vec<char>], width: usize) -> Vec<Range<usize>> {
    let is_used = |column: &usize| {
        lines
            .iter()
            .any(|line| line.get(*column).is_some_and(|sign| *sign != ' '))
    };
    let mut runs: Vec<Range<usize>> = Vec::new();
    for column in (0..width).filter(is_used) {
        match runs.last_mut() {
            Some(run) if run.end == column => run.end += 1,
            _ => runs.push(column..column + 1),
        }
    }
    runs
}

fn text(line: &[char], field: &Range<usize>) -> String {
    let end = field.end.min(line.len());
    let text: String = line
        .get(field.start.min(end)..end)
        .unwrap_or_default()
        .iter()
        .collect();
    text.trim().to_owned()
}

/// A name of a column, and no sentence.
fn names(text: &str) -> bool {
    matches!(Cell::of(text).kind(), Some(Kind::Text)) && text.split_whitespace().count() <= 3
}

/// Whether the values of a column are numbers or dates.
fn is_typed(rows: &[Vec<char>], field: &Range<usize>) -> bool {
    let kinds: Vec<_> = rows
        .iter()
        .filter_map(|row| Cell::of(&text(row, field)).kind())
        .collect();
    kinds.len() * 2 > rows.len() && !kinds.contains(&Kind::Text)
}

/// Whether a line has a value in half of the columns, and in each no more words than a value has.
fn is_filled(row: &[char], fields: &[Range<usize>]) -> bool {
    let texts: Vec<String> = fields.iter().map(|field| text(row, field)).collect();
    let filled = texts.iter().filter(|text| !text.is_empty()).count();
    filled * 2 >= fields.len() && texts.iter().all(|text| text.split_whitespace().count() <= 5)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::left_and_right(
        "id   city           price\n1    Koeln           2.50\n12   Bad Homburg    12.00\n345  Bonn            1.25\n",
        Some("[(0, 5), (5, 18), (18, None)]")
    )]
    #[case::with_a_rule(
        "n  day\n-- ----------\n1  2026-01-01\n2  2026-01-02\n3  2026-01-03\n",
        Some("[(0, 3), (3, None)]")
    )]
    #[case::prose("This is a text\nof several lines\nthat stand in a\nnarrow column.\n", None)]
    #[case::a_log(
        "12:00:01 INFO  started\n12:00:02 WARN  slow\n12:00:03 INFO  done\n12:00:04 INFO  end\n",
        None
    )]
    #[case::words("red   apple\ngreen pear\nblue  plum\nblack fig\n", None)]
    #[case::too_few("id city\n1  Bonn\n", None)]
    fn columns_of_blanks_are_found(#[case] text: &str, #[case] expected: Option<&str>) {
        let found = remark(text, false);
        match expected {
            Some(specs) => assert!(
                found.as_ref().is_some_and(|found| found.contains(specs)),
                "{found:?}"
            ),
            None => assert_eq!(found, None),
        }
    }
}
