use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use rstest::rstest;

use super::*;
use crate::machine::{Decision, Outcome, Tested, advance, decide};
use crate::test_support::{at, document, image, pip, start, task, verdict};
use codegen_api::status::{AttemptStatus, PlanStatus};

fn gated(gates: &[Gate]) -> Task {
    Task {
        approvals: gates.iter().copied().collect(),
        ..task()
    }
}

fn plan_of(approach: &str) -> PlanStatus {
    PlanStatus {
        description: "Counts words.".into(),
        approach: approach.into(),
        libraries: Vec::new(),
        cases: Vec::new(),
    }
}

fn in_stage(stage: Stage) -> Progress {
    let mut progress = start();
    progress.stage = stage;
    progress.plan = Some(plan_of("Split."));
    progress.documents.solution = Some(document("solution"));
    progress.build.wanted = pip(&["pandas"]);
    progress.build.built = (stage != Stage::AwaitingImage).then(|| image(&["pandas"]));
    progress.attempts.push(AttemptStatus::default());
    progress
}

fn said(decision: ApprovalDecision, asked: &AwaitedApproval) -> Outcome {
    Outcome::Decided(ApprovalStatus {
        gate: asked.gate,
        decision,
        decided_by: "ada".into(),
        verified: true,
        decided_at: Time(at(5)),
        hash: asked.hash.clone(),
        reason: Some("it is too clever.".into()),
    })
}

fn decided(
    task: &Task,
    progress: &Progress,
    decision: ApprovalDecision,
    asked: &AwaitedApproval,
) -> Progress {
    advance(task, progress, said(decision, asked), at(9)).unwrap()
}

const GATES: [(Gate, Stage); 4] = [
    (Gate::Plan, Stage::GeneratingCode),
    (Gate::Packages, Stage::AwaitingImage),
    (Gate::Image, Stage::RunningTests),
    (Gate::Result, Stage::Passed),
];

#[test]
fn each_gate_waits_in_its_stage_until_exactly_what_it_shows_is_approved() {
    for (gate, stage) in GATES {
        let (task, progress) = (gated(&[gate]), in_stage(stage));
        let Decision::AwaitApproval(asked) = decide(&task, &progress, at(1)) else {
            panic!("{gate} does not wait");
        };
        assert_eq!((asked.gate, asked.hash.len()), (gate, 64));
        assert!(!asked.what.is_empty(), "{gate}");
        let next = decided(&task, &progress, ApprovalDecision::Approve, &asked);
        assert_eq!(next.stage, stage, "{gate}");
        assert!(
            !matches!(decide(&task, &next, at(10)), Decision::AwaitApproval(_)),
            "{gate}"
        );
        let others: Vec<Gate> = Gate::ALL.into_iter().filter(|other| *other != gate).collect();
        assert_eq!(
            awaited(&gated(&others), &progress),
            None,
            "{gate} is asked of nobody"
        );
    }
}

#[rstest]
#[case::another_plan(Stage::GeneratingCode, Gate::Plan, |progress: &mut Progress| progress.plan = Some(plan_of("Guess.")))]
#[case::another_package(Stage::AwaitingImage, Gate::Packages, |progress: &mut Progress| progress.build.wanted = pip(&["pandas", "left-pad"]))]
#[case::another_image(Stage::RunningTests, Gate::Image, |progress: &mut Progress| progress.build.built.as_mut().unwrap().image = "env-2".into())]
#[case::another_version_in_it(Stage::RunningTests, Gate::Image, |progress: &mut Progress| progress.build.built.as_mut().unwrap().resolved = vec!["pandas==3".into()])]
#[case::another_program(Stage::Passed, Gate::Result, |progress: &mut Progress| progress.documents.solution.as_mut().unwrap().sha256 = "1".repeat(64))]
#[case::another_run(Stage::GeneratingCode, Gate::Plan, |progress: &mut Progress| progress.run = "other".into())]
fn what_changed_is_not_approved_by_an_old_yes(
    #[case] stage: Stage,
    #[case] gate: Gate,
    #[case] change: fn(&mut Progress),
) {
    let (task, progress) = (gated(&[gate]), in_stage(stage));
    let asked = awaited(&task, &progress).unwrap();
    let mut next = decided(&task, &progress, ApprovalDecision::Approve, &asked);
    assert_eq!(awaited(&task, &next), None);
    change(&mut next);
    let again = awaited(&task, &next).unwrap();
    assert_ne!(again.hash, asked.hash);
    let still = decided(&task, &next, ApprovalDecision::Approve, &asked);
    assert_eq!(awaited(&task, &still), Some(again), "the old yes once more");
    assert_eq!(
        decided(&task, &next, ApprovalDecision::Reject, &asked).stage,
        stage,
        "an old no"
    );
}

