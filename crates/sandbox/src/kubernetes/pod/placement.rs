//! Placement that a task may ask for: only what the operator's settings list. Pure.
//!
//! A priority class evicts others, a toleration leads to nodes that somebody keeps free, a label to one of them by name.

use crate::SandboxError;
use crate::kubernetes::settings::AllowedPlacement;
use codegen_api::sandbox::Toleration;
use codegen_core::task::Placement;

/// Lists everything.
const ALL: &str = "*";

/// Refuses what the task asks for and the settings do not list.
pub(super) fn refusal(allowed: &AllowedPlacement, wanted: &Placement) -> Option<SandboxError> {
    let class = wanted.priority_class_name.as_ref();
    if let Some(class) = class.filter(|class| !lists(&allowed.priority_classes, class)) {
        return Some(refused(
            format!("sandbox.priorityClassName {class}"),
            &format!("sandbox.allowed.priorityClasses: [{class}]"),
        ));
    }
    let label = |(key, value): &(&String, &String)| {
        !lists(&allowed.node_labels, key) && !lists(&allowed.node_labels, &format!("{key}={value}"))
    };
    if let Some((key, value)) = wanted.node_selector.iter().find(label) {
        return Some(refused(
            format!("sandbox.nodeSelector {key}: {value}"),
            &format!("sandbox.allowed.nodeLabels: [{key}={value}]"),
        ));
    }
    let taint = |toleration: &&Toleration| {
        // Without a key every taint is tolerated.
        let key = toleration.key.as_deref().filter(|key| !key.is_empty());
        !lists(&allowed.taints, key.unwrap_or(ALL))
    };
    wanted.tolerations.iter().find(taint).map(|toleration| {
        let key = toleration
            .key
            .as_deref()
            .filter(|key| !key.is_empty())
            .unwrap_or(ALL);
        refused(
            format!("sandbox.tolerations with the key {key}"),
            &format!("sandbox.allowed.taints: ['{key}']"),
        )
    })
}

fn lists(list: &[String], wanted: &str) -> bool {
    list.iter().any(|entry| entry == ALL || entry == wanted)
}

fn refused(object: String, setting: &str) -> SandboxError {
    SandboxError::Refused {
        object,
        reason: "the operator's settings do not let tasks ask for it".to_owned(),
        remedy: format!(
            "leave it out, or have the administrator list it (`{setting}` in the operator's configuration)"
        ),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn said(allowed: &Value, wanted: &Value) -> Option<String> {
        let mut placement = json!({"runtimeClassName": null, "nodeSelector": {}, "tolerations": [], "priorityClassName": null});
        placement
            .as_object_mut()
            .unwrap()
            .extend(wanted.as_object().unwrap().clone());
        let (allowed, wanted) = (
            serde_json::from_value(allowed.clone()).unwrap(),
            serde_json::from_value(placement).unwrap(),
        );
        refusal(&allowed, &wanted).map(|error| error.to_string())
    }

    #[rstest]
    #[case::priority(json!({"priorityClassName": "system-node-critical"}), "priorityClasses: [system-node-critical]")]
    #[case::label(json!({"nodeSelector": {"kubernetes.io/hostname": "master"}}), "nodeLabels: [kubernetes.io/hostname=master]")]
    #[case::taint(json!({"tolerations": [{"key": "gpu", "operator": "Exists"}]}), "taints: ['gpu']")]
    #[case::every_taint(json!({"tolerations": [{"operator": "Exists"}]}), "taints: ['*']")]
    fn what_nobody_listed_is_refused_with_the_setting_that_would_list_it(
        #[case] wanted: Value,
        #[case] setting: &str,
    ) {
        let others = json!({"priorityClasses": ["low"], "nodeLabels": ["pool=batch"], "taints": ["batch"]});
        for allowed in [json!({}), others] {
            let words = said(&allowed, &wanted).unwrap();
            assert!(words.contains(setting), "{words}");
        }
        let all = json!({"priorityClasses": ["*"], "nodeLabels": ["*"], "taints": ["*"]});
        assert_eq!(said(&all, &wanted), None);
    }

    #[test]
    fn what_is_listed_and_what_asks_for_nothing_is_let_through() {
        assert_eq!(said(&json!({}), &json!({})), None);
        let allowed =
            json!({"priorityClasses": ["low"], "nodeLabels": ["pool=batch", "disk"], "taints": ["batch"]});
        let wanted = json!({
            "priorityClassName": "low", "nodeSelector": {"pool": "batch", "disk": "fast"}, "tolerations": [{"key": "batch"}],
        });
        assert_eq!(said(&allowed, &wanted), None);
    }
}
