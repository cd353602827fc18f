//! Outputs of a run on a claim that are pushed from there: by one Pod, which is made again only where another one may do better.

use std::time::Duration;

use kube::ResourceExt as _;
use kube::runtime::controller::Action;
use rstest::rstest;
use serde_json::{Value, json};

use crate::controller::tests::api_server::Fault;
use crate::controller::tests::node::{PUSHED, body_of};
use crate::controller::tests::world::World;
use codegen_api::CodeGenRun;
use codegen_core::stored_outputs::FoundOutput;
use codegen_sandbox::kubernetes::PushReport;

const OPERATOR: &str = "operatorImage: registry.example/operator@sha256:00";
const SUCCEEDED: &str = "Succeeded ProgramSucceeded";
const BYTES: u64 = 8 << 20;

/// The run `count`, whose only output is too large for the cluster.
async fn applied() -> World {
    configured(OPERATOR).await
}

/// The same, with these settings of the operator.
async fn configured(settings: &str) -> World {
    let mut world = World::configured(settings).await;
    world.node.found = vec![FoundOutput::Read {
        sha256: "0123456789abcdef".repeat(4),
        bytes: BYTES,
        files: 1,
        value: None,
        findings: Vec::new(),
    }];
    world.succeeded("words").await;
    world.node.large_in_runs.insert("words".to_owned(), BYTES);
    let repository = format!("{}/team/outputs", world.registry.host());
    world.apply_run(
        "count",
        &json!({
            "taskRef": {"name": "words"},
            "outputs": {"persistentVolumeClaim": {"claimName": "results"}, "artifact": {"repository": repository}},
        }),
    );
    world.server.calls();
    world
}

/// The run with its program ended and nothing pushed.
async fn ended() -> World {
    let mut world = applied().await;
    world.until::<CodeGenRun>("count", SUCCEEDED).await;
    world.server.calls();
    world
}

fn pushed(world: &World) -> Option<String> {
    world.condition::<CodeGenRun>("count", "OutputsPushed")
}

fn message(world: &World) -> String {
    let run = world.object::<CodeGenRun>("count");
    let mut conditions = run["status"]["conditions"].as_array().unwrap().iter();
    let said = conditions.find(|condition| condition["type"] == "OutputsPushed");
    said.unwrap()["message"].as_str().unwrap().to_owned()
}

fn times(world: &World, call: &str) -> usize {
    let calls = world.server.calls();
    calls.iter().filter(|line| line.starts_with(call)).count()
}

/// From now on the run stays no longer than it must.
fn time_is_over(world: &World) {
    world.server.edit("codegenruns", "count", |run| {
        run["spec"]["ttlSecondsAfterFinished"] = json!(0);
    });
}

/// Lets the answer of a Pod that ended in vain be of long ago.
fn long_ago(world: &World) {
    for pod in world.server.of_component("pods", "push") {
        let name = pod["metadata"]["name"].as_str().unwrap();
        world.server.edit("pods", name, |pod| {
            let ended = &mut pod["status"]["containerStatuses"][0]["state"]["terminated"];
            ended["finishedAt"] = json!("2026-01-01T00:00:00Z");
        });
    }
}

