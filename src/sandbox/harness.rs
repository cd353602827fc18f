//! The Python harness that runs inside every sandbox, as files.

use super::image::sha256_hex;

/// Where the harness lies inside a sandbox.
pub(crate) const FOLDER: &str = "/harness";

/// Its files by name.
pub(crate) const FILES: [(&str, &str); 12] = [
    ("acceptance.py", include_str!("harness/acceptance.py")),
    (
        "acceptance_session.py",
        include_str!("harness/acceptance_session.py"),
    ),
    ("channel.py", include_str!("harness/channel.py")),
    ("files.py", include_str!("harness/files.py")),
    ("main.py", include_str!("harness/main.py")),
    ("phases.py", include_str!("harness/phases.py")),
    ("probe.py", include_str!("harness/probe.py")),
    ("processes.py", include_str!("harness/processes.py")),
    ("pytest.ini", include_str!("harness/pytest.ini")),
    ("pytest_session.py", include_str!("harness/pytest_session.py")),
    ("session_report.py", include_str!("harness/session_report.py")),
    ("watch.py", include_str!("harness/watch.py")),
];

/// The program that starts the harness in a Pod, for `python3 -I -S -c`.
pub(crate) const START_IN_POD: &str =
    "import sys; sys.path.insert(0, '/harness'); import main; main.main_in_pod()";

/// The program that starts the harness here, for `python -I -S -c`; `user` is the uid to become.
pub(crate) fn start_code(user: Option<u32>) -> String {
    let user = user.map_or_else(|| "None".to_owned(), |user| user.to_string());
    format!("import sys; sys.path.insert(0, '{FOLDER}'); import main; main.main({user})")
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
