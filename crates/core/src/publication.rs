//! Publication of a program that has succeeded as the image that is asked for, which may be asked for later.

use super::approval;
use super::progress::Progress;
use super::stage::Stage;
use super::task::Task;
use codegen_api::publish::Publish;

/// Reports whether the program has succeeded and is not published as `wanted`.
#[must_use]
pub fn is_due(wanted: Option<&Publish>, progress: &Progress) -> bool {
    progress.stage == Stage::Succeeded && wanted.is_some() && !is_done(wanted, progress)
}

/// Reports whether the program is published as `wanted`.
#[must_use]
pub fn is_done(wanted: Option<&Publish>, progress: &Progress) -> bool {
    // Compared with what was asked for then: another repository or tag is another publication.
    let asked = progress.published.as_ref().map(|published| &published.asked);
    wanted.is_some() && asked == wanted
}

/// Says why a program that has succeeded must not leave the cluster: whoever must approve of results was not asked about it.
#[must_use]
pub fn unapproved(task: &Task, progress: &Progress) -> Option<String> {
    approval::lacks_result(task, progress).then(|| {
        "the gate Result was not there when the program passed, and nobody has approved of it, so that it is not published: apply the \
         task under another name, where somebody is asked"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{BlockedTask, Decision, Outcome, advance, decide};
    use crate::progress::PublishedImage;
    use crate::stage::Category;
    use crate::status::{StatusContext, status};
    use crate::test_support::{at, document, start, task};
    use codegen_api::approval::{ApprovalDecision, ApprovalStatus, Gate};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    fn succeeded() -> Progress {
        let mut progress = start();
        progress.stage = Stage::Succeeded;
        progress.attempt = 2;
        progress.completed_at = Some(at(9));
        progress.documents.solution = Some(document("documents/solution-0001.py"));
        progress
    }

    fn asking(tag: Option<&str>) -> Task {
        let tag = tag.map(str::to_owned);
        let publish = Publish {
            tag,
            ..Publish::default()
        };
        Task {
            publish: Some(publish),
            ..task()
        }
    }

    fn published(progress: &Progress, task: &Task) -> Progress {
        let image = PublishedImage {
            image: "registry.example/lab@sha256:1".into(),
            tag: "registry.example/lab:v1".into(),
            asked: task.publish.clone().unwrap_or_default(),
        };
        advance(task, progress, Outcome::Published(image), at(20)).unwrap()
    }

    fn said(task: &Task, progress: &Progress) -> Vec<String> {
        let shown = status(task, progress, StatusContext::default(), at(21));
        let conditions = shown.conditions.into_iter();
        conditions
            .filter(|condition| ["Succeeded", "Published"].contains(&condition.type_.as_str()))
            .map(|condition| format!("{}={} {}", condition.type_, condition.status, condition.reason))
            .collect()
    }

    #[test]
    fn a_program_that_has_succeeded_is_published_when_that_is_asked_for_and_stays_succeeded() {
        let before = succeeded();
        assert_eq!(decide(&task(), &before, at(10)), Decision::Finished);
        assert_eq!(said(&task(), &before), ["Succeeded=True Unverified"]);

        let task = asking(None);
        assert_eq!(decide(&task, &before, at(10)), Decision::Publish);
        assert_eq!(
            said(&task, &before),
            ["Succeeded=True Unverified", "Published=False Progressing"]
        );
        let after = published(&before, &task);
        assert_eq!(decide(&task, &after, at(21)), Decision::Finished);
        assert_eq!(
            said(&task, &after),
            ["Succeeded=True Unverified", "Published=True Pushed"]
        );
        let kept = |progress: &Progress| (progress.stage, progress.attempt, progress.completed_at);
        assert_eq!(kept(&after), kept(&before));
    }

    #[test]
    fn another_tag_is_published_again_and_the_same_one_is_not() {
        let first = published(&succeeded(), &asking(None));
        let other = asking(Some("v2"));
        assert_eq!(decide(&other, &first, at(30)), Decision::Publish);
        let second = published(&first, &other);
        assert_eq!(decide(&other, &second, at(31)), Decision::Finished);
        // Taken away, and asked for again.
        assert_eq!(said(&task(), &second), ["Succeeded=True Unverified"]);
        assert_eq!(decide(&other, &second, at(32)), Decision::Finished);
    }

    #[test]
    fn a_registry_that_does_not_answer_is_waited_for_without_taking_the_success_back() {
        let task = asking(None);
        for (category, reason) in [
            (Category::Infrastructure, "Infrastructure"),
            (Category::Configuration, "Configuration"),
        ] {
            let blocked = Outcome::Blocked(BlockedTask {
                category,
                message: "503".into(),
                retry_at: at(40),
                lost_child: None,
                was_idle: false,
            });
            let waits = advance(&task, &succeeded(), blocked, at(20)).unwrap();
            assert_eq!(decide(&task, &waits, at(21)), Decision::Wait(at(40)));
            assert_eq!(
                said(&task, &waits),
                [
                    "Succeeded=True Unverified".to_owned(),
                    format!("Published=False {reason}")
                ]
            );
            assert_eq!(decide(&task, &waits, at(40)), Decision::Publish);
            let resumed = advance(&task, &waits, Outcome::Resumed, at(22)).unwrap();
            assert_eq!(decide(&task, &resumed, at(22)), Decision::Publish);
            assert_eq!(published(&waits, &task).waiting, None);
        }
    }

    #[test]
    fn nobody_publishes_past_a_gate_that_came_later() {
        let mut task = asking(None);
        let mut progress = succeeded();
        assert_eq!(unapproved(&task, &progress), None);
        task.approvals = [Gate::Plan, Gate::Result].into();
        assert!(unapproved(&task, &progress).is_some());
        let mut passed = progress.clone();
        passed.stage = Stage::Passed;
        let asked = approval::awaited(&task, &passed).unwrap();
        progress.approvals.push(ApprovalStatus {
            gate: Gate::Result,
            decision: ApprovalDecision::Approve,
            decided_by: "ada".into(),
            verified: false,
            decided_at: Time(at(1)),
            hash: asked.hash,
            reason: None,
        });
        assert_eq!(unapproved(&task, &progress), None);
    }
}
