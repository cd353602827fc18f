//! Python interpreter of this machine that an environment is made with.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::Deserialize;
use tokio::process::Command;

use super::isolation::{find_on_path, sudo, unavailable};
use crate::error::SandboxError;

/// Oldest Python that the harness and the programs are written for.
const OLDEST_MINOR: u32 = 10;
/// Newest Python that is searched for by its own name.
const NEWEST_MINOR: u32 = 14;

/// Variables of the user's environment that an interpreter, or a shim in front of it, needs to answer.
const ANSWERS_BY: [&str; 9] = [
    "PATH",
    "HOME",
    "LD_LIBRARY_PATH",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "ASDF_DIR",
    "ASDF_DATA_DIR",
    "MISE_DATA_DIR",
    "XDG_DATA_HOME",
];

/// Asks an interpreter who it is. A shim answers with the interpreter behind it.
// In an environment `sys.executable` is its link, and `_base_executable` the interpreter behind it. Debian has Python without `ensurepip`
// until `python3-venv` is installed.
const QUESTION: &str = "\
import importlib.util, json, sys
print(json.dumps({
    'version': list(sys.version_info[:3]),
    'executable': getattr(sys, '_base_executable', sys.executable),
    'prefix': sys.base_prefix,
    'has_venv': all(importlib.util.find_spec(name) for name in ('venv', 'ensurepip')),
}))";

/// An interpreter that is installed.
#[derive(Deserialize, Clone, Debug, PartialEq, Eq)]
pub(super) struct PythonInterpreter {
    /// Major, minor, patch.
    pub version: [u32; 3],
    /// The program itself, behind shims and environments.
    pub executable: PathBuf,
    /// The folder that holds its standard library; a sandbox must see it.
    pub prefix: PathBuf,
    has_venv: bool,
}

impl PythonInterpreter {
    /// `3.11.2`.
    pub(super) fn version(&self) -> String {
        self.version.map(|part| part.to_string()).join(".")
    }

    /// The version, and the one that was asked for where it is another.
    pub(super) fn describe(&self, wanted: &str) -> String {
        let [major, minor, _] = self.version;
        if wanted == format!("{major}.{minor}") {
            self.version()
        } else {
            format!("{} ({wanted} was asked for)", self.version())
        }
    }
}

/// The interpreter of the wanted version (`3.12`), else the nearest one that is installed.
pub(super) async fn find(wanted: &str, needs_venv: bool) -> Result<PythonInterpreter, SandboxError> {
    let wanted_minor = wanted
        .strip_prefix("3.")
        .and_then(|minor| minor.parse().ok())
        .unwrap_or(NEWEST_MINOR);
    let mut found = Vec::new();
    for candidate in candidates(wanted_minor) {
        let Some(interpreter) = ask(&candidate).await else {
            continue;
        };
        // The exact one ends the search: each question starts a process.
        if interpreter.version[1] == wanted_minor && usable(&interpreter, needs_venv) {
            return Ok(interpreter);
        }
        found.push(interpreter);
    }
    nearest(&found, wanted_minor, needs_venv)
        .cloned()
        .ok_or_else(|| refusal(&found))
}

/// Programs to ask, the exact one first.
fn candidates(wanted_minor: u32) -> Vec<PathBuf> {
    let minors = std::iter::once(wanted_minor).chain((OLDEST_MINOR..=NEWEST_MINOR).rev());
    let mut seen = BTreeSet::new();
    let mut programs: Vec<PathBuf> = minors
        .filter_map(|minor| find_on_path(&format!("python3.{minor}")))
        .collect();
    programs.extend(find_on_path("python3"));
    programs.push("/usr/bin/python3".into());
    programs.retain(|program| seen.insert(program.clone()));
    programs
}

async fn ask(program: &Path) -> Option<PythonInterpreter> {
    let given = |name: &str| ANSWERS_BY.contains(&name);
    let output = Command::new(program)
        // `-I -S`: nothing that the user has set up runs for the question.
        .args(["-I", "-S", "-c", QUESTION])
        .env_clear()
        .envs(std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(given)))
        // A shim that wants an answer gets an end of input.
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .output()
        .await
        .ok()?;
    serde_json::from_slice(&output.stdout).ok()
}

