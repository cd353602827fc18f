//! The schema of CSV and its kin: the types that `pandas.read_csv` is passed, and how it leaves out what is no record.

use crate::profile::{ColumnType, LeadProfile, PlainColumn, TableProfile};

use super::pandera::literal;
use super::{SchemaColumn, pandas_names, whole_dtype};

/// The columns of the data frame.
pub(super) fn columns(table: &TableProfile) -> Vec<SchemaColumn> {
    let columns = table.all_columns().zip(pandas_names(table, 0));
    let described = |(column, name): (PlainColumn, String)| SchemaColumn {
        name,
        type_: column.type_,
        dtype: Some(dtype(&column).to_owned()),
        nullable: column.values < table.records,
    };
    columns.map(described).collect()
}

/// Values with blanks around them stay text: pandas reads neither dates nor nullable numbers out of them.
const fn dtype(column: &PlainColumn) -> &'static str {
    match column.type_ {
        _ if column.is_padded => "string",
        ColumnType::Int => whole_dtype(column),
        ColumnType::Float => "Float64",
        ColumnType::Bool => "boolean",
        ColumnType::Date | ColumnType::Datetime if column.is_timestamp => "datetime64[ns]",
        ColumnType::Date
        | ColumnType::Datetime
        | ColumnType::Text
        | ColumnType::Mixed
        | ColumnType::Empty => "string",
    }
}

/// Returns the arguments that leave out the lines which are no records. Where no argument can, comments are left out with all that follows
/// their sign.
pub(super) fn lead_arguments(lead: &LeadProfile) -> Vec<String> {
    lead.pandas_arguments().unwrap_or_else(|| {
        let certain = LeadProfile {
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
