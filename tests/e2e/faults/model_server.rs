//! A model that is down, slow, overloaded, or sends what is no reply.

use std::time::{Duration, Instant};

use codegen_api::CodeGenTask;
use rstest::rstest;

use super::model::{Model, Trouble};
use super::own::{Own, apply};
use super::remains::expect_nothing_left;
use super::{RECORDING, expect_same_end, seed};
use crate::space::{SOON, in_space};

const TASK: &str = "t1";
/// The longest pause before a model is asked again, and some time to ask.
const PAUSE: Duration = Duration::from_secs(35);
const GIGABYTE: usize = 1 << 30;
/// Most memory that an operator may ever have had.
const MOST_MEMORY: u64 = 256 << 20;

fn waits(task: &CodeGenTask, word: &str) -> bool {
    let status = task.status.as_ref();
    let message = status.and_then(|status| status.message.as_deref());
    message.is_some_and(|message| message.contains(word))
}

/// The model is in this trouble for so long: the task says so, goes on by itself, and has lost the calls alone of which nobody can tell
/// whether they are billed.
async fn in_trouble(name: &str, trouble: Trouble, word: &str, long: Duration) {
    in_space(name, async |space| {
        let model = Model::start(space, RECORDING, &[TASK], Duration::ZERO).await;
        let own = Own::start(space, &model, seed()).await;
        model.set(trouble);
        apply(space, &model, TASK);
        let begun = Instant::now();
        let held = space
            .until(TASK, "waiting for its model", SOON, |task| waits(task, word))
            .await;
        eprintln!("{trouble:?}: {}", held.status.unwrap().message.unwrap());
        tokio::time::sleep(long.saturating_sub(begun.elapsed())).await;
        model.set(Trouble::None);
        let back = Instant::now();
        space
            .until(TASK, "going on", PAUSE, |task| !waits(task, word))
            .await;
        eprintln!(
            "{} requests met it in {:.0} s, went on {:.1} s after, peak memory of the operator {} MB",
            model.met(),
            begun.elapsed().as_secs_f64(),
            back.elapsed().as_secs_f64(),
            own.peak_memory() >> 20
        );
        let may_be_billed = matches!(trouble, Trouble::Down | Trouble::Endless(_));
        assert_eq!(expect_same_end(space, &model, TASK).await > 0, may_be_billed);
        assert!(own.peak_memory() < MOST_MEMORY, "{} bytes", own.peak_memory());
        expect_nothing_left(space, &[TASK]).await;
    })
    .await;
}

#[rstest]
#[case::down("down", Trouble::Down, "ended after the request was sent", 40)]
#[case::errors("errors", Trouble::Status(500, None), "answered 500", 0)]
#[case::overloaded("overloaded", Trouble::Status(429, Some("2")), "answered 429", 0)]
#[case::a_gigabyte("gigabyte", Trouble::Endless(GIGABYTE), "bytes", 0)]
#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_task_says_what_its_model_does_and_goes_on_by_itself(
    #[case] name: &str,
    #[case] trouble: Trouble,
    #[case] word: &str,
    #[case] seconds: u64,
) {
    in_trouble(
        &format!("faults-{name}"),
        trouble,
        word,
        Duration::from_secs(seconds),
    )
    .await;
}

pub async fn down_for_ten_minutes() {
    in_trouble(
        "faults-down",
        Trouble::Down,
        "ended after the request was sent",
        Duration::from_mins(10),
    )
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_reply_that_comes_byte_by_byte_is_waited_for() {
    in_space("faults-slow", async |space| {
        let model = Model::start(space, RECORDING, &[TASK], Duration::ZERO).await;
        let _own = Own::start(space, &model, seed()).await;
        model.set(Trouble::Slow(Duration::from_millis(2)));
        apply(space, &model, TASK);
        assert_eq!(expect_same_end(space, &model, TASK).await, 0);
        assert_eq!(model.asked(TASK).await.requests, 3);
        expect_nothing_left(space, &[TASK]).await;
    })
    .await;
}
