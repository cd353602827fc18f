//! What the words of a command depend on: variables that it set, and the folder that it is in.

use std::collections::{BTreeMap, BTreeSet};

use crate::paths::WORKSPACE;
use crate::script::{Argument, Part};

/// Folders that a script may be in at one moment, at most.
const MOST_FOLDERS: usize = 8;
/// Words of a loop over patterns, and forms of a path.
pub(crate) const MOST_OUTLINES: usize = 256;

/// What a word or a command depends on.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    /// Variables with their values.
    pub(crate) variables: BTreeMap<String, String>,
    /// Variables that programs are given.
    pub(crate) exported: BTreeMap<String, String>,
    /// Variables of loops over patterns, each with the forms that its values have as paths.
    pub(crate) loops: BTreeMap<String, Vec<String>>,
    /// The folders that the script may be in.
    pub(crate) folders: BTreeSet<String>,
    /// Whether what stands here runs exactly once, whatever came before: what is assigned is so from here on.
    pub(crate) is_unconditional: bool,
}

impl Scope {
    pub(crate) fn new() -> Self {
        Self {
            variables: BTreeMap::new(),
            exported: BTreeMap::new(),
            loops: BTreeMap::new(),
            folders: BTreeSet::from([WORKSPACE.to_owned()]),
            is_unconditional: true,
        }
    }

    /// The forms that an argument has as a path: a letter in the place of what a pattern matches, which is never `..`.
    pub(crate) fn outlines(&self, argument: &Argument) -> Vec<String> {
        let parts = match argument {
            Argument::Text(text) => return vec![text.clone()],
            Argument::Parts(parts) => parts,
        };
        let mut outlines = vec![String::new()];
        for (index, part) in parts.iter().enumerate() {
            let forms = match part {
                Part::Text(text) => vec![text.clone()],
                Part::Pattern(_) | Part::Status | Part::PipeStatus(_) => vec!["x".to_owned()],
                Part::Folder if index == 0 => vec![".".to_owned()],
                // A path within a path: nowhere that anything is written to.
                Part::Folder | Part::Program(_) => vec!["/../../..".to_owned()],
                Part::Variable(name) => self.loops.get(name).cloned().unwrap_or_default(),
            };
            let joined = outlines
                .iter()
                .flat_map(|start| forms.iter().map(move |form| format!("{start}{form}")));
            outlines = joined.take(MOST_OUTLINES).collect();
        }
        outlines
    }

    /// Whether more folders are possible than are followed.
    pub(crate) fn is_lost(&self) -> bool {
        self.folders.len() > MOST_FOLDERS
    }
}
