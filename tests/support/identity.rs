//! Two runs of one task, without what tells them apart.

use serde_json::Value;

/// Fields that hold times, and hashes and names that follow from the task's own name, uid or model.
const OWN: [&str; 7] = [
    "startedAt",
    "completedAt",
    "lastTransitionTime",
    "run",
    "reuseKey",
    "snapshot",
    "result",
];
/// Artifacts in which times stand.
const TIMED: [&str; 2] = ["test-output", "agent-trace"];

/// A status without names, times, uids, and hashes of what holds one of these.
pub fn without_identity(status: &Value, task: &str) -> Value {
    match status {
        Value::String(text) => text.replace(task, "TASK").into(),
        Value::Array(items) => items.iter().map(|item| without_identity(item, task)).collect(),
        Value::Object(fields)
            if TIMED
                .iter()
                .any(|name| fields.get("name").is_some_and(|own| own == name)) =>
        {
            fields["name"].clone()
        }
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| !OWN.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), without_identity(value, task)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => status.clone(),
    }
}
