//! List of what is installed in an image, as its manifest's annotations say it. Who wrote it was untrusted: shapes and sizes are checked.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use serde_json::Value;

use codegen_core::lock::{Lock, Locked};

/// Annotation with the installed distributions, one a line.
const PACKAGES: &str = "dev.codegen-operator.packages";
/// Annotation with the interpreter's version.
const PYTHON: &str = "dev.codegen-operator.python";
/// Annotation with the requirements file that installs the same: versions and digests.
const REQUIREMENTS: &str = "dev.codegen-operator.requirements";

const LARGEST_FILE: u64 = 256 * 1024;

/// Reason for which nobody knows what is installed in an image.
#[derive(Debug, thiserror::Error)]
pub enum Unlisted {
    /// The list cannot be opened or read.
    #[error("the list {path} cannot be read: {source}")]
    Unreadable {
        /// Path at which it should be.
        path: PathBuf,
        /// Cause of the failure.
        source: io::Error,
    },
    /// It is a link, a folder or a pipe, or too large.
    #[error("the list {path} is no plain file of at most {LARGEST_FILE} bytes")]
    NoList {
        /// Path of the file.
        path: PathBuf,
    },
    /// It is of another form, as one that another version of the operator asks for.
    #[error(
        "the list {path} is not of the form that this version knows: give builds the image of the operator that starts them (operatorImage)"
    )]
    OtherForm {
        /// Path of the file.
        path: PathBuf,
    },
}

/// Reads what a build left. Without it the image is as good, but nobody knows what is in it.
pub fn read_installed(path: &Path) -> Result<Lock, Unlisted> {
    let unreadable = |source| Unlisted::Unreadable {
        path: path.to_owned(),
        source,
    };
    // A link could lead anywhere, and a pipe never ends.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(CWD, path, flags, Mode::empty()).map_err(|error| unreadable(error.into()))?;
    let file = File::from(file);
    let about = file.metadata().map_err(unreadable)?;
    if !about.is_file() || about.len() > LARGEST_FILE {
        return Err(Unlisted::NoList {
            path: path.to_owned(),
        });
    }
    let mut text = String::new();
    file.take(LARGEST_FILE)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    Lock::parse(&text).ok_or_else(|| Unlisted::OtherForm {
        path: path.to_owned(),
    })
}

/// Reads the list from the annotations of a manifest; nothing where it has none.
#[must_use]
pub(super) fn of_manifest(manifest: &[u8]) -> Lock {
    let manifest: Value = serde_json::from_slice(manifest).unwrap_or_default();
    let text = |name: &str| manifest["annotations"][name].as_str().unwrap_or_default();
    // Digests, where there are any; the older annotations have names and versions alone.
    if let Some(lock) = Lock::parse(text(REQUIREMENTS)) {
        return lock;
    }
    // An image that was made when no digests were recorded.
    let packages = text(PACKAGES).lines().map(|package| Locked {
        package: package.to_owned(),
        ..Locked::default()
    });
    let lock = Lock {
        python: text(PYTHON).to_owned(),
        architecture: String::new(),
        packages: packages.collect(),
    };
    lock.checked().unwrap_or_default()
}

pub(super) fn annotations(lock: &Lock) -> [(&'static str, String); 3] {
    [
        (PACKAGES, lock.names().join("\n")),
        (PYTHON, lock.python.clone()),
        (REQUIREMENTS, lock.to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const TEXT: &str = "# Python 3.11.2 on x86_64\nPyYAML==6.0 --hash=sha256:598043e764aa9416fb28e7e64fe7798a8751f9cb5535fdebdc1b03e6da688b11\n\
                        six==1.17.0  # via PyYAML\n";

    #[test]
    fn annotations_say_what_the_build_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("requirements.txt");
        fs::write(&path, TEXT).unwrap();
        let installed = read_installed(&path).unwrap();
        assert_eq!(installed.to_string(), TEXT);
        let annotations: serde_json::Map<String, Value> = annotations(&installed)
            .into_iter()
            .map(|(name, value)| (name.to_owned(), Value::String(value)))
            .collect();
        let manifest = serde_json::json!({ "annotations": annotations }).to_string();
        assert_eq!(of_manifest(manifest.as_bytes()), installed);
    }

    #[test]
    fn an_image_of_an_earlier_version_has_packages_without_digests() {
        let manifest =
            serde_json::json!({"annotations": {PACKAGES: "six==1.17.0\nPyYAML==6.0", PYTHON: "3.11.2"}});
        let installed = of_manifest(manifest.to_string().as_bytes());
        assert_eq!(installed.names(), ["PyYAML==6.0", "six==1.17.0"]);
        assert!(!installed.is_complete());
    }

    #[test]
    fn a_large_file_a_link_and_a_list_of_another_version_are_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let large = format!(
            "# Python 3 on x86_64\n{}",
            format!("{}==1\n", "x".repeat(400)).repeat(700)
        );
        fs::write(path("large"), large).unwrap();
        let told = |name: &str| read_installed(&path(name)).unwrap_err().to_string();
        assert!(told("large").contains("no plain file of at most 262144 bytes"));
        fs::write(path("file"), TEXT).unwrap();
        std::os::unix::fs::symlink(path("file"), path("link")).unwrap();
        assert!(read_installed(&path("file")).is_ok());
        assert!(told("link").contains("cannot be read"), "{}", told("link"));
        assert!(told("absent").contains("cannot be read"));
        fs::write(
            path("other"),
            r#"{"python": "3.11.2", "packages": ["six==1.17.0"]}"#,
        )
        .unwrap();
        assert!(told("other").contains("operatorImage"), "{}", told("other"));
    }

    #[test]
    fn a_manifest_without_annotations_says_nothing() {
        assert_eq!(of_manifest(b"{}"), Lock::default());
        assert_eq!(of_manifest(b"no json"), Lock::default());
    }
}
