//! Outputs on a claim, pushed to a registry from there.

use codegen_api::CodeGenRun;
use k8s_openapi::api::core::v1::{Pod, Secret};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::ResourceExt as _;
use kube::api::{Api, ListParams};
use serde_json::{Value, json};

use super::own::Own;
use super::runs::{apply, on_claim, with_tables};
use super::seed;
use crate::registry::json_of;
use crate::runs::{condition, output, succeeded, until};
use crate::space::{SOON, Space};

/// What a Pod that pushes outputs carries.
const PUSHES: &str = "codegen-operator.dev/component=push";

fn run(space: &Space, secret: &str) -> Value {
    json!({
        "inputs": [{"name": "rows", "value": "120000"}, {"name": "way", "value": "well"}],
        "outputs": {
            "persistentVolumeClaim": {"claimName": "datasets", "path": "2027"},
            "artifact": {"repository": format!("{}/tables", space.repository()), "pushSecretRef": {"name": secret}},
        },
    })
}

async fn said(space: &Space, name: &str, reason: &str) -> CodeGenRun {
    // That outputs differ is believed when a second Pod says so, a minute after the first.
    until(space, name, reason, 4 * SOON, |run| {
        condition(run, "OutputsPushed").is_some_and(|(_, found, _)| found == reason)
    })
    .await
}

fn message(run: &CodeGenRun) -> &str {
    condition(run, "OutputsPushed").unwrap().2
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn outputs_on_a_claim_are_pushed_from_there_and_those_that_somebody_changed_are_not() {
    Box::pin(with_tables(
        "claim-pushed",
        |_| {},
        async |space, mut own, model| {
            space.claim("datasets").await;
            space.write("open", "import os\nos.chmod('/claim', 0o777)").await;
            for name in ["pushed", "changed"] {
                apply(space, name, &run(space, "later"));
                succeeded(space, name).await;
                let refused = said(space, name, "PushRefused").await;
                assert!(message(&refused).contains("later"), "{}", message(&refused));
            }
            assert_eq!(pushes(space).await, 0, "no Pod waits for a Secret");
            space
                .write(
                    "change",
                    "import pathlib\nfor table in pathlib.Path('/claim/2027').glob('changed-*/table'):\n    table.write_text('number\\n')",
                )
                .await;

            space.copy_secret_as("registry", "later").await;
            let changed = said(space, "changed", "OutputsChanged").await;
            for part in ["the output table", "on the claim datasets", "make another run"] {
                assert!(message(&changed).contains(part), "{}", message(&changed));
            }
            assert_eq!(changed.status.as_ref().unwrap().artifact, None);
            let pushed = said(space, "pushed", "Pushed").await;
            the_registry_has_what_the_status_says(space, &pushed).await;
            nothing_is_left_of_the_push(space).await;

            // Killed on its way, the operator that comes after it finds the same Pod.
            apply(space, "killed", &run(space, "later"));
            succeeded(space, "killed").await;
            own.kill();
            let _next = Own::start(space, model, seed()).await;
            let killed = said(space, "killed", "Pushed").await;
            the_registry_has_what_the_status_says(space, &killed).await;
            nothing_is_left_of_the_push(space).await;
        },
    ))
    .await;
}

async fn pushes(space: &Space) -> usize {
    let which = ListParams::default().labels(PUSHES);
    space.api::<Pod>().list(&which).await.unwrap().items.len()
}

async fn the_registry_has_what_the_status_says(space: &Space, run: &CodeGenRun) {
    let artifact = run.status.as_ref().unwrap().artifact.clone().unwrap();
    let (repository, digest) = artifact.split_once('@').unwrap();
    let manifest = json_of(&format!("{repository}/manifests/{digest}")).await;
    assert_eq!(
        manifest["annotations"]["dev.codegen-operator.run"],
        format!("{}/{}", space.name, run.name_any())
    );
    let layers = manifest["layers"].as_array().unwrap();
    let of = |name: &str| {
        let mut layers = layers.iter();
        let layer = layers.find(|layer| layer["annotations"]["dev.codegen-operator.output"] == name);
        layer.unwrap_or_else(|| panic!("{name}: {manifest:#}"))
    };
    assert!(
        on_claim(run, "table")["path"]
            .as_str()
            .unwrap()
            .starts_with("2027/")
    );
    // What has a copy in the cluster is in the artifact too.
    for name in ["table", "rows_before"] {
        let output = output(run, name);
        assert_eq!(of(name)["digest"], format!("sha256:{}", output.sha256), "{name}");
        assert_eq!(of(name)["size"], output.bytes, "{name}");
    }
    let pages = layers
        .iter()
        .filter(|layer| layer["annotations"]["dev.codegen-operator.output"] == "pages");
    assert_eq!(pages.count(), 2, "{manifest:#}");
}

/// Its policy stays: the next push is under it from its first moment.
async fn nothing_is_left_of_the_push(space: &Space) {
    // The record of the push comes before clearing up.
    let gone = async {
        loop {
            let which = ListParams::default().labels(PUSHES);
            let secrets = space.api::<Secret>().list(&which).await.unwrap().items;
            if secrets.is_empty() && pushes(space).await == 0 {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        }
    };
    tokio::time::timeout(SOON, gone)
        .await
        .expect("what pushed is there still");
    let policies: Api<NetworkPolicy> = space.api();
    assert!(policies.get_opt("codegen-push").await.unwrap().is_some());
}
