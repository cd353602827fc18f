//! Outputs of a rehearsal, as they are recorded.

use serde_json::json;

use crate::run::{OutputsRead, TypedOutput};
use crate::sandbox::OutputContent;
use crate::stored_outputs::FoundOutput;
use crate::verdict::{OutputTooLarge, RehearsalFindings};
use codegen_api::run_status::{DataSide, Finding, Severity};
use codegen_api::values::Output;

fn declared() -> Vec<Output> {
    serde_json::from_value(json!([
        {"name": "summary", "type": "File", "format": "CSV", "description": "d"},
        {"name": "pages", "type": "Dir", "description": "d"},
        {"name": "text", "type": "String", "description": "d"},
    ]))
    .unwrap()
}

fn too_large(names: &[&str]) -> OutputsRead {
    let large = names.iter().map(|name| OutputTooLarge {
        output: (*name).to_owned(),
        bytes: Some(8 << 20),
    });
    let content = OutputContent::File("c2hvcnQ=".to_owned());
    let text = TypedOutput::new(&declared()[2], &content, Some("short".to_owned()));
    OutputsRead {
        too_large: large.collect(),
        outputs: text.into_iter().collect(),
        ..OutputsRead::default()
    }
}

fn found(findings: Vec<Finding>) -> FoundOutput {
    FoundOutput::Read {
        sha256: "0123456789abcdef".repeat(4),
        bytes: 8 << 20,
        files: 1,
        value: None,
        findings,
    }
}

#[test]
fn a_large_output_that_is_what_the_task_declares_counts_by_size_and_digest_in_its_place() {
    let declared = declared();
    let mut read = too_large(&["summary"]);
    read.join_rehearsal(&declared, vec![(&declared[0], found(Vec::new()))]);
    let findings = RehearsalFindings::from(read);
    assert_eq!((findings.too_large.len(), findings.faults.len()), (0, 0));
    assert_eq!(
        findings.values,
        [
            (
                "summary".to_owned(),
                "8388608 bytes, sha256 0123456789ab".to_owned()
            ),
            ("text".to_owned(), "short".to_owned()),
        ]
    );
    assert_eq!(findings.stored[0].bytes, Some(8 << 20));
}

#[test]
fn what_is_wrong_with_a_large_output_is_a_fault_of_the_program() {
    let declared = declared();
    let broken = Finding {
        severity: Severity::Violation,
        of: DataSide::Output,
        name: "summary".to_owned(),
        column: "mass".to_owned(),
        check: "mass at least 0".to_owned(),
        count: 34,
        first: vec!["line 17: \"-12\"".to_owned()],
    };
    let mut read = too_large(&["summary", "pages"]);
    let there = vec![
        (&declared[0], found(vec![broken])),
        (
            &declared[1],
            FoundOutput::Wrong("it is a link or a socket".to_owned()),
        ),
    ];
    read.join_rehearsal(&declared, there);
    let findings = RehearsalFindings::from(read);
    assert!(findings.too_large.is_empty());
    let problems: Vec<&str> = findings
        .faults
        .iter()
        .map(|fault| fault.problem.as_str())
        .collect();
    assert_eq!(
        problems,
        [
            "it is a link or a socket",
            "34 values break the constraint mass at least 0 (line 17: \"-12\")"
        ]
    );
    // Of private samples no value, and of a count one digit.
    let private = findings.without_private_values();
    assert_eq!(
        private.faults[1].problem,
        "more than 30 values break the constraint mass at least 0"
    );
}

#[test]
fn what_fits_the_report_is_read_from_there_and_what_is_larger_than_a_disk_takes_stays_unchecked() {
    let declared = declared();
    let mut read = too_large(&["pages"]);
    let there = vec![
        (
            &declared[0],
            FoundOutput::Wrong("it is not there any more".to_owned()),
        ),
        (&declared[1], FoundOutput::TooLarge(None)),
    ];
    read.join_rehearsal(&declared, there);
    let findings = RehearsalFindings::from(read);
    assert!(findings.faults.is_empty());
    assert_eq!(findings.too_large.len(), 1);
}
