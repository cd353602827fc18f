//! Masked lines grouped by pattern, in bounded memory. Lines are first counted by their masked text; once there are too
//! many of those, and at the end, similar ones become one pattern. Until then the order of the lines plays no part.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use super::mask::{MaskPart, Masked, VariableKind};

/// Patterns that are kept.
pub(crate) const MOST_TEMPLATES: usize = 1_000;
/// Patterns of one skeleton; further ones become a single one.
const MOST_ALIKE: usize = 32;
/// Masked texts whose pattern is remembered.
const REMEMBERED: usize = 16 * 1024;
/// So many patterns of one skeleton, and a place in which they differ is searched for.
const FEW_ALIKE: usize = 12;
/// A place is variable where patterns become this many times fewer without it.
const GAIN: usize = 4;
const MOST_ALTERNATIVES: usize = 3;
const LONGEST_ALTERNATIVES: usize = 40;

/// One part of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Token {
    Mark(Box<str>),
    Fixed(Box<str>),
    Masked(VariableKind),
    OneOf(BTreeSet<Box<str>>),
    Number,
    Word,
    Value,
}

impl Token {
    fn merge(&mut self, other: &Self) {
        if self == other {
            return;
        }
        let is_number = |token: &Self| {
            matches!(
                token,
                Self::Number | Self::Masked(VariableKind::Int | VariableKind::Float)
            )
        };
        if is_number(self) && is_number(other) {
            *self = Self::Number;
            return;
        }
        let words = |token: &Self| match token {
            Self::Fixed(word) => Some(BTreeSet::from([word.clone()])),
            Self::OneOf(words) => Some(words.clone()),
            Self::Word => Some(BTreeSet::new()),
            _ => None,
        };
        *self = match (words(self), words(other)) {
            (Some(mut mine), Some(others)) => {
                // The signs around alternatives: a reader, and what hides alternatives, must find their ends.
                let is_open = mine.is_empty()
                    || others.is_empty()
                    || mine
                        .iter()
                        .chain(&others)
                        .any(|word| word.contains(['<', '>', '|']));
                mine.extend(others);
                let length: usize = mine.iter().map(|word| word.len()).sum();
                if is_open || mine.len() > MOST_ALTERNATIVES || length > LONGEST_ALTERNATIVES {
                    Self::Word
                } else {
                    Self::OneOf(mine)
                }
            }
            _ => Self::Value,
        };
    }

