//! Other ways to install the operator than the one that `make e2e-install` takes.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};

use codegen_api::CodeGenTask;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::runtime::wait::await_condition;
use serde_json::{Value, json};

use crate::space::{OPERATOR_NAMESPACE, SOON, Space, in_space, in_spaces, is_task};

/// Which operator a task is for; the one of `make e2e-install` leaves those that have it alone.
const OPERATOR_LABEL: &str = "codegen-operator.dev/operator";

/// A release of the chart, which bears the name of its namespace: no other has its objects outside of namespaces.
struct Release<'a>(&'a Space);

impl Release<'_> {
    fn helm(&self, command: &str, arguments: &[&str], input: &str) -> String {
        let name = self.0.name.as_str();
        let all = [&[command, name, "--namespace", name], arguments].concat();
        run("helm", &all, input)
    }

    /// Installs or upgrades it with the values of the installed operator, and these.
    fn has(&self, chart: &str, values: &Value) {
        let installed = std::env::var("CODEGEN_E2E_INSTALLED_VALUES").expect("run make e2e-install");
        let given = ["--values", &installed, "--values", "-"];
        let place = [chart, "--install", "--wait", "--timeout", "2m"];
        self.helm(
            "upgrade",
            &[place.as_slice(), &given].concat(),
            &values.to_string(),
        );
    }

    /// What the objects that bear its name are called.
    fn full_name(&self) -> String {
        format!("{}-codegen-operator", self.0.name)
    }

    /// Its objects as they were rendered.
    fn manifest(&self) -> Vec<Value> {
        let name = self.0.name.as_str();
        let manifest = run("helm", &["get", "manifest", name, "--namespace", name], "");
        serde_saphyr::from_multiple(&manifest).unwrap()
    }
}

impl Drop for Release<'_> {
    fn drop(&mut self) {
        self.helm("uninstall", &["--wait", "--ignore-not-found"], "");
    }
}

fn run(program: &str, arguments: &[&str], input: &str) -> String {
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{program}: {error}; run make e2e"));
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{program} {}: {error}",
        arguments.join(" ")
    );
    String::from_utf8(output.stdout).unwrap()
}

