//! Dotted paths that reach for the process, the interpreter or the runner.

const ENDS: &str = "ends or forks the process past the test runner; return or raise instead";
const WATCHES: &str = "reaches into the running interpreter; a program needs no view of who runs it";
const RUNNER: &str = "is the test runner; a program must not know it";
const DYNAMIC: &str = "runs or loads what is not visible here; write the code itself";
const EQUALS: &str = "equals everything; return the value itself";
const NATIVE: &str = "reaches into the memory of the process; leave it out";

/// Paths, each with everything below it.
const BOTH: &[(&str, &str)] = &[
    ("os._exit", ENDS),
    ("os.abort", ENDS),
    ("os.fork", ENDS),
    ("os.forkpty", ENDS),
    ("os.register_at_fork", ENDS),
    ("os.kill", ENDS),
    ("os.killpg", ENDS),
    ("os.posix_spawn", ENDS),
    ("os.posix_spawnp", ENDS),
    ("posix", ENDS),
    ("signal.raise_signal", ENDS),
    ("signal.pthread_kill", ENDS),
    ("signal.alarm", ENDS),
    ("signal.setitimer", ENDS),
    ("_thread.interrupt_main", ENDS),
    ("sys.settrace", WATCHES),
    ("sys.setprofile", WATCHES),
    ("sys.monitoring", WATCHES),
    ("sys.addaudithook", WATCHES),
    ("sys._getframe", WATCHES),
    ("sys._current_frames", WATCHES),
    ("sys.meta_path", WATCHES),
    ("sys.path_hooks", WATCHES),
    ("sys.excepthook", WATCHES),
    ("sys.unraisablehook", WATCHES),
    ("threading.settrace", WATCHES),
    ("threading.settrace_all_threads", WATCHES),
    ("threading.setprofile", WATCHES),
    ("threading.setprofile_all_threads", WATCHES),
    ("threading.excepthook", WATCHES),
    ("inspect.stack", WATCHES),
    ("inspect.currentframe", WATCHES),
    ("inspect.getouterframes", WATCHES),
    ("gc.get_objects", WATCHES),
    ("gc.get_referrers", WATCHES),
    ("gc.get_referents", WATCHES),
    ("__builtins__", WATCHES),
    ("sys.modules", WATCHES),
    ("__main__", WATCHES),
    ("traceback.walk_stack", WATCHES),
    ("pydoc.locate", DYNAMIC),
    ("pkgutil.resolve_name", DYNAMIC),
    ("code.InteractiveInterpreter", DYNAMIC),
    ("code.InteractiveConsole", DYNAMIC),
    ("timeit.timeit", DYNAMIC),
    ("timeit.repeat", DYNAMIC),
    ("timeit.Timer", DYNAMIC),
    ("_pytest", RUNNER),
    ("pluggy", RUNNER),
    ("conftest", RUNNER),
    ("ctypes", NATIVE),
    ("_ctypes", NATIVE),
];

/// What only tests may use.
const SOLUTION: &[(&str, &str)] = &[
    ("pytest", RUNNER),
    ("importlib.reload", WATCHES),
    ("runpy.run_path", DYNAMIC),
    ("runpy.run_module", DYNAMIC),
    ("unittest.mock.ANY", EQUALS),
];

/// What takes tests out of a session.
const SUITE: &[(&str, &str)] = &[
    (
        "pytest.mark.skip",
        "takes a test out of the session; every test must run",
    ),
    (
        "pytest.mark.skipif",
        "takes a test out of the session; every test must run",
    ),
    ("pytest.mark.xfail", "lets a test fail; every test must pass"),
    (
        "unittest.skip",
        "takes a test out of the session; every test must run",
    ),
    (
        "unittest.skipIf",
        "takes a test out of the session; every test must run",
    ),
    (
        "unittest.skipUnless",
        "takes a test out of the session; every test must run",
    ),
    (
        "unittest.expectedFailure",
        "lets a test fail; every test must pass",
    ),
    (
        "unittest.SkipTest",
        "takes a test out of the session; every test must run",
    ),
    (
        "self.skipTest",
        "takes a test out of the session; every test must run",
    ),
];

/// Why a path must not be used; `None` when it may.
pub(super) fn forbidden(path: &str, in_suite: bool) -> Option<&'static str> {
    if path.starts_with("os.exec") || path.starts_with("os.spawn") {
        return Some(ENDS);
    }
    let own = if in_suite { SUITE } else { SOLUTION };
    let rows = BOTH.iter().chain(own);
    // The deepest node of `pytest.mark.skip.x` is found as `pytest.mark.skip` as well: one finding is enough.
    rows.filter(|(forbidden, _)| path == *forbidden)
        .map(|(_, reason)| *reason)
        .next()
        .or_else(|| {
            let root = path.split('.').next().unwrap_or(path);
            let is_package = matches!(root, "_pytest" | "pluggy" | "ctypes" | "_ctypes" | "posix")
                || !in_suite && root == "pytest";
            let is_foreign_import = path != root && is_package;
            is_foreign_import
                .then(|| {
                    BOTH.iter()
                        .chain(SOLUTION)
                        .find(|(name, _)| *name == root)
                        .map(|(_, reason)| *reason)
                })
                .flatten()
        })
}

/// The part of a path that begins at a module that another one has imported: `sys.modules` of `logging.sys.modules`.
pub(super) fn of_another_module(path: &str) -> Option<&str> {
    let mut inner = path
        .match_indices('.')
        .map(|(dot, _)| &path[dot + 1..])
        .filter(|rest| is_sensitive_module(rest.split('.').next().unwrap_or(rest)));
    inner.next_back()
}

/// Modules whose attributes must be named in the text.
pub(super) fn is_sensitive_module(path: &str) -> bool {
    matches!(
        path,
        "os" | "sys"
            | "builtins"
            | "signal"
            | "posix"
            | "inspect"
            | "gc"
            | "threading"
            | "pytest"
            | "__builtins__"
    )
}
