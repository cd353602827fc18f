//! Numbers written so that a reader of plain numbers takes them for text: decimal commas, separators between thousands,
//! percent signs, currencies. The whole column decides how to read them.

use serde::{Deserialize, Serialize};

use crate::column::numeric::{NumberStats, Numbers};

// What ends with another sign stands before it.
const SIGNS: [&str; 28] = [
    "US$", "A$", "C$", "R$", "$", "€", "£", "¥", "₹", "₽", "₩", "₺", "₪", "฿", "₫", "₴", "₦", "₱", "₲", "zł",
    "kr.", "kr", "Kr", "Kč", "Ft", "Fr.", "руб.", "руб",
];
const CODES: [&str; 44] = [
    "AED", "ARS", "AUD", "BGN", "BRL", "CAD", "CHF", "CLP", "CNY", "COP", "CZK", "DKK", "EGP", "EUR", "GBP",
    "HKD", "HUF", "IDR", "ILS", "INR", "ISK", "JPY", "KES", "KRW", "MXN", "MYR", "NGN", "NOK", "NZD", "PEN",
    "PHP", "PKR", "PLN", "QAR", "RON", "RUB", "SAR", "SEK", "SGD", "THB", "TRY", "USD", "VND", "ZAR",
];
/// Longest text whose style is inferred, bytes.
const LONGEST: usize = 48;

/// Style of numbers that a reader of plain numbers takes for text.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct NumberStyle {
    /// Sign before the decimals, `.` or `,`; `None` where no value has decimals.
    pub decimal: Option<char>,
    /// Sign that groups the thousands (`,`, `.`, `'`, a blank of any width); `None` where nothing does.
    pub thousands: Option<char>,
    /// True where a percent sign follows; the statistics are those of the numbers before it.
    pub has_percent: bool,
    /// Sign or code of the currency (`€`, `USD`).
    pub currency: Option<String>,
    /// True where negative numbers stand in brackets (`(4.10)`).
    #[serde(default)]
    pub has_brackets: bool,
}

/// Verdict on the column of a `Styled`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StyleVerdict {
    /// Its texts are no numbers.
    NoNumbers,
    /// They are numbers written so.
    Numbers(NumberStyle, Box<NumberStats>),
    /// They are numbers with a decimal point or with a decimal comma, and nothing decides.
    Ambiguous,
    /// Each is a number, but no way of reading fits them all (`1,5` and `1.5`).
    Contradicting,
    /// They are amounts in several currencies.
    SeveralCurrencies,
}

/// A column of numbers, of which some are written in a style, as it is met.
#[derive(Clone, Debug)]
pub(crate) struct Styled {
    point: Option<Reading>,
    comma: Option<Reading>,
    /// True where the readings give different values.
    differs: bool,
    texts: u64,
    percents: u64,
    brackets: u64,
    currency: Option<String>,
    has_currencies: bool,
}

/// All values read with one decimal sign.
#[derive(Clone, Debug)]
struct Reading {
    numbers: Numbers,
    has_decimals: bool,
    thousands: Option<char>,
    /// Fewest and most digits of a number with thousands separated by blanks.
    digits: Option<(usize, usize)>,
    /// True where every text has separated thousands and no decimals.
    is_all_grouped: bool,
}

impl Reading {
    const fn new(numbers: Numbers) -> Self {
        Self {
            numbers,
            has_decimals: false,
            thousands: None,
            digits: None,
            is_all_grouped: true,
        }
    }

    /// Takes in a number; false where its separators contradict those before it.
    fn push(&mut self, body: &Body, text: &str) -> bool {
        if let Some(separator) = body.thousands {
            if self.thousands.is_some_and(|other| other != separator) {
                return false;
            }
            self.thousands = Some(separator);
        }
        self.has_decimals |= body.decimals > 0;
        self.is_all_grouped &= body.thousands.is_some() && body.decimals == 0;
        let (least, most) = self.digits.unwrap_or((body.digits, body.digits));
        self.digits = Some((least.min(body.digits), most.max(body.digits)));
        self.numbers.push_rounded(body.value, body.decimals, text);
        true
    }

    /// Reports whether the numbers may as well be codes in groups of three, all of one length (`123 456 789`).
    fn is_code(&self) -> bool {
        let is_one_length = self.digits.is_some_and(|(least, most)| least == most);
        self.is_all_grouped && is_one_length && !matches!(self.thousands, Some(',' | '.'))
    }
}

