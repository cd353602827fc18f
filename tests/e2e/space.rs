//! A namespace for one test: the examples in it, waits on conditions, and what is told when a test fails.

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use codegen_api::CodeGenTask;
use futures::FutureExt as _;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::api::{Api, DeleteParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

/// Longest wait for a task that builds an image.
pub const TO_THE_END: Duration = Duration::from_mins(10);
/// Longest wait for something that needs no image.
pub const SOON: Duration = Duration::from_mins(1);

/// Where `make e2e-install` puts the recorded replies and the Secrets that this copies.
pub const HOME: &str = "codegen-e2e";
pub const OPERATOR_NAMESPACE: &str = "codegen-system";
/// The account of the operator.
pub const OPERATOR: &str = "system:serviceaccount:codegen-system:codegen-operator";

/// Sandboxes are restricted; builds are not.
const BASELINE: &str = "baseline";

/// A namespace that is there for one test.
pub struct Space {
    pub client: Client,
    pub name: String,
}

/// Runs a test in a namespace of its own. When it fails, says what happened there; removes the namespace in any case.
pub async fn in_space(name: &str, test: impl AsyncFnOnce(&Space)) {
    in_spaces(name, 1, async |spaces| test(&spaces[0]).await).await;
}

/// Runs a test in several namespaces of its own.
pub async fn in_spaces(name: &str, count: usize, test: impl AsyncFnOnce(&[Space])) {
    let mut spaces = Vec::new();
    for _ in 0..count {
        spaces.push(Space::open(name, BASELINE).await);
    }
    run(spaces, test).await;
}

/// [`in_space`] with another Pod Security level: one that is set later holds only a moment after.
pub async fn in_space_at(name: &str, level: &str, test: impl AsyncFnOnce(&Space)) {
    let spaces = vec![Space::open(name, level).await];
    run(spaces, async |spaces: &[Space]| test(&spaces[0]).await).await;
}

async fn run(spaces: Vec<Space>, test: impl AsyncFnOnce(&[Space])) {
    let ended = AssertUnwindSafe(test(&spaces)).catch_unwind().await;
    for space in &spaces {
        if ended.is_err() {
            space.print_state();
        }
        space.close().await;
    }
    if let Err(panic) = ended {
        resume_unwind(panic);
    }
}

impl Space {
    async fn open(name: &str, level: &str) -> Self {
        let client = Client::try_default()
            .await
            .expect("the cluster of KUBECONFIG; run make e2e");
        let suffix: String = std::iter::repeat_with(fastrand::lowercase).take(5).collect();
        let name = format!("e2e-{name}-{suffix}");
        let namespace: Namespace = serde_json::from_value(json!({
            "metadata": {"name": name, "labels": {"pod-security.kubernetes.io/enforce": level}},
        }))
        .unwrap();
        Api::all(client.clone())
            .create(&PostParams::default(), &namespace)
            .await
            .unwrap();
        let space = Self { client, name };
        space.copy_secret("registry").await;
        space
    }

    /// Makes a Secret that the installation keeps for tests: `registry` (push and pull), `openai` (key `api-key`).
    pub async fn copy_secret(&self, name: &str) {
        self.copy_secret_as(name, name).await;
    }

    /// [`Self::copy_secret`] under another name.
    pub async fn copy_secret_as(&self, kept: &str, name: &str) {
        let original = Api::<Secret>::namespaced(self.client.clone(), HOME)
            .get(kept)
            .await
            .expect("run make e2e-install");
        let copy = Secret {
            metadata: kube::api::ObjectMeta {
                name: Some(name.to_owned()),
                labels: original.metadata.labels,
                annotations: original.metadata.annotations,
                ..Default::default()
            },
            ..original
        };
        self.api::<Secret>()
            .create(&PostParams::default(), &copy)
            .await
            .unwrap();
    }

    /// The objects of one kind in this namespace.
    pub fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), &self.name)
    }

    /// Applies a manifest or a folder with a kustomization (paths from the repository's root). Its tasks are answered by the recording
    /// `replies`, and build with what the test cluster has.
    pub fn apply(&self, path: &str, replies: &str) {
        self.apply_changed(path, replies, |_| {});
    }

    /// [`Self::apply`] with a further change of each task's spec.
    pub fn apply_changed(&self, path: &str, replies: &str, change: impl Fn(&mut Value)) {
        let mut objects = self.objects(path, replies);
        objects
            .iter_mut()
            .filter(|object| is_task(object))
            .for_each(|task| change(&mut task["spec"]));
        self.apply_objects(&objects);
    }

    /// What [`Self::apply`] applies.
    pub fn objects(&self, path: &str, replies: &str) -> Vec<Value> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        let text = if path.is_dir() {
            kubectl(&["kustomize", path.to_str().unwrap()], "")
        } else {
            std::fs::read_to_string(path).unwrap()
        };
        let mut objects: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
        for task in objects.iter_mut().filter(|object| is_task(object)) {
            let spec = &mut task["spec"];
            spec["model"]["baseURL"] = json!(format!("http://replies.{HOME}:8080/{replies}/v1"));
            spec["image"] = self.image(&spec["image"]);
        }
        objects
    }

    /// Applies these objects to this namespace.
    pub fn apply_objects(&self, objects: &[Value]) {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        kubectl(
            &["--namespace", &self.name, "apply", "-f", "-"],
            &list.to_string(),
        );
    }

    /// Base image, Python, credentials and index of the test cluster.
    fn image(&self, own: &Value) -> Value {
        let mut image = if own.is_object() { own.clone() } else { json!({}) };
        image["pushSecretRef"] = json!({"name": "registry"});
        image["repository"] = json!(self.repository());
        if let Ok(base) = std::env::var("CODEGEN_E2E_PYTHON_IMAGE") {
            image["base"] = json!(base);
            image["pythonVersion"] = json!("3.11");
        }
        if let Ok(index) = std::env::var("CODEGEN_E2E_INDEX_URL") {
            image["indexURL"] = json!(index);
        }
        image
    }

    /// Where this test's images are pushed: nobody has built there before.
    pub fn repository(&self) -> String {
        let registry = std::env::var("CODEGEN_E2E_REGISTRY").expect("run make e2e");
        format!("{registry}/e2e/{}", self.name)
    }

    /// The task as soon as it is `what`; fails with its status after `patience`.
    pub async fn until(
        &self,
        task: &str,
        what: &str,
        patience: Duration,
        is: impl Fn(&CodeGenTask) -> bool,
    ) -> CodeGenTask {
        let wait = await_condition(self.api::<CodeGenTask>(), task, |task: Option<&CodeGenTask>| {
            task.is_some_and(&is)
        });
        if let Ok(found) = Box::pin(tokio::time::timeout(patience, wait)).await {
            return found.unwrap().unwrap();
        }
        let task = self.api::<CodeGenTask>().get(task).await.unwrap();
        let status = serde_json::to_string_pretty(&task.status).unwrap();
        let name = task.name_any();
        panic!("{name} is not {what} after {} s: {status}", patience.as_secs());
    }

    /// The task when it has ended, well or not.
    pub async fn end(&self, task: &str) -> CodeGenTask {
        self.until(task, "at its end", TO_THE_END, has_ended).await
    }

    /// The task at its end, which must be a good one.
    pub async fn succeeded(&self, task: &str) -> CodeGenTask {
        let task = self.end(task).await;
        let said = condition(&task, "Succeeded");
        assert!(matches!(said, Some(("True", ..))), "{said:?}");
        task
    }

    /// The task as soon as somebody must help it, with the reason and the message.
    pub async fn stalled(&self, task: &str) -> (CodeGenTask, String, String) {
        let is_stalled = |task: &CodeGenTask| status_of(task, "Stalled") == Some("True");
        let task = self.until(task, "stalled", TO_THE_END, is_stalled).await;
        let (_, reason, message) = condition(&task, "Stalled").unwrap();
        let (reason, message) = (reason.to_owned(), message.to_owned());
        (task, reason, message)
    }

    /// `kubectl` in this namespace; its output.
    pub fn kubectl(&self, arguments: &[&str]) -> String {
        kubectl(&[&["--namespace", &self.name], arguments].concat(), "")
    }

    /// What a person would look at first.
    fn print_state(&self) {
        let here = ["--namespace", self.name.as_str()];
        let there = ["--namespace", OPERATOR_NAMESPACE];
        let looks: [(&[&str], &[&str]); 6] = [
            (
                &here,
                &[
                    "get",
                    "codegentasks,codegenruns,codemodeagents,codemoderuns",
                    "-o",
                    "yaml",
                ],
            ),
            (&here, &["get", "events", "--sort-by=.metadata.creationTimestamp"]),
            (
                &here,
                &[
                    "get",
                    "pods,jobs,configmaps,secrets,networkpolicies",
                    "-o",
                    "wide",
                ],
            ),
            (&here, &["describe", "pods"]),
            (
                &here,
                &[
                    "logs",
                    "--selector=app.kubernetes.io/managed-by=codegen-operator",
                    "--all-containers",
                    "--tail=40",
                ],
            ),
            (&there, &["logs", "deployment/codegen-operator", "--tail=200"]),
        ];
        for (place, look) in looks {
            eprintln!("--- kubectl {} {}", place.join(" "), look.join(" "));
            let output = Command::new("kubectl").args(place).args(look).output().unwrap();
            eprintln!("{}", String::from_utf8_lossy(&output.stdout));
            eprintln!("{}", String::from_utf8_lossy(&output.stderr));
        }
    }

    async fn close(&self) {
        let namespaces = Api::<Namespace>::all(self.client.clone());
        namespaces
            .delete(&self.name, &DeleteParams::default())
            .await
            .unwrap();
    }
}

