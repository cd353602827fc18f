//! Hashes of values and of the shapes of texts.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::cell::Cell;
use crate::calendar::MICROS_PER_DAY;

/// Characters of a text that make its shape.
const PATTERN_CHARACTERS: usize = 64;

/// Spreads a hash anew for each `place`.
pub(crate) const fn mix(hash: u64, place: u64) -> u64 {
    let mixed = (hash ^ place.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb) ^ (mixed >> 32)
}

/// Equal values hash alike whatever their spelling (`1`, `1.0`, `TRUE`, `true`), and values of more digits than a number holds
/// by their spelling; 0 is kept for missing ones.
pub(crate) fn hash(cell: Cell<'_>, text: &str) -> u64 {
    let hash = match cell {
        Cell::Float(_) | Cell::Datetime { .. } if loses_digits(cell, text) => {
            xxh3_64_with_seed(text.trim_ascii().as_bytes(), 8)
        }
        Cell::Null(_) => 0,
        Cell::Int(value) => xxh3_64_with_seed(&value.to_le_bytes(), 1),
        Cell::Uint(value) => xxh3_64_with_seed(&value.to_le_bytes(), 7),
        #[expect(clippy::cast_possible_truncation, reason = "whole and far below 2^63")]
        Cell::Float(value) if value.fract() == 0.0 && value.abs() < 9e15 => {
            xxh3_64_with_seed(&(value as i64).to_le_bytes(), 1)
        }
        Cell::Float(value) => xxh3_64_with_seed(&value.to_bits().to_le_bytes(), 2),
        Cell::Bool(value) => xxh3_64_with_seed(&[u8::from(value)], 3),
        Cell::Date(days) => xxh3_64_with_seed(&(days * MICROS_PER_DAY).to_le_bytes(), 4),
        Cell::Datetime { micros, .. } => xxh3_64_with_seed(&micros.to_le_bytes(), 4),
        Cell::Text(text) => xxh3_64_with_seed(text.as_bytes(), 5),
    };
    hash.max(1)
}

/// Reports whether a number has more significant digits than it keeps, or a moment more than microseconds.
fn loses_digits(cell: Cell<'_>, text: &str) -> bool {
    // As many digits as any number keeps, and as a moment in microseconds with zone has at least.
    if text.len() <= 16 {
        return false;
    }
    let digits = |text: &str| text.bytes().filter(u8::is_ascii_digit).count();
    match cell {
        Cell::Float(_) => {
            let mantissa = text.split(['e', 'E']).next().unwrap_or(text).trim_ascii();
            let significant = mantissa.trim_start_matches(['-', '+', '0', '.', ',']);
            digits(significant.trim_end_matches('0')) > 15
        }
        Cell::Datetime { .. } => text
            .split_once(['.', ','])
            .is_some_and(|(_, rest)| rest.bytes().take_while(u8::is_ascii_digit).count() > 6),
        _ => false,
    }
}

/// Hash of a text's shape: sequences of letters, of digits and of blanks each count as one, other characters as they are.
pub(super) fn shape(text: &str) -> u64 {
    let mut shape = String::with_capacity(PATTERN_CHARACTERS);
    for character in text.chars().take(PATTERN_CHARACTERS) {
        let class = match character {
            character if character.is_alphabetic() => 'a',
            character if character.is_numeric() => '9',
            character if character.is_whitespace() => ' ',
            other => other,
        };
        if !(matches!(class, 'a' | '9' | ' ') && shape.ends_with(class)) {
            shape.push(class);
        }
    }
    xxh3_64_with_seed(shape.as_bytes(), 6).max(1)
}
