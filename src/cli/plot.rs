//! Small distributions for the terminal: a histogram, bars of the frequent values, the share of missing ones.

use console::{Term, measure_text_width};
use owo_colors::OwoColorize as _;

use super::text::{MAX_COLUMNS, cut, thousands};
use codegen_api::common::Exposure;
use codegen_data::context::column_label;
use codegen_data::exposure::shown_names;
use codegen_data::profile::{ColumnProfile, ColumnType, NumberStats, SampleProfile, TableProfile};

/// Blanks before a plot, so that it belongs to the line above.
const INDENT: usize = 4;
/// Frequent values that get a bar.
const BARS: usize = 6;
/// Widest name of a bar.
const WIDEST_NAME: usize = 24;
/// Longest bar.
const LONGEST_BAR: usize = 40;
/// Narrowest terminal that is drawn for.
const NARROWEST: usize = 40;
/// From here on the bars of a histogram are two characters wide.
const ROOMY: usize = 72;
/// Heights of a histogram's bars, the lowest first; the first stands for nothing at all.
const HEIGHTS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII_HEIGHTS: [char; 9] = [' ', '.', ',', ':', '-', '=', '+', '*', '#'];

/// Abilities of a screen for drawing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Screen {
    /// Widest line.
    columns: usize,
    /// True where block characters are shown as such.
    is_unicode: bool,
    /// True where colours are shown.
    is_coloured: bool,
}

impl Screen {
    /// The screen behind stdout; where it is none, as wide as text is at most.
    pub(super) fn of_stdout(is_coloured: bool) -> Self {
        let term = Term::stdout();
        let width = if term.is_term() {
            term.size_checked().map(|(_, columns)| usize::from(columns))
        } else {
            None
        };
        Self {
            columns: width.unwrap_or(MAX_COLUMNS).clamp(NARROWEST, MAX_COLUMNS),
            is_unicode: is_utf8(|name| std::env::var(name).ok()),
            is_coloured,
        }
    }
}

/// Reports whether the locale writes UTF-8: the first of its variables that says something decides.
fn is_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
    ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| variable(name).filter(|value| !value.is_empty()))
        .is_some_and(|value| {
            let value = value.to_ascii_lowercase();
            value.contains("utf-8") || value.contains("utf8")
        })
}

/// Puts the plots of each column below its line in the text of a context,
/// which calls the columns as `exposure` does.
pub(super) fn annotate(text: &str, profiles: &[SampleProfile], exposure: Exposure, screen: Screen) -> String {
    let mut drawn = String::with_capacity(2 * text.len());
    let mut walk = Walk::default();
    for line in text.lines() {
        drawn.push_str(line);
        drawn.push('\n');
        if let Some(sample) = profiles
            .iter()
            .find(|profile| line.starts_with(&format!("## {} (", profile.name)))
        {
            walk = Walk::of(sample, exposure);
        } else if line.starts_with("### ") {
            walk.next_sheet();
        } else if let Some((column, table)) = walk.column_of(line) {
            for plot in plots(column, table.records, screen) {
                drawn.push_str(&plot);
                drawn.push('\n');
            }
        }
    }
    drawn
}

/// Beginning of the line of a column, and the column.
type Shown<'a> = (String, &'a ColumnProfile);

fn shown(table: &TableProfile, exposure: Exposure) -> Vec<Shown<'_>> {
    let names = shown_names(table, exposure).into_iter();
    let columns = names.zip(&table.columns);
    columns
        .filter_map(|(name, column)| Some((column_label(&name?, column), column)))
        .collect()
}

/// The columns of a sample whose lines are still to come.
#[derive(Default)]
struct Walk<'a> {
    tables: Vec<(&'a TableProfile, Vec<Shown<'a>>)>,
    headings: usize,
    column: usize,
}

impl<'a> Walk<'a> {
    fn of(sample: &'a SampleProfile, exposure: Exposure) -> Self {
        Self {
            tables: sample
                .tables()
                .map(|table| (table, shown(table, exposure)))
                .collect(),
            ..Self::default()
        }
    }

    fn next_sheet(&mut self) {
        self.headings += 1;
        self.column = 0;
    }

    fn column_of(&mut self, line: &str) -> Option<(&'a ColumnProfile, &'a TableProfile)> {
        // A sample of one table has no headings of sheets.
        let (table, columns) = self.tables.get(self.headings.saturating_sub(1))?;
        let (label, column) = columns.get(self.column)?;
        line.starts_with(label).then(|| {
            self.column += 1;
            (*column, *table)
        })
    }
}

