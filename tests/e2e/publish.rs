//! Programs as images: pushed without a builder, and run without their task, or without the operator.

use std::time::Duration;

use codegen_api::{CodeGenRun, CodeGenTask, CodeGenTaskStatus};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt as _;
use kube::api::{ListParams, LogParams};
use kube::runtime::wait::{await_condition, conditions};
use serde_json::{Value, json};

use crate::faults::model::Model;
use crate::faults::own::{OPERATOR, Own};
use crate::faults::seed;
use crate::registry::{delete, json_of};
use crate::runs::{output, stalled, succeeded};
use crate::space::{SOON, Space, condition, in_spaces, is_task, status_of};

const TASK: &str = "penguin-masses";
const REPLIES: &str = include_str!("../../examples/penguins/replies.jsonl");
const MEASUREMENTS: &str = "species,island,bill_length_mm,bill_depth_mm,flipper_length_mm,body_mass_g,sex,year\n\
                            Emu,a,39.1,18.7,181,3000,male,2026\nEmu,a,39.1,18.7,181,4001,male,2026\n";

/// The task of the example, for the test's own operator, with another change.
fn apply(space: &Space, model: &Model, name: &str, change: impl Fn(&mut Value)) {
    let mut objects = space.objects("examples/penguins", "penguins");
    for object in objects.iter_mut().filter(|object| is_task(object)) {
        object["metadata"]["name"] = json!(name);
        object["metadata"]["labels"] = json!({OPERATOR: "publish"});
        object["spec"]["model"]["baseURL"] = json!(model.base_url(TASK));
        change(&mut object["spec"]);
    }
    space.apply_objects(&objects);
}

fn run_of(image: &str, name: &str, inputs: &Value) -> Value {
    json!({
        "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenRun",
        "metadata": {"name": name, "labels": {OPERATOR: "publish"}},
        "spec": {"programImage": image, "pullSecretRef": {"name": "registry"}, "inputs": inputs},
    })
}

async fn the_image_says_what_it_is_and_what_it_is_made_of(space: &Space, task: &CodeGenTask) {
    let status = task.status.as_ref().unwrap();
    let image = status.program_image.as_ref().unwrap();
    let (repository, digest) = image.split_once('@').unwrap();
    assert_eq!(repository, space.repository());
    let tag = format!("{}.{TASK}", space.name);
    assert_eq!(status.program_tag, Some(format!("{repository}:{tag}")));

    let manifest = json_of(&format!("{repository}/manifests/{tag}")).await;
    let says = &manifest["annotations"];
    assert_eq!(
        says["dev.codegen-operator.task"],
        format!("{}/{TASK}", space.name)
    );
    assert_eq!(says["dev.codegen-operator.tests"], json!(status.tests));
    assert_eq!(
        format!(
            "{repository}@{}",
            says["org.opencontainers.image.base.digest"].as_str().unwrap()
        ),
        *status.image.as_ref().unwrap()
    );
    let index = json_of(&format!("{repository}/manifests/{}", digest.replace(':', "-"))).await;
    let bill = &index["manifests"][0];
    assert_eq!(bill["artifactType"], "application/vnd.cyclonedx+json");
    let bill = bill["digest"].as_str().unwrap();
    let bill = json_of(&format!("{repository}/manifests/{bill}")).await;
    assert_eq!(bill["subject"]["digest"], digest);
    let bill = bill["layers"][0]["digest"].as_str().unwrap();
    let bill = json_of(&format!("{repository}/blobs/{bill}")).await;
    let names = bill["components"].as_array().unwrap().iter();
    let mut names = names.map(|component| component["name"].as_str().unwrap());
    assert!(names.any(|name| name == "pytest"), "{bill:#}");
}

/// The Job of the example's `CronJob`, as it stands there but for the image.
async fn it_runs_as_a_plain_job(space: &Space, image: &str) {
    let text = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/penguins/cronjob.yaml");
    let cron: Value = serde_saphyr::from_str(&std::fs::read_to_string(text).unwrap()).unwrap();
    let mut spec = cron["spec"]["jobTemplate"]["spec"].clone();
    for containers in ["initContainers", "containers"] {
        spec["template"]["spec"][containers][0]["image"] = json!(image);
    }
    space.apply_objects(&[json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "plain"}, "spec": spec,
    })]);
    let done = await_condition(space.api::<Job>(), "plain", conditions::is_job_completed());
    tokio::time::timeout(2 * SOON, done)
        .await
        .expect("the Job ends")
        .unwrap();
    let pods = space.api::<Pod>();
    let of_job = ListParams::default().labels("batch.kubernetes.io/job-name=plain");
    let pod = pods.list(&of_job).await.unwrap().items.remove(0).name_any();
    let log = pods.logs(&pod, &LogParams::default()).await.unwrap();
    assert!(log.starts_with("species,count,mean_body_mass_g\n"), "{log}");
    assert!(log.contains("Gentoo,123,5076.02"), "{log}");
}