impl Styled {
    /// A column with plain `numbers` so far, some of them with decimals; `as_thousands` are the same ones with their
    /// decimal signs read as separators of thousands, where that is possible.
    pub(crate) fn new(
        numbers: Numbers,
        as_thousands: Option<Numbers>,
        has_decimals: bool,
        sign: char,
    ) -> Self {
        let own = Reading {
            has_decimals,
            ..Reading::new(numbers)
        };
        let other = as_thousands.map(|numbers| Reading {
            thousands: has_decimals.then_some(sign),
            ..Reading::new(numbers)
        });
        let (point, comma) = if sign == '.' {
            (Some(own), other)
        } else {
            (other, Some(own))
        };
        Self {
            differs: has_decimals && point.is_some() && comma.is_some(),
            point,
            comma,
            texts: 0,
            percents: 0,
            brackets: 0,
            currency: None,
            has_currencies: false,
        }
    }

    /// Takes in a text; false where it is no number.
    pub(crate) fn push_text(&mut self, text: &str) -> bool {
        let Some(shell) = Shell::of(text) else {
            return false;
        };
        let (point, comma) = (shell.read('.'), shell.read(','));
        if point.is_none() && comma.is_none() {
            return false;
        }
        self.texts += 1;
        self.percents += u64::from(shell.has_percent);
        self.brackets += u64::from(shell.has_brackets);
        if let Some(currency) = shell.currency {
            match &self.currency {
                Some(other) => self.has_currencies |= other != currency,
                None => self.currency = Some(currency.to_owned()),
            }
        }
        if let (Some(point), Some(comma)) = (&point, &comma) {
            self.differs |= point.value.total_cmp(&comma.value).is_ne();
        }
        push_reading(&mut self.point, point, text);
        push_reading(&mut self.comma, comma, text);
        true
    }

    /// Takes in a plain whole number.
    pub(crate) fn push_int(&mut self, value: i128, text: &str) {
        for reading in [&mut self.point, &mut self.comma].into_iter().flatten() {
            reading.numbers.push_int(value, text);
        }
    }

    /// Takes in a plain number with the decimals of the file; the other reading may take it for one with thousands.
    pub(crate) fn push_float(&mut self, value: f64, text: &str) {
        let own = if text.contains(',') { ',' } else { '.' };
        let (reading, other) = if own == '.' {
            (&mut self.point, &mut self.comma)
        } else {
            (&mut self.comma, &mut self.point)
        };
        if let Some(reading) = reading {
            reading.has_decimals = true;
            reading.numbers.push_float(value, text);
        }
        let shell = Shell::of(text);
        let body = shell.and_then(|shell| shell.read(if own == '.' { ',' } else { '.' }));
        self.differs |= body.is_some();
        push_reading(other, body, text);
    }

    /// The only decimal sign with which all numbers so far can be read.
    pub(crate) const fn proves(&self) -> Option<char> {
        match (&self.point, &self.comma) {
            (Some(_), None) => Some('.'),
            (None, Some(_)) => Some(','),
            _ => None,
        }
    }

    /// Judges the whole column; `decimal` is the sign that the rest of the file uses, where that is known.
    pub(crate) fn verdict(self, plain: u64, decimal: Option<char>) -> StyleVerdict {
        if self.texts == 0 || (self.percents > 0 && (self.percents < self.texts || plain > 0)) {
            return StyleVerdict::NoNumbers;
        }
        // Where every number has them, brackets mean something else than less than nothing.
        if self.brackets > 0 && self.brackets == self.texts && plain == 0 {
            return StyleVerdict::NoNumbers;
        }
        if self.has_currencies {
            return StyleVerdict::SeveralCurrencies;
        }
        let (reading, sign) = match (self.point, self.comma, decimal) {
            (Some(_), Some(comma), Some(',')) if self.differs => (comma, ','),
            (Some(point), Some(_), Some(_)) if self.differs => (point, '.'),
            (Some(_), Some(_), None) if self.differs => return StyleVerdict::Ambiguous,
            (Some(point), ..) => (point, '.'),
            (None, Some(comma), _) => (comma, ','),
            (None, None, _) => return StyleVerdict::Contradicting,
        };
        if reading.is_code() && self.percents == 0 && self.currency.is_none() {
            return StyleVerdict::NoNumbers;
        }
        let style = NumberStyle {
            decimal: reading.has_decimals.then_some(sign),
            thousands: reading.thousands,
            has_percent: self.percents > 0,
            currency: self.currency,
            has_brackets: self.brackets > 0,
        };
        reading
            .numbers
            .finish()
            .map_or(StyleVerdict::NoNumbers, |numbers| {
                StyleVerdict::Numbers(style, Box::new(numbers))
            })
    }
}

