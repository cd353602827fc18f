use clap::Parser as _;
use insta::assert_snapshot;
use serde_json::Value;

use super::*;
use crate::cli::args::{Cli, Command};
use crate::cli::recorded::fixture::{recorded, withheld};

fn args(line: &str) -> Box<TestsArgs> {
    let words = ["kubectl-codegen", "tests", "words"];
    let words = words.into_iter().chain(line.split_whitespace());
    match Cli::try_parse_from(words).unwrap().command {
        Command::Tests(args) => args,
        other => panic!("{other:?}"),
    }
}

fn shown(task: &RecordedTask, line: &str) -> Printout {
    show(task, &args(line)).unwrap()
}

#[test]
fn the_tests_of_an_attempt_are_a_table_with_cases_and_rehearsal() {
    let task = recorded();
    let (last, first) = (shown(&task, ""), shown(&task, "--attempt 1"));
    assert_eq!((last.code, first.code), (0, 1));
    assert_snapshot!(format!("{}\n{}", last.text, first.text));
}

#[test]
fn only_what_failed_is_shown_where_that_is_asked_for() {
    let task = recorded();
    let names = shown(&task, "--attempt 1 --failed -o name").text;
    assert_eq!(names, "test_two\ntwo words\n0 of 1 passed\n");
    assert!(shown(&task, "--failed").text.contains("nothing in it failed"));
}

#[test]
fn one_test_has_its_traceback_and_a_case_what_the_program_printed() {
    let task = recorded();
    for name in ["test_two", "test_solution.py::test_two"] {
        let one = shown(&task, &format!("--attempt 1 {name}"));
        assert_eq!(one.code, 1);
        assert!(one.text.contains("E       assert 1 == 2"), "{}", one.text);
    }
    let case = shown(&task, "--attempt 1 case").text;
    assert!(
        case.contains("total is 1, not 2") && case.contains("counted 1"),
        "{case}"
    );
    assert_eq!(shown(&task, "test_one").code, 0, "by its name without parameters");
    let absent = show(&task, &args("--attempt 1 test_three")).unwrap_err();
    assert_eq!(absent.code, 1);
    assert!(absent.to_string().contains("--attempt 1 lists them"), "{absent}");
}

#[test]
fn scripts_get_each_test_with_its_outcome() {
    let document = shown(&recorded(), "--attempt 1 -o json").text;
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(
        (&document["attempt"], &document["passed"]),
        (&json!(1), &json!(false))
    );
    assert_eq!(document["items"][1]["name"], "test_two");
    assert_eq!(document["items"][1]["outcome"], "failed");
}

#[test]
fn of_private_samples_no_message_and_no_traceback_is_shown() {
    let private = RecordedTask {
        is_private: true,
        ..recorded()
    };
    for line in ["--attempt 1", "--attempt 1 -o json"] {
        let Printout { text, notes, .. } = shown(&private, line);
        assert!(
            text.contains("test_two") && !text.contains("1 == 2") && !text.contains("counted"),
            "{text}"
        );
        assert!(notes[0].contains("SchemaOnly"), "{notes:?}");
    }
    let absent = show(&private, &args("--attempt 1 test_two")).unwrap_err();
    assert!(absent.to_string().contains("SchemaOnly"), "{absent}");
}

#[test]
fn who_may_read_the_status_alone_gets_its_counts_and_learns_what_to_ask_for() {
    let task = withheld();
    let Printout { text, notes, code } = shown(&task, "--failed");
    assert_eq!(code, 1);
    assert!(
        text.contains("1 of 2 tests passed") && !text.contains("cases and 2 tests"),
        "{text}"
    );
    assert!(notes[0].contains("ask for the right to get Secrets"), "{notes:?}");
    assert_eq!(shown(&task, "--attempt 2").code, 0);
    let absent = show(&task, &args("test_two")).unwrap_err();
    assert_eq!(absent.code, 2);
}
