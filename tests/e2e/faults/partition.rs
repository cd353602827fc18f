//! An operator that is cut off from the API server, is stopped, or dies.

use std::time::{Duration, Instant};

use codegen_api::CodeGenTask;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, DeleteParams};
use kube::{Client, ResourceExt as _};

use super::model::Model;
use super::own::{Own, apply};
use super::proxy::{Fault, Which};
use super::remains::{expect_nothing_left, remains};
use super::{RECORDING, expect_same_end, seed};
use crate::space::{OPERATOR_NAMESPACE, SOON, Space, in_space};

const TASK: &str = "t1";
/// How long the model takes.
const LATENCY: Duration = Duration::from_secs(4);
/// Time of the Lease, by default.
const LEASE: Duration = Duration::from_secs(15);

/// The task as soon as its call `number` is under way.
async fn in_call(space: &Space, model: &Model, number: u64) {
    let begun = Instant::now();
    let mut look = tokio::time::interval(Duration::from_millis(50));
    space
        .until(TASK, "under way", SOON, |task| {
            task.status.as_ref().is_some_and(|status| status.run.is_some())
        })
        .await;
    while model.asked(TASK).await.requests < number {
        assert!(begun.elapsed() < SOON, "call {number} is not made");
        look.tick().await;
    }
}

/// The operator hears nothing for so long while a call is in flight, and later while none is.
async fn cut_off(name: &str, long: Duration) {
    in_space(name, async |space| {
        let model = Model::start(space, RECORDING, &[TASK], LATENCY).await;
        let own = Own::start(space, &model, seed()).await;
        apply(space, &model, TASK);
        in_call(space, &model, 2).await;
        own.proxy.set(Fault::BlackHole);
        tokio::time::sleep(long).await;
        own.proxy.set(Fault::None);
        let back = Instant::now();
        let lost = expect_same_end(space, &model, TASK).await;
        eprintln!(
            "cut off for {} s in a call, {:?}: {lost} calls lost, succeeded {:.1} s after",
            long.as_secs(),
            own.proxy.met(),
            back.elapsed().as_secs_f64()
        );
        assert_eq!(lost, 0, "the operator lived on and had the reply");
        expect_nothing_left(space, &[TASK]).await;
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn an_operator_that_was_cut_off_during_a_call_records_its_reply_when_it_is_back() {
    cut_off("faults-cut-off", Duration::from_secs(10)).await;
}

pub async fn cut_off_for_a_minute() {
    cut_off("faults-partition", Duration::from_mins(1)).await;
}

/// Two operators, of which the first leads.
async fn two(space: &Space, model: &Model) -> (Own, Own) {
    let first = Own::candidate(space, model, seed()).await;
    let begun = Instant::now();
    let mut look = tokio::time::interval(Duration::from_millis(50));
    while !first.log().contains("this operator leads") {
        assert!(begun.elapsed() < SOON, "nobody leads");
        look.tick().await;
    }
    (first, Own::candidate(space, model, seed()).await)
}

async fn remove_lease(client: &Client, name: &str) {
    let leases = Api::<Lease>::namespaced(client.clone(), OPERATOR_NAMESPACE);
    leases.delete(name, &DeleteParams::default()).await.unwrap();
}

/// Seconds until the task is written again.
async fn next_step(space: &Space, patience: Duration) -> Duration {
    let since = Instant::now();
    let seen = space
        .api::<CodeGenTask>()
        .get(TASK)
        .await
        .unwrap()
        .resource_version();
    space
        .until(TASK, "written again", patience, |task| {
            task.resource_version() != seen
        })
        .await;
    since.elapsed()
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn when_the_leader_of_two_is_killed_its_task_goes_on_within_the_time_of_the_lease() {
    in_space("faults-failover", async |space| {
        let model = Model::start(space, RECORDING, &[TASK], LATENCY).await;
        let (mut first, second) = two(space, &model).await;
        apply(space, &model, TASK);
        in_call(space, &model, 2).await;
        first.kill();
        let took = next_step(space, SOON).await;
        eprintln!(
            "leader killed to the next step of its task: {:.1} s, with a Lease of {} s",
            took.as_secs_f64(),
            LEASE.as_secs()
        );
        assert!(took <= LEASE + Duration::from_secs(2), "{took:?}");
        assert_eq!(
            expect_same_end(space, &model, TASK).await,
            1,
            "the call in flight"
        );
        // It removes what is needed no more after the end is written.
        expect_nothing_left(space, &[TASK]).await;
        drop(second);
        remove_lease(&space.client, &space.name).await;
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_leader_that_is_cut_off_ends_and_the_other_does_no_step_twice() {
    in_space("faults-two", async |space| {
        let model = Model::start(space, RECORDING, &[TASK], LATENCY).await;
        let (mut first, second) = two(space, &model).await;
        apply(space, &model, TASK);
        in_call(space, &model, 2).await;
        first.proxy.set(Fault::BlackHole);
        let took = next_step(space, SOON).await;
        eprintln!(
            "leader cut off to the next step of its task: {:.1} s",
            took.as_secs_f64()
        );
        let lost = expect_same_end(space, &model, TASK).await;
        assert_eq!(lost, 1, "the call in flight");
        first.proxy.set(Fault::None);
        assert_eq!(first.ended().await, Some(1));
        // It removes what is needed no more after the end is written.
        expect_nothing_left(space, &[TASK]).await;
        drop(second);
        remove_lease(&space.client, &space.name).await;
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn what_an_operator_did_not_remove_before_it_was_killed_the_next_one_removes() {
    in_space("faults-uncleared", async |space| {
        let model = Model::start(space, RECORDING, &[TASK], Duration::ZERO).await;
        let mut first = Own::start(space, &model, seed()).await;
        first.proxy.set(Fault::Refuse {
            status: 500,
            share: 1.0,
            which: Which::Deletions,
        });
        apply(space, &model, TASK);
        space.succeeded(TASK).await;
        first.kill();
        let left = remains(space).await;
        assert!(
            left.contains_key("Secret record") && left.contains_key("Pod sandbox"),
            "{left:?}"
        );
        let _second = Own::start(space, &model, seed()).await;
        expect_nothing_left(space, &[TASK]).await;
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn an_operator_stopped_during_a_call_records_it_and_the_next_one_goes_on() {
    in_space("faults-stop", async |space| {
        let model = Model::start(space, RECORDING, &[TASK], LATENCY).await;
        let mut first = Own::start(space, &model, seed()).await;
        apply(space, &model, TASK);
        in_call(space, &model, 2).await;
        first.terminate();
        assert_eq!(first.ended().await, Some(0));
        let _second = Own::start(space, &model, seed()).await;
        assert_eq!(expect_same_end(space, &model, TASK).await, 0);
        assert_eq!(model.asked(TASK).await.requests, 3);
        expect_nothing_left(space, &[TASK]).await;
    })
    .await;
}
