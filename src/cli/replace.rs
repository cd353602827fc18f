//! Writes a file that people keep: it is the one before or the new one, also after a kill and on a full disk.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use tempfile::NamedTempFile;

/// Writes `bytes` to `path` in the place of what is there.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A link stays one, and what it names is replaced.
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let before = fs::metadata(&place).ok();
    // A terminal, a pipe: there is nothing to lose.
    if before.as_ref().is_some_and(|before| !before.is_file()) {
        return fs::write(&place, bytes);
    }
    match rename_over(&place, before.as_ref(), bytes) {
        // Nothing may be put into the folder, or the file is mounted there alone.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::PermissionDenied | ErrorKind::ResourceBusy
            ) =>
        {
            fs::write(&place, bytes)
        }
        done => done,
    }
}

fn rename_over(place: &Path, before: Option<&Metadata>, bytes: &[u8]) -> io::Result<()> {
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
    // In the same folder, for a rename is atomic on one file system only.
    let mut file = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(bytes)?;
    if let Some(before) = before {
        file.as_file().set_permissions(before.permissions())?;
    }
    file.persist(place).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_file_is_replaced_by_another_one_of_its_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("replies.jsonl");
        fs::write(&path, "before").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let before = fs::metadata(&path).unwrap();
        replace(&path, b"after").unwrap();
        let after = fs::metadata(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"after");
        // Written in its place it would be the same file, and empty for a moment.
        assert_ne!(before.ino(), after.ino());
        assert_eq!(after.mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_stays_and_what_it_names_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "before").unwrap();
        symlink(&file, &link).unwrap();
        replace(&link, b"after").unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"after");
    }

    #[test]
    fn what_is_no_file_stays_what_it_is() {
        replace(Path::new("/dev/null"), b"bytes").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
