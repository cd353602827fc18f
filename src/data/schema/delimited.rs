//! The schema of CSV and its kin: the types that `pandas.read_csv` is passed, and how it leaves out what is no record.

use crate::profile::{ColumnProfile, ColumnType, FurtherColumn, Lead, TableProfile};

use super::pandera::literal;
use super::{SchemaColumn, fits_nanoseconds, pandas_names, whole_dtype};

/// The columns of the data frame.
pub(super) fn columns(table: &TableProfile) -> Vec<SchemaColumn> {
    let mut names = pandas_names(table, 0);
    let further = names.split_off(table.columns.len().min(names.len()));
    let described = |(column, name): (&ColumnProfile, String)| SchemaColumn {
        name,
        type_: column.type_,
        dtype: Some(dtype(column).to_owned()),
        nullable: column.null_count() > 0,
    };
    let counted = |(column, name): (&FurtherColumn, String)| SchemaColumn {
        name,
        type_: column.type_,
        dtype: Some(further_dtype(column).to_owned()),
        nullable: column.values < table.records,
    };
    let columns = table.columns.iter().zip(names).map(described);
    columns
        .chain(table.further.iter().zip(further).map(counted))
        .collect()
}

/// Values with blanks around them stay text: pandas reads neither dates nor nullable numbers out of them.
fn dtype(column: &ColumnProfile) -> &'static str {
    if column.padded > 0 {
        return "string";
    }
    let is_timestamp = column
        .times
        .as_ref()
        .is_some_and(|times| times.zoned == 0 && fits_nanoseconds(times));
    let whole = whole_dtype(column).unwrap_or("string");
    dtype_of(column.type_, whole, is_timestamp)
}

fn further_dtype(column: &FurtherColumn) -> &'static str {
    if column.is_padded {
        return "string";
    }
    let whole = if column.is_wide { "UInt64" } else { "Int64" };
    dtype_of(column.type_, whole, column.is_timestamp)
}

const fn dtype_of(type_: ColumnType, whole: &'static str, is_timestamp: bool) -> &'static str {
    match type_ {
        ColumnType::Int => whole,
        ColumnType::Float => "Float64",
        ColumnType::Bool => "boolean",
        ColumnType::Date | ColumnType::Datetime if is_timestamp => "datetime64[ns]",
        ColumnType::Date
        | ColumnType::Datetime
        | ColumnType::Text
        | ColumnType::Mixed
        | ColumnType::Empty => "string",
    }
}

/// What leaves out the lines that are no records. Where no argument can, comments are left out with all that follows their sign.
pub(super) fn lead_arguments(lead: &Lead) -> Vec<String> {
    lead.pandas_arguments().unwrap_or_else(|| {
        let certain = Lead {
            has_sign_in_records: false,
            ..*lead
        };
        certain.pandas_arguments().unwrap_or_default()
    })
}

/// The names that pandas is given where it would read none, or other ones.
pub(super) fn names_argument(table: &TableProfile, columns: &[SchemaColumn]) -> String {
    // Fewer names than fields would shift the columns: those that are not described are named too.
    if table.column_count > columns.len() as u64 {
        return format!(
            "header=None, names=[f\"column_{{n}}\" for n in range(1, {})]",
            table.column_count + 1
        );
    }
    let names: Vec<_> = columns.iter().map(|column| literal(&column.name)).collect();
    format!("header=None, names=[{}]", names.join(", "))
}