    fn print(&self, text: &mut String) {
        match self {
            Self::Mark(sign) => text.push_str(sign),
            Self::Fixed(word) => text.push_str(word),
            Self::Masked(kind) => text.push_str(kind.as_str()),
            Self::OneOf(words) => {
                text.push('<');
                for (position, word) in words.iter().enumerate() {
                    if position > 0 {
                        text.push('|');
                    }
                    text.push_str(word);
                }
                text.push('>');
            }
            Self::Number => text.push_str("<number>"),
            Self::Word => text.push_str("<word>"),
            Self::Value => text.push_str("<value>"),
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
    /// Masked texts that belong to it, by their place in the list before patterns were merged.
    members: Vec<usize>,
}

impl LineTemplate {
    fn of(masked: &Masked, first_line: u64, example: String) -> Self {
        let token = |(part, range): &(MaskPart, std::ops::Range<usize>)| {
            let text = || masked.text[range.clone()].into();
            match part {
                MaskPart::Mark => Token::Mark(text()),
                MaskPart::Word => Token::Fixed(text()),
                MaskPart::Masked(kind) => Token::Masked(*kind),
            }
        };
        Self {
            tokens: masked.parts.iter().map(token).collect(),
            lines: 1,
            first_line,
            example,
            members: Vec::new(),
        }
    }

    /// The pattern as it is shown (`<time> INFO api[<int>]`).
    pub(crate) fn pattern(&self) -> String {
        let mut text = String::new();
        for token in &self.tokens {
            token.print(&mut text);
        }
        text
    }

    /// Hash of what templates must share to become one: signs, timestamps, and where values stand.
    fn skeleton(&self) -> u64 {
        let mut hash = Xxh3Default::new();
        for token in &self.tokens {
            match token {
                Token::Mark(sign) => hash.update(sign.as_bytes()),
                Token::Masked(kind @ (VariableKind::Time | VariableKind::Rest)) => {
                    hash.update(&[0, *kind as u8]);
                }
                _ => hash.update(&[0xff]),
            }
        }
        hash.digest()
    }

    /// Reports whether at least three of five values are the same.
    fn is_like(&self, other: &Self) -> bool {
        let (mut values, mut equal) = (0, 0);
        for (mine, others) in self.tokens.iter().zip(&other.tokens) {
            match mine {
                Token::Mark(_) => {}
                Token::Fixed(_) | Token::Masked(_) => {
                    values += 1;
                    equal += usize::from(mine == others);
                }
                Token::OneOf(_) | Token::Number | Token::Word | Token::Value => values += 1,
            }
        }
        self.tokens.len() == other.tokens.len() && equal * 5 >= values * 3
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
        self.members.extend(other.members);
    }
}

/// Lines by pattern.
#[derive(Debug, Default)]
pub(crate) struct Templates {
    by_text: HashMap<u64, usize>,
    retained: Vec<LineTemplate>,
    /// Templates by skeleton, once similar ones were merged.
    alike: Option<HashMap<u64, Vec<usize>>>,
    /// Lines that no pattern was kept for.
    pub other_lines: u64,
}

impl Templates {
    /// Takes in a masked line; `example` gives it as it stands in the file.
    pub(crate) fn push(&mut self, masked: &Masked, line: u64, example: impl Fn() -> String) {
        let hash = xxh3_64(masked.text.as_bytes());
        if let Some(place) = self.by_text.get(&hash) {
            self.retained[*place].lines += 1;
            return;
        }
        if self.alike.is_none() {
            if self.retained.len() < MOST_TEMPLATES {
                self.by_text.insert(hash, self.retained.len());
                self.retained.push(LineTemplate::of(masked, line, example()));
                return;
            }
            self.merge();
        }
        let place = self.place(LineTemplate::of(masked, line, example()));
        // Remembered up to a bound: a file of different lines would fill the memory.
        if let Some(place) = place.filter(|_| self.by_text.len() < REMEMBERED) {
            self.by_text.insert(hash, place);
        }
    }

    /// Adds a template to the ones like it, or by itself; `None` where there is no room.
    fn place(&mut self, template: LineTemplate) -> Option<usize> {
        let alike = self
            .alike
            .get_or_insert_default()
            .entry(template.skeleton())
            .or_default();
        let like = alike
            .iter()
            .find(|place| self.retained[**place].is_like(&template));
        let last = alike.last().filter(|_| alike.len() >= MOST_ALIKE);
        if let Some(place) = like.or(last).copied() {
            self.retained[place].absorb(template);
            return Some(place);
        }
        if self.retained.len() >= MOST_TEMPLATES {
            self.other_lines += 1;
            return None;
        }
        alike.push(self.retained.len());
        self.retained.push(template);
        Some(self.retained.len() - 1)
    }

    /// Makes similar templates one.
    fn merge(&mut self) {
        let mut groups: BTreeMap<u64, Vec<LineTemplate>> = BTreeMap::new();
        for (place, mut template) in std::mem::take(&mut self.retained).into_iter().enumerate() {
            template.members = vec![place];
            groups.entry(template.skeleton()).or_default().push(template);
        }
        let mut alike: HashMap<u64, Vec<usize>> = HashMap::new();
        let mut moved = HashMap::new();
        for (skeleton, group) in groups {
            for mut template in merge_alike(group) {
                let place = self.retained.len();
                moved.extend(template.members.drain(..).map(|before| (before, place)));
                alike.entry(skeleton).or_default().push(place);
                self.retained.push(template);
            }
        }
        for place in self.by_text.values_mut() {
            *place = moved.get(place).copied().unwrap_or(*place);
        }
        self.alike = Some(alike);
    }

    /// The patterns, the most frequent first.
    pub(crate) fn finish(mut self) -> Vec<LineTemplate> {
        self.merge();
        let mut templates = self.retained;
        templates.sort_by_cached_key(|template| (std::cmp::Reverse(template.lines), template.first_line));
        templates
    }
}

/// Makes similar templates of one skeleton one.
fn merge_alike(mut templates: Vec<LineTemplate>) -> Vec<LineTemplate> {
    while templates.len() > FEW_ALIKE {
        let before = templates.len();
        templates = merge_at_best_place(templates);
        if templates.len() == before {
            break;
        }
    }
    templates.sort_by_cached_key(|template| (std::cmp::Reverse(template.lines), template.pattern()));
    let mut merged: Vec<LineTemplate> = Vec::new();
    for template in templates {
        match merged.iter_mut().find(|one| one.is_like(&template)) {
            Some(one) => one.absorb(template),
            None => merged.push(template),
        }
    }
    if merged.len() > MOST_ALIKE {
        let rest = merged.split_off(MOST_ALIKE - 1);
        merged.extend(rest.into_iter().reduce(|mut all, one| {
            all.absorb(one);
            all
        }));
    }
    merged
}

/// Makes templates one that differ in one place alone, in the place where this leaves the fewest, if few enough.
fn merge_at_best_place(templates: Vec<LineTemplate>) -> Vec<LineTemplate> {
    let parts = templates.first().map_or(0, |template| template.tokens.len());
    let without = |template: &LineTemplate, place: usize| {
        let mut tokens = template.tokens.clone();
        tokens[place] = Token::Value;
        tokens
    };
    let left = |place: usize| {
        let kinds: BTreeSet<_> = templates
            .iter()
            .map(|template| without(template, place))
            .collect();
        kinds.len()
    };
    let is_value = |place: &usize| !matches!(templates[0].tokens[*place], Token::Mark(_));
    let best = (0..parts)
        .filter(is_value)
        .map(|place| (left(place), place))
        .min();
    let Some((_, place)) = best.filter(|(left, _)| left * GAIN <= templates.len()) else {
        return templates;
    };
    let mut merged: BTreeMap<Vec<Token>, LineTemplate> = BTreeMap::new();
    for template in templates {
        match merged.entry(without(&template, place)) {
            std::collections::btree_map::Entry::Occupied(mut one) => one.get_mut().absorb(template),
            std::collections::btree_map::Entry::Vacant(free) => {
                free.insert(template);
            }
        }
    }
    merged.into_values().collect()
}

#[cfg(test)]
mod tests;
