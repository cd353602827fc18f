//! What is installed in an image, as its manifest's annotations say it. Who wrote it was untrusted: shapes and sizes are checked.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};
use serde::Deserialize;
use serde_json::Value;

/// Annotation with the installed distributions, one a line.
const PACKAGES: &str = "dev.codegen-operator.packages";
/// Annotation with the interpreter's version.
const PYTHON: &str = "dev.codegen-operator.python";

const LARGEST_FILE: u64 = 256 * 1024;
const MOST_PACKAGES: usize = 1000;
const LONGEST_PACKAGE: usize = 200;
const LONGEST_VERSION: usize = 40;

/// What is installed in an image.
#[derive(Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Installed {
    /// The interpreter's version (`3.12.4`); empty where it is not known.
    pub python: String,
    /// Installed distributions, sorted (`pandas==2.3.1`).
    pub packages: Vec<String>,
}

impl Installed {
    /// Reads what a build left. A file that is not there, or not what it should be, says nothing: the image is as good.
    #[must_use]
    pub fn read(path: &Path) -> Option<Self> {
        // A link could lead anywhere, and a pipe never ends.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(openat(CWD, path, flags, Mode::empty()).ok()?);
        let is_small = file
            .metadata()
            .is_ok_and(|about| about.is_file() && about.len() <= LARGEST_FILE);
        let mut bytes = Vec::new();
        if !is_small || file.take(LARGEST_FILE).read_to_end(&mut bytes).is_err() {
            return None;
        }
        serde_json::from_slice::<Self>(&bytes).ok()?.checked()
    }

    /// What the annotations of a manifest say; nothing where it has none.
    #[must_use]
    pub(super) fn of_manifest(manifest: &[u8]) -> Self {
        let manifest: Value = serde_json::from_slice(manifest).unwrap_or_default();
        let text = |name: &str| {
            manifest["annotations"][name]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        let packages = text(PACKAGES).lines().map(str::to_owned).collect();
        let installed = Self {
            python: text(PYTHON),
            packages,
        };
        installed.checked().unwrap_or_default()
    }

    pub(super) fn annotations(&self) -> [(&'static str, String); 2] {
        [
            (PACKAGES, self.packages.join("\n")),
            (PYTHON, self.python.clone()),
        ]
    }

    fn checked(mut self) -> Option<Self> {
        self.packages.sort_by_key(|package| package.to_lowercase());
        let is_package = |package: &String| {
            package.len() <= LONGEST_PACKAGE
                && package.contains("==")
                && package.bytes().all(|byte| byte.is_ascii_graphic())
        };
        let is_python = self.python.len() <= LONGEST_VERSION
            && self
                .python
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+'));
        let is_valid =
            is_python && self.packages.len() <= MOST_PACKAGES && self.packages.iter().all(is_package);
        is_valid.then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rstest::rstest;

    use super::*;

    fn read(content: &str) -> Option<Installed> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("installed.json");
        fs::write(&path, content).unwrap();
        Installed::read(&path)
    }

    #[test]
    fn annotations_say_what_the_build_left() {
        let installed = read(r#"{"python": "3.11.2", "packages": ["six==1.17.0", "PyYAML==6.0"]}"#).unwrap();
        assert_eq!(installed.packages, ["PyYAML==6.0", "six==1.17.0"]);
        let annotations: serde_json::Map<String, Value> = installed
            .annotations()
            .into_iter()
            .map(|(name, value)| (name.to_owned(), Value::String(value)))
            .collect();
        let manifest = serde_json::json!({ "annotations": annotations }).to_string();
        assert_eq!(Installed::of_manifest(manifest.as_bytes()), installed);
    }

    #[rstest]
    #[case::no_json("six")]
    #[case::other_shape(r#"{"python": 3, "packages": []}"#)]
    #[case::terminal(r#"{"python": "3", "packages": ["six==\u001b[2J"]}"#)]
    #[case::line_break(r#"{"python": "3", "packages": ["six==1\nevil==1"]}"#)]
    #[case::version(r#"{"python": "3 <b>", "packages": []}"#)]
    fn what_is_not_as_it_should_be_says_nothing(#[case] content: &str) {
        assert_eq!(read(content), None);
    }

    #[test]
    fn a_large_file_and_a_link_say_nothing() {
        let package = format!("\"{}==1\",", "x".repeat(150));
        let packages = package.repeat(2000);
        let content = format!(
            r#"{{"python": "3", "packages": [{}]}}"#,
            packages.trim_end_matches(',')
        );
        assert_eq!(read(&content), None);
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, r#"{"python": "3", "packages": []}"#).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(Installed::read(&file).is_some());
        assert_eq!(Installed::read(&link), None);
    }

    #[test]
    fn a_manifest_without_annotations_says_nothing() {
        assert_eq!(Installed::of_manifest(b"{}"), Installed::default());
        assert_eq!(Installed::of_manifest(b"no json"), Installed::default());
    }
}
