//! What persons decided at gates: watched, and matched with what a task asks for.

use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt as _;
use jiff::Timestamp;
use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::{WatchStreamExt as _, reflector, watcher};
use kube::{Api, Client, ResourceExt as _};

use super::context::Context;
use super::hold::{Blocked, unreachable};
use crate::api::approval::{ApprovalDecision, ApprovalStatus, AwaitedApproval};
use crate::api::conditions::reason;
use crate::api::{CodeGenApproval, CodeGenTask};

/// By what the admission policy of the chart holds the name in a decision to that of the request.
const HELD_TO: &str = "object.spec.decidedBy == request.userInfo.username";

/// The decisions that there are.
#[derive(Default)]
pub struct Decisions(Mutex<Vec<Store<CodeGenApproval>>>);

impl Decisions {
    /// The decision about exactly this; where there are several, a rejection counts, else the first.
    fn about(&self, task: &CodeGenTask, asked: &AwaitedApproval) -> Option<Arc<CodeGenApproval>> {
        let stores = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all = stores.iter().flat_map(Store::state);
        all.filter(|decision| is_about(decision, task, asked))
            .min_by_key(|decision| {
                let is_approval = decision.spec.decision == ApprovalDecision::Approve;
                (is_approval, decided_at(decision), decision.name_any())
            })
    }
}

fn is_about(decision: &CodeGenApproval, task: &CodeGenTask, asked: &AwaitedApproval) -> bool {
    let spec = &decision.spec;
    decision.namespace() == task.namespace()
        && Some(&spec.task_ref.uid) == task.metadata.uid.as_ref()
        && Some(&spec.task_ref.name) == task.metadata.name.as_ref()
        && (spec.gate, &spec.hash) == (asked.gate, &asked.hash)
}

fn decided_at(decision: &CodeGenApproval) -> Timestamp {
    decision
        .creation_timestamp()
        .map_or(Timestamp::UNIX_EPOCH, |time| time.0)
}

/// Has a task looked at as soon as somebody decides about it, until the operator ends.
pub async fn keep_watching(context: &Context, api: Api<CodeGenApproval>) {
    let (known, writer) = reflector::store();
    {
        let mut stores = context.decisions.0.lock().unwrap_or_else(PoisonError::into_inner);
        stores.push(known);
    }
    let decisions = watcher(api, watcher::Config::default())
        .default_backoff()
        .modify(|decision| decision.metadata.managed_fields = None)
        .reflect(writer)
        .applied_objects();
    let waking = decisions.for_each(|decision| {
        match decision {
            Ok(decision) => {
                let namespace = decision.namespace().unwrap_or_default();
                context.wake(ObjectRef::new(&decision.spec.task_ref.name).within(&namespace));
            }
            Err(error) => {
                tracing::warn!(%error, "decisions about tasks cannot be watched and are tried again");
            }
        }
        std::future::ready(())
    });
    context.stopping.run_until_cancelled(waking).await;
}

/// Whether the task says that it waits for a person, and nobody has decided.
#[must_use]
pub fn is_undecided(context: &Context, task: &CodeGenTask) -> bool {
    let Some(status) = &task.status else { return false };
    status.reason.as_deref() == Some(reason::AWAITING_APPROVAL)
        && status.observed_generation == task.metadata.generation
        && status
            .approval
            .as_ref()
            .is_some_and(|asked| context.decisions.about(task, asked).is_none())
}

/// What somebody decided about exactly this.
pub async fn decided(
    context: &Context,
    task: &CodeGenTask,
    asked: &AwaitedApproval,
) -> Result<Option<ApprovalStatus>, Blocked> {
    let Some(decision) = context.decisions.about(task, asked) else {
        return Ok(None);
    };
    let verified = match &context.approvals.admission_policy {
        Some(policy) => is_held_to(&context.client, policy).await?,
        None => false,
    };
    Ok(Some(ApprovalStatus {
        gate: asked.gate,
        decision: decision.spec.decision,
        decided_by: decision.spec.decided_by.clone(),
        verified,
        decided_at: Time(decided_at(&decision)),
        hash: asked.hash.clone(),
        reason: decision.spec.reason.clone(),
    }))
}

/// Whether the API server holds names in decisions to those of the requests.
async fn is_held_to(client: &Client, name: &str) -> Result<bool, Blocked> {
    let policies: Api<ValidatingAdmissionPolicy> = Api::all(client.clone());
    let bindings: Api<ValidatingAdmissionPolicyBinding> = Api::all(client.clone());
    let (policy, binding) = tokio::join!(policies.get_opt(name), bindings.get_opt(name));
    let policy = absent_where_forbidden("ValidatingAdmissionPolicy", name, policy)?;
    let binding = absent_where_forbidden("ValidatingAdmissionPolicyBinding", name, binding)?;
    Ok(policy.is_some_and(|policy| holds(&policy)) && binding.is_some_and(|binding| denies(&binding, name)))
}

