//! The runs of programs that a question has made: a folder each, named by the program and what it was called with.
//!
//! ```text
//! <the question's state>/calls/order-cleaning-1f0c2b3a4d5e/run.json  outputs/cleaned.csv
//! ```

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::local::folder::{FolderError, io_error};
use crate::local::large::LargeResults;
use codegen_api::CodeGenRun;
use codegen_api::run_status::RunOutputStatus;
use codegen_api::values::ValueType;
use codegen_core::code_mode::FileHandle;
use codegen_core::task::is_plain_name;
use codegen_ledger::{Seals, digest_below, read_below};

/// The run as an object with its status, in its folder.
const RUN: &str = "run.json";
/// The files that it wrote, in its folder.
pub(super) const OUTPUTS: &str = "outputs";
/// Folder of the files among the results of the question.
const PUBLISHED: &str = "files";
/// Prefix of the folders of runs that have not ended.
const UNFINISHED: &str = ".unfinished-";

/// The runs of one question.
#[derive(Debug)]
pub(super) struct Runs {
    folder: PathBuf,
    seals: Seals,
}

impl Runs {
    /// Those in `folder`, which may not be there yet. What a kill left of one that had not ended is removed: the question's folder is locked.
    pub fn open(folder: PathBuf, seals: Seals) -> Result<Self, FolderError> {
        let runs = Self { folder, seals };
        for (name, path) in runs.entries()? {
            if !is_name(&name) {
                fs::remove_dir_all(&path).map_err(io_error("remove", &path))?;
            }
        }
        Ok(runs)
    }

    /// The run of that name, where it has succeeded.
    pub fn find(&self, name: &str) -> Result<Option<CodeGenRun>, FolderError> {
        if !is_name(name) {
            return Ok(None);
        }
        let relative = Path::new(name).join(RUN);
        let path = self.folder.join(&relative);
        let sealed = match read_below(&self.folder, &relative) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            read => read.map_err(io_error("read", &path))?,
        };
        let Some(sealed) = sealed else { return Ok(None) };
        let Some(bytes) = self.seals.open(&sealed_name(name), sealed) else {
            return Err(FolderError::Damaged { path });
        };
        let run = serde_json::from_slice(&bytes).map_err(io::Error::other);
        run.map(Some).map_err(io_error("read", &path))
    }

    /// An empty folder for a run that begins.
    pub fn begin(&self) -> Result<TempDir, FolderError> {
        fs::create_dir_all(&self.folder).map_err(io_error("create", &self.folder))?;
        let folder = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempdir_in(&self.folder);
        folder.map_err(io_error("create a folder in", &self.folder))
    }

    /// Records a run that has succeeded, whose files lie in `begun`: whole or not at all.
    pub fn record(&self, name: &str, run: &CodeGenRun, begun: &TempDir) -> Result<(), FolderError> {
        let path = begun.path().join(RUN);
        let bytes = serde_json::to_vec_pretty(run).map_err(io::Error::other);
        let stored = bytes.and_then(|bytes| fs::write(&path, self.seals.seal(&sealed_name(name), &bytes)));
        stored.map_err(io_error("write", &path))?;
        let place = self.folder.join(name);
        fs::rename(begun.path(), &place).map_err(io_error("move", begun.path()))
    }

    /// Returns the path of what a handle stands for: `None` where no run of this question wrote it.
    pub fn output(&self, handle: &FileHandle) -> Result<Option<PathBuf>, FolderError> {
        let outputs = self.find(&handle.run)?.and_then(|run| run.status);
        let outputs = outputs.map(|status| status.outputs).unwrap_or_default();
        let is_meant = |output: &RunOutputStatus| {
            let is_file = [ValueType::File, ValueType::Dir].contains(&output.type_);
            is_file && output.name == handle.output && output.sha256 == handle.sha256
        };
        let Some(output) = outputs.into_iter().find(is_meant) else {
            return Ok(None);
        };
        // Somebody may have edited the record.
        if !is_plain_name(&output.file_name) {
            return Ok(None);
        }
        let relative = Path::new(&handle.run).join(OUTPUTS).join(&output.file_name);
        let path = self.folder.join(&relative);
        let digest = digest_below(&self.folder, &relative, output.type_ == ValueType::Dir);
        let is_it = digest.map_err(io_error("read", &path))? == output.sha256;
        Ok(is_it.then_some(path))
    }

    /// Copies of all files, for the results of the question.
    pub fn files(&self) -> Result<LargeResults, FolderError> {
        let mut files = LargeResults::default();
        for (name, path) in self.entries()? {
            let outputs = path.join(OUTPUTS);
            if is_name(&name) && outputs.is_dir() {
                let added = files.add_copies(&format!("{PUBLISHED}/{name}"), &outputs);
                added.map_err(io_error("read", &outputs))?;
            }
        }
        Ok(files)
    }

    /// Everything in the folder, by name.
    fn entries(&self) -> Result<Vec<(String, PathBuf)>, FolderError> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            found => found.map_err(io_error("read", &self.folder))?,
        };
        let named = |entry: fs::DirEntry| (entry.file_name().to_string_lossy().into_owned(), entry.path());
        let entries: io::Result<_> = entries.map(|entry| entry.map(named)).collect();
        entries.map_err(io_error("read", &self.folder))
    }
}

