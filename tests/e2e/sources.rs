//! Samples and inputs that are not in the manifest: on claims, and at URLs.

use k8s_openapi::api::core::v1::{PersistentVolume, Pod};
use kube::api::{Api, PostParams};
use kube::runtime::wait::await_condition;
use serde_json::{Value, json};

use codegen_api::CodeGenTask;
use codegen_core::digest::sha256_hex;

use crate::runs;
use crate::space::{SOON, Space, condition, in_space};

const MANIFEST: &str = "tests/e2e/manifests/sources.yaml";
const TASK: &str = "sources";

/// What the acceptance tests of the manifest expect of the claim.
const NOTES: &str = "
import pathlib
notes = pathlib.Path('/claim/notes/deep')
notes.mkdir(parents=True)
for path in [notes.parent / 'a.txt', notes.parent / 'b.txt', notes / 'c.txt']:
    path.write_text(path.name)
";
const ORDERS: &str = "
import pathlib
orders = pathlib.Path('/claim/2026')
orders.mkdir()
rows = (f'{row},{[\"EUR\", \"USD\", \"GBP\"][row % 3]},{row % 1000}' for row in range(250_000))
(orders / 'orders.csv').write_text('order,currency,amount\\n' + '\\n'.join(rows) + '\\n')
";

fn python_image() -> String {
    std::env::var("CODEGEN_E2E_PYTHON_IMAGE")
        .unwrap_or_else(|_| "docker.io/library/python:3.11-slim".to_owned())
}

impl Space {
    pub async fn create<K>(&self, object: Value)
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>
            + Clone
            + std::fmt::Debug
            + serde::de::DeserializeOwned
            + serde::Serialize,
        K::DynamicType: Default,
    {
        let object: K = serde_json::from_value(object).unwrap();
        self.api::<K>()
            .create(&PostParams::default(), &object)
            .await
            .unwrap();
    }

