//! Describes JSON and JSON Lines as records with paths.

use std::cell::Cell;
use std::io::{self, BufRead};

use crate::detect::Detection;
use crate::format::FileFormat;
use crate::format::json::keys::{Census, DataKeys, FEW_PATHS};
use crate::format::json::nonfinite::NonFinite;
use crate::format::json::{self, JsonRecord, JsonTable, stream};
use crate::format::shape::LinePlaces;
use crate::profile::{ColumnProfile, Content, Layout};
use crate::remark::Remark;
use crate::source::{Encoding, Source};

use super::DescribeOptions;
use super::text::text;

/// Rounds that search for objects whose keys are data; each finds those below the ones found before.
const MOST_ROUNDS: usize = 3;

/// A JSON text that can be read again and again.
#[derive(Clone, Copy)]
pub(crate) struct Json<'a> {
    /// Its bytes.
    pub source: &'a Source,
    /// Encoding of its characters.
    pub encoding: Encoding,
    /// Layout of its records.
    pub layout: &'a Layout,
    /// Counts words such as `NaN` in the place of numbers, where they are read as Python does.
    pub non_finite: Option<&'a Cell<u64>>,
}

/// Findings of one pass over it.
struct Found {
    table: JsonTable,
    /// Fault of the document as a whole.
    syntax: Option<String>,
    faults: LinePlaces,
    fault: String,
}

impl Json<'_> {
    /// Hands over every record; returns what is wrong with the text as a whole.
    pub(crate) fn each(&self, mut take: impl FnMut(JsonRecord<'_>)) -> io::Result<Option<String>> {
        let mut input: Box<dyn BufRead + '_> = self.source.open_decoded(self.encoding)?;
        if let Some(count) = self.non_finite {
            count.set(0);
            input = Box::new(NonFinite::new(input, count));
        }
        match self.layout {
            Layout::JsonLines => json::each_line(input, take).map(|()| None),
            Layout::JsonValues => stream::each_value_of_stream(input, take),
            layout => json::each_element(input, *layout == Layout::JsonArray, &mut take),
        }
    }

    fn read(&self, keys: &DataKeys, options: DescribeOptions) -> io::Result<Found> {
        let mut table = JsonTable::new(options.max_rows > 0, keys.clone());
        let mut faults = LinePlaces::default();
        let mut fault = String::new();
        let syntax = self.each(|record| match record.value {
            Ok(value) => {
                if *self.layout == Layout::JsonLines {
                    table.push(&value, record.raw);
                } else {
                    table.push(&value, &json::compact(record.raw));
                }
            }
            Err(error) => {
                faults.push(record.place);
                fault = error;
            }
        })?;
        Ok(Found {
            table,
            syntax,
            faults,
            fault,
        })
    }

    /// Reads it with the keys that are data merged, where its paths are so many that some may be.
    fn read_all(&self, options: DescribeOptions) -> io::Result<(Found, DataKeys)> {
        let mut keys = DataKeys::default();
        let mut found = self.read(&keys, options)?;
        for _ in 0..MOST_ROUNDS {
            if found.table.path_count() <= FEW_PATHS {
                break;
            }
            let mut census = Census::default();
            self.each(|record| {
                if let Ok(value) = record.value {
                    census.count(&value, &keys);
                }
            })?;
            if !keys.add(census) {
                break;
            }
            found = self.read(&keys, options)?;
        }
        Ok((found, keys))
    }

    fn places(&self, places: &LinePlaces) -> String {
        match self.layout {
            Layout::JsonLines => places.list(),
            _ => places.list().replace("line", "record"),
        }
    }

    fn remarks(&self, found: &Found, keys: &DataKeys, remarks: &mut Vec<Remark>) {
        let Found { table, faults, .. } = found;
        if let Some(error) = &found.syntax {
            remarks.push(format!("not valid JSON ({error}); only what stands before is described").into());
        }
        if faults.count > 0 {
            let (count, fault, places) = (faults.count, &found.fault, self.places(faults));
            remarks.push(format!("records that cannot be read: {count} ({fault}): {places}").into());
        }
        if table.too_deep > 0 {
            remarks.push(
                format!(
                    "records that nest deeper than {} levels: {}; what lies deeper is not described",
                    json::DEEPEST,
                    table.too_deep
                )
                .into(),
            );
        }
        if table.dotted > 0 {
            remarks.push(
                format!(
                    "records with a key that holds a dot: {}; its path reads like that of a nested value",
                    table.dotted
                )
                .into(),
            );
        }
        if table.beyond_64_bits > 0 {
            remarks.push(
                format!(
                    "numbers beyond 64 bits: {}; told to 17 digits",
                    table.beyond_64_bits
                )
                .into(),
            );
        }
        remarks.extend(keys.remarks());
    }
}