/// What the installed operator trusts, for another one.
async fn copy_authorities(space: &Space) {
    let there: Api<ConfigMap> = Api::namespaced(space.client.clone(), OPERATOR_NAMESPACE);
    let Some(original) = there.get_opt("registry-authority").await.unwrap() else {
        return;
    };
    let copy = ConfigMap {
        metadata: ObjectMeta {
            name: original.metadata.name.clone(),
            ..ObjectMeta::default()
        },
        ..original
    };
    let here = space.api::<ConfigMap>();
    here.create(&PostParams::default(), &copy).await.unwrap();
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn an_operator_with_rights_in_one_namespace_alone_takes_a_task_to_its_end() {
    in_spaces("scoped", 2, async |spaces| {
        let [home, team] = spaces else {
            panic!("two namespaces")
        };
        copy_authorities(home).await;
        team.copy_secret("openai").await;
        let release = Release(home);
        let values = json!({
            "config": watching(home, team),
            "crds": {"install": false},
            "admissionPolicy": {"create": false},
            "rbac": {"aggregate": false, "nodes": false, "apiServerAddresses": false},
        });
        release.has("charts/codegen-operator", &values);
        release.helm("test", &[], "");
        may_do_nothing_in_other_namespaces(&release, team);
        let mut objects = team.objects("examples/prompt-only/task.yaml", "prompt-only");
        let tasks = objects.iter_mut().filter(|object| is_task(object));
        tasks.for_each(|task| task["metadata"]["labels"] = json!({OPERATOR_LABEL: home.name}));
        team.apply_objects(&objects);
        team.succeeded("multiplication-table").await;
        its_history_has_one_success(team, &objects).await;
    })
    .await;
}

/// The operator keeps as many finished tasks as its configuration says.
async fn its_history_has_one_success(team: &Space, objects: &[Value]) {
    let mut later = objects.to_vec();
    for task in later.iter_mut().filter(|object| is_task(object)) {
        task["metadata"]["name"] = json!("later");
    }
    team.apply_objects(&later);
    team.succeeded("later").await;
    let first = await_condition(
        team.api::<CodeGenTask>(),
        "multiplication-table",
        |task: Option<&CodeGenTask>| task.is_none(),
    );
    let deleted = tokio::time::timeout(SOON, first).await;
    deleted
        .expect("the older of two tasks that have succeeded is deleted")
        .unwrap();
}

/// The tasks of one namespace that are for the operator of another.
fn watching(home: &Space, team: &Space) -> Value {
    let selector = format!("{OPERATOR_LABEL}={}", home.name);
    json!({"watchNamespaces": [team.name], "taskSelector": selector, "history": {"succeededLimit": 1}})
}

fn may_do_nothing_in_other_namespaces(release: &Release, team: &Space) {
    let home = release.0;
    let account = format!("system:serviceaccount:{}:{}", home.name, release.full_name());
    let may = |verb: &str, resource: &str, place: &[&str]| {
        let asked = ["--as", account.as_str(), "auth", "can-i", verb, resource];
        let output = Command::new("kubectl").args(asked).args(place).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim() == "yes"
    };
    let tasks = "codegentasks.codegen-operator.dev";
    assert!(may("watch", tasks, &["--namespace", &team.name]));
    for (verb, resource, place) in [
        ("list", tasks, ["--all-namespaces"].as_slice()),
        ("list", tasks, &["--namespace", "default"]),
        ("list", tasks, &["--namespace", &home.name]),
        ("get", "secrets", &["--namespace", &home.name]),
        ("get", "secrets", &["--namespace", "codegen-system"]),
        ("create", "pods", &["--namespace", "default"]),
        ("list", "nodes", &[]),
        ("get", "customresourcedefinitions.apiextensions.k8s.io", &[]),
    ] {
        assert!(!may(verb, resource, place), "{verb} {resource} {place:?}");
    }
}

/// The chart as it was: a version that somebody upgrades from.
const CHART_BEFORE: &str = "tests/cluster/charts/codegen-operator-0.0.9.tgz";

fn names(objects: &[Value]) -> BTreeSet<String> {
    let name = |object: &Value| {
        let metadata = &object["metadata"];
        format!(
            "{} {} {}",
            object["kind"], metadata["namespace"], metadata["name"]
        )
    };
    objects.iter().map(name).collect()
}

/// Those of the objects that are in the cluster.
fn present(objects: &[Value]) -> BTreeSet<String> {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
    let found = run(
        "kubectl",
        &["get", "--ignore-not-found", "-o", "json", "-f", "-"],
        &list,
    );
    let found: Value = serde_json::from_str(&found).unwrap_or_default();
    names(found["items"].as_array().map_or(&[], Vec::as_slice))
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn an_upgrade_leaves_nothing_of_the_chart_before_and_a_removal_nothing_at_all() {
    in_spaces("upgrade", 2, async |spaces| {
        let [home, team] = spaces else {
            panic!("two namespaces")
        };
        copy_authorities(home).await;
        let values = json!({"config": watching(home, team), "crds": {"install": false}});
        let release = Release(home);
        release.has(CHART_BEFORE, &values);
        let before = release.manifest();
        assert_eq!(present(&before), names(&before));
        release.has("charts/codegen-operator", &values);
        let after = release.manifest();
        assert_eq!(present(&after), names(&after));
        let gone: Vec<String> = names(&before).difference(&names(&after)).cloned().collect();
        let right = format!("\"ClusterRole\" null \"{}\"", release.full_name());
        assert!(
            gone.contains(&right),
            "a namespaced operator keeps {right}: {gone:?}"
        );
        let left = present(&before);
        assert!(gone.iter().all(|name| !left.contains(name)), "{left:?}");
        release.helm("test", &[], "");
        drop(release);
        assert_eq!(present(&after), BTreeSet::new());
    })
    .await;
}

/// Removes what was applied outside of a namespace of the test.
struct Applied(String);

impl Drop for Applied {
    fn drop(&mut self) {
        let delete = ["delete", "--ignore-not-found", "--wait=false", "-f", "-"];
        run("kubectl", &delete, &self.0);
    }
}

/// `deploy/` for a namespace of a test: definitions are those that are installed, and what is not in a namespace has a name of its own.
fn deploy_for(space: &Space) -> Vec<Value> {
    let image = std::env::var("CODEGEN_OPERATOR_IMAGE").expect("run make e2e-install");
    let rendered = run("kubectl", &["kustomize", "deploy"], "")
        .replace("codegen-system", &space.name)
        .replace("registry.example.com/codegen-operator:0.1.0", &image);
    let mut objects: Vec<Value> = serde_saphyr::from_multiple(&rendered).unwrap();
    objects.retain(|object| object["kind"] != "Namespace" && object["kind"] != "CustomResourceDefinition");
    let own = |value: &mut Value| *value = json!(format!("{}-{}", space.name, value.as_str().unwrap()));
    for object in &mut objects {
        if object["metadata"]["namespace"].is_null() {
            own(&mut object["metadata"]["name"]);
        }
        if object["roleRef"]["kind"] == "ClusterRole" {
            own(&mut object["roleRef"]["name"]);
        }
        if object["spec"]["policyName"].is_string() {
            own(&mut object["spec"]["policyName"]);
        }
        if object["kind"] == "Deployment" {
            object["spec"]["template"]["spec"]["imagePullSecrets"] = json!([{"name": "registry"}]);
        }
        if object["kind"] == "ConfigMap" {
            let config = format!(
                "watchNamespaces: [{0}]\ntaskSelector: {OPERATOR_LABEL}={0}\n",
                space.name
            );
            object["data"]["config.yaml"] = json!(config);
        }
    }
    objects
}

/// What somebody wrote of these objects, and who: not what controllers say of them.
fn without_controller_fields(list: &str) -> Vec<Value> {
    let found = run(
        "kubectl",
        &["get", "--show-managed-fields", "-o", "json", "-f", "-"],
        list,
    );
    let mut found: Value = serde_json::from_str(&found).unwrap();
    let mut objects = found["items"].as_array_mut().map(std::mem::take).unwrap();
    for object in &mut objects {
        object.as_object_mut().unwrap().remove("status");
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.remove("resourceVersion");
        let writers = metadata["managedFields"].as_array_mut().unwrap();
        writers.retain(|writer| writer["subresource"] != "status");
    }
    objects
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn what_kustomize_makes_runs_and_is_applied_again_without_a_change() {
    in_space("kustomize", async |space| {
        let whole = run("kubectl", &["kustomize", "deploy"], "");
        let try_it = [
            "apply",
            "--server-side",
            "--force-conflicts",
            "--dry-run=server",
            "--validate=strict",
            "-f",
            "-",
        ];
        run("kubectl", &try_it, &whole);
        let list = json!({"apiVersion": "v1", "kind": "List", "items": deploy_for(space)}).to_string();
        let applied = Applied(list);
        let apply = ["apply", "--server-side", "--validate=strict", "-f", "-"];
        run("kubectl", &apply, &applied.0);
        space.kubectl(&["rollout", "status", "deployment/codegen-operator", "--timeout=2m"]);
        let before = without_controller_fields(&applied.0);
        run("kubectl", &apply, &applied.0);
        let after = without_controller_fields(&applied.0);
        for (before, after) in before.iter().zip(&after) {
            assert_eq!(before, after);
        }
        assert_eq!(before.len(), deploy_for(space).len());
    })
    .await;
}
