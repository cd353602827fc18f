//! Typed inputs, outputs and samples of a program.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::common::{ClaimPath, ConfigMapKeyRef, LocalRef};

/// Type of an input or output.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, JsonSchema)]
pub enum ValueType {
    /// Text.
    String,
    /// A whole number.
    Int,
    /// A decimal number.
    Float,
    /// `true` or `false`.
    Bool,
    /// One file.
    File,
    /// A folder of files.
    Dir,
    /// A moment, RFC 3339 with or without a zone (outputs only).
    Datetime,
    /// A length of time, ISO 8601 or seconds (outputs only).
    Timedelta,
}

/// Format of a file.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, JsonSchema)]
pub enum FileFormat {
    /// Comma-separated values.
    CSV,
    /// Tab-separated values.
    TSV,
    /// One JSON document.
    JSON,
    /// One JSON value per line.
    JSONLines,
    /// Apache Parquet.
    Parquet,
    /// An Excel workbook.
    Excel,
    /// Text of no further structure.
    Text,
    /// Bytes of no known structure.
    Binary,
}

/// One file of sample data: shown to the model as a data context, and the default of the File input of the same name.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sample {
    /// Name of the sample and of the program's option (`--measurements`).
    #[schemars(length(min = 1, max = 63), pattern(r"^[A-Za-z][A-Za-z0-9_]*$"))]
    pub name: String,
    /// The file's text, written here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 262144))]
    pub inline: Option<String>,
    /// A key of a ConfigMap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_key_ref: Option<ConfigMapKeyRef>,
    /// Where to download the file from; needs `sha256`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048), pattern(r"^https?://"))]
    pub url: Option<String>,
    /// Expected SHA-256 of the file, 64 lower-case hex digits; compulsory with `url`, checked for every source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(pattern(r"^[0-9a-f]{64}$"))]
    pub sha256: Option<String>,
    /// A file on a PersistentVolumeClaim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent_volume_claim: Option<ClaimPath>,
    /// File name with its ending as the program sees it (`measurements.csv`). Default: the ConfigMap key, the last
    /// segment of the URL or claim path; for `inline` the sample's name, its ending found from the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), pattern(r"^[A-Za-z0-9][A-Za-z0-9._-]*$"))]
    pub file_name: Option<String>,
}

/// An option of the program, besides the samples.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Input {
    /// Name of the option (`--decimals`).
    #[schemars(length(min = 1, max = 63), pattern(r"^[A-Za-z][A-Za-z0-9_]*$"))]
    pub name: String,
    /// `String`, `Int`, `Float`, `Bool`, `File` or `Dir`.
    #[serde(rename = "type")]
    pub type_: ValueType,
    /// Value used when a run gives none, written as text (`"1"`, `"true"`). Not for `File` and `Dir`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4096))]
    pub default: Option<String>,
    /// Value used by the rehearsal alone; a run must then give one. Not for `File` and `Dir`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4096))]
    pub example: Option<String>,
    /// What the input means, for the model and for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub description: Option<String>,
    /// Where a `File` or `Dir` input's default content comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<InputSource>,
}

/// Where the default content of a `File` or `Dir` input comes from: exactly one.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct InputSource {
    /// One key of a ConfigMap (`File`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_key_ref: Option<ConfigMapKeyRef>,
    /// All keys of a ConfigMap, one file each (`Dir`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<LocalRef>,
    /// A file or folder on a PersistentVolumeClaim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent_volume_claim: Option<ClaimPath>,
}

/// A value that the program writes to `/var/outputs/<name>`.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// Name of the output and of its file under `/var/outputs`.
    #[schemars(length(min = 1, max = 63), pattern(r"^[A-Za-z][A-Za-z0-9_]*$"))]
    pub name: String,
    /// Any of the types.
    #[serde(rename = "type")]
    pub type_: ValueType,
    /// Format of a `File` output, checked after the rehearsal. Default: any bytes are accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<FileFormat>,
    /// What the output means, for the model and for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub description: Option<String>,
}

/// pytest files of the user that the program must pass and that no model ever sees: exactly one source.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct AcceptanceTests {
    /// The test file's text; it imports the program as `solution`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 262144))]
    pub inline: Option<String>,
    /// A key of a ConfigMap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_key_ref: Option<ConfigMapKeyRef>,
}
