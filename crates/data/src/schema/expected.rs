//! Requirements on another file for it to be read as a sample was: its columns, their types, and which of them have every value.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::format::json::ROOT_PATH;
use crate::format::json::keys::ANY_KEY;
use crate::profile::{ColumnType, PlainColumn, SampleProfile, TableProfile};
use crate::value_type::ValueType;

/// Requirements on one column.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Expected {
    /// Its name, as checks know it.
    pub column: String,
    /// Type of its values; `String` where any value does.
    #[serde(rename = "type")]
    pub type_: ValueType,
    /// True where each record has a value.
    pub is_complete: bool,
}

/// The columns of a sample, of a workbook those of all its sheets. None where it is no table, and none of a name that two
/// columns share or that stands for many places of a JSON record.
#[must_use]
pub fn expected(profile: &SampleProfile) -> Vec<Expected> {
    let tables: Vec<Vec<PlainColumn>> = profile
        .tables()
        .map(|table| table.all_columns().collect())
        .collect();
    let mut times: HashMap<&str, u32> = HashMap::new();
    for column in tables.iter().flatten() {
        *times.entry(&column.name).or_default() += 1;
    }
    let is_one_place = |name: &str| {
        !name.is_empty()
            && name != ROOT_PATH
            && !name.contains("[]")
            && !name.contains(ANY_KEY)
            && times[name] == 1
    };
    let of_table = |(table, columns): (&TableProfile, &Vec<PlainColumn>)| -> Vec<Expected> {
        let own = columns.iter().filter(|column| is_one_place(&column.name));
        own.map(|column| of_column(column, table.records)).collect()
    };
    profile.tables().zip(&tables).flat_map(of_table).collect()
}

fn of_column(column: &PlainColumn, records: u64) -> Expected {
    Expected {
        column: column.name.clone(),
        type_: match column.type_ {
            ColumnType::Int => ValueType::Int,
            ColumnType::Float => ValueType::Float,
            ColumnType::Bool => ValueType::Bool,
            ColumnType::Date | ColumnType::Datetime => ValueType::Datetime,
            ColumnType::Text | ColumnType::Mixed | ColumnType::Empty => ValueType::String,
        },
        is_complete: records > 0 && column.values >= records,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::{DescribeOptions, describe_source};
    use crate::source::Source;

    fn of(text: &str, file_name: &str) -> Vec<String> {
        let source = Source::bytes(text.as_bytes());
        let profile = describe_source(&source, "a", file_name, &DescribeOptions { max_rows: 10 }).unwrap();
        expected(&profile)
            .iter()
            .map(|one| format!("{} {} {}", one.column, one.type_, one.is_complete))
            .collect()
    }

    #[test]
    fn a_sample_gives_columns_types_and_where_no_value_is_missing() {
        assert_eq!(
            of("n,mass,day,name\n1,2.5,2026-01-01,a\n2,,2026-01-02,\n", "a.csv"),
            [
                "n Int true",
                "mass Float false",
                "day Datetime true",
                "name String false"
            ]
        );
    }

    #[test]
    fn columns_beyond_those_that_are_described_are_expected_too() {
        let names: Vec<_> = (0..201).map(|column| format!("c{column}")).collect();
        let found = of(
            &format!("{}\n{}\n", names.join(","), vec!["1"; 201].join(",")),
            "a.csv",
        );
        assert_eq!(found.last().map(String::as_str), Some("c200 Int true"));
    }

    #[test]
    fn nested_values_and_plain_text_give_no_columns() {
        let lines = "{\"id\": 1, \"tags\": [\"a\"]}\n{\"id\": 2, \"tags\": []}\n";
        assert_eq!(of(lines, "a.jsonl"), ["id Int true"]);
        assert!(of("once upon a time\nthere was\n", "a.txt").is_empty());
    }
}
