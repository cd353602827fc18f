//! Bounds of a program and its process: what they cannot reach.

use rstest::rstest;
use serde_json::json;

use crate::support::{course, double, pool, program, run};

#[rstest]
#[case("open('/etc/passwd')")]
#[case("open('/proc/self/environ', 'rb')")]
#[case("open('/tmp/x', 'w')")]
#[case("open(0)")]
#[case("import os\nos.environ['PATH']")]
#[case("import os\nos.getenv('PATH')")]
#[case("import os\nos.listdir('/proc/self/fd')")]
#[case("from pathlib import Path\nPath('/proc/self/maps').read_text()")]
#[case("from pathlib import Path\nPath('/').exists()")]
#[case("from datetime import date\ndate.today()")]
#[case("from datetime import datetime\ndatetime.now()")]
#[case("import os\nos.urandom(8)")]
#[case("import os\nos.system('id')")]
#[case("import socket")]
#[case("import subprocess")]
#[case("import ctypes")]
#[case("import random")]
#[case("import time")]
#[case("import uuid")]
#[case("eval('1')")]
#[case("exec('1')")]
#[case("__import__('os')")]
#[case("().__class__.__base__.__subclasses__()")]
#[tokio::test]
async fn nothing_outside_of_the_program_exists_for_it(#[case] code: &str) {
    let course = run(code).await;
    assert!(course.batches.is_empty());
    course.raised();
}

#[tokio::test]
async fn a_refusal_of_the_system_says_what_there_is_instead_and_can_be_caught() {
    let code = "try:\n    open('/etc/passwd')\nexcept OSError as e:\n    r = str(e)\nr";
    let expected =
        "open: there are no files here, nor a network; only the tools reach anything outside of this program";
    assert_eq!(run(code).await.value(), json!(expected));
}

#[tokio::test]
async fn nothing_of_a_program_is_left_for_the_next_one() {
    let pool = pool();
    let first = "import json\nleft = 'secret'\njson.left = 1\nprint('secret')\nx = await a(1)\nb(2)";
    let _ = course(&pool, program(first), double).await.unwrap();
    for code in ["left", "x", "import json\njson.left"] {
        let raised = course(&pool, program(code), double).await.unwrap().raised();
        assert_eq!(raised.printed, "", "{code}");
    }
    let last = course(&pool, program("await a(4)"), double).await.unwrap();
    assert_eq!(last.batches[0][0].id, 0);
    assert_eq!(last.value(), json!(8));
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::{Command, ExitStatus};

    use codegen_interpreter::WorkerEvent;
    use rstest::rstest;

    use crate::support::{binary, pool, program};

    const FORBIDDEN_CALL: i32 = 31;

    fn probe(args: &[&str]) -> ExitStatus {
        Command::new(binary())
            .arg("probe")
            .args(args)
            .output()
            .unwrap()
            .status
    }

    #[rstest]
    #[case("open")]
    #[case("socket")]
    #[case("fork")]
    #[case("thread")]
    #[case("descriptor")]
    fn a_call_that_works_without_the_filter_ends_the_process_with_it(#[case] call: &str) {
        assert!(probe(&[call, "unconfined"]).success());
        assert_eq!(probe(&[call]).signal(), Some(FORBIDDEN_CALL));
    }

    #[tokio::test]
    async fn a_worker_is_confined_before_its_program_runs() {
        let mut session = pool().start(program("await a(1)")).await.unwrap();
        assert!(matches!(session.next().await.unwrap(), WorkerEvent::Calls(_)));
        let of = |file: &str| {
            fs::read_to_string(format!("/proc/{}/{file}", session.worker_id().unwrap())).unwrap()
        };
        let status = of("status");
        for line in ["NoNewPrivs:\t1", "Seccomp:\t2", "Threads:\t1"] {
            assert!(status.contains(line), "{status}");
        }
        let limits = of("limits");
        for name in [
            "Max open files",
            "Max file size",
            "Max core file size",
            "Max processes",
        ] {
            let line = limits.lines().find(|line| line.starts_with(name)).unwrap();
            let values: Vec<&str> = line[name.len()..].split_whitespace().take(2).collect();
            assert_eq!(values, ["0", "0"], "{line}");
        }
        assert!(
            !limits.contains("Max address space         unlimited"),
            "{limits}"
        );
    }
}