pub fn is_task(object: &Value) -> bool {
    object["kind"] == "CodeGenTask"
}

/// Whether the task has ended, well or not.
pub fn has_ended(task: &CodeGenTask) -> bool {
    matches!(condition(task, "Succeeded"), Some(("True" | "False", _, _)))
}

/// Status, reason and message of a condition.
pub fn condition<'a>(task: &'a CodeGenTask, type_: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let conditions = &task.status.as_ref()?.conditions;
    let found = conditions.iter().find(|condition| condition.type_ == type_)?;
    Some((&found.status, &found.reason, &found.message))
}

/// Where the task is.
pub fn stage_of(task: &CodeGenTask) -> Option<&str> {
    task.status.as_ref()?.stage.as_deref()
}

/// `True`, `False` or `Unknown`: what a condition says.
pub fn status_of<'a>(task: &'a CodeGenTask, type_: &str) -> Option<&'a str> {
    condition(task, type_).map(|(status, ..)| status)
}

pub fn kubectl(arguments: &[&str], input: &str) -> String {
    let (is_done, output, error) = try_kubectl(arguments, input);
    assert!(is_done, "kubectl {}: {error}", arguments.join(" "));
    output
}

/// What is said by whoever refuses.
pub fn kubectl_refused(arguments: &[&str], input: &str) -> String {
    let (is_done, output, error) = try_kubectl(arguments, input);
    assert!(!is_done, "kubectl {}: {output}", arguments.join(" "));
    error
}

/// Whether it is done, what is printed, and what is said of a failure.
pub fn try_kubectl(arguments: &[&str], input: &str) -> (bool, String, String) {
    let mut child = Command::new("kubectl")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("kubectl; run make e2e");
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}
