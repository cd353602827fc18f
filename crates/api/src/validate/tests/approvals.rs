//! Every rule of decisions, with what keeps it and what breaks it. No local run reads them: only a server does.

use super::*;
use crate::crd::crds;

const HASH: &str = "5c0d1bd4a9e1b0c94b0d8f3f0a4b6ad92f4ad0fe9a3b7a0d1e5b0a6b1f0c2d3e";

/// Of each rule: fields that meet it, fields that break it and nothing else, and the message then.
pub(super) const RULES_OF_DECISIONS: &[(&str, &str, &str)] = &[
    (
        "{taskRef: {name: penguins, uid: u}, gate: Plan}",
        "{taskRef: {name: penguins, uid: u}, codeModeRunRef: {name: ask, uid: u}, gate: ToolCall}",
        "spec: a decision is about one thing: give exactly one of taskRef and codeModeRunRef",
    ),
    (
        "{codeModeRunRef: {name: ask, uid: u}, gate: ToolCall}",
        "{gate: Plan}",
        "spec: a decision is about one thing: give exactly one of taskRef and codeModeRunRef",
    ),
    (
        "{taskRef: {name: penguins, uid: u}, gate: Result}",
        "{taskRef: {name: penguins, uid: u}, gate: ToolCall}",
        "spec: a question waits at the gate ToolCall and a task at no such gate: copy status.approval.gate of what waits",
    ),
    (
        "{codeModeRunRef: {name: ask, uid: u}, gate: ToolCall}",
        "{codeModeRunRef: {name: ask, uid: u}, gate: Result}",
        "spec: a question waits at the gate ToolCall and a task at no such gate: copy status.approval.gate of what waits",
    ),
];

fn faults_of_decision(fields: &str) -> Vec<String> {
    let mut crds = crds().into_iter();
    let crd = crds.find(|crd| crd.spec.names.kind == "CodeGenApproval").unwrap();
    let schema = schema_of(crd);
    let mut spec = json!({"hash": HASH, "decision": "Approve", "decidedBy": "ada"});
    let fields: Value = serde_saphyr::from_str(fields).unwrap();
    spec.as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    let object = json!({
        "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenApproval", "metadata": {"name": "yes"}, "spec": spec,
    });
    let mut faults = fields::unknown(&schema, &object);
    faults.extend(schema::violations(&schema, &object));
    faults.extend(broken_rules(&schema, &object, &faults));
    faults.iter().map(ToString::to_string).collect()
}

#[test]
fn every_rule_of_decisions_accepts_a_valid_object_and_names_what_breaks_it() {
    for (kept, broken, fault) in RULES_OF_DECISIONS {
        assert_eq!(faults_of_decision(kept), Vec::<String>::new(), "{kept}");
        assert_eq!(faults_of_decision(broken), [*fault], "{broken}");
    }
}

#[test]
fn no_task_and_no_agent_of_tasks_has_the_gate_of_calls() {
    let of_task = task("approvals: [ToolCall]");
    let refused = faults(&of_task);
    assert!(
        refused.len() == 1 && refused[0].starts_with("spec.approvals[0]: Unsupported value"),
        "{refused:?}"
    );
    assert_eq!(faults(&task("approvals: [Plan, Result]")), Vec::<String>::new());
}
