//! Masked lines gathered by pattern, in bounded memory. Lines are first counted by their masked text; once there are too
//! many of those, and at the end, similar ones become one pattern. Until then the order of the lines plays no part.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use super::mask::{Kind, Masked, Part};

/// Patterns that are kept.
pub const MOST_TEMPLATES: usize = 1_000;
/// Patterns of one skeleton; further ones become a single one.
const MOST_ALIKE: usize = 32;
/// Masked texts whose pattern is remembered.
const REMEMBERED: usize = 16 * 1024;
/// Patterns of one skeleton from which a place is looked for in which they differ.
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
    Masked(Kind),
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
        let is_number = |token: &Self| matches!(token, Self::Number | Self::Masked(Kind::Int | Kind::Float));
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
pub struct Template {
    tokens: Vec<Token>,
    /// How many lines have it.
    pub lines: u64,
    /// The first of them.
    pub first_line: u64,
    /// The first of them as it stands in the file, cut where it is long.
    pub example: String,
    /// Masked texts that belong to it, by their place in the list before patterns were merged.
    members: Vec<usize>,
}

impl Template {
    fn of(masked: &Masked, first_line: u64, example: String) -> Self {
        let token = |(part, range): &(Part, std::ops::Range<usize>)| {
            let text = || masked.text[range.clone()].into();
            match part {
                Part::Mark => Token::Mark(text()),
                Part::Word => Token::Fixed(text()),
                Part::Masked(kind) => Token::Masked(*kind),
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
    pub fn pattern(&self) -> String {
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
                Token::Masked(kind @ (Kind::Time | Kind::Rest)) => hash.update(&[0, *kind as u8]),
                _ => hash.update(&[0xff]),
            }
        }
        hash.digest()
    }

    /// Whether at least three of five values are the same.
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
pub struct Templates {
    by_text: HashMap<u64, usize>,
    kept: Vec<Template>,
    /// Templates by skeleton, once similar ones were merged.
    alike: Option<HashMap<u64, Vec<usize>>>,
    /// Lines that no pattern was kept for.
    pub other_lines: u64,
}

impl Templates {
    /// Takes in a masked line; `example` gives it as it stands in the file.
    pub fn push(&mut self, masked: &Masked, line: u64, example: impl Fn() -> String) {
        let hash = xxh3_64(masked.text.as_bytes());
        if let Some(place) = self.by_text.get(&hash) {
            self.kept[*place].lines += 1;
            return;
        }
        if self.alike.is_none() {
            if self.kept.len() < MOST_TEMPLATES {
                self.by_text.insert(hash, self.kept.len());
                self.kept.push(Template::of(masked, line, example()));
                return;
            }
            self.merge();
        }
        let place = self.place(Template::of(masked, line, example()));
        if let Some(place) = place.filter(|_| self.by_text.len() < REMEMBERED) {
            self.by_text.insert(hash, place);
        }
    }

    /// Adds a template to the ones like it, or by itself; `None` where there is no room.
    fn place(&mut self, template: Template) -> Option<usize> {
        let alike = self
            .alike
            .get_or_insert_default()
            .entry(template.skeleton())
            .or_default();
        let like = alike.iter().find(|place| self.kept[**place].is_like(&template));
        let last = alike.last().filter(|_| alike.len() >= MOST_ALIKE);
        if let Some(place) = like.or(last).copied() {
            self.kept[place].absorb(template);
            return Some(place);
        }
        if self.kept.len() >= MOST_TEMPLATES {
            self.other_lines += 1;
            return None;
        }
        alike.push(self.kept.len());
        self.kept.push(template);
        Some(self.kept.len() - 1)
    }

    /// Makes similar templates one.
    fn merge(&mut self) {
        let mut groups: BTreeMap<u64, Vec<Template>> = BTreeMap::new();
        for (place, mut template) in std::mem::take(&mut self.kept).into_iter().enumerate() {
            template.members = vec![place];
            groups.entry(template.skeleton()).or_default().push(template);
        }
        let mut alike: HashMap<u64, Vec<usize>> = HashMap::new();
        let mut moved = HashMap::new();
        for (skeleton, group) in groups {
            for mut template in merge_alike(group) {
                let place = self.kept.len();
                moved.extend(template.members.drain(..).map(|before| (before, place)));
                alike.entry(skeleton).or_default().push(place);
                self.kept.push(template);
            }
        }
        for place in self.by_text.values_mut() {
            *place = moved.get(place).copied().unwrap_or(*place);
        }
        self.alike = Some(alike);
    }

    /// The patterns, the most frequent first.
    pub fn finish(mut self) -> Vec<Template> {
        self.merge();
        let mut templates = self.kept;
        templates.sort_by_cached_key(|template| (std::cmp::Reverse(template.lines), template.first_line));
        templates
    }
}

/// Makes similar templates of one skeleton one.
fn merge_alike(mut templates: Vec<Template>) -> Vec<Template> {
    while templates.len() > FEW_ALIKE {
        let before = templates.len();
        templates = merge_at_best_place(templates);
        if templates.len() == before {
            break;
        }
    }
    templates.sort_by_cached_key(|template| (std::cmp::Reverse(template.lines), template.pattern()));
    let mut merged: Vec<Template> = Vec::new();
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
fn merge_at_best_place(templates: Vec<Template>) -> Vec<Template> {
    let parts = templates.first().map_or(0, |template| template.tokens.len());
    let without = |template: &Template, place: usize| {
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
    let mut merged: BTreeMap<Vec<Token>, Template> = BTreeMap::new();
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
mod tests {
    use super::*;

    fn templates(lines: impl IntoIterator<Item = String>) -> Vec<(String, u64)> {
        let mut templates = Templates::default();
        let mut masked = Masked::default();
        for (number, line) in (1..).zip(lines) {
            masked.mask(&line);
            templates.push(&masked, number, || line.clone());
        }
        let other = templates.other_lines;
        let mut found: Vec<_> = templates
            .finish()
            .into_iter()
            .map(|template| (template.pattern(), template.lines))
            .collect();
        if other > 0 {
            found.push(("other".to_owned(), other));
        }
        found
    }

    fn pattern(text: &str, lines: u64) -> (String, u64) {
        (text.to_owned(), lines)
    }

    /// A name without digits for each number.
    fn name(mut number: u32) -> String {
        let mut name = String::new();
        loop {
            name.insert(0, char::from(b'a' + u8::try_from(number % 26).unwrap()));
            number /= 26;
            if number == 0 {
                return name;
            }
        }
    }

    #[test]
    fn few_alternatives_are_listed() {
        let lines = [
            "service web started ok",
            "service web stopped ok",
            "service web failed ok",
        ];
        assert_eq!(
            templates(lines.map(str::to_owned)),
            [pattern("service web <failed|started|stopped> ok", 3)]
        );
    }

    #[test]
    fn messages_of_equal_length_stay_apart() {
        let lines = ["user logged in twice", "disk is almost full"];
        assert_eq!(templates(lines.map(str::to_owned)).len(), 2);
    }

    #[test]
    fn many_names_in_one_place_are_one_pattern() {
        let lines = (0..3_000).map(|number| format!("user {} logged in", name(number)));
        assert_eq!(templates(lines), [pattern("user <word> logged in", 3_000)]);
        let words = (0..500).map(name);
        assert_eq!(templates(words), [pattern("<word>", 500)]);
    }

    #[test]
    fn one_variable_place_leaves_other_messages_apart() {
        let users = (0..300).map(|number| format!("user {} logged in", name(number)));
        let disks = (0..300).map(|number| format!("disk {} is full", name(number)));
        assert_eq!(
            templates(users.chain(disks)),
            [
                pattern("user <word> logged in", 300),
                pattern("disk <word> is full", 300)
            ]
        );
    }

    #[test]
    fn numbers_of_both_kinds_are_numbers_and_a_dash_makes_them_values() {
        let lines = ["a took 1 of 3", "a took 1.5 of 3"];
        assert_eq!(
            templates(lines.map(str::to_owned)),
            [pattern("a took <number> of <int>", 2)]
        );
        let lines = ["a took 1 of 3", "a took - of 3"];
        assert_eq!(
            templates(lines.map(str::to_owned)),
            [pattern("a took <value> of <int>", 2)]
        );
    }

    #[test]
    fn the_order_of_lines_plays_no_part() {
        let line = |number: u32| {
            format!(
                "{} {} from {}",
                ["get", "put"][number as usize % 2],
                name(number % 40),
                name(number % 7)
            )
        };
        let forward = templates((0..900).map(line));
        let mut backward = templates((0..900).rev().map(line));
        backward.sort();
        let mut sorted = forward.clone();
        sorted.sort();
        assert_eq!(sorted, backward);
    }

    #[test]
    fn every_line_is_counted_however_many_patterns_there_are() {
        let line = |number: u32| {
            let words: Vec<_> = (0..=number % 60)
                .map(|word| name(number * 7_919 + word * 31))
                .collect();
            words.join(["-> ", " : ", "; ", " (", " [", " ="][number as usize / 60 % 6])
        };
        let found = templates((0..6_000).map(line));
        assert_eq!(found.iter().map(|(_, lines)| lines).sum::<u64>(), 6_000);
        assert!(found.len() <= MOST_TEMPLATES + 1, "{}", found.len());
    }
}
