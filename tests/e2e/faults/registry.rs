//! The registry of a task's images fails: what the task says of it, and that it goes on by itself.

use std::time::Duration;

use base64::Engine as _;
use k8s_openapi::api::batch::v1::Job;
use kube::api::ListParams;
use serde_json::{Value, json};

use super::faulty_registry::{DOWN, FULL, Fault, FaultyRegistry, is_upload, is_write};
use super::model::Model;
use super::own::{Own, apply_changed};
use super::remains::expect_only_builds_left;
use super::server::{Head, variable};
use super::{RECORDING, expect_same_end, seed};
use crate::space::{TO_THE_END, in_space};

const TASK: &str = "t1";

/// A task whose image meets the fault says `words`, and succeeds when it is over, with nothing asked for again.
pub async fn a_task_waits(name: &str, meets: fn(&Head) -> bool, fault: Fault, words: &str) {
    in_space(name, async |space| {
        let registry = FaultyRegistry::start().await;
        let address = registry.address();
        registry.fail(move |head| meets(head).then(|| fault.clone()));
        let model = Model::start(space, RECORDING, &[TASK], Duration::ZERO).await;
        let _own = Own::start_with(space, &model, seed(), |config| {
            add(&mut config["registries"]["insecure"], json!(address));
            let target = json!({"cidr": format!("{}/32", address.ip()), "ports": [address.port()]});
            add(&mut config["build"]["network"]["allow"], target);
        })
        .await;
        space.apply_objects(&[login(&[&address.to_string()])]);
        apply_changed(space, &model, TASK, |task| {
            let (host, image) = (variable("CODEGEN_E2E_REGISTRY"), &mut task["spec"]["image"]);
            image["pullRepository"] = json!(space.repository());
            image["pullSecretRef"] = json!({"name": "registry"});
            image["repository"] = json!(space.repository().replace(&host, &address.to_string()));
            image["pushSecretRef"] = json!({"name": "faulty"});
        });
        let said = space
            .until(TASK, words, TO_THE_END, |task| message(task).contains(words))
            .await;
        let status = said.status.as_ref().unwrap();
        eprintln!(
            "{}: {}",
            status.reason.as_deref().unwrap_or_default(),
            message(&said)
        );
        assert!(
            message(&said).contains(&address.to_string()),
            "it names the registry"
        );
        assert!(status.attempts.is_empty(), "it costs no attempt");
        registry.recover();
        assert_eq!(expect_same_end(space, &model, TASK).await, 0);
        let jobs = space
            .api::<Job>()
            .list_metadata(&ListParams::default())
            .await
            .unwrap()
            .items
            .len();
        eprintln!("{jobs} Jobs");
        expect_only_builds_left(space, &[TASK], jobs).await;
    })
    .await;
}

pub fn message(task: &codegen_api::CodeGenTask) -> String {
    let status = task.status.as_ref();
    status
        .and_then(|status| status.message.clone())
        .unwrap_or_default()
}

pub fn add(list: &mut Value, item: Value) {
    match list.as_array_mut() {
        Some(items) => items.push(item),
        None => *list = json!([item]),
    }
}

/// What is shown to the registry with faults, and to further hosts: the password of the one behind it.
pub fn login(hosts: &[&str]) -> Value {
    let password = std::fs::read_to_string(variable("CODEGEN_E2E_REGISTRY_PASSWORD_FILE")).unwrap();
    let login = format!("{}:{}", variable("CODEGEN_E2E_REGISTRY_USER"), password.trim());
    let auth = base64::engine::general_purpose::STANDARD.encode(login);
    let auths: Value = hosts
        .iter()
        .map(|host| ((*host).to_owned(), json!({"auth": auth})))
        .collect();
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson",
        "metadata": {"name": "faulty", "labels": {"codegen-operator.dev/use": "registry"}},
        "stringData": {".dockerconfigjson": json!({"auths": auths}).to_string()},
    })
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_full_registry_is_reported_and_waited_for() {
    a_task_waits("faults-full", is_write, FULL, "no space left on device").await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_registry_that_is_down_is_reported_and_waited_for() {
    a_task_waits("faults-down", |_| true, DOWN, "503").await;
}

/// Half of each upload arrives.
pub async fn half_of_a_push() {
    a_task_waits(
        "faults-half",
        is_upload,
        Fault::FailHalfWay,
        "the upload of the blob",
    )
    .await;
}
