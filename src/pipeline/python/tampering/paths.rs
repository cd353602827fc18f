//! Dotted paths that a program or suite must not use.

use super::Rule;

const ENDS: &str = "ends the process without writing what is buffered; return, raise or call `sys.exit`";
const WATCHES: &str = "changes how all other code of the process runs; leave it out";
const RUNNER: &str =
    "is the test runner, which is only there while the program is tested; behave the same in every case";
const INNER: &str = "is inside of the test runner; use what pytest documents";
const EQUALS: &str = "equals everything; return the value itself";

type Row = (&'static str, Rule, &'static str);

const BOTH: &[Row] = &[
    ("os._exit", Rule::NoHardExit, ENDS),
    ("os.abort", Rule::NoHardExit, ENDS),
    ("sys.settrace", Rule::NoTracing, WATCHES),
    ("sys.setprofile", Rule::NoTracing, WATCHES),
    ("sys.monitoring", Rule::NoTracing, WATCHES),
    ("sys.addaudithook", Rule::NoTracing, WATCHES),
    ("sys.meta_path", Rule::NoTracing, WATCHES),
    ("sys.path_hooks", Rule::NoTracing, WATCHES),
    ("threading.settrace", Rule::NoTracing, WATCHES),
    ("threading.settrace_all_threads", Rule::NoTracing, WATCHES),
    ("threading.setprofile", Rule::NoTracing, WATCHES),
    ("threading.setprofile_all_threads", Rule::NoTracing, WATCHES),
];

/// Modules of which a program must use nothing.
const RUNNERS: [&str; 4] = ["pytest", "_pytest", "pluggy", "conftest"];
/// What of the runner's inside a suite names in type annotations.
const TYPES: [&str; 9] = [
    "capture",
    "fixtures",
    "legacypath",
    "logging",
    "mark",
    "monkeypatch",
    "python_api",
    "recwarn",
    "tmpdir",
];

/// The rule that a path breaks, and why; `None` when it may be used.
pub(super) fn forbidden(path: &str, in_suite: bool) -> Option<(Rule, &'static str)> {
    if let Some((_, rule, reason)) = BOTH.iter().find(|(name, ..)| *name == path) {
        return Some((*rule, reason));
    }
    let mut parts = path.split('.');
    let root = parts.next().unwrap_or(path);
    match (in_suite, root) {
        (true, "_pytest") => parts
            .next()
            .is_some_and(|part| !TYPES.contains(&part))
            .then_some((Rule::NoTestAwareness, INNER)),
        (true, "pluggy") => Some((Rule::NoTestAwareness, INNER)),
        (true, _) => None,
        (false, _) if RUNNERS.contains(&root) => Some((Rule::NoTestAwareness, RUNNER)),
        (false, _) => (path == "unittest.mock.ANY").then_some((Rule::NoUniversalEquality, EQUALS)),
    }
}

/// The part of a path that begins at a module that another one has imported: `os._exit` of `shutil.os._exit`.
pub(super) fn of_another_module(path: &str) -> Option<&str> {
    let mut inner = path
        .match_indices('.')
        .map(|(dot, _)| &path[dot + 1..])
        .filter(|rest| {
            matches!(
                rest.split('.').next(),
                Some("os" | "sys" | "threading" | "builtins")
            )
        });
    inner.next_back()
}

/// Whether a module of this name is part of the test runner.
pub(super) fn is_runner(name: &str) -> bool {
    name.split('.').next().is_some_and(|root| RUNNERS.contains(&root))
}
