//! What Argo CD and Flux make of a task or a run, at every stage and for every reason, by the engines that they use.

use std::collections::BTreeSet;
use std::fs;

use codegen_api::approval::Gate;
use codegen_api::common::TestingMode;
use codegen_api::conditions::{reason, run_reason};
use codegen_api::publish::Publish;
use codegen_api::status::{AttemptStatus, CaseCounts, CaseEvidence};
use codegen_api::{CodeGenRun, CodeGenRunStatus, CodeGenTask, CodeGenTaskStatus};
use codegen_core::progress::{Progress, WaitReason, Waiting};
use codegen_core::python::near_misses::NearMissCounts;
use codegen_core::run::{FailureReason, RunFailure};
use codegen_core::stage::{Category, Stage, Stop, StopReason};
use codegen_core::status::{Hold, StatusContext, Until, held, status};
use codegen_core::task::{FrozenFiles, Task, resolve};
use codegen_operator::controller::runs::status::{AdoptedRun, Writer};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::tool::{objects, output, root};

const GENERATION: i64 = 3;

/// A status, and what it must mean.
struct Case {
    object: Value,
    argocd: &'static str,
    flux: &'static str,
}

/// Without a status no expression about it has a value: Flux looks again.
const NEW: (&str, &str) = ("Progressing", "Unknown");
const PROGRESSING: (&str, &str) = ("Progressing", "InProgress");
const HEALTHY: (&str, &str) = ("Healthy", "Current");
const DEGRADED: (&str, &str) = ("Degraded", "Failed");
const SUSPENDED: (&str, &str) = ("Suspended", "InProgress");

fn manifest() -> CodeGenTask {
    serde_json::from_value(json!({
        "apiVersion": "codegen-operator.dev/v1alpha1",
        "kind": "CodeGenTask",
        "metadata": {"name": "words", "namespace": "data", "generation": GENERATION},
        "spec": {"prompt": "Count the words.", "model": {"name": "m"}},
    }))
    .unwrap()
}

fn task() -> Task {
    resolve(&manifest(), None, FrozenFiles::default()).unwrap()
}

fn case(status: Option<CodeGenTaskStatus>, (argocd, flux): (&'static str, &'static str)) -> Case {
    let mut object = manifest();
    object.status = status;
    Case {
        object: serde_json::to_value(object).unwrap(),
        argocd,
        flux,
    }
}

fn at(stage: Stage) -> Progress {
    let mut progress = Progress::start("run".into(), Timestamp::UNIX_EPOCH);
    progress.stage = stage;
    progress
}

fn shown(task: &Task, progress: &Progress, hold: Option<&Hold>) -> CodeGenTaskStatus {
    let around = StatusContext {
        generation: Some(GENERATION),
        hold,
        ..StatusContext::default()
    };
    status(task, progress, around, Timestamp::UNIX_EPOCH)
}

fn waiting(stage: Stage, category: Category, reason: Option<WaitReason>) -> Progress {
    let mut progress = at(stage);
    progress.waiting = Some(Waiting {
        category,
        message: "Secret data/openai is not there: create it".into(),
        times: 1,
        retry_at: Timestamp::UNIX_EPOCH,
        since: None,
        reason,
    });
    progress
}

fn holds() -> Vec<(Hold, (&'static str, &'static str))> {
    let hold = |reason, until| Hold {
        reason,
        message: "what it waits for".into(),
        until,
    };
    vec![
        (hold(reason::QUEUED, Until::Room), PROGRESSING),
        (hold(reason::CONFIGURATION, Until::Corrected), DEGRADED),
        (hold(reason::ISOLATION_NOT_ENFORCED, Until::Corrected), DEGRADED),
        (hold(reason::SUSPENDED, Until::Resumed), SUSPENDED),
    ]
}

