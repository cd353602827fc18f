//! The files of an agent: content, and no folder. A name that is not in it does not exist.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::digest::sha256_hex;

/// Directory of the samples in a sandbox.
const INPUTS: &str = "/var/inputs/";
/// Directory of the files in a sandbox.
pub const WORKSPACE: &str = "/sandbox";
/// The program.
pub const SOLUTION: &str = "solution.py";
/// Its suite.
pub const TESTS: &str = "test_solution.py";
/// The suite's second name, where no file has the first.
const OTHER_TESTS: &str = "tests.py";
/// The packages that both need, one a line; `apt:NAME` for one of the system.
pub const PACKAGES: &str = "packages.txt";

/// Most files.
pub const MAX_FILES: usize = 64;
/// Most bytes of all files together.
pub const MAX_BYTES: usize = 1 << 20;
/// Longest path, bytes.
const LONGEST_PATH: usize = 256;
/// Longest name of a file or a folder, bytes.
const LONGEST_NAME: usize = 255;

/// The files of an agent by their path below [`WORKSPACE`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workspace {
    files: BTreeMap<String, Vec<u8>>,
}

impl Workspace {
    /// The files in order of their paths.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files
            .iter()
            .map(|(path, content)| (path.as_str(), content.as_slice()))
    }

    /// A file's bytes.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(Vec::as_slice)
    }

    /// Name of the suite: [`TESTS`], unless only `tests.py` is there.
    #[must_use]
    pub fn suite(&self) -> &'static str {
        if !self.files.contains_key(TESTS) && self.files.contains_key(OTHER_TESTS) {
            OTHER_TESTS
        } else {
            TESTS
        }
    }

    /// A file as text; why there is none.
    pub fn text(&self, path: &str) -> Result<&str, String> {
        let content = self
            .get(path)
            .ok_or_else(|| format!("{path} does not exist. {}", self.listed()))?;
        std::str::from_utf8(content).map_err(|_| format!("{path} is not text (UTF-8)."))
    }

    /// Lists the files that are there, in one sentence.
    fn listed(&self) -> String {
        if self.files.is_empty() {
            return "The workspace is empty.".to_owned();
        }
        let names: Vec<&str> = self.files.keys().map(String::as_str).collect();
        format!("The workspace has {}.", names.join(", "))
    }

    /// Writes a file, or says why it has no room.
    pub fn put(&mut self, path: &str, content: Vec<u8>) -> Result<(), String> {
        let before = self.files.get(path).map_or(0, Vec::len);
        if !self.files.contains_key(path) && self.files.len() >= MAX_FILES {
            return Err(format!(
                "{path} was not written: the workspace has {MAX_FILES} files, and no more are taken. Remove some."
            ));
        }
        if let Some(why) = self.obstacle(path) {
            return Err(format!("{path} was not written: {why}. Choose another name."));
        }
        if self.bytes() - before + content.len() > MAX_BYTES {
            return Err(format!(
                "{path} was not written: with its {} bytes the workspace would have more than {MAX_BYTES}. Remove what is not needed.",
                content.len()
            ));
        }
        self.files.insert(path.to_owned(), content);
        Ok(())
    }

    /// Takes changes as a whole (`None` is a file that is gone), so that it does not matter whose name comes first. What has no
    /// room stays as it was.
    pub fn change(&mut self, changes: BTreeMap<String, Option<Vec<u8>>>) {
        let mut before: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for path in changes.keys() {
            before.extend(self.files.remove_entry(path));
        }
        for (path, content) in changes {
            let Some(content) = content else { continue };
            if self.put(&path, content).is_err() {
                self.files.extend(before.remove_entry(&path));
            }
        }
    }

    /// Returns the reason for which there can be no file at a path beside those that are there.
    fn obstacle(&self, path: &str) -> Option<String> {
        let mut folders = path.match_indices('/').map(|(end, _)| &path[..end]);
        if let Some(file) = folders.find(|folder| self.files.contains_key(*folder)) {
            return Some(format!("{file} is a file, and no folder"));
        }
        let folder = format!("{path}/");
        let first = self.files.range(folder.clone()..).next();
        let (other, _) = first.filter(|(other, _)| other.starts_with(&folder))?;
        Some(format!("{path} is a folder, with {other} in it"))
    }

    fn bytes(&self) -> usize {
        self.files.values().map(Vec::len).sum()
    }

    /// SHA-256 (hex) of a file's content; empty for none.
    #[must_use]
    pub fn digest(&self, path: &str) -> String {
        self.get(path).map(sha256_hex).unwrap_or_default()
    }

    /// Returns the hash of all paths and contents, hex: the same for equal workspaces.
    #[must_use]
    pub fn hash(&self) -> String {
        let mut all = String::new();
        for (path, content) in &self.files {
            // Writing to a string cannot fail.
            let _ = writeln!(all, "{} {path}", sha256_hex(content));
        }
        sha256_hex(all.as_bytes())
    }
}

/// The path below [`WORKSPACE`] of a file as a model names it (`solution.py`, `./solution.py`, `/sandbox/solution.py`).
pub fn relative(named: &str) -> Result<String, String> {
    let outside = |why: &str| {
        Err(format!(
            "{named:?} is no file of the workspace: {why}. Name it as {SOLUTION} or {WORKSPACE}/{SOLUTION}."
        ))
    };
    let path = match named.strip_prefix('/') {
        None => named,
        Some(_) => match named
            .strip_prefix(WORKSPACE)
            .and_then(|rest| rest.strip_prefix('/'))
        {
            Some(rest) => rest,
            None if named.starts_with(INPUTS) => {
                return outside(
                    "samples are read by commands (`head -5 FILE`), where the task lets them be seen",
                );
            }
            None => return outside("it lies outside"),
        },
    };
    let parts: Vec<&str> = path
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    if parts.contains(&"..") {
        return outside("`..` leads out of it");
    }
    if parts.is_empty() || path.ends_with('/') {
        return outside("it names a folder");
    }
    if parts.iter().any(|part| part.len() > LONGEST_NAME) {
        return outside("a name in it is longer than 255 bytes");
    }
    let path = parts.join("/");
    if path.len() > LONGEST_PATH || path.chars().any(char::is_control) {
        return outside("such a name cannot be written");
    }
    Ok(path)
}
