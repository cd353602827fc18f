//! Limits hold inside of a Pod, and are told as limits.

use codegen_core::sandbox::{LimitKind, PhaseEnd};

use crate::support::{World, job, program};

/// Where the node ends the whole container, no phase is left to say so.
async fn expect_memory_limit(test: &str, code: &str) {
    let world = World::new(test).await;
    let report = world.run(&job(vec![program(code, &[])])).await;
    let ends: Vec<_> = report.phases.iter().map(|phase| &phase.end).collect();
    assert!(
        ends.is_empty() || ends == [&PhaseEnd::LimitHit(LimitKind::Memory)],
        "{ends:?}"
    );
    world.end().await;
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn a_program_that_takes_too_much_memory_meets_the_limit() {
    expect_memory_limit("memory", "block = b'x' * (2 << 30)\n").await;
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn files_count_as_memory() {
    let code = "for n in range(100):\n    open(f'/tmp/{n}', 'wb').write(b'x' * (16 << 20))\n";
    expect_memory_limit("files", code).await;
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn a_fork_bomb_ends_at_the_limit_of_processes() {
    let world = World::new("bomb").await;
    let code = "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n";
    let report = world
        .run(&job(vec![program(code, &[]), program("print('next')", &[])]))
        .await;
    assert_eq!(report.phases[0].end, PhaseEnd::LimitHit(LimitKind::Processes));
    assert_eq!(report.phases[1].stdout, "next\n", "the bomb is gone");
    world.end().await;
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn a_program_that_is_refused_a_thread_meets_the_limit_of_processes() {
    let world = World::new("threads").await;
    let code = "import threading, time\nfor _ in range(200):\n    threading.Thread(target=time.sleep, args=(5,), daemon=True).start()\n";
    let report = world.run(&job(vec![program(code, &[])])).await;
    assert_eq!(
        report.phases[0].end,
        PhaseEnd::LimitHit(LimitKind::Processes),
        "{}",
        report.phases[0].stderr
    );
    world.end().await;
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn a_job_ends_when_its_time_runs_out() {
    let world = World::new("time").await;
    let mut job = job(vec![
        program(
            "import time\nprint('started', flush=True)\ntime.sleep(600)\n",
            &[],
        ),
        program("", &[]),
    ]);
    job.limits.timeout_seconds = 3.0;
    let report = world.run(&job).await;
    assert_eq!(report.phases.len(), 1, "no time is left for the second");
    assert_eq!(
        (&report.phases[0].end, report.phases[0].stdout.as_str()),
        (&PhaseEnd::TimedOut, "started\n")
    );
    world.end().await;
}
