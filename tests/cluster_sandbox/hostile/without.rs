//! A sandbox from which one defence was taken: the Pod that our code makes, changed before it starts, and judged by our code.

use codegen_core::sandbox::{Job, Report};
use codegen_sandbox::{KubernetesSandbox, Progressing, Sandbox as _, SandboxError};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{Api, DeleteParams};
use serde_json::{Value, json};

use crate::support::{PATIENCE, World, create};

/// The try that is made without the defence; with it, the first one is made.
const TRY: u32 = 1;

/// How a defence is taken away.
#[derive(Clone, Copy)]
pub struct Without {
    /// In words.
    pub what: &'static str,
    /// Changes the Pod.
    pub pod: fn(&mut Value),
    /// Changes files of the harness: file, what stands there, what stands there instead.
    pub harness: &'static [(&'static str, &'static str, &'static str)],
}

/// What came of a run, as our code sees it.
pub type Ran = Result<Progressing<Report>, SandboxError>;

impl World {
    /// Runs the job as it is always run, and beside that without a defence.
    pub async fn run_both(&self, job: &Job, job_without: &Job, without: &Without) -> (Ran, Ran) {
        let weak = self.weaken(job_without, without).await;
        tokio::join!(self.run_to_its_end(self.image(), job, 0), self.reported_by(&weak))
    }

    /// Puts another Pod in the place of the one that runs this job; its name. Our code would not take it for its own.
    pub async fn weaken(&self, job: &Job, without: &Without) -> String {
        self.weaken_try(job, without, TRY).await
    }

    /// [`Self::weaken`] for the try of this number.
    pub async fn weaken_try(&self, job: &Job, without: &Without, number: u32) -> String {
        let weak = self.weakened(job, without, number).await;
        create(&self.pods(), &weak).await;
        weak.metadata.name.unwrap()
    }

    /// The Pod that [`Self::weaken_try`] makes.
    pub async fn weakened(&self, job: &Job, without: &Without, number: u32) -> Pod {
        // No node takes the one that is replaced.
        let mut nowhere = self.settings.clone();
        nowhere
            .sandbox
            .node_selector
            .insert("pool".to_owned(), "nowhere".to_owned());
        let sandbox = KubernetesSandbox {
            settings: &nowhere,
            ..self.sandbox()
        };
        let before = self.names::<Pod>().await;
        let begun = sandbox.run(self.image(), job, number).await.unwrap();
        assert!(matches!(begun, Progressing::Pending), "{begun:?}");
        let names = self.names::<Pod>().await;
        let name = names.iter().find(|name| !before.contains(name)).unwrap();
        // The scheduler writes its verdict by the Pod's name: one that is still on its way would fall on the Pod that takes its place.
        self.until_unschedulable(name).await;
        let pod = self.pods().get(name).await.unwrap();
        let now = DeleteParams::default().grace_period(0);
        self.pods().delete(name, &now).await.unwrap();
        let gone = kube::runtime::wait::await_condition(
            self.pods(),
            name,
            kube::runtime::conditions::is_deleted(pod.metadata.uid.as_deref().unwrap_or_default()),
        );
        tokio::time::timeout(PATIENCE, gone)
            .await
            .expect("the Pod is gone in time")
            .unwrap();

        let mut weak = json!({
            "metadata": {"name": name, "labels": pod.metadata.labels, "ownerReferences": pod.metadata.owner_references},
            "spec": pod.spec,
        });
        // To the API server it is anybody's Pod: its policy would refuse it.
        let labels = weak["metadata"]["labels"].as_object_mut().unwrap();
        labels.remove("codegen-operator.dev/component").unwrap();
        let selector = weak["spec"]["nodeSelector"].as_object_mut().unwrap();
        selector.remove("pool").unwrap();
        self.weaken_harness(&mut weak, without).await;
        (without.pod)(&mut weak);
        serde_json::from_value(weak).unwrap()
    }

    async fn weaken_harness(&self, pod: &mut Value, without: &Without) {
        if without.harness.is_empty() {
            return;
        }
        let name = pod["metadata"]["name"].as_str().unwrap().to_owned();
        let volumes = pod["spec"]["volumes"].as_array_mut().unwrap();
        let volume = volumes
            .iter_mut()
            .find(|volume| volume["name"] == "harness")
            .unwrap();
        let used = volume["configMap"]["name"].take();
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), &self.namespace);
        let mut map = maps.get(used.as_str().unwrap()).await.unwrap();
        let files = map.data.as_mut().unwrap();
        for (file, from, to) in without.harness {
            let text = files.get_mut(*file).unwrap();
            assert_eq!(text.matches(from).count(), 1, "{file}: {from}");
            *text = text.replace(from, to);
        }
        volume["configMap"]["name"] = json!(name);
        // It would not start: that it is ours is looked at before.
        start_unseen(pod);
        let weak = serde_json::from_value(json!({"metadata": {"name": name}, "data": map.data})).unwrap();
        create(&maps, &weak).await;
    }
}

/// Starts the harness of a Pod without the look at whether it is ours, which stands before its last line.
pub fn start_unseen(pod: &mut Value) {
    let words = container(pod)["command"].as_array_mut().unwrap();
    let start = words
        .iter_mut()
        .find(|word| word.as_str().unwrap().contains("CODEGEN_HARNESS_SHA256"));
    let start = start.unwrap();
    *start = json!(start.as_str().unwrap().lines().last().unwrap());
}

/// The only container of a Pod.
pub fn container(pod: &mut Value) -> &mut Value {
    &mut pod["spec"]["containers"][0]
}

/// Mounts the key of the job beside it.
pub fn mount_the_key(pod: &mut Value) {
    let volumes = pod["spec"]["volumes"].as_array_mut().unwrap();
    let job = volumes.iter_mut().find(|volume| volume["name"] == "job");
    let secret = job.unwrap()["secret"].as_object_mut().unwrap();
    secret.remove("items").unwrap();
}

/// The beginning of a program that runs in place of the harness, and reads the job as that does.
pub const WITH_JOB: &str = "import sys\nsys.path.insert(0, '/harness')\nimport main\njob = main.read_job()\n";

/// Runs this program in place of the harness.
pub fn command(pod: &mut Value, program: &str) {
    container(pod)["command"] = json!(["python3", "-c", program]);
}
