//! The node of a run is lost while its program is under way.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use codegen_core::digest::sha256_hex;
use serde_json::json;

use super::remains::expect_no_process;
use super::runs::{apply, expect_cleared, on_claim, pod_of, way, with_tables};
use crate::runs::{condition, content, output, pods_of, succeeded, until};

/// The control plane looks for Pods of nodes that are not there every 20 s, and gives a node 40 s to come back.
const GIVEN_UP: Duration = Duration::from_mins(4);
const ROWS: u64 = 120_000;

/// The node is lost as long as this lives.
struct Lost;

impl Lost {
    fn begin() -> Self {
        node("away");
        Self
    }
}

impl Drop for Lost {
    fn drop(&mut self) {
        node("back");
    }
}

fn node(what: &str) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/node");
    let done = Command::new(script).arg(what).status().unwrap();
    // The first failure is the one to tell.
    assert!(done.success() || std::thread::panicking(), "node {what}");
}

fn squares(rows: u64) -> String {
    (1..=rows).fold("number,square\r\n".to_owned(), |mut table, number| {
        write!(table, "{number},{}\r\n", number * number).unwrap();
        table
    })
}

/// Two runs, one that writes to a claim, say that they wait for a node, and end alike when there is one again: each in a second sandbox.
pub async fn lost_under_a_run() {
    with_tables(
        "faults-node",
        |_| {},
        async |space, _own, _| {
            space.claim("datasets").await;
            space
                .write("open", "import os\nos.chmod('/claim', 0o777)")
                .await;
            apply(space, "kept", &way("slowly"));
            let inputs = json!([{"name": "rows", "value": ROWS.to_string()}, {"name": "way", "value": "slowly"}]);
            let outputs = json!({"persistentVolumeClaim": {"claimName": "datasets"}});
            apply(space, "claimed", &json!({"inputs": inputs, "outputs": outputs}));
            for run in ["kept", "claimed"] {
                pod_of(space, run).await;
            }
            let begun = Instant::now();
            let lost = Lost::begin();
            for run in ["kept", "claimed"] {
                let waits = until(space, run, "waiting for a node", GIVEN_UP, |run| {
                    matches!(condition(run, "Reconciling"), Some(("True", "Queued", message)) if message.contains("no nodes available"))
                })
                .await;
                let (_, _, message) = condition(&waits, "Reconciling").unwrap();
                eprintln!("{run} after {:.0} s: {message}", begun.elapsed().as_secs_f64());
                assert_eq!(waits.status.unwrap().executions, 1, "{run}");
            }
            drop(lost);
            let back = Instant::now();
            for name in ["kept", "claimed"] {
                let run = succeeded(space, name).await;
                assert_eq!(output(&run, "rows_before").value.as_deref(), Some("1"));
                let status = run.status.as_ref().unwrap();
                assert_eq!((status.executions, status.failures), (1, 0), "{name}");
                if name == "kept" {
                    assert_eq!(content(space, output(&run, "table")).await, squares(3));
                } else {
                    let place = on_claim(&run, "table");
                    let path = format!("claimed-{}-2/table", run.metadata.uid.as_ref().unwrap());
                    assert_eq!(place["path"], path);
                    assert_eq!(output(&run, "table").sha256, sha256_hex(squares(ROWS).as_bytes()));
                }
            }
            eprintln!("both have succeeded {:.0} s after the node was back", back.elapsed().as_secs_f64());
            let pods = pods_of(space).await;
            // With the one that has looked at what lies on the claim.
            for (run, number) in [("kept", 2), ("claimed", 3)] {
                assert_eq!(pods.get(run), Some(&number), "{pods:?}");
                expect_cleared(space, run).await;
            }
            expect_no_process(space).await;
        },
    )
    .await;
}
