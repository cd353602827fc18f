//! Command lines of an agent, which a shell in the sandbox runs.

use std::sync::LazyLock;

use regex::Regex;

/// A command for the sandbox.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentCommand {
    /// The command line.
    pub line: String,
    /// Milliseconds that it may take; the sandbox's own limit where there is none.
    pub timeout: Option<f64>,
}

/// A call of pytest and of nothing else that has an effect: `cd /sandbox && timeout 60 python -m pytest -q test_solution.py 2>&1 | tail -5`.
static ONLY_TESTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let argument = r#"(?: +(?:[\w./:=,\[\]-]+|'[^'\n]*'|"[^"$`\\\n]*"))"#;
    let pattern = format!(
        r"^ *(?:cd +/sandbox/? *(?:&&|;) *)?(?:timeout +\d+s? +)?(?:python3? +-m +)?(?:pytest|py\.test){argument}*(?: +2>&1)?(?: *\| *(?:tail|head|cat|grep){argument}*)?\s*$"
    );
    Regex::new(&pattern).ok()
});

/// Options of pytest with which it only prints.
static ONLY_PRINTS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\s(?:-h|-V|--(?:help|version|co|collect-only|fixtures|markers))\b").ok());

/// Reports whether a command does nothing but start pytest, so that no sandbox needs to be asked whether it does. What is not seen here is
/// seen there: this is about speed alone.
pub(super) fn is_call_of_tests(command: &str) -> bool {
    let matches = |pattern: &Option<Regex>| pattern.as_ref().is_some_and(|regex| regex.is_match(command));
    matches(&ONLY_TESTS) && !matches(&ONLY_PRINTS)
}