fn nearest(found: &[PythonInterpreter], wanted_minor: u32, needs_venv: bool) -> Option<&PythonInterpreter> {
    found
        .iter()
        .filter(|interpreter| usable(interpreter, needs_venv))
        .min_by_key(|interpreter| interpreter.version[1].abs_diff(wanted_minor))
}

fn usable(interpreter: &PythonInterpreter, needs_venv: bool) -> bool {
    let [major, minor, _] = interpreter.version;
    let home = std::env::var_os("HOME").map(PathBuf::from);
    major == 3
        && minor >= OLDEST_MINOR
        && (interpreter.has_venv || !needs_venv)
        && !shows_home(&interpreter.prefix, home.as_deref())
}

/// Reports whether a sandbox that sees this folder sees the user's own files: an interpreter in a folder of its own does not.
fn shows_home(prefix: &Path, home: Option<&Path>) -> bool {
    // A prefix of `/` or of the home folder would be mounted as a whole.
    prefix.parent().is_none()
        || home.is_some_and(|home| home.starts_with(prefix) || prefix == home.join(".local"))
}

/// The error where an environment cannot be made for want of a module.
pub(super) fn unavailable_venv(said: &str) -> SandboxError {
    let said = said.trim();
    unavailable(
        format!(
            "Python cannot make an environment with pip ({})",
            said.lines().last().unwrap_or(said)
        ),
        format!("run `{}apt-get install -y python3-venv`", sudo()),
    )
}

fn refusal(found: &[PythonInterpreter]) -> SandboxError {
    let recent = found
        .iter()
        .find(|interpreter| interpreter.version >= [3, OLDEST_MINOR, 0]);
    match recent {
        Some(interpreter) => unavailable(
            format!("Python {} has no venv module", interpreter.version()),
            format!("run `{}apt-get install -y python3-venv`", sudo()),
        ),
        None => unavailable(
            format!("no Python 3.{OLDEST_MINOR} or later is installed"),
            format!("run `{}apt-get install -y python3 python3-venv`", sudo()),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interpreter(minor: u32, prefix: &str) -> PythonInterpreter {
        PythonInterpreter {
            version: [3, minor, 2],
            executable: format!("{prefix}/bin/python3").into(),
            prefix: prefix.into(),
            has_venv: true,
        }
    }

    #[test]
    fn the_nearest_version_is_taken_and_said() {
        let found = [
            interpreter(14, "/opt/a"),
            interpreter(11, "/usr"),
            interpreter(9, "/opt/b"),
        ];
        let nearest = nearest(&found, 12, true).expect("one is recent enough");
        assert_eq!(nearest.describe("3.12"), "3.11.2 (3.12 was asked for)");
        assert_eq!(nearest.describe("3.11"), "3.11.2");
    }

    #[test]
    fn an_interpreter_that_is_too_old_is_none() {
        assert_eq!(nearest(&[interpreter(9, "/usr")], 12, true), None);
        assert!(
            refusal(&[interpreter(9, "/usr")])
                .to_string()
                .contains("no Python 3.10 or later")
        );
    }

    #[test]
    fn a_missing_venv_module_is_named() {
        let bare = PythonInterpreter {
            has_venv: false,
            ..interpreter(11, "/usr")
        };
        assert_eq!(nearest(std::slice::from_ref(&bare), 11, true), None);
        assert!(nearest(std::slice::from_ref(&bare), 11, false).is_some());
        assert!(refusal(&[bare]).to_string().contains("python3-venv"));
    }

    #[test]
    fn an_interpreter_whose_folder_holds_the_users_files_is_not_used() {
        let home = Some(Path::new("/home/ada"));
        for prefix in ["/", "/home", "/home/ada", "/home/ada/.local"] {
            assert!(shows_home(Path::new(prefix), home), "{prefix}");
        }
        for prefix in ["/usr", "/home/ada/.pyenv/versions/3.12.1", "/home/ada/miniconda3"] {
            assert!(!shows_home(Path::new(prefix), home), "{prefix}");
        }
    }
}