async fn it_runs_where_there_is_no_task(space: &Space, image: &str) {
    let measurements = json!({"name": "measurements", "source": {"inline": MEASUREMENTS}});
    let given = json!([{"name": "decimals", "value": "2"}, measurements]);
    space.apply_objects(&[run_of(image, "elsewhere", &given)]);
    let run: CodeGenRun = succeeded(space, "elsewhere").await;
    assert_eq!(output(&run, "species").value.as_deref(), Some("1"));
    let status = run.status.unwrap();
    assert_eq!(status.image.as_deref(), Some(image));
    assert_eq!(status.task, None);

    space.apply_objects(&[run_of(image, "without-data", &json!([]))]);
    let said = stalled(space, "without-data", "InvalidInputs").await;
    assert!(
        said.contains("input \"measurements\" has no default: give it a file"),
        "{said}"
    );
}

async fn what_is_no_program_is_refused(space: &Space, environment: &str) {
    space.apply_objects(&[run_of(environment, "an-environment", &json!([]))]);
    let said = stalled(space, "an-environment", "NoProgram").await;
    assert!(said.contains("status.programImage"), "{said}");
    let (repository, _) = environment.split_once('@').unwrap();
    let nothing = format!("{repository}@sha256:{}", "0".repeat(64));
    space.apply_objects(&[run_of(&nothing, "nothing", &json!([]))]);
    stalled(space, "nothing", "ImageGone").await;
}

/// The image is one that no node has pulled.
async fn an_image_that_is_deleted_is_waited_for(known: &Space, unknown: &Space, task: &CodeGenTaskStatus) {
    let image = task.program_image.as_deref().unwrap();
    let (_, tag) = task.program_tag.as_deref().unwrap().rsplit_once(':').unwrap();
    let measurements = json!({"name": "measurements", "source": {"inline": MEASUREMENTS}});
    let given = json!([{"name": "decimals", "value": "0"}, measurements]);
    // In this namespace the operator has looked into it, and the node finds that it is gone.
    known.apply_objects(&[run_of(image, "looks", &json!([]))]);
    stalled(known, "looks", "InvalidInputs").await;
    let deleted = delete(image).await;
    for space in [known, unknown] {
        space.apply_objects(&[run_of(image, "gone", &given)]);
    }
    for space in [known, unknown] {
        let said = stalled(space, "gone", "ImageGone").await;
        for part in [image, "push it again, or make another run with the right name"] {
            assert!(said.contains(part), "{said}");
        }
    }
    deleted.restore(tag).await;
    for space in [known, unknown] {
        let run = succeeded(space, "gone").await;
        assert_eq!(output(&run, "species").value.as_deref(), Some("1"));
        let status = run.status.unwrap();
        assert_eq!((status.executions, status.failures), (0, 0));
    }
}

