//! Results that a task takes over from a succeeded one that asked the same.

use jiff::Timestamp;

use super::digest::sha256_hex_of_parts;
use super::package_policy::{denial, unlisted};
use super::progress::{Build, Document, Documents, Progress};
use super::stage::Stage;
use super::task::Task;
use codegen_api::common::CacheMode;

/// Reports whether the task may take over the result of another one. Where a person has to approve, that is for this task to ask.
#[must_use]
pub fn may_adopt(task: &Task) -> bool {
    // Approving is about what this task shows, so nothing is taken over where somebody has to approve.
    task.cache == CacheMode::Auto && task.approvals.is_empty()
}

/// The key under which others may take over what the task comes to. What hints have led to is not what the spec asks for alone.
#[must_use]
pub fn key_of(task: &Task, progress: &Progress) -> Option<String> {
    let key = task.reuse_key()?;
    let earlier = Some(progress.earlier_retries.hints.as_str()).filter(|hints| !hints.is_empty());
    let last = progress.retries.iter().filter_map(|retry| retry.hint.as_deref());
    let hints: Vec<&str> = earlier.into_iter().chain(last).collect();
    if hints.is_empty() {
        return Some(key);
    }
    Some(sha256_hex_of_parts(
        &[&[key.as_str(), "hints"], hints.as_slice()].concat(),
    ))
}

/// Reports whether the program that a former revision of the task ended with is first held against its present proofs: nothing else has
/// changed, and the image has what that program needs.
#[must_use]
pub fn may_hold(task: &Task, former: &Task, origin: &Progress) -> bool {
    let ended_in = match origin.stage {
        Stage::Failed => origin.ended_in,
        stage => Some(stage),
    };
    let was_tested = matches!(
        ended_in,
        Some(
            Stage::RunningTests
                | Stage::Diagnosing
                | Stage::RecheckingCases
                | Stage::RecheckingConstraints
                | Stage::ExtendingCases
                | Stage::FixingCode
                | Stage::FixingTests
                | Stage::Succeeded
        )
    );
    let has_ended = origin.stage.is_terminal() && was_tested && origin.build.built.is_some();
    has_ended
        && may_adopt(task)
        && task
            .program_key()
            .is_some_and(|key| former.program_key() == Some(key))
        && is_allowed(task, origin)
}

/// Reports whether the rules of packages allow what is installed for `origin`: they may be others than when it was made.
#[must_use]
pub fn is_allowed(task: &Task, origin: &Progress) -> bool {
    let built = origin.build.built.as_ref();
    let installed = built.map_or(&[][..], |built| &built.resolved);
    // Its age was not checked for a task that had no such rule.
    let days = built.map_or(u32::MAX, |built| built.min_release_age_days);
    let is_listed = || built.is_none_or(|built| unlisted(task, &built.image, &built.resolved).is_none());
    denial(task, origin).is_none()
        && (!task.packages.judges_installed() || is_listed())
        && task.packages.denial_of_installed(installed).is_none()
        && task.packages.min_release_age_days() <= days
}

/// Lists the documents of an adopted result: all of them must be there as they were.
#[must_use]
pub fn needed(origin: &Progress) -> Vec<&Document> {
    let documents = &origin.documents;
    let all = [
        &documents.context,
        &documents.profiles,
        &documents.checks,
        &documents.cases,
        &documents.solution,
        &documents.tests,
        &documents.run,
    ];
    let lock = origin.build.lock.as_ref().map(|lock| &lock.document);
    all.into_iter().flatten().chain(lock).collect()
}

/// Reports whether a task that adopts a program takes this document over: no further tries of the origin, and where it tests the program
/// again no test results.
#[must_use]
pub fn is_carried_over(task: &Task, document: &str) -> bool {
    let is_of = |kinds: &[&str]| kinds.iter().any(|kind| document.starts_with(kind));
    let is_result = is_of(&["documents/run-", "documents/diagnosis-"]);
    !(is_of(&["documents/retry-"]) || task.reruns_tests && is_result)
}

