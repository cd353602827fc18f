//! What takes minutes or disturbs the whole cluster.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rstest::rstest;

use crate::faults::model::Model;
use crate::faults::own::{Own, apply};
use crate::faults::remains::expect_nothing_left;
use crate::faults::{RECORDING, api_server, expect_same_end, model_server, node, partition, registry, seed};
use crate::space::{SOON, TO_THE_END, in_space, stage_of};

const TASKS: [&str; 2] = ["t1", "t2"];

#[tokio::test]
#[ignore = "takes minutes: make e2e-full"]
async fn writes_that_the_api_server_refuses_again_and_again_cost_time_and_nothing_else() {
    api_server::tasks_end_alike_when_writes_fail().await;
}

#[tokio::test]
#[ignore = "takes minutes: make e2e-full"]
async fn watches_that_the_api_server_refuses_again_and_again_cost_time_and_nothing_else() {
    api_server::tasks_end_alike_when_watches_fail().await;
}

#[tokio::test]
#[ignore = "takes minutes: make e2e-full"]
async fn an_operator_that_was_cut_off_for_a_minute_goes_on_and_has_lost_nothing() {
    partition::cut_off_for_a_minute().await;
}

#[tokio::test]
#[ignore = "takes minutes: make e2e-full"]
async fn a_registry_that_fails_after_half_of_a_push_is_reported_and_waited_for() {
    registry::half_of_a_push().await;
}

#[tokio::test]
#[ignore = "disturbs the whole cluster, which must be our own: make e2e-full"]
async fn runs_whose_node_is_lost_say_so_and_end_alike_when_there_is_one_again() {
    node::lost_under_a_run().await;
}

#[tokio::test]
#[ignore = "takes ten minutes: make e2e-full"]
async fn a_model_that_is_down_for_ten_minutes_is_waited_for() {
    model_server::down_for_ten_minutes().await;
}

/// Kills the component, while the first task is at this stage.
#[rstest]
#[case::etcd_in_a_call("etcd", "GeneratingCode")]
#[case::etcd_in_a_build("etcd", "AwaitingImage")]
#[case::kubelet_in_a_build("kubelet", "AwaitingImage")]
#[case::kubelet_in_a_sandbox("kubelet", "RunningTests")]
#[case::containerd_in_a_build("containerd", "AwaitingImage")]
#[case::containerd_in_a_sandbox("containerd", "RunningTests")]
#[tokio::test]
#[ignore = "disturbs the whole cluster, which must be our own: make e2e-full"]
async fn a_component_of_the_cluster_that_is_killed_and_started_again_costs_nothing(
    #[case] component: &str,
    #[case] stage: &str,
) {
    in_space(&format!("faults-{component}"), async |space| {
        let model = Model::start(space, RECORDING, &TASKS, Duration::from_secs(2)).await;
        let own = Own::start(space, &model, seed()).await;
        for task in TASKS {
            apply(space, &model, task);
        }
        let patience = if stage == "GeneratingCode" {
            SOON
        } else {
            TO_THE_END
        };
        space
            .until(TASKS[0], stage, patience, |task| stage_of(task) == Some(stage))
            .await;
        restart(component);
        let back = Instant::now();
        for task in TASKS {
            let lost = expect_same_end(space, &model, task).await;
            assert_eq!(lost, 0, "the operator lived on");
        }
        eprintln!(
            "{component} killed at {stage}: both tasks have succeeded {:.1} s after it was back",
            back.elapsed().as_secs_f64()
        );
        expect_nothing_left(space, &TASKS).await;
        drop(own);
    })
    .await;
}

fn restart(component: &str) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/restart");
    let done = Command::new(script).arg(component).status().unwrap();
    assert!(done.success(), "restart {component}");
}
