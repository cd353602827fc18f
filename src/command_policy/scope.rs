//! What the words of a command depend on: variables that it set, and the folder that it is in.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::denial::Denial;
use crate::paths::WORKSPACE;
use crate::script::{Argument, Part};

/// Folders that a script may be in at one moment, at most.
const MOST_FOLDERS: usize = 8;
/// Words of a loop over patterns, and forms of a path.
pub(crate) const MOST_OUTLINES: usize = 256;
/// Bytes of the forms of a path, together.
const MOST_OUTLINE_BYTES: usize = 16 * 1024;
/// Bytes and parts of all words of a command, once they are settled. Variables and loops make more of few.
const MOST_UNITS: usize = 1 << 20;
/// A path that is nowhere that anything is written to.
const NOWHERE_OF_OURS: &str = "/../../..";

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
    /// How much of [`MOST_UNITS`] is used, in all scopes of the command.
    units: Rc<Cell<usize>>,
}

impl Scope {
    pub(crate) fn new() -> Self {
        Self {
            variables: BTreeMap::new(),
            exported: BTreeMap::new(),
            loops: BTreeMap::new(),
            folders: BTreeSet::from([WORKSPACE.to_owned()]),
            is_unconditional: true,
            units: Rc::default(),
        }
    }

    /// The scope of a command within the command, in the same folders.
    pub(crate) fn inner(&self) -> Self {
        Self {
            folders: self.folders.clone(),
            units: Rc::clone(&self.units),
            ..Self::new()
        }
    }

    /// Notes the size of a word.
    pub(crate) fn count(&self, units: usize) -> Result<(), Denial> {
        self.units.set(self.units.get().saturating_add(units));
        if self.units.get() > MOST_UNITS {
            return Err(Denial::syntax(format!(
                "its variables and loops become more than {MOST_UNITS} bytes of words: write a small Python file"
            )));
        }
        Ok(())
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
                Part::Pattern(_) | Part::Status => vec!["x".to_owned()],
                // Of a pipeline that is shorter it is nothing.
                Part::PipeStatus(_) => vec!["x".to_owned(), String::new()],
                Part::Folder if index == 0 => vec![".".to_owned()],
                // A path within a path.
                Part::Folder | Part::Program(_) => vec![NOWHERE_OF_OURS.to_owned()],
                Part::Variable(name) => {
                    let forms = self.loops.get(name).cloned();
                    forms.unwrap_or_else(|| vec![NOWHERE_OF_OURS.to_owned()])
                }
            };
            let joined = outlines
                .iter()
                .flat_map(|start| forms.iter().map(move |form| format!("{start}{form}")));
            outlines = joined.take(MOST_OUTLINES + 1).collect();
            let bytes: usize = outlines.iter().map(String::len).sum();
            // Those that are left out could lead anywhere.
            if outlines.len() > MOST_OUTLINES || bytes > MOST_OUTLINE_BYTES {
                return vec![NOWHERE_OF_OURS.to_owned()];
            }
        }
        outlines
    }

    /// Whether more folders are possible than are followed.
    pub(crate) fn is_lost(&self) -> bool {
        self.folders.len() > MOST_FOLDERS
    }
}
