use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::sandbox::{OutputContent, OutputReport, Phase, PhaseEnd, PhaseName, PhaseReport, Stream};
use crate::task::FrozenFile;
use crate::test_support::{phase, task};
use crate::verdict::CheckSource;
use codegen_api::case::CaseInput;
use codegen_api::common::Exposure;
use codegen_api::values::{Input, Output};

pub(super) fn sales() -> Task {
    let input = |value: Value| serde_json::from_value::<Input>(value).unwrap();
    let output = |value: Value| serde_json::from_value::<Output>(value).unwrap();
    Task {
        samples: vec![FrozenFile {
            name: "sales".into(),
            file_name: "sales.csv".into(),
            sha256: "0".repeat(64),
            bytes: 9,
            is_dir: false,
        }],
        inputs: vec![
            input(json!({"name": "sales", "type": "File"})),
            input(json!({"name": "decimals", "type": "Int", "default": "2"})),
            input(json!({"name": "months", "type": "Dir"})),
        ],
        input_files: vec![FrozenFile {
            name: "months".into(),
            file_name: "months".into(),
            sha256: "0".repeat(64),
            bytes: 9,
            is_dir: true,
        }],
        outputs: vec![
            output(json!({"name": "total", "type": "Float"})),
            output(json!({"name": "summary", "type": "File", "format": "CSV"})),
            output(json!({"name": "parts", "type": "Dir"})),
        ],
        ..task()
    }
}

pub(super) fn case(value: Value) -> Case {
    serde_json::from_value(value).unwrap()
}

fn ties() -> Case {
    case(json!({
        "about": "ties",
        "inputs": [{"name": "sales", "value": "item,units\nb,1\na,1\n"}, {"name": "decimals", "value": "0"}],
        "expect": [
            {"output": "total", "value": "2"},
            {"output": "summary", "value": "item,units\na,1\nb,1\n"},
        ],
    }))
}

fn plan_of(task: &Task, cases: Vec<Case>) -> CaseSet {
    planned(task, cases, Vec::new(), &Forms::new())
}

fn wrote(outputs: &[(&str, &str)]) -> PhaseReport {
    let outputs = outputs.iter().map(|(name, text)| OutputReport {
        name: (*name).into(),
        content: OutputContent::File(BASE64_STANDARD.encode(text)),
    });
    PhaseReport {
        outputs: outputs.collect(),
        ..phase(PhaseName::Case, 0)
    }
}

fn judged(task: &Task, case: Case, report: &PhaseReport) -> CasesJudged {
    let set = CaseSet {
        cases: vec![PlannedCase { case, revision: None }],
        ..CaseSet::default()
    };
    judge(task, &executions(task, &set), [Some(report)].into_iter())
}

#[test]
fn a_case_is_an_execution_of_the_program_alone_with_its_own_files() {
    let run = CaseExecution {
        origin: CaseOrigin::Plan(1),
        is_settled: false,
        is_held: false,
        is_apart: false,
        case: case(json!({
            "about": "ties",
            "inputs": [{"name": "sales", "value": "item\na\n"}, {"name": "months/may.csv", "value": "x\n"}],
            "expect": [{"output": "parts/a.csv", "check": "Rows", "value": "1"}, {"output": "stdout", "value": "$total"}],
        })),
    };
    let Phase::Program(phase) = run.phase(&sales(), &Forms::new(), "pass") else {
        panic!("a case runs a program");
    };
    assert_eq!(
        phase.args,
        [
            "--sales",
            "/var/inputs/sales.csv",
            "--decimals",
            "2",
            "--months",
            "/var/inputs/months"
        ]
    );
    let files: Vec<&str> = phase.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(files, ["sales.csv", "months/may.csv"]);
    assert_eq!(phase.outputs, ["parts", "total", "summary"]);
    assert!(!serde_json::to_string(&phase).unwrap().contains("ties"));
}

#[test]
fn a_case_holds_when_every_output_is_as_expected() {
    let right = wrote(&[("total", "2.0\n"), ("summary", "units,item\n1,a\n1,b\n")]);
    let judged = judged(&sales(), ties(), &right);
    assert_eq!(
        judged.cases,
        Some(codegen_api::status::CaseCounts { total: 1, passed: 1 })
    );
    assert_eq!(judged.failed, []);
}

