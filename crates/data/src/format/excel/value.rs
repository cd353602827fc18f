//! Cells of a sheet: what they hold, and their text.

use calamine::{CellErrorType, Data, ExcelDateTime};

use crate::column::cell::{Cell, ValueKind, null_spelling};

/// Whole numbers beyond this are not exact in a sheet, which stores all numbers in 64 bits with a point.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;
const SECONDS_PER_DAY: f64 = 86_400.0;

/// A cell that is not empty.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SheetCell {
    /// Its column, counted from 0.
    pub column: u32,
    /// Its text.
    pub text: String,
    held: Held,
}

/// Value that a cell holds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Held {
    Int(i64),
    Float(f64),
    Bool(bool),
    /// A date, a time or both; its text shows which.
    Moment,
    Text,
    Error(&'static str),
}

impl SheetCell {
    /// A cell; `None` where it is empty.
    pub(super) fn of(column: u32, value: Data) -> Option<Self> {
        let (held, text) = match value {
            Data::Empty => return None,
            Data::Int(value) => (Held::Int(value), value.to_string()),
            Data::Float(value) => number(value),
            Data::Bool(true) => (Held::Bool(true), "TRUE".to_owned()),
            Data::Bool(false) => (Held::Bool(false), "FALSE".to_owned()),
            Data::String(text) | Data::DurationIso(text) => (Held::Text, text),
            Data::DateTime(moment) => moment_text(moment),
            Data::DateTimeIso(text) => (Held::Moment, iso(&text)),
            Data::Error(error) => {
                let name = error_name(&error);
                (Held::Error(name), name.to_owned())
            }
        };
        (!text.is_empty()).then_some(Self { column, text, held })
    }

    /// Returns the value; formula errors and the spellings that pandas takes as missing are missing values.
    #[must_use]
    pub(crate) fn cell(&self) -> Cell<'_> {
        let text = self.text.as_str();
        match self.held {
            Held::Int(value) => Cell::Int(value),
            Held::Float(value) => Cell::Float(value),
            Held::Bool(value) => Cell::Bool(value),
            Held::Error(name) => Cell::Null(name),
            Held::Moment => match Cell::of(text) {
                cell if matches!(cell.kind(), Some(ValueKind::Date | ValueKind::Datetime)) => cell,
                _ => Cell::Text(text),
            },
            Held::Text => null_spelling(text).map_or(Cell::Text(text), Cell::Null),
        }
    }

    /// Reports whether it is a text.
    #[must_use]
    pub(crate) fn is_text(&self) -> bool {
        self.held == Held::Text
    }

    /// Reports whether it is the error that a formula gave instead of a value.
    #[must_use]
    pub(crate) const fn is_error(&self) -> bool {
        matches!(self.held, Held::Error(_))
    }
}

fn number(value: f64) -> (Held, String) {
    #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
    if value.fract() == 0.0 && value.abs() < LARGEST_EXACT {
        let value = value as i64;
        return (Held::Int(value), value.to_string());
    }
    let held = if value.is_finite() {
        Held::Float(value)
    } else {
        Held::Text
    };
    (held, value.to_string())
}

/// Dates and times by their number format: a day, a time of day (less than one day), or both; lengths of time as they are
/// in hours.
fn moment_text(moment: ExcelDateTime) -> (Held, String) {
    let value = moment.as_f64();
    if moment.is_duration() {
        return (Held::Text, duration(value));
    }
    let (year, month, day, hour, minute, second, millisecond) = moment.to_ymd_hms_milli();
    let mut clock = format!("{hour:02}:{minute:02}:{second:02}");
    if millisecond > 0 {
        clock.push_str(format!(".{millisecond:03}").trim_end_matches('0'));
    }
    if (0.0..1.0).contains(&value) {
        return (Held::Moment, clock);
    }
    let day = format!("{year:04}-{month:02}-{day:02}");
    let is_day = (hour, minute, second, millisecond) == (0, 0, 0, 0);
    (Held::Moment, if is_day { day } else { format!("{day} {clock}") })
}

fn duration(days: f64) -> String {
    let seconds = days * SECONDS_PER_DAY;
    if !seconds.is_finite() || seconds.abs() > 1e15 {
        return days.to_string();
    }
    #[expect(clippy::cast_possible_truncation, reason = "below 1e18")]
    let millis = (seconds.abs() * 1_000.0).round() as i64;
    let sign = if seconds < 0.0 { "-" } else { "" };
    let mut text = format!(
        "{sign}{}:{:02}:{:02}",
        millis / 3_600_000,
        millis / 60_000 % 60,
        millis / 1_000 % 60
    );
    if millis % 1_000 > 0 {
        text.push_str(format!(".{:03}", millis % 1_000).trim_end_matches('0'));
    }
    text
}

/// A date and time of `OpenDocument`, without the time where it is midnight.
fn iso(text: &str) -> String {
    text.strip_suffix("T00:00:00").unwrap_or(text).to_owned()
}

const fn error_name(error: &CellErrorType) -> &'static str {
    match error {
        CellErrorType::Div0 => "#DIV/0!",
        CellErrorType::NA => "#N/A",
        CellErrorType::Name => "#NAME?",
        CellErrorType::Null => "#NULL!",
        CellErrorType::Num => "#NUM!",
        CellErrorType::Ref => "#REF!",
        CellErrorType::Value => "#VALUE!",
        CellErrorType::GettingData => "#GETTING_DATA",
    }
}
