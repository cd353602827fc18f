//! Corrections by persons of the Secrets that something waits for.
//!
//! A watch needs the right to list, and so to read, every Secret of the cluster. The operator has no such right: whoever waits for a
//! person asks now and then for the metadata of the few Secrets that it refers to.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::GetParams;
use kube::{Api, Client};

use codegen_core::progress::Waiting;
use codegen_core::stage::Category;
use codegen_core::task::{ModelSettings, Task};

/// Longest pause of whoever waits for a person, so that a correction is noticed.
pub const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// A change shortly before a pause counts too: the try before it may have read what was there until then, and the clocks of the API
/// server and of this process may differ. A try too many does no harm.
const MARGIN: SignedDuration = SignedDuration::from_secs(10);

/// The Secrets that the steps of a task read: credentials are never frozen.
#[must_use]
pub fn secrets_of_task(task: &Task) -> BTreeSet<&str> {
    let variables = task.sandbox.secrets.iter();
    let images = task.image.push_secret.iter().chain(&task.image.pull_secret);
    let names = variables
        .map(|variable| &variable.secret_key_ref.name)
        .chain(images);
    let models = task.models().map(|(_, settings)| secrets_of_model(settings));
    let mut secrets: BTreeSet<&str> = models.flatten().collect();
    secrets.extend(names.map(String::as_str));
    secrets
}

/// The Secrets that calls of a model need.
#[must_use]
pub fn secrets_of_model(model: &ModelSettings) -> BTreeSet<&str> {
    let headers = model
        .headers
        .iter()
        .filter_map(|header| header.value_from.as_ref());
    let secrets = model.api_key_secret_ref.iter().chain(headers);
    secrets.map(|reference| reference.name.as_str()).collect()
}

/// Ends the pause of what waits for a person, where one of these Secrets has changed since it began.
pub async fn retry_if_corrected(
    client: &Client,
    namespace: &str,
    secrets: &BTreeSet<&str>,
    waiting: Option<&mut Waiting>,
) {
    let now = Timestamp::now();
    if let Some(waiting) = waiting.filter(|waiting| waits_for_a_person(waiting) && !waiting.is_over(now))
        && let Some(since) = waiting.since
        && have_changed(client, namespace, secrets, since).await
    {
        waiting.retry_at = waiting.retry_at.min(now);
    }
}

/// Says whether a person must act.
#[must_use]
pub fn waits_for_a_person(waiting: &Waiting) -> bool {
    waiting.category == Category::Configuration
}

/// Says whether one of the Secrets was made or changed since then. What cannot be read now is looked at again; the next try says what is wrong.
pub async fn have_changed(
    client: &Client,
    namespace: &str,
    secrets: &BTreeSet<&str>,
    since: Timestamp,
) -> bool {
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    // From the memory of the API server.
    let cached = GetParams {
        resource_version: Some("0".to_owned()),
    };
    let since = since.checked_sub(MARGIN).unwrap_or(since);
    for secret in secrets {
        let found = api.get_metadata_opt_with(secret, &cached).await;
        if let Ok(Some(found)) = found
            && changed_after(&found.metadata, since)
        {
            return true;
        }
    }
    false
}

fn changed_after(metadata: &ObjectMeta, moment: Timestamp) -> bool {
    // Metadata has no other time of the last change.
    let changes = metadata.managed_fields.iter().flatten();
    changes
        .filter_map(|fields| fields.time.as_ref())
        .chain(&metadata.creation_timestamp)
        .any(|time| time.0 >= moment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use codegen_core::test_support::task as resolved;

    #[test]
    fn an_object_is_new_by_its_creation_and_by_its_last_change() {
        let made = |at: &str, changed: &str| -> ObjectMeta {
            serde_json::from_value(serde_json::json!({
                "creationTimestamp": at,
                "managedFields": [{"manager": "kubectl", "operation": "Update", "time": changed}],
            }))
            .unwrap()
        };
        let moment: Timestamp = "2026-11-21T20:00:00Z".parse().unwrap();
        let is_new = |at, changed| changed_after(&made(at, changed), moment);
        assert!(is_new("2026-11-21T20:00:01Z", "2026-11-21T20:00:01Z"));
        assert!(is_new("2026-11-01T20:00:00Z", "2026-11-21T20:00:01Z"));
        assert!(!is_new("2026-11-01T20:00:00Z", "2026-11-21T19:59:59Z"));
        assert!(!changed_after(&ObjectMeta::default(), moment));
    }

    #[test]
    fn a_task_waits_for_its_credentials() {
        let mut task = resolved();
        task.image.push_secret = Some("registry".to_owned());
        task.model.api_key_secret_ref = Some(codegen_api::common::SecretKeyRef {
            name: "openai".to_owned(),
            key: "api-key".to_owned(),
        });
        assert_eq!(secrets_of_task(&task), BTreeSet::from(["openai", "registry"]));
    }
}
