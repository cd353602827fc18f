//! An object and the names that it has had.

use serde_json::json;

use super::super::manifest::ManifestDocument;

/// An object on its way through the kustomizations.
pub(super) struct Resource {
    /// As it is by now.
    pub document: ManifestDocument,
    /// Every name that it has had, the one of its manifest first.
    pub names: Vec<String>,
    /// Prefixes and suffixes that it has got, the innermost first.
    pub added: (Vec<String>, Vec<String>),
    /// True where its name ends in the hash of its content.
    pub is_hashed: bool,
}

impl Resource {
    /// An object of a manifest.
    pub(super) fn new(document: ManifestDocument) -> Self {
        Self {
            names: document.name().map(str::to_owned).into_iter().collect(),
            document,
            added: (Vec::new(), Vec::new()),
            is_hashed: false,
        }
    }

    /// Gives it another name; references by an earlier one still mean it.
    pub(super) fn rename(&mut self, name: String) {
        self.document.value["metadata"]["name"] = json!(name);
        self.names.push(name);
    }
}
