//! Typed inputs, outputs and samples of a program.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::common::{ClaimPath, ConfigMapKeyRef, LocalRef};
use codegen_data::outputs::Declared;

pub use codegen_data::format::FileFormat;
pub use codegen_data::value_type::ValueType;

/// CEL: the name of an option can be read as `args.<name>` and does not take argparse's own `--help`.
const USABLE_AS_OPTION: &str = "!(self in ['False', 'None', 'True', 'and', 'as', 'assert', 'async', 'await', 'break', \
    'class', 'continue', 'def', 'del', 'elif', 'else', 'except', 'finally', 'for', 'from', 'global', 'if', 'import', \
    'in', 'is', 'lambda', 'nonlocal', 'not', 'or', 'pass', 'raise', 'return', 'try', 'while', 'with', 'yield', 'help'])";
const USABLE_AS_OPTION_MESSAGE: &str = "this name is a Python keyword or help, which every program has already: \
    write another one, for example with an ending (class_name)";

/// CEL: `default` and `example` of an input of type `$type` match `$pattern`.
macro_rules! texts_match {
    ($type:literal, $pattern:literal) => {
        concat!(
            "self.type != '",
            $type,
            "' || ((!has(self.default) || self.default.matches('",
            $pattern,
            "')) && (!has(self.example) || self.example.matches('",
            $pattern,
            "')))"
        )
    };
}

/// One file of sample data: shown to the model as a data context, and the default of the File input of the same name.
/// Exactly one of `inline`, `configMapKeyRef`, `url` and `persistentVolumeClaim` says where it is.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, KubeSchema)]
#[x_kube(validation = Rule::new("[has(self.inline), has(self.configMapKeyRef), has(self.url), \
        has(self.persistentVolumeClaim)].filter(given, given).size() == 1")
    .message("give exactly one source: inline, configMapKeyRef, url (with sha256) or persistentVolumeClaim"))]
#[x_kube(validation = Rule::new("!has(self.url) || has(self.sha256)")
    .message("a url needs the file's sha256 beside it, so that a changed file is noticed; print it with: curl -sL URL | sha256sum"))]
#[serde(rename_all = "camelCase")]
pub struct Sample {
    /// Name of the sample and of the program's option: `measurements` becomes `--measurements`. A letter, then letters,
    /// digits and underscores, at most 63; no Python keyword and not `help`.
    #[schemars(length(min = 1, max = 63), pattern(r"^[A-Za-z][A-Za-z0-9_]*$"))]
    #[x_kube(validation = Rule::new(USABLE_AS_OPTION).message(USABLE_AS_OPTION_MESSAGE))]
    pub name: String,
    /// The file's text, written in the manifest; at most 262,144 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 262_144))]
    pub inline: Option<String>,
    /// A key of a ConfigMap in the same namespace (`{name: penguins, key: penguins.csv}`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_key_ref: Option<ConfigMapKeyRef>,
    /// Address to download the file from (`https://example.com/penguins.csv`); needs `sha256`. In a cluster at most 900 KiB, from a public
    /// host over https or one that the operator's `egress.allow` lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048), pattern(r"^https?://"))]
    pub url: Option<String>,
    /// Expected SHA-256 of the file, 64 lower-case hex digits. Compulsory with `url`; when given, it is checked for
    /// every source and another content is a configuration error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), pattern(r"^[0-9a-f]{64}$"))]
    pub sha256: Option<String>,
    /// A file on a PersistentVolumeClaim (`{claimName: datasets, path: 2026/penguins.csv}`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent_volume_claim: Option<ClaimPath>,
    /// File name with its ending as the program sees it under `/var/inputs` (`measurements.csv`). Default: the ConfigMap
    /// key, or the last segment of the URL or claim path; for `inline` the sample's name with an ending found from the
    /// content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), pattern(r"^[A-Za-z0-9][A-Za-z0-9._-]*$"))]
    pub file_name: Option<String>,
}

/// An option of the program, besides the samples.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, KubeSchema)]
#[x_kube(validation = Rule::new("!(self.type in ['File', 'Dir']) || (!has(self.default) && !has(self.example))")
    .message("an input of type File or Dir has no default and no example: put its content under source, or make it a sample"))]
#[x_kube(validation = Rule::new("self.type in ['File', 'Dir'] || !has(self.source)")
    .message("only an input of type File or Dir has a source: write its value under default"))]
#[x_kube(validation = Rule::new("!has(self.default) || !has(self.example)")
    .message("give default when a run may leave the input out, or example when it must give one, not both"))]
#[x_kube(validation = Rule::new(texts_match!("Int", "^[+-]?[0-9]+$"))
    .message("default and example of an Int are a whole number in quotes, like \"1\""))]
#[x_kube(validation = Rule::new(texts_match!("Float", "^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$"))
    .message("default and example of a Float are a decimal number in quotes, like \"0.5\" or \"1e-3\""))]
#[x_kube(validation = Rule::new(texts_match!("Bool", "^(true|false)$"))
    .message("default and example of a Bool are \"true\" or \"false\", in quotes"))]
#[x_kube(validation = Rule::new("!has(self.source) || self.type != 'File' || !has(self.source.configMapRef)")
    .message("a File comes from one key: write source.configMapKeyRef with name and key instead of configMapRef"))]