#[tokio::test]
async fn a_pod_pushes_from_the_claim_once_the_run_has_succeeded_and_goes_with_what_it_went_by() {
    let mut world = ended().await;
    assert_eq!(world.server.of_component("secrets", "snapshot").len(), 1);
    world.reconcile::<CodeGenRun>("count").await;
    assert_eq!(pushed(&world).as_deref(), Some("False Pushing"));
    let pods = world.server.of_component("pods", "push");
    let container = &pods[0]["spec"]["containers"][0];
    assert_eq!(container["args"], json!(["push-outputs"]));
    let uid = world.object::<CodeGenRun>("count")["metadata"]["uid"].clone();
    let mounted = format!("count-{}", uid.as_str().unwrap());
    assert_eq!(
        container["volumeMounts"][0],
        json!({"name": "claim-0", "mountPath": "/claims/0", "subPath": mounted, "readOnly": true})
    );
    assert!(
        message(&world).contains("the outputs on the claim results to "),
        "{}",
        message(&world)
    );

    world.node.end_pods(&world.server).await;
    world.reconcile::<CodeGenRun>("count").await;
    assert_eq!(pushed(&world).as_deref(), Some("True Pushed"));
    let artifact = format!("{}/team/outputs@{PUSHED}", world.registry.host());
    assert_eq!(
        world.object::<CodeGenRun>("count")["status"]["artifact"],
        artifact
    );
    assert_eq!(world.stage_and_reason::<CodeGenRun>("count"), SUCCEEDED);
    assert_eq!(world.server.all("pods").len(), 0);
    for component in ["push", "snapshot"] {
        assert_eq!(
            world.server.of_component("secrets", component).len(),
            0,
            "{component}"
        );
    }
    assert_eq!(times(&world, "create Pod push"), 1);
    time_is_over(&world);
    world.reconcile::<CodeGenRun>("count").await;
    assert_eq!(world.server.all("codegenruns").len(), 0);
    assert_eq!(
        world.events("count").await,
        ["ReadingOutputs", "Succeeded", "Pushing", "Pushed"]
    );
}

#[tokio::test]
async fn no_pod_is_made_for_outputs_that_fit_the_cluster() {
    let mut world = applied().await;
    world.node.large_in_runs.clear();
    world.until::<CodeGenRun>("count", SUCCEEDED).await;
    world.server.calls();
    world.reconcile::<CodeGenRun>("count").await;
    assert_eq!(pushed(&world).as_deref(), Some("True Pushed"));
    assert_eq!(times(&world, "create Pod"), 0);
    assert_eq!(world.registry.pushed(), ["data.count.outputs"]);
    assert_eq!(world.server.of_component("secrets", "snapshot").len(), 0);
}

#[rstest]
#[case::of_its_policy("create NetworkPolicy codegen-push")]
#[case::of_its_job("create Secret push")]
#[case::of_the_pod("create Pod push")]
#[case::of_its_start("status CodeGenRun count: Succeeded ProgramSucceeded")]
#[tokio::test]
async fn a_lost_reply_on_the_way_starts_no_second_pod(#[case] call: &str) {
    let mut world = ended().await;
    world.server.fail(call, Fault::ReplyLost);
    for _ in 0..2 {
        world.reconcile::<CodeGenRun>("count").await;
    }
    assert_eq!(world.server.of_component("pods", "push").len(), 1);
    world.restart().await;
    world.reconcile::<CodeGenRun>("count").await;
    assert_eq!(
        world.server.of_component("pods", "push").len(),
        1,
        "after a restart"
    );
    assert_eq!(times(&world, "create Pod push"), 0, "after a restart");
    world.node.end_pods(&world.server).await;
    world.reconcile::<CodeGenRun>("count").await;
    assert_eq!(pushed(&world).as_deref(), Some("True Pushed"));
}

#[tokio::test]
async fn an_operator_that_begins_after_the_push_clears_up_after_the_one_before_it() {
    let mut world = ended().await;
    world.reconcile::<CodeGenRun>("count").await;
    world.node.end_pods(&world.server).await;
    world.server.edit("codegenruns", "count", |run| {
        run["status"]["artifact"] = json!("registry.example/outputs@sha256:aa");
        let conditions = run["status"]["conditions"].as_array_mut().unwrap();
        for condition in conditions
            .iter_mut()
            .filter(|said| said["type"] == "OutputsPushed")
        {
            condition["status"] = json!("True");
            condition["reason"] = json!("Pushed");
        }
    });
    assert_eq!(world.server.of_component("pods", "push").len(), 1);
    world.restart_now().await;
    world.reconcile::<CodeGenRun>("count").await;
    assert_eq!(world.server.all("pods").len(), 0);
}

