//! The Python harness that runs inside every sandbox, as files.

use super::image::sha256_hex;

/// Folder of the harness inside a sandbox.
pub const FOLDER: &str = "/harness";

/// Module that computes the order of a program's sets, for everything that starts one.
pub const HASH_SEED: (&str, &str) = ("hash_seed.py", include_str!("harness/hash_seed.py"));

/// Its files by name.
pub const FILES: [(&str, &str); 17] = [
    ("acceptance.py", include_str!("harness/acceptance.py")),
    (
        "acceptance_session.py",
        include_str!("harness/acceptance_session.py"),
    ),
    ("asks_for_tests.py", include_str!("harness/asks_for_tests.py")),
    ("channel.py", include_str!("harness/channel.py")),
    ("command_phase.py", include_str!("harness/command_phase.py")),
    ("command_session.py", include_str!("harness/command_session.py")),
    ("command_shims.py", include_str!("harness/command_shims.py")),
    ("files.py", include_str!("harness/files.py")),
    (HASH_SEED.0, HASH_SEED.1),
    ("main.py", include_str!("harness/main.py")),
    ("phases.py", include_str!("harness/phases.py")),
    ("probe.py", include_str!("harness/probe.py")),
    ("processes.py", include_str!("harness/processes.py")),
    ("pytest.ini", include_str!("harness/pytest.ini")),
    ("pytest_session.py", include_str!("harness/pytest_session.py")),
    ("session_report.py", include_str!("harness/session_report.py")),
    ("watch.py", include_str!("harness/watch.py")),
];

/// The interpreter that the image's environment is for: a link that the build makes before any package is there, in a place that none
/// writes to. Each Pod of ours starts by it, and no file that a package could have replaced comes before it.
pub const INTERPRETER: &str = "/opt/codegen-python";
/// The interpreter of that environment, for what the harness starts.
pub(crate) const ENVIRONMENT_PYTHON: &str = "/opt/codegen/bin/python3";

/// Script that starts the harness in a Pod of somebody's own image, for `sh -c`: that has no such link, and one interpreter for both. The
/// program for `python3 -I -S -c` is the argument.
// `-I -S` loads no `site`, no `.pth` file and no `PYTHON*` variable.
pub(crate) const OWN_INTERPRETER: &str =
    "python=$(command -v python3); exec python3 -I -S -c \"$0\" \"$python\"";

/// The program that starts the harness in a Pod.
pub(crate) const START_IN_POD: &str =
    "import sys; sys.path.insert(0, '/harness'); import main; main.main_in_pod(sys.argv[1])";

/// The program that starts the harness here, for `python -I -S -c` of the interpreter behind the environment; `python` is that of the
/// environment, `user` the uid to become, `closed` what must be out of reach.
pub(crate) fn start_code(python: &str, user: Option<u32>, closed: Option<&str>) -> String {
    let user = user.map_or_else(|| "None".to_owned(), |user| user.to_string());
    let closed = closed.map_or_else(|| "None".to_owned(), |address| format!("'{address}'"));
    format!(
        "import sys; sys.path.insert(0, '{FOLDER}'); import main; main.main('{python}', {user}, {closed})"
    )
}

/// Changes when any file changes.
pub fn version() -> String {
    let mut all = String::new();
    for (name, text) in FILES {
        all.push_str(name);
        all.push_str(text);
    }
    sha256_hex(all.as_bytes())
}
