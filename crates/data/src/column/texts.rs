//! Texts and whole numbers of a column that mean more than their type says: numbers in a style, dates in other spellings.

use crate::column::dates::{InferredDates, IntDates, TextDates};
use crate::column::numeric::{NumberStats, Numbers};
use crate::column::style::{NumberStyle, StyleVerdict, Styled, as_thousands};
use crate::column::temporal::TimeStats;
use crate::remark::Remark;

/// Numbers with decimals from which thousands are thought of.
const FEWEST_THOUSANDS: u64 = 2;

/// Something that all values so far may be.
#[derive(Clone, Debug)]
enum Guess<T> {
    Untested,
    Holds(Box<T>),
    Failed,
}

impl<T> Guess<T> {
    /// Puts a further value to the test.
    fn test(&mut self, first: impl FnOnce() -> Option<T>, next: impl FnOnce(&mut T) -> bool) {
        match self {
            Self::Untested => *self = first().map_or(Self::Failed, |guess| Self::Holds(Box::new(guess))),
            Self::Holds(guess) => {
                if !next(guess) {
                    *self = Self::Failed;
                }
            }
            Self::Failed => {}
        }
    }
}

/// Guesses about a column, each given up at the first value that it does not fit.
#[derive(Clone, Debug)]
pub(super) struct Texts {
    limit: usize,
    seed: u64,
    styled: Guess<Styled>,
    /// The plain numbers, their decimal signs read as separators of thousands.
    as_thousands: Guess<Numbers>,
    text_dates: Guess<TextDates>,
    int_dates: Guess<IntDates>,
    /// The decimal sign of its plain numbers.
    sign: char,
    /// True where a whole number of 1000 or more has no separator.
    has_plain_thousands: bool,
}

/// Numbers of values of a column, by kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    pub int: u64,
    pub float: u64,
    pub text: u64,
    pub other: u64,
}

/// Findings about a column.
#[derive(Debug, Default)]
pub(super) struct TextFindings {
    pub numbers: Option<(NumberStyle, Box<NumberStats>)>,
    pub times: Option<TimeStats>,
    /// Texts that have the form of its dates and are none.
    pub impossible: u64,
    pub remarks: Vec<Remark>,
}

impl Texts {
    pub(super) fn new(limit: usize, seed: u64) -> Self {
        Self {
            limit,
            seed,
            styled: Guess::Untested,
            as_thousands: Guess::Untested,
            text_dates: Guess::Untested,
            int_dates: Guess::Untested,
            sign: '.',
            has_plain_thousands: false,
        }
    }

    /// Takes in a whole number.
    pub(super) fn push_int(&mut self, value: i128, text: &str) {
        self.has_plain_thousands |= value.unsigned_abs() >= 1000;
        if let Guess::Holds(styled) = &mut self.styled {
            styled.push_int(value, text);
        }
        if let Guess::Holds(numbers) = &mut self.as_thousands {
            numbers.push_int(value, text);
        }
        if matches!(self.int_dates, Guess::Failed) {
            return;
        }
        let Ok(value) = i64::try_from(value) else {
            self.int_dates = Guess::Failed;
            return;
        };
        let (limit, seed) = (self.limit, self.seed);
        self.int_dates.test(
            || IntDates::of(value, text, limit, seed),
            |dates| dates.push(value, text),
        );
    }

    /// Takes in a number with decimals, which `numbers` does not hold yet.
    pub(super) fn push_float(&mut self, value: f64, text: &str, numbers: &Numbers) {
        self.int_dates = Guess::Failed;
        if text.contains(',') {
            self.sign = ',';
        }
        if let Guess::Holds(styled) = &mut self.styled {
            styled.push_float(value, text);
        }
        if matches!(self.as_thousands, Guess::Failed) {
            return;
        }
        let whole = as_thousands(text);
        let push = |numbers: &mut Numbers| {
            whole.is_some_and(|whole| {
                numbers.push_rounded(whole, 0, text);
                true
            })
        };
        self.as_thousands.test(
            || {
                let mut numbers = numbers.clone();
                push(&mut numbers).then_some(numbers)
            },
            push,
        );
    }

    /// Takes in a text of a column with `numbers`, of which some `has_decimals`.
    pub(super) fn push_text(&mut self, text: &str, numbers: &Numbers, has_decimals: bool) {
        self.int_dates = Guess::Failed;
        let sign = self.sign;
        let as_thousands = match &self.as_thousands {
            Guess::Untested => Some(numbers),
            Guess::Holds(numbers) => Some(&**numbers),
            Guess::Failed => None,
        };
        self.styled.test(
            || {
                let mut styled = Styled::new(numbers.clone(), as_thousands.cloned(), has_decimals, sign);
                styled.push_text(text).then_some(styled)
            },
            |styled| styled.push_text(text),
        );
        let (limit, seed) = (self.limit, self.seed);
        self.text_dates
            .test(|| TextDates::of(text, limit, seed), |dates| dates.push(text));
    }

    /// The only decimal sign with which its numbers can be read.
    pub(super) const fn proves_decimal(&self) -> Option<char> {
        match (&self.styled, &self.as_thousands) {
            (Guess::Holds(styled), _) => styled.proves(),
            (_, Guess::Failed) => Some(self.sign),
            _ => None,
        }
    }

    /// Judges the whole column. `decimal` is the decimal sign of the table, where that is known.
    pub(super) fn finish(self, name: &str, counts: Counts, decimal: Option<char>) -> TextFindings {
        let mut found = TextFindings::default();
        let Counts {
            int,
            float,
            text,
            other,
        } = counts;
        if other > 0 {
            return found;
        }
        let on_column = |what: &str| Remark::naming(format!("column {name}: {what}"), [name]);
        let mut remark = |what: &str| found.remarks.push(on_column(what));
        if text == 0 {
            let may_be_thousands = matches!(self.as_thousands, Guess::Holds(_)) && !self.has_plain_thousands;
            if int > 0 && float >= FEWEST_THOUSANDS && may_be_thousands {
                remark("every number with decimals has three of them: they may be thousands");
            }
            if let Guess::Holds(dates) = self.int_dates {
                found.times = dates.finish(int);
            }
            return found;
        }
        if let Guess::Holds(styled) = self.styled {
            match styled.verdict(int + float, decimal) {
                StyleVerdict::NoNumbers => {}
                StyleVerdict::Numbers(style, numbers) => found.numbers = Some((style, numbers)),
                StyleVerdict::Ambiguous => {
                    remark(
                        "its numbers have either separated thousands or three decimals each, nothing decides",
                    );
                }
                StyleVerdict::Contradicting => {
                    remark("its numbers are written in ways that contradict each other");
                }
                StyleVerdict::SeveralCurrencies => remark("its numbers are amounts in several currencies"),
            }
        }
        if let Guess::Holds(dates) = self.text_dates
            && int + float == 0
        {
            found.impossible = dates.impossible();
            match dates.finish() {
                InferredDates::Nothing => found.impossible = 0,
                InferredDates::Times(times) => found.times = Some(*times),
                InferredDates::Contradicting => {
                    let what = "its dates are written in formats that contradict each other";
                    found.remarks.push(on_column(what));
                }
                InferredDates::Either(one, other) => {
                    let what = format!("its dates may be {one} or {other}, no value decides");
                    found.remarks.push(on_column(&what));
                }
            }
        }
        found
    }
}
