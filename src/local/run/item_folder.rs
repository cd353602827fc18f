//! The folder of results of a run for each of many files.
//!
//! ```text
//! out/items.jsonl         a line an item, written once its files lie in their place; in the order of the files at the end
//! out/items.csv           the values of all items, written at the end
//! out/may/summary.csv     the files of the item `may`
//! ```

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::WRITING;
use super::error::LocalRunError;
use super::write::{Held, hold, write};
use crate::local::folder::{FolderError, create, write_whole_with};
use codegen_api::run_status::RunOutputStatus;
use codegen_api::values::{Output, ValueType};
use codegen_core::run::{ItemRecord, LINES, TABLE, TypedOutput, items_table};
use codegen_ledger::read_below;

/// A folder of results, held against other commands.
#[derive(Debug)]
pub(super) struct ItemFolder {
    root: PathBuf,
    /// Lines of earlier commands, by item.
    before: BTreeMap<String, ItemRecord>,
    lines: File,
    _held: Held,
}

impl ItemFolder {
    /// Opens a folder that is empty, or has the results of an earlier command. What a kill left of items that had not ended is removed.
    pub fn open(root: &Path) -> Result<Self, LocalRunError> {
        let held = hold(root)?;
        let path = root.join(LINES);
        let text = read_below(root, Path::new(LINES)).map_err(failed("read", &path))?;
        let entries: io::Result<Vec<_>> = fs::read_dir(root).and_then(Iterator::collect);
        let entries = entries.map_err(failed("read", root))?;
        if text.is_none() && !entries.is_empty() {
            return Err(LocalRunError::NotOfItems {
                folder: root.to_owned(),
            });
        }
        for entry in entries {
            if entry.file_name().to_string_lossy().starts_with(WRITING) {
                remove(&entry.path())?;
            }
        }
        // A kill may have torn the last line. Of an item with several lines the last one counts.
        let text = text.unwrap_or_default();
        let lines = text.split(|byte| *byte == b'\n');
        let before = lines.filter_map(|line| serde_json::from_slice::<ItemRecord>(line).ok());
        let before: BTreeMap<String, ItemRecord> = before.map(|line| (line.item.clone(), line)).collect();
        // Whole lines alone: what is appended begins one.
        write_lines(&path, before.values())?;
        let lines = OpenOptions::new().append(true).open(&path);
        Ok(Self {
            root: root.to_owned(),
            before,
            lines: lines.map_err(failed("open", &path))?,
            _held: held,
        })
    }

    /// The line of an earlier command about an item with the same program, inputs and settings, whose files are there.
    pub fn before(&self, item: &str, key: &str) -> Option<&ItemRecord> {
        let is_same = |record: &&ItemRecord| record.key.as_deref() == Some(key);
        let is_value = |output: &RunOutputStatus| output.value.is_some();
        let is_there =
            |record: &&ItemRecord| record.outputs.iter().all(is_value) || self.root.join(item).is_dir();
        self.before.get(item).filter(is_same).filter(is_there)
    }

    /// Creates a folder for what an item that begins writes.
    pub fn begin(&self) -> Result<TempDir, LocalRunError> {
        let folder = tempfile::Builder::new().prefix(WRITING).tempdir_in(&self.root);
        Ok(folder.map_err(failed("create a folder in", &self.root))?)
    }

    /// Writes the files of an item to the folder that was created for it.
    pub fn write(item: &str, outputs: &[TypedOutput], begun: &TempDir) -> Result<(), LocalRunError> {
        let is_file = |output: &TypedOutput| matches!(output.type_, ValueType::File | ValueType::Dir);
        if outputs.iter().any(is_file) {
            let folder = begun.path().join(item);
            create(&folder)?;
            write(&folder, outputs)?;
        }
        Ok(())
    }

    /// Records an item that has ended: first its files, where it wrote some, then its line.
    pub fn record(&self, record: &ItemRecord, begun: Option<&TempDir>) -> Result<(), LocalRunError> {
        let place = self.root.join(&record.item);
        remove(&place)?;
        if let Some(begun) = begun {
            let files = begun.path().join(&record.item);
            if files.is_dir() {
                fs::rename(&files, &place).map_err(failed("move", &files))?;
            }
        }
        let path = self.root.join(LINES);
        let recorded = (&self.lines).write_all(line(record).as_bytes());
        Ok(recorded.map_err(failed("write", &path))?)
    }

    /// Writes the lines of all items in their order, and their table.
    pub fn finish(&self, declared: &[Output], records: &[ItemRecord]) -> Result<(), LocalRunError> {
        write_lines(&self.root.join(LINES), records)?;
        let table = items_table(declared, records);
        write_whole_with(&self.root.join(TABLE), &table, 0o666)?;
        Ok(())
    }
}

fn write_lines<'a>(
    path: &Path,
    records: impl IntoIterator<Item = &'a ItemRecord>,
) -> Result<(), FolderError> {
    let lines: String = records.into_iter().map(line).collect();
    write_whole_with(path, lines.as_bytes(), 0o666)
}

/// The line of a record, which is plain data: it becomes JSON always.
fn line(record: &ItemRecord) -> String {
    serde_json::to_string(record).unwrap_or_default() + "\n"
}

/// Removes a file or a folder, and of a link the link.
fn remove(path: &Path) -> Result<(), FolderError> {
    let removed = match path.symlink_metadata() {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    };
    removed.map_err(failed("remove", path))
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FolderError + use<> {
    let path = path.to_owned();
    move |source| FolderError::Io { action, path, source }
}
