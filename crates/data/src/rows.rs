//! Representative records: chosen greedily so that each shows something new, printed as they stand in the file.

use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

use super::column::tally::Tally;
use super::column::{Column, KeyCandidate, ObservedValue};
use super::keys::{KeyHashes, RecordHash};
use super::profile::{ColumnProfile, ColumnType, Layout, PlainColumn, SampleRow, TableProfile};
use super::remark::Remark;
use crate::column::cell::Cell;
use crate::column::distinct::{EXACT_LIMIT, cut_at};
use crate::column::oddity;
use crate::format::places::LISTED_PLACES;

/// Columns that are described; further ones are counted.
pub(crate) const DESCRIBED_COLUMNS: usize = 200;
/// Columns whose values decide which records are shown.
const SUFFICIENT_COLUMNS: usize = 64;
/// Columns that count distinct values up to the full limit.
const EXACT_COLUMNS: usize = 40;
const NARROW_LIMIT: usize = 1_000;
const MOST_CANDIDATES: usize = 512;
const LONGEST_CELL: usize = 120;
const LONGEST_ROW: usize = 2_000;
/// Longest record that is copied before it is known whether it will be shown.
const LONGEST_RETAINED: usize = 64 * 1024;

/// Columns and candidate records, as records are met.
#[derive(Default)]
pub(crate) struct TableBuilder {
    columns: Vec<Column>,
    /// The columns beyond those that are described.
    further: Vec<Tally>,
    records: u64,
    traces: Vec<(usize, ObservedValue)>,
    candidates: Vec<Rc<Candidate>>,
    extremes: BTreeMap<(usize, bool), Rc<Candidate>>,
    last: Candidate,
    delimiter: Option<char>,
    decimal: Option<char>,
    keeps_rows: bool,
    keys: KeyHashes,
}

/// Columns and rows that were built of the records.
pub(crate) struct BuiltRows {
    /// The columns.
    pub columns: Vec<ColumnProfile>,
    /// The columns beyond those that are described.
    pub further: Vec<PlainColumn>,
    /// All records.
    pub records: u64,
    /// Representative records, the most informative first.
    pub rows: Vec<SampleRow>,
    /// Records equal to an earlier one, where that is known.
    pub duplicate_records: Option<u64>,
    /// Doubts about columns, one sentence each.
    pub remarks: Vec<Remark>,
}

impl BuiltRows {
    /// The table of these columns and rows.
    pub(crate) fn table(self, layout: Layout, column_count: u64) -> TableProfile {
        TableProfile {
            layout,
            records: self.records,
            longer_records: 0,
            columns: self.columns,
            further: self.further,
            column_count,
            duplicate_records: self.duplicate_records,
            rows: self.rows,
        }
    }
}

/// A record that may be shown.
#[derive(Clone, Debug, Default)]
struct Candidate {
    number: u64,
    text: String,
    traces: Vec<(usize, ObservedValue)>,
}

impl Candidate {
    fn has_value(&self) -> bool {
        self.traces.iter().any(|(_, seen)| seen.hash != 0)
    }
}

impl TableBuilder {
    /// A table without columns; `delimiter` ends cells that may have to be truncated.
    pub(crate) fn new(delimiter: Option<char>, keeps_rows: bool) -> Self {
        Self {
            delimiter,
            keeps_rows,
            ..Self::default()
        }
    }

    /// The same with a given decimal sign; otherwise it is inferred from the columns.
    pub(crate) const fn with_decimal(mut self, decimal: char) -> Self {
        self.decimal = Some(decimal);
        self
    }

    /// Adds a column; its position counts from 0.
    pub(crate) fn add_column(&mut self, name: String) -> usize {
        let position = self.columns.len();
        if position == DESCRIBED_COLUMNS {
            self.further.push(Tally::new(name));
            return position + self.further.len() - 1;
        }
        let limit = if position < EXACT_COLUMNS {
            EXACT_LIMIT
        } else {
            NARROW_LIMIT
        };
        self.columns.push(Column::new(name, limit, position as u64));
        position
    }

    /// Takes in a value of the current record.
    pub(crate) fn cell(&mut self, column: usize, cell: Cell<'_>, text: &str) {
        if let Some(further) = column.checked_sub(DESCRIBED_COLUMNS) {
            self.further[further].push(cell, text);
            return;
        }
        let seen = self.columns[column].push(self.records + 1, cell, text);
        self.keys
            .push(column, seen.hash, self.columns[column].uniqueness());
        if column < SUFFICIENT_COLUMNS && self.keeps_rows {
            self.traces.push((column, seen));
        }
    }

    /// Ends the current record, which stands in the file as `raw`.
    pub(crate) fn end_record(&mut self, raw: &str) {
        self.end_record_as(raw, RecordHash::OfValues);
    }

