//! An API server that is overloaded, broken, or behind the times.

use std::time::Duration;

use rstest::rstest;

use super::model::Model;
use super::own::{Own, apply};
use super::proxy::{Fault, Which};
use super::remains::expect_nothing_left;
use super::{CALLS, RECORDING, expect_same_end, seed};
use crate::space::in_space;

const TASKS: [&str; 2] = ["t1", "t2"];

#[rstest]
#[case::too_many_requests("429", Fault::Refuse { status: 429, share: 0.3, which: Which::All })]
#[case::replies_are_cut("cut", Fault::Cut { share: 0.1 })]
#[case::the_reply_to_the_last_write_is_lost("last", Fault::CutEnds)]
#[case::stale_reads("stale", Fault::Stale { late: Duration::from_secs(2) })]
#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn whatever_the_api_server_does_no_reply_is_asked_for_again_and_nothing_is_left(
    #[case] name: &str,
    #[case] fault: Fault,
) {
    tasks_end_alike(name, fault).await;
}

/// What takes minutes, since each pause after a failure is longer than the one before.
pub async fn tasks_end_alike_when_writes_fail() {
    let which = Which::Writes;
    tasks_end_alike(
        "500-writes",
        Fault::Refuse {
            status: 500,
            share: 0.3,
            which,
        },
    )
    .await;
}

/// The same for watches: a task whose change was not seen waits for the next.
pub async fn tasks_end_alike_when_watches_fail() {
    let which = Which::Watches;
    tasks_end_alike(
        "500-watches",
        Fault::Refuse {
            status: 500,
            share: 0.5,
            which,
        },
    )
    .await;
}

async fn tasks_end_alike(name: &str, fault: Fault) {
    in_space(&format!("faults-{name}"), async |space| {
        let seed = seed();
        let model = Model::start(space, RECORDING, &TASKS, Duration::from_secs(1)).await;
        let own = Own::start(space, &model, seed).await;
        own.proxy.set(fault);
        for task in TASKS {
            apply(space, &model, task);
        }
        for task in TASKS {
            let lost = expect_same_end(space, &model, task).await;
            assert_eq!(
                lost, 0,
                "{CALLS} replies came, and the operator lived to record them"
            );
        }
        eprintln!("seed {seed}, met {:?}", own.proxy.met());
        assert!(!own.proxy.met().is_empty());
        own.proxy.set(Fault::None);
        expect_nothing_left(space, &TASKS).await;
    })
    .await;
}
