//! Workers that die, and what the pool makes of it.

use std::time::Duration;

use codegen_interpreter::{Death, Error, Interpreter, Program, ReplyOutcome, WorkerEvent, WorkerLimits};
use serde_json::json;

use crate::support::{course, double, limits, pool, program};

fn death(error: Error) -> Death {
    match error {
        Error::WorkerDied { reason } => reason,
        other => panic!("{other}"),
    }
}

/// A pool whose workers are another program.
fn pool_of(program: &str) -> Interpreter {
    Interpreter {
        binary: Some(program.into()),
        ..pool()
    }
}

async fn works(pool: &Interpreter) {
    assert_eq!(
        course(pool, program("await a(4)"), double).await.unwrap().value(),
        json!(8)
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_worker_that_is_killed_in_the_middle_of_a_program_is_reported_and_replaced() {
    use rustix::process::{Pid, Signal, kill_process};

    let pool = pool();
    let mut session = pool.start(program("await a(1)\nwhile True: pass")).await.unwrap();
    assert!(matches!(session.next().await.unwrap(), WorkerEvent::Calls(_)));
    let id = i32::try_from(session.worker_id().unwrap()).unwrap();
    session
        .answer(vec![ReplyOutcome::Return(json!(1))])
        .await
        .unwrap();
    kill_process(Pid::from_raw(id).unwrap(), Signal::KILL).unwrap();
    let reason = death(session.next().await.unwrap_err());
    assert!(matches!(reason, Death::Signal(9)), "{reason}");
    assert!(matches!(session.next().await, Err(Error::OutOfTurn { .. })));
    works(&pool).await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_worker_ends_with_its_program_and_where_nobody_waits_for_it() {
    use rustix::process::{Pid, test_kill_process};

    let mut session = pool().start(program("1")).await.unwrap();
    let id = Pid::from_raw(i32::try_from(session.worker_id().unwrap()).unwrap()).unwrap();
    session.next().await.unwrap();
    assert_eq!(session.worker_id(), None);
    let is_gone = async {
        while test_kill_process(id).is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), is_gone)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_program_that_passes_its_memory_at_once_ends_its_worker_alone() {
    let pool = pool();
    let error = course(&pool, program("list(range(1_000_000))"), double)
        .await
        .unwrap_err();
    let reason = death(error);
    assert!(matches!(reason, Death::Memory { limit: 52_428_800 }), "{reason}");
    works(&pool).await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_worker_that_does_not_answer_is_killed_after_the_grace() {
    let pool = Interpreter {
        binary: Some(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/silent").into()),
        grace: Duration::from_millis(50),
        ..pool()
    };
    let hasty = Program {
        limits: WorkerLimits {
            time_ms: 1,
            ..limits()
        },
        ..program("1")
    };
    let reason = death(course(&pool, hasty, double).await.unwrap_err());
    assert!(
        matches!(reason, Death::Deadline { after } if after == Duration::from_millis(51)),
        "{reason}"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn whatever_is_no_worker_is_an_error_and_never_a_hang() {
    for (binary, part) in [
        ("/usr/bin/yes", "broke the protocol"),
        ("/bin/cat", "exited with code 1"),
        ("/bin/true", ""),
    ] {
        let reason = death(course(&pool_of(binary), program("1"), double).await.unwrap_err()).to_string();
        assert!(reason.contains(part), "{binary}: {reason}");
    }
    let error = course(&pool_of("/etc/passwd"), program("1"), double)
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Spawn { .. }), "{error}");
}

#[tokio::test]
async fn an_event_that_was_not_waited_for_is_still_there() {
    let pool = pool();
    let mut session = pool.start(program("await a(21)")).await.unwrap();
    let cut = tokio::time::timeout(Duration::ZERO, session.next()).await;
    assert!(cut.is_err() || matches!(cut, Ok(Ok(WorkerEvent::Calls(_)))));
    if cut.is_err() {
        assert!(matches!(session.next().await.unwrap(), WorkerEvent::Calls(_)));
    }
}

#[tokio::test]
async fn what_the_host_does_wrong_is_said_and_changes_nothing() {
    let pool = pool();
    let mut session = pool.start(program("await a(4)")).await.unwrap();
    let early = session.answer(vec![]).await.unwrap_err();
    assert!(matches!(early, Error::OutOfTurn { .. }), "{early}");
    session.next().await.unwrap();
    let twice = session.next().await.unwrap_err();
    assert!(matches!(twice, Error::OutOfTurn { .. }), "{twice}");
    let none = session.answer(vec![]).await.unwrap_err();
    assert!(none.to_string().contains("an outcome for each call"), "{none}");
    session
        .answer(vec![ReplyOutcome::Return(json!("end"))])
        .await
        .unwrap();
    let WorkerEvent::Finished(finished) = session.next().await.unwrap() else {
        panic!("it did not finish");
    };
    assert_eq!(finished.text, "end");
}

#[tokio::test]
async fn what_no_worker_takes_is_refused_before_one_is_started() {
    let pool = pool_of("/nowhere/codegen-interpreter");
    let long = pool.start(program(&"#".repeat(2_000_000))).await.unwrap_err();
    assert!(matches!(long, Error::ProgramTooLong { .. }), "{long}");
    let large = Program {
        limits: WorkerLimits {
            memory_bytes: 1 << 40,
            ..limits()
        },
        ..program("1")
    };
    let large = pool.start(large).await.unwrap_err();
    assert!(matches!(large, Error::MemoryAbove { .. }), "{large}");
    let missing = pool.start(program("1")).await.unwrap_err();
    assert!(matches!(missing, Error::BinaryMissing { .. }), "{missing}");
}
