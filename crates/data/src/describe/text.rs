//! Describes a text by its lines, in one pass over all of them.

use std::collections::BTreeMap;

use crate::column::distinct::cut_at;
use crate::lines::mask::Masked;
use crate::lines::reader::{Line, LineReader};
use crate::lines::stamp::Stamp;
use crate::lines::templates::{LineTemplate, Templates};
use crate::profile::{Content, Continuations, LinePattern, LineTimes, RecordStart, SampleRow, TextProfile};
use crate::rows::cut_with_marker;
use crate::source::{Encoding, Source};

const FIRST_LINES: usize = 10;
const LONGEST_SHOWN_LINE: usize = 360;
const LONGEST_PATTERN: usize = 300;
const MOST_PATTERNS: usize = 8;
/// Lines of a log from which on its records have timestamps or levels, and further lines go on with them.
const RECORD_SHARE: Share = Share { of: 5, at_least: 3 };
/// Lines that the listed patterns must cover to describe the text.
const PATTERN_SHARE: Share = Share { of: 2, at_least: 1 };

/// A share of some lines.
#[derive(Clone, Copy, Debug)]
struct Share {
    /// Of so many,
    of: u64,
    /// so many at least.
    at_least: u64,
}

impl Share {
    /// Reports whether `count` of `all` are enough; of none never.
    const fn has(self, count: u64, all: u64) -> bool {
        all > 0 && count * self.of >= all * self.at_least
    }
}

/// The lines of a text: how many, how they are written, what varies in them.
pub(super) fn text(source: &Source, encoding: Encoding) -> std::io::Result<Content> {
    let mut reader = LineReader::new(source.open_decoded(encoding)?);
    let mut survey = Survey::default();
    while let Some(line) = reader.read()? {
        survey.push(line);
    }
    Ok(Content::Text(survey.finish()))
}

/// Statistics of the lines so far.
#[derive(Default)]
struct Survey {
    profile: TextProfile,
    masked: Masked,
    templates: Templates,
    times: BTreeMap<String, Times>,
    levels: BTreeMap<String, u64>,
    indented: Unmarked,
    without_time: Unmarked,
    without_level: Unmarked,
}

/// Lines that lack something.
#[derive(Clone, Copy, Default)]
struct Unmarked {
    lines: u64,
    first: u64,
    /// Those of them that do not start with a blank.
    at_margin: u64,
}

impl Unmarked {
    fn push(&mut self, number: u64, is_indented: bool) {
        if self.lines == 0 {
            self.first = number;
        }
        self.lines += 1;
        self.at_margin += u64::from(!is_indented);
    }
}

/// Timestamps of one format.
struct Times {
    lines: u64,
    first: (Option<i64>, String),
    last: (Option<i64>, String),
    previous: Option<i64>,
    steps_back: u64,
}

impl Survey {
    fn push(&mut self, line: Line<'_>) {
        self.profile.lines += 1;
        self.profile.longest_line = self.profile.longest_line.max(line.length);
        let text = String::from_utf8_lossy(line.start);
        if self.profile.first_lines.len() < FIRST_LINES {
            self.profile.first_lines.push(shown_line(&text, line.length));
        }
        if line.length == line.start.len() as u64 && text.trim().is_empty() {
            self.profile.empty_lines += 1;
            return;
        }
        let is_indented = text.starts_with(char::is_whitespace);
        if is_indented {
            self.indented.push(line.number, true);
        }
        self.masked.mask(&text);
        match &self.masked.time {
            Some((place, stamp)) => Times::push(&mut self.times, stamp, &text[place.clone()]),
            None => self.without_time.push(line.number, is_indented),
        }
        match &self.masked.level {
            Some(place) => {
                let level = &self.masked.text[place.clone()];
                if let Some(count) = self.levels.get_mut(level) {
                    *count += 1;
                } else {
                    self.levels.insert(level.to_owned(), 1);
                }
            }
            None => self.without_level.push(line.number, is_indented),
        }
        self.templates
            .push(&self.masked, line.number, || shown_line(&text, line.length));
    }

    fn finish(self) -> TextProfile {
        let mut profile = self.profile;
        let filled = profile.lines - profile.empty_lines;
        let at_margin = filled - self.indented.lines;
        let (templates, other_lines) = self.templates.finish();
        let listed: Vec<_> = templates.iter().take(MOST_PATTERNS).collect();
        let repeated: u64 = listed
            .iter()
            .map(|one| one.lines)
            .filter(|lines| *lines > 1)
            .sum();
        if PATTERN_SHARE.has(repeated, filled) {
            let rest: u64 = templates.iter().skip(listed.len()).map(|one| one.lines).sum();
            profile.further_patterns = (
                (templates.len() - listed.len()) as u64 + u64::from(other_lines > 0),
                rest + other_lines,
            );
            profile.patterns = listed.into_iter().map(line_pattern).collect();
        }
        let starts = [
            (RecordStart::Time, self.without_time),
            (RecordStart::Level, self.without_level),
        ];
        let start = starts
            .into_iter()
            .find(|(_, without)| RECORD_SHARE.has(at_margin - without.at_margin, at_margin));
        let Some((lack, without)) = start else {
            return profile;
        };
        profile.continuations = (without.lines > 0).then_some(Continuations {
            lines: without.lines,
            first: without.first,
            lack,
        });
        profile.times = self
            .times
            .into_iter()
            .map(|(format, times)| times.finish(format))
            .collect();
        profile.times.sort_by_key(|times| std::cmp::Reverse(times.lines));
        profile.levels = self.levels.into_iter().collect();
        profile.levels.sort_by_key(|(_, lines)| std::cmp::Reverse(*lines));
        profile
    }
}

impl Times {
    fn push(all: &mut BTreeMap<String, Self>, stamp: &Stamp, text: &str) {
        let Some(times) = all.get_mut(&stamp.format) else {
            let only = (stamp.micros, text.to_owned());
            all.insert(
                stamp.format.clone(),
                Self {
                    lines: 1,
                    first: only.clone(),
                    last: only,
                    previous: stamp.micros,
                    steps_back: 0,
                },
            );
            return;
        };
        times.lines += 1;
        let replace = |kept: &mut (Option<i64>, String)| {
            kept.0 = stamp.micros;
            text.clone_into(&mut kept.1);
        };
        if stamp.micros < times.first.0 {
            replace(&mut times.first);
        }
        if stamp.micros.is_none() || stamp.micros > times.last.0 {
            replace(&mut times.last);
        }
        times.steps_back += u64::from(stamp.micros < times.previous);
        times.previous = stamp.micros;
    }

    fn finish(self, format: String) -> LineTimes {
        LineTimes {
            format,
            lines: self.lines,
            first: self.first.1,
            last: self.last.1,
            steps_back: self.steps_back,
        }
    }
}

fn line_pattern(template: &LineTemplate) -> LinePattern {
    LinePattern {
        pattern: cut_with_marker(&template.pattern(), LONGEST_PATTERN),
        lines: template.lines,
        example: SampleRow {
            number: template.first_line,
            text: template.example.clone(),
        },
    }
}

/// A line of a text; of a long one only the start is there.
fn shown_line(start: &str, length: u64) -> String {
    if length > start.len() as u64 && start.len() > LONGEST_SHOWN_LINE {
        return format!("{}…[cut]", cut_at(start, LONGEST_SHOWN_LINE));
    }
    cut_with_marker(start, LONGEST_SHOWN_LINE)
}

#[cfg(test)]
mod tests;
