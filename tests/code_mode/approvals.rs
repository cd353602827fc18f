//! Calls that a person decides about, on this machine: without a terminal, and at one.

use super::*;
use crate::support::terminal::Terminal;

const PAYING: &str = "\
total = await rate('USD')
try:
    paid = await refund('o-1')
    said = paid['refunded']
except PermissionError as error:
    said = str(error)
[total, said]";

const REFUND: &str = "POST /refund o-1";

fn guarded(program: &str) -> Case {
    let case = Case::new(&[program]);
    case.agent_with(&case.tools(), &["refund"]);
    case
}

fn with(case: &Case, more: &[&str]) -> Output {
    case.command(QUESTION).args(more).output().unwrap()
}

#[test]
fn without_a_terminal_a_question_ends_before_the_call_and_goes_on_with_a_decision_about_exactly_it() {
    let case = guarded(PAYING);
    let first = case.ask();
    expect_code(&first, 1);
    let status = document(&first)["status"].clone();
    assert_eq!(
        (&status["stage"], &status["reason"]),
        (&json!("Running"), &json!("AwaitingApproval")),
        "{status:#}"
    );
    assert_eq!(
        status["approval"]["what"],
        json!(["tool: refund (HTTP)", "program 1, call 2", "order: \"o-1\""])
    );
    let hash = status["approval"]["hash"].as_str().unwrap();
    let told = stderr(&first);
    assert!(told.contains(&format!("with --approve {hash}")), "{told}");
    assert_eq!(
        document(&first)["toolCalls"],
        json!({"rate": 1}),
        "it waits after one call"
    );
    assert!(told.contains("tool: refund (HTTP)"), "{told}");

    let other = with(&case, &["--approve", &"0".repeat(64)]);
    expect_code(&other, 1);
    assert_eq!(case.shop.count(REFUND), 0);
    let unused = format!("no call of this question waited with the hash {}", "0".repeat(64));
    assert!(stderr(&other).contains(&unused), "{}", stderr(&other));
    let done = with(&case, &["--approve", hash]);
    expect_code(&done, 0);
    assert_eq!(document(&done)["value"], json!([1.5, true]));
    assert!(
        !stderr(&done).contains("no call of this question"),
        "{}",
        stderr(&done)
    );
    let counts = ["model", "rate USD", REFUND].map(|had| case.shop.count(had));
    assert_eq!(counts, [1, 1, 1]);
    let status = &document(&done)["status"];
    assert_eq!(status["approvals"][0]["decision"], "Approve", "{status:#}");
}

#[test]
fn a_rejected_call_is_not_made_and_a_rejection_counts_where_both_are_said() {
    let case = guarded(PAYING);
    let hash = document(&case.ask())["status"]["approval"]["hash"].clone();
    let hash = hash.as_str().unwrap();
    let done = with(&case, &["--reject", hash, "--approve", hash]);
    expect_code(&done, 0);
    let said = document(&done)["value"][1].as_str().unwrap().to_owned();
    assert!(
        said.starts_with(r#"the call refund(order="o-1") was refused by "#),
        "{said}"
    );
    assert_eq!(case.shop.count(REFUND), 0);
    assert_eq!(document(&done)["toolCalls"], json!({"rate": 1}));
    let journal = case.read("journal.jsonl");
    assert!(journal.contains("PermissionError"), "{journal}");
}

#[test]
fn another_start_of_the_same_question_asks_anew() {
    let case = Case::new(&[PAYING, PAYING]);
    case.agent_with(&case.tools(), &["refund"]);
    let hash = document(&case.ask())["status"]["approval"]["hash"].clone();
    let fresh = with(&case, &["--fresh", "--approve", hash.as_str().unwrap()]);
    expect_code(&fresh, 1);
    assert_eq!(case.shop.count(REFUND), 0);
}

#[test]
fn an_agent_that_names_a_tool_that_it_has_not_is_refused_before_the_model_is_asked() {
    let case = Case::new(&[PAYING]);
    case.agent_with(&case.tools(), &["refunds"]);
    let output = case.ask();
    expect_code(&output, 2);
    let told = stderr(&output);
    assert!(told.contains("spec.requireApproval names `refunds`"), "{told}");
    assert_eq!(case.shop.count("model"), 0);
}

/// Asks at a terminal on which this is typed at the question.
fn at_a_terminal(case: &Case, typed: &str) -> (String, Option<i32>) {
    let terminal = Terminal {
        columns: 100,
        typed,
        question: "later: ",
        ..Terminal::default()
    };
    let url = format!("{}/v1", case.shop.origin);
    let arguments = [
        "ask",
        "-f",
        "agent.json",
        "-o",
        "json",
        "--output",
        "out",
        "--model-url",
        &url,
        "--allow-host",
        "127.0.0.1",
        QUESTION,
    ];
    terminal.run(case.folder.path(), &arguments)
}

#[test]
fn at_a_terminal_the_call_is_shown_and_asked_about() {
    let hostile = "await refund('o-1\\x1b[2K\\x1b[Go-2')";
    for (typed, made, code) in [("later", 0, 1), ("y", 1, 0)] {
        let case = guarded(hostile);
        let (seen, ended) = at_a_terminal(&case, typed);
        assert_eq!(ended, Some(code), "{seen}");
        assert!(seen.contains(r#"order: "o-1\u001b[2K\u001b[Go-2""#), "{seen}");
        assert!(seen.contains("caution: "), "{seen}");
        assert!(
            seen.contains("[n]o is a PermissionError of the program"),
            "{seen}"
        );
        assert_eq!(
            case.shop.count("POST /refund o-1\u{1b}[2K\u{1b}[Go-2"),
            made,
            "{typed}"
        );
    }
    let case = guarded(PAYING);
    let (seen, ended) = at_a_terminal(&case, "n");
    assert_eq!(ended, Some(0), "{seen}");
    assert_eq!(case.shop.count(REFUND), 0);
}

#[test]
fn a_long_argument_is_shown_whole_at_a_terminal() {
    let case = guarded("await refund('x' * 2000 + 'the end')");
    let (seen, _) = at_a_terminal(&case, "later");
    assert!(seen.contains("bytes are not shown"), "{seen}");
    assert!(seen.contains("the end"), "{seen}");
}
