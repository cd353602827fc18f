//! What is installed in an image, as its manifest's annotations say it. Who wrote it was untrusted: shapes and sizes are checked.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};
use serde_json::Value;

use crate::pipeline::lock::{Lock, Locked};

/// Annotation with the installed distributions, one a line.
const PACKAGES: &str = "dev.codegen-operator.packages";
/// Annotation with the interpreter's version.
const PYTHON: &str = "dev.codegen-operator.python";
/// Annotation with the requirements file that installs the same: versions and digests.
const REQUIREMENTS: &str = "dev.codegen-operator.requirements";

const LARGEST_FILE: u64 = 256 * 1024;

/// Reads what a build left. A file that is not there, or not what it should be, says nothing: the image is as good.
#[must_use]
pub fn read_installed(path: &Path) -> Option<Lock> {
    // A link could lead anywhere, and a pipe never ends.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(CWD, path, flags, Mode::empty()).ok()?);
    let is_small = file
        .metadata()
        .is_ok_and(|about| about.is_file() && about.len() <= LARGEST_FILE);
    let mut text = String::new();
    if !is_small || file.take(LARGEST_FILE).read_to_string(&mut text).is_err() {
        return None;
    }
    Lock::parse(&text)
}

/// What the annotations of a manifest say; nothing where it has none.
#[must_use]
pub(super) fn of_manifest(manifest: &[u8]) -> Lock {
    let manifest: Value = serde_json::from_slice(manifest).unwrap_or_default();
    let text = |name: &str| manifest["annotations"][name].as_str().unwrap_or_default();
    if let Some(lock) = Lock::parse(text(REQUIREMENTS)) {
        return lock;
    }
    // An image that was made when no digests were written down.
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
    fn a_large_file_and_a_link_say_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let large = format!(
            "# Python 3 on x86_64\n{}",
            format!("{}==1\n", "x".repeat(400)).repeat(700)
        );
        fs::write(path("large"), large).unwrap();
        assert_eq!(read_installed(&path("large")), None);
        fs::write(path("file"), TEXT).unwrap();
        std::os::unix::fs::symlink(path("file"), path("link")).unwrap();
        assert!(read_installed(&path("file")).is_some());
        assert_eq!(read_installed(&path("link")), None);
    }

    #[test]
    fn a_manifest_without_annotations_says_nothing() {
        assert_eq!(of_manifest(b"{}"), Lock::default());
        assert_eq!(of_manifest(b"no json"), Lock::default());
    }
}
