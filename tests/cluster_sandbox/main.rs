//! Builds and sandboxes on a real cluster, each without the operator around it. `make e2e` runs these beside those of `tests/e2e`; they need
//! its registries and the operator's image.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests say what they expect"
)]

mod adoption;
mod builds;
mod claims;
mod hostile;
mod isolation;
#[path = "../support/jobs.rs"]
mod jobs;
mod limits;
mod operators;
mod refusals;
mod space;
mod support;

use codegen_core::sandbox::{OutputContent, PhaseEnd, TestOutcome};

use crate::support::{World, job, program, tests};

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn tests_and_a_rehearsal_run_in_a_pod() {
    let world = World::new("runs").await;
    let solution = "from pathlib import Path\n\ndef double(n):\n    return 2 * n\n\nif __name__ == '__main__':\n    Path('/var/outputs/result').write_text(str(double(21)))\n";
    let suite = "from solution import double\n\ndef test_double():\n    assert double(2) == 4\n\ndef test_wrong():\n    assert double(2) == 5\n";
    let report = world
        .run(&job(vec![tests(solution, suite), program(solution, &["result"])]))
        .await;
    let session = report.phases[0].tests.as_ref().unwrap();
    let outcomes: Vec<_> = session
        .results
        .iter()
        .map(|result| (result.id.as_str(), result.outcome))
        .collect();
    assert_eq!(
        outcomes,
        [
            ("test_solution.py::test_double", TestOutcome::Passed),
            ("test_solution.py::test_wrong", TestOutcome::Failed),
        ]
    );
    assert_eq!(session.session_exit, Some(1));
    assert_eq!(
        report.phases[1].end,
        PhaseEnd::Exited(0),
        "{}",
        report.phases[1].stderr
    );
    assert_eq!(
        report.phases[1].outputs[0].content,
        OutputContent::File("NDI=".into())
    );
    world.end().await;
}
