//! Inputs of a job as files that the sandbox's user may read.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::error::SandboxError;
use codegen_core::sandbox::{InputMount, PhaseFile};

/// Folder of the inputs in a sandbox.
const FOLDER: &str = "/var/inputs";
/// Largest input that is copied although it could be mounted, bytes.
const COPIED: u64 = 16 << 20;

/// Something that is mounted read-only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    /// Path on this machine.
    pub source: PathBuf,
    /// Path in the sandbox.
    pub target: PathBuf,
}

/// Mounts of all inputs, each under its file name and its bare name. What is small is copied into `staging` first, and what the user of
/// the sandbox could not read.
pub(super) fn mounts(
    inputs: &[InputMount],
    staging: &Path,
    other_user: bool,
) -> Result<Vec<Mount>, SandboxError> {
    let mut mounts: Vec<Mount> = Vec::new();
    for (number, input) in inputs.iter().enumerate() {
        let refuse = |reason: String| SandboxError::Input {
            name: input.name.clone(),
            reason,
        };
        // Before anything is copied.
        for name in [&input.file_name, &input.name] {
            if name.is_empty() || name.contains('/') || name == "." || name == ".." {
                return Err(refuse(format!("`{name}` is not a file name")));
            }
        }
        let source = if input.content.is_empty() {
            fs::canonicalize(&input.source).map_err(|error| refuse(format!("{}: {error}", input.source)))?
        } else {
            let place = staging.join(format!("content-{number}"));
            write(&input.content, &place).map_err(|error| refuse(error.to_string()))?;
            place
        };
        // What is small is copied whosever it is, so that a case looks as a run does. Where root starts it and another user runs in it, what
        // the owner alone may read is copied as well, since changing modes would change the user's files.
        let is_small = size(&source, COPIED).is_ok_and(|bytes| bytes <= COPIED);
        let source = if is_small || other_user && !readable_by_all(&source).unwrap_or(false) {
            let copy = staging.join(format!("input-{number}"));
            copy_readable(&source, &copy).map_err(|error| refuse(format!("{}: {error}", input.source)))?;
            copy
        } else {
            source
        };
        for name in [&input.file_name, &input.name] {
            let target = Path::new(FOLDER).join(name);
            if mounts.iter().all(|mount| mount.target != target) {
                mounts.push(Mount {
                    source: source.clone(),
                    target,
                });
            }
        }
    }
    Ok(mounts)
}

/// Bytes of a file, or of all in a folder, counted until they are more than `most`.
fn size(path: &Path, most: u64) -> io::Result<u64> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_dir() {
        return Ok(metadata.len());
    }
    let mut bytes = 0;
    for entry in fs::read_dir(path)? {
        // An entry counts as well, for a folder may have many that are empty.
        bytes += 4096 + size(&entry?.path(), most)?;
        if bytes > most {
            break;
        }
    }
    Ok(bytes)
}

/// Writes what lies nowhere.
fn write(files: &[PhaseFile], place: &Path) -> io::Result<()> {
    for file in files {
        let path = if file.path.is_empty() {
            place.to_owned()
        } else {
            fs::create_dir_all(place)?;
            place.join(&file.path)
        };
        fs::write(
            &path,
            BASE64_STANDARD.decode(&file.content).map_err(io::Error::other)?,
        )?;
    }
    Ok(())
}

fn readable_by_all(path: &Path) -> io::Result<bool> {
    let metadata = fs::metadata(path)?;
    let mode = metadata.permissions().mode();
    if !metadata.is_dir() {
        return Ok(mode & 0o004 != 0);
    }
    // A folder needs both: reading lists its names, and executing opens what is in it.
    if mode & 0o005 != 0o005 {
        return Ok(false);
    }
    for entry in fs::read_dir(path)? {
        if !readable_by_all(&entry?.path())? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn copy_readable(source: &Path, target: &Path) -> io::Result<()> {
    let kind = fs::symlink_metadata(source)?;
    if kind.is_symlink() {
        // It leads where it leads in the sandbox, and to nothing of this machine.
        return std::os::unix::fs::symlink(fs::read_link(source)?, target);
    }
    if !kind.is_dir() {
        fs::copy(source, target)?;
        return fs::set_permissions(target, fs::Permissions::from_mode(0o644));
    }
    fs::create_dir(target)?;
    for entry in fs::read_dir(source)? {
        let entry = entry?;
        copy_readable(&entry.path(), &target.join(entry.file_name()))?;
    }
    fs::set_permissions(target, fs::Permissions::from_mode(0o755))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(name: &str, file_name: &str, source: &Path) -> InputMount {
        InputMount {
            name: name.into(),
            file_name: file_name.into(),
            source: source.display().to_string(),
            content: Vec::new(),
        }
    }

    #[test]
    fn an_input_lies_under_its_file_name_and_its_bare_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.csv");
        fs::write(&file, "x").unwrap();
        let mounts = mounts(&[input("sales", "sales.csv", &file)], folder.path(), false).unwrap();
        let targets: Vec<_> = mounts
            .iter()
            .map(|mount| mount.target.display().to_string())
            .collect();
        assert_eq!(targets, ["/var/inputs/sales.csv", "/var/inputs/sales"]);
    }

    #[test]
    fn what_the_other_user_could_not_read_is_copied() {
        let folder = tempfile::tempdir().unwrap();
        let staging = tempfile::tempdir().unwrap();
        let inner = folder.path().join("photos");
        fs::create_dir(&inner).unwrap();
        fs::write(inner.join("a.txt"), "x").unwrap();
        fs::set_permissions(inner.join("a.txt"), fs::Permissions::from_mode(0o600)).unwrap();
        let mounts = mounts(&[input("photos", "photos", &inner)], staging.path(), true).unwrap();
        assert_eq!(mounts.len(), 1, "a folder has one name");
        assert!(mounts[0].source.starts_with(staging.path()));
        assert!(readable_by_all(&mounts[0].source).unwrap());
    }

    #[test]
    fn a_missing_source_and_a_bad_name_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let gone = mounts(
            &[input("a", "a.csv", &folder.path().join("gone"))],
            folder.path(),
            false,
        );
        assert!(
            gone.unwrap_err()
                .to_string()
                .starts_with("input `a` cannot be given")
        );
        let bad = mounts(&[input("a", "../a", folder.path())], folder.path(), false);
        assert!(bad.unwrap_err().to_string().contains("not a file name"));
    }
}
