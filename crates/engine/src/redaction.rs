//! Takes the values of Secrets out of what a run said. Only free text is touched: ids, outcomes and outputs stay as they are.

use codegen_core::redact::Redactor;
use codegen_core::sandbox::{PhaseReport, Report, TestFailure};
use codegen_core::verdict::{RehearsalFindings, Verdict};

/// Redacts the printed text of the phases and their failures.
pub(super) fn report(redactor: &Redactor, report: &mut Report) {
    phases(redactor, report.phases.iter_mut());
}

/// Redacts the printed text of some phases and their failures.
pub(super) fn phases<'a>(redactor: &Redactor, phases: impl Iterator<Item = &'a mut PhaseReport>) {
    for phase in phases {
        clean(redactor, &mut phase.stdout);
        clean(redactor, &mut phase.stderr);
        if let Some(tests) = &mut phase.tests {
            for result in &mut tests.results {
                clean(redactor, &mut result.stdout);
                if let Some(detail) = &mut result.failure {
                    failure(redactor, detail);
                }
            }
            for detail in &mut tests.collection_errors {
                failure(redactor, detail);
            }
        }
    }
}

/// Redacts the findings in the outputs.
pub(super) fn findings(redactor: &Redactor, findings: &mut RehearsalFindings) {
    for fault in &mut findings.faults {
        clean(redactor, &mut fault.problem);
        clean(redactor, &mut fault.without_values);
    }
    for (_, text) in &mut findings.values {
        clean(redactor, text);
    }
}

/// Redacts the failures and messages that the verdict rests on.
pub(super) fn verdict(redactor: &Redactor, verdict: &mut Verdict) {
    let failed = verdict.failed.iter_mut().chain(&mut verdict.reported);
    for check in failed.chain(&mut verdict.held) {
        failure(redactor, &mut check.detail);
    }
    if let Some(message) = &mut verdict.rehearsal.message {
        clean(redactor, message);
    }
}

pub(super) fn failure(redactor: &Redactor, detail: &mut TestFailure) {
    clean(redactor, &mut detail.message);
    clean(redactor, &mut detail.text);
}

fn clean(redactor: &Redactor, text: &mut String) {
    *text = redactor.redact(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use codegen_core::sandbox::TestOutcome;
    use codegen_core::test_support::session;

    #[test]
    fn a_secret_that_is_a_word_of_the_report_leaves_ids_and_outcomes_alone() {
        let redactor = Redactor::new([("A", "test"), ("B", "passed"), ("C", "hunter-22")]);
        let mut phase = session(&[("test_solution.py::test_a", TestOutcome::Passed)]);
        phase.stdout = "hunter-22".into();
        let before = phase.tests.clone();
        let mut said = codegen_core::test_support::report(vec![phase]);
        report(&redactor, &mut said);
        assert_eq!(said.phases[0].tests, before);
        assert_eq!(said.phases[0].stdout, "[redacted:C]");
    }
}
