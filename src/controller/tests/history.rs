//! Of the tasks that have ended only so many stay as the operator's settings say.

use rstest::rstest;
use serde_json::{Value, json};
use tokio::sync::broadcast::error::TryRecvError;

use crate::controller::tests::api_server::Fault;
use crate::controller::tests::world::World;
use codegen_api::CodeGenTask;

const SUCCEEDED: &str = "Succeeded Unverified";
const FAILED: &str = "Failed BudgetExceeded";

/// A task comes to this end at this second, and a pass sees it.
async fn ends(world: &mut World, name: &str, end: &str, second: u32) {
    let calls = if end == FAILED { 1 } else { 9 };
    // Nothing is taken over from a task that asked the same.
    let spec = json!({"prompt": format!("Count {name} words."), "limits": {"maxModelCalls": calls}});
    world.apply_task(name, &spec);
    world.until::<CodeGenTask>(name, end).await;
    // Ends of the same second are told apart by their uids.
    world.server.edit("codegentasks", name, |task| {
        task["status"]["completedAt"] = format!("2026-01-01T00:00:{second:02}Z").into();
    });
    world.reconcile::<CodeGenTask>(name).await;
}

fn names(world: &World) -> Vec<String> {
    let all = world.server.all("codegentasks");
    let name = |task: &Value| task["metadata"]["name"].as_str().unwrap().to_owned();
    all.iter().map(name).collect()
}

#[rstest]
#[case::that_have_succeeded("succeededLimit", SUCCEEDED)]
#[case::that_have_failed("failedLimit", FAILED)]
#[tokio::test]
async fn an_end_has_the_tasks_deleted_at_once_that_are_now_too_many(#[case] limit: &str, #[case] end: &str) {
    let mut world = World::configured(&format!("history: {{{limit}: 2}}")).await;
    ends(&mut world, "first", end, 1).await;
    ends(&mut world, "second", end, 2).await;
    let mut woken = world.context.tasks.woken();
    ends(&mut world, "third", end, 3).await;
    let surplus = woken
        .try_recv()
        .expect("the end of the third has a task looked at");
    assert_eq!(surplus.name, "first");
    assert_eq!(
        woken.try_recv(),
        Err(TryRecvError::Empty),
        "what stays is left alone"
    );
    world.server.calls();
    world.reconcile::<CodeGenTask>(&surplus.name).await;
    world.server.assert_calls("delete CodeGenTask first");
    assert_eq!(names(&world), ["second", "third"]);
}

#[tokio::test]
async fn a_task_that_failed_does_not_count_among_those_that_have_succeeded() {
    let mut world = World::configured("history: {succeededLimit: 1}").await;
    ends(&mut world, "first", SUCCEEDED, 1).await;
    let mut woken = world.context.tasks.woken();
    ends(&mut world, "second", FAILED, 2).await;
    assert_eq!(woken.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(names(&world), ["first", "second"]);
}

#[tokio::test]
async fn a_surplus_task_that_may_not_be_deleted_wakes_no_other_one() {
    let mut world = World::configured("history: {succeededLimit: 1}").await;
    ends(&mut world, "first", SUCCEEDED, 1).await;
    ends(&mut world, "second", SUCCEEDED, 2).await;
    let mut woken = world.context.tasks.woken();
    world
        .server
        .fail("delete CodeGenTask first", Fault::Refused(403, "Forbidden"));
    world.reconcile::<CodeGenTask>("first").await;
    assert_eq!(woken.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(names(&world), ["first", "second"]);
}

#[tokio::test]
async fn an_operator_that_begins_deletes_what_is_too_much_by_a_pass_over_each() {
    let mut world = World::configured("history: {succeededLimit: 1}").await;
    ends(&mut world, "first", SUCCEEDED, 1).await;
    ends(&mut world, "second", SUCCEEDED, 2).await;
    world.restart().await;
    world.watch_all();
    let mut woken = world.context.tasks.woken();
    world.reconcile::<CodeGenTask>("second").await;
    assert_eq!(woken.try_recv(), Err(TryRecvError::Empty));
    world.reconcile::<CodeGenTask>("first").await;
    assert_eq!(names(&world), ["second"]);
}
