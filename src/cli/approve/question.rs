//! Approval of a call of a tool, with which a question in a cluster waits.

use std::sync::Arc;

use kube::Resource as _;

use super::{Awaiting, Reference, awaited};
use crate::cli::cluster::{Cluster, unreadable};
use crate::cli::command::CommandError;
use crate::controller::code_mode::owner;
use crate::controller::code_mode::store::CodeModeStore;
use codegen_api::CodeModeRun;
use codegen_api::approval::{CodeModeRunRef, Gate};
use codegen_code_mode::journal::Call;
use codegen_core::code_mode::{QuestionProgress, call_hash};
use codegen_ledger::Store as _;

/// Finds what the question `name` waits with.
pub(super) async fn awaiting(
    cluster: &Cluster,
    name: &str,
    gate: Option<Gate>,
) -> Result<Awaiting, CommandError> {
    if let Some(gate) = gate {
        let message =
            format!("a question waits before a call of a tool and at no gate {gate}: leave --gate out");
        return Err(CommandError::usage(message));
    }
    let run: CodeModeRun = cluster.get(name).await?;
    let mut awaiting = shown(&run)?;
    let progress = QuestionProgress::recorded_in(&run).ok().flatten();
    let waits = progress
        .as_ref()
        .and_then(|progress| progress.waits.approval.as_ref());
    // The status does not show all of a long call.
    if let (Some(progress), Some(document)) = (&progress, waits.and_then(|waits| waits.document.as_ref())) {
        let owner = owner(&run);
        let store = CodeModeStore::new(cluster.client.clone(), &owner, Arc::default(), run.clone());
        match store.read(&document.name).await {
            Ok(bytes) => awaiting.whole = text_of(&bytes.unwrap_or_default(), &run, progress)?,
            Err(error) => {
                let why = unreadable(&error);
                awaiting.not_shown = Some(format!("the whole call cannot be shown: {why}"));
            }
        }
    }
    Ok(awaiting)
}

fn shown(run: &CodeModeRun) -> Result<Awaiting, CommandError> {
    let reference = CodeModeRunRef {
        name: run.metadata.name.clone().unwrap_or_default(),
        uid: run.metadata.uid.clone().unwrap_or_default(),
    };
    let status = run.status.as_ref();
    let stage = status.and_then(|status| status.stage.as_deref());
    let asked = awaited(
        &reference.name,
        stage,
        status.and_then(|status| status.approval.as_ref()),
    )?;
    Ok(Awaiting::of(
        asked,
        Reference::Question(reference),
        run.owner_ref(&()),
    ))
}

/// A stored call as text, if it is the one that is to be approved.
fn text_of(bytes: &[u8], run: &CodeModeRun, progress: &QuestionProgress) -> Result<String, CommandError> {
    let asked = progress
        .waits
        .approval
        .as_ref()
        .map(|awaited| &awaited.asked.hash);
    let uid = run.metadata.uid.as_deref().unwrap_or_default();
    let call: Option<Call> = serde_json::from_slice(bytes).ok();
    let is_asked = |call: &Call| Some(&call_hash(uid, progress.attempt, call)) == asked;
    let Some(call) = call.filter(is_asked) else {
        let message = "what is stored of the call is not the call that is to be approved: look again";
        return Err(CommandError::failed(message));
    };
    // Plain data with string keys: writing it to memory cannot fail.
    Ok(serde_json::to_string_pretty(&call.arguments).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use codegen_api::approval::ApprovalDecision;

    fn run(status: &Value) -> CodeModeRun {
        serde_json::from_value(json!({
            "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeModeRun",
            "metadata": {"name": "ask", "uid": "uid-1"},
            "spec": {"agentRef": {"name": "shop"}, "message": "How much?"}, "status": status,
        }))
        .unwrap()
    }

    fn call(note: &str) -> Call {
        serde_json::from_value(json!({"number": 3, "tool": "refund", "arguments": {"note": note}})).unwrap()
    }

    fn waiting(call: &Call) -> QuestionProgress {
        serde_json::from_value(json!({
            "version": 2, "stage": "Running", "attempt": 1, "sequence": 2, "startedAt": "2026-01-01T00:00:00Z",
            "waits": {"calls": [], "approval": {
                "number": 3, "tool": "refund",
                "asked": {"gate": "ToolCall", "hash": call_hash("uid-1", 1, call)},
            }},
        }))
        .unwrap()
    }

    #[test]
    fn a_decision_about_a_call_names_the_question_and_its_hash_and_goes_with_it() {
        let hash = "a".repeat(64);
        let status = json!({"approval": {"gate": "ToolCall", "hash": hash, "what": ["tool: refund (HTTP)"]}});
        let record = shown(&run(&status))
            .unwrap()
            .record(ApprovalDecision::Reject, "ada", None);
        let spec = serde_json::to_value(&record.spec).unwrap();
        let expected = json!({
            "codeModeRunRef": {"name": "ask", "uid": "uid-1"}, "gate": "ToolCall", "hash": hash,
            "decision": "Reject", "decidedBy": "ada",
        });
        assert_eq!(spec, expected);
        assert_eq!(record.metadata.owner_references.unwrap()[0].uid, "uid-1");
        let none = shown(&run(&json!({"stage": "Writing"}))).err().unwrap();
        assert!(none.to_string().contains("waits for no approval"), "{none}");
    }

    #[test]
    fn a_stored_call_is_shown_where_it_is_the_one_that_is_to_be_approved() {
        let (run, asked) = (run(&json!({})), call("x"));
        let progress = waiting(&asked);
        let stored = |call: &Call| serde_json::to_vec(call).unwrap();
        let text = text_of(&stored(&asked), &run, &progress).unwrap();
        assert_eq!(text, "{\n  \"note\": \"x\"\n}");
        assert!(text_of(&stored(&call("y")), &run, &progress).is_err());
        assert!(text_of(b"", &run, &progress).is_err());
    }
}
