//! The decisions of persons that there are, and which of them is about what a task or a question asks for.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use kube::ResourceExt;
use kube::runtime::reflector::Store;

use codegen_api::approval::{AnyGate, ApprovalDecision, AwaitedApproval, Subject};
use codegen_api::{CodeGenApproval, CodeGenTask, CodeModeRun};

/// Something that waits for decisions.
pub trait AwaitsDecision: ResourceExt {
    /// Returns the subject that a decision about it names; `None` for an object that no API server has.
    fn subject(&self) -> Option<Subject<'_>>;
}

impl AwaitsDecision for CodeGenTask {
    fn subject(&self) -> Option<Subject<'_>> {
        let (name, uid) = (self.metadata.name.as_deref()?, self.metadata.uid.as_deref()?);
        Some(Subject::Task { name, uid })
    }
}

impl AwaitsDecision for CodeModeRun {
    fn subject(&self) -> Option<Subject<'_>> {
        let (name, uid) = (self.metadata.name.as_deref()?, self.metadata.uid.as_deref()?);
        Some(Subject::Question { name, uid })
    }
}

/// The decisions that there are.
#[derive(Default)]
pub struct Decisions(Mutex<Vec<Store<CodeGenApproval>>>);

impl Decisions {
    /// Adds the decisions of a watch.
    pub fn knows(&self, decisions: Store<CodeGenApproval>) {
        let mut stores = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stores.push(decisions);
    }

    /// The decision about exactly this; where there are several, a rejection counts, else the first.
    #[must_use]
    pub fn about<G: Copy + Into<AnyGate>>(
        &self,
        waiting: &impl AwaitsDecision,
        asked: &AwaitedApproval<G>,
    ) -> Option<Arc<CodeGenApproval>> {
        let (namespace, subject) = (waiting.namespace(), waiting.subject()?);
        let is_about = |decision: &CodeGenApproval| {
            let spec = &decision.spec;
            // The uid counts too: a decision about a deleted object says nothing about a new one of that name.
            decision.namespace() == namespace
                && spec.subject() == Some(subject)
                && (spec.gate, &spec.hash) == (asked.gate.into(), &asked.hash)
        };
        let stores = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all = stores.iter().flat_map(Store::state);
        all.filter(|decision| is_about(decision)).min_by_key(|decision| {
            let is_approval = decision.spec.decision == ApprovalDecision::Approve;
            (is_approval, decided_at(decision), decision.name_any())
        })
    }
}

/// Returns the time at which the decision was made.
#[must_use]
pub fn decided_at(decision: &CodeGenApproval) -> Timestamp {
    decision
        .creation_timestamp()
        .map_or(Timestamp::UNIX_EPOCH, |time| time.0)
}

#[cfg(test)]
mod tests {
    use kube::runtime::reflector;
    use kube::runtime::watcher::Event;
    use serde_json::json;

    use super::*;
    use codegen_api::CodeGenTaskSpec;
    use codegen_api::approval::{CodeModeRunRef, Gate, QuestionGate};

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
    fn a_decision_about_a_call_counts_for_the_question_that_it_names() {
        let mut question = CodeModeRun::new("penguins", codegen_api::code_mode::CodeModeRunSpec::default());
        question.metadata.namespace = Some("data".to_owned());
        question.metadata.uid = Some("uid-1".to_owned());
        let of_its_call = AwaitedApproval {
            gate: QuestionGate::ToolCall,
            hash: "a".repeat(64),
            what: Vec::new(),
        };
        let mut of_call = decision("ada", &json!({"/spec/gate": "ToolCall"}));
        of_call.spec.code_mode_run_ref = Some(CodeModeRunRef {
            name: "penguins".to_owned(),
            uid: "uid-1".to_owned(),
        });
        // About two objects, as no API server takes it.
        assert!(
            decisions(vec![of_call.clone()])
                .about(&question, &of_its_call)
                .is_none()
        );
        of_call.spec.task_ref = None;
        assert!(
            decisions(vec![of_call.clone()])
                .about(&question, &of_its_call)
                .is_some()
        );
        assert!(
            decisions(vec![decision("ada", &json!({}))])
                .about(&question, &of_its_call)
                .is_none()
        );
        assert!(decisions(vec![of_call]).about(&task(), &asked()).is_none());
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
}