/// Every stage under every cause that there is.
fn cases() -> Vec<Case> {
    let task = task();
    let mut cases = vec![case(None, NEW)];
    for &stage in Stage::LIVE {
        cases.push(case(Some(shown(&task, &at(stage), None)), PROGRESSING));
        for (category, why, health) in [
            (Category::Infrastructure, None, PROGRESSING),
            (Category::Configuration, None, DEGRADED),
            (
                Category::Configuration,
                Some(WaitReason::OutputTooLarge),
                DEGRADED,
            ),
        ] {
            cases.push(case(
                Some(shown(&task, &waiting(stage, category, why), None)),
                health,
            ));
        }
        for (hold, health) in &holds() {
            cases.push(case(Some(shown(&task, &at(stage), Some(hold))), *health));
        }
    }
    for (hold, health) in &holds() {
        let new = held(
            CodeGenTaskStatus::default(),
            Some(GENERATION),
            hold,
            Timestamp::UNIX_EPOCH,
        );
        cases.push(case(Some(new), *health));
    }
    cases.extend(ended_cases(&task));
    let gated = Task {
        approvals: Gate::ALL.into(),
        ..task.clone()
    };
    for stage in Stage::GATED {
        cases.push(case(Some(shown(&gated, &at(stage), None)), DEGRADED));
    }
    cases
}

/// Every end, and what may follow it.
fn ended_cases(task: &Task) -> Vec<Case> {
    let mut cases = Vec::new();
    for stop in [
        StopReason::IterationsExhausted,
        StopReason::BudgetExceeded,
        StopReason::NoProgress,
        StopReason::InvalidReply,
        StopReason::Rejected,
        StopReason::PolicyDenied,
    ] {
        let mut failed = at(Stage::Failed);
        failed.stop = Some(Stop {
            reason: stop,
            message: "why".into(),
        });
        cases.push(case(Some(shown(task, &failed, None)), DEGRADED));
    }
    for testing in [TestingMode::Generate, TestingMode::Skip] {
        let task = &Task {
            testing,
            ..task.clone()
        };
        cases.push(case(Some(shown(task, &at(Stage::Succeeded), None)), HEALTHY));
        let mut proved = at(Stage::Succeeded);
        proved.cases = Some(CaseEvidence::default());
        proved.attempts = vec![AttemptStatus {
            cases: Some(CaseCounts { total: 1, passed: 1 }),
            ..AttemptStatus::default()
        }];
        cases.push(case(Some(shown(task, &proved, None)), HEALTHY));
        proved.near_misses = Some(NearMissCounts {
            total: 3,
            ..NearMissCounts::default()
        });
        cases.push(case(Some(shown(task, &proved, None)), HEALTHY));
    }
    // Whatever becomes of an image that is asked for later, there is a program.
    let publishing = Task {
        publish: Some(Publish::default()),
        ..task.clone()
    };
    for category in [Category::Infrastructure, Category::Configuration] {
        let waits = waiting(Stage::Succeeded, category, None);
        cases.push(case(Some(shown(&publishing, &waits, None)), HEALTHY));
    }
    // An end that is not that of the spec as it stands now.
    let mut old = case(Some(shown(task, &at(Stage::Succeeded), None)), PROGRESSING);
    old.object["status"]["observedGeneration"] = json!(GENERATION - 1);
    cases.push(old);
    cases
}

fn of_all(cases: &[Case], field: &str) -> BTreeSet<String> {
    let found = cases
        .iter()
        .filter_map(|case| case.object["status"][field].as_str());
    found.map(str::to_owned).collect()
}

/// Every end of a run and everything that holds one.
fn run_cases() -> Vec<Case> {
    const AT: Writer = Writer {
        generation: Some(GENERATION),
        now: Timestamp::UNIX_EPOCH,
    };
    let new = CodeGenRunStatus::default;
    let held = |reason, until| {
        let hold = Hold {
            reason,
            message: "what it waits for".into(),
            until,
        };
        AT.held(new(), &hold)
    };
    let failed = |reason| {
        let failure = RunFailure {
            reason,
            message: "why".into(),
            exit_code: None,
            limit: None,
            last_lines: String::new(),
        };
        AT.failed(new(), &failure, None)
    };
    let mut cases = vec![(None, NEW), (Some(AT.running(new())), PROGRESSING)];
    for (reason, until, health) in [
        (reason::QUEUED, Until::Room, PROGRESSING),
        (reason::INFRASTRUCTURE, Until::Room, PROGRESSING),
        (reason::CONFIGURATION, Until::Corrected, DEGRADED),
        (reason::ISOLATION_NOT_ENFORCED, Until::Corrected, DEGRADED),
        (run_reason::READING_INPUTS, Until::Room, PROGRESSING),
        (run_reason::READING_OUTPUTS, Until::Room, PROGRESSING),
        (run_reason::AWAITING_TASK, Until::Room, PROGRESSING),
        (run_reason::AWAITING_RUN, Until::Room, PROGRESSING),
        (run_reason::TASK_NOT_FOUND, Until::Corrected, DEGRADED),
        (run_reason::TASK_NOT_SUCCEEDED, Until::Corrected, DEGRADED),
        (run_reason::INVALID_INPUTS, Until::Corrected, DEGRADED),
        (run_reason::IMAGE_GONE, Until::Corrected, DEGRADED),
        (run_reason::NO_PROGRAM, Until::Corrected, DEGRADED),
    ] {
        cases.push((Some(held(reason, until)), health));
    }
    for &reason in FailureReason::ALL {
        cases.push((Some(failed(reason)), DEGRADED));
    }
    cases.push((Some(AT.succeeded(new(), Vec::new(), 1.0)), HEALTHY));
    let adopted = AdoptedRun {
        from: "another".into(),
        outputs: Vec::new(),
        findings: Vec::new(),
    };
    cases.push((Some(AT.adopted(new(), &adopted, Vec::new())), HEALTHY));
    let cases = cases.into_iter();
    cases.map(|(status, health)| run_case(status, health)).collect()
}

