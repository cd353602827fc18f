//! Rules for the packages that may be installed for a program.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// Rules for the packages that may be installed for the program. The rules of whoever runs the operator hold besides and cannot be widened.
/// In names `*` stands for any characters; `apt:` before a name means a system package.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PackageRules {
    /// All that may be asked for (`[pandas, "scikit-*", "apt:libgomp1"]`), at most 256; anything else ends the task as
    /// `PolicyDenied`. pytest, what `image.basePackages` and `image.baseSystemPackages` list and what packages bring along need
    /// not be named. Default: everything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 256),
        inner(
            length(min = 1, max = 128),
            pattern(r"^(apt:)?[A-Za-z0-9*][A-Za-z0-9*._+-]*$")
        )
    )]
    pub allow: Vec<String>,
    /// Packages that are never installed (`["torch*", requests]`), at most 256, whether one is asked for or brought along by another
    /// package; such a package ends the task as `PolicyDenied`. It goes before `allow`. Default: nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 256),
        inner(
            length(min = 1, max = 128),
            pattern(r"^(apt:)?[A-Za-z0-9*][A-Za-z0-9*._+-]*$")
        )
    )]
    pub deny: Vec<String>,
    /// Days that a release must have been on the index, 0 to 3,650: a younger one of a package that is asked for is passed over
    /// for an older one. The index must say when releases were made, as PyPI does. Default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 3650))]
    pub min_release_age_days: Option<i32>,
    /// Set to false to build an image without asking the index first if it has each package for this Python. The question
    /// spares a build for a name that does not exist. Default `true`. Not used locally, where the installer tells at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify_on_index: Option<bool>,
}