fn ask(space: &Space, publish: &str) {
    let patch = format!(r#"{{"spec":{{"publish":{publish}}}}}"#);
    space.kubectl(&["patch", "codegentask", TASK, "--type", "merge", "-p", &patch]);
}

/// When the task has succeeded; nobody may take that back.
fn since(task: &CodeGenTask) -> Time {
    let conditions = &task.status.as_ref().unwrap().conditions;
    let mut conditions = conditions.iter();
    let succeeded = conditions.find(|condition| condition.type_ == "Succeeded" && condition.status == "True");
    succeeded.expect("it has succeeded").last_transition_time.clone()
}

/// The task as soon as it says this of its image, for the spec that it has now.
async fn said_of_image(space: &Space, status: &str) -> CodeGenTask {
    let is_said = |task: &CodeGenTask| {
        status_of(task, "Published") == Some(status)
            && condition(task, "Published").is_some_and(|(_, reason, _)| reason != "Progressing")
            && task.status.as_ref().unwrap().observed_generation == task.metadata.generation
    };
    space
        .until(TASK, &format!("Published={status}"), SOON, is_said)
        .await
}

async fn it_is_published_when_that_is_asked_for(space: &Space, before: &CodeGenTask) -> CodeGenTask {
    assert_eq!(before.status.as_ref().unwrap().program_image, None);
    assert_eq!(condition(before, "Published"), None);
    ask(space, "{}");
    let task = said_of_image(space, "True").await;
    assert_eq!(since(&task), since(before));
    let spent = |task: &CodeGenTask| {
        let status = task.status.clone().unwrap();
        (
            status.attempt,
            status.model_calls,
            status.builds,
            status.completed_at,
        )
    };
    assert_eq!(spent(&task), spent(before));
    task
}

async fn a_tag_that_is_taken_takes_no_success_back(space: &Space, before: &CodeGenTask) {
    ask(space, r#"{"tag":"v1"}"#);
    let task = said_of_image(space, "False").await;
    let (_, reason, said) = condition(&task, "Published").unwrap();
    assert_eq!(reason, "Configuration");
    assert!(said.contains("was not published by"), "{said}");
    assert_eq!(since(&task), since(before));
    let image = |task: &CodeGenTask| task.status.as_ref().unwrap().program_image.clone();
    assert_eq!(image(&task), image(before));
}

/// Asked for while one operator was gone, done by the next.
async fn another_tag_is_the_same_program(space: &Space, before: &CodeGenTask) {
    let task = said_of_image(space, "True").await;
    assert_eq!(since(&task), since(before));
    assert!(task.status.unwrap().program_tag.unwrap().ends_with(":v2"));
    ask(space, "null");
    let is_silent = |task: &CodeGenTask| condition(task, "Published").is_none();
    let task = space
        .until(TASK, "without a word of its image", SOON, is_silent)
        .await;
    assert_eq!(since(&task), since(before));
    assert!(
        task.status.unwrap().program_tag.unwrap().ends_with(":v2"),
        "what is published stays"
    );
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_published_program_runs_without_its_task_and_without_the_operator() {
    Box::pin(in_spaces("publish", 2, async |spaces| {
        let [home, elsewhere] = spaces else { unreachable!() };
        let model = Model::start(home, REPLIES, &[TASK], Duration::ZERO).await;
        let start = || {
            Own::start_with(home, &model, seed(), |config| {
                config["watchNamespaces"] = json!([home.name, elsewhere.name]);
                config["taskSelector"] = json!(format!("{OPERATOR}=publish"));
            })
        };
        let own = Box::pin(start()).await;
        apply(home, &model, TASK, |_| {});
        let before = home.succeeded(TASK).await;
        let task = it_is_published_when_that_is_asked_for(home, &before).await;
        let status = task.status.clone().unwrap();
        let image = status.program_image.clone().unwrap();
        Box::pin(the_image_says_what_it_is_and_what_it_is_made_of(home, &task)).await;
        let jobs = home
            .api::<Job>()
            .list_metadata(&ListParams::default())
            .await
            .unwrap();
        assert_eq!(jobs.items.len(), 1, "only the environment was built");

        // What another task has published is not replaced; the result is there as soon as the tag is another one.
        let tag = status.program_tag.unwrap();
        let tag = tag.rsplit_once(':').unwrap().1;
        apply(home, &model, "another", |spec| {
            spec["publish"] = json!({"tag": tag});
        });
        let (_, reason, said) = home.stalled("another").await;
        assert_eq!(reason, "Configuration");
        assert!(said.contains("was not published by"), "{said}");
        apply(home, &model, "another", |spec| {
            spec["publish"] = json!({"tag": "v1"});
        });
        let another = home.succeeded("another").await.status.unwrap();
        assert_eq!((another.model_calls, another.builds), (0, 0));
        assert!(another.program_tag.as_ref().unwrap().ends_with(":v1"));
        Box::pin(an_image_that_is_deleted_is_waited_for(home, elsewhere, &another)).await;
        Box::pin(a_tag_that_is_taken_takes_no_success_back(home, &task)).await;
        drop(own);
        ask(home, r#"{"tag":"v2"}"#);
        let _own = Box::pin(start()).await;
        Box::pin(another_tag_is_the_same_program(home, &task)).await;

        Box::pin(it_runs_as_a_plain_job(home, &image)).await;
        home.kubectl(&["delete", "codegentask", TASK]);
        Box::pin(it_runs_where_there_is_no_task(elsewhere, &image)).await;
        Box::pin(what_is_no_program_is_refused(
            elsewhere,
            status.image.as_ref().unwrap(),
        ))
        .await;
    }))
    .await;
}
