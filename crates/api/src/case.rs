//! Cases: executions of the program alone, with given inputs and results that are stated beforehand.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A run of the program with given inputs, and what must come of it.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Case {
    /// Rule by which the case separates a right program from a nearly right one (`ties go to the first`).
    #[schemars(length(min = 1, max = 200))]
    pub about: String,
    /// Inputs that differ from their defaults, at most 48.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 48))]
    pub inputs: Vec<CaseInput>,
    /// Set to true where the program must refuse these inputs, that is, end with an exit code other than 0. Default `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
    /// Conditions on the outputs of the run, at most 32.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub expect: Vec<Expectation>,
}

/// An input of a case.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CaseInput {
    /// Name of the input or sample; of a file in a `Dir` the input's name, a slash and the file's name (`months/may.csv`).
    #[schemars(length(min = 1, max = 255))]
    pub name: String,
    /// The value; of a `File`, and of a file in a `Dir`, its whole text.
    #[schemars(length(max = 16384))]
    pub value: String,
}

/// Condition on one output of a case.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Expectation {
    /// Name of an output (of a file in a `Dir` output with a slash and the file's name), or `stdout` or `stderr`.
    #[schemars(length(min = 1, max = 255))]
    pub output: String,
    /// Comparison that is made. Default `Equals`.
    #[serde(default)]
    pub check: Check,
    /// Part of the output that is compared: of a table a column, or row and column (`1/total`, `species=Adelie/total`), of JSON a pointer
    /// (`/rows/0/total`). Default: all of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 255))]
    pub at: String,
    /// Expected value of that part. `$NAME` stands for what the program wrote to the output NAME.
    #[schemars(length(max = 16384))]
    pub value: String,
    /// By how much numbers may differ (`0.01`). Default: not at all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 32))]
    pub tolerance: String,
}

/// Comparison of an output with the expected value.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, Hash, JsonSchema)]
#[schemars(description = "")]
pub enum Check {
    /// It is the value: a table by columns and with its rows in order, JSON by value, numbers, times and text as such.
    #[default]
    Equals,
    /// It has these rows (of JSON: elements), in any order.
    SameRows,
    /// It has so many rows (of JSON: elements; of text: lines).
    Rows,
    /// It has these columns in this order, separated by commas (of a JSON object: these keys, in any order).
    Columns,
    /// The value stands in it: as a cell of the column, as an element, or in the text.
    Contains,
    /// The value does not stand in it.
    Lacks,
    /// The number lies between two, separated by a comma, both allowed.
    Between,
    /// The column is `ascending` or `descending`.
    Ordered,
    /// The numbers of the column add up to the value.
    Total,
}

/// Weight of the cases in the verdict about a program.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, Hash, JsonSchema)]
#[schemars(description = "")]
pub enum CaseMode {
    /// Every case must hold.
    #[default]
    Require,
    /// Cases are run and reported, and decide nothing.
    Report,
    /// There are no cases.
    Off,
}
