//! Masked lines grouped by pattern, in bounded memory. Lines are counted by their masked text; where there are too many of those,
//! and at the end, similar ones become one pattern.

use std::cmp::Reverse;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;

use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use super::mask::{FLOAT, INT, MaskPart, Masked, REST, TIME};

/// Patterns that are held.
pub(crate) const MOST_TEMPLATES: usize = 1_000;
/// Patterns of one skeleton; further ones become a single one.
const MOST_ALIKE: usize = 32;
/// So many patterns of one skeleton, and a place in which they differ is searched for.
const FEW_ALIKE: usize = 12;
/// A place is variable where patterns become this many times fewer without it.
const GAIN: usize = 4;
const MOST_ALTERNATIVES: usize = 3;
const LONGEST_ALTERNATIVES: usize = 40;

const NUMBER: &str = "<number>";
const ANY_WORD: &str = "<word>";
const VALUE: &str = "<value>";

/// One part of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Token {
    Mark(Box<str>),
    /// One word, or a few alternatives.
    Words(BTreeSet<Box<str>>),
    Masked(&'static str),
}

impl Token {
    fn merge(&mut self, other: &Self) {
        let is_number = |token: &Self| matches!(token, Self::Masked(INT | FLOAT | NUMBER));
        match (&mut *self, other) {
            (one, other) if one == other => {}
            (Self::Words(words), Self::Words(others)) => {
                words.extend(others.iter().cloned());
                // A reader, and what hides alternatives, must find their ends.
                let is_open = words.iter().any(|word| word.contains(['<', '>', '|']));
                let length: usize = words.iter().map(|word| word.len()).sum();
                if is_open || words.len() > MOST_ALTERNATIVES || length > LONGEST_ALTERNATIVES {
                    *self = Self::Masked(ANY_WORD);
                }
            }
            (one, other) if is_number(one) && is_number(other) => *self = Self::Masked(NUMBER),
            (Self::Words(_), Self::Masked(ANY_WORD)) | (Self::Masked(ANY_WORD), Self::Words(_)) => {
                *self = Self::Masked(ANY_WORD);
            }
            _ => *self = Self::Masked(VALUE),
        }
    }

    /// Reports whether it stands for one value, or values of one kind.
    fn is_one_value(&self) -> bool {
        match self {
            Self::Mark(_) => false,
            Self::Words(words) => words.len() == 1,
            Self::Masked(mask) => ![NUMBER, ANY_WORD, VALUE].contains(mask),
        }
    }

    fn print(&self) -> String {
        match self {
            Self::Mark(sign) => sign.to_string(),
            Self::Masked(mask) => (*mask).to_owned(),
            Self::Words(words) => {
                let words: Vec<&str> = words.iter().map(|word| &**word).collect();
                match words.as_slice() {
                    [word] => (*word).to_owned(),
                    several => format!("<{}>", several.join("|")),
                }
            }
        }
    }
}

/// Lines of one pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LineTemplate {
    tokens: Vec<Token>,
    /// Number of lines that have it.
    pub lines: u64,
    /// The first of them.
    pub first_line: u64,
    /// The first of them as it stands in the file, cut where it is long.
    pub example: String,
}

impl LineTemplate {
    fn of(masked: &Masked, first_line: u64, example: String) -> Self {
        let token = |(part, range): &(MaskPart, Range<usize>)| {
            let text = || masked.text[range.clone()].into();
            match part {
                MaskPart::Mark => Token::Mark(text()),
                MaskPart::Word => Token::Words(BTreeSet::from([text()])),
                MaskPart::Masked(mask) => Token::Masked(mask),
            }
        };
        Self {
            tokens: masked.parts.iter().map(token).collect(),
            lines: 1,
            first_line,
            example,
        }
    }

    /// The pattern as it is shown (`<time> INFO api[<int>]`).
    pub(crate) fn pattern(&self) -> String {
        self.tokens.iter().map(Token::print).collect()
    }

    /// Hash of what templates must share to become one: signs, timestamps, and where values stand.
    fn skeleton(&self) -> u64 {
        let mut hash = Xxh3Default::new();
        for token in &self.tokens {
            match token {
                Token::Mark(sign) => hash.update(sign.as_bytes()),
                Token::Masked(mask @ (TIME | REST)) => hash.update(mask.as_bytes()),
                _ => hash.update(&[0xff]),
            }
        }
        hash.digest()
    }

    /// Reports whether at least three of five values are the same, or all that is left of them.
    fn is_like(&self, other: &Self) -> bool {
        let values = self
            .tokens
            .iter()
            .filter(|token| !matches!(token, Token::Mark(_)));
        let pairs = self.tokens.iter().zip(&other.tokens);
        let equal = pairs.filter(|(mine, others)| mine.is_one_value() && mine == others);
        let (values, equal) = (values.count(), equal.count());
        self.tokens == other.tokens || (self.tokens.len() == other.tokens.len() && equal * 5 >= values * 3)
    }