#[test]
fn the_order_of_packages_changes_nothing() {
    let (task, mut progress) = (gated(&[Gate::Packages]), in_stage(Stage::AwaitingImage));
    progress.build.wanted = pip(&["pandas", "lxml"]);
    let hash = awaited(&task, &progress).unwrap().hash;
    progress.build.wanted = pip(&["lxml", "pandas"]);
    assert_eq!(awaited(&task, &progress).unwrap().hash, hash);
}

#[test]
fn a_rejection_ends_the_task_with_who_and_why_and_no_raised_limit_goes_on() {
    for (gate, stage) in GATES {
        let (task, progress) = (gated(&[gate]), in_stage(stage));
        let asked = awaited(&task, &progress).unwrap();
        let ended = decided(&task, &progress, ApprovalDecision::Reject, &asked);
        let stop = ended.stop.clone().unwrap();
        assert_eq!(
            (ended.stage, stop.reason),
            (Stage::Failed, StopReason::Rejected),
            "{gate}"
        );
        assert!(
            stop.message
                .contains("rejected by ada: it is too clever. Another"),
            "{}",
            stop.message
        );
        assert_eq!((ended.stopped_in, ended.completed_at), (None, Some(at(9))));
        assert_eq!(ended.approvals.len(), 1);
    }
}

#[test]
fn an_image_is_not_built_beside_a_call_while_its_packages_are_not_approved() {
    let mut progress = in_stage(Stage::GeneratingTests);
    progress.build.built = None;
    let beside = |task: &Task| matches!(decide(task, &progress, at(1)), Decision::CallBesideBuild(_));
    assert!(beside(&gated(&[Gate::Plan, Gate::Image, Gate::Result])));
    assert!(!beside(&gated(&[Gate::Packages])));
}

#[test]
fn a_program_that_passed_succeeds_when_its_result_is_approved_and_without_that_gate_at_once() {
    let run = |task: &Task| {
        let outcome = Outcome::Tested(Tested {
            record: document("r"),
            verdict: Box::new(verdict(Vec::new())),
            started_at: at(0),
        });
        advance(task, &in_stage(Stage::RunningTests), outcome, at(2)).unwrap()
    };
    assert_eq!(run(&task()).stage, Stage::Succeeded);
    let gated = gated(&[Gate::Result]);
    let passed = run(&gated);
    assert_eq!((passed.stage, passed.completed_at), (Stage::Passed, None));
    let asked = awaited(&gated, &passed).unwrap();
    let approved = decided(&gated, &passed, ApprovalDecision::Approve, &asked);
    assert_eq!(
        decide(&gated, &approved, at(99_999)),
        Decision::Accept,
        "also after the deadline"
    );
    assert_eq!(
        decide(&task(), &passed, at(10)),
        Decision::Accept,
        "the gate was taken away"
    );
    let end = advance(&gated, &approved, Outcome::Accepted, at(11)).unwrap();
    assert_eq!((end.stage, end.completed_at), (Stage::Succeeded, Some(at(11))));
}
