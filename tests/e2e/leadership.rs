//! Of two operators one works, and the other takes over within the lease time. Needs an API server only.

use std::sync::Arc;
use std::time::{Duration, Instant};

use codegen_operator::controller::config::LeaderElection;
use codegen_operator::controller::process::leader::Leadership;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::space::{SOON, Space, in_space};

fn election() -> LeaderElection {
    LeaderElection {
        duration_seconds: 5,
        grace_seconds: 2,
        ..LeaderElection::default()
    }
}

/// A candidate with threads of its own, which can be killed.
struct Process {
    threads: Runtime,
    leadership: Arc<tokio::sync::Mutex<Leadership>>,
}

impl Process {
    /// A client belongs to the threads that it was made on.
    async fn start(space: &Space, identity: &'static str) -> Self {
        let threads = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let namespace = space.name.clone();
        let started = threads.spawn(async move {
            let client = kube::Client::try_default().await.unwrap();
            Leadership::campaign(client, &namespace, identity, &election())
        });
        Self {
            leadership: Arc::new(tokio::sync::Mutex::new(started.await.unwrap())),
            threads,
        }
    }

    async fn leads(&self) -> bool {
        self.leadership.lock().await.lead().is_held()
    }

    fn kill(self) -> Arc<tokio::sync::Mutex<Leadership>> {
        self.threads.shutdown_background();
        self.leadership
    }
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn when_the_leader_is_killed_the_other_leads_within_the_lease_time_and_never_both_at_once() {
    in_space("leadership", async |space| {
        let first = Process::start(space, "first").await;
        first.leadership.lock().await.won().await;
        let second = Process::start(space, "second").await;
        // As long as the first renews, the second waits.
        let mut look = tokio::time::interval(Duration::from_millis(50));
        let begun = Instant::now();
        while begun.elapsed() < election().duration() + Duration::from_secs(1) {
            assert!(first.leads().await && !second.leads().await);
            look.tick().await;
        }
        let killed = Instant::now();
        // What is left of the first believes that it leads for as long as it may: the worst case.
        let first = first.kill();
        while !second.leads().await {
            assert!(killed.elapsed() < SOON, "nobody leads");
            look.tick().await;
        }
        let taken = killed.elapsed();
        assert!(!first.lock().await.lead().is_held(), "both lead");
        assert!(
            taken <= election().duration() + Duration::from_secs(2),
            "{taken:?}"
        );
        let leases = space.api::<Lease>();
        let lease = leases.get("codegen-operator").await.unwrap();
        assert_eq!(lease.spec.as_ref().unwrap().lease_transitions, Some(2));

        // Taken away by force, as an administrator might: the loser notices.
        let lost = second.leadership.lock().await.lost();
        let stolen = Patch::Merge(json!({"spec": {"holderIdentity": "somebody"}}));
        leases
            .patch("codegen-operator", &PatchParams::default(), &stolen)
            .await
            .unwrap();
        tokio::time::timeout(SOON, lost.cancelled())
            .await
            .expect("told that it is lost");
        assert!(!second.leads().await);
        second.kill();
    })
    .await;
}
