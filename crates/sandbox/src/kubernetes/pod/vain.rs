//! Pods of the operator's own that ended in vain: replaced once what they complained of may be fixed.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;

use super::super::observe::{PodState, observe};
use super::{Pods, Reported};
use crate::{Progressing, SandboxError};

/// Time for which an answer that nothing can be done with is valid. Asked later, the Pod is replaced: what it complained of may be fixed.
const HOLDS: SignedDuration = SignedDuration::from_secs(10);

impl Pods<'_> {
    /// Returns the progress of the Pod; one that ended in vain is deleted when its answer holds no longer.
    pub(super) async fn progress_or_replace<R: Reported>(
        &self,
        image: &str,
        pod: &Pod,
        is_vain: impl Fn(&R) -> bool,
    ) -> Result<Progressing<R>, SandboxError> {
        let looked = self.progress_of::<R>(image, pod).await;
        let is_vain = match &looked {
            Ok(Progressing::Done(report)) => is_vain(report),
            Ok(_) => false,
            Err(error) => error.needs_another_child(),
        };
        if is_vain && !holds(pod, R::CONTAINER, Timestamp::now()) {
            // Its end causes the next pass.
            self.delete(pod).await?;
            return Ok(Progressing::Pending);
        }
        looked
    }
}

/// Reports whether what a Pod said at its end is still to be believed.
fn holds(pod: &Pod, container: &str, now: Timestamp) -> bool {
    let ended = match observe(pod, container) {
        PodState::Ended(end) => end.finished_at,
        _ => None,
    };
    let created = pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
    let since = ended.or(created);
    since.is_some_and(|since| now.duration_since(since) < HOLDS)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_in_vain_holds_for_a_while() {
        let now: Timestamp = "2026-01-01T00:01:00Z".parse().unwrap();
        let pod = |ended: &str| -> Pod {
            let state = json!({"terminated": {"exitCode": 0, "finishedAt": ended}});
            let status = json!({"name": "sandbox", "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": state});
            serde_json::from_value(json!({"status": {"containerStatuses": [status]}})).unwrap()
        };
        assert!(holds(&pod("2026-01-01T00:00:55Z"), "sandbox", now));
        assert!(!holds(&pod("2026-01-01T00:00:45Z"), "sandbox", now));
        let mut lost = Pod::default();
        assert!(!holds(&lost, "sandbox", now));
        lost.metadata.creation_timestamp = Some(Time(now));
        assert!(holds(&lost, "sandbox", now));
    }
}