#[rstest]
#[case::changed(PushReport::Changed("the output words is not what the program wrote".to_owned()), "False OutputsChanged")]
#[case::gone(PushReport::Gone("words".to_owned()), "False OutputsGone")]
#[tokio::test]
async fn what_is_not_what_the_program_wrote_is_named_and_not_tried_again(
    #[case] report: PushReport,
    #[case] said: &str,
) {
    let mut world = ended().await;
    world.node.pushes.push_back(report.clone());
    world.settle::<CodeGenRun>("count").await;
    assert_eq!(pushed(&world).as_deref(), Some("Unknown CheckingAgain"));
    assert_eq!(times(&world, "create Pod push"), 1);
    world.node.pushes.push_back(report);
    said_long_ago(&world);
    world.settle::<CodeGenRun>("count").await;
    assert_eq!(pushed(&world).as_deref(), Some(said));
    let words = message(&world);
    assert!(
        words.contains("words") && words.ends_with("make another run"),
        "{words}"
    );
    assert_eq!(times(&world, "create Pod push"), 1);
    world.restart().await;
    world.reconcile::<CodeGenRun>("count").await;
    assert_eq!(times(&world, "create Pod"), 0);
    assert_eq!(world.server.all("pods").len(), 0);
}

/// Lets what the status says of the push be of long ago.
fn said_long_ago(world: &World) {
    world.server.edit("codegenruns", "count", |run| {
        let conditions = run["status"]["conditions"].as_array_mut().unwrap();
        let said = conditions
            .iter_mut()
            .find(|condition| condition["type"] == "OutputsPushed");
        said.unwrap()["lastTransitionTime"] = json!("2026-01-01T00:00:00Z");
    });
}

#[rstest]
#[case::gone(PushReport::Gone("words".to_owned()))]
#[case::changed(PushReport::Changed("the output words is not what the program wrote".to_owned()))]
#[tokio::test]
async fn outputs_that_are_missing_once_are_checked_again(#[case] report: PushReport) {
    let mut world = ended().await;
    time_is_over(&world);
    world.node.pushes.push_back(report);
    world.settle::<CodeGenRun>("count").await;
    assert_eq!(pushed(&world).as_deref(), Some("Unknown CheckingAgain"));
    world.server.calls();
    // Not before a minute has passed, whatever brings a pass on.
    world.restart().await;
    world.reconcile::<CodeGenRun>("count").await;
    assert_eq!(times(&world, "create Pod"), 0);
    assert_eq!(
        world.server.all("codegenruns").len(),
        1,
        "its time is over, and it stays"
    );

    said_long_ago(&world);
    world.reconcile::<CodeGenRun>("count").await;
    assert_eq!(times(&world, "create Pod push"), 1);
    world.node.end_pods(&world.server).await;
    world.reconcile::<CodeGenRun>("count").await;
    assert_eq!(world.events("count").await.last().unwrap(), "Pushed");
    assert_eq!(world.server.all("codegenruns").len(), 0);
    assert_eq!(world.server.of_component("pods", "push").len(), 0);
}

#[tokio::test]
async fn a_list_that_no_registry_takes_is_said_once_and_costs_one_pod() {
    let mut world = ended().await;
    let why = "the list has 5010352 bytes: have the program write fewer files, or one archive";
    world.node.pushes.push_back(PushReport::TooMany(why.to_owned()));
    world.settle::<CodeGenRun>("count").await;
    assert_eq!(pushed(&world).as_deref(), Some("False OutputsTooMany"));
    let words = message(&world);
    assert!(words.starts_with(why) && !words.contains("Secret"), "{words}");
    assert_eq!(times(&world, "create Pod push"), 1);
    for component in ["push", "snapshot"] {
        let left = world.server.of_component("secrets", component);
        assert_eq!(left.len(), 0, "{component}");
    }
    world.restart().await;
    assert_eq!(
        world.reconcile::<CodeGenRun>("count").await,
        Action::await_change()
    );
    assert_eq!(times(&world, "create Pod"), 0);
    time_is_over(&world);
    world.reconcile::<CodeGenRun>("count").await;
    assert_eq!(world.server.all("codegenruns").len(), 0);
}

