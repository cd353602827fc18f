//! Paths by their form. What links make of them is for whoever opens them.

use std::collections::BTreeSet;

/// Where a command starts, and where its files lie.
pub const WORKSPACE: &str = "/sandbox";
/// What a task's inputs lie in, read-only.
pub const INPUTS: &str = "/var/inputs";
/// What `$HOME` and `~` are.
pub const HOME: &str = "/tmp";
/// Folders that a command may write below.
pub const WRITABLE: [&str; 3] = [WORKSPACE, "/var/outputs", HOME];
/// What a redirection may write to besides.
pub const NOWHERE: &str = "/dev/null";

/// A path without `.` and `..`, beginning in `folder` where it is relative.
pub(crate) fn absolute(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let whole = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("{folder}/{path}")
    };
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Whether an absolute path is one of these folders or lies below one.
pub(crate) fn is_within(path: &str, folders: &[&str]) -> bool {
    let mut folders = folders.iter();
    folders.any(|folder| {
        let rest = path.strip_prefix(folder);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// Whether a command may write to a path, in whichever of the folders it runs.
pub(crate) fn is_writable(path: &str, folders: &BTreeSet<String>) -> bool {
    let mut folders = folders.iter();
    folders.all(|folder| is_within(&absolute(folder, path), &WRITABLE))
}

/// Whether a path is one of the writable folders itself, or above one.
pub(crate) fn is_root(path: &str, folders: &BTreeSet<String>) -> bool {
    let mut folders = folders.iter();
    folders.any(|folder| {
        let path = absolute(folder, path);
        WRITABLE.iter().any(|root| is_within(root, &[path.as_str()]))
    })
}

/// Whether a redirection may read a path.
pub(crate) fn is_readable(path: &str, folders: &BTreeSet<String>) -> bool {
    let mut folders = folders.iter();
    folders.all(|folder| {
        let path = absolute(folder, path);
        is_within(&path, &WRITABLE) || is_within(&path, &[INPUTS])
    })
}

/// Whether a script may change to a folder.
pub(crate) fn is_folder_of_ours(path: &str) -> bool {
    is_within(path, &WRITABLE) || is_within(path, &[INPUTS])
}