fn run_case(status: Option<CodeGenRunStatus>, (argocd, flux): (&'static str, &'static str)) -> Case {
    let mut object: CodeGenRun = serde_json::from_value(json!({
        "apiVersion": "codegen-operator.dev/v1alpha1",
        "kind": "CodeGenRun",
        "metadata": {"name": "words-1", "namespace": "data", "generation": GENERATION},
        "spec": {"taskRef": {"name": "words"}},
    }))
    .unwrap();
    object.status = status;
    Case {
        object: serde_json::to_value(object).unwrap(),
        argocd,
        flux,
    }
}

/// The checks of a kind as they are shipped.
fn checks(kind: &str) -> (String, Value) {
    let read = |file: &str| {
        let text = fs::read_to_string(root().join("deploy/gitops").join(file)).unwrap();
        objects(&text).remove(0)
    };
    let name = format!("resource.customizations.health.codegen-operator.dev_{kind}");
    let script = read("argocd/health.yaml")["data"][name].clone();
    let expressions = read("flux/tasks.yaml")["spec"]["healthCheckExprs"].clone();
    let mut expressions = expressions.as_array().unwrap().iter();
    let expressions = expressions.find(|expressions| expressions["kind"] == kind);
    (script.as_str().unwrap().to_owned(), expressions.unwrap().clone())
}

#[test]
#[ignore = "needs the engines of Argo CD and Flux: make packaging"]
fn a_task_is_healthy_degraded_or_under_way_at_every_stage_and_for_every_reason() {
    let cases = cases();
    let stages = of_all(&cases, "stage");
    assert!(
        Stage::ALL.iter().all(|stage| stages.contains(stage.as_str())),
        "{stages:?}"
    );
    let reasons = of_all(&cases, "reason");
    assert!(
        reason::ALL.iter().all(|reason| reasons.contains(*reason)),
        "{reasons:?}"
    );
    each_means_what_it_must("CodeGenTask", &cases);
}

#[test]
#[ignore = "needs the engines of Argo CD and Flux: make packaging"]
fn a_run_is_healthy_degraded_or_under_way_for_every_reason() {
    let cases = run_cases();
    let reasons = of_all(&cases, "reason");
    let failures = FailureReason::ALL.iter().map(|reason| reason.as_str());
    let missing: Vec<&str> = run_reason::ALL
        .into_iter()
        .chain(failures)
        .filter(|reason| !reasons.contains(*reason))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    each_means_what_it_must("CodeGenRun", &cases);
}

fn each_means_what_it_must(kind: &str, cases: &[Case]) {
    let (script, expressions) = checks(kind);
    let given: Vec<&Value> = cases.iter().map(|case| &case.object).collect();
    let asked = json!({"lua": script, "cel": expressions, "objects": given});
    let answers: Vec<Value> = serde_json::from_str(&output("health", &[], &asked.to_string())).unwrap();
    assert_eq!(answers.len(), cases.len());
    for (case, answer) in cases.iter().zip(&answers) {
        let status = &case.object["status"];
        assert_eq!(answer["argocd"]["status"], case.argocd, "{status:#}");
        assert_eq!(answer["flux"], case.flux, "{status:#}");
        let said = answer["argocd"]["message"].as_str().unwrap();
        let is_current = status["observedGeneration"] == GENERATION;
        assert!(
            !is_current || said.contains(status["message"].as_str().unwrap()),
            "{said}"
        );
    }
}