    /// Ends the current record; `hash` identifies it.
    pub(crate) fn end_record_as(&mut self, raw: &str, hash: RecordHash) {
        self.records += 1;
        self.keys.end_record(hash);
        if !self.keeps_rows {
            return;
        }
        self.keep_broken_rises();
        let is_new =
            self.traces.iter().any(|(_, seen)| seen.is_new) && self.candidates.len() < MOST_CANDIDATES;
        let extremes = self.current_extremes();
        if is_new || !extremes.is_empty() {
            let text = shorten(raw, self.delimiter);
            let candidate = Rc::new(Candidate {
                number: self.records,
                text,
                traces: self.traces.clone(),
            });
            for key in extremes {
                self.extremes.insert(key, Rc::clone(&candidate));
            }
            if is_new {
                self.candidates.push(candidate);
            }
        }
        self.last.number = self.records;
        self.last.text.clear();
        if raw.len() > LONGEST_RETAINED {
            self.last.text.push_str(&shorten(raw, self.delimiter));
        } else {
            self.last.text.push_str(raw);
        }
        std::mem::swap(&mut self.last.traces, &mut self.traces);
        self.traces.clear();
    }

    /// A rising column's largest value is the last record's, which is kept only when the next one does not rise.
    fn keep_broken_rises(&mut self) {
        let is_last = |column: &usize| self.columns[*column].max_record == Some(self.last.number);
        let broken = self
            .traces
            .iter()
            .filter(|(_, seen)| seen.broke_rise)
            .map(|(column, _)| *column);
        let broken: Vec<_> = broken.filter(is_last).collect();
        if broken.is_empty() {
            return;
        }
        let last = Rc::new(self.last_candidate());
        for column in broken {
            self.extremes.insert((column, true), Rc::clone(&last));
        }
    }

    fn current_extremes(&self) -> Vec<(usize, bool)> {
        let mut keys = Vec::new();
        for (column, seen) in &self.traces {
            if seen.extreme.is_min {
                keys.push((*column, false));
            }
            if seen.extreme.is_max && !self.columns[*column].is_rising() {
                keys.push((*column, true));
            }
        }
        keys
    }

    fn last_candidate(&self) -> Candidate {
        Candidate {
            text: shorten(&self.last.text, self.delimiter),
            ..self.last.clone()
        }
    }

    /// Records so far.
    pub(crate) const fn records(&self) -> u64 {
        self.records
    }

    /// The columns, and at most `most` records, the most informative first. `present` counts the records that have a column.
    pub(crate) fn finish(mut self, most: usize, present: Option<&[u64]>) -> BuiltRows {
        let rows = self.choose(most);
        let decimal = self.decimal();
        let records = self.records;
        let present_in = |position: usize| present.map(|counts| counts[position]);
        let candidates: Vec<KeyCandidate> = (0..)
            .zip(&self.columns)
            .map(|(position, column)| column.candidate(records, present_in(position)))
            .collect();
        let found = self.keys.finish(&candidates);
        let mut columns = Vec::new();
        let mut remarks = Vec::new();
        let mut oddities = Vec::new();
        for (position, column) in (0..).zip(self.columns) {
            let finished = column.finish(present_in(position), found.unique[position], decimal);
            columns.push(finished.profile);
            remarks.extend(finished.remarks);
            oddities.push(finished.oddities);
        }
        remarks.extend(mixed_decimals(&columns, self.decimal));
        let names = columns.iter().map(|column| column.name.as_str());
        let odd: Vec<_> = names.clone().zip(oddities.iter().map(Vec::as_slice)).collect();
        remarks.extend(oddity::remarks(&odd));
        remarks.extend(oddity::name_remark(names));
        BuiltRows {
            columns,
            further: self.further.into_iter().map(Tally::finish).collect(),
            records,
            rows,
            duplicate_records: found.duplicates,
            remarks,
        }
    }

    /// The decimal sign of numbers that could have either: that of the file, or the one that its columns agree on.
    fn decimal(&self) -> Option<char> {
        // The plain numbers of formats other than delimited text always have points.
        if self.delimiter.is_none() || self.decimal == Some(',') {
            return self.decimal;
        }
        let mut signs = self.columns.iter().filter_map(Column::proves_decimal);
        let first = signs.next()?;
        signs.all(|sign| sign == first).then_some(first)
    }

