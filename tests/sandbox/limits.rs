//! Limits hold for the whole process tree, as root and as a user.

use codegen_core::sandbox::{LimitKind, PhaseEnd, PhaseName, Stream};

use crate::jobs::suite;
use crate::support::{as_a_user, job, one_at_a_time, program, run, run_one, user_cache};

#[tokio::test]
async fn a_fork_bomb_ends_at_the_limit_of_processes() {
    let _alone = one_at_a_time();
    let code = "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n";
    let mut job = job(vec![program(code, &[]), program("print('next')", &[])]);
    job.limits.timeout_seconds = 30.0;
    let report = run(&job).await;
    assert_eq!(report.phases[0].end, PhaseEnd::LimitHit(LimitKind::Processes));
    assert_eq!(report.phases[1].stdout, "next\n", "the bomb is gone");
}

#[tokio::test]
async fn a_tree_that_takes_ten_times_the_memory_ends_at_the_limit() {
    let _alone = one_at_a_time();
    // Every process alone stays below the limit.
    let code = "import os, time\nfor _ in range(40):\n    if os.fork() == 0:\n        block = bytearray(64 << 20)\n        for at in range(0, len(block), 4096):\n            block[at] = 1\n        time.sleep(60)\nos.wait()\ntime.sleep(60)\n";
    let mut job = job(vec![program(code, &[])]);
    job.limits.timeout_seconds = 20.0;
    assert_eq!(
        run(&job).await.phases[0].end,
        PhaseEnd::LimitHit(LimitKind::Memory)
    );
}

#[tokio::test]
async fn one_process_that_takes_too_much_memory_ends_at_the_limit() {
    let _alone = one_at_a_time();
    let report = run_one(program("block = b'x' * (2 << 30)\n", &[])).await;
    assert_eq!(
        report.end,
        PhaseEnd::LimitHit(LimitKind::Memory),
        "{}",
        report.stderr
    );
}

#[tokio::test]
async fn files_in_memory_count_as_memory() {
    let _alone = one_at_a_time();
    let code = "for n in range(100):\n    open(f'/tmp/{n}', 'wb').write(b'x' * (16 << 20))\n";
    let report = run_one(program(code, &[])).await;
    assert_eq!(
        report.end,
        PhaseEnd::LimitHit(LimitKind::Memory),
        "{}",
        report.stderr
    );
}

#[tokio::test]
async fn a_program_that_stays_below_the_limits_is_left_alone() {
    let code = "import threading\nblock = bytearray(100 << 20)\nthreads = [threading.Thread(target=lambda: None) for _ in range(20)]\nfor thread in threads: thread.start()\nfor thread in threads: thread.join()\nprint('done')\n";
    let report = run_one(program(code, &[])).await;
    assert_eq!(
        (report.end, report.stdout.as_str()),
        (PhaseEnd::Exited(0), "done\n"),
        "{}",
        report.stderr
    );
}

#[tokio::test]
async fn a_file_ends_at_the_limit_of_its_size() {
    let report = run_one(program(
        "open('/sandbox/big', 'wb').write(b'x' * (40 << 20))\n",
        &[],
    ))
    .await;
    assert_eq!(
        report.end,
        PhaseEnd::LimitHit(LimitKind::FileSize),
        "{}",
        report.stderr
    );
}

#[tokio::test]
async fn a_job_ends_when_its_time_runs_out() {
    let code = "import time\nprint('started', flush=True)\ntime.sleep(600)\n";
    let mut job = job(vec![program(code, &[]), program("", &[])]);
    job.limits.timeout_seconds = 0.7;
    let report = run(&job).await;
    assert_eq!(report.phases.len(), 1, "no time is left for the second");
    assert_eq!(
        (&report.phases[0].end, report.phases[0].stdout.as_str()),
        (&PhaseEnd::TimedOut, "started\n")
    );
    assert!(report.seconds < 3.0, "{}", report.seconds);
}

#[tokio::test]
async fn each_phase_has_a_time_of_its_own() {
    let code = "import time\ntime.sleep(1.2)\nprint('done')\n";
    let mut job = job(vec![program(code, &[]), program(code, &[]), program(code, &[])]);
    job.limits.timeout_seconds = 2.0;
    let report = run(&job).await;
    let printed: Vec<&str> = report.phases.iter().map(|phase| phase.stdout.as_str()).collect();
    assert_eq!(printed, ["done\n"; 3], "{report:?}");
}

#[tokio::test]
async fn a_suite_that_hangs_without_the_program_takes_no_time_from_what_follows() {
    let hang = "import time\n\n\ndef test_a():\n    time.sleep(600)\n";
    let without = suite(PhaseName::Vacuity, "", &[("test_solution.py", hang)]);
    let mut job = job(vec![without, program("print('done')", &[])]);
    job.limits.timeout_seconds = 2.0;
    let report = run(&job).await;
    assert_eq!(report.phases[0].end, PhaseEnd::TimedOut);
    assert_eq!(report.phases[1].stdout, "done\n", "{report:?}");
}

#[tokio::test]
async fn long_output_is_truncated_to_its_end() {
    let report = run_one(program("for n in range(200_000): print(n)\n", &[])).await;
    assert_eq!(report.stdout.len(), 64 * 1024);
    assert!(report.stdout.ends_with("199999\n"));
    assert_eq!(report.cut, [Stream::Stdout]);
    let report = run_one(program("print('x' * (64 * 1024 - 1))\n", &[])).await;
    assert_eq!(report.stdout.len(), 64 * 1024);
    assert_eq!(report.cut, []);
}

#[test]
fn limits_hold_when_a_user_starts_the_sandbox() {
    if !rustix::process::geteuid().is_root() {
        // The other tests of this file have just shown it.
        return;
    }
    let output = as_a_user(&user_cache())
        .args([
            "limits::",
            "isolation::",
            "pytest_sessions::",
            "outputs::",
            "walls::",
        ])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}
