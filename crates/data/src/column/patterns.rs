//! Shapes of the texts of a column (`AA-9999`), counted in bounded memory.

use std::collections::HashMap;

/// Characters of a text that its shape shows, within the bytes that are retained of it; what follows is `…`.
const SHAPED_CHARACTERS: usize = 24;
/// Shapes up to which runs keep their lengths, and shapes that are counted at all.
const EXACT_SHAPES: usize = 16;
const COUNTED_SHAPES: usize = 48;
const SHOWN_SHAPES: usize = 5;

/// Shapes with their counts. Each is counted from its first appearance or not at all.
#[derive(Clone, Debug, Default)]
pub(super) struct Patterns {
    counts: HashMap<Box<str>, u64>,
    /// True where sequences of letters and of digits are shown without their lengths (`a+-9+`).
    is_collapsed: bool,
    uncounted: u64,
    buffer: String,
}

impl Patterns {
    /// Takes in the start of a text that stands `count` times, and whether more follows.
    pub(super) fn push(&mut self, start: &str, is_cut: bool, count: u64) {
        write_shape(start, is_cut, &mut self.buffer);
        if self.is_collapsed {
            self.buffer = collapse(&self.buffer);
        }
        if let Some(known) = self.counts.get_mut(self.buffer.as_str()) {
            *known += count;
            return;
        }
        if !self.is_collapsed && self.counts.len() >= EXACT_SHAPES {
            self.is_collapsed = true;
            for (shape, known) in std::mem::take(&mut self.counts) {
                *self.counts.entry(collapse(&shape).into()).or_default() += known;
            }
            self.buffer = collapse(&self.buffer);
        }
        if self.counts.len() < COUNTED_SHAPES || self.counts.contains_key(self.buffer.as_str()) {
            *self.counts.entry(self.buffer.as_str().into()).or_default() += count;
        } else {
            self.uncounted += count;
        }
    }

    /// The most frequent shapes, and whether there are more.
    pub(super) fn finish(self) -> (Vec<(String, u64)>, bool) {
        let mut shapes: Vec<_> = self
            .counts
            .into_iter()
            .map(|(shape, count)| (shape.into_string(), count))
            .collect();
        let all = shapes.len();
        shapes.sort_by(|(shape, count), (other, others)| others.cmp(count).then_with(|| shape.cmp(other)));
        // A shape that is not counted may be as frequent as all of those together.
        shapes.retain(|(_, count)| *count >= self.uncounted);
        shapes.truncate(SHOWN_SHAPES);
        let has_more = shapes.len() < all || self.uncounted > 0;
        (shapes, has_more)
    }
}

/// Capital letters as `A`, others as `a`, digits as `9`, blanks as ` `, the rest as it is.
fn write_shape(start: &str, is_cut: bool, shape: &mut String) {
    shape.clear();
    let mut rest = start.chars();
    for character in rest.by_ref().take(SHAPED_CHARACTERS) {
        shape.push(match character {
            'A'..='Z' => 'A',
            'a'..='z' => 'a',
            '0'..='9' => '9',
            character if character.is_ascii_graphic() => character,
            character if character.is_uppercase() => 'A',
            character if character.is_alphabetic() => 'a',
            character if character.is_numeric() => '9',
            character if character.is_whitespace() || character.is_control() => ' ',
            other => other,
        });
    }
    if is_cut || !rest.as_str().is_empty() {
        shape.push('…');
    }
}

/// A shape with every sequence of letters as `a+` and every sequence of digits as `9+`.
fn collapse(shape: &str) -> String {
    let mut short = String::with_capacity(shape.len());
    for character in shape.chars() {
        let run = match character {
            'A' | 'a' => "a+",
            '9' => "9+",
            other => {
                short.push(other);
                continue;
            }
        };
        if !short.ends_with(run) {
            short.push_str(run);
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns<'a>(texts: impl IntoIterator<Item = &'a str>) -> (Vec<(String, u64)>, bool) {
        let mut patterns = Patterns::default();
        texts.into_iter().for_each(|text| patterns.push(text, false, 1));
        patterns.finish()
    }

    #[test]
    fn few_shapes_keep_the_lengths_of_their_sequences() {
        let (shapes, has_more) = patterns(["DE-1234", "FR-5678", "Köln 7"]);
        assert_eq!(shapes, [("AA-9999".to_owned(), 2), ("Aaaa 9".to_owned(), 1)]);
        assert!(!has_more);
    }

    #[test]
    fn many_shapes_lose_the_lengths_of_their_sequences_and_no_count() {
        let names: Vec<_> = (1..=30)
            .map(|length| format!("{}-{}", "x".repeat(length % 20 + 1), length))
            .collect();
        let (shapes, has_more) = patterns(names.iter().map(String::as_str));
        assert_eq!(shapes, [("a+-9+".to_owned(), 30)]);
        assert!(!has_more);
    }

    #[test]
    fn countless_shapes_have_no_most_frequent_one() {
        let texts: Vec<_> = (0..200u32)
            .map(|number| format!("{number:08b}").replace('0', "-").replace('1', "#"))
            .collect();
        let (shapes, has_more) = patterns(texts.iter().map(String::as_str));
        assert!(shapes.is_empty() && has_more);
    }

    #[test]
    fn long_texts_have_the_shape_of_their_start() {
        assert_eq!(
            patterns(["x".repeat(1000).as_str()]).0,
            [(format!("{}…", "a".repeat(24)), 1)]
        );
    }
}
