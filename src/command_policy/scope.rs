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

/// What a variable may hold, as far as that is settled before the command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    /// Its text.
    Text(String),
    /// That it is a path of one of these forms: it is not empty, and no option.
    Path(Vec<String>),
    /// Any text.
    Any,
}

/// What a word or a command depends on.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    /// Variables that the command sets, with what is known of each.
    pub(crate) variables: BTreeMap<String, Content>,
    /// Variables that programs are given.
    pub(crate) exported: BTreeMap<String, String>,
    /// The folders that the script may be in.
    pub(crate) folders: BTreeSet<String>,
    /// Of each loop of this process around what stands here, the innermost last, the folders at its start.
    pub(crate) loop_folders: Vec<BTreeSet<String>>,
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
            folders: BTreeSet::from([WORKSPACE.to_owned()]),
            loop_folders: Vec::new(),
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

    /// The scope of a process of its own: what it changes is its own.
    pub(crate) fn subshell(&self) -> Self {
        Self {
            loop_folders: Vec::new(),
            ..self.clone()
        }
    }

    /// Forgets what is known of variables.
    pub(crate) fn forget<'a>(&mut self, names: impl IntoIterator<Item = &'a String>) {
        let unknown = names.into_iter().map(|name| (name.clone(), Content::Any));
        self.variables.extend(unknown);
    }

    /// What holds after one of two ways: of variables that differ, nothing is known.
    pub(crate) fn join(&mut self, other: Self) {
        let names = self.variables.keys().chain(other.variables.keys());
        let differs = |name: &&String| self.variables.get(*name) != other.variables.get(*name);
        let differing: Vec<String> = names.filter(differs).cloned().collect();
        self.forget(&differing);
        self.folders.extend(other.folders);
    }

    /// What is known of a variable that becomes this.
    pub(crate) fn content(&self, value: &Argument) -> Content {
        let parts = match value {
            Argument::Text(text) => return Content::Text(text.clone()),
            Argument::Parts(parts) => parts,
        };
        // `$PWD` is another folder after a `cd`, and `${PIPESTATUS[n]}` may be empty.
        let varies = |part: &Part| matches!(part, Part::Folder | Part::PipeStatus(_));
        if self.is_unknown(value) || parts.iter().any(varies) {
            return Content::Any;
        }
        let forms = self.outlines(value);
        if forms.iter().any(|form| form.is_empty() || form.starts_with('-')) {
            return Content::Any;
        }
        Content::Path(forms)
    }

    /// Whether an argument has a part that may be any text.
    pub(crate) fn is_unknown(&self, argument: &Argument) -> bool {
        let Argument::Parts(parts) = argument else {
            return false;
        };
        parts.iter().any(|part| match part {
            Part::Variable(name) => self.variables.get(name) == Some(&Content::Any),
            Part::Output(_) | Part::Arithmetic(_) | Part::Fields(_) => true,
            _ => false,
        })
    }

    /// The folder that an argument lies in, as far as it is written out: what follows is not settled, and leads upwards nowhere.
    pub(crate) fn literal_folder(argument: &Argument) -> Option<&str> {
        let goes_up = |part: &Part| matches!(part, Part::Text(text) if text.contains(".."));
        if let Argument::Parts(parts) = argument
            && parts.iter().skip(1).any(goes_up)
        {
            return Some("/");
        }
        let (beginning, _) = argument.beginning();
        let (folder, _) = beginning.rsplit_once('/')?;
        Some(if folder.is_empty() { "/" } else { folder })
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
                Part::Variable(name) => match self.variables.get(name) {
                    Some(Content::Text(text)) => vec![text.clone()],
                    Some(Content::Path(forms)) => forms.clone(),
                    Some(Content::Any) | None => vec![NOWHERE_OF_OURS.to_owned()],
                },
                // A path within a path, or any text.
                _ => vec![NOWHERE_OF_OURS.to_owned()],
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
