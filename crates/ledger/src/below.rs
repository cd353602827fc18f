//! Files below a folder that somebody else may have filled: no link in it is followed, and nothing but a file is opened.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};

use codegen_core::digest::{of_folder, sha256_of};

/// Opens the file at a relative path below `root` to be read.
pub(crate) fn open_below(root: &Path, relative: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut folder = openat(CWD, root, flags | OFlags::DIRECTORY, Mode::empty())?;
    let names: Option<Vec<_>> = relative.components().map(plain).collect();
    let names = names.unwrap_or_default();
    let Some((file, folders)) = names.split_last() else {
        return Err(refused(relative, "leads out of its folder"));
    };
    for name in folders {
        folder = openat(&folder, *name, flags | OFlags::DIRECTORY, Mode::empty())?;
    }
    // A pipe would be waited for.
    let file = File::from(openat(&folder, *file, flags | OFlags::NONBLOCK, Mode::empty())?);
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(refused(relative, "is no file"))
}

/// The bytes of such a file; `None` where there is none.
pub fn read_below(root: &Path, relative: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    match open_below(root, relative).and_then(|mut file| file.read_to_end(&mut bytes)) {
        Ok(_) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The digest of a file below `root`, or of a folder, as a frozen source has it.
pub fn digest_below(root: &Path, relative: &Path, is_dir: bool) -> io::Result<String> {
    if !is_dir {
        return sha256_of(&mut open_below(root, relative)?);
    }
    let mut parts = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(inner) = open.pop() {
        for entry in fs::read_dir(root.join(relative).join(&inner))? {
            let entry = entry?;
            let inner = inner.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                open.push(inner);
                continue;
            }
            let digest = sha256_of(&mut open_below(root, &relative.join(&inner))?)?;
            parts.push((inner.to_string_lossy().into_owned(), digest));
        }
    }
    Ok(of_folder(parts))
}

/// Refuses a folder that holds anything but files and folders, or is none itself. What a kill has left unfinished in it is not looked into:
/// it is removed, and never read.
pub fn refuse_links(folder: &Path) -> io::Result<()> {
    if !folder.symlink_metadata()?.is_dir() {
        return Err(refused(
            folder,
            "is no folder, and what it leads to may be anything",
        ));
    }
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            let name = entry.file_name();
            let is_unfinished = UNFINISHED
                .iter()
                .any(|prefix| name.as_encoded_bytes().starts_with(prefix));
            if kind.is_dir() && !is_unfinished {
                open.push(entry.path());
            } else if !kind.is_dir() && !kind.is_file() {
                return Err(refused(
                    &entry.path(),
                    "is neither a file nor a folder, and may lead anywhere",
                ));
            }
        }
    }
    Ok(())
}

/// Beginnings of the names of folders that programs write to until they have ended.
const UNFINISHED: [&[u8]; 2] = [b".unfinished-", b"written-"];

fn plain(part: Component<'_>) -> Option<&std::ffi::OsStr> {
    match part {
        Component::Normal(name) => Some(name),
        _ => None,
    }
}

fn refused(path: &Path, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{} {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nothing_is_opened_through_a_link_or_outside_of_the_folder_and_no_pipe_is_waited_for() {
        let home = tempfile::tempdir().unwrap();
        let (root, secret) = (home.path().join("root"), home.path().join("secret"));
        fs::create_dir_all(root.join("inner")).unwrap();
        fs::write(root.join("inner/a"), "a").unwrap();
        fs::write(&secret, "s").unwrap();
        fs::write(home.path().join("inner-secret"), "s").unwrap();
        symlink(&secret, root.join("file")).unwrap();
        symlink(home.path(), root.join("folder")).unwrap();
        rustix::fs::mkfifoat(CWD, root.join("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
        assert_eq!(
            read_below(&root, Path::new("inner/a")).unwrap().as_deref(),
            Some(&b"a"[..])
        );
        assert_eq!(read_below(&root, Path::new("absent")).unwrap(), None);
        for name in [
            "file",
            "folder/secret",
            "../secret",
            "pipe",
            "inner",
            "",
            ".",
            secret.to_str().unwrap(),
        ] {
            assert!(read_below(&root, Path::new(name)).is_err(), "{name}");
        }
        let linked = home.path().join("linked");
        symlink(&root, &linked).unwrap();
        assert!(read_below(&linked, Path::new("inner/a")).is_err());
        assert!(refuse_links(&linked).is_err() && refuse_links(&root).is_err());
        for name in ["file", "folder", "pipe"] {
            fs::remove_file(root.join(name)).unwrap();
        }
        refuse_links(&root).unwrap();
        // A program that was killed with the command may have left it.
        fs::create_dir(root.join("written-1")).unwrap();
        symlink(&secret, root.join("written-1/link")).unwrap();
        refuse_links(&root).unwrap();
    }

    #[test]
    fn a_folder_has_the_digest_that_it_was_frozen_with_and_a_link_in_it_has_none() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("notes/inner")).unwrap();
        fs::write(root.path().join("notes/inner/a"), "a").unwrap();
        let digest = digest_below(root.path(), Path::new("notes"), true).unwrap();
        let of_file = digest_below(root.path(), Path::new("notes/inner/a"), false).unwrap();
        assert_eq!(digest, of_folder(vec![("inner/a".to_owned(), of_file)]));
        symlink("/etc/passwd", root.path().join("notes/b")).unwrap();
        assert!(digest_below(root.path(), Path::new("notes"), true).is_err());
    }
}