/// The plots of a column, one a line; none where there is nothing to see.
fn plots(column: &ColumnProfile, records: u64, screen: Screen) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(histogram(column, screen));
    if lines.is_empty() {
        lines.extend(frequent(column, screen));
    }
    lines.extend(missing(column, records, screen));
    lines
}

fn histogram(column: &ColumnProfile, screen: Screen) -> Option<String> {
    // Digits with leading zeros are codes; their sizes say nothing.
    let is_code = column.type_ == ColumnType::Text && column.leading_zeros > 0;
    let numbers = column.numbers.as_ref().filter(|_| !is_code);
    let (bins, min, max) = match (numbers, &column.times) {
        (
            Some(NumberStats {
                histogram, min, max, ..
            }),
            _,
        ) => (histogram, min, max),
        (None, Some(times)) => (&times.histogram, &times.min, &times.max),
        (None, None) => return None,
    };
    let most = *bins.iter().max()?;
    if most == 0 || min == max {
        return None;
    }
    let heights = if screen.is_unicode { HEIGHTS } else { ASCII_HEIGHTS };
    let steps = heights.len() as u64 - 1;
    let width = if screen.columns < ROOMY { 1 } else { 2 };
    let bars: String = bins
        .iter()
        .map(|count| heights[usize::try_from((count * steps).div_ceil(most)).unwrap_or_default()])
        .flat_map(|bar| std::iter::repeat_n(bar, width))
        .collect();
    let room = screen.columns.saturating_sub(INDENT + width * bins.len() + 2);
    let range = format!("{min} to {max}, {} in the fullest bin", thousands(most));
    let line = format!(
        "{:INDENT$}{}  {}",
        "",
        painted(&bars, screen),
        dimmed(&cut(&range, room), screen)
    );
    Some(line)
}

fn frequent(column: &ColumnProfile, screen: Screen) -> Vec<String> {
    let shown = &column.top[..column.top.len().min(BARS)];
    let Some(most) = shown
        .iter()
        .map(|(_, count)| *count)
        .max()
        .filter(|most| *most > 0)
    else {
        return Vec::new();
    };
    let names: Vec<String> = shown
        .iter()
        .map(|(value, _)| cut(value, WIDEST_NAME.min(screen.columns / 3)))
        .collect();
    let widest = names
        .iter()
        .map(|name| measure_text_width(name))
        .max()
        .unwrap_or(0);
    names
        .iter()
        .zip(shown)
        .map(|(name, (_, count))| bar(name, widest, *count, most, &thousands(*count), screen))
        .collect()
}

fn missing(column: &ColumnProfile, records: u64, screen: Screen) -> Option<String> {
    let absent = column
        .present
        .map_or(0, |present| records.saturating_sub(present));
    let count = column.null_count() + absent;
    // A path through a list has more values than there are records: no share of them can be drawn.
    if count == 0 || count > records {
        return None;
    }
    let share = count as f64 * 100.0 / records as f64;
    let said = format!("{} of {} ({share:.1} %)", thousands(count), thousands(records));
    Some(bar("missing", "missing".len(), count, records, &said, screen))
}

/// A name, a bar as long as `count` is of `most`, and what it stands for.
fn bar(name: &str, widest: usize, count: u64, most: u64, said: &str, screen: Screen) -> String {
    let longest = (screen.columns - INDENT)
        .saturating_sub(widest + said.chars().count() + 2)
        .clamp(1, LONGEST_BAR);
    // What is there is seen, however small its share.
    let cells = (u128::from(count) * longest as u128).div_ceil(u128::from(most));
    let cells = usize::try_from(cells).unwrap_or(longest).min(longest);
    let cell = if screen.is_unicode { "█" } else { "#" };
    let gap = widest.saturating_sub(measure_text_width(name)) + 1;
    format!(
        "{:INDENT$}{name}{:gap$}{} {}",
        "",
        "",
        painted(&cell.repeat(cells), screen),
        dimmed(said, screen)
    )
}

fn painted(bars: &str, screen: Screen) -> String {
    if screen.is_coloured {
        bars.cyan().to_string()
    } else {
        bars.to_owned()
    }
}

fn dimmed(text: &str, screen: Screen) -> String {
    if screen.is_coloured {
        text.dimmed().to_string()
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests;
