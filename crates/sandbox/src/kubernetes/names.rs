//! Names and labels of children.

use std::collections::BTreeMap;

use codegen_core::digest::sha256_hex_of_parts;

/// Label that names the maker of an object.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// The value of [`MANAGED_BY`], and the name that this program has in the API server.
pub const OPERATOR: &str = "codegen-operator";
/// Name of the task that an object belongs to. Names of tasks may be longer than label values: then it is cut.
pub const TASK: &str = "codegen-operator.dev/task";
/// Name of the run of a program that an object belongs to, cut where it is longer than label values.
pub const RUN: &str = "codegen-operator.dev/run";
/// Uid of the task that an object belongs to; of the run, where it is one of a run.
pub const TASK_UID: &str = "codegen-operator.dev/task-uid";
/// Namespace of the tasks that a build in another namespace is for.
pub const TASK_NAMESPACE: &str = "codegen-operator.dev/task-namespace";
/// Name of the first of several objects that hold one thing together.
pub const PART_OF: &str = "codegen-operator.dev/part-of";
/// Label with the purpose of an object: one of [`Component`].
pub const COMPONENT: &str = "codegen-operator.dev/component";

/// Longest name that every kind may have.
// Labels, Pods' host names and Jobs all hold to DNS labels of 63 characters.
const LONGEST_NAME: usize = 63;
/// Characters of the hash in a name.
// 40 bits: names must differ among the children of one namespace, and the rest is left for a name that people read.
const HASH: usize = 10;

/// Purpose of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Component {
    /// Runs tests and programs.
    Sandbox,
    /// Reads samples and inputs on claims.
    Reader,
    /// Builds an image.
    Build,
    /// The frozen inputs of a run.
    Snapshot,
    /// Replies and documents of a run.
    Record,
    /// The archive of a finished task.
    Result,
    /// Outputs of a run of a program.
    Outputs,
    /// The harness, shared by a namespace's sandboxes.
    Harness,
    /// Tries what sandboxes and builds must not reach.
    Canary,
}

impl Component {
    /// The value of the label.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sandbox => "sandbox",
            Self::Reader => "reader",
            Self::Build => "build",
            Self::Snapshot => "snapshot",
            Self::Record => "record",
            Self::Result => "result",
            Self::Outputs => "outputs",
            Self::Harness => "harness",
            Self::Canary => "canary",
        }
    }
}

/// `prefix-hash`, the hash over every part: at most 63 characters, whatever the prefix is.
#[must_use]
pub fn name(prefix: &str, parts: &[&str]) -> String {
    let hash = &sha256_hex_of_parts(parts)[..HASH];
    // The prefix is cut and never the hash, which alone makes the name unique.
    format!("{}-{hash}", cut(prefix, LONGEST_NAME - HASH - 1))
}

/// Name of a Pod, or of the Job that makes it, `prefix-cghash`: an admission policy knows by its end that nobody is to get into it.
#[must_use]
pub fn name_of_pod(prefix: &str, parts: &[&str]) -> String {
    let hash = &sha256_hex_of_parts(parts)[..HASH];
    format!("{}-cg{hash}", cut(prefix, LONGEST_NAME - HASH - 3))
}

/// Labels of an object that belongs to a task.
#[must_use]
pub fn labels(task: &str, uid: &str, component: Component) -> BTreeMap<String, String> {
    labels_under(TASK, task, uid, component)
}

/// Labels of an object that belongs to a run of a program.
#[must_use]
pub fn labels_of_run(run: &str, uid: &str, component: Component) -> BTreeMap<String, String> {
    labels_under(RUN, run, uid, component)
}

fn labels_under(key: &str, owner: &str, uid: &str, component: Component) -> BTreeMap<String, String> {
    BTreeMap::from([
        (MANAGED_BY.to_owned(), OPERATOR.to_owned()),
        // Two tasks may be cut to the same label; the uid beside it tells them apart.
        (key.to_owned(), cut(owner, LONGEST_NAME).to_owned()),
        (TASK_UID.to_owned(), uid.to_owned()),
        (COMPONENT.to_owned(), component.as_str().to_owned()),
    ])
}

/// An architecture as the label `kubernetes.io/arch` of nodes and images have it, by Go's names.
#[must_use]
pub fn architecture(rust: &str) -> &str {
    match rust {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// The first characters of a name, ending in a letter or digit.
fn cut(name: &str, longest: usize) -> &str {
    let end = name.floor_char_boundary(longest);
    // A label must end in an alphanumeric character.
    name[..end].trim_end_matches(['-', '.', '_'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_fits_and_different_parts_give_different_names() {
        let long = "a".repeat(200);
        assert_eq!(name(&long, &["x"]).len(), 63);
        assert_ne!(name("a", &["x", "y"]), name("a", &["xy"]));
        assert_eq!(name("penguins", &["x"]), name("penguins", &["x"]));
        assert_eq!(name_of_pod(&long, &["x"]).len(), 63);
        assert!(name_of_pod("penguins", &["x"]).starts_with("penguins-cg"));
    }

    #[test]
    fn a_cut_name_is_a_label_value_still() {
        let task = format!("{}-.bcd", "a".repeat(61));
        let labels = labels(&task, "0c1", Component::Record);
        assert_eq!(labels[TASK], "a".repeat(61));
        assert_eq!(labels[COMPONENT], "record");
    }
}
