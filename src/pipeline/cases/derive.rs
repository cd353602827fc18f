//! Cases that follow from others: inputs that are written otherwise, from which the same must come.

use fastrand::Rng;

use crate::api::case::{Case, Check, Expectation};
use crate::pipeline::task::Task;

use super::compare::Shape;
use super::form::{CaseFile, Forms, TableForm};
use super::{CaseSet, Invariant, check, choice, form};

/// Letters of the name of a further column, and characters of its cells at most.
const FURTHER: usize = 9;

/// Cases that follow from `case` by what the plan says may change; one without CSV or TSV in its inputs has none.
pub(super) fn derived(task: &Task, set: &CaseSet, case: &Case) -> Vec<(Invariant, Case)> {
    set.invariants
        .iter()
        .filter_map(|invariant| Some((*invariant, changed(task, &set.forms, case, *invariant)?)))
        .collect()
}

fn changed(task: &Task, forms: &Forms, case: &Case, invariant: Invariant) -> Option<Case> {
    let mut next = case.clone();
    let mut is_changed = false;
    let mut draw = choice::draw(case);
    for given in &mut next.inputs {
        let (name, _) = form::split(&given.name);
        let input = task.inputs.iter().find(|input| input.name == name);
        let table = input
            .and_then(|input| CaseFile::of(task, forms, input, given))
            .and_then(|file| file.table);
        if let Some(table) = table
            && let Some(text) = in_another_form(&given.value, table, invariant, &mut draw)
        {
            given.value = text;
            is_changed = true;
        }
    }
    if !is_changed {
        return None;
    }
    next.about = match invariant {
        Invariant::RowOrder => format!("{} (rows in another order)", case.about),
        Invariant::ColumnOrder => format!("{} (columns in another order)", case.about),
        Invariant::ExtraColumn => format!("{} (with a further column)", case.about),
    };
    if invariant == Invariant::RowOrder {
        // Where nothing orders the results, they may follow the order of the inputs.
        for expectation in &mut next.expect {
            loosen(task, expectation);
        }
    }
    Some(next)
}

/// Equal tables become tables of equal rows.
fn loosen(task: &Task, expectation: &mut Expectation) {
    let is_table = matches!(
        check::shape(task, expectation),
        Some(Shape::Table(_) | Shape::Json | Shape::JsonLines)
    );
    if is_table && expectation.check == Check::Equals && expectation.at.is_empty() {
        expectation.check = Check::SameRows;
    }
}

/// A table written otherwise, every cell and line end as it was; `None` for what is no table of at least two columns.
fn in_another_form(text: &str, form: TableForm, invariant: Invariant, draw: &mut Rng) -> Option<String> {
    // The mark stays at the start: the header is the first record behind it.
    let (mark, body) = match text.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", text),
    };
    let delimiter = delimiter(body, form)?;
    let mut records = records(body, delimiter)?;
    let ends: Vec<String> = records.iter().map(|record| record.end.clone()).collect();
    let first = usize::from(form.has_header);
    match invariant {
        Invariant::RowOrder => {
            let rows = records.split_off(first.min(records.len()));
            records.extend(
                another_order(rows.len(), draw)
                    .into_iter()
                    .filter_map(|place| rows.get(place).cloned()),
            );
        }
        // Without names a column is known by its place.
        Invariant::ColumnOrder | Invariant::ExtraColumn if !form.has_header => return None,
        Invariant::ColumnOrder => {
            let order = another_order(records.first()?.cells.len(), draw);
            for record in &mut records {
                record.cells = order
                    .iter()
                    .filter_map(|place| record.cells.get(*place).cloned())
                    .collect();
            }
        }
        Invariant::ExtraColumn => add_column(&mut records, draw)?,
    }
    // The last line may have no end, whichever it is.
    let lines = records
        .iter()
        .zip(ends)
        .map(|(record, end)| record.cells.join(&delimiter.to_string()) + &end);
    let other = mark.to_owned() + &lines.collect::<String>();
    // A table of one row, or of equal rows, is the same in any order.
    (other != text).then_some(other)
}

