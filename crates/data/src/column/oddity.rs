//! Oddities of the values of columns that no type shows, and of their names: one remark for each kind.

use std::fmt::Write as _;

use crate::format::places::LISTED_PLACES;
use crate::remark::Remark;

/// Something odd about the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Oddity {
    /// Infinite numbers among others.
    Infinite,
    /// Dates that the calendar does not have.
    Impossible,
    /// Control characters.
    Controls,
    /// Blanks at an end that are no plain space.
    WideBlanks,
    /// Whole numbers that 64 bits do not hold.
    Beyond64Bits,
    /// Whole numbers that a float does not hold.
    BeyondFloats,
    /// Telephone numbers.
    Telephone,
    /// A text that stands for a missing value where all others are numbers or dates.
    Placeholder(&'static str),
    /// A number that does.
    Sentinel(&'static str),
}

impl Oddity {
    fn in_words(self) -> String {
        match self {
            Self::Infinite => "infinite numbers, which are in no statistics, in".to_owned(),
            Self::Impossible => "dates or times that do not exist (as February 30) in".to_owned(),
            Self::Controls => "values with control characters, such as form feeds, in".to_owned(),
            Self::WideBlanks => {
                "values that begin or end with a blank that is no plain space (U+00A0 and its like) in".to_owned()
            }
            Self::Beyond64Bits => "whole numbers beyond 64 bits, which are text here, in".to_owned(),
            Self::BeyondFloats => {
                "whole numbers beyond 2^53, which floats round, and pandas makes floats of them beside missing values, in"
                    .to_owned()
            }
            Self::Telephone => {
                "digits behind a plus, as of telephone numbers, which pandas reads as numbers unless told (dtype=str), in"
                    .to_owned()
            }
            Self::Placeholder(text) => format!("the text {text} may stand for missing values in"),
            Self::Sentinel(text) => format!("the number {text} may stand for missing values in"),
        }
    }
}

/// One remark for each kind of oddity that columns have.
pub(crate) fn remarks(columns: &[(&str, &[Oddity])]) -> Vec<Remark> {
    let mut kinds: Vec<Oddity> = columns.iter().flat_map(|(_, found)| *found).copied().collect();
    kinds.sort_unstable();
    kinds.dedup();
    let named = |kind: Oddity| {
        let has_it = columns.iter().filter(|(_, found)| found.contains(&kind));
        Remark::listing(&kind.in_words(), has_it.map(|(name, _)| *name))
    };
    kinds.into_iter().filter_map(named).collect()
}

/// A remark on names that do not read as they are: with blanks at an end, or characters that do not show.
pub(crate) fn name_remark<'n>(names: impl Iterator<Item = &'n str>) -> Option<Remark> {
    let mut odd: Vec<&str> = names.filter(|name| is_deceptive(name)).collect();
    if odd.is_empty() {
        return None;
    }
    let more = if odd.len() > LISTED_PLACES { ", ..." } else { "" };
    odd.truncate(LISTED_PLACES);
    let spelled: Vec<String> = odd.iter().map(|name| spelled(name)).collect();
    let text = format!(
        "names with blanks at an end or characters that do not show, in Python's spelling: {}{more}",
        spelled.join(", ")
    );
    Some(Remark::naming(text, odd))
}

/// Control characters are written as escapes wherever a name is shown.
fn is_deceptive(name: &str) -> bool {
    !name.trim().is_empty() && (name.trim().len() != name.len() || name.contains(is_wide_blank))
}

/// A blank of another width than the plain space, or of none.
pub(crate) const fn is_wide_blank(character: char) -> bool {
    matches!(
        character,
        '\u{a0}'
            | '\u{ad}'
            | '\u{1680}'
            | '\u{2000}'..='\u{200f}'
            | '\u{2028}'..='\u{202f}'
            | '\u{205f}'..='\u{2064}'
            | '\u{3000}'
            | '\u{feff}'
    )
}

/// A name as a Python literal in which every character shows.
fn spelled(name: &str) -> String {
    let mut text = String::from("\"");
    for character in name.chars() {
        match character {
            '"' | '\\' => text.extend(['\\', character]),
            _ if is_wide_blank(character) || character.is_control() => {
                let _ = write!(text, "\\u{:04x}", u32::from(character));
            }
            _ => text.push(character),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_with_one_oddity_are_named_together() {
        let found: [(&str, &[Oddity]); 3] = [
            ("a", &[Oddity::Infinite, Oddity::Sentinel("-999")]),
            ("b", &[Oddity::Infinite]),
            ("c", &[]),
        ];
        let texts: Vec<String> = remarks(&found).iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "infinite numbers, which are in no statistics, in: a, b",
                "the number -999 may stand for missing values in: a",
            ]
        );
    }

    #[test]
    fn a_name_with_a_character_that_does_not_show_is_spelled() {
        let names = ["plain", "unit\u{a0}price", " x", "", "two words", "Größe", "a\nb"];
        let remark = name_remark(names.into_iter()).unwrap();
        assert!(
            remark.ends_with(r#"spelling: "unit\u00a0price", " x""#),
            "{remark}"
        );
        assert_eq!(remark.columns, ["unit\u{a0}price", " x"]);
        assert_eq!(name_remark(["a b", "c"].into_iter()), None);
    }
}
