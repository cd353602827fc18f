//! Describes JSON and JSON Lines as records with paths.

use std::io;

use crate::detect::Detection;
use crate::format::FileFormat;
use crate::format::json::keys::{Census, DataKeys, FEW_PATHS};
use crate::format::json::{self, JsonRecord, JsonTable, stream};
use crate::format::shape::Places;
use crate::profile::{Content, Layout, TableProfile};
use crate::remark::Remark;
use crate::source::{Encoding, Source};

use super::Options;
use super::text::text;

/// Rounds that search for objects whose keys are data; each finds those below the ones found before.
const MOST_ROUNDS: usize = 3;

/// A JSON text that can be read again and again.
#[derive(Clone, Copy)]
struct Json<'a> {
    source: &'a Source,
    encoding: Encoding,
    layout: &'a Layout,
}

/// What one pass over it found.
struct Found {
    table: JsonTable,
    /// What is wrong with the document as a whole.
    syntax: Option<String>,
    faults: Places,
    fault: String,
    repeated: Places,
}

impl Json<'_> {
    fn each(&self, mut take: impl FnMut(JsonRecord<'_>)) -> io::Result<Option<String>> {
        let input = self.source.open_decoded(self.encoding)?;
        match self.layout {
            Layout::JsonLines => json::each_line(input, take).map(|()| None),
            Layout::JsonValues => stream::each_value_of_stream(input, take),
            layout => json::each_element(input, *layout == Layout::JsonArray, &mut take),
        }
    }

    fn read(&self, keys: &DataKeys, options: Options) -> io::Result<Found> {
        let mut table = JsonTable::new(options.max_rows > 0, keys.clone());
        let (mut faults, mut repeated) = (Places::default(), Places::default());
        let mut fault = String::new();
        let syntax = self.each(|record| match record.value {
            Ok(value) => {
                if record.has_repeated_key {
                    repeated.push(record.place);
                }
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
            repeated,
        })
    }

    /// Reads it with the keys that are data merged, where its paths are so many that some may be.
    fn read_all(&self, options: Options) -> io::Result<(Found, DataKeys)> {
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

    fn places(&self, places: &Places) -> String {
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
        if found.repeated.count > 0 {
            remarks.push(
                format!(
                    "records in which an object has a key more than once: {} ({}); the last value counts",
                    found.repeated.count,
                    self.places(&found.repeated)
                )
                .into(),
            );
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

/// How the records of a JSON text stand.
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
    options: Options,
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
        return text(source, encoding, remarks);
    }
    let json = Json {
        source,
        encoding,
        layout: &layout,
    };
    let (read, keys) = json.read_all(options)?;
    json.remarks(&read, &keys, remarks);
    let Found {
        table,
        syntax,
        faults,
        ..
    } = read;
    if table.records() == 0 && (faults.count > 0 || syntax.is_some()) {
        return text(source, encoding, remarks);
    }
    let (records, column_count) = (table.records(), table.path_count());
    let built = table.finish(options.max_rows);
    remarks.extend(built.remarks);
    Ok(Content::Table(TableProfile {
        layout,
        records,
        longer_records: 0,
        columns: built.columns,
        column_count,
        keys: built.keys,
        duplicate_records: built.duplicate_records,
        rows: built.rows,
    }))
}