fn push_reading(reading: &mut Option<Reading>, body: Option<Body>, text: &str) {
    let holds = match (reading.as_mut(), body) {
        (Some(reading), Some(body)) => reading.push(&body, text),
        _ => false,
    };
    if !holds {
        *reading = None;
    }
}

/// Signs around the digits of a number.
struct Shell<'a> {
    body: &'a str,
    is_negative: bool,
    has_percent: bool,
    has_brackets: bool,
    currency: Option<&'static str>,
}

impl<'a> Shell<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let text = text.trim();
        if text.len() > LONGEST || !text.bytes().any(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let (has_brackets, rest) = strip_brackets(text);
        let (outer, rest) = sign(rest);
        let (before, rest) = strip_currency(rest, |text, unit| text.strip_prefix(unit));
        let (after, rest) = strip_currency(rest, |text, unit| text.strip_suffix(unit));
        // The currency may stand outside of the brackets.
        let (has_inner_brackets, rest) = strip_brackets(rest);
        let has_brackets = has_brackets || has_inner_brackets;
        let (has_percent, rest) = rest
            .strip_suffix('%')
            .map_or((false, rest), |rest| (true, rest.trim_end()));
        let (inner, body) = sign(rest);
        let has_two_units =
            u8::from(before.is_some()) + u8::from(after.is_some()) + u8::from(has_percent) > 1;
        let has_sign = outer.is_some() || inner.is_some();
        if has_two_units || (outer.is_some() && inner.is_some()) || (has_brackets && has_sign) {
            return None;
        }
        Some(Self {
            body,
            is_negative: has_brackets || outer.or(inner) == Some('-'),
            has_percent,
            has_brackets,
            currency: before.or(after),
        })
    }

    fn read(&self, decimal: char) -> Option<Body> {
        let mut body = body(self.body, decimal)?;
        if self.is_negative {
            body.value = -body.value;
        }
        Some(body)
    }
}

fn strip_brackets(text: &str) -> (bool, &str) {
    text.strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'))
        .map_or((false, text), |inner| (true, inner.trim()))
}

fn sign(text: &str) -> (Option<char>, &str) {
    match text.strip_prefix(['-', '+']) {
        Some(rest) => (text.chars().next(), rest.trim_start()),
        None => (None, text),
    }
}

fn strip_currency<'a>(
    text: &'a str,
    strip: impl Fn(&'a str, &'static str) -> Option<&'a str>,
) -> (Option<&'static str>, &'a str) {
    SIGNS
        .iter()
        .chain(&CODES)
        .find_map(|unit| strip(text, unit).map(|rest| (Some(*unit), rest.trim())))
        .unwrap_or((None, text))
}

/// A number without sign and unit.
struct Body {
    value: f64,
    decimals: usize,
    thousands: Option<char>,
    digits: usize,
}

/// Digits with at most one kind of separator in groups of three, and decimals after `decimal`.
fn body(text: &str, decimal: char) -> Option<Body> {
    let (whole, fraction) = match text.split_once(decimal) {
        Some((whole, fraction)) => (whole, fraction),
        None => (text, ""),
    };
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(fraction) || text.ends_with(decimal) || (whole.len() > 1 && whole.starts_with('0')) {
        return None;
    }
    let thousands = whole.chars().find(|character| !character.is_ascii_digit());
    let mut digits = String::with_capacity(text.len() + 1);
    match thousands {
        None if whole.is_empty() => return None,
        None => digits.push_str(whole),
        Some(separator) if separates(separator, decimal) => {
            for (position, group) in whole.split(separator).enumerate() {
                let has_length = group.len() == 3 || (position == 0 && (1..3).contains(&group.len()));
                if !has_length || !all_digits(group) {
                    return None;
                }
                digits.push_str(group);
            }
        }
        Some(_) => return None,
    }
    let count = digits.len();
    digits.push('.');
    digits.push_str(fraction);
    Some(Body {
        value: digits.parse().ok()?,
        decimals: fraction.len(),
        thousands,
        digits: count,
    })
}

const fn separates(character: char, decimal: char) -> bool {
    match character {
        ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}' | '\'' | '\u{2019}' => true,
        ',' | '.' => character != decimal,
        _ => false,
    }
}

/// The value of a plain decimal number whose decimal sign separates thousands instead (`1.234` as 1234).
pub(crate) fn as_thousands(text: &str) -> Option<f64> {
    let (sign, body_text) = sign(text.trim());
    let decimal = if body_text.contains(',') { '.' } else { ',' };
    let value = body(body_text, decimal)
        .filter(|body| body.thousands.is_some())?
        .value;
    Some(if sign == Some('-') { -value } else { value })
}

#[cfg(test)]
mod tests;
