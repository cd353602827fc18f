//! Bounds on the size of a status. What people read gives way, in steps; the packed progress that the task goes by never does.

use kube::ResourceExt as _;
use serde::Serialize;

use codegen_api::CodeGenTask;
use codegen_api::status::{AttemptStatus, CodeGenTaskStatus, ConstraintStatus};
use codegen_core::bounds::{cut, first};
use codegen_ledger::StoreError;

/// Most bytes of a status as JSON, apart from its progress.
const MOST_BYTES: usize = 32 * 1024;

/// Step in which what people read gives way: the most that stays of each.
#[derive(Clone, Copy)]
struct Step {
    /// Bytes of each message.
    message: usize,
    /// Bytes of each field of a diagnosis.
    diagnosis: usize,
    /// Attempts, the last ones.
    attempts: usize,
    /// Bytes of the packages of an attempt.
    added: usize,
    /// Bytes of all packages.
    packages: usize,
    /// Bytes of all cases.
    cases: usize,
    /// Constraints.
    constraints: usize,
    /// Bytes of each text about a constraint.
    constraint: usize,
}

const STEPS: [Step; 2] = [
    Step {
        message: 1_200,
        diagnosis: 300,
        attempts: 20,
        added: 400,
        packages: 4_096,
        cases: 2_400,
        constraints: 64,
        constraint: 120,
    },
    Step {
        message: 250,
        diagnosis: 60,
        attempts: 2,
        added: 40,
        packages: 512,
        cases: 0,
        constraints: 8,
        constraint: 40,
    },
];

/// The status with as much of it as fits. Where nothing helps, the task has to become smaller.
pub fn truncated_status(
    status: CodeGenTaskStatus,
    task: &CodeGenTask,
) -> Result<CodeGenTaskStatus, StoreError> {
    let mut bytes = size(&status);
    if bytes <= MOST_BYTES {
        return Ok(status);
    }
    for step in STEPS {
        let mut short = status.clone();
        step.shorten(&mut short);
        bytes = size(&short);
        if bytes <= MOST_BYTES {
            return Ok(short);
        }
    }
    Err(StoreError::Damaged {
        name: format!(
            "the status of CodeGenTask {}/{}",
            task.namespace().unwrap_or_default(),
            task.name_any()
        ),
        detail: format!(
            "it would have {bytes} bytes, and at most {MOST_BYTES} are written; make two tasks of this one"
        ),
    })
}

/// Bytes of what a status shows.
fn size(status: &CodeGenTaskStatus) -> usize {
    let progress = status.progress.as_ref().map_or(0, bytes);
    bytes(status).saturating_sub(progress)
}

fn bytes(value: &impl Serialize) -> usize {
    // What cannot be serialized counts as too large.
    serde_json::to_vec(value).map_or(usize::MAX, |bytes| bytes.len())
}

impl Step {
    fn shorten(self, status: &mut CodeGenTaskStatus) {
        let messages = status
            .conditions
            .iter_mut()
            .map(|condition| &mut condition.message);
        for message in messages.chain(&mut status.message).chain(&mut status.last_error) {
            *message = cut(message, self.message);
        }
        let surplus = status.attempts.len().saturating_sub(self.attempts);
        status.attempts.drain(..surplus);
        for attempt in &mut status.attempts {
            self.shorten_attempt(attempt);
        }
        status.packages = first(&status.packages, self.packages);
        status.system_packages = first(&status.system_packages, self.packages);
        if let Some(asked) = &mut status.approval {
            asked.what = first(&asked.what, self.packages);
        }
        if let Some(plan) = &mut status.plan {
            plan.cases = first(&plan.cases, self.cases);
        }
        status.constraints.truncate(self.constraints);
        for constraint in &mut status.constraints {
            self.shorten_constraint(constraint);
        }
    }

    fn shorten_attempt(self, attempt: &mut AttemptStatus) {
        // That of the last one stands beside them.
        attempt.image = None;
        attempt.packages_added = first(&attempt.packages_added, self.added);
        if let Some(summary) = &mut attempt.summary {
            *summary = cut(summary, self.diagnosis);
        }
        for failure in &mut attempt.diagnosis {
            for text in [
                &mut failure.test,
                &mut failure.error,
                &mut failure.expected,
                &mut failure.actual,
                &mut failure.root_cause,
                &mut failure.suggested_fix,
            ] {
                *text = cut(text, self.diagnosis);
            }
        }
    }