#[rstest]
#[case::credentials(PushReport::Unauthorized)]
#[case::anything_else(PushReport::Refused)]
#[tokio::test]
async fn a_registry_that_refuses_after_the_check_costs_ever_fewer_pods(
    #[case] report: fn(String) -> PushReport,
) {
    let mut world = ended().await;
    let again_after = |seconds| Action::requeue(Duration::from_secs(seconds));
    let refused = || report("registry.example rejected the upload: 413".to_owned());
    world.node.pushes.push_back(refused());
    assert_eq!(world.settle::<CodeGenRun>("count").await, again_after(20));
    assert_eq!(pushed(&world).as_deref(), Some("False PushRefused"));
    world.node.pushes.push_back(refused());
    said_long_ago(&world);
    long_ago(&world);
    world.reconcile::<CodeGenRun>("count").await;
    assert_eq!(world.settle::<CodeGenRun>("count").await, again_after(600));
    assert_eq!(times(&world, "create Pod push"), 2);
}

#[rstest]
#[case::credentials(PushReport::Unauthorized("registry.example refused the login".to_owned()), true)]
#[case::of_the_claim(PushReport::Refused("words: cannot read words on the claim results".to_owned()), false)]
#[tokio::test]
async fn only_refused_credentials_send_their_reader_to_a_secret(
    #[case] report: PushReport,
    #[case] is_sent: bool,
) {
    let mut world = ended().await;
    world.node.pushes.push_back(report);
    world.settle::<CodeGenRun>("count").await;
    assert_eq!(pushed(&world).as_deref(), Some("False PushRefused"));
    let words = message(&world);
    assert_eq!(words.contains("pushSecretRef"), is_sent, "{words}");
}

#[tokio::test]
async fn no_variable_of_a_push_holds_the_password_of_a_proxy() {
    let proxy = "http://user:hunter2@proxy.example:3128";
    let settings = format!("{OPERATOR}\nbuild: {{env: {{HTTPS_PROXY: '{proxy}'}}}}");
    let mut world = configured(&settings).await;
    world.until::<CodeGenRun>("count", SUCCEEDED).await;
    world.reconcile::<CodeGenRun>("count").await;
    let pods = world.server.of_component("pods", "push");
    let [pod] = pods.as_slice() else {
        panic!("{pods:?}");
    };
    let variables = pod["spec"]["containers"][0]["env"].as_array().unwrap();
    assert!(
        variables
            .iter()
            .all(|variable| !variable["name"].as_str().unwrap().ends_with("PROXY")),
        "{variables:?}"
    );
    let everything = json!([world.server.all("pods"), world.server.all("secrets")]).to_string();
    assert!(!everything.contains("hunter2"));
    // The Pod itself has it.
    let job: Value = serde_json::from_slice(&body_of(&world.server, pod, "push")).unwrap();
    assert_eq!(job["access"]["proxies"]["https"], proxy);
}

#[tokio::test]
async fn a_condition_of_a_run_shows_what_a_terminal_would_obey() {
    let odd = "pages/\u{1b}[2Jevil is not a file";
    let shown = "pages/\\u{1b}[2Jevil is not a file";
    let mut world = ended().await;
    world.node.pushes.push_back(PushReport::Refused(odd.to_owned()));
    world.settle::<CodeGenRun>("count").await;
    let words = message(&world);
    assert!(words.ends_with(shown), "{words}");

    let mut world = applied().await;
    world.node.found = vec![FoundOutput::Wrong(odd.to_owned())];
    world.until::<CodeGenRun>("count", "Failed OutputInvalid").await;
    let status = &world.object::<CodeGenRun>("count")["status"];
    let words = status["message"].as_str().unwrap();
    assert!(words.contains(shown), "{words}");
    let mut conditions = status["conditions"].as_array().unwrap().iter();
    assert!(conditions.any(|condition| condition["message"] == words));
    assert!(!status["conditions"].to_string().contains("\\u001b"));
}

