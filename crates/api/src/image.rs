//! The image that holds the program's packages.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::common::LocalRef;

/// Python version of a task that names none.
pub const DEFAULT_PYTHON_VERSION: &str = "3.12";

/// Base image of a task that names none: the official slim Python of its version.
#[must_use]
pub fn default_base(python_version: &str) -> String {
    format!("docker.io/library/python:{python_version}-slim")
}

/// The image that holds the program's packages (never its code). Locally the same package set becomes a virtual
/// environment.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// An image that is there already, by tag or better by digest (`registry.example.com/team/python@sha256:...`): nothing
    /// is built, and its `python3` must have every package that the program and its tests need, pytest among them.
    /// Default: none. Not used locally.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512), pattern(r"^[A-Za-z0-9][A-Za-z0-9._:/@-]*$"))]
    pub reference: Option<String>,
    /// Repository that images are pushed to (`registry.example.com/codegen`). Default: none. Not used locally.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    #[x_kube(validation = Rule::new("!self.contains('://') && !self.endsWith('/')")
        .message("write the repository without a scheme and without a / at its end, like registry.example.com/codegen"))]
    pub repository: Option<String>,
    /// By which name nodes pull from `repository`, where they know it by another one
    /// (`localhost:32000/codegen`). Default: `repository`. Not used locally.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    #[x_kube(validation = Rule::new("!self.contains('://') && !self.endsWith('/')")
        .message("write the repository without a scheme and without a / at its end, like localhost:32000/codegen"))]
    pub pull_repository: Option<String>,
    /// Secret of type `kubernetes.io/dockerconfigjson` to push with, with the label `codegen-operator.dev/use: registry`. Only the
    /// step that pushes sees it, never a package that is being installed. Default: none. Not used locally.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push_secret_ref: Option<LocalRef>,
    /// Secret of type `kubernetes.io/dockerconfigjson` to pull with, labelled as that of `pushSecretRef`. Where it has an entry for the registry of `base`, the
    /// build pulls the base with it: then give it the right to pull and no other, for packages that are being installed
    /// can read it. Default: `pushSecretRef`, with which no base is pulled. Not used locally.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_secret_ref: Option<LocalRef>,
    /// Base image with a Python of `pythonVersion` (`registry.example.com/python:3.12`). Default: the official slim
    /// Python, `docker.io/library/python:<pythonVersion>-slim`. Not used locally.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512), pattern(r"^[A-Za-z0-9][A-Za-z0-9._:/@-]*$"))]
    pub base: Option<String>,
    /// pip packages that are always installed, even when never imported: a name, extras and versions as pip writes them
    /// (`pandas[excel]>=2,<3`); at most 64. Default: none; what the program imports is found without it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 64),
        inner(
            length(min = 1, max = 128),
            pattern(r"^[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9._, -]+\])?( *(===?|[<>!~]=|[<>]) *[A-Za-z0-9.*+!_-]+ *,?)*$")
        )
    )]
    pub base_packages: Vec<String>,
    /// apt packages that are always installed (`libgomp1`); at most 64. Default: none. Locally they must be there
    /// already.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 64),
        inner(
            length(min = 2, max = 128),
            pattern(r"^[a-z0-9][a-z0-9+.-]+(=[A-Za-z0-9.+:~-]+)?$")
        )
    )]
    pub base_system_packages: Vec<String>,
    /// Python of the program, `"3.10"` to `"3.14"`, in quotes. Default `3.12`. Locally the nearest interpreter that is
    /// installed is used, and the run says which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4), pattern(r"^3\.(10|11|12|13|14)$"))]
    pub python_version: Option<String>,
    /// Package index that pip installs from (`https://pypi.example.com/simple`). Default: the one that pip is configured
    /// with.
    #[serde(default, rename = "indexURL", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048), pattern(r"^https?://"))]
    pub index_url: Option<String>,
    /// Certificate authorities of the package index, PEM, where no public one has signed for it; besides those of the operator's
    /// configuration; pip trusts no others then. Default: none.
    #[serde(default, rename = "indexCABundle", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 65536), pattern(r"^\s*-----BEGIN CERTIFICATE-----"))]
    pub index_ca_bundle: Option<String>,
}