    fn shorten_constraint(self, constraint: &mut ConstraintStatus) {
        constraint.text = cut(&constraint.text, self.constraint);
        constraint.check = cut(&constraint.check, self.constraint);
        constraint.bound_to = first(&constraint.bound_to, self.constraint);
        constraint.not_applied_to = first(&constraint.not_applied_to, self.constraint);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;
    use crate::controller::record::progress::{index, record, recorded};
    use codegen_api::approval::{ApprovalDecision, ApprovalStatus, AwaitedApproval, Gate};
    use codegen_api::status::{
        ArtifactRef, ErrorType, FailureDiagnosis, PlanStatus, RehearsalResult, RehearsalStatus, SampleStatus,
    };
    use codegen_core::bounds::MOST_PACKAGE_BYTES;
    use codegen_core::digest::sha256_hex;
    use codegen_core::progress::{
        Build, BuildFault, BuiltImage, Memory, Progress, Recurrence, Tried, Waiting,
    };
    use codegen_core::sandbox::Packages;
    use codegen_core::stage::Category;
    use codegen_core::status::{StatusContext, status};
    use codegen_core::test_support::{at, document, image, start, task};

    /// Text that does not pack well.
    fn noise(seed: &str, bytes: usize) -> String {
        (0..)
            .flat_map(|n| sha256_hex(format!("{seed}{n}").as_bytes()).into_bytes())
            .take(bytes)
            .map(char::from)
            .collect()
    }

    fn names(seed: &str, bytes: usize) -> Vec<String> {
        (0..bytes / 16)
            .map(|n| noise(&format!("{seed}-{n}"), 16))
            .collect()
    }

    fn packages(seed: &str) -> Packages {
        Packages {
            pip: names(seed, MOST_PACKAGE_BYTES / 2),
            apt: names(&format!("apt {seed}"), MOST_PACKAGE_BYTES / 2),
        }
    }

    fn signatures(seed: &str, count: usize) -> BTreeSet<String> {
        (0..count).map(|n| noise(&format!("{seed}{n}"), 16)).collect()
    }

    /// Everything as long as it can be, at once.
    fn largest() -> Progress {
        let long = "\u{1}\"ü".repeat(2_000);
        let mut progress = start();
        progress.plan = Some(PlanStatus {
            description: long.clone(),
            approach: noise("plan", 50_000),
            libraries: names("libraries", 9_000),
            cases: vec![noise("case", 2_000); 40],
        });
        progress.rejections = vec![noise("rejected", 5_000).into(); 3];
        progress.last_error = Some(long.clone());
        progress.exit_code = Some(-1);
        progress.rehearsal = Some(RehearsalStatus {
            result: RehearsalResult::Failed,
            message: Some(long.clone()),
        });
        progress.waiting = Some(Waiting {
            category: Category::Configuration,
            message: long.clone(),
            times: 9,
            retry_at: at(9),
            since: Some(at(8)),
            reason: None,
        });
        progress.samples = (0..16)
            .map(|n| SampleStatus {
                name: noise(&n.to_string(), 63),
                sha256: noise(&format!("sample {n}"), 64),
                bytes: i64::MAX,
            })
            .collect();
        let constraint = ConstraintStatus {
            text: long.clone(),
            bound_to: names("bound", 48 * 16),
            check: long.clone(),
            not_applied_to: Vec::new(),
        };
        progress.constraints = vec![constraint; 64];
        progress.constraints[0].not_applied_to = names("other", 48 * 16);
        progress.settled_breaks = signatures("settled", 24);
        progress.attempts = (1..=100).map(|number| attempt(number, &long)).collect();
        progress.present_diagnosis(vec![diagnosis(&long); 5]);
        progress.build = largest_build(progress.build, &long);
        remember_all(&mut progress.memory);
        progress.documents.run = Some(document("documents/run-0100.json"));
        progress.approvals = vec![approval(); 20];
        progress.bound();
        progress
    }

    fn largest_build(before: Build, long: &str) -> Build {
        let built = BuiltImage {
            image: noise("image", 400),
            packages: packages("built"),
            resolved: names("resolved", 50_000),
            ..image(&[])
        };
        let replaced = (0..30).map(|n| (format!("pip:{}", noise(&n.to_string(), 16)), String::new()));
        Build {
            wanted: packages("wanted"),
            declared: packages("declared"),
            built: Some(built),
            fault: Some(BuildFault {
                packages: packages("wanted"),
                message: long.to_owned(),
            }),
            replaced: replaced.collect(),
            ..before
        }
    }

    fn remember_all(memory: &mut Memory) {
        memory.failing = signatures("failing", 24);
        memory.seen = signatures("seen", 100);
        memory.after_reclassification = Some(Recurrence {
            failing: memory.failing.clone(),
            times: 2,
        });
        let tried = Tried {
            as_type: ErrorType::TestError,
            fixes: 9,
            failed: 99,
        };
        memory.tried = signatures("failing", 24)
            .into_iter()
            .map(|one| (one, tried.clone()))
            .collect();
    }

    fn attempt(number: i32, long: &str) -> AttemptStatus {
        AttemptStatus {
            number,
            image: Some(noise(&number.to_string(), 400)),
            packages_added: names(&format!("added {number}"), MOST_PACKAGE_BYTES),
            tests: Some(codegen_api::status::TestCounts::default()),
            suite_strength: Some(codegen_api::status::SuiteStrength::PassesWhenEmptied),
            acceptance_tests: Some(codegen_api::status::TestCounts::default()),
            cases: Some(codegen_api::status::CaseCounts::default()),
            examples: Some(codegen_api::status::CaseCounts::default()),
            summary: Some(cut(long, 300)),
            diagnosis: Vec::new(),
            started_at: Some(Time(at(1))),
            completed_at: Some(Time(at(2))),
        }
    }

    fn approval() -> ApprovalStatus {
        ApprovalStatus {
            gate: Gate::Packages,
            decision: ApprovalDecision::Approve,
            decided_by: noise("somebody", 512),
            verified: false,
            decided_at: Time(at(1)),
            hash: noise("hash", 64),
            reason: Some(noise("reason", 1_024)),
        }
    }

    fn diagnosis(long: &str) -> FailureDiagnosis {
        let long = cut(long, 300);
        FailureDiagnosis {
            test: long.clone(),
            error: long.clone(),
            expected: long.clone(),
            actual: long.clone(),
            root_cause: long.clone(),
            suggested_fix: long,
            error_type: ErrorType::TestError,
            reclassified_from: Some(ErrorType::Logic),
        }
    }

    #[test]
    fn the_largest_status_there_can_be_fits_and_the_task_goes_on_from_it_as_before() {
        let progress = largest();
        let documents: BTreeSet<String> = (1..=2_000)
            .map(|n| format!("calls/{n:04}-diagnosis.json"))
            .chain((1..=100).map(|n| format!("documents/run-{n:04}.json")))
            .collect();
        let artifact = ArtifactRef {
            name: "data-context".into(),
            sha256: noise("artifact", 64),
            bytes: i64::MAX,
        };
        let around = StatusContext {
            artifacts: vec![artifact; 8],
            generation: Some(i64::MAX),
            ..StatusContext::default()
        };
        let mut shown = status(&task(), &progress, around, at(5));
        shown.approval = Some(AwaitedApproval {
            gate: Gate::Image,
            hash: noise("asked", 64),
            what: names("what", 2_600),
        });
        let whole = record(shown, &progress, &documents);
        assert!(
            size(&whole) > MOST_BYTES,
            "{} bytes need no shortening",
            size(&whole)
        );
        let object = CodeGenTask::new("large", codegen_api::CodeGenTaskSpec::default());
        let short = truncated_status(whole, &object).unwrap();
        assert!(size(&short) <= MOST_BYTES);
        assert!(bytes(&short) <= 128 * 1024, "{} bytes in all", bytes(&short));
        assert_eq!(index(&short), documents);
        let read = recorded(&short).unwrap().unwrap();
        assert_eq!(read, progress);
    }

    #[test]
    fn what_fits_is_left_as_it_is() {
        let object = CodeGenTask::new("small", codegen_api::CodeGenTaskSpec::default());
        let shown = status(&task(), &start(), StatusContext::default(), at(5));
        assert_eq!(truncated_status(shown.clone(), &object).unwrap(), shown);
    }

    #[test]
    fn a_status_that_nothing_makes_small_enough_is_not_written() {
        let object = CodeGenTask::new("huge", codegen_api::CodeGenTaskSpec::default());
        let huge = CodeGenTaskStatus {
            run: Some(noise("run", 40_000)),
            ..CodeGenTaskStatus::default()
        };
        let error = truncated_status(huge, &object).unwrap_err().to_string();
        assert!(
            error.contains("at most 32768 are written; make two tasks"),
            "{error}"
        );
    }
}
