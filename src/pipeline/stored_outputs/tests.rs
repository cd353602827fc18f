use rstest::rstest;
use serde_json::json;

use super::*;
use crate::api::run_status::DataSide;
use crate::pipeline::sandbox::{OutputReport, PhaseName};
use crate::pipeline::test_support;

fn declared() -> Vec<Output> {
    serde_json::from_value(json!([
        {"name": "summary", "type": "File", "format": "CSV", "description": "d"},
        {"name": "pages", "type": "Dir", "description": "d"},
        {"name": "text", "type": "String", "description": "d"},
    ]))
    .unwrap()
}

fn rehearsal(end: PhaseEnd, outputs: &[(&str, OutputContent)]) -> PhaseReport {
    let outputs = outputs.iter().map(|(name, content)| OutputReport {
        name: (*name).to_owned(),
        content: content.clone(),
    });
    PhaseReport {
        outputs: outputs.collect(),
        end,
        ..test_support::phase(PhaseName::Rehearsal, 0)
    }
}

#[rstest]
#[case::a_large_file(PhaseEnd::Exited(0), "summary", OutputContent::TooLarge(8 << 20), true)]
#[case::a_large_folder(PhaseEnd::Exited(0), "pages", OutputContent::TooLarge(8 << 20), true)]
#[case::its_memory(
    PhaseEnd::LimitHit(LimitKind::Memory),
    "summary",
    OutputContent::TooLarge(900 << 20),
    true
)]
#[case::a_file_that_fits(PhaseEnd::Exited(0), "summary", OutputContent::File(String::new()), false)]
#[case::a_long_text(PhaseEnd::Exited(0), "text", OutputContent::TooLarge(8 << 20), false)]
#[case::a_program_that_failed(PhaseEnd::Exited(1), "summary", OutputContent::TooLarge(8 << 20), false)]
fn a_rehearsal_is_run_on_a_disk_where_files_were_too_large_for_the_report(
    #[case] end: PhaseEnd,
    #[case] output: &str,
    #[case] content: OutputContent,
    #[case] expected: bool,
) {
    let phase = rehearsal(end, &[(output, content)]);
    assert_eq!(needs_disk(&declared(), &phase), expected);
}

fn too_large(names: &[&str]) -> RehearsalFindings {
    let large = names.iter().map(|name| TooLarge {
        output: (*name).to_owned(),
        bytes: Some(8 << 20),
    });
    RehearsalFindings {
        too_large: large.collect(),
        values: vec![("text".to_owned(), "short".to_owned())],
        ..RehearsalFindings::default()
    }
}

fn read(findings: Vec<Finding>) -> FoundOutput {
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
    let mut findings = too_large(&["summary"]);
    join_findings(&mut findings, &declared, vec![(&declared[0], read(Vec::new()))]);
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
        count: 4,
        first: vec!["line 17: \"-12\"".to_owned()],
    };
    let mut findings = too_large(&["summary", "pages"]);
    let found = vec![
        (&declared[0], read(vec![broken])),
        (
            &declared[1],
            FoundOutput::Wrong("it is a link or a socket".to_owned()),
        ),
    ];
    join_findings(&mut findings, &declared, found);
    assert!(findings.too_large.is_empty());
    let problems: Vec<&str> = findings
        .faults
        .iter()
        .map(|fault| fault.problem.as_str())
        .collect();
    assert_eq!(
        problems,
        [
            "4 values break the constraint mass at least 0 (line 17: \"-12\")",
            "it is a link or a socket"
        ]
    );
    // Of private samples neither a count nor a value.
    assert!(!findings.faults[0].without_values.contains(['4', '7']));
}

#[test]
fn what_fits_the_report_is_read_from_there_and_what_is_larger_than_a_disk_takes_stays_unchecked() {
    let declared = declared();
    let mut findings = too_large(&["pages"]);
    let found = vec![
        (
            &declared[0],
            FoundOutput::Wrong("it is not there any more".to_owned()),
        ),
        (&declared[1], FoundOutput::TooLarge(None)),
    ];
    join_findings(&mut findings, &declared, found);
    assert!(findings.faults.is_empty());
    assert_eq!(findings.too_large.len(), 1);
}