/// The name that the record of a run is sealed under: that of another run is none of it.
fn sealed_name(run: &str) -> String {
    format!("{run}/{RUN}")
}

/// Reports whether this may be the name of a run: a program may make one up.
fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
    name.bytes().all(is_plain) && name.starts_with(|first: char| first.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use serde_json::json;

    use super::*;
    use codegen_core::digest::sha256_of;

    const NAME: &str = "word-count-1f0c";

    fn seals() -> Seals {
        Seals::of_user("question").unwrap()
    }

    /// A run that has written `text` to its output `copy`.
    fn recorded(runs: &Runs, text: &str) -> FileHandle {
        let begun = runs.begin().unwrap();
        fs::create_dir(begun.path().join(OUTPUTS)).unwrap();
        let path = begun.path().join(OUTPUTS).join("copy.txt");
        fs::write(&path, text).unwrap();
        let sha256 = sha256_of(&mut File::open(path).unwrap()).unwrap();
        let output = json!({
            "name": "copy", "type": "File", "sha256": sha256, "bytes": text.len(), "fileName": "copy.txt", "files": [],
        });
        let run = json!({
            "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenRun", "metadata": {"name": NAME},
            "spec": {"taskRef": {"name": "word-count"}}, "status": {"outputs": [output]},
        });
        let run = serde_json::from_value(run).unwrap();
        runs.record(NAME, &run, &begun).unwrap();
        FileHandle {
            run: NAME.to_owned(),
            output: "copy".to_owned(),
            sha256,
        }
    }

    #[test]
    fn a_run_is_there_for_the_next_command_and_what_a_kill_left_of_another_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let runs = Runs::open(folder.path().join("calls"), seals()).unwrap();
        let handle = recorded(&runs, "one two");
        let unfinished = runs.begin().unwrap().keep();
        let runs = Runs::open(folder.path().join("calls"), seals()).unwrap();
        assert!(!unfinished.exists());
        assert!(runs.find(NAME).unwrap().is_some());
        let path = runs.output(&handle).unwrap().unwrap();
        assert_eq!(fs::read(path).unwrap(), b"one two");
    }

    #[test]
    fn a_file_that_was_changed_is_no_longer_what_its_handle_stands_for() {
        let folder = tempfile::tempdir().unwrap();
        let runs = Runs::open(folder.path().to_owned(), seals()).unwrap();
        let handle = recorded(&runs, "one two");
        let path = runs.output(&handle).unwrap().unwrap();
        fs::write(path, "one too").unwrap();
        assert_eq!(runs.output(&handle).unwrap(), None);
    }

    #[test]
    fn the_record_of_another_run_is_none_of_this_one_and_a_name_in_it_leads_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let runs = Runs::open(folder.path().to_owned(), seals()).unwrap();
        let handle = recorded(&runs, "one two");
        let (other, path) = ("word-count-2a2a", folder.path().join(NAME).join(RUN));
        fs::create_dir(folder.path().join(other)).unwrap();
        fs::copy(&path, folder.path().join(other).join(RUN)).unwrap();
        assert!(matches!(runs.find(other), Err(FolderError::Damaged { .. })));
        let mut run = runs.find(NAME).unwrap().unwrap();
        run.status.as_mut().unwrap().outputs[0].file_name = "../run.json".to_owned();
        let text = serde_json::to_vec(&run).unwrap();
        fs::write(&path, &text).unwrap();
        assert!(
            matches!(runs.find(NAME), Err(FolderError::Damaged { .. })),
            "it has no seal"
        );
        fs::write(&path, seals().seal(&sealed_name(NAME), &text)).unwrap();
        assert_eq!(runs.output(&handle).unwrap(), None);
    }

    #[test]
    fn the_results_of_a_question_have_copies_so_that_an_edited_one_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let runs = Runs::open(folder.path().to_owned(), seals()).unwrap();
        let handle = recorded(&runs, "one two");
        let files = runs.files().unwrap().files;
        let place = folder.path().join("copy");
        files[&format!("files/{NAME}/copy.txt")].put(&place).unwrap();
        fs::write(&place, "mine").unwrap();
        assert!(runs.output(&handle).unwrap().is_some());
    }

    #[test]
    fn no_name_that_a_program_makes_up_leads_out_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let runs = Runs::open(folder.path().join("calls"), seals()).unwrap();
        recorded(&runs, "one two");
        fs::copy(
            folder.path().join("calls").join(NAME).join(RUN),
            folder.path().join(RUN),
        )
        .unwrap();
        for name in ["..", ".", "", "../calls/word-count-1f0c", "/etc"] {
            assert!(runs.find(name).unwrap().is_none(), "{name}");
        }
    }
}
