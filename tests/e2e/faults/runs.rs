//! Runs of a finished program, while things go wrong around them.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::get;
use codegen_core::digest::sha256_hex;
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::ResourceExt as _;
use kube::api::{DeleteParams, ListParams};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::model::Model;
use super::own::{OPERATOR, Own, apply_manifest};
use super::proxy::Fault;
use super::seed;
use crate::run_command::{run_of, said};
use crate::runs::{condition, failed, manifest, output, pods_of, stalled, succeeded, until};
use crate::space::{SOON, Space, in_space};

const TASK: &str = "tables";
const REPLIES: &str = include_str!("../replies/tables.jsonl");

/// Runs a test beside an operator of its own and a task whose program writes tables, and ends as it is told.
pub async fn with_tables(
    name: &str,
    change: impl Fn(&mut Value),
    test: impl AsyncFnOnce(&Space, Own, &Model),
) {
    in_space(name, async |space| {
        let model = Model::start(space, REPLIES, &[TASK], Duration::ZERO).await;
        let own = Own::start_with(space, &model, seed(), |config| change(config)).await;
        apply_manifest(space, &model, "tests/e2e/manifests/tables.yaml", TASK);
        space.succeeded(TASK).await;
        test(space, own, &model).await;
    })
    .await;
}

/// Applies a run of the tables for the space's own operator.
pub fn apply(space: &Space, name: &str, spec: &Value) {
    let mut spec = spec.clone();
    spec["taskRef"] = json!({"name": TASK});
    // What one wrote would do for the next.
    if spec.get("cache").is_none() {
        spec["cache"] = json!("Disable");
    }
    let mut run = manifest(name, &spec);
    run["metadata"]["labels"] = json!({OPERATOR: space.name});
    space.apply_objects(&[run]);
}

pub fn way(way: &str) -> Value {
    json!({"inputs": [{"name": "way", "value": way}]})
}

/// The Pod of a run as soon as its program is under way.
pub async fn pod_of(space: &Space, run: &str) -> String {
    let which = ListParams::default().labels(&format!("codegen-operator.dev/run={run}"));
    let begun = Instant::now();
    let mut look = tokio::time::interval(Duration::from_millis(50));
    loop {
        look.tick().await;
        let pods = space.api::<Pod>().list(&which).await.unwrap().items;
        let runs = |pod: &&Pod| {
            let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
            phase == Some("Running") && pod.metadata.deletion_timestamp.is_none()
        };
        if let Some(pod) = pods.iter().find(runs) {
            return pod.name_any();
        }
        assert!(begun.elapsed() < SOON, "no Pod of {run} runs");
    }
}