#[rstest]
#[case::refused(PushReport::Refused("registry.example refused the login".to_owned()), "False PushRefused")]
#[case::failed(PushReport::Failed("registry.example failed at the login".to_owned()), "False RegistryUnreachable")]
#[tokio::test]
async fn a_push_in_vain_is_made_again_by_another_pod_when_its_answer_holds_no_longer(
    #[case] report: PushReport,
    #[case] said: &str,
) {
    let mut world = ended().await;
    world.node.pushes.push_back(report);
    world.settle::<CodeGenRun>("count").await;
    assert_eq!(pushed(&world).as_deref(), Some(said));
    let words = message(&world);
    assert!(
        words.starts_with("the outputs are not pushed yet: registry.example "),
        "{words}"
    );
    assert_eq!(times(&world, "create Pod push"), 1);
    // Its answer holds.
    world.reconcile::<CodeGenRun>("count").await;
    assert_eq!(times(&world, "create Pod push"), 0);

    long_ago(&world);
    world.reconcile::<CodeGenRun>("count").await;
    assert_eq!(world.server.of_component("pods", "push").len(), 0);
    world.reconcile::<CodeGenRun>("count").await;
    assert_eq!(times(&world, "create Pod push"), 1);
    // What was in the way stays said until there is something else to say.
    assert_eq!(pushed(&world).as_deref(), Some(said));
    world.node.end_pods(&world.server).await;
    world.reconcile::<CodeGenRun>("count").await;
    assert_eq!(pushed(&world).as_deref(), Some("True Pushed"));
}

#[tokio::test]
async fn a_registry_that_refuses_costs_no_pod() {
    let mut world = ended().await;
    time_is_over(&world);
    world.registry.refuses(true);
    world.reconcile::<CodeGenRun>("count").await;
    assert_eq!(pushed(&world).as_deref(), Some("False PushRefused"));
    let words = message(&world);
    assert!(words.contains("spec.outputs.artifact.pushSecretRef"), "{words}");
    assert_eq!(times(&world, "create Pod"), 0);
    assert_eq!(
        world.server.all("codegenruns").len(),
        1,
        "its time is over, and it stays"
    );
    world.registry.refuses(false);
    world.reconcile::<CodeGenRun>("count").await;
    assert_eq!(
        times(&world, "create Pod"),
        0,
        "the registry is left alone for now"
    );
    let uid = world.cached::<CodeGenRun>("count").uid().unwrap();
    world.context.runs.push_is_over(&uid);
    world.settle::<CodeGenRun>("count").await;
    assert_eq!(
        world.server.all("codegenruns").len(),
        0,
        "it is pushed, and then it goes"
    );
}

#[tokio::test]
async fn a_secret_that_is_not_there_is_named_and_mounted_when_it_is() {
    let mut world = ended().await;
    world.server.edit("codegenruns", "count", |run| {
        run["spec"]["outputs"]["artifact"]["pushSecretRef"] = json!({"name": "registry"});
    });
    world.reconcile::<CodeGenRun>("count").await;
    assert_eq!(pushed(&world).as_deref(), Some("False PushRefused"));
    assert!(
        message(&world).contains("Secret data/registry"),
        "{}",
        message(&world)
    );
    world.server.create(json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson",
        "metadata": {"name": "registry", "labels": {"codegen-operator.dev/use": "registry"}},
        "data": {".dockerconfigjson": "e30="},
    }));
    world.reconcile::<CodeGenRun>("count").await;
    let pods = world.server.of_component("pods", "push");
    let volumes = pods[0]["spec"]["volumes"].as_array().unwrap();
    let secrets: Vec<&Value> = volumes
        .iter()
        .filter(|volume| volume["name"] == "push-credentials")
        .map(|volume| &volume["secret"]["secretName"])
        .collect();
    assert_eq!(secrets, ["registry"]);
}
