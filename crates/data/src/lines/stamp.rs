//! Timestamps as logs write them, with their format for Python's `strptime`.

use std::sync::LazyLock;

use regex::Regex;

use crate::calendar::strptime::parse;
use crate::calendar::{MICROS_PER_SECOND, micros_of_fraction};

const DAY_FIRST: &str = "%d/%m/%Y";
const MONTH_FIRST: &str = "%m/%d/%Y";
/// A date of these two, and nothing decides.
const EITHER: &str = "%m/%d/%Y or %d/%m/%Y";
/// Dates; of those that fit the first counts.
const DAYS: [&str; 15] = [
    "%Y-%m-%d",
    "%Y.%m.%d",
    "%Y/%m/%d",
    "%d-%b-%Y",
    "%d.%b.%Y",
    "%d/%b/%Y",
    "%d-%m-%Y",
    "%d.%m.%Y",
    DAY_FIRST,
    MONTH_FIRST,
    "%y/%m/%d",
    "%d %b %Y",
    "%a, %d %b %Y",
    "%a %b %d",
    "%b %d",
];

/// A date, what stands between it and a clock, a fraction of a second, a zone, a year behind them; or a date alone.
#[expect(clippy::expect_used, reason = "the pattern is a constant; a test uses it")]
static STAMP: LazyLock<Regex> = LazyLock::new(|| {
    let days = DAYS.map(pattern).join("|");
    let clock = r"[0-9]{2}:[0-9]{2}:[0-9]{2}([.,][0-9]{1,9})?";
    let zone = r"((?:Z| UTC| GMT| ?[-+][0-9]{2}:?[0-9]{2})\b)?";
    Regex::new(&format!(
        r"^(?:(?:({days})(, |T| |:))?{clock}{zone}( (?:19|2[01])[0-9]{{2}}\b)?|({days}))"
    ))
    .expect("a valid pattern")
});

/// A timestamp at the start of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Its length, bytes.
    pub length: usize,
    /// Its format in the words of `strptime` (`%Y-%m-%dT%H:%M:%S`).
    pub format: String,
    /// Its moment in microseconds, comparable with others of its format; `None` where day and month are in doubt.
    pub micros: Option<i64>,
}

/// The pattern of a date.
fn pattern(day: &str) -> String {
    // What has its year first or a comma is padded by zeros.
    let is_padded = day.starts_with("%Y") || day.contains(',');
    let (month_number, day_number) = if is_padded {
        ("[0-9]{2}", "[0-9]{2}")
    } else {
        ("[0-9]{1,2}", "[ 0-9]?[0-9]")
    };
    day.replace('.', r"\.")
        .replace("%Y", "[0-9]{4}")
        .replace("%y", "[0-9]{2}")
        .replace("%m", month_number)
        .replace("%d", day_number)
        .replace("%a", "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)")
        .replace("%b", "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)")
}

/// The timestamp with which a text starts, if it is certain to be one.
pub(crate) fn stamp(text: &str) -> Option<Stamp> {
    let found = STAMP.captures(text)?;
    let [date, between, fraction, zone, year, lone] =
        [1, 2, 3, 4, 5, 6].map(|group| found.get(group).map_or("", |part| part.as_str()));
    let written = if lone.is_empty() { date } else { lone };
    let mut fitting = DAYS.into_iter().filter(|day| parse(day, written).is_some());
    let day = if written.is_empty() { "" } else { fitting.next()? };
    let is_either = day == DAY_FIRST && fitting.any(|other| other == MONTH_FIRST);
    // Such a date is too short to be certain without a clock behind it.
    if !lone.is_empty() && ["%a", "%b", "%y"].iter().any(|short| day.starts_with(short)) {
        return None;
    }
    let has_year_behind = day.ends_with("%b %d") && !year.is_empty();
    let length = found[0].len() - if has_year_behind { 0 } else { year.len() };
    let clock = [
        if lone.is_empty() { "%H:%M:%S" } else { "" },
        match fraction.get(..1) {
            Some(".") => ".%f",
            Some(_) => ",%f",
            None => "",
        },
        match zone {
            "" | "Z" => zone,
            " UTC" | " GMT" => " %Z",
            _ if zone.starts_with(' ') => " %z",
            _ => "%z",
        },
        if has_year_behind { " %Y" } else { "" },
    ]
    .concat();
    let moment = parse(&format!("{day}{between}{clock}"), &text[..length])?;
    let shown = if is_either { EITHER } else { day };
    // The sign before a fraction and six digits.
    let more = if fraction.len() > 7 {
        " with more than 6 digits of a second"
    } else {
        ""
    };
    (!is_in_word(&text[length..])).then(|| Stamp {
        length,
        format: format!("{shown}{between}{clock}{more}"),
        micros: (!is_either).then_some(moment.micros),
    })
}

/// A number of 10 or 13 digits that is a moment between 2001 and 2033, in seconds or milliseconds.
pub(crate) fn epoch(text: &str) -> Option<Stamp> {
    let end = text.find(|character: char| !character.is_ascii_digit() && character != '.');
    let number = text[..end.unwrap_or(text.len())].trim_end_matches('.');
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let (format, unit) = match whole.len() {
        10 => ("seconds since 1970", MICROS_PER_SECOND),
        13 if fraction.is_empty() => ("milliseconds since 1970", MICROS_PER_SECOND / 1_000),
        _ => return None,
    };
    let micros = whole.parse::<i64>().ok()? * unit + micros_of_fraction(fraction.as_bytes());
    // Ten digits are many things; a plausible time makes a moment likely.
    let is_plausible = (1_000_000_000..2_000_000_000).contains(&(micros / MICROS_PER_SECOND));
    let is_whole = !fraction.contains('.') && !is_in_word(&text[number.len()..]);
    (is_plausible && is_whole).then(|| Stamp {
        length: number.len(),
        format: format.to_owned(),
        micros: Some(micros),
    })
}

/// Reports whether a word or number goes on with this text.
fn is_in_word(rest: &str) -> bool {
    let mut bytes = rest.bytes();
    match bytes.next() {
        Some(b'.' | b'-' | b'/' | b':') => bytes.next().is_some_and(|byte| byte.is_ascii_digit()),
        Some(byte) => byte.is_ascii_alphanumeric() || byte == b'_',
        None => false,
    }
}

#[cfg(test)]
mod tests;