/// Returns the layout of the records of a JSON text.
pub(crate) fn json_layout(source: &Source, encoding: Encoding, found: &Detection) -> io::Result<Layout> {
    Ok(match (found.format, found.first_character) {
        (FileFormat::JSONLines, _) => Layout::JsonLines,
        (_, Some('{' | '[')) if stream::has_several(source.open_decoded(encoding)?)? => Layout::JsonValues,
        (_, Some('[')) => Layout::JsonArray,
        _ => Layout::JsonDocument,
    })
}

/// The records of JSON as a table; a text with a remark where they cannot be read.
pub(super) fn json_content(
    source: &Source,
    encoding: Encoding,
    found: &Detection,
    options: DescribeOptions,
    remarks: &mut Vec<Remark>,
) -> io::Result<Content> {
    let layout = json_layout(source, encoding, found)?;
    if layout == Layout::JsonValues {
        remarks.push(
            "several JSON values one after another, which neither json.load nor pandas.read_json reads: take one after another with json.JSONDecoder().raw_decode"
                .into(),
        );
    }
    if layout == Layout::JsonDocument && found.scan.bytes > json::LARGEST_DOCUMENT {
        remarks.push("one JSON value that is no array and larger than 32 MiB: not read whole".into());
        return text(source, encoding);
    }
    let mut json = Json {
        source,
        encoding,
        layout: &layout,
        non_finite: None,
    };
    let (mut read, mut keys) = json.read_all(options)?;
    let count = Cell::new(0);
    if read.faults.count > 0 || read.syntax.is_some() {
        let lenient = Json {
            non_finite: Some(&count),
            ..json
        };
        let (again, keys_again) = lenient.read_all(options)?;
        if count.get() > 0 {
            (json, read, keys) = (lenient, again, keys_again);
            remarks.push(format!(
                "NaN or Infinity in the place of numbers, which only Python's json reads: {}; shown as null and as text",
                count.get()
            ).into());
        }
    }
    json.remarks(&read, &keys, remarks);
    let Found {
        table,
        syntax,
        faults,
        ..
    } = read;
    if table.records() == 0 && (faults.count > 0 || syntax.is_some()) {
        return text(source, encoding);
    }
    let (column_count, has_dotted_keys) = (table.path_count(), table.dotted > 0);
    let mut built = table.finish(options.max_rows);
    remarks.extend(shape_remark(&built.columns, has_dotted_keys));
    remarks.append(&mut built.remarks);
    Ok(Content::Table(built.table(layout, column_count)))
}

/// A remark on paths that are a value in some records and an object or a list in others.
fn shape_remark(columns: &[ColumnProfile], has_dotted_keys: bool) -> Option<Remark> {
    // A dot in a key makes a path that only looks like an inner one.
    let is_inner = |inner: &str, outer: &str| {
        inner
            .strip_prefix(outer)
            .is_some_and(|rest| rest.starts_with('[') || (rest.starts_with('.') && !has_dotted_keys))
    };
    // A missing value beside objects is no other shape.
    let has_shapes = |column: &&ColumnProfile| {
        column.values > 0 && columns.iter().any(|other| is_inner(&other.name, &column.name))
    };
    let paths = columns.iter().filter(has_shapes);
    Remark::listing(
        "a value in some records and an object or a list in others",
        paths.map(|column| column.name.as_str()),
    )
}