    fn absorb(&mut self, other: Self) {
        for (mine, others) in self.tokens.iter_mut().zip(&other.tokens) {
            mine.merge(others);
        }
        self.lines += other.lines;
        if other.first_line < self.first_line {
            self.first_line = other.first_line;
            self.example = other.example;
        }
    }
}

/// Lines by pattern.
#[derive(Debug, Default)]
pub(crate) struct Templates {
    by_text: HashMap<u64, LineTemplate>,
    /// Merged ones, by skeleton.
    merged: BTreeMap<u64, Vec<LineTemplate>>,
    held: usize,
    /// Lines that no pattern is held for.
    other_lines: u64,
}

impl Templates {
    /// Takes in a masked line; `example` gives it as it stands in the file.
    pub(crate) fn push(&mut self, masked: &Masked, line: u64, example: impl Fn() -> String) {
        let hash = xxh3_64(masked.text.as_bytes());
        if let Some(template) = self.by_text.get_mut(&hash) {
            template.lines += 1;
            return;
        }
        if self.by_text.len() >= MOST_TEMPLATES {
            self.merge();
        }
        self.by_text
            .insert(hash, LineTemplate::of(masked, line, example()));
    }

    /// Makes similar templates of one skeleton one, as long as there is room.
    fn merge(&mut self) {
        let mut groups: BTreeMap<u64, Vec<LineTemplate>> = BTreeMap::new();
        for (_, template) in self.by_text.drain() {
            groups.entry(template.skeleton()).or_default().push(template);
        }
        for (skeleton, group) in groups {
            let alike = self.merged.entry(skeleton).or_default();
            for template in merge_at_places(group) {
                let like = alike.iter().position(|one| one.is_like(&template));
                match like.or((alike.len() == MOST_ALIKE).then_some(MOST_ALIKE - 1)) {
                    Some(place) => alike[place].absorb(template),
                    None if self.held < MOST_TEMPLATES => {
                        self.held += 1;
                        alike.push(template);
                    }
                    None => self.other_lines += template.lines,
                }
            }
        }
    }

    /// The patterns, the most frequent first, and the lines that have none of them.
    pub(crate) fn finish(mut self) -> (Vec<LineTemplate>, u64) {
        self.merge();
        let mut templates: Vec<LineTemplate> = self.merged.into_values().flatten().collect();
        templates.sort_by_key(|template| (Reverse(template.lines), template.first_line));
        (templates, self.other_lines)
    }
}

/// Makes templates of one skeleton one where they differ in one place alone, place by place; the most frequent stand first.
fn merge_at_places(mut templates: Vec<LineTemplate>) -> Vec<LineTemplate> {
    let mut before = usize::MAX;
    while templates.len() > FEW_ALIKE && templates.len() < before {
        before = templates.len();
        templates = merge_at_best_place(templates);
    }
    templates.sort_by_cached_key(|template| (Reverse(template.lines), template.pattern()));
    templates
}

/// Makes templates one that differ in one place alone, in the place where this leaves the fewest, if few enough.
fn merge_at_best_place(templates: Vec<LineTemplate>) -> Vec<LineTemplate> {
    let hash = |place_and_token: (usize, &Token)| {
        let mut hasher = DefaultHasher::new();
        place_and_token.hash(&mut hasher);
        hasher.finish()
    };
    let hashes_of = |template: &LineTemplate| template.tokens.iter().enumerate().map(hash).collect();
    let hashes: Vec<Vec<u64>> = templates.iter().map(hashes_of).collect();
    let without = |hashes: &Vec<u64>, place: usize| {
        let all = hashes.iter().fold(0, |all: u64, hash| all.wrapping_add(*hash));
        all.wrapping_sub(hashes[place])
    };
    let left = |place: usize| {
        let kinds: HashSet<u64> = hashes.iter().map(|hashes| without(hashes, place)).collect();
        kinds.len()
    };
    let places = templates[0].tokens.iter().enumerate();
    let best = places
        .filter(|(_, token)| !matches!(token, Token::Mark(_)))
        .map(|(place, _)| (left(place), place))
        .min();
    let Some((_, place)) = best.filter(|(left, _)| left * GAIN <= templates.len()) else {
        return templates;
    };
    let mut merged: BTreeMap<u64, LineTemplate> = BTreeMap::new();
    for (template, hashes) in templates.into_iter().zip(&hashes) {
        match merged.entry(without(hashes, place)) {
            Entry::Occupied(mut one) => one.get_mut().absorb(template),
            Entry::Vacant(free) => {
                free.insert(template);
            }
        }
    }
    merged.into_values().collect()
}

#[cfg(test)]
mod tests;
