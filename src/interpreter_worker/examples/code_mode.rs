//! Measures programs of one tool call: one worker, a thousand at once, a new worker. `scripts/bench-code-mode` runs it beside another
//! interpreter's host.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a measurement ends with its first error"
)]

use std::fs;
use std::time::{Duration, Instant};

use codegen_interpreter::{Event, Outcome, Pool, Program, Settings};
use serde_json::{Value, json};

const CODE: &str = "r = await double(21)\nr + 1";
const PROGRAMS: usize = 5_000;
const AT_ONCE: usize = 1_000;
const FIRST_CALLS: usize = 15;

fn pool(workers: usize) -> Pool {
    Pool::new(Settings {
        workers,
        ..Settings::default()
    })
}

/// Runs one program and answers its call here.
async fn run(pool: &Pool) -> Option<u32> {
    let mut session = pool
        .start(Program {
            code: CODE.to_owned(),
            functions: vec!["double".to_owned()],
            ..Program::default()
        })
        .await
        .unwrap();
    let worker = session.worker_id();
    loop {
        match session.next().await.unwrap() {
            Event::Calls(calls) => {
                let outcomes = calls
                    .iter()
                    .map(|call| Outcome::Return(json!(call.args[0].as_i64().unwrap() * 2)));
                session.answer(outcomes.collect()).await.unwrap();
            }
            Event::Finished(finished) => {
                assert_eq!(finished.value, Some(json!(43)));
                return worker;
            }
            Event::Raised(raised) => panic!("{}", raised.traceback),
        }
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn per_second(programs: usize, time: Duration) -> f64 {
    programs as f64 / time.as_secs_f64()
}

fn rss_kib(process: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok())
        .unwrap_or_default()
}

async fn one_after_another() -> Value {
    let pool = pool(1);
    let mut worker = run(&pool).await;
    let mut times = Vec::with_capacity(PROGRAMS);
    let started = Instant::now();
    for _ in 0..PROGRAMS {
        let start = Instant::now();
        worker = run(&pool).await;
        times.push(start.elapsed());
    }
    let all = started.elapsed();
    times.sort_unstable();
    json!({
        "per_second": per_second(PROGRAMS, all).round(),
        "p50_ms": milliseconds(times[PROGRAMS / 2]),
        "p99_ms": milliseconds(times[PROGRAMS * 99 / 100]),
        "worker_rss_kib": worker.map(|id| rss_kib(&id.to_string())),
    })
}

async fn at_once() -> Value {
    let pool = pool(2);
    run(&pool).await;
    let before = rss_kib("self");
    let started = Instant::now();
    let runs: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let pool = pool.clone();
            tokio::spawn(async move { run(&pool).await })
        })
        .collect();
    for run in runs {
        run.await.unwrap();
    }
    json!({
        "per_second": per_second(AT_ONCE, started.elapsed()).round(),
        "host_growth_kib": rss_kib("self").saturating_sub(before),
    })
}

async fn first_call() -> Value {
    let mut times = Vec::new();
    for _ in 0..FIRST_CALLS {
        let start = Instant::now();
        run(&pool(1)).await;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    json!({"p50_ms": milliseconds(times[FIRST_CALLS / 2]), "most_ms": times.last().map(|time| milliseconds(*time))})
}

#[tokio::main]
async fn main() {
    let figures = json!({
        "first_call": first_call().await,
        "one_worker": one_after_another().await,
        "at_once": at_once().await,
    });
    println!("{figures}");
}
