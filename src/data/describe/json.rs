//! Describes JSON and JSON Lines as records with paths.

use crate::api::values::FileFormat;
use crate::data::detect::Detection;
use crate::data::format::json::{self, JsonTable};
use crate::data::format::shape::Places;
use crate::data::profile::{Content, Layout, TableProfile};
use crate::data::source::{Encoding, Source};

use super::Options;
use super::text::text;

/// The records of JSON as a table; a text with a remark where they cannot be read.
pub(super) fn json_content(
    source: &Source,
    encoding: Encoding,
    found: &Detection,
    options: Options,
    remarks: &mut Vec<String>,
) -> std::io::Result<Content> {
    let mut table = JsonTable::new(options.max_rows > 0);
    let mut faults = Places::default();
    let mut fault = String::new();
    let is_lines = found.format == FileFormat::JSONLines;
    let is_array = found.first_character == Some('[');
    let mut take = |record: json::JsonRecord<'_>| match record.value {
        Ok(value) => table.push(
            &value,
            &if is_lines {
                record.raw.to_owned()
            } else {
                json::compact(record.raw)
            },
        ),
        Err(error) => {
            faults.push(record.place);
            fault = error;
        }
    };
    if !is_lines && !is_array && found.scan.bytes > json::LARGEST_DOCUMENT {
        remarks.push("one JSON value that is no array and larger than 32 MiB: not read whole".into());
        return text(source, encoding, &found.scan);
    }
    let input = source.open_decoded(encoding)?;
    let syntax = if is_lines {
        json::each_line(input, &mut take).map(|()| None)?
    } else {
        json::each_element(input, is_array, &mut take)
    };
    if let Some(error) = syntax {
        remarks.push(format!(
            "not valid JSON ({error}); only what stands before is described"
        ));
    }
    if faults.count > 0 {
        let noun = if is_lines {
            faults.list()
        } else {
            faults.list().replace("line", "record")
        };
        remarks.push(format!(
            "{} values cannot be read ({fault}): {noun}",
            faults.count
        ));
    }
    if table.too_deep > 0 {
        remarks.push(format!(
            "{} records nest deeper than {} levels; what lies deeper is not described",
            table.too_deep,
            json::DEEPEST
        ));
    }
    if table.records() == 0 && (faults.count > 0 || !remarks.is_empty()) {
        return text(source, encoding, &found.scan);
    }
    let layout = match (is_lines, is_array) {
        (true, _) => Layout::JsonLines,
        (false, true) => Layout::JsonArray,
        (false, false) => Layout::JsonDocument,
    };
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
