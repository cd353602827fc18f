//! What stands under the name of something of ours is taken for it only when it is what we would have made.

use codegen_core::sandbox::{Job, PhaseEnd, Report};
use codegen_core::stage::Category;
use codegen_sandbox::{Progressing, Sandbox as _, SandboxError};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use kube::Api;
use kube::api::DeleteParams;
use serde_json::{Value, json};

use crate::hostile::without::{Without, command, start_unseen};
use crate::support::{World, create, job, program};

/// What our code makes is left as it is.
const AS_IT_IS: Without = Without {
    what: "nothing",
    pod: |_| {},
    harness: &[],
};
/// A harness that says of every program that it ended well.
const FORGED: &[(&str, &str, &str)] = &[("phases.py", "\"solution.py\", *phase[\"args\"]", "\"-c\", \"\"")];
/// A program in place of the harness, with a key that is in its Pod: it signs what it likes.
const LIAR: &str = r#"
import sys
sys.path.insert(0, "/harness")
import main, phases
run = phases.run
phases.run = lambda argv, *arguments, **named: run([sys.executable, "-c", ""], *arguments, **named)
main.main_in_pod(sys.executable)
"#;

/// Puts the ConfigMap `planted` in the place of the harness.
fn mount_the_planted(pod: &mut Value) {
    let volumes = pod["spec"]["volumes"].as_array_mut().unwrap();
    let harness = volumes.iter_mut().find(|volume| volume["name"] == "harness");
    harness.unwrap()["configMap"]["name"] = json!("planted");
}

/// A program that fails.
fn failing() -> Job {
    job(vec![program("raise SystemExit(7)\n", &[])])
}

/// Whether a report says that the program ended well.
fn is_passed(ran: &Result<Progressing<Report>, SandboxError>) -> bool {
    matches!(ran, Ok(Progressing::Done(report)) if report.phases[0].end == PhaseEnd::Exited(0))
}