fn absent_where_forbidden<T>(
    kind: &str,
    name: &str,
    found: Result<Option<T>, kube::Error>,
) -> Result<Option<T>, Blocked> {
    match found {
        Err(kube::Error::Api(status)) if status.is_forbidden() => Ok(None),
        other => other.map_err(|error| unreachable(&format!("read the {kind} {name}"), &error)),
    }
}

fn holds(policy: &ValidatingAdmissionPolicy) -> bool {
    policy.spec.as_ref().is_some_and(|spec| {
        let mut validations = spec.validations.iter().flatten();
        spec.failure_policy.as_deref().unwrap_or("Fail") == "Fail"
            && spec.match_conditions.as_ref().is_none_or(Vec::is_empty)
            && validations.any(|validation| validation.expression.trim() == HELD_TO)
    })
}

fn denies(binding: &ValidatingAdmissionPolicyBinding, policy: &str) -> bool {
    binding.spec.as_ref().is_some_and(|spec| {
        let mut actions = spec.validation_actions.iter().flatten();
        spec.policy_name.as_deref() == Some(policy)
            && spec.match_resources.is_none()
            && actions.any(|action| action == "Deny")
    })
}

#[cfg(test)]
mod tests {
    use kube::runtime::watcher::Event;
    use serde_json::json;

    use super::*;
    use crate::api::CodeGenTaskSpec;
    use crate::api::approval::Gate;

    fn task() -> CodeGenTask {
        let mut task = CodeGenTask::new("penguins", CodeGenTaskSpec::default());
        task.metadata.namespace = Some("data".to_owned());
        task.metadata.uid = Some("uid-1".to_owned());
        task
    }

    fn asked() -> AwaitedApproval {
        AwaitedApproval {
            gate: Gate::Plan,
            hash: "a".repeat(64),
            what: Vec::new(),
        }
    }

    fn decision(name: &str, change: &serde_json::Value) -> CodeGenApproval {
        let mut object = json!({
            "metadata": {"name": name, "namespace": "data", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {
                "taskRef": {"name": "penguins", "uid": "uid-1"},
                "gate": "Plan",
                "hash": "a".repeat(64),
                "decision": "Approve",
                "decidedBy": name,
            },
        });
        for (pointer, value) in change.as_object().unwrap() {
            *object.pointer_mut(pointer).unwrap() = value.clone();
        }
        serde_json::from_value(object).unwrap()
    }

    fn decisions(of: Vec<CodeGenApproval>) -> Decisions {
        let (store, mut writer) = reflector::store();
        for decision in of {
            writer.apply_watcher_event(&Event::Apply(decision));
        }
        Decisions(Mutex::new(vec![store]))
    }

    #[test]
    fn a_decision_counts_for_the_task_the_gate_and_the_hash_that_it_names() {
        let by = |change| decisions(vec![decision("ada", &change)]).about(&task(), &asked());
        assert!(by(json!({})).is_some());
        for change in [
            json!({"/spec/hash": "b".repeat(64)}),
            json!({"/spec/gate": "Image"}),
            json!({"/spec/taskRef/uid": "uid-of-the-task-before"}),
            json!({"/spec/taskRef/name": "other"}),
            json!({"/metadata/namespace": "other"}),
        ] {
            assert!(by(change.clone()).is_none(), "{change}");
        }
    }

    #[test]
    fn a_rejection_goes_before_every_approval_and_else_the_first_decision_counts() {
        let later = json!({"/metadata/creationTimestamp": "2026-01-02T00:00:00Z"});
        let rejected =
            json!({"/spec/decision": "Reject", "/metadata/creationTimestamp": "2026-01-03T00:00:00Z"});
        let who = |of| decisions(of).about(&task(), &asked()).unwrap().name_any();
        let (first, second) = (decision("bob", &json!({})), decision("ada", &later));
        assert_eq!(who(vec![second.clone(), first.clone()]), "bob");
        assert_eq!(who(vec![first, second, decision("eve", &rejected)]), "eve");
    }

    #[test]
    fn only_a_policy_that_always_denies_another_name_makes_one_certain() {
        let policy = |spec| serde_json::from_value(json!({"metadata": {}, "spec": spec})).unwrap();
        let validations = json!([{"expression": HELD_TO}]);
        assert!(holds(&policy(
            json!({"failurePolicy": "Fail", "validations": validations})
        )));
        assert!(!holds(&policy(
            json!({"failurePolicy": "Ignore", "validations": validations})
        )));
        assert!(!holds(&policy(json!({"validations": [{"expression": "true"}]}))));
        let some = json!([{"name": "some", "expression": "false"}]);
        assert!(!holds(&policy(
            json!({"matchConditions": some, "validations": validations})
        )));
        let binding = |spec| serde_json::from_value(json!({"metadata": {}, "spec": spec})).unwrap();
        assert!(denies(
            &binding(json!({"policyName": "p", "validationActions": ["Deny"]})),
            "p"
        ));
        assert!(!denies(
            &binding(json!({"policyName": "p", "validationActions": ["Warn"]})),
            "p"
        ));
        assert!(!denies(
            &binding(json!({"policyName": "q", "validationActions": ["Deny"]})),
            "p"
        ));
    }
}