#[test]
fn a_case_that_fails_says_its_inputs_what_was_expected_and_what_came() {
    let wrong = wrote(&[("total", "3"), ("summary", "item,units\nb,1\na,1\n")]);
    let judged = judged(&sales(), ties(), &wrong);
    let [failed] = &judged.failed[..] else {
        panic!("{:?}", judged.failed);
    };
    assert_eq!(failed.source, CheckSource::Case);
    assert_eq!(failed.detail.id, "case 1 (ties)");
    assert_eq!(
        failed.detail.message,
        "expected total = 2, got 3; expected of summary row 1: a,1, got row 1: b,1"
    );
    assert_eq!(failed.detail.text, "sales:\nitem,units\nb,1\na,1\ndecimals: 0");
}

#[rstest]
#[case::exception(PhaseEnd::Exited(1), "Traceback\nKeyError: 'units'\n", "'units'")]
#[case::code(PhaseEnd::Exited(3), "", "the program ended with exit code 3")]
#[case::hang(PhaseEnd::TimedOut, "", "the program did not end within 0 s")]
fn a_program_that_does_not_end_well_fails_its_case(
    #[case] end: PhaseEnd,
    #[case] stderr: &str,
    #[case] message: &str,
) {
    let report = PhaseReport {
        end,
        stderr: stderr.into(),
        ..phase(PhaseName::Case, 0)
    };
    let judged = judged(&sales(), ties(), &report);
    assert_eq!(judged.failed[0].detail.message, message);
}

#[rstest]
#[case::refuses(PhaseEnd::Exited(2), "no column units\n", true)]
#[case::other_words(PhaseEnd::Exited(2), "error\n", false)]
#[case::takes_it(PhaseEnd::Exited(0), "no column units\n", false)]
#[case::killed(PhaseEnd::Signaled(9), "no column units\n", false)]
fn inputs_that_must_be_refused_are(#[case] end: PhaseEnd, #[case] stderr: &str, #[case] passes: bool) {
    let refusal = case(json!({
        "about": "no units", "refused": true,
        "expect": [{"output": "stderr", "check": "Contains", "value": "units"}],
    }));
    let report = PhaseReport {
        end,
        stderr: stderr.into(),
        ..phase(PhaseName::Case, 0)
    };
    assert_eq!(judged(&sales(), refusal, &report).failed.is_empty(), passes);
}

#[test]
fn outputs_may_be_held_against_one_another() {
    let related = case(json!({
        "about": "the table adds up", "expect": [{"output": "summary", "check": "Total", "at": "units", "value": "$total"}],
    }));
    let right = wrote(&[("total", "3\n"), ("summary", "item,units\na,1\nb,2\n")]);
    let wrong = wrote(&[("total", "4\n"), ("summary", "item,units\na,1\nb,2\n")]);
    assert!(judged(&sales(), related.clone(), &right).failed.is_empty());
    assert!(!judged(&sales(), related, &wrong).failed.is_empty());
}

#[rstest]
#[case::a_word_that_may_have_been_cut(Check::Lacks, "password", false)]
#[case::all_of_it(Check::Equals, "", false)]
#[case::lines(Check::Rows, "1", false)]
#[case::a_word_in_what_is_left(Check::Contains, "done", true)]
#[case::a_word_that_is_not(Check::Contains, "begun", false)]
fn of_a_stream_that_was_cut_only_what_is_found_holds(
    #[case] check: Check,
    #[case] value: &str,
    #[case] passes: bool,
) {
    let printed = |cut: Vec<Stream>| PhaseReport {
        stdout: if check == Check::Equals {
            String::new()
        } else {
            "done\n".into()
        },
        cut,
        ..phase(PhaseName::Case, 0)
    };
    let expect = json!([{"output": "stdout", "check": check, "value": value}]);
    let stated = case(json!({"about": "what it prints", "expect": expect}));
    let cut = judged(&sales(), stated.clone(), &printed(vec![Stream::Stdout]));
    assert_eq!(cut.failed.is_empty(), passes);
    if let [failed] = &cut.failed[..] {
        let message = &failed.detail.message;
        assert!(
            message.ends_with("only the last 64 KiB of stdout are kept"),
            "{message}"
        );
    }
    let whole = judged(&sales(), stated, &printed(vec![Stream::Stderr]));
    assert_eq!(whole.failed.is_empty(), value != "begun");
}