/// What separates the fields of a text: what separates those of its sample, if the first line has it.
fn delimiter(text: &str, form: TableForm) -> Option<char> {
    let first = text.lines().next()?;
    [form.delimiter, ',', ';', '\t', '|']
        .into_iter()
        .find(|delimiter| first.contains(*delimiter))
}

/// The places of so many things in an order that is not theirs, where there is one.
fn another_order(count: usize, draw: &mut Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    draw.shuffle(&mut order);
    if order.is_sorted() {
        order.rotate_left(usize::from(count > 1));
    }
    order
}

fn add_column(records: &mut [Record], draw: &mut Rng) -> Option<()> {
    let header = records.first()?.cells.clone();
    // Quoted like the other names, so that the table looks written by the same hand.
    let is_quoted = header.iter().all(|cell| cell.starts_with('"'));
    let has = |name: &str| {
        header
            .iter()
            .any(|cell| unquoted(cell).trim().eq_ignore_ascii_case(name))
    };
    let mut name = String::new();
    while name.is_empty() || has(&name) {
        name = std::iter::repeat_with(|| draw.lowercase())
            .take(FURTHER)
            .collect();
    }
    let place = draw.usize(..=header.len());
    for (number, record) in records.iter_mut().enumerate() {
        let length = draw.usize(..=FURTHER);
        let cell = match number {
            0 => name.clone(),
            _ => std::iter::repeat_with(|| draw.alphanumeric())
                .take(length)
                .collect(),
        };
        let cell = if is_quoted { format!("\"{cell}\"") } else { cell };
        record.cells.insert(place.min(record.cells.len()), cell);
    }
    Some(())
}

/// A line of a table: its cells as they are written, and its end.
#[derive(Clone, Debug, Default)]
struct Record {
    cells: Vec<String>,
    end: String,
}

/// The records of a table, all of the same width, which are what a reader of CSV finds; `None` where they are not.
fn records(text: &str, delimiter: char) -> Option<Vec<Record>> {
    let split = split(text, delimiter);
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(u8::try_from(delimiter).ok()?)
        .has_headers(false)
        .from_reader(text.as_bytes());
    let read = reader.records().collect::<Result<Vec<_>, _>>().ok()?;
    // Only where our own splitting finds what a reader of CSV finds: else the rewritten table could be another one.
    let is_read = split.len() == read.len()
        && split.iter().zip(&read).all(|(record, fields)| {
            record.cells.len() == fields.len()
                && record
                    .cells
                    .iter()
                    .zip(fields)
                    .all(|(cell, field)| unquoted(cell) == field)
        });
    (is_read && split.first()?.cells.len() > 1).then_some(split)
}

/// The cells of each line, with their quotes.
fn split(text: &str, delimiter: char) -> Vec<Record> {
    let mut records = Vec::new();
    let (mut record, mut cell, mut is_quoted) = (Record::default(), String::new(), false);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        // A quote within an unquoted cell is a character.
        if character == '"' && (cell.is_empty() || cell.starts_with('"')) {
            is_quoted = !is_quoted;
        }
        match character {
            '\r' | '\n' if !is_quoted => {
                record.cells.push(std::mem::take(&mut cell));
                record.end.push(character);
                if character == '\r' {
                    record.end.extend(characters.next_if_eq(&'\n'));
                }
                records.push(std::mem::take(&mut record));
            }
            _ if character == delimiter && !is_quoted => record.cells.push(std::mem::take(&mut cell)),
            _ => cell.push(character),
        }
    }
    if !cell.is_empty() || !record.cells.is_empty() {
        record.cells.push(cell);
        records.push(record);
    }
    records
}

fn unquoted(cell: &str) -> String {
    cell.strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .map_or_else(|| cell.to_owned(), |inner| inner.replace("\"\"", "\""))
}
