//! `examples/river-level`: outputs on a claim that belongs to root, and from there to another run.

use std::time::Duration;

use codegen_api::CodeGenRun;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use kube::api::{Api, PostParams};
use serde_json::{Value, json};

use crate::faults::model::Model;
use crate::faults::own::{OPERATOR, Own, apply_manifest};
use crate::faults::seed;
use crate::runs::{content, failed, output, succeeded};
use crate::space::{Space, in_space};

const EXAMPLE: &str = "examples/river-level";
const TASK: &str = "river-level";
const REPLIES: &str = include_str!("../../examples/river-level/replies.jsonl");

/// The objects of a manifest of the example; its runs are for the space's own operator.
fn objects(space: &Space, file: &str) -> Vec<Value> {
    let path = format!("{}/{EXAMPLE}/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let mut objects: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
    for run in objects.iter_mut().filter(|object| object["kind"] == "CodeGenRun") {
        run["metadata"]["labels"] = json!({OPERATOR: space.name});
    }
    objects
}

/// A disk of the node that root alone may write to, and that the kubelet gives to a Pod's group when it mounts it: the claim's volume. It lies
/// in the volume of the claim `datasets`.
async fn disk(space: &Space) -> String {
    space.claim("datasets").await;
    let made = "import os\nos.mkdir('/claim/disk', 0o755)\nassert os.stat('/claim/disk').st_gid == 0";
    space.write("disk", made).await;
    let node = space
        .api::<Pod>()
        .get("disk")
        .await
        .unwrap()
        .spec
        .unwrap()
        .node_name;
    let volumes = Api::<PersistentVolume>::all(space.client.clone());
    let mut volume = volumes.get(&format!("{}-datasets", space.name)).await.unwrap();
    let spec = volume.spec.take().unwrap();
    let path = spec.host_path.unwrap().path;
    let name = format!("{}-disk", space.name);
    let disk: PersistentVolume = serde_json::from_value(json!({
        "metadata": {"name": name, "ownerReferences": volume.metadata.owner_references},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": "",
            "local": {"path": format!("{path}/disk")},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]},
            ]}},
        },
    }))
    .unwrap();
    volumes.create(&PostParams::default(), &disk).await.unwrap();
    name
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_table_goes_to_a_claim_of_root_and_the_next_run_takes_it_from_there() {
    Box::pin(in_space("river", async |space| {
        let model = Model::start(space, REPLIES, &[TASK], Duration::ZERO).await;
        let _own = Own::start(space, &model, seed()).await;
        apply_manifest(space, &model, EXAMPLE, TASK);
        // Before the run that it takes its readings from.
        space.apply_objects(&objects(space, "hourly.yaml"));

        let [mut claim, by_second] = objects(space, "by-second.yaml").try_into().unwrap();
        claim["spec"]["storageClassName"] = json!("");
        claim["spec"]["volumeName"] = json!(disk(space).await);
        let mut without = by_second.clone();
        without["metadata"]["name"] = json!("without-a-group");
        let place = &mut without["spec"]["outputs"]["persistentVolumeClaim"];
        place.as_object_mut().unwrap().remove("fsGroup").unwrap();
        space.apply_objects(&[claim, by_second]);
        space.succeeded(TASK).await;
        Box::pin(the_output_belongs_to_the_group(space)).await;
        Box::pin(the_next_run_has_taken_it(space)).await;

        space.apply_objects(&[without]);
        let (_, reason, message) = failed(space, "without-a-group").await;
        assert_eq!(reason, "ClaimNotWritable", "{message}");
    }))
    .await;
}

/// Sandboxes with a group for their outputs mount the claims of their inputs the first way.
#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_claim_is_given_to_a_pods_group_unless_it_is_mounted_read_only_as_a_whole() {
    in_space("regroup", async |space| {
        let volume = disk(space).await;
        space
            .write("seed", "open('/claim/disk/theirs', 'w').close()")
            .await;
        space
            .create::<PersistentVolumeClaim>(json!({
                "metadata": {"name": "database"},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "storageClassName": "",
                    "volumeName": volume,
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            }))
            .await;
        for (name, is_read_only, group) in [("whole", true, 0), ("open", false, 3000)] {
            let claim = json!({"claimName": "database", "readOnly": is_read_only});
            let script = "open('/claim/theirs').close()";
            space.mount(name, script, &claim, &json!({"fsGroup": 3000})).await;
            // Nodes set a group when the first Pod mounts a volume: this one lets go of it.
            space.kubectl(&["delete", "pod", name]);
            let look = format!(
                "import os\nfound = os.stat('/claim/disk/theirs').st_gid\nassert found == {group}, found"
            );
            space.write(&format!("look-{name}"), &look).await;
        }
    })
    .await;
}

async fn the_output_belongs_to_the_group(space: &Space) {
    let run = succeeded(space, "river-by-second").await;
    let levels = output(&run, "levels");
    let claim = levels.claim.as_ref().expect("it is too large for the cluster");
    assert!(levels.bytes > 1 << 20, "{levels:?}");
    assert_eq!(output(&run, "highest").value.as_deref(), Some("250.2"));
    let path = &claim.path;
    assert!(path.starts_with("2027/river-by-second-"), "{path}");
    let look = format!(
        "import pathlib\npath = pathlib.Path('/claim/disk/{path}')\n\
         groups = [part.stat().st_gid for part in (path, path.parent)]\nassert groups == [2000, 2000], groups\n\
         assert len(path.read_text().splitlines()) == 86402"
    );
    space.write("look", &look).await;
}

async fn the_next_run_has_taken_it(space: &Space) {
    let hourly = succeeded(space, "river-hourly").await;
    let before = space.api::<CodeGenRun>().get("river-by-second").await.unwrap();
    let inputs = &hourly.status.as_ref().unwrap().inputs;
    let readings = inputs.iter().find(|input| input.name == "readings").unwrap();
    assert_eq!(readings.sha256.as_ref(), Some(&output(&before, "levels").sha256));
    let levels = content(space, output(&hourly, "levels")).await;
    assert_eq!(levels.lines().count(), 26, "{levels}");
    assert!(levels.contains("\n2027-03-14T06:00:00Z,"), "{levels}");
}
