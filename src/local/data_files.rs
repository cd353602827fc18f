//! Data files that a command line names in the place of a task: a folder stands for its files, and what can be read only once is copied.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use thiserror::Error;

use codegen_sources::{LARGEST_SOURCE, remedy};

/// Stands for standard input.
const STANDARD_INPUT: &str = "-";
/// Most files of a folder that are described at once: as many as a task may have samples.
const MOST_FILES: usize = 16;

/// A path that stands for no file.
#[derive(Debug, Error)]
pub enum DataFilesError {
    /// It is a folder that is rendered.
    #[error("{path} holds a kustomization: describe the samples of its tasks with -k {path}", path = .0.display())]
    Kustomization(PathBuf),
    /// It is a folder with nothing to describe in it.
    #[error("{path} is a folder without files of its own: name files, or a folder with some", path = .0.display())]
    NoFiles(PathBuf),
    /// It is a folder with too much in it.
    #[error("{path} is a folder with {count} files, and at most {MOST_FILES} are described at once: name those that you mean", path = path.display())]
    TooMany {
        /// The folder.
        path: PathBuf,
        /// Number of files in it.
        count: usize,
    },
    /// There is too much to read from a pipe.
    #[error("{path} gives more than 1 GiB: give a smaller sample", path = .0.display())]
    TooLarge(PathBuf),
    /// It cannot be read.
    #[error("cannot read {path}: {source}; {remedy}", path = path.display(), remedy = remedy(.source))]
    Read {
        /// The path.
        path: PathBuf,
        /// Cause of the failure.
        source: io::Error,
    },
    /// There is no room for a copy.
    #[error("cannot copy what {path} gives to a temporary file: {source}; set TMPDIR to a folder with room", path = path.display())]
    Copy {
        /// The path.
        path: PathBuf,
        /// Cause of the failure.
        source: io::Error,
    },
}

/// Files that can be read. Copies are gone with this.
#[derive(Debug, Default)]
pub struct DataFiles {
    /// In the order of the command line; a file that is not there is among them.
    pub paths: Vec<PathBuf>,
    /// Errors about arguments that stand for no file.
    pub errors: Vec<DataFilesError>,
    copies: Vec<TempDir>,
}

impl DataFiles {
    /// Finds the files; reads pipes and standard input to their end.
    #[must_use]
    pub fn find(paths: &[PathBuf]) -> Self {
        let mut found = Self::default();
        for path in paths {
            if let Err(error) = found.add(path) {
                found.errors.push(error);
            }
        }
        found
    }

    fn add(&mut self, path: &Path) -> Result<(), DataFilesError> {
        if path == Path::new(STANDARD_INPUT) {
            return self.copy(path, "stdin", &mut io::stdin().lock());
        }
        // What cannot be read is reported with its sample.
        let Ok(metadata) = fs::metadata(path) else {
            self.paths.push(path.to_owned());
            return Ok(());
        };
        if metadata.is_dir() {
            self.paths.extend(files_of(path)?);
            return Ok(());
        }
        if metadata.is_file() {
            self.paths.push(path.to_owned());
            return Ok(());
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut pipe = File::open(path).map_err(|source| unreadable(path, source))?;
        self.copy(path, &name, &mut pipe)
    }

    fn copy(&mut self, path: &Path, name: &str, from: &mut dyn io::Read) -> Result<(), DataFilesError> {
        let unwritable = |source| DataFilesError::Copy {
            path: path.to_owned(),
            source,
        };
        let folder = tempfile::tempdir().map_err(unwritable)?;
        let target = folder.path().join(name);
        let mut file = File::create(&target).map_err(unwritable)?;
        // One byte more shows that there is more. A device may have no end.
        let bytes = io::copy(&mut from.take(LARGEST_SOURCE + 1), &mut file).map_err(unwritable)?;
        if bytes > LARGEST_SOURCE {
            return Err(DataFilesError::TooLarge(path.to_owned()));
        }
        self.paths.push(target);
        self.copies.push(folder);
        Ok(())
    }
}

/// The files of a folder by name, without hidden ones and without what lies in folders below.
fn files_of(folder: &Path) -> Result<Vec<PathBuf>, DataFilesError> {
    let entries = fs::read_dir(folder).map_err(|source| unreadable(folder, source))?;
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|source| unreadable(folder, source))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if ["kustomization.yaml", "kustomization.yml", "Kustomization"].contains(&name.as_ref()) {
            return Err(DataFilesError::Kustomization(folder.to_owned()));
        }
        if !name.starts_with('.') && entry.path().is_file() {
            files.push(entry.path());
        }
    }
    files.sort();
    match files.len() {
        0 => Err(DataFilesError::NoFiles(folder.to_owned())),
        1..=MOST_FILES => Ok(files),
        count => Err(DataFilesError::TooMany {
            path: folder.to_owned(),
            count,
        }),
    }
}

fn unreadable(path: &Path, source: io::Error) -> DataFilesError {
    DataFilesError::Read {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(path: &Path) -> String {
        let found = DataFiles::find(&[path.to_owned()]);
        assert!(found.paths.is_empty());
        found.errors[0].to_string()
    }

    #[test]
    fn of_a_file_that_may_not_be_read_the_path_is_not_called_wrong() {
        let message = unreadable(Path::new("s.csv"), io::ErrorKind::PermissionDenied.into()).to_string();
        assert!(
            message.contains("chmod u+r") && !message.contains("correct the path"),
            "{message}"
        );
    }

    #[test]
    fn a_folder_stands_for_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("below")).unwrap();
        fs::write(at(".hidden"), "x").unwrap();
        assert!(said(folder.path()).contains("is a folder without files of its own"));
        for name in ["b.csv", "a.csv"] {
            fs::write(at(name), "x").unwrap();
        }
        let found = DataFiles::find(&[folder.path().to_owned(), at("absent.csv")]);
        assert_eq!(found.paths, [at("a.csv"), at("b.csv"), at("absent.csv")]);
        for number in 0..20 {
            fs::write(at(&format!("{number}.csv")), "x").unwrap();
        }
        assert!(said(folder.path()).contains("with 22 files, and at most 16"));
        fs::write(at("kustomization.yaml"), "").unwrap();
        assert!(said(folder.path()).contains("with -k "));
    }

    #[test]
    fn a_pipe_is_copied_and_its_copy_is_gone_in_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("rows");
        rustix::fs::mkfifoat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        )
        .unwrap();
        let writer = pipe.clone();
        let writing = std::thread::spawn(move || fs::write(writer, "a\n1\n").unwrap());
        let found = DataFiles::find(&[pipe]);
        writing.join().unwrap();
        let copy = found.paths[0].clone();
        assert!(copy.ends_with("rows"));
        assert_eq!(fs::read(&copy).unwrap(), b"a\n1\n");
        drop(found);
        assert!(!copy.exists());
    }
}
