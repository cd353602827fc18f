use std::collections::BTreeSet;

use super::*;
use crate::diagnosis::{DiagnosedFailure, Diagnosis, diagnose};
use crate::progress::{BuildFault, BuiltImage, Memory, PublishedImage, WaitReason};
use crate::reply::DiagnosisRow;
use crate::stage::{Category, StopReason};
use crate::status::{StatusContext, status};
use crate::test_support::{at, document, failed, image, pip, start, task, verdict};
use crate::verdict::{CheckSource, FailedCheck, OutputTooLarge, Verdict};
use codegen_api::approval::{ApprovalDecision, ApprovalStatus, Gate};
use codegen_api::common::TestingMode;
use codegen_api::publish::Publish;
use codegen_api::status::{CaseEvidence, ErrorType, PlanStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

mod table;
mod attempts;
mod escalation;
mod limits;
mod retry;

/// Walks a task through outcomes.
struct Walk {
    task: Task,
    progress: Progress,
    versions: u32,
}

impl Walk {
    fn new(task: Task) -> Self {
        Self {
            task,
            progress: start(),
            versions: 0,
        }
    }

    fn take(&mut self, outcome: Outcome) -> &mut Self {
        self.progress = advance(&self.task, &self.progress, outcome, at(1)).unwrap();
        self
    }

    fn new_source(&mut self, packages: &[&str]) -> NewSource {
        self.versions += 1;
        NewSource {
            document: document("d"),
            tree: format!("tree-{}", self.versions),
            declared: Packages::default(),
            wanted: pip(packages),
        }
    }

    fn until_tests(&mut self) -> &mut Self {
        self.take(samples());
        if self.progress.stage == Stage::ReadingConstraints {
            self.take(Outcome::ConstraintsRead {
                checks: document("c"),
                constraints: Vec::new(),
            });
        }
        self.take(planned());
        let code = self.new_source(&[]);
        self.take(Outcome::CodeWritten(code));
        self.take(ready(&[]));
        let tests = self.new_source(&[]);
        self.take(Outcome::TestsWritten(tests))
    }

    fn ran(&mut self, failures: Vec<FailedCheck>) -> &mut Self {
        self.take(Outcome::Tested(Tested {
            record: document("r"),
            verdict: Box::new(verdict(failures)),
            started_at: at(0),
        }))
    }

    /// Diagnoses as the engine does, reclassification included.
    fn diagnosed(&mut self, checks: &[(FailedCheck, ErrorType)]) -> &mut Self {
        let failures = checks
            .iter()
            .map(|(check, error_type)| {
                diagnose(
                    check,
                    row(*error_type),
                    &self.progress.memory.tried,
                    self.task.limits.reclassify_after,
                )
            })
            .collect();
        self.take_diagnosis(failures, pip(&[]))
    }

    fn take_diagnosis(&mut self, failures: Vec<DiagnosedFailure>, wanted: Packages) -> &mut Self {
        self.take(Outcome::Diagnosed(Diagnosed {
            document: document("g"),
            diagnosis: Diagnosis { failures },
            declared: Packages::default(),
            wanted,
        }))
    }

    fn code_fixed(&mut self) -> &mut Self {
        let written = self.new_source(&[]);
        self.take(Outcome::CodeFixed(written))
    }

    fn tests_fixed(&mut self) -> &mut Self {
        let written = self.new_source(&[]);
        self.take(Outcome::TestsFixed(written))
    }

    fn stage(&self) -> Stage {
        self.progress.stage
    }

    fn stop(&self) -> &Stop {
        self.progress.stop.as_ref().unwrap()
    }
}

fn planned() -> Outcome {
    Outcome::Planned {
        plan: PlanStatus::default(),
        cases: None,
    }
}

fn samples() -> Outcome {
    Outcome::SamplesRead(SamplesRead {
        context: document("x"),
        profiles: document("p"),
        samples: Vec::new(),
        acceptance_is_apart: false,
    })
}

fn ready(packages: &[&str]) -> Outcome {
    Outcome::ImageReady(ImageReady {
        built: image(packages),
        lock: None,
        fresh: true,
    })
}

fn fault(packages: &[&str]) -> Outcome {
    Outcome::BuildFailed(BuildFailed {
        fault: BuildFault {
            packages: pip(packages),
            message: "no such package".into(),
        },
        is_tried: true,
    })
}

fn revised(program_is_at_fault: bool) -> Outcome {
    Outcome::CasesRevised(CasesRevised {
        cases: (document("cases"), CaseEvidence::default()),
        lines: Vec::new(),
        document: document("g2"),
        diagnosis: Diagnosis::default(),
        program_is_at_fault,
        are_all_confirmed: program_is_at_fault,
        was_held: false,
        seen: BTreeSet::new(),
    })
}

fn row(error_type: ErrorType) -> DiagnosisRow {
    DiagnosisRow {
        failure: 1,
        error_type,
        expected: "e".into(),
        actual: "a".into(),
        root_cause: "cause".into(),
        suggested_fix: "fix".into(),
        functions: vec!["mean".into()],
        packages: Vec::new(),
        system_packages: Vec::new(),
    }
}

fn logic(message: &str) -> FailedCheck {
    failed(CheckSource::Test, "test_solution.py::test_mean", message)
}

#[test]
fn a_program_that_passes_at_once_succeeds_after_one_attempt() {
    let mut walk = Walk::new(task());
    walk.until_tests().ran(Vec::new());
    assert_eq!((walk.stage(), walk.progress.attempt), (Stage::Succeeded, 1));
    assert_eq!(walk.progress.attempts.len(), 1);
    assert_eq!(walk.progress.completed_at, Some(at(1)));
}

#[test]
fn constraints_are_read_before_the_plan() {
    let mut walk = Walk::new(Task {
        constraints: vec!["a is positive".into()],
        ..task()
    });
    walk.take(samples());
    assert_eq!(walk.stage(), Stage::ReadingConstraints);
    walk.take(Outcome::ConstraintsRead {
        checks: document("c"),
        constraints: Vec::new(),
    });
    assert_eq!(walk.stage(), Stage::Planning);
}

#[test]
fn without_tests_the_program_goes_straight_to_the_image() {
    let mut walk = Walk::new(Task {
        testing: TestingMode::Skip,
        ..task()
    });
    walk.take(samples()).take(planned());
    let code = walk.new_source(&["pandas"]);
    walk.take(Outcome::CodeWritten(code));
    assert_eq!(walk.stage(), Stage::AwaitingImage);
    walk.take(ready(&["pandas"]));
    assert_eq!(walk.stage(), Stage::RunningTests);
}

#[test]
fn a_package_that_the_image_lacks_is_built_without_spending_an_attempt() {
    let mut walk = Walk::new(task());
    walk.take(samples()).take(planned());
    let code = walk.new_source(&[]);
    walk.take(Outcome::CodeWritten(code)).take(ready(&[]));
    let tests = walk.new_source(&["pytest-mock"]);
    walk.take(Outcome::TestsWritten(tests));
    assert_eq!((walk.stage(), walk.progress.attempt), (Stage::AwaitingImage, 0));
    walk.take(ready(&["pytest-mock"]));
    assert_eq!((walk.stage(), walk.progress.attempt), (Stage::RunningTests, 1));
}

#[test]
fn a_package_that_does_not_exist_is_replaced_by_the_model_and_built_again() {
    let mut walk = Walk::new(task());
    walk.take(samples()).take(planned());
    let code = walk.new_source(&["wrong"]);
    walk.take(Outcome::CodeWritten(code)).take(fault(&["wrong"]));
    assert_eq!(walk.stage(), Stage::GeneratingTests, "the suite is on its way");
    let tests = walk.new_source(&["wrong"]);
    walk.take(Outcome::TestsWritten(tests));
    assert_eq!(walk.stage(), Stage::FixingEnvironment);
    walk.take(Outcome::EnvironmentFixed {
        replaced: vec![("pip:wrong".into(), "right".into())],
        wanted: pip(&["right"]),
    });
    assert_eq!(walk.stage(), Stage::AwaitingImage);
    walk.take(fault(&["right"]));
    assert_eq!(walk.stage(), Stage::FixingEnvironment);
    assert_eq!(walk.progress.build.replaced["pip:wrong"], "right");
    for name in ["b", "c"] {
        walk.take(Outcome::EnvironmentFixed {
            replaced: vec![("pip:right".into(), name.into())],
            wanted: pip(&[name]),
        });
        walk.take(fault(&[name]));
    }
    assert_eq!(walk.stop().reason, StopReason::NoProgress);
}

#[test]
fn an_image_that_is_gone_is_built_again_and_spends_no_attempt() {
    let mut walk = Walk::new(task());
    walk.until_tests().take(Outcome::ImageLost);
    assert_eq!((walk.stage(), walk.progress.attempt), (Stage::AwaitingImage, 0));
    walk.take(ready(&[]));
    assert_eq!((walk.stage(), walk.progress.attempt), (Stage::RunningTests, 1));
}

#[test]
fn an_outcome_that_does_not_fit_the_stage_is_refused_by_name() {
    let error = advance(&task(), &start(), planned(), at(1)).unwrap_err();
    assert_eq!((error.stage, error.outcome), (Stage::ReadingSamples, "Planned"));
}

#[test]
fn nothing_follows_a_terminal_stage() {
    let mut walk = Walk::new(task());
    walk.until_tests().ran(Vec::new());
    for outcome in [Outcome::Accepted, Outcome::LimitRaised, samples()] {
        assert!(advance(&walk.task, &walk.progress, outcome, at(2)).is_err());
    }
    assert_eq!(decide(&walk.task, &walk.progress, at(2)), Decision::Finished);
}

fn publishing() -> Task {
    Task {
        publish: Some(Publish::default()),
        ..task()
    }
}

#[test]
fn a_program_that_is_to_be_published_is_an_image_before_it_succeeds() {
    let mut walk = Walk::new(publishing());
    walk.until_tests().ran(Vec::new());
    assert_eq!(
        (walk.stage(), walk.progress.completed_at),
        (Stage::Publishing, None)
    );
    assert_eq!(decide(&walk.task, &walk.progress, at(2)), Decision::Publish);
    // No limit stops what has passed.
    walk.task.limits.deadline_seconds = 0.0;
    walk.task.limits.max_iterations = 1;
    assert_eq!(decide(&walk.task, &walk.progress, at(9_999)), Decision::Publish);
    let image = PublishedImage {
        image: "registry.example/lab@sha256:1".into(),
        tag: "registry.example/lab:lab.penguins".into(),
        asked: Publish::default(),
    };
    walk.take(Outcome::Published(image.clone()));
    assert_eq!(walk.stage(), Stage::Succeeded);
    let shown = status(&walk.task, &walk.progress, StatusContext::default(), at(3));
    assert_eq!(shown.program_image, Some(image.image));
    assert_eq!(shown.program_tag, Some(image.tag));
}

#[test]
fn whoever_takes_publish_away_while_it_waits_gets_the_program_without() {
    for stage in [Stage::Passed, Stage::Publishing] {
        let mut walk = Walk::new(task());
        walk.progress.stage = stage;
        assert_eq!(decide(&walk.task, &walk.progress, at(2)), Decision::Accept);
        walk.take(Outcome::Accepted);
        assert_eq!(walk.stage(), Stage::Succeeded);
    }
    let mut walk = Walk::new(publishing());
    walk.progress.stage = Stage::Passed;
    walk.take(Outcome::Accepted);
    assert_eq!(walk.stage(), Stage::Publishing, "after the gate");
}

fn decision() -> ApprovalStatus {
    ApprovalStatus {
        gate: Gate::Plan,
        decision: ApprovalDecision::Approve,
        decided_by: "ada".into(),
        verified: false,
        decided_at: Time(at(1)),
        hash: String::new(),
        reason: None,
    }
}