    fn choose(&mut self, most: usize) -> Vec<SampleRow> {
        if self.last.number > 0 {
            self.candidates.push(Rc::new(self.last_candidate()));
        }
        self.candidates.extend(self.extremes.values().cloned());
        self.candidates.sort_by_key(|candidate| candidate.number);
        self.candidates.dedup_by_key(|candidate| candidate.number);
        let features: Vec<HashSet<_>> = self
            .candidates
            .iter()
            .map(|candidate| self.features(candidate))
            .collect();
        let mut known = HashSet::new();
        let mut chosen = Vec::new();
        while chosen.len() < most {
            let gain = |position: &usize| features[*position].difference(&known).count();
            let has_value = |position: &usize| self.candidates[*position].has_value();
            // A record without any value misses one in every column, and shows less than all others.
            let rank = |position: &usize| {
                let gain = gain(position);
                (gain > 0 && has_value(position), gain)
            };
            let Some(best) = (0..features.len())
                .rev()
                .max_by_key(rank)
                .filter(|best| gain(best) > 0)
            else {
                break;
            };
            known.extend(features[best].iter().copied());
            let Candidate { number, text, .. } = &*self.candidates[best];
            chosen.push(SampleRow {
                number: *number,
                text: text.clone(),
            });
        }
        chosen
    }

    fn features(&self, candidate: &Candidate) -> HashSet<Feature> {
        let mut features = HashSet::new();
        for (position, seen) in &candidate.traces {
            let column = &self.columns[*position];
            if seen.hash == 0 {
                features.insert(Feature::Null(*position));
            } else if column.is_category() {
                features.insert(Feature::Category(*position, seen.hash));
            } else if seen.shape != 0 && column.has_patterns() {
                features.insert(Feature::Pattern(*position, seen.shape));
            }
            if column.min_record == Some(candidate.number) {
                features.insert(Feature::Min(*position));
            }
            if column.max_record == Some(candidate.number) {
                features.insert(Feature::Max(*position));
            }
        }
        if candidate.number == 1 {
            features.insert(Feature::First);
        }
        features
    }
}

/// A remark where some columns have decimal points and others decimal commas.
fn mixed_decimals(columns: &[ColumnProfile], plain: Option<char>) -> Option<Remark> {
    let sign = |column: &ColumnProfile| match &column.style {
        Some(style) => style.decimal,
        None => plain.filter(|_| column.type_ == ColumnType::Float),
    };
    let with = |wanted: char| -> Vec<&str> {
        let names = columns.iter().filter(|column| sign(column) == Some(wanted));
        names.map(|column| column.name.as_str()).collect()
    };
    let listed = |names: &[&str]| {
        let more = if names.len() > LISTED_PLACES { ", ..." } else { "" };
        format!("{}{more}", names[..names.len().min(LISTED_PLACES)].join(", "))
    };
    let (points, commas) = (with('.'), with(','));
    (!points.is_empty() && !commas.is_empty()).then(|| {
        let text = format!(
            "decimal points in {} and decimal commas in {}",
            listed(&points),
            listed(&commas)
        );
        let shown = |names: Vec<&str>| {
            names
                .into_iter()
                .take(LISTED_PLACES)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        Remark::naming(text, [shown(points), shown(commas)].concat())
    })
}

/// Something that a record shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Feature {
    /// Any record, as an example.
    First,
    /// A missing value of a column.
    Null(usize),
    /// A value of a column of few values.
    Category(usize, u64),
    /// A shape of a column of few shapes.
    Pattern(usize, u64),
    /// The smallest value of a column.
    Min(usize),
    /// The largest value of a column.
    Max(usize),
}

/// Cuts long cells, and then the whole record, with markers that say how much is missing.
pub(crate) fn shorten(raw: &str, delimiter: Option<char>) -> String {
    if raw.len() <= LONGEST_CELL {
        return raw.to_owned();
    }
    let cells = delimiter.map_or_else(|| raw.to_owned(), |delimiter| shorten_cells(raw, delimiter));
    cut_with_marker(&cells, LONGEST_ROW)
}

fn shorten_cells(raw: &str, delimiter: char) -> String {
    let mut short = String::new();
    let (mut start, mut is_quoted) = (0, false);
    for (position, character) in raw.char_indices() {
        if character == '"' {
            is_quoted = !is_quoted;
        } else if character == delimiter && !is_quoted {
            short.push_str(&cut_with_marker(&raw[start..position], LONGEST_CELL));
            short.push(delimiter);
            start = position + delimiter.len_utf8();
        }
    }
    short.push_str(&cut_with_marker(&raw[start..], LONGEST_CELL));
    short
}

/// Cuts a text to about `bytes` bytes; the marker says how many characters are missing.
pub(crate) fn cut_with_marker(text: &str, bytes: usize) -> String {
    let kept = cut_at(text, bytes);
    if kept.len() == text.len() {
        return text.to_owned();
    }
    format!("{kept}…[{} more characters]", text[kept.len()..].chars().count())
}

#[cfg(test)]
mod tests;
