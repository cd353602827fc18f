//! Runs of a finished task's program.

use std::collections::BTreeMap;
use std::time::Duration;

use codegen_api::CodeGenRun;
use codegen_api::run_status::{RunOutputStatus, Severity};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::api::ListParams;
use kube::runtime::wait::await_condition;
use serde_json::{Value, json};

use crate::space::{SOON, Space, TO_THE_END, in_space, kubectl_refused};

const TASK: &str = "penguin-masses";
const HEADER: &str = "species,island,bill_length_mm,bill_depth_mm,flipper_length_mm,body_mass_g,sex,year\n";

pub fn manifest(name: &str, spec: &Value) -> Value {
    let mut spec = spec.clone();
    if spec.get("taskRef").is_none() {
        spec["taskRef"] = json!({"name": TASK});
    }
    json!({
        "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenRun",
        "metadata": {"name": name}, "spec": spec,
    })
}

/// Applies a run of the penguins, or of the task that the spec names.
pub fn apply(space: &Space, name: &str, spec: &Value) {
    space.apply_objects(&[manifest(name, spec)]);
}

fn measurements(rows: &str) -> Value {
    json!({"name": "measurements", "source": {"inline": format!("{HEADER}{rows}")}})
}

pub fn condition<'a>(run: &'a CodeGenRun, type_: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let conditions = &run.status.as_ref()?.conditions;
    let found = conditions.iter().find(|condition| condition.type_ == type_)?;
    Some((&found.status, &found.reason, &found.message))
}

/// The run as soon as it is `what`; fails with its status after `patience`.
pub async fn until(
    space: &Space,
    name: &str,
    what: &str,
    patience: Duration,
    is: impl Fn(&CodeGenRun) -> bool,
) -> CodeGenRun {
    let wait = await_condition(space.api::<CodeGenRun>(), name, |run: Option<&CodeGenRun>| {
        run.is_some_and(&is)
    });
    if let Ok(found) = tokio::time::timeout(patience, wait).await {
        return found.unwrap().unwrap();
    }
    let run = space.api::<CodeGenRun>().get(name).await.unwrap();
    let status = serde_json::to_string_pretty(&run.status).unwrap();
    panic!("{name} is not {what} after {} s: {status}", patience.as_secs());
}

async fn end(space: &Space, name: &str) -> CodeGenRun {
    until(space, name, "at its end", 2 * SOON, |run| {
        matches!(condition(run, "Succeeded"), Some(("True" | "False", _, _)))
    })
    .await
}

/// The run at its end, which must be a good one.
pub async fn succeeded(space: &Space, name: &str) -> CodeGenRun {
    let run = end(space, name).await;
    let said = condition(&run, "Succeeded");
    assert!(matches!(said, Some(("True", ..))), "{name}: {said:?}");
    run
}

pub async fn failed(space: &Space, name: &str) -> (CodeGenRun, String, String) {
    let run = end(space, name).await;
    let (status, reason, message) = condition(&run, "Succeeded").unwrap();
    assert_eq!(status, "False", "{name}: {message}");
    let (reason, message) = (reason.to_owned(), message.to_owned());
    (run, reason, message)
}

/// What a run says that waits for somebody, for this reason.
pub async fn stalled(space: &Space, name: &str, reason: &str) -> String {
    let run = until(
        space,
        name,
        reason,
        SOON,
        |run| matches!(condition(run, "Stalled"), Some(("True", found, _)) if found == reason),
    )
    .await;
    assert_eq!(condition(&run, "Succeeded").unwrap().0, "Unknown");
    condition(&run, "Stalled").unwrap().2.to_owned()
}

/// What the status says of an output.
pub fn output<'a>(run: &'a CodeGenRun, name: &str) -> &'a RunOutputStatus {
    let outputs = &run.status.as_ref().unwrap().outputs;
    outputs.iter().find(|output| output.name == name).unwrap()
}

pub async fn content(space: &Space, output: &RunOutputStatus) -> String {
    let file = &output.files[0];
    let secret = space.api::<Secret>().get(&file.secret).await.unwrap();
    assert_eq!(secret.type_.as_deref(), Some("codegen-operator.dev/outputs"));
    String::from_utf8(secret.data.unwrap()[&file.key].0.clone()).unwrap()
}