/// Waits until nothing is there that a run needs on its way alone.
pub async fn expect_cleared(space: &Space, run: &str) {
    let which =
        format!("codegen-operator.dev/run={run},codegen-operator.dev/component in (sandbox,reader,snapshot)");
    let which = ListParams::default().labels(&which);
    let begun = Instant::now();
    let mut look = tokio::time::interval(Duration::from_millis(200));
    loop {
        look.tick().await;
        let pods = space.api::<Pod>().list_metadata(&which).await.unwrap().items;
        let secrets = space.api::<Secret>().list_metadata(&which).await.unwrap().items;
        if pods.is_empty() && secrets.is_empty() {
            return;
        }
        assert!(begun.elapsed() < SOON, "{run} left {pods:#?} and {secrets:#?}");
    }
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_run_goes_on_whatever_becomes_of_its_operator_and_its_sandbox() {
    let (address, served) = serve("number,square\n1,1\n2,4\n").await;
    let two_places = |config: &mut Value| {
        config["limits"]["maxConcurrentRuns"] = json!(2);
        config["egress"]["allow"] = json!([format!("http://{address}")]);
    };
    with_tables("faults-runs", two_places, async |space, mut own, model| {
        apply(space, "killed", &way("slowly"));
        pod_of(space, "killed").await;
        // Last, for its Pod must not end by itself before it is deleted.
        apply(space, "deleted", &way("slowly"));
        let pod = pod_of(space, "deleted").await;
        apply(space, "third", &way("well"));
        until(space, "third", "without a place", SOON, |run| {
            matches!(condition(run, "Reconciling"), Some(("True", "Queued", message)) if message.contains("limits.maxConcurrentRuns"))
        })
        .await;
        own.kill();
        own.ended().await;
        drop(own);
        space.api::<Pod>().delete(&pod, &DeleteParams::default()).await.unwrap();
        let own = Own::start_with(space, model, seed(), two_places).await;
        let killed = succeeded(space, "killed").await;
        assert_eq!(killed.status.unwrap().executions, 0, "it was started anew");
        let deleted = succeeded(space, "deleted").await;
        let status = deleted.status.unwrap();
        // It is counted where the new operator still saw it go; where it found none, that is the first as far as it knows. Two Pods are seen below.
        assert!(status.executions <= 1 && status.failures == 0, "{status:?}");
        succeeded(space, "third").await;

        the_lost_reply_to_the_last_write_leaves_nothing(space, &own).await;
        a_program_that_fails_is_run_as_often_as_it_may(space).await;
        an_input_comes_from_a_url(space, address, served).await;
        what_a_run_waits_for_brings_it_on(space).await;

        let pods = pods_of(space).await;
        let of = |run: &str| pods.get(run).copied().unwrap_or_default();
        let expected = [("killed", 1), ("deleted", 2), ("third", 1), ("last", 1), ("again", 3)];
        for (run, number) in expected {
            assert_eq!(of(run), number, "Pods of {run}: {pods:?}");
            expect_cleared(space, run).await;
        }
        for line in [
            // The one whose last reply was lost too.
            r#"codegen_operator_runs_ended_total{stage="Succeeded",reason="ProgramSucceeded"} 6"#,
            r#"codegen_operator_runs_ended_total{stage="Failed",reason="ProgramFailed"} 1"#,
            "codegen_operator_queued_runs 0",
            r#"codegen_operator_runs{stage="Failed"} 1"#,
        ] {
            own.counts(line).await;
        }
    })
    .await;
}

async fn the_lost_reply_to_the_last_write_leaves_nothing(space: &Space, own: &Own) {
    own.proxy.set(Fault::CutEnds);
    apply(space, "last", &way("well"));
    succeeded(space, "last").await;
    expect_cleared(space, "last").await;
    let met = own.proxy.met();
    own.proxy.set(Fault::None);
    assert!(met.contains_key("replies cut"), "{met:?}");
}

async fn a_program_that_fails_is_run_as_often_as_it_may(space: &Space) {
    let mut spec = way("badly");
    spec["sandbox"] = json!({"retries": 2});
    apply(space, "again", &spec);
    let (run, reason, message) = failed(space, "again").await;
    assert_eq!(reason, "ProgramFailed", "{message}");
    let status = run.status.unwrap();
    assert_eq!(
        (status.exit_code, status.executions, status.failures),
        (Some(3), 2, 2)
    );
}

async fn an_input_comes_from_a_url(space: &Space, address: SocketAddr, served: &'static str) {
    let from = |sha256: &str| {
        let source = json!({"url": format!("http://{address}/before.csv"), "sha256": sha256});
        json!({"inputs": [{"name": "before", "source": source}]})
    };
    apply(space, "downloaded", &from(&sha256_hex(served.as_bytes())));
    apply(space, "changed", &from(&"0".repeat(64)));
    let run = succeeded(space, "downloaded").await;
    assert_eq!(output(&run, "rows_before").value.as_deref(), Some("2"));
    let message = stalled(space, "changed", "Configuration").await;
    assert!(
        message.contains("before") && message.contains("sha256"),
        "{message}"
    );
}

async fn what_a_run_waits_for_brings_it_on(space: &Space) {
    let source = json!({"configMapKeyRef": {"name": "late", "key": "before.csv"}});
    apply(
        space,
        "waiting",
        &json!({"inputs": [{"name": "before", "source": source}]}),
    );
    let message = stalled(space, "waiting", "Configuration").await;
    assert!(
        message.contains("ConfigMap") && message.contains("late"),
        "{message}"
    );
    let map = |text: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late"}, "data": {"before.csv": text}});
    space.apply_objects(&[map("number,square\n1,1\n")]);
    let made = Instant::now();
    let run = succeeded(space, "waiting").await;
    eprintln!(
        "a run went on and ended {:.1} s after its ConfigMap was made",
        made.elapsed().as_secs_f64()
    );
    assert_eq!(output(&run, "rows_before").value.as_deref(), Some("1"));
}

/// Serves a text to whoever asks; where and what.
async fn serve(text: &'static str) -> (SocketAddr, &'static str) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().route("/before.csv", get(move || async move { text }));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (address, text)
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn outputs_that_are_too_large_stay_on_the_claim_that_the_run_names() {
    Box::pin(with_tables(
        "run-claims",
        |_| {},
        async |space, _own, _| {
            let large = |way: &str| {
                json!({
                    "inputs": [{"name": "rows", "value": "120000"}, {"name": "way", "value": way}],
                    "outputs": {"persistentVolumeClaim": {"claimName": "datasets", "path": "2027/tables"}},
                })
            };
            outputs_that_have_no_place_to_go_fail_their_run(space, &large).await;

            for name in ["slowly", "well", "privately", "linked", "badly"] {
                apply(space, name, &large(name));
            }
            // Nobody says whether it runs on: what comes after it writes elsewhere.
            let pod = pod_of(space, "slowly").await;
            let at_once = DeleteParams::default().grace_period(0);
            space.api::<Pod>().delete(&pod, &at_once).await.unwrap();
            let well = succeeded(space, "well").await;
            let place = on_claim(&well, "table");
            assert_eq!(place["claimName"], "datasets");
            let uid = well.metadata.uid.as_deref().unwrap();
            assert_eq!(place["path"], format!("2027/tables/well-{uid}/table"));
            assert_eq!(on_claim(&well, "pages")["files"], 2);
            let table = output(&well, "table");
            assert!(table.files.is_empty() && table.bytes > 1 << 20, "{table:?}");
            // What is small is as ever.
            let rows = output(&well, "rows_before");
            assert_eq!((rows.value.as_deref(), rows.claim.is_none()), (Some("1"), true));
            let (_, _, said) = condition(&well, "Ready").unwrap();
            assert!(said.contains("bytes on the claim datasets"), "{said}");

            let private = succeeded(space, "privately").await;
            assert_eq!(output(&private, "table").sha256, table.sha256);
            let (_, reason, message) = failed(space, "linked").await;
            assert_eq!(reason, "OutputInvalid");
            assert!(message.contains("table") && message.contains("link"), "{message}");
            failed(space, "badly").await;
            a_deleted_pod_leaves_the_folder_of_its_execution(space, &table.sha256).await;

            it_is_an_input_as_long_as_it_is_what_it_was(space, &large).await;
            one_command_says_where_it_lies(space);
            each_run_wrote_into_its_own_folder(space, uid).await;
        },
    ))
    .await;
}

/// Nowhere to go, no such claim, and one that root alone may write; then everybody may.
async fn outputs_that_have_no_place_to_go_fail_their_run(space: &Space, large: &impl Fn(&str) -> Value) {
    let mut nowhere = large("well");
    nowhere.as_object_mut().unwrap().remove("outputs");
    apply(space, "nowhere", &nowhere);
    apply(space, "early", &large("well"));
    let (_, reason, message) = failed(space, "nowhere").await;
    assert_eq!(reason, "OutputTooLarge");
    assert!(
        message.contains("spec.outputs.persistentVolumeClaim"),
        "{message}"
    );
    let message = stalled(space, "early", "Configuration").await;
    for part in ["/datasets with outputs", "create the claim, or correct claimName"] {
        assert!(message.contains(part), "{message}");
    }
    space.claim("datasets").await;
    let (_, reason, message) = failed(space, "early").await;
    assert_eq!(reason, "ClaimNotWritable", "{message}");
    assert!(message.contains("fsGroup"), "{message}");
    space
        .write(
            "open",
            "import os\nos.system('rm -r /claim/2027')\nos.chmod('/claim', 0o777)",
        )
        .await;
}

/// What a failed program wrote is not there; what others wrote is theirs. `uid` is that of the run `well`.
async fn each_run_wrote_into_its_own_folder(space: &Space, uid: &str) {
    let script = format!(
        "import os, pathlib\ntop = pathlib.Path('/claim/2027/tables')\n\
     own = {{name.split('-')[0]: sorted(os.listdir(top / name)) for name in os.listdir(top)}}\n\
     assert own['badly'] == [], own\nassert own['well'] == ['pages', 'rows_before', 'table'], own\n\
     assert (top / 'well-{uid}' / 'table').stat().st_mode & 0o444 == 0o444"
    );
    space.write("look", &script).await;
}

/// `slowly` is the run whose Pod was removed at once.
async fn a_deleted_pod_leaves_the_folder_of_its_execution(space: &Space, sha256: &str) {
    let run = succeeded(space, "slowly").await;
    let uid = run.metadata.uid.as_deref().unwrap();
    assert_eq!(
        on_claim(&run, "table")["path"],
        format!("2027/tables/slowly-{uid}-2/table")
    );
    assert_eq!(output(&run, "table").sha256, sha256);
    let status = run.status.as_ref().unwrap();
    assert_eq!((status.executions, status.failures), (1, 0));
}

fn one_command_says_where_it_lies(space: &Space) {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().display().to_string();
    let arguments = [
        TASK,
        "--input",
        "rows=120000",
        "--input",
        "way=well",
        "--output-claim",
        "datasets:2028",
        "--output-dir",
        &target,
    ];
    let (table, _) = said(&run_of(space, &arguments), 0);
    assert!(
        table.contains(&format!("bytes, on the claim datasets: 2028/{TASK}-")),
        "{table}"
    );
}

pub fn on_claim(run: &codegen_api::CodeGenRun, name: &str) -> Value {
    serde_json::to_value(output(run, name).claim.as_ref().unwrap()).unwrap()
}

async fn it_is_an_input_as_long_as_it_is_what_it_was(space: &Space, large: &impl Fn(&str) -> Value) {
    let from = |run: &str| {
        let source = json!({"runOutput": {"run": run, "output": "table"}});
        json!({"inputs": [{"name": "before", "source": source}]})
    };
    apply(space, "next", &from("privately"));
    let next = succeeded(space, "next").await;
    assert_eq!(output(&next, "rows_before").value.as_deref(), Some("120000"));
    // It is computed again, where outputs are to lie on a claim.
    let mut same = large("well");
    same["cache"] = json!("Auto");
    apply(space, "same", &same);
    let status = succeeded(space, "same").await.status.unwrap();
    assert_eq!(status.adopted_from, None);

    space
        .write(
            "change",
            "import pathlib\nfor table in pathlib.Path('/claim/2027/tables').glob('well-*/table'):\n    table.write_text('number,square\\n')",
        )
        .await;
    apply(space, "after", &from("well"));
    let message = stalled(space, "after", "Configuration").await;
    assert!(message.contains("sha256"), "{message}");
}
