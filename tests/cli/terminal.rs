//! `kubectl-codegen new` at a terminal: the question, colours and width.

use std::path::Path;

use crate::new::{names, stderr, usable};
use crate::support::terminal::Terminal;
use crate::support::{codegen, expect_code, folder};

/// What the program writes to a terminal on which `typed` is the answer to its question, and its exit code.
fn at_a_terminal(
    folder: &Path,
    typed: &str,
    arguments: &[&str],
    environment: Option<(&str, &str)>,
) -> (String, Option<i32>) {
    let environment: Vec<_> = environment.into_iter().collect();
    let terminal = Terminal {
        typed,
        environment: &environment,
        ..Terminal::default()
    };
    terminal.run(folder, arguments)
}

#[test]
fn there_is_a_folder_when_somebody_says_yes_and_not_before() {
    let folder = folder(&[("replies.jsonl", &usable()), ("a.csv", "species,mass\nx,1\n")]);
    let arguments = [
        "new",
        "mean mass",
        "--sample",
        "a.csv",
        "-o",
        "task",
        "--replay",
        "replies.jsonl",
        "--color",
        "never",
    ];
    let (seen, code) = at_a_terminal(folder.path(), "n", &arguments, None);
    assert_eq!(code, Some(1), "{seen}");
    assert!(seen.contains("summary:CSV=One row per species"), "{seen}");
    assert!(
        seen.contains("--output summary:CSV --output species:Int"),
        "{seen}"
    );
    assert!(!folder.path().join("task").exists());
    let (seen, code) = at_a_terminal(folder.path(), "y", &arguments, None);
    assert_eq!(code, Some(0), "{seen}");
    assert_eq!(
        names(&folder.path().join("task")),
        ["a.csv", "kustomization.yaml", "task.yaml"]
    );
}

#[test]
fn log_records_have_colours_where_other_lines_have_them() {
    // A reply to another request is a record of the log.
    let recorded = usable().replacen('{', "{\"requestHash\": \"0\", ", 1);
    let folder = folder(&[("replies.jsonl", &recorded)]);
    let arguments = [
        "new",
        "mean mass",
        "--yes",
        "--force",
        "--replay",
        "replies.jsonl",
        "-v",
    ];
    for (color, is_coloured) in [("auto", false), ("never", false), ("always", true)] {
        let done = codegen(folder.path())
            .args(arguments)
            .args(["--color", color])
            .output()
            .unwrap();
        expect_code(&done, 0);
        let said = stderr(&done);
        assert!(said.contains("recorded for another request"), "{said}");
        assert_eq!(said.contains('\u{1b}'), is_coloured, "{color}: {said}");
    }
    // Green is what was done, yellow a warning.
    let colours = ["\u{1b}[32m", "\u{1b}[33m"];
    for (environment, expected) in [
        (None, true),
        (Some(("TERM", "dumb")), false),
        (Some(("NO_COLOR", "1")), false),
    ] {
        let (seen, code) = at_a_terminal(folder.path(), "", &arguments, environment);
        assert_eq!(code, Some(0), "{seen}");
        for colour in colours {
            assert_eq!(seen.contains(colour), expected, "{environment:?}: {seen}");
        }
        if environment == Some(("TERM", "dumb")) {
            assert!(!seen.contains('\u{1b}'), "{seen}");
        }
    }
}