#[rstest]
#[case::keys_in_another_order("", r#"{"a": 1, "b": [2.0]}"#, r#"{"b":[2],"a":1}"#, true)]
#[case::another_value("", r#"{"a": 1, "b": [2.0]}"#, r#"{"b":[3],"a":1}"#, false)]
#[case::one_value_of_it("/b/0", "2", r#"{"b":[2],"a":1}"#, true)]
#[case::text_that_is_no_json("", "[draft] 2 rows", "[draft] 2 rows\n", true)]
#[case::text_in_place_of_json("", "[1]", "one\n", false)]
fn json_that_is_printed_is_compared_by_value(
    #[case] at: &str,
    #[case] expected: &str,
    #[case] printed: &str,
    #[case] passes: bool,
) {
    let stated = case(
        json!({"about": "what it prints", "expect": [{"output": "stdout", "at": at, "value": expected}]}),
    );
    assert_eq!(usable(&sales(), &stated, &[], CaseData::Exposed), None);
    let report = PhaseReport {
        stdout: printed.into(),
        ..phase(PhaseName::Case, 0)
    };
    assert_eq!(judged(&sales(), stated, &report).failed.is_empty(), passes);
}

#[test]
fn a_dollar_before_no_output_is_text() {
    let price = case(json!({"about": "price", "expect": [{"output": "stdout", "value": "$5.00"}]}));
    assert_eq!(usable(&sales(), &price, &[], CaseData::Exposed), None);
    let report = |stdout: &str| PhaseReport {
        stdout: stdout.into(),
        ..phase(PhaseName::Case, 0)
    };
    assert!(
        judged(&sales(), price.clone(), &report("$5.00\n"))
            .failed
            .is_empty()
    );
    assert!(!judged(&sales(), price, &report("5.00\n")).failed.is_empty());
}

#[test]
fn a_case_that_never_ran_has_not_passed() {
    let set = CaseSet {
        cases: vec![PlannedCase {
            case: ties(),
            revision: None,
        }],
        ..CaseSet::default()
    };
    let judged = judge(&sales(), &executions(&sales(), &set), [None].into_iter());
    assert!(judged.failed[0].detail.message.contains("never started"));
}

#[test]
fn of_the_users_examples_only_the_count_is_said() {
    let with_examples = Task {
        examples: vec![ties(), ties()],
        ..sales()
    };
    let runs = executions(&with_examples, &CaseSet::default());
    let right = wrote(&[("total", "2"), ("summary", "item,units\na,1\nb,1\n")]);
    let wrong = wrote(&[("total", "4711"), ("summary", "")]);
    let judged = judge(&with_examples, &runs, [Some(&right), Some(&wrong)].into_iter());
    let [failed] = &judged.failed[..] else {
        panic!("{:?}", judged.failed);
    };
    assert_eq!(failed.source, CheckSource::Example);
    assert_eq!(failed.detail.message, "1 of 2 examples of the user fail");
    assert!(!format!("{failed:?}").contains("4711"));
}

#[rstest]
#[case(CaseMode::Require, 1)]
#[case(CaseMode::Report, 0)]
fn cases_decide_where_they_are_required(#[case] cases: CaseMode, #[case] failures: usize) {
    let task = Task { cases, ..sales() };
    let judged = judged(&task, ties(), &wrote(&[("total", "3")]));
    assert_eq!(judged.failed.len(), failures);
    assert_eq!(judged.cases.unwrap().passed, 0);
}

/// The code is the one with which the harness ends a process that it could not replace by the program.
#[rstest]
#[case::no_such_start(
    127,
    "the sandbox could not start /usr/bin/python3: embedded null byte\n",
    false
)]
#[case::no_folders(
    126,
    "the sandbox could not empty its folders after the phase before this one\n",
    false
)]
#[case::by_the_program(127, "no such label\n", true)]
#[case::with_another_code(2, "the sandbox could not be read\n", true)]
fn a_program_that_never_started_has_refused_nothing(
    #[case] code: i32,
    #[case] stderr: &str,
    #[case] passes: bool,
) {
    let harness = [
        include_str!("../../../sandbox/src/harness/processes.py"),
        include_str!("../../../sandbox/src/harness/phases.py"),
    ];
    let said: String = stderr.chars().take(24).collect();
    assert_eq!(harness.iter().any(|part| part.contains(&said)), !passes, "{said}");
    let refusal = case(json!({"about": "no units", "refused": true}));
    let report = PhaseReport {
        stderr: stderr.into(),
        ..phase(PhaseName::Case, code)
    };
    let judged = judged(&sales(), refusal, &report);
    assert_eq!(judged.failed.is_empty(), passes, "{:?}", judged.failed);
}

#[test]
fn a_case_reads_well_in_one_line() {
    assert_eq!(
        line(2, &ties()),
        "2. ties: sales: 3 lines, decimals=0 -> total = 2; summary = 3 lines"
    );
}

mod inputs;
mod plans;
mod revisions;

/// A task with one output for each of these types and formats, named `out`.
fn writing(type_: &str, format: Option<&str>) -> Task {
    let mut declared = json!({"name": "out", "type": type_});
    if let Some(format) = format {
        declared["format"] = json!(format);
    }
    Task {
        outputs: vec![serde_json::from_value(declared).unwrap()],
        ..sales()
    }
}