/// Names of the Pods that ran for each run, as the kubelet told in Events.
pub async fn pods_of(space: &Space) -> BTreeMap<String, usize> {
    let events = space
        .api::<k8s_openapi::api::core::v1::Event>()
        .list(&ListParams::default().fields("involvedObject.kind=Pod,reason=Created"))
        .await
        .unwrap();
    let mut pods = BTreeMap::new();
    for event in events {
        let pod = event.involved_object.name.unwrap_or_default();
        let run = pod.rsplit_once('-').map_or("", |(run, _)| run).to_owned();
        *pods.entry(run).or_default() += 1;
    }
    pods
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn runs_of_a_task_have_inputs_and_outputs_of_their_own_and_build_nothing() {
    in_space("runs", async |space| {
        // Before there is a task: they wait, and go on by themselves.
        apply(
            space,
            "early",
            &json!({"inputs": [{"name": "decimals", "value": "2"}]}),
        );
        let message = stalled(space, "early", "TaskNotFound").await;
        assert!(message.contains(&format!("{}/{TASK}", space.name)), "{message}");
        space.copy_secret("openai").await;
        space.apply("examples/penguins", "penguins");
        until(space, "early", "waiting for its task", SOON, |run| {
            matches!(condition(run, "Reconciling"), Some(("True", "AwaitingTask", _)))
        })
        .await;
        let task = space.succeeded(TASK).await;
        let early = until(space, "early", "at its end", TO_THE_END, |run| {
            matches!(condition(run, "Succeeded"), Some(("True", ..)))
        })
        .await;
        let status = early.status.as_ref().unwrap();
        assert_eq!(status.image, task.status.as_ref().unwrap().image);
        let pinned = status.task.as_ref().unwrap();
        assert_eq!(Some(&pinned.uid), task.metadata.uid.as_ref());
        assert_eq!(pinned.generation, task.metadata.generation.unwrap());
        let names: Vec<&str> = status.outputs.iter().map(|output| output.name.as_str()).collect();
        assert_eq!(names, ["summary", "species"], "not in declared order");
        assert_eq!(output(&early, "species").value.as_deref(), Some("3"));
        assert!(
            content(space, output(&early, "summary"))
                .await
                .contains("Adelie,151,3700.66")
        );

        other_inputs_give_other_outputs(space).await;
        bad_values_are_refused_by_name(space).await;
        a_failing_program_says_why(space).await;
        data_that_breaks_a_rule_is_a_warning_or_an_error(space).await;
        the_same_again_is_taken_from_the_run_before(space).await;
        an_output_is_the_input_of_another_run(space).await;
        a_run_goes_when_its_time_is_over(space).await;

        let jobs = space
            .api::<Job>()
            .list(&ListParams::default())
            .await
            .unwrap()
            .items;
        assert_eq!(jobs.len(), 1, "something was built for a run: {jobs:#?}");
        a_run_stays_as_it_was_made(space);
        nothing_is_left(space).await;
    })
    .await;
}

fn a_run_stays_as_it_was_made(space: &Space) {
    let refused = kubectl_refused(
        &[
            "--namespace",
            &space.name,
            "patch",
            "codegenrun",
            "early",
            "--type=merge",
            "--patch",
            r#"{"spec": {"inputs": [{"name": "decimals", "value": "3"}]}}"#,
        ],
        "",
    );
    assert!(refused.contains("make another CodeGenRun"), "{refused}");
}

async fn other_inputs_give_other_outputs(space: &Space) {
    let example =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/penguins/run.yaml")).unwrap();
    let example: Value = serde_saphyr::from_str(&example).unwrap();
    space.apply_objects(&[example]);
    for number in 0..5 {
        let rows = format!("Emu,Dream,1.5,1.5,1,{},male,2027\n", 3000 + number);
        apply(
            space,
            &format!("at-once-{number}"),
            &json!({"inputs": [measurements(&rows)]}),
        );
    }
    for number in 0..5 {
        let run = succeeded(space, &format!("at-once-{number}")).await;
        let summary = content(space, output(&run, "summary")).await;
        assert!(
            summary.contains(&format!("Emu,1,{}.0", 3000 + number)),
            "{summary}"
        );
        assert_eq!(output(&run, "species").value.as_deref(), Some("1"));
    }
    let run = succeeded(space, "penguins-2027").await;
    let summary = content(space, output(&run, "summary")).await;
    assert!(
        summary.contains("Adelie,2,3600.5") && summary.contains("Gentoo,1,4500"),
        "{summary}"
    );
}

async fn bad_values_are_refused_by_name(space: &Space) {
    let inputs = json!([{"name": "decimals", "value": "ten"}, {"name": "mesurements", "value": "x"}]);
    apply(space, "bad", &json!({"inputs": inputs}));
    let message = stalled(space, "bad", "InvalidInputs").await;
    for part in [
        r#"input "decimals" is an Int, "ten" is not"#,
        r#"did you mean "measurements"?"#,
    ] {
        assert!(message.contains(part), "{message}");
    }
    space.kubectl(&["delete", "codegenrun", "bad"]);
}

async fn a_failing_program_says_why(space: &Space) {
    let source = json!({"inline": "kind,mass\nEmu,3000\n"});
    apply(
        space,
        "broken",
        &json!({"inputs": [{"name": "measurements", "source": source}]}),
    );
    let (run, reason, message) = failed(space, "broken").await;
    assert_eq!(reason, "ProgramFailed");
    assert!(message.contains("exit code 1"), "{message}");
    let status = run.status.unwrap();
    assert_eq!((status.exit_code, status.executions), (Some(1), 0));
    let lines = status.last_lines.unwrap();
    assert!(lines.contains("KeyError"), "{lines}");
    assert!(
        status
            .findings
            .iter()
            .any(|finding| finding.check.contains("the columns") && finding.column.contains("body_mass_g")),
        "{:?}",
        status.findings
    );
}

async fn data_that_breaks_a_rule_is_a_warning_or_an_error(space: &Space) {
    let heavy = json!({"inputs": [measurements("Emu,Dream,1.5,1.5,1,90000,male,2027\n")]});
    apply(space, "heavy", &heavy);
    let mut enforced = heavy;
    enforced["validation"] = json!("Enforce");
    apply(space, "enforced", &enforced);
    let (_, reason, message) = failed(space, "enforced").await;
    assert_eq!(reason, "CheckFailed");
    assert!(
        message.contains("body_mass_g") && message.contains("90000"),
        "{message}"
    );
    let run = succeeded(space, "heavy").await;
    let findings = run.status.unwrap().findings;
    let told = findings
        .iter()
        .find(|finding| finding.column == "body_mass_g")
        .unwrap();
    assert_eq!((told.severity, told.count), (Severity::Warning, 1), "{told:?}");
}

async fn the_same_again_is_taken_from_the_run_before(space: &Space) {
    let same = json!({"inputs": [{"name": "decimals", "value": "2"}]});
    apply(space, "again", &same);
    let mut computed = same;
    computed["cache"] = json!("Disable");
    apply(space, "computed", &computed);
    let again = succeeded(space, "again").await;
    let (_, reason, message) = condition(&again, "Succeeded").unwrap();
    assert_eq!(reason, "OutputsAdopted", "{message}");
    assert_eq!(
        again.status.as_ref().unwrap().adopted_from.as_deref(),
        Some("early")
    );
    succeeded(space, "computed").await;
    // What was taken is the run's own.
    space.kubectl(&["delete", "codegenrun", "early"]);
    assert!(
        content(space, output(&again, "summary"))
            .await
            .contains("Adelie,151,3700.66")
    );
    let pods = pods_of(space).await;
    assert_eq!(
        (pods.get("again"), pods.get("computed")),
        (None, Some(&1)),
        "{pods:?}"
    );
    apply(
        space,
        "early",
        &json!({"inputs": [{"name": "decimals", "value": "2"}]}),
    );
    succeeded(space, "early").await;
}

async fn an_output_is_the_input_of_another_run(space: &Space) {
    let from = |run: &str| json!({"name": "measurements", "source": {"runOutput": {"run": run, "output": "summary"}}});
    // It fails, for a summary has no masses; what counts is that it got it, and when.
    apply(
        space,
        "next",
        &json!({"inputs": [from("first")], "validation": "Off"}),
    );
    until(space, "next", "told what is missing", SOON, |run| {
        matches!(condition(run, "Stalled"), Some(("True", "Configuration", message)) if message.contains("first"))
    })
    .await;
    apply(
        space,
        "first",
        &json!({"inputs": [{"name": "decimals", "value": "3"}]}),
    );
    let first = succeeded(space, "first").await;
    let (next, ..) = failed(space, "next").await;
    let inputs = next.status.unwrap().inputs;
    let got = inputs.iter().find(|input| input.name == "measurements").unwrap();
    assert_eq!(got.sha256.as_ref(), Some(&output(&first, "summary").sha256));
}

async fn a_run_goes_when_its_time_is_over(space: &Space) {
    let brief = json!({"inputs": [{"name": "decimals", "value": "2"}], "ttlSecondsAfterFinished": 0});
    apply(space, "brief", &brief);
    let gone = await_condition(space.api::<CodeGenRun>(), "brief", |run: Option<&CodeGenRun>| {
        run.is_none()
    });
    let seen = tokio::time::timeout(TO_THE_END, gone).await;
    assert!(seen.is_ok(), "a run whose time is over is still there");
}

async fn nothing_is_left(space: &Space) {
    space.kubectl(&["delete", "codegenruns", "--all"]);
    let left = async || {
        let of_runs = ListParams::default().labels("codegen-operator.dev/run");
        let pods = space.api::<Pod>().list(&of_runs).await.unwrap().items.len();
        let secrets = space.api::<Secret>().list(&of_runs).await.unwrap();
        pods + secrets.items.len()
    };
    let mut look = tokio::time::interval(Duration::from_millis(200));
    let begun = std::time::Instant::now();
    loop {
        look.tick().await;
        let objects = left().await;
        if objects == 0 {
            return;
        }
        assert!(
            begun.elapsed() < SOON,
            "{objects} objects of deleted runs are left"
        );
    }
}