fn refused(error: &SandboxError, words: &str) {
    assert_eq!(error.category(), Category::Configuration, "{error}");
    assert!(error.to_string().contains(words), "{error}");
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn a_harness_that_somebody_planted_is_named_and_starts_in_no_sandbox() {
    let world = World::new("planted").await;
    // It is there once, then it is another one.
    world.run(&job(vec![program("", &[])])).await;
    let maps: Api<ConfigMap> = Api::namespaced(world.client.clone(), &world.namespace);
    let names = world.names::<ConfigMap>().await;
    let name = names
        .iter()
        .find(|name| name.starts_with("codegen-harness-"))
        .unwrap();
    let mut planted = maps.get(name).await.unwrap();
    let files = planted.data.as_mut().unwrap();
    let phases = files.get_mut("phases.py").unwrap();
    assert!(phases.contains(FORGED[0].1), "{phases}");
    *phases = phases.replace(FORGED[0].1, FORGED[0].2);

    // Should it be planted between our look and the node's, the Pod itself sees it.
    let content = json!({"metadata": {"name": "planted"}, "data": planted.data});
    create(&maps, &serde_json::from_value(content).unwrap()).await;
    let mounted = Without {
        what: "that the harness which is mounted is ours",
        pod: mount_the_planted,
        harness: &[],
    };
    let pod = world.weaken(&failing(), &mounted).await;
    let error = world.reported_by(&pod).await.expect_err("it was started");
    assert!(
        error
            .to_string()
            .contains("/harness is not what the operator wrote"),
        "{error}"
    );
    // Without that look it runs, and what it says is believed.
    let unseen = Without {
        what: "that the harness is looked at before it is started",
        pod: |pod| {
            mount_the_planted(pod);
            start_unseen(pod);
        },
        harness: &[],
    };
    let pod = world.weaken_try(&failing(), &unseen, 2).await;
    let believed = world.reported_by(&pod).await;
    assert!(is_passed(&believed), "the attack is none: {believed:?}");

    maps.delete(name, &DeleteParams::default()).await.unwrap();
    let planted = json!({"metadata": {"name": name, "labels": planted.metadata.labels}, "data": planted.data, "immutable": true});
    create(&maps, &serde_json::from_value(planted).unwrap()).await;
    let error = world.fail(&failing()).await;
    refused(&error, &format!("ConfigMap {}/{name}", world.namespace));
    assert!(error.to_string().contains("delete it"), "{error}");
    maps.delete(name, &DeleteParams::default()).await.unwrap();
    world.run(&failing()).await;
    world.end().await;
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn a_pod_that_somebody_put_in_the_place_of_a_sandbox_is_not_believed() {
    let world = World::new("another").await;
    let liar = Without {
        what: "that the Pod is the one that was made",
        pod: |pod| {
            pod["metadata"]["labels"]["codegen-operator.dev/component"] = json!("sandbox");
            let container = &mut pod["spec"]["containers"][0];
            let variables = container["env"].as_array_mut().unwrap();
            let key = variables
                .iter_mut()
                .find(|variable| variable["name"] == "CODEGEN_NONCE");
            key.unwrap()["value"] = json!("ab".repeat(32));
            command(pod, LIAR);
        },
        harness: &[],
    };
    let pod = world.weaken(&failing(), &liar).await;
    assert!(is_passed(&world.reported_by(&pod).await), "the attack is none");

    let error = world.run_try(&failing(), 1).await.expect_err("it was believed");
    assert!(matches!(error, SandboxError::Lost { .. }), "{error}");
    assert!(error.to_string().contains(&pod), "{error}");
    assert!(error.to_string().contains("its command differs"), "{error}");
    // The next try is a Pod of ours.
    let report = world.run_to_its_end(world.image(), &failing(), 2).await;
    assert!(
        matches!(report, Ok(Progressing::Done(_))) && !is_passed(&report),
        "{report:?}"
    );

    let stranger = Without {
        pod: |pod| command(pod, LIAR),
        ..AS_IT_IS
    };
    let pod = world.weaken_try(&failing(), &stranger, 3).await;
    let error = world.run_try(&failing(), 3).await.expect_err("it was believed");
    refused(&error, "the operator did not make it");
    assert!(
        world.pods().get_opt(&pod).await.unwrap().is_some(),
        "what is not ours is not deleted"
    );
    world.end().await;
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn a_job_that_somebody_planted_is_named() {
    let mut world = World::new("job").await;
    world.settings.sandbox.node_selector = [("pool".to_owned(), "nowhere".to_owned())].into();
    let begun = world.sandbox().run(world.image(), &failing(), 0).await.unwrap();
    assert!(matches!(begun, Progressing::Pending), "{begun:?}");
    let name = world.names::<Pod>().await.remove(0);
    world.until_unschedulable(&name).await;
    let secrets: Api<Secret> = Api::namespaced(world.client.clone(), &world.namespace);
    let ours = secrets.get(&name).await.unwrap();
    let remove_pod = async || {
        let now = DeleteParams::default().grace_period(0);
        world.pods().delete(&name, &now).await.unwrap();
        world.until_no_pods().await;
    };
    remove_pod().await;
    // The operator's own is taken, with the key that it was encrypted with.
    let begun = world.run_try(&failing(), 0).await.unwrap();
    assert!(matches!(begun, Progressing::Pending), "{begun:?}");
    world.until_unschedulable(&name).await;
    assert_eq!(secrets.get(&name).await.unwrap().data, ours.data);
    let key = world.pods().get(&name).await.unwrap().spec.unwrap().containers[0]
        .env
        .iter()
        .flatten()
        .find(|variable| variable.name == "CODEGEN_JOB_KEY")
        .and_then(|variable| variable.value.clone())
        .unwrap();
    assert_eq!(key.as_bytes(), ours.data.as_ref().unwrap()["key"].0);
    remove_pod().await;
    secrets.delete(&name, &DeleteParams::default()).await.unwrap();
    let planted: Value = json!({
        "metadata": {"name": name, "labels": ours.metadata.labels}, "type": ours.type_, "immutable": true,
        "stringData": {"job.json": "{}"},
    });
    create(&secrets, &serde_json::from_value(planted).unwrap()).await;
    let error = world.run_try(&failing(), 0).await.expect_err("it was taken");
    refused(&error, &format!("Secret {}/{name}", world.namespace));

    secrets.delete(&name, &DeleteParams::default()).await.unwrap();
    world.settings.sandbox.node_selector.clear();
    world.run(&failing()).await;
    world.end().await;
}
