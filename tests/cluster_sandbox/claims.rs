//! Claims: what the reader says of them, and that sandboxes see the same. Wants `CODEGEN_OPERATOR_IMAGE` as well.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use codegen_core::digest::sha256_hex;
use codegen_core::sandbox::{InputMount, OutputContent};
use codegen_sandbox::kubernetes::{
    ClaimSource, MountedFile, MountedInput, ReadReport, ReadRequest, SampleSource, SourceReader,
};
use codegen_sandbox::{Progressing, SandboxError};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{Namespace, PersistentVolume, PersistentVolumeClaim, Pod, Secret};
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::runtime::watcher;
use kube::{Api, ResourceExt as _};
use serde_json::json;

use crate::support::{PATIENCE, World, create, job, program};

const ORDERS: &str = "order_id,amount\n1,2\n2,5\n";

impl World {
    /// A claim on a folder of the node with a file and a folder; the volume goes with the namespace.
    async fn claim(&self) {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let namespace = namespaces.get(&self.namespace).await.unwrap();
        let owner =
            json!({"apiVersion": "v1", "kind": "Namespace", "name": self.namespace, "uid": namespace.uid()});
        let folder = format!("/var/lib/kubelet/codegen-e2e/{}", self.namespace);
        let volume: PersistentVolume = serde_json::from_value(json!({
            "metadata": {"name": self.namespace, "ownerReferences": [owner]},
            "spec": {
                "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "",
                "hostPath": {"path": folder, "type": "DirectoryOrCreate"},
            },
        }))
        .unwrap();
        create(&Api::all(self.client.clone()), &volume).await;
        let claim: PersistentVolumeClaim = serde_json::from_value(json!({
            "metadata": {"name": "datasets", "labels": {"codegen-operator.dev/use": "data"}},
            "spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": "", "volumeName": self.namespace,
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }))
        .unwrap();
        create(&Api::namespaced(self.client.clone(), &self.namespace), &claim).await;
        // Root writes, which the level of sandboxes forbids.
        self.enforce("baseline").await;
        let script = format!(
            "import pathlib\nclaim = pathlib.Path('/claim')\n(claim / '2026').mkdir()\n(claim / '2026/orders.csv').write_text({ORDERS:?})\n\
             (claim / 'notes/deep').mkdir(parents=True)\n(claim / 'notes/deep/a.txt').write_text('a')\n(claim / 'notes/b.txt').write_text('b')\n\
             (claim / 'latest').symlink_to('2026')\n(claim / 'outside').symlink_to('/etc/passwd')"
        );
        let writer: Pod = serde_json::from_value(json!({
            "metadata": {"name": "write"},
            "spec": {
                "restartPolicy": "Never",
                "automountServiceAccountToken": false,
                "imagePullSecrets": self.settings.sandbox.image_pull_secrets,
                "containers": [{
                    "name": "write", "image": self.image(), "command": ["python3", "-c", script],
                    "securityContext": {"runAsUser": 0},
                    "volumeMounts": [{"name": "claim", "mountPath": "/claim"}],
                }],
                "volumes": [{"name": "claim", "persistentVolumeClaim": {"claimName": "datasets"}}],
            },
        }))
        .unwrap();
        tokio::time::timeout(PATIENCE, self.create_when_allowed(&writer))
            .await
            .expect("in time");
        let written = await_condition(self.pods(), "write", |pod: Option<&Pod>| {
            let phase = pod.and_then(|pod| pod.status.as_ref()?.phase.as_deref());
            phase == Some("Succeeded")
        });
        tokio::time::timeout(PATIENCE, written)
            .await
            .expect("in time")
            .unwrap();
        self.enforce("restricted").await;
    }

