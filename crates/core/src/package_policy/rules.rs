//! The rules themselves, as the task and the operator's configuration state them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Prefix of the name of a system package.
pub(super) const SYSTEM: &str = "apt:";

/// The rules of one party.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Rules {
    /// Names of all that may be asked for; empty: everything.
    pub allow: Vec<String>,
    /// Names of what is never installed.
    pub deny: Vec<String>,
    /// Days that a release must have been on the index.
    pub min_release_age_days: u32,
    /// Set to true where the index is asked before a build.
    pub verify_on_index: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            deny: Vec::new(),
            min_release_age_days: 0,
            verify_on_index: true,
        }
    }
}

impl Rules {
    /// The field of the operator's configuration that nothing could be meant by, and what to write.
    #[must_use]
    pub fn unusable(&self) -> Option<(&'static str, &'static str)> {
        const NAMES: &str = "write names of packages without versions, with * for any characters and apt: before system packages";
        let has_others = |names: &[String]| names.iter().any(|pattern| !is_pattern(pattern));
        if has_others(&self.allow) {
            return Some(("packages.allow", NAMES));
        }
        if has_others(&self.deny) {
            return Some(("packages.deny", NAMES));
        }
        (self.min_release_age_days > 0 && !self.verify_on_index).then_some((
            "packages.minReleaseAgeDays",
            "the age of releases is known to the index alone: leave verifyOnIndex at true, or this one out",
        ))
    }
}

fn is_pattern(pattern: &str) -> bool {
    let name = pattern.strip_prefix(SYSTEM).unwrap_or(pattern);
    let is_valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '*' | '.' | '_' | '+' | '-');
    name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '*') && name.chars().all(is_valid)
}

/// All rules that hold for a task.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct PackagePolicy {
    /// Those of the task, or of its agent.
    pub own: Rules,
    /// Those of the operator; locally none.
    pub cluster: Rules,
}
