use rstest::rstest;
use serde_json::json;

use super::*;
use crate::sandbox::{OutputReport, PhaseName};
use crate::test_support;

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