    /// The API server takes a moment to know a level that was set.
    async fn create_when_allowed(&self, pod: &Pod) {
        loop {
            match self.pods().create(&PostParams::default(), pod).await {
                Err(kube::Error::Api(status)) if status.is_forbidden() => {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
                created => return drop(created.unwrap()),
            }
        }
    }

    async fn enforce(&self, level: &str) {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let labels = json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": level}}});
        let patch = Patch::Merge(labels);
        namespaces
            .patch(&self.namespace, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    /// Looks again after every event of a Pod, as the controller does.
    async fn read(&self, request: &ReadRequest) -> Result<ReadReport, SandboxError> {
        let events = watcher(self.pods(), watcher::Config::default());
        let mut events = std::pin::pin!(events);
        let sandbox = self.sandbox();
        let reader = SourceReader::new(&sandbox, request)?;
        let looks = async {
            loop {
                let looked = match reader.progress().await? {
                    Some(looked) => looked,
                    None => reader.start().await?,
                };
                match looked {
                    Progressing::Unseen => {}
                    Progressing::Pending => drop(events.next().await),
                    Progressing::Done(report) => return Ok(report),
                    Progressing::Queued(why) => panic!("{why}"),
                }
            }
        };
        tokio::time::timeout(PATIENCE, looks).await.expect("in time")
    }
}

async fn world(test: &str) -> World {
    let mut world = World::new(test).await;
    let image =
        std::env::var("CODEGEN_OPERATOR_IMAGE").expect("CODEGEN_OPERATOR_IMAGE names the operator's image");
    world.settings.operator_image = Some(image);
    world
}

fn source(name: &str, path: &str, is_dir: bool) -> ClaimSource {
    ClaimSource {
        name: name.to_owned(),
        claim: "datasets".to_owned(),
        path: path.to_owned(),
        is_dir,
        ..ClaimSource::default()
    }
}

fn sample(name: &str) -> SampleSource {
    SampleSource {
        name: name.to_owned(),
        file_name: format!("{name}.csv"),
        sha256: None,
    }
}

/// Inputs of a Secret and of a claim, each as a file and as a folder.
async fn give_secrets_and_claims(world: &mut World) {
    let secret: Secret = serde_json::from_value(json!({
        "metadata": {"name": "rates"}, "stringData": {"file.1": "currency,rate\nEUR,1\n", "file.2": "inner"},
    }))
    .unwrap();
    create(&Api::namespaced(world.client.clone(), &world.namespace), &secret).await;
    let file = |path: &str, key: &str| MountedFile {
        path: path.to_owned(),
        secret: "rates".to_owned(),
        key: key.to_owned(),
    };
    let on_claim = |path: &str| MountedInput::Claim {
        claim: "datasets".to_owned(),
        path: path.to_owned(),
    };
    world.inputs.insert(
        "rates".to_owned(),
        MountedInput::Secrets(vec![file("", "file.1")]),
    );
    world.inputs.insert(
        "folder".to_owned(),
        MountedInput::Secrets(vec![file("in/ner.txt", "file.2")]),
    );
    world
        .inputs
        .insert("orders".to_owned(), on_claim("latest/orders.csv"));
    world.inputs.insert("notes".to_owned(), on_claim("notes"));
}

#[tokio::test]
#[ignore = "wants a cluster"]
async fn what_the_reader_hashes_and_describes_is_what_a_sandbox_sees() {
    let mut world = world("claims").await;
    Box::pin(world.claim()).await;
    give_secrets_and_claims(&mut world).await;
    let mut request = ReadRequest::of(vec![
        source("orders", "latest/orders.csv", false),
        source("notes", "notes", true),
    ]);
    request.samples = vec![sample("orders"), sample("rates")];
    request.max_sample_rows = 10;
    let ReadReport::Read { sources, profiles } = Box::pin(world.read(&request)).await.unwrap() else {
        panic!("it is not read")
    };
    assert_eq!(sources[0].sha256, sha256_hex(ORDERS.as_bytes()));
    assert_eq!(sources[1].bytes, 2);
    let profiles = profiles.unwrap();
    let columns: Vec<&str> = profiles
        .samples
        .iter()
        .flat_map(|sample| sample.tables().flat_map(|table| &table.columns))
        .map(|column| column.name.as_str())
        .collect();
    assert_eq!(columns, ["order_id", "amount", "currency", "rate"]);

    let input = |name: &str, file_name: &str| InputMount {
        name: name.to_owned(),
        file_name: file_name.to_owned(),
        source: String::new(),
        content: Vec::new(),
    };
    let look = "import pathlib\ninputs = pathlib.Path('/var/inputs')\nfound = sorted(str(p.relative_to(inputs)) for p in inputs.rglob('*') if p.is_file())\n\
                found += [(inputs / 'orders.csv').read_text(), (inputs / 'rates').read_text()]\n\
                try:\n    (inputs / 'notes/new').write_text('')\nexcept OSError as error:\n    found.append(error.strerror)\n\
                pathlib.Path('/var/outputs/found').write_text('|'.join(found))\n";
    let mut job = job(vec![program(look, &["found"])]);
    job.inputs = vec![
        input("orders", "orders.csv"),
        input("rates", "rates.csv"),
        input("notes", "notes"),
        input("folder", "folder"),
    ];
    let report = world.run(&job).await;
    let expected = format!(
        "folder/in/ner.txt|notes/b.txt|notes/deep/a.txt|orders|orders.csv|rates|rates.csv|{ORDERS}|currency,rate\nEUR,1\n|Read-only file system"
    );
    let OutputContent::File(found) = &report.phases[0].outputs[0].content else {
        panic!("{:?}", report.phases[0])
    };
    let found = STANDARD.decode(found).unwrap();
    assert_eq!(String::from_utf8(found).unwrap(), expected);
    world.end().await;
}

#[tokio::test]
#[ignore = "wants a cluster"]
async fn what_no_claim_has_is_named() {
    let world = world("no-claims").await;
    let request = ReadRequest::of(vec![source("orders", "2026/none.csv", false)]);
    let begun = std::time::Instant::now();
    let error = Box::pin(world.read(&request)).await.unwrap_err().to_string();
    assert!(
        error.contains("/datasets with orders: ") && error.contains("\"datasets\" not found"),
        "{error}"
    );
    assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
    Box::pin(world.claim()).await;
    // The Pod that waits for the claim starts by itself.
    let report = Box::pin(world.read(&request)).await.unwrap();
    let ReadReport::Refused(why) = report else {
        panic!("{report:?}")
    };
    assert!(
        why.contains("cannot read 2026/none.csv on the claim datasets"),
        "{why}"
    );
    let request = ReadRequest::of(vec![source("orders", "outside", false)]);
    let report = Box::pin(world.read(&request)).await.unwrap();
    let ReadReport::Refused(why) = report else {
        panic!("{report:?}")
    };
    assert!(why.contains("leads out of the claim"), "{why}");
    world.end().await;
}
