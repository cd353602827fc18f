//! The files of a run's outputs, in a folder of the user's.

use std::fs::{self, File, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::error::LocalRunError;
use crate::local::folder::{FolderError, create, inside, io_error, write_whole_with};
use crate::local::on_disk::make_own;
use codegen_api::values::{Output, ValueType};
use codegen_core::run::{OutputPlace, Stored, TypedOutput};

/// A folder that outputs go to, held against other runs as long as this lives.
#[derive(Debug)]
pub struct Held {
    _folder: File,
}

/// Creates the folder where it is missing, and holds it. The folder itself is locked, so that nothing besides outputs lies in it.
pub fn hold(folder: &Path) -> Result<Held, LocalRunError> {
    create(folder)?;
    let file = File::open(folder).map_err(io_error("open", folder))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(LocalRunError::InUse {
            folder: folder.to_owned(),
        }),
        // Some network file systems lock no folders: there a run is on its own, as before.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(Held { _folder: file }),
    }
}

/// Refuses, before anything runs, a folder into which the outputs cannot go: files of another run would be taken for those of
/// this one.
pub fn check(folder: &Path, outputs: &[Output]) -> Result<(), LocalRunError> {
    let folders = outputs.iter().filter(|output| output.type_ == ValueType::Dir);
    check_folders(folder, folders.map(|output| output.name.as_str()))
}

/// [`check`] for the outputs of these names, which are folders.
pub fn check_folders<'a>(
    folder: &Path,
    outputs: impl IntoIterator<Item = &'a str>,
) -> Result<(), LocalRunError> {
    for output in outputs {
        let folder = folder.join(output);
        // What is no folder, or cannot be read, counts as not empty.
        let is_empty = fs::read_dir(&folder).map_or(!folder.exists(), |mut entries| entries.next().is_none());
        if !is_empty {
            return Err(LocalRunError::NotEmpty {
                output: output.to_owned(),
                folder,
            });
        }
    }
    Ok(())
}

/// Writes files and folders below `folder`, each file whole or not at all. Gives where each output lies.
pub fn write(folder: &Path, outputs: &[TypedOutput]) -> Result<Vec<(String, PathBuf)>, FolderError> {
    let mut places = Vec::new();
    for output in outputs {
        let is_dir = output.type_ == ValueType::Dir;
        if !is_dir && output.type_ != ValueType::File {
            continue;
        }
        // Of a run in a cluster, the API server names it.
        let place = inside(folder, &output.file_name)?;
        if is_dir {
            fs::create_dir_all(&place).map_err(io_error("create", &place))?;
        }
        if let Some(Stored {
            place: OutputPlace::Disk(written),
            ..
        }) = &output.stored
        {
            hand_over(written, &place).map_err(io_error("write", &place))?;
        }
        for file in &output.files {
            let path = if is_dir {
                inside(&place, &file.path)?
            } else {
                place.clone()
            };
            // For everybody whom the umask allows: outputs are for use, unlike the state of a task.
            write_whole_with(&path, &file.bytes, 0o666)?;
        }
        places.push((output.name.clone(), place));
    }
    Ok(places)
}

/// Moves what a sandbox wrote, the place of a folder being there. On the disk of another folder it is copied.
fn hand_over(written: &Path, place: &Path) -> io::Result<()> {
    make_own(written)?;
    if !written.symlink_metadata()?.is_dir() {
        let folder = place.parent().unwrap_or(Path::new("."));
        let mode = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder)?
            .as_file()
            .metadata()?
            .permissions();
        // For everybody whom the umask allows, as all outputs.
        fs::set_permissions(written, mode)?;
        return fs::rename(written, place).or_else(|_| fs::copy(written, place).map(drop));
    }
    for entry in fs::read_dir(written)? {
        let entry = entry?;
        let inner = place.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir_all(&inner)?;
        }
        hand_over(&entry.path(), &inner)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use codegen_core::run::OutputFile;

    fn folder_output(path: &str) -> TypedOutput {
        TypedOutput {
            name: "plots".into(),
            type_: ValueType::Dir,
            value: None,
            file_name: "plots".into(),
            files: vec![OutputFile {
                path: path.into(),
                bytes: b"x".to_vec(),
            }],
            stored: None,
        }
    }

    #[test]
    fn a_folder_is_written_with_its_folders() {
        let target = tempfile::tempdir().unwrap();
        let places = write(target.path(), &[folder_output("a/b.txt")]).unwrap();
        assert_eq!(places, [("plots".to_owned(), target.path().join("plots"))]);
        assert_eq!(fs::read(target.path().join("plots/a/b.txt")).unwrap(), b"x");
    }

    #[test]
    fn a_name_that_is_taken_as_it_is_leads_out_of_the_folder() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("results");
        fs::create_dir(&folder).unwrap();
        let elsewhere = home.path().join("profile");
        let whole = elsewhere.to_str().unwrap().to_owned();
        for name in ["../profile".to_owned(), whole] {
            fs::write(&elsewhere, "theirs").unwrap();
            write_whole_with(&folder.join(&name), b"x", 0o666).unwrap();
            assert_eq!(fs::read(&elsewhere).unwrap(), b"x", "{name}");

            fs::write(&elsewhere, "theirs").unwrap();
            let named = TypedOutput {
                type_: ValueType::File,
                file_name: name.clone(),
                ..folder_output("a")
            };
            for output in [named, folder_output(&name.replace("../", "../../"))] {
                write(&folder, &[output]).unwrap_err();
            }
            assert_eq!(fs::read(&elsewhere).unwrap(), b"theirs", "{name}");
        }
    }

    #[test]
    fn no_name_of_an_output_leaves_the_folder() {
        let target = tempfile::tempdir().unwrap();
        for type_ in [ValueType::File, ValueType::Dir] {
            for name in ["../x", "/x", ""] {
                let output = TypedOutput {
                    type_,
                    file_name: name.into(),
                    ..folder_output("a")
                };
                assert!(matches!(
                    write(target.path(), &[output]),
                    Err(FolderError::Outside { .. })
                ));
            }
        }
        assert!(fs::read_dir(target.path()).unwrap().next().is_none());
    }

    #[test]
    fn no_output_leaves_the_folder() {
        let target = tempfile::tempdir().unwrap();
        for path in ["../x", "/x", ""] {
            assert!(matches!(
                write(target.path(), &[folder_output(path)]),
                Err(FolderError::Outside { .. })
            ));
        }
    }

    #[test]
    fn of_two_runs_with_one_folder_for_outputs_the_second_is_refused_until_the_first_has_ended() {
        let target = tempfile::tempdir().unwrap();
        let folder = target.path().join("new/outputs");
        let first = hold(&folder).unwrap();
        let refusal = hold(&folder).unwrap_err();
        let told = refusal.to_string();
        assert!(
            told.contains("new/outputs is in use") && told.contains("--output-dir"),
            "{told}"
        );
        assert_eq!(refusal.exit_code(), 2);
        drop(first);
        hold(&folder).unwrap();
        assert!(fs::read_dir(&folder).unwrap().next().is_none());
    }

    #[test]
    fn the_folder_of_another_run_is_not_mixed_with_this_one() {
        let target = tempfile::tempdir().unwrap();
        let declared = [Output {
            name: "plots".into(),
            type_: ValueType::Dir,
            format: None,
            description: None,
        }];
        check(target.path(), &declared).unwrap();
        write(target.path(), &[folder_output("a.txt")]).unwrap();
        let refusal = check(target.path(), &declared).unwrap_err().to_string();
        assert!(refusal.contains("plots is not empty"), "{refusal}");
    }
}
