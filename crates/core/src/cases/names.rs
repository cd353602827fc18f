//! Names that cases take for granted: without them a program that is right in everything else has other columns.

use crate::task::Task;
use codegen_api::case::{Case, Expectation};

use super::compare::{OutputShape, stated_names};
use super::{CaseSet, check, unique};

/// Names of the columns or keys of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputNames {
    /// The output, with a slash and the file's name where it is one of a folder.
    pub output: String,
    /// The names, in the order in which a case states them first.
    pub names: Vec<String>,
}

/// The columns and keys that the cases of a plan name, by output. A name that only some cases state of a whole output comes from their
/// inputs (a column per month) and is none.
#[must_use]
pub fn output_names(task: &Task, set: &CaseSet) -> Vec<OutputNames> {
    named(task, set.deciding().map(|(_, case)| case))
}

/// The columns and keys that these cases name, by output.
pub(super) fn named<'a>(task: &Task, cases: impl Iterator<Item = &'a Case>) -> Vec<OutputNames> {
    let expectations: Vec<&Expectation> = cases.flat_map(|case| &case.expect).collect();
    let outputs = unique(expectations.iter().map(|line| line.output.as_str()));
    let names = outputs.into_iter().map(|output| {
        let about = expectations.iter().filter(|line| line.output == output);
        OutputNames {
            output: output.to_owned(),
            names: shared(task, about.copied()),
        }
    });
    names.filter(|of| !of.names.is_empty()).collect()
}

/// The names that all whole statements share; where there is none, those of the partial ones.
fn shared<'a>(task: &Task, expectations: impl Iterator<Item = &'a Expectation>) -> Vec<String> {
    let (mut whole, mut parts): (Option<Vec<String>>, Vec<String>) = (None, Vec::new());
    for expectation in expectations {
        let Some(shape) = check::shape(task, expectation) else {
            continue;
        };
        // What another output holds, no case states.
        let names = stated_names(shape, expectation).filter(|_| !expectation.value.starts_with('$'));
        match (names, &mut whole) {
            // Columns that only some cases have come from their inputs, so what all share is the output's own.
            (Some(names), Some(shared)) => shared.retain(|name| names.contains(name)),
            (Some(names), None) => whole = Some(names),
            (None, _) => parts.extend(names_in_place(shape, &expectation.at)),
        }
    }
    unique(whole.unwrap_or(parts))
}

fn names_in_place(shape: OutputShape, at: &str) -> Vec<String> {
    match shape {
        OutputShape::Json | OutputShape::JsonLines => keys_of_pointer(at),
        _ if at.is_empty() => Vec::new(),
        _ => columns_of_place(at),
    }
}

/// The columns in `COLUMN`, `NUMBER/COLUMN` or `COLUMN=VALUE/COLUMN`.
fn columns_of_place(at: &str) -> Vec<String> {
    let row_and_column = at
        .split_once('/')
        .filter(|(row, _)| row.contains('=') || row.parse::<usize>().is_ok());
    let Some((row, column)) = row_and_column else {
        return vec![at.to_owned()];
    };
    let key = row.split_once('=').map(|(key, _)| key.to_owned());
    key.into_iter().chain([column.to_owned()]).collect()
}

fn keys_of_pointer(pointer: &str) -> Vec<String> {
    pointer
        .split('/')
        .filter(|segment| !segment.is_empty() && segment.parse::<usize>().is_err())
        .map(|segment| segment.replace("~1", "/").replace("~0", "~"))
        .collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::cases::PlannedCase;
    use crate::test_support::task;

    fn names(expect: &Value) -> Vec<(String, String)> {
        let outputs = json!([
            {"name": "summary", "type": "File", "format": "CSV"},
            {"name": "report", "type": "File", "format": "JSON"},
            {"name": "total", "type": "Int"},
            {"name": "pages", "type": "Dir"},
        ]);
        let task = Task {
            outputs: serde_json::from_value(outputs).unwrap(),
            ..task()
        };
        let cases = expect.as_array().unwrap().iter().map(|expectation| PlannedCase {
            case: Case {
                expect: vec![serde_json::from_value(expectation.clone()).unwrap()],
                ..Case::default()
            },
            revision: None,
        });
        let set = CaseSet {
            cases: cases.collect(),
            ..CaseSet::default()
        };
        let found = output_names(&task, &set).into_iter();
        found.map(|of| (of.output, of.names.join(", "))).collect()
    }

    #[rstest]
    #[case::a_whole_table(json!([{"output": "summary", "value": "species;mean mass\nA;1\n"}]), "summary", "species, mean mass")]
    #[case::an_empty_one(json!([{"output": "summary", "value": "a,b\n"}]), "summary", "a, b")]
    #[case::columns(json!([{"output": "summary", "check": "Columns", "value": "a, b"}]), "summary", "a, b")]
    #[case::columns_with_a_comma(json!([{"output": "summary", "check": "Columns", "value": "a, \"mass, g\""}]), "summary", "a, mass, g")]
    #[case::a_column(json!([{"output": "summary", "check": "Total", "at": "units", "value": "3"}]), "summary", "units")]
    #[case::a_cell_by_number(json!([{"output": "summary", "at": "1/a/b", "value": "3"}]), "summary", "a/b")]
    #[case::a_cell_by_value(json!([{"output": "summary", "at": "species=A/total", "value": "3"}]), "summary", "species, total")]
    #[case::a_file_of_a_folder(json!([{"output": "pages/may.csv", "value": "a,b\n"}]), "pages/may.csv", "a, b")]
    #[case::an_object(json!([{"output": "report", "value": "{\"total\": {\"x\": 1}, \"rows\": []}"}]), "report", "total, rows")]
    #[case::elements(json!([{"output": "report", "value": "[{\"a\": 1}, {\"b\": 2}]"}]), "report", "a")]
    #[case::a_pointer(json!([{"output": "report", "at": "/rows/0/a~1b", "value": "1"}]), "report", "rows, a/b")]
    fn a_case_names(#[case] expect: Value, #[case] output: &str, #[case] expected: &str) {
        assert_eq!(names(&expect), [(output.to_owned(), expected.to_owned())]);
    }

    #[test]
    fn a_column_that_comes_from_the_inputs_of_a_case_is_no_name() {
        let expect = json!([
            {"output": "summary", "value": "item,may,june\nx,1,2\n"},
            {"output": "summary", "value": "item,july\nx,3\n"},
            {"output": "summary", "check": "Total", "at": "july", "value": "3"},
        ]);
        assert_eq!(names(&expect), [("summary".to_owned(), "item".to_owned())]);
    }

    #[rstest]
    #[case::of_a_value(json!([{"output": "total", "value": "3"}]))]
    #[case::of_a_text(json!([{"output": "stdout", "check": "Contains", "value": "done"}]))]
    #[case::of_a_count(json!([{"output": "summary", "check": "Rows", "value": "3"}]))]
    #[case::of_another_output(json!([{"output": "summary", "value": "$report"}]))]
    fn nothing_is_named(#[case] expect: Value) {
        assert_eq!(names(&expect), []);
    }
}
