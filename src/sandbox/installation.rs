//! What installs packages, here and in a build, and how it is seen that they left the interpreters alone. Text only.

use std::sync::LazyLock;

use regex::Regex;

use super::error::SandboxError;

/// Runs pip for an environment whose interpreter never starts.
pub(super) const INSTALL: (&str, &str) = ("install.py", include_str!("installation/install.py"));
/// Compares the interpreters before an installation with those after it.
pub(super) const INTERPRETERS: (&str, &str) =
    ("interpreters.py", include_str!("installation/interpreters.py"));

/// The pip that passes over releases by their age in days, where the interpreter's own does not: this archive and no other, wherever
/// it comes from.
pub(super) const NEWER_PIP: &str =
    // The digest makes the source irrelevant: whatever index has this archive, it is the one that was reviewed.
    "pip==26.1 --hash=sha256:4e8486d821d814b77319acb7b9e8bf5a4ee7590a643e7cb21029f209be8573c1\n";

/// The error where [`INTERPRETERS`] says that a package is in the place of an interpreter.
pub(super) fn replaced_interpreter(output: &str) -> Option<SandboxError> {
    // The script ends with this line where an interpreter was replaced; any other end of it is an ordinary failure.
    let found = REPLACED.captures(output)?;
    let (package, files) = (&found["package"], found["files"].trim());
    let package = match package {
        "?" => "a pip package that does not say so in its list of files".to_owned(),
        name => format!("pip package {name}"),
    };
    Some(SandboxError::PackageDenied(format!(
        "{package} replaces {files}, by which every program of its environment would be started: nothing of what was installed is \
         used. Take it out of image.basePackages, or say in the prompt what to use in its place; and tell whoever runs the package \
         index, for an honest package does not do that."
    )))
}

#[expect(clippy::expect_used, reason = "the pattern is a constant; a test uses it")]
static REPLACED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^.*replaced-interpreter: (?P<package>\S+) (?P<files>.*)$").expect("a valid pattern")
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_and_its_files_are_named() {
        let said = "replaced-interpreter: evil_wheel==1.0 bin/python bin/python3\n";
        let Some(SandboxError::PackageDenied(text)) = replaced_interpreter(said) else {
            panic!("not told");
        };
        assert!(
            text.starts_with("pip package evil_wheel==1.0 replaces bin/python bin/python3, "),
            "{text}"
        );
        let nobody =
            replaced_interpreter("replaced-interpreter: ? bin/python\n").map(|error| error.to_string());
        assert!(nobody.is_some_and(|text| text.starts_with("a pip package that does not say so")));
        assert!(replaced_interpreter("Successfully installed six-1.17.0\n").is_none());
    }
}