#[rstest]
#[case::a_fraction("Int", None, "3", "3.0", "output out: expected")]
#[case::an_exponent("Int", None, "1000", "1e3", "output out: expected")]
#[case::beyond_64_bits(
    "Int",
    None,
    "123456789012345678901",
    "123456789012345678901",
    "output out: expected"
)]
#[case::a_short_line("File", Some("CSV"), "a,b\n1,\n3,4\n", "a,b\n1\n3,4\n", "not valid CSV")]
#[case::a_mark_of_order("File", Some("JSON"), "{\"a\": 1}", "\u{feff}{\"a\": 1}", "not valid JSON")]
fn what_a_run_would_refuse_fails_a_case_whatever_it_states(
    #[case] type_: &str,
    #[case] format: Option<&str>,
    #[case] value: &str,
    #[case] text: &str,
    #[case] message: &str,
) {
    let stated = json!([{"output": "out", "value": value}]);
    let silent = json!([{"output": "stdout", "value": ""}]);
    for expect in [stated, silent] {
        let case = case(json!({"about": "a", "expect": expect}));
        let judged = judged(&writing(type_, format), case, &wrote(&[("out", text)]));
        assert_eq!(judged.failed.len(), 1, "{judged:?}");
        assert!(judged.failed[0].detail.message.contains(message), "{judged:?}");
    }
}

#[test]
fn a_file_that_is_packed_and_outputs_of_a_refusal_are_not_read_by_their_type() {
    let refused = case(json!({"about": "a", "refused": true}));
    let mut report = wrote(&[("out", "half")]);
    report.end = PhaseEnd::Exited(1);
    assert_eq!(judged(&writing("Int", None), refused, &report).failed, []);
    let silent = case(json!({"about": "a", "expect": [{"output": "stdout", "value": ""}]}));
    let packed = wrote(&[("out", "BZh91AY&SY")]);
    assert_eq!(judged(&writing("File", Some("CSV")), silent, &packed).failed, []);
}

#[test]
fn a_difference_that_nobody_sees_is_shown() {
    let case = case(json!({"about": "a", "expect": [{"output": "out", "value": "x"}]}));
    let judged = judged(&writing("String", None), case, &wrote(&[("out", "\u{feff}x")]));
    assert_eq!(judged.failed[0].detail.message, "expected out = x, got <U+FEFF>x");
}

#[test]
fn a_person_reads_the_expected_and_the_actual_value_of_a_long_row() {
    let wanted = "Longyearbyen,Svalbard,2026-01-31,overcast with light snow,-12.5,1013.2,north-east,strong";
    let written = &wanted.replace("-12.5", "-21.5");
    let columns = "town,land,day,sky,degrees,pressure,wind,force\n";
    let case = case(
        json!({"about": "a", "expect": [{"output": "summary", "value": format!("{columns}{wanted}\n")}]}),
    );
    let judged = judged(
        &sales(),
        case,
        &wrote(&[("summary", &format!("{columns}{written}\n"))]),
    );
    let headline = judged.failed[0].headline();
    let (expected, actual) = headline.split_once(", got ").unwrap();
    assert!(
        expected.contains("-12.5") && actual.contains("-21.5"),
        "{headline}"
    );
    assert!(headline.chars().count() < 180, "{headline}");
    let text = &judged.failed[0].detail.text;
    assert!(text.contains(wanted) && text.contains(written.as_str()), "{text}");
}

#[test]
fn a_person_reads_the_expected_and_the_actual_value_of_a_text_of_several_lines() {
    let case = case(json!({"about": "a", "expect": [{"output": "out", "value": "one\ntwo\nthree"}]}));
    let judged = judged(
        &writing("String", None),
        case,
        &wrote(&[("out", "one\ntoo\nthree")]),
    );
    let headline = judged.failed[0].headline();
    assert!(
        headline.ends_with("expected of out one two three, got one too three"),
        "{headline}"
    );
}

#[test]
fn cases_that_only_report_say_which_of_them_failed_and_why() {
    let task = Task {
        cases: CaseMode::Report,
        ..sales()
    };
    let judged = judged(
        &task,
        ties(),
        &wrote(&[("total", "3"), ("summary", "item,units\na,1\nb,1\n")]),
    );
    assert_eq!(judged.failed, []);
    let [check] = judged.reported.as_slice() else {
        panic!("{judged:?}");
    };
    assert_eq!(check.headline(), "case 1 (ties): expected total = 2, got 3");
}
