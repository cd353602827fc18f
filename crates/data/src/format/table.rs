//! The columns of a delimited text: its header, with all that belongs to it.

use std::io::{self, BufRead};

use crate::format::delimited::{Record, RecordReader};
use crate::format::dialect::Dialect;
use crate::format::units::unit;

/// The columns of a delimited text.
pub(crate) struct Columns {
    /// Their names: those of the header, or `column_1`, `column_2`, ...
    pub names: Vec<String>,
    /// The header as it stands in the file; `None` where there is none.
    pub header: Option<String>,
    /// The unit of each, where the header has a row of them.
    pub units: Vec<Option<String>>,
    /// Fields of the header, or of the first record.
    pub width: usize,
    /// True where it was too long to be read whole.
    pub is_cut: bool,
}

/// A reader of the records of a text that is written so.
pub(crate) fn record_reader<R: BufRead>(input: R, dialect: &Dialect) -> RecordReader<R> {
    RecordReader::new(input, dialect.delimiter).with_comment(dialect.lead.comment)
}

/// Reads up to the first record; `None` where there is neither a record nor a header.
pub(crate) fn read_columns<R: BufRead>(
    reader: &mut RecordReader<R>,
    dialect: &Dialect,
) -> io::Result<Option<Columns>> {
    for _ in 0..dialect.lead.above {
        reader.read()?;
    }
    let mut groups = None;
    if dialect.lead.has_groups
        && let Some(record) = reader.read()?
    {
        groups = Some((column_names(&record, true), record.raw.to_owned()));
    }
    let Some(first) = reader.read()? else {
        return Ok(None);
    };
    let mut columns = Columns {
        names: column_names(&first, dialect.has_header),
        header: dialect.has_header.then(|| first.raw.to_owned()),
        units: Vec::new(),
        width: first.width,
        is_cut: first.is_cut,
    };
    if let Some((groups, raw)) = groups {
        columns.names = grouped_names(&groups, &columns.names);
        columns.header = columns.header.map(|names| format!("{raw}\n{names}"));
    }
    if !dialect.has_header {
        reader.put_back();
    } else if dialect.lead.units_row.is_some()
        && let Some(record) = reader.read()?
    {
        columns.units = record
            .fields()
            .map(|text| unit(text).map(str::to_owned))
            .collect();
    }
    Ok(Some(columns))
}

fn column_names(first: &Record<'_>, has_header: bool) -> Vec<String> {
    let name = |(position, field): (usize, &str)| {
        if has_header {
            field.to_owned()
        } else {
            format!("column_{}", position + 1)
        }
    };
    first.fields().enumerate().map(name).collect()
}

/// Names with their groups before them. A group stands above the first of its columns alone where its cells are merged.
fn grouped_names(groups: &[String], names: &[String]) -> Vec<String> {
    let mut last = "";
    let mut joined = Vec::with_capacity(names.len());
    for (position, name) in names.iter().enumerate() {
        let group = groups.get(position).map_or("", String::as_str);
        if !group.is_empty() {
            // A group without a name below it is the name of one column.
            last = if name.is_empty() { "" } else { group };
        }
        joined.push(
            match (if group.is_empty() { last } else { group }, name.as_str()) {
                ("", name) => name.to_owned(),
                (group, "") => group.to_owned(),
                (group, name) => format!("{group} {name}"),
            },
        );
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merged_group_reaches_to_the_next() {
        let texts = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
        let joined = |groups: &str, names: &str| grouped_names(&texts(groups), &texts(names)).join(",");
        assert_eq!(
            joined(",2024,,2025,", "region,in,out,in,out"),
            "region,2024 in,2024 out,2025 in,2025 out"
        );
        assert_eq!(joined("id,size,", ",min,max"), "id,size min,size max");
        assert_eq!(joined("id,,size,", ",kind,min,max"), "id,kind,size min,size max");
    }
}
