//! The Python harness that runs inside every sandbox, as files.

use super::image::sha256_hex;

/// Where the harness lies inside a sandbox.
pub(crate) const FOLDER: &str = "/harness";

/// What computes the order of a program's sets, for everything that starts one.
pub(crate) const HASH_SEED: (&str, &str) = ("hash_seed.py", include_str!("harness/hash_seed.py"));

/// Its files by name.
pub(crate) const FILES: [(&str, &str); 29] = [
    ("acceptance.py", include_str!("harness/acceptance.py")),
    (
        "acceptance_session.py",
        include_str!("harness/acceptance_session.py"),
    ),
    ("arithmetic.py", include_str!("harness/arithmetic.py")),
    ("channel.py", include_str!("harness/channel.py")),
    ("command_phase.py", include_str!("harness/command_phase.py")),
    ("command_session.py", include_str!("harness/command_session.py")),
    ("commands.py", include_str!("harness/commands.py")),
    ("conditions.py", include_str!("harness/conditions.py")),
    ("confined.py", include_str!("harness/confined.py")),
    ("expansion.py", include_str!("harness/expansion.py")),
    ("fields.py", include_str!("harness/fields.py")),
    ("files.py", include_str!("harness/files.py")),
    (HASH_SEED.0, HASH_SEED.1),
    ("interpreter.py", include_str!("harness/interpreter.py")),
    ("lines.py", include_str!("harness/lines.py")),
    ("loops.py", include_str!("harness/loops.py")),
    ("main.py", include_str!("harness/main.py")),
    ("patterns.py", include_str!("harness/patterns.py")),
    ("phases.py", include_str!("harness/phases.py")),
    ("printing.py", include_str!("harness/printing.py")),
    ("probe.py", include_str!("harness/probe.py")),
    ("processes.py", include_str!("harness/processes.py")),
    ("programs.py", include_str!("harness/programs.py")),
    ("pytest.ini", include_str!("harness/pytest.ini")),
    ("pytest_session.py", include_str!("harness/pytest_session.py")),
    ("session_report.py", include_str!("harness/session_report.py")),
    ("times.py", include_str!("harness/times.py")),
    ("utilities.py", include_str!("harness/utilities.py")),
    ("watch.py", include_str!("harness/watch.py")),
];

/// The interpreter that the image's environment is for: a link that the build makes before any package is there, in a place that none
/// writes to. Each Pod of ours starts by it, and no file that a package could have replaced comes before it.
pub(crate) const INTERPRETER: &str = "/opt/codegen-python";
/// The interpreter of that environment, for what the harness starts.
pub(crate) const ENVIRONMENT_PYTHON: &str = "/opt/codegen/bin/python3";

/// What starts the harness in a Pod of somebody's own image, for `sh -c`: that has no such link, and one interpreter for both. The program
/// for `python3 -I -S -c` is the argument.
// `-I -S` loads no `site`, no `.pth` file and no `PYTHON*` variable.
pub(crate) const OWN_INTERPRETER: &str =
    "python=$(command -v python3); exec python3 -I -S -c \"$0\" \"$python\"";

/// The program that starts the harness in a Pod.
pub(crate) const START_IN_POD: &str =
    "import sys; sys.path.insert(0, '/harness'); import main; main.main_in_pod(sys.argv[1])";

/// The program that starts the harness here, for `python -I -S -c` of the interpreter behind the environment; `python` is that of the
/// environment, `user` the uid to become.
pub(crate) fn start_code(python: &str, user: Option<u32>) -> String {
    let user = user.map_or_else(|| "None".to_owned(), |user| user.to_string());
    format!("import sys; sys.path.insert(0, '{FOLDER}'); import main; main.main('{python}', {user})")
}

/// Changes when any file changes.
pub(crate) fn version() -> String {
    let mut all = String::new();
    for (name, text) in FILES {
        all.push_str(name);
        all.push_str(text);
    }
    sha256_hex(all.as_bytes())
}