#[x_kube(validation = Rule::new("!has(self.source) || self.type != 'Dir' || !has(self.source.configMapKeyRef)")
    .message("a Dir holds all keys of a ConfigMap: write source.configMapRef with a name instead of configMapKeyRef"))]
#[serde(rename_all = "camelCase")]
pub struct Input {
    /// Name of the option: `decimals` becomes `--decimals`. A letter, then letters, digits and underscores, at most 63;
    /// no Python keyword and not `help`.
    #[schemars(length(min = 1, max = 63), pattern(r"^[A-Za-z][A-Za-z0-9_]*$"))]
    #[x_kube(validation = Rule::new(USABLE_AS_OPTION).message(USABLE_AS_OPTION_MESSAGE))]
    pub name: String,
    /// `String`, `Int` (a whole number), `Float` (a decimal number), `Bool` (`true` or `false`), `File` (one file under
    /// `/var/inputs`) or `Dir` (the folder `/var/inputs/<name>`). `Datetime` and `Timedelta` are for outputs.
    #[serde(rename = "type")]
    #[x_kube(validation = Rule::new("!(self in ['Datetime', 'Timedelta'])")
        .message("Datetime and Timedelta are types of outputs: write String, and say in the description how the text reads"))]
    pub type_: ValueType,
    /// Value used when a run gives none, always written in quotes (`"1"`, `"0.5"`, `"true"`). Not for `File` and `Dir`,
    /// not together with `example`. Default: none; a run must give a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4096))]
    pub default: Option<String>,
    /// Value used only when the program is rehearsed on the samples, always written in quotes; a run must then give its
    /// own. Without `default` and `example` there is no rehearsal. Not for `File` and `Dir`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4096))]
    pub example: Option<String>,
    /// Meaning of the input, with its unit (`decimals of every mean, 0 to 6`); the model reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub description: Option<String>,
    /// Source of the default content of a `File` or `Dir` input; unlike a sample it is not shown to the model. Default: none; a run must
    /// give the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<InputSource>,
}

/// Source of the default content of a `File` or `Dir` input: exactly one.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, KubeSchema)]
#[x_kube(validation = Rule::new("[has(self.configMapKeyRef), has(self.configMapRef), has(self.persistentVolumeClaim)]\
        .filter(given, given).size() == 1")
    .message("give exactly one source: configMapKeyRef (File), configMapRef (Dir) or persistentVolumeClaim"))]
#[serde(rename_all = "camelCase")]
pub struct InputSource {
    /// One key of a ConfigMap, for a `File` (`{name: rates, key: rates.json}`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_key_ref: Option<ConfigMapKeyRef>,
    /// All keys of a ConfigMap, one file each, for a `Dir` (`{name: templates}`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<LocalRef>,
    /// A file (`File`) or folder (`Dir`) on a PersistentVolumeClaim (`{claimName: datasets, path: 2026}`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent_volume_claim: Option<ClaimPath>,
}

/// A value that the program writes to `/var/outputs/<name>`.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, KubeSchema)]
#[x_kube(validation = Rule::new("self.type == 'File' || !has(self.format)")
    .message("only an output of type File has a format: write type: File, or leave format out"))]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// Name of the output and of its file or folder: `summary` is written to `/var/outputs/summary`. A letter, then
    /// letters, digits and underscores, at most 63.
    #[schemars(length(min = 1, max = 63), pattern(r"^[A-Za-z][A-Za-z0-9_]*$"))]
    pub name: String,
    /// `String`, `Int`, `Float`, `Bool` (`true` or `false`), `Datetime` (RFC 3339, with or without a zone), `Timedelta`
    /// (ISO 8601 such as `PT90S`, or seconds), `File` or `Dir`. Checked when the program is rehearsed.
    #[serde(rename = "type")]
    pub type_: ValueType,
    /// Format of a `File`, checked when the program is rehearsed: `CSV`, `TSV`, `JSON`, `JSONLines` (one JSON value per
    /// line), `Parquet`, `Excel`, `Arrow` (Feather), `Text` (UTF-8) or `Binary`. Default: any bytes are accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<FileFormat>,
    /// Meaning of the output, with its columns and units; the model reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub description: Option<String>,
}

impl From<&Output> for Declared {
    fn from(output: &Output) -> Self {
        Self {
            name: output.name.clone(),
            type_: output.type_,
            format: output.format,
        }
    }
}

/// A pytest file of the user that the program must pass and that no model ever sees: exactly one source. Its tests run the program by the fixture `program`
/// (`def test_a(program): assert program({"rows": 3}).text("total") == "6"`); what `import solution` shows is no independent evidence.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, KubeSchema)]
#[x_kube(validation = Rule::new("has(self.inline) != has(self.configMapKeyRef)")
    .message("give exactly one source: inline or configMapKeyRef"))]
#[serde(rename_all = "camelCase")]
pub struct AcceptanceTests {
    /// The test file's text, at most 262,144 characters; it imports the program as `solution`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 262_144))]
    pub inline: Option<String>,
    /// A key of a ConfigMap with the test file (`{name: penguin-acceptance, key: test_acceptance.py}`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_key_ref: Option<ConfigMapKeyRef>,
}
