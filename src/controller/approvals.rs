//! Decisions of persons at gates: watched, and matched with what a task or a question asks for.

use futures::StreamExt as _;
use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::{WatchStreamExt as _, reflector, watcher};
use kube::{Api, Client, ResourceExt as _};

use crate::controller::context::Context;
use crate::controller::hold::{Blocked, unreachable};
use crate::controller::schedule::decisions::{AwaitsDecision, decided_at};
use codegen_api::CodeGenApproval;
use codegen_api::approval::{AnyGate, ApprovalStatus, AwaitedApproval, Subject};

/// By what the admission policy of the chart holds the name in a decision to that of the request.
const HELD_TO: &str = "object.spec.decidedBy == request.userInfo.username";

/// Has a task or a question reconciled as soon as somebody decides about it, until the operator ends.
pub async fn watch_decisions(context: &Context, api: Api<CodeGenApproval>) {
    let (known, writer) = reflector::store();
    context.decisions.knows(known);
    let decisions = watcher(api, watcher::Config::default())
        .default_backoff()
        .modify(|decision| decision.metadata.managed_fields = None)
        .reflect(writer)
        .applied_objects();
    let waking = decisions.for_each(|decision| {
        match decision {
            // Whether it is about what the task asks is decided in the pass.
            Ok(decision) => wake(context, &decision),
            Err(error) => {
                tracing::warn!(%error, "decisions of persons cannot be watched and are tried again");
            }
        }
        std::future::ready(())
    });
    context.stopping.run_until_cancelled(waking).await;
}

fn wake(context: &Context, decision: &CodeGenApproval) {
    let namespace = decision.namespace().unwrap_or_default();
    match decision.spec.subject() {
        Some(Subject::Task { name, .. }) => context.tasks.wake(ObjectRef::new(name).within(&namespace)),
        Some(Subject::Question { name, .. }) => {
            context
                .code_mode_runs
                .wake(ObjectRef::new(name).within(&namespace));
        }
        None => {}
    }
}

/// Returns the decision about exactly what `waiting` asks; `None` where nobody has decided.
pub async fn decided<G: Copy + Into<AnyGate>>(
    context: &Context,
    waiting: &impl AwaitsDecision,
    asked: &AwaitedApproval<G>,
) -> Result<Option<ApprovalStatus<G>>, Blocked> {
    let Some(decision) = context.decisions.about(waiting, asked) else {
        return Ok(None);
    };
    // Read for each decision: a policy that was removed since proves nothing.
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

/// Reports whether the API server holds names in decisions to those of the requests.
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
        // Without the right to read it the name counts as not verified, and nobody waits.
        Err(kube::Error::Api(status)) if status.is_forbidden() => Ok(None),
        other => other.map_err(|error| unreachable(&format!("read the {kind} {name}"), &error)),
    }
}

fn holds(policy: &ValidatingAdmissionPolicy) -> bool {
    // Only a policy that is applied to every request, and to those it cannot judge, makes a name certain.
    policy.spec.as_ref().is_some_and(|spec| {
        let mut validations = spec.validations.iter().flatten();
        spec.failure_policy.as_deref().unwrap_or("Fail") == "Fail"
            && spec.match_conditions.as_ref().is_none_or(Vec::is_empty)
            && validations.any(|validation| validation.expression.trim() == HELD_TO)
    })
}

fn denies(binding: &ValidatingAdmissionPolicyBinding, policy: &str) -> bool {
    binding.spec.as_ref().is_some_and(|spec| {
        // A binding for some objects, or one that only warns, lets other names through.
        let mut actions = spec.validation_actions.iter().flatten();
        spec.policy_name.as_deref() == Some(policy)
            && spec.match_resources.is_none()
            && actions.any(|action| action == "Deny")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
