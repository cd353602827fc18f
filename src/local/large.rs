//! Results that lie in files already and are too large to be read: they are moved or copied to the folder of results.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::on_disk::StoredFiles;
use codegen_core::digest::sha256_of;
use codegen_core::task::{FrozenFile, is_plain_name};
use codegen_engine::results::LargeOutput;

/// Digests of published results by name.
type Published = BTreeMap<String, BTreeSet<String>>;

/// A result that lies in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LargeFile {
    /// Path at which it lies now.
    pub path: PathBuf,
    /// Its digest, hex.
    pub sha256: String,
    /// True where it is needed where it lies, as it is.
    pub stays: bool,
}

impl LargeFile {
    /// Puts it in another place of the same disk; one that does not stay, without another copy where the file system can do that.
    pub fn put(&self, place: &Path) -> io::Result<()> {
        match fs::remove_file(place) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let copy = || fs::copy(&self.path, place).map(drop);
        if self.stays {
            copy()?;
            // For nobody else, as all results.
            return fs::set_permissions(place, fs::Permissions::from_mode(0o600));
        }
        fs::hard_link(&self.path, place).or_else(|_| copy())
    }
}

/// Results that lie in files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LargeResults {
    /// Those that are to be moved or copied, by relative path.
    pub files: BTreeMap<String, LargeFile>,
    /// Relative paths of files and folders that an earlier command has moved. What a person has done with them since is theirs.
    pub moved: Vec<String>,
    /// Paths of the outputs as a whole until they have been moved.
    sources: Vec<PathBuf>,
}

impl LargeResults {
    /// The results that these outputs are, as far as `stored` has them still.
    pub fn find(stored: &StoredFiles, outputs: &[LargeOutput]) -> io::Result<Self> {
        let mut found = Self::default();
        for output in outputs {
            let place = stored.place(&output.name, &output.sha256);
            // Both are of a record, which may be anybody's.
            let is_inside = [&output.name, &output.sha256]
                .into_iter()
                .all(|name| is_plain_name(name));
            let there = is_inside.then(|| place.symlink_metadata().ok()).flatten();
            match there {
                Some(metadata) if metadata.is_dir() => {
                    let added = found.add_folder(&output.path, &place, false);
                    added.map_err(|error| {
                        io::Error::new(error.kind(), format!("cannot read {}: {error}", place.display()))
                    })?;
                }
                Some(metadata) if metadata.is_file() => {
                    let file = LargeFile {
                        path: place.clone(),
                        sha256: output.sha256.clone(),
                        stays: false,
                    };
                    found.files.insert(output.path.clone(), file);
                }
                // Nothing, or a link, which leads anywhere.
                _ => {
                    found.moved.push(output.path.clone());
                    continue;
                }
            }
            found.sources.push(place);
        }
        Ok(found)
    }

    /// Adds a sample or input of a task, which stays at `path`.
    pub fn add_input(&mut self, name: &str, path: PathBuf, input: &FrozenFile) -> io::Result<()> {
        if input.is_dir {
            return self.add_folder(name, &path, true);
        }
        let file = LargeFile {
            path,
            sha256: input.sha256.clone(),
            stays: true,
        };
        self.files.insert(name.to_owned(), file);
        Ok(())
    }

    /// Adds the files of a folder, which stay there.
    pub fn add_copies(&mut self, name: &str, folder: &Path) -> io::Result<()> {
        self.add_folder(name, folder, true)
    }

    fn add_folder(&mut self, name: &str, folder: &Path, stays: bool) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let file_name = path.file_name().unwrap_or_default().to_string_lossy();
            let name = format!("{name}/{file_name}");
            if path.is_dir() {
                self.add_folder(&name, &path, stays)?;
            } else {
                let sha256 = sha256_of(&mut File::open(&path)?)?;
                self.files.insert(name, LargeFile { path, sha256, stays });
            }
        }
        Ok(())
    }

    /// Removes the outputs from where they lay before; what cannot be removed goes with the next execution.
    pub fn forget_sources(&self) {
        for source in &self.sources {
            let _ = if source.is_dir() {
                fs::remove_dir_all(source)
            } else {
                fs::remove_file(source)
            };
        }
    }

    /// Returns what of `published` stays because an earlier command has moved it there.
    pub fn published_before(&self, published: &Published) -> Published {
        let is_moved = |name: &String| {
            self.moved.iter().any(|moved| {
                name.strip_prefix(moved.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
        };
        let stays = published.iter().filter(|(name, _)| is_moved(name));
        stays
            .map(|(name, digests)| (name.clone(), digests.clone()))
            .collect()
    }
}

#[cfg(test)]
mod tests;