    /// A claim on a folder of the node; the volume goes with the namespace.
    pub async fn claim(&self, name: &str) {
        let namespace = Api::<k8s_openapi::api::core::v1::Namespace>::all(self.client.clone())
            .get(&self.name)
            .await
            .unwrap();
        let volume = format!("{}-{name}", self.name);
        let owner = json!({"apiVersion": "v1", "kind": "Namespace", "name": self.name, "uid": namespace.metadata.uid});
        let object: PersistentVolume = serde_json::from_value(json!({
            "metadata": {"name": volume, "ownerReferences": [owner]},
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "persistentVolumeReclaimPolicy": "Retain",
                "storageClassName": "",
                "hostPath": {"path": format!("/var/lib/kubelet/codegen-e2e/{volume}"), "type": "DirectoryOrCreate"},
            },
        }))
        .unwrap();
        Api::all(self.client.clone())
            .create(&PostParams::default(), &object)
            .await
            .unwrap();
        self.create::<k8s_openapi::api::core::v1::PersistentVolumeClaim>(json!({
            "metadata": {"name": name, "labels": {"codegen-operator.dev/use": "data"}},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "",
                "volumeName": volume,
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }))
        .await;
    }

    /// Runs a Python script that has the claim `datasets` at `/claim`, to its end.
    pub async fn write(&self, pod: &str, script: &str) {
        self.mount(pod, script, &json!({"claimName": "datasets"}), &json!({}))
            .await;
    }

    /// Runs a Python script that has a claim at `/claim`, in a Pod with this security context, to its end.
    pub async fn mount(&self, pod: &str, script: &str, claim: &Value, security: &Value) {
        self.create::<Pod>(json!({
            "metadata": {"name": pod},
            "spec": {
                "restartPolicy": "Never",
                "automountServiceAccountToken": false,
                "securityContext": security,
                "containers": [{
                    "name": "write",
                    "image": python_image(),
                    "command": ["python3", "-c", script],
                    "volumeMounts": [{"name": "claim", "mountPath": "/claim"}],
                }],
                "volumes": [{"name": "claim", "persistentVolumeClaim": claim}],
            },
        }))
        .await;
        let has_ended = |pod: Option<&Pod>| {
            let phase = pod.and_then(|pod| pod.status.as_ref()?.phase.clone());
            phase.is_some_and(|phase| phase == "Succeeded" || phase == "Failed")
        };
        let pod = tokio::time::timeout(SOON, await_condition(self.api::<Pod>(), pod, has_ended));
        let pod = pod.await.expect("the claim is written").unwrap().unwrap();
        assert_eq!(pod.status.unwrap().phase.as_deref(), Some("Succeeded"));
    }

    /// The task as soon as somebody must mend something whose description holds `words`.
    async fn until_reported(&self, words: &str) -> CodeGenTask {
        let is = |task: &CodeGenTask| matches!(condition(task, "Stalled"), Some(("True", "Configuration", message)) if message.contains(words));
        let task = self.until(TASK, &format!("told: {words}"), SOON, is).await;
        let status = task.status.as_ref().unwrap();
        assert_eq!((status.model_calls, status.attempts.len()), (0, 0));
        task
    }

    /// Checks a task that has succeeded, and that nothing is left of what read its sources.
    async fn succeeded_and_read_nothing_more(&self) -> CodeGenTask {
        let task = self.succeeded(TASK).await;
        let (_, reason, message) = condition(&task, "Succeeded").unwrap();
        assert_eq!(reason, "TestsSkipped", "{message}");
        let readers = self.kubectl(&[
            "get",
            "pods,secrets",
            "--selector",
            "codegen-operator.dev/component=reader",
            "-o",
            "name",
        ]);
        assert_eq!(readers, "");
        task
    }
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_large_sample_and_a_folder_on_a_claim_reach_the_program_beside_a_config_map() {
    in_space("claims", async |space| {
        space.copy_secret("openai").await;
        space.claim("datasets").await;
        space.write("write", &format!("{NOTES}{ORDERS}")).await;
        space.apply(MANIFEST, "sources");
        let task = space.succeeded_and_read_nothing_more().await;
        let status = task.status.unwrap();
        assert_eq!(status.samples[0].name, "orders");
        assert!(status.samples[0].bytes > 3_000_000, "{:?}", status.samples);
        let accepted = status.attempts[0].acceptance_tests.unwrap();
        assert_eq!((accepted.passed, accepted.total), (3, 3));

        // Runs of the program read the claim again, or what they are given.
        runs::apply(space, "as-it-was", &json!({"taskRef": {"name": TASK}}));
        let rates = json!({"name": "rates", "source": {"inline": "currency,rate\nEUR,0\nUSD,0\nGBP,0\n"}});
        let notes = json!({"name": "notes", "source": {"configMapRef": {"name": "rates"}}});
        let spec = json!({"taskRef": {"name": TASK}, "inputs": [rates, notes]});
        runs::apply(space, "worthless", &spec);
        for (name, total, notes) in [("as-it-was", "249749667", "3"), ("worthless", "0", "0")] {
            let run = runs::succeeded(space, name).await;
            assert_eq!(
                runs::output(&run, "total").value.as_deref(),
                Some(total),
                "{name}"
            );
            assert_eq!(
                runs::output(&run, "notes_read").value.as_deref(),
                Some(notes),
                "{name}"
            );
        }
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn what_is_missing_of_a_claim_is_named_and_the_task_goes_on_when_it_is_there() {
    in_space("no-claim", async |space| {
        space.copy_secret("openai").await;
        space.apply(MANIFEST, "sources");
        space.until_reported("datasets with orders, notes").await;
        space.claim("datasets").await;
        space
            .until_reported("cannot read 2026/orders.csv on the claim datasets")
            .await;
        space.write("write-orders", ORDERS).await;
        space
            .until_reported("cannot read notes on the claim datasets")
            .await;
        space.write("write-notes", NOTES).await;
        space.succeeded_and_read_nothing_more().await;
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_claim_without_its_label_is_not_mounted_until_it_has_it() {
    in_space("claim-of-others", async |space| {
        space.copy_secret("openai").await;
        space.claim("datasets").await;
        space.write("write-orders", ORDERS).await;
        space.write("write-notes", NOTES).await;
        space.kubectl(&[
            "label",
            "persistentvolumeclaim",
            "datasets",
            "codegen-operator.dev/use-",
        ]);
        space.apply(MANIFEST, "sources");
        let command = format!(
            "kubectl -n {} label --overwrite persistentvolumeclaim datasets codegen-operator.dev/use=data",
            space.name
        );
        space.until_reported(&command).await;
        let pods = space.kubectl(&[
            "get",
            "pods",
            "--selector=codegen-operator.dev/component",
            "--output=name",
        ]);
        assert_eq!(pods, "", "nothing mounts it");
        space.kubectl(&[
            "label",
            "persistentvolumeclaim",
            "datasets",
            "codegen-operator.dev/use=data",
        ]);
        // It is what was in the way: the sample is read now.
        space.succeeded_and_read_nothing_more().await;
    })
    .await;
}

/// The task without claims: a small order, and the ConfigMap for a folder of notes.
fn without_claims(spec: &mut Value, rates: &Value) {
    spec["samples"] = json!([{"name": "orders", "inline": "order,currency,amount\n1,USD,21\n"}, rates]);
    spec["inputs"][0]["source"] = json!({"configMapRef": {"name": "rates"}});
    spec.as_object_mut().unwrap().remove("acceptanceTests");
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_sample_at_a_url_is_fetched_from_a_server_that_is_listed() {
    in_space("url", async |space| {
        space.copy_secret("openai").await;
        let served = "currency,rate\nUSD,2\n";
        let serve = format!(
            "import os, http.server; os.chdir('/tmp'); open('rates.csv', 'w').write({served:?}); \
             http.server.ThreadingHTTPServer(('', 8000), http.server.SimpleHTTPRequestHandler).serve_forever()"
        );
        let labels = json!({"app": "files"});
        space
            .create::<k8s_openapi::api::core::v1::Service>(json!({
                "metadata": {"name": "files"},
                "spec": {"selector": labels, "ports": [{"port": 8000}]},
            }))
            .await;
        let url = format!("http://files.{}.svc.cluster.local:8000", space.name);
        let sample = |file: &str, sha256: &str| json!({"name": "rates", "url": format!("{url}/{file}"), "sha256": sha256});
        let apply = |file: &str, sha256: &str| {
            space.apply_changed(MANIFEST, "sources", |spec| without_claims(spec, &sample(file, sha256)));
        };
        apply("none.csv", &sha256_hex(served.as_bytes()));
        // Nobody answers yet: that is nothing which the task must be changed for.
        let is_waiting = |task: &CodeGenTask| {
            let status = task.status.as_ref();
            status.is_some_and(|status| status.reason.as_deref() == Some("Infrastructure"))
        };
        space.until(TASK, "waiting for the server", SOON, is_waiting).await;
        space
            .create::<Pod>(json!({
                "metadata": {"name": "files", "labels": labels},
                "spec": {
                    "automountServiceAccountToken": false,
                    "terminationGracePeriodSeconds": 0,
                    "containers": [{"name": "files", "image": python_image(), "command": ["python3", "-c", serve]}],
                },
            }))
            .await;
        space.until_reported("none.csv answers 404").await;
        apply("rates.csv", &"0".repeat(64));
        space.until_reported("correct sha256").await;
        apply("rates.csv", &sha256_hex(served.as_bytes()));
        let task = space.succeeded_and_read_nothing_more().await;
        let status = task.status.unwrap();
        assert_eq!(status.samples[1].bytes, 20);
        assert_eq!(status.samples[1].sha256, sha256_hex(served.as_bytes()));
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_url_inside_of_the_cluster_that_nobody_listed_is_not_fetched() {
    in_space("refused-url", async |space| {
        let refused = [
            (
                "https://kubernetes.default.svc/version",
                "no request is sent to https://kubernetes.default.svc",
            ),
            (
                "http://replies.codegen-e2e:8080/requests",
                "`http://replies.codegen-e2e:8080` added to egress.allow",
            ),
            (
                "https://169.254.169.254/latest",
                "its address is not a public one",
            ),
            ("https://2130706433/", "no request is sent to https://127.0.0.1"),
        ];
        for (url, words) in refused {
            let sample = json!({"name": "rates", "url": url, "sha256": "0".repeat(64)});
            space.apply_changed(MANIFEST, "sources", |spec| without_claims(spec, &sample));
            space.until_reported(words).await;
        }
    })
    .await;
}
