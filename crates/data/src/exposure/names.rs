//! Names of columns that may be shown: a header, unless it may be a record; paths, unless a key may be a value.

use std::collections::BTreeSet;

use crate::column::cell::{Cell, ValueKind};
use crate::column::distinct::DistinctCount;
use crate::format::json::keys::ANY_KEY;
use crate::profile::{ColumnProfile, ColumnType, Layout, TableProfile};

use super::FEWEST_ROWS;

/// Values of a column from which what they have in common says that its name is none of them.
const SUFFICIENT_VALUES: u64 = 3;

/// The names of a table that may be shown.
pub(super) enum Names {
    /// All of them.
    All,
    /// None: the first record may be no header.
    Numbered,
    /// Those of these positions, and paths that lead to them.
    Paths {
        /// Positions of the columns that are named.
        positions: BTreeSet<usize>,
        /// Their paths and all that lead to them.
        paths: BTreeSet<String>,
    },
}

impl Names {
    pub(super) fn of(table: &TableProfile) -> Self {
        match &table.layout {
            // A first record that was taken for a header would show its values as names of columns.
            Layout::Delimited { header: Some(_), .. } | Layout::Sheet { header: Some(_), .. }
                if is_doubtful(&table.columns) =>
            {
                Self::Numbered
            }
            Layout::Delimited { .. }
            | Layout::Parquet { header: Some(_), .. }
            | Layout::Arrow { header: Some(_), .. }
            | Layout::Sheet { .. } => Self::All,
            // The schema names the columns; only what is no path of it can be the key of a map.
            Layout::Parquet { header: None, .. } | Layout::Arrow { header: None, .. } => {
                Self::of_columns(&table.columns, |_| true)
            }
            Layout::JsonLines | Layout::JsonArray | Layout::JsonDocument | Layout::JsonValues => {
                Self::of_columns(&table.columns, |column| {
                    // A key of JSON may be a value itself (an address, a date), and a rare one may tell of one record.
                    is_plain(&column.name) && !is_rare(column, table.records)
                })
            }
        }
    }

    fn of_columns(columns: &[ColumnProfile], is_shown: impl Fn(&ColumnProfile) -> bool) -> Self {
        let mut positions = BTreeSet::new();
        let mut paths = BTreeSet::new();
        for (position, column) in columns.iter().enumerate().filter(|(_, column)| is_shown(column)) {
            positions.insert(position);
            paths.extend(ways_to(&column.name));
        }
        Self::Paths { positions, paths }
    }

    #[cfg(test)]
    pub(super) fn of_paths(shown: &[&str]) -> Self {
        Self::Paths {
            positions: (0..shown.len()).collect(),
            paths: shown.iter().flat_map(|path| ways_to(path)).collect(),
        }
    }

    /// Returns the shown name of a column; `None` where it is not shown at all.
    pub(super) fn shown(&self, position: usize, name: &str) -> Option<String> {
        match self {
            Self::All => Some(name.to_owned()),
            Self::Numbered => Some(format!("column_{}", position + 1)),
            Self::Paths { positions, .. } => positions.contains(&position).then(|| name.to_owned()),
        }
    }

    /// Returns the shown name of the column of this name.
    pub(super) fn shown_of(&self, columns: &[ColumnProfile], name: &str) -> Option<String> {
        let position = columns.iter().position(|column| column.name == name)?;
        self.shown(position, name)
    }

    pub(super) const fn are_numbered(&self) -> bool {
        matches!(self, Self::Numbered)
    }

    /// Reports whether a key with this path may be shown.
    pub(super) fn has_path(&self, path: &str) -> bool {
        match self {
            Self::All => true,
            Self::Numbered => false,
            Self::Paths { paths, .. } => paths.contains(path),
        }
    }

    /// Reports whether a remark may name a column of this table, or a path in it.
    pub(super) fn may_name(&self, columns: &[ColumnProfile], name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Numbered => columns.iter().all(|column| column.name != name),
            Self::Paths { paths, .. } => paths.contains(name),
        }
    }

    /// Returns the remark that a reader needs about names that are not shown.
    pub(super) fn remark(&self) -> Option<String> {
        self.are_numbered().then(|| {
            "it has a header that may as well be a record, so its names are not shown: columns are called column_1, \
             column_2 and so on"
                .to_owned()
        })
    }
}

/// The path and all paths that lead to it (`a`, `a.b`, `a.b[]`, `a.b[].c`).
fn ways_to(path: &str) -> Vec<String> {
    let ends = path
        .char_indices()
        .filter(|(_, character)| matches!(character, '.' | '['));
    let mut ways: Vec<String> = ends.map(|(end, _)| path[..end].to_owned()).collect();
    ways.push(path.to_owned());
    ways
}

/// Reports whether a header may be a record: a name looks like a value, or nothing in any column sets its name apart.
fn is_doubtful(columns: &[ColumnProfile]) -> bool {
    columns.iter().any(looks_like_a_value) || !columns.iter().any(is_set_apart)
}

fn looks_like_a_value(column: &ColumnProfile) -> bool {
    let name = column.name.as_str();
    // Years name columns of many tables, and reveal nothing.
    let is_year = name.len() == 4 && (name.starts_with("19") || name.starts_with("20"));
    let is_typed = Cell::of(name).kind().is_some_and(|kind| kind != ValueKind::Text);
    (is_typed && !is_year) || column.top.iter().any(|(value, _)| value == name)
}

/// Reports whether a column's values have something in common that its name has not.
fn is_set_apart(column: &ColumnProfile) -> bool {
    // Few values have something in common by chance.
    if column.values < SUFFICIENT_VALUES || Cell::of(&column.name).kind() != Some(ValueKind::Text) {
        return false;
    }
    match column.type_ {
        ColumnType::Int | ColumnType::Float | ColumnType::Bool | ColumnType::Date | ColumnType::Datetime => {
            true
        }
        ColumnType::Text => {
            let is_category = matches!(column.distinct, DistinctCount::Exact(count)
                if count == column.top.len() as u64 && count * SUFFICIENT_VALUES <= column.values);
            let length = column.name.chars().count() as u64;
            let has_other_length = column
                .lengths
                .is_some_and(|lengths| lengths.min == lengths.max && lengths.min != length);
            let has_no_digit = !column.name.contains(|character: char| character.is_numeric());
            let has_digits = !column.patterns.is_empty()
                && !column.has_more_patterns
                && column.patterns.iter().all(|(pattern, _)| pattern.contains('9'));
            if has_no_digit && has_digits && column.values >= FEWEST_ROWS {
                return true;
            }
            is_category || (has_other_length && column.values >= FEWEST_ROWS)
        }
        ColumnType::Mixed | ColumnType::Empty => false,
    }
}

/// Reports whether every part of a path reads like a name: letters, digits and the signs that join them, no number and no date.
fn is_plain(path: &str) -> bool {
    path.split('.').all(|part| {
        let part = part.trim_end_matches("[]");
        if part == ANY_KEY {
            return true;
        }
        let letters = part.strip_prefix(['@', '$', '#']).unwrap_or(part);
        let is_name =
            |character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | ' ' | ':');
        letters.chars().all(is_name)
            && Cell::of(letters.trim())
                .kind()
                .is_none_or(|kind| kind == ValueKind::Text)
    })
}

/// Reports whether so few records have a path that its name may reveal one of them.
fn is_rare(column: &ColumnProfile, records: u64) -> bool {
    column
        .present
        .is_some_and(|present| present < FEWEST_ROWS && present * 2 < records)
}
