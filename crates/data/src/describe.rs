//! One pass over a file gives its profile.

mod columnar;
mod delimited;
mod excel;
mod json;
mod lead;
mod line;
mod pandas_index;
mod text;

use serde::{Deserialize, Serialize};

use crate::format::FileFormat;
use crate::remark::Remark;

use super::DataError;
use super::detect::detect;
use super::format::dialect::Dialect;
use super::format::format_name;
use super::format::lead::Lead;
use super::profile::{Content, SampleProfile};
use super::source::Source;

use columnar::columnar;
use delimited::delimited;
use excel::excel;
use json::json_content;
pub(crate) use json::{Json, json_layout};
use text::text;

/// Options of a description.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct DescribeOptions {
    /// Upper bound of representative rows; they stop earlier when they show nothing new.
    pub max_rows: usize,
}

impl Default for DescribeOptions {
    fn default() -> Self {
        Self { max_rows: 100 }
    }
}

/// Describes bytes from anywhere; equal bytes give equal profiles.
pub fn describe_source(
    source: &Source,
    name: &str,
    file_name: &str,
    options: &DescribeOptions,
) -> Result<SampleProfile, DataError> {
    let mut found = detect(source, file_name).map_err(DataError::read(file_name))?;
    let mut remarks: Vec<Remark> = std::mem::take(&mut found.remarks)
        .into_iter()
        .map(Remark::from)
        .collect();
    let content = match (found.format, found.encoding) {
        (format @ (FileFormat::Parquet | FileFormat::Arrow), None) => {
            columnar(source, format, file_name, *options, &mut remarks)?
        }
        (FileFormat::Excel, None) => excel(source, file_name, *options, &mut remarks)?,
        (format, None) => Content::Opaque(found.what.unwrap_or_else(|| format_name(format).to_owned())),
        (FileFormat::CSV | FileFormat::TSV, Some(encoding)) => {
            let dialect = found.dialect.unwrap_or(Dialect {
                delimiter: b',',
                decimal: b'.',
                has_header: true,
                lead: Lead::default(),
            });
            delimited(source, encoding, dialect, *options, &mut remarks)
                .and_then(|table| match table {
                    Some(table) => Ok(Content::Table(table)),
                    // What looks like a table by its name may have no record at all; then it is described as text.
                    None => text(source, encoding),
                })
                .map_err(DataError::read(file_name))?
        }
        (FileFormat::JSON | FileFormat::JSONLines, Some(encoding)) => {
            json_content(source, encoding, &found, *options, &mut remarks)
                .map_err(DataError::read(file_name))?
        }
        (_, Some(encoding)) => text(source, encoding).map_err(DataError::read(file_name))?,
    };
    let format = if matches!(content, Content::Text(_)) {
        FileFormat::Text
    } else {
        found.format
    };
    source.settle().map_err(DataError::read(file_name))?;
    Ok(SampleProfile {
        name: name.to_owned(),
        file_name: file_name.to_owned(),
        format,
        bytes: source.file_bytes().map_err(DataError::read(file_name))?,
        // What is opaque says itself that it is packed.
        compression: source
            .compression()
            .map_err(DataError::read(file_name))?
            .filter(|_| found.encoding.is_some()),
        encoding: found.encoding,
        remarks,
        content,
    })
}
