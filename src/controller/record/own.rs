//! Ownership test: an object that stands under a name of the operator's may be another's.
//!
//! An admission policy reserves the types and labels that are required here for the operator.

use k8s_openapi::api::core::v1::Secret;
use kube::api::PostParams;
use kube::{Api, Client, ResourceExt};

use codegen_api::Namespaced;
use codegen_ledger::StoreError;
use codegen_sandbox::kubernetes::names;

/// Message about an object that is another's.
const REPLACED: &str = "it is not what the operator writes, somebody has replaced it: delete it, and see who may write such objects here";

/// The error about an object that is another's: `Secret team-a/words-7d0c1`.
pub fn replaced(object: String) -> StoreError {
    StoreError::Damaged {
        name: object,
        detail: REPLACED.to_owned(),
    }
}

/// Creates an object. One that stands there under its name counts where it is the same: an earlier try has left it, or somebody has planted it.
pub async fn create<K: Namespaced>(
    client: &Client,
    object: &K,
    is_same: impl Fn(&K, &K) -> bool,
) -> Result<(), StoreError> {
    let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
    let api: Api<K> = Api::namespaced(client.clone(), &namespace);
    let named = format!("{} {namespace}/{name}", K::kind(&()));
    let remote = |action: &str, error| StoreError::Remote {
        action: format!("{action} the {named}"),
        source: Box::new(error),
    };
    match api.create(&PostParams::default(), object).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_already_exists() => {
            let found = api.get_opt(&name).await;
            match found.map_err(|error| remote("read", error))? {
                Some(found) if is_same(object, &found) => Ok(()),
                Some(_) => Err(replaced(named)),
                None => Err(StoreError::Damaged {
                    name: named,
                    detail: "it was deleted while it was written".to_owned(),
                }),
            }
        }
        Err(error) => Err(remote("create", error)),
    }
}

/// Reports whether a Secret is of the type, carries the operator's label, and cannot have been changed.
#[must_use]
pub fn is_own(secret: &Secret, type_: &str) -> bool {
    // A mutable Secret could be changed after this check.
    secret.type_.as_deref() == Some(type_) && secret.immutable == Some(true) && is_marked(secret)
}

/// Reports whether a Secret is as it would have been written.
#[must_use]
pub fn is_as_wanted(wanted: &Secret, found: &Secret) -> bool {
    is_own(found, wanted.type_.as_deref().unwrap_or_default())
        && found.data == wanted.data
        && has_same_owner(wanted, found)
}

/// Reports whether both belong to the same task or run, and are for the same.
fn has_same_owner<K: ResourceExt>(wanted: &K, found: &K) -> bool {
    let of = |object: &K, label: &str| object.labels().get(label).cloned();
    // By labels, which the admission policies of the chart leave to the operator alone.
    [names::MANAGED_BY, names::COMPONENT, names::TASK_UID]
        .iter()
        .all(|label| of(wanted, label) == of(found, label))
}

fn is_marked(object: &impl ResourceExt) -> bool {
    let by = object.labels().get(names::MANAGED_BY);
    by.is_some_and(|by| by == names::OPERATOR) && object.labels().contains_key(names::COMPONENT)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn secret_data() -> Value {
        json!({
            "metadata": {"name": "words-0123456789", "labels": {
                "app.kubernetes.io/managed-by": "codegen-operator", "codegen-operator.dev/component": "record",
                "codegen-operator.dev/task-uid": "0c1",
            }},
            "type": "codegen-operator.dev/record", "immutable": true, "data": {"content": "YQ=="},
        })
    }

    fn secret(value: Value) -> Secret {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn what_was_written_is_taken_and_what_differs_in_anything_is_not() {
        let ours = secret(secret_data());
        assert!(is_own(&ours, "codegen-operator.dev/record") && is_as_wanted(&ours, &ours));
        for (pointer, other) in [
            ("/type", json!("Opaque")),
            ("/immutable", json!(false)),
            (
                "/metadata/labels/app.kubernetes.io~1managed-by",
                json!("somebody"),
            ),
        ] {
            let mut planted = secret_data();
            *planted.pointer_mut(pointer).unwrap() = other;
            let planted = secret(planted);
            assert!(!is_own(&planted, "codegen-operator.dev/record"), "{pointer}");
            assert!(!is_as_wanted(&ours, &planted), "{pointer}");
        }
        for (pointer, other) in [
            ("/data/content", json!("Yg==")),
            ("/metadata/labels/codegen-operator.dev~1task-uid", json!("7d2")),
            (
                "/metadata/labels/codegen-operator.dev~1component",
                json!("result"),
            ),
        ] {
            let mut planted = secret_data();
            *planted.pointer_mut(pointer).unwrap() = other;
            assert!(!is_as_wanted(&ours, &secret(planted)), "{pointer}");
        }
    }
}