/// The progress of a task that takes over the result of `origin`, the task `from`: at its end, or before its tests.
#[must_use]
pub fn adopted(task: &Task, origin: &Progress, from: &str, run: &str, now: Timestamp) -> Progress {
    let start = Progress::start(run.to_owned(), now);
    let taken = Progress {
        adopted_from: Some(from.to_owned()),
        sequence: origin.sequence,
        build: Build {
            // A fault of the origin's last build would hold this task, and a lost image is none of its own.
            fault: None,
            lost: None,
            ..origin.build.clone()
        },
        documents: origin.documents.clone(),
        plan: origin.plan.clone(),
        cases: origin.cases.clone(),
        acceptance_is_apart: origin.acceptance_is_apart,
        // The author of the program knows them.
        seen_cases: origin.seen_cases.clone(),
        samples: origin.samples.clone(),
        constraints: origin.constraints.clone(),
        ..start
    };
    if task.reruns_tests {
        let mut taken = Progress {
            stage: Stage::RunningTests,
            attempt: 1,
            // What the tests of the origin showed is no evidence of this task.
            documents: Documents {
                run: None,
                diagnosis: None,
                ..taken.documents
            },
            ..taken
        };
        taken
            .memory
            .solution_tree
            .clone_from(&origin.memory.solution_tree);
        taken.memory.tests_tree.clone_from(&origin.memory.tests_tree);
        return taken;
    }
    let mut taken = Progress {
        attempt: origin.attempt,
        attempts: origin.attempts.clone(),
        rehearsal: origin.rehearsal.clone(),
        exit_code: origin.exit_code,
        ..taken
    };
    // What the origin has published is its own.
    taken.accept(task, now);
    if taken.stage.is_terminal() {
        taken.active_since = None;
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::CallKind;
    use crate::machine::{Decision, Outcome, Tested, advance, decide};
    use crate::progress::PublishedImage;
    use crate::test_support::{at, document, failed, image, start, task, verdict};
    use crate::verdict::CheckSource;
    use codegen_api::approval::Gate;
    use codegen_api::common::Backend;
    use codegen_api::publish::Publish;

    fn origin() -> Progress {
        let mut origin = start();
        origin.stage = Stage::Succeeded;
        origin.sequence = 6;
        origin.attempt = 2;
        origin.spent.model_calls = 5;
        origin.spent.builds = 1;
        origin.build.built = Some(image(&["pandas"]));
        origin.documents.solution = Some(document("documents/solution-0005.py"));
        origin.documents.run = Some(document("documents/run-0002.json"));
        origin
    }

    #[test]
    fn an_adopted_program_costs_nothing_and_is_tested_again() {
        let origin = Progress {
            seen_cases: [1].into(),
            ..origin()
        };
        let taken = adopted(&task(), &origin, "first", "run", at(7));
        assert_eq!(taken.seen_cases, origin.seen_cases);
        assert_eq!(decide(&task(), &taken, at(8)), Decision::Test);
        assert_eq!((taken.spent.model_calls, taken.spent.builds), (0, 0));
        assert_eq!((taken.attempt, taken.documents.run.clone()), (1, None));
        let ran = Outcome::Tested(Tested {
            record: document("documents/run-0001.json"),
            verdict: Box::new(verdict(Vec::new())),
            started_at: at(8),
        });
        let end = advance(&task(), &taken, ran, at(9)).unwrap();
        assert_eq!(
            (end.stage, end.adopted_from.as_deref()),
            (Stage::Succeeded, Some("first"))
        );
    }

    #[test]
    fn an_adopted_program_that_fails_is_left_and_an_agent_begins_with_its_own() {
        let task = Task {
            backend: Backend::Agent,
            ..task()
        };
        let taken = adopted(&task, &origin(), "first", "run", at(7));
        let ran = Outcome::Tested(Tested {
            record: document("documents/run-0001.json"),
            verdict: Box::new(verdict(vec![failed(CheckSource::Test, "t::a", "1")])),
            started_at: at(8),
        });
        let next = advance(&task, &taken, ran, at(9)).unwrap();
        assert_eq!((next.stage, next.adopted_from.as_deref()), (Stage::Working, None));
        assert_eq!(decide(&task, &next, at(9)), Decision::Call(CallKind::Turn));
        assert_eq!(next.documents.solution, None);
    }

    #[test]
    fn without_testing_again_it_ends_with_the_results_of_the_origin() {
        let task = Task {
            reruns_tests: false,
            ..task()
        };
        let taken = adopted(&task, &origin(), "first", "run", at(7));
        assert_eq!((taken.stage, taken.completed_at), (Stage::Succeeded, Some(at(7))));
        assert_eq!(taken.documents.run, origin().documents.run);
        assert_eq!(taken.spent, crate::progress::Spent::default());
    }

    #[test]
    fn what_the_origin_has_published_is_its_own() {
        let mut origin = origin();
        origin.published = Some(PublishedImage::default());
        let task = Task {
            reruns_tests: false,
            publish: Some(Publish::default()),
            ..task()
        };
        let taken = adopted(&task, &origin, "first", "run", at(7));
        assert_eq!((taken.stage, taken.completed_at), (Stage::Publishing, None));
        assert_eq!(taken.published, None);
    }

    #[test]
    fn what_a_rule_forbids_by_now_is_not_taken_over() {
        let mut task = task();
        let mut origin = origin();
        origin.build.built.as_mut().unwrap().resolved = vec!["pandas==2.3.1".to_owned()];
        assert!(is_allowed(&task, &origin));
        task.packages.cluster.deny = vec!["pandas".to_owned()];
        assert!(!is_allowed(&task, &origin));
    }

    #[test]
    fn what_was_made_without_a_rule_on_ages_is_not_taken_over_under_one() {
        let (mut task, mut origin) = (task(), origin());
        let built = origin.build.built.as_mut().unwrap();
        built.min_release_age_days = 7;
        built.resolved = vec!["pandas==2.3.1".to_owned()];
        for (days, expected) in [(0, true), (7, true), (8, false)] {
            task.packages.own.min_release_age_days = days;
            assert_eq!(is_allowed(&task, &origin), expected, "{days}");
        }
    }

    #[test]
    fn of_what_nobody_knows_nothing_is_taken_over_where_a_rule_is_about_it() {
        let (mut task, origin) = (task(), origin());
        assert!(is_allowed(&task, &origin));
        task.packages.cluster.deny = vec!["torch*".to_owned()];
        assert!(!is_allowed(&task, &origin));
        task.image.reference = Some("registry.example/own:v1".to_owned());
        assert!(is_allowed(&task, &origin), "an image that the task brings");
    }

    #[test]
    fn a_program_is_held_against_other_proofs_where_nothing_else_has_changed() {
        let former = task();
        let mut failed = Progress {
            stage: Stage::Failed,
            ended_in: Some(Stage::Diagnosing),
            ..origin()
        };
        let mut corrected = task();
        corrected.examples.push(codegen_api::case::Case::default());
        assert!(may_hold(&corrected, &former, &origin()));
        assert!(may_hold(&corrected, &former, &failed));
        let other = Task {
            prompt: "another".to_owned(),
            ..corrected.clone()
        };
        assert!(!may_hold(&other, &former, &origin()));
        failed.ended_in = Some(Stage::AwaitingImage);
        assert!(!may_hold(&corrected, &former, &failed));
        failed.stage = Stage::Diagnosing;
        assert!(!may_hold(&corrected, &former, &failed), "it is under way");
    }

    #[test]
    fn only_under_auto_and_without_gates_a_result_is_taken_over() {
        assert!(may_adopt(&task()));
        for cache in [CacheMode::Override, CacheMode::Disable] {
            assert!(!may_adopt(&Task { cache, ..task() }));
        }
        let approvals = [Gate::Plan].into();
        assert!(!may_adopt(&Task { approvals, ..task() }));
    }

    #[test]
    fn the_key_changes_with_what_decides_and_with_what_tests_may_reach() {
        let key = task().reuse_key();
        let mut raised = task();
        raised.limits.max_iterations = 99;
        raised.name = "other".into();
        assert_eq!(raised.reuse_key(), key);
        let mut other = task();
        other.image.reference = Some("python:3".into());
        assert_ne!(other.reuse_key(), key);
        let at = |base_url: &str| {
            let mut task = task();
            task.model.base_url = base_url.to_owned();
            task.reuse_key()
        };
        assert_ne!(
            at("http://vllm.a:8000/v1"),
            at("http://vllm.b:8000/v1"),
            "one name, two models"
        );
        assert_eq!(
            at("https://user:old@models.example/v1"),
            at("https://user:new@models.example/v1")
        );
        let mut open = task();
        open.sandbox.network = crate::sandbox::NetworkAccess::Internet;
        assert_ne!(open.reuse_key(), key);
        assert_eq!(
            Task {
                cache: CacheMode::Disable,
                ..task()
            }
            .reuse_key(),
            None
        );
    }
}
