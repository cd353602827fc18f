//! Children are this test binary again, entered at `child_entry` or `probe_entry`.

use std::fs::{self, File, OpenOptions};
use std::net::UdpSocket;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rstest::rstest;

use crate::value_type::ValueType;

use super::*;

/// The harness prints to standard output, so that is empty until the child takes descriptor 3 for it. It starts threads of its own, which share one arena:
/// each would take 64 MiB of address space.
const SHELL: &str = r#"export MALLOC_ARENA_MAX=1; exec "$0" worker::tests::child_entry --exact --ignored --nocapture 3>&1 >/dev/null"#;

#[test]
#[ignore = "what the children of the other tests run"]
fn child_entry() {
    let output = OpenOptions::new().write(true).open("/proc/self/fd/3").unwrap();
    rustix::stdio::dup2_stdout(output).unwrap();
    let served = catch_unwind(AssertUnwindSafe(|| {
        serve(io::stdin().lock(), io::stdout().lock()).unwrap();
    }));
    // Before the harness says how the test went.
    process::exit(if served.is_ok() { 0 } else { 101 });
}

const PERMISSION_DENIED: i32 = 13;

#[test]
#[ignore = "what the children of a test run"]
fn probe_entry() {
    let argument = |name: &str| std::env::var(name).unwrap();
    let (call, file) = (argument("PROBE"), PathBuf::from(argument("PROBE_FILE")));
    if argument("PROBE_FILTER") == "on" {
        codegen_syscall_filter::enter(&READER, FilterAction::Fail).unwrap();
    }
    let made = match call.as_str() {
        "socket" => UdpSocket::bind(("127.0.0.1", 0)).map(drop),
        "process" => process::Command::new("/bin/true").status().map(drop),
        "create" => File::create_new(file.with_extension("new")).map(drop),
        "truncate" => File::create(&file).map(drop),
        "remove" => fs::remove_file(&file),
        "read" => fs::read(&file).map(drop),
        other => panic!("there is no probe of {other}"),
    };
    process::exit(match made {
        Ok(()) => 0,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => PERMISSION_DENIED,
        Err(_) => 1,
    });
}

/// Code with which a process ends that makes a call.
fn probe(call: &str, filter: &str) -> Option<i32> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sample.csv");
    fs::write(&file, "a,b\n1,2\n").unwrap();
    process::Command::new(std::env::current_exe().unwrap())
        .args([
            "worker::tests::probe_entry",
            "--exact",
            "--ignored",
            "--nocapture",
        ])
        .env("PROBE", call)
        .env("PROBE_FILE", file)
        .env("PROBE_FILTER", filter)
        .output()
        .unwrap()
        .status
        .code()
}

#[cfg(target_os = "linux")]
#[rstest]
#[case("socket")]
#[case("process")]
#[case("create")]
#[case("truncate")]
#[case("remove")]
fn a_call_that_reading_does_not_need_works_without_the_filter_and_fails_with_it(#[case] call: &str) {
    assert_eq!(probe(call, "off"), Some(0));
    assert_eq!(probe(call, "on"), Some(PERMISSION_DENIED));
    assert_eq!(probe("read", "on"), Some(0));
}

fn client() -> WorkerClient {
    let program = std::env::current_exe().unwrap();
    shell(SHELL, program)
}

fn shell(script: &str, program: PathBuf) -> WorkerClient {
    WorkerClient::new(
        Path::new("/bin/sh"),
        [OsString::from("-c"), script.into(), program.into_os_string()],
    )
}

fn describe(text: &[u8], file_name: &str) -> ChildRequest {
    ChildRequest::Describe {
        source: Source::bytes(text),
        name: "sample".into(),
        file_name: file_name.into(),
        options: DescribeOptions::default(),
    }
}

fn check_of(path: &Path) -> ChildRequest {
    ChildRequest::Check {
        source: Source::path(path),
        file_name: "huge.json".into(),
        format: None,
        checks: Vec::new(),
    }
}

#[tokio::test]
async fn a_request_is_camel_case_on_the_wire() {
    let wire = serde_json::to_value(describe(b"", "x.csv")).unwrap();
    assert_eq!(wire["describe"]["fileName"], "x.csv");
    assert_eq!(wire["describe"]["source"], serde_json::json!({"base64": ""}));
}

#[tokio::test]
async fn one_child_answers_several_requests_in_order() {
    let output = Declared {
        name: "n".into(),
        type_: ValueType::Int,
        format: None,
    };
    let content = OutputContent::File(STANDARD.encode("42\n"));
    let requests = [
        describe(b"a,b\n1,2\n", "x.csv"),
        ChildRequest::Check {
            source: Source::bytes(b"words\n"),
            file_name: "x.txt".into(),
            format: None,
            checks: Vec::new(),
        },
        ChildRequest::ParseOutputs {
            outputs: vec![(output, content)],
        },
    ];
    let replies = client().run(&requests).await.unwrap();
    let [
        Ok(Response::Profile(profile)),
        Err(error),
        Ok(Response::Outputs(values)),
    ] = replies.as_slice()
    else {
        panic!("{replies:?}")
    };
    assert_eq!(
        **profile,
        match requests[0].answer(&mut Session::default()) {
            Ok(Response::Profile(profile)) => *profile,
            other => panic!("{other:?}"),
        }
    );
    assert_eq!(
        error.to_string(),
        "cannot check columns of x.txt: it is text, not a table; use CSV, TSV, JSON, JSONLines, Parquet, Arrow or Excel"
    );
    assert_eq!(values.as_slice(), [Ok(OutputValue::Int(42))]);
}

#[tokio::test]
async fn a_child_finds_the_joins_of_the_samples_that_it_described() {
    let orders = describe(b"order,sku\n1,a\n2,b\n3,a\n", "orders.csv");
    let articles = describe(b"sku,name\na,x\nb,y\n", "articles.csv");
    let replies = client()
        .run(&[orders, articles, ChildRequest::Join])
        .await
        .unwrap();
    let [_, _, Ok(Response::Joins(joins))] = replies.as_slice() else {
        panic!("{replies:?}")
    };
    assert_eq!(
        (joins.len(), joins[0].left.found, joins[0].right.is_unique),
        (1, 2, true)
    );
}

#[tokio::test]
async fn a_file_that_needs_too_much_memory_is_named_with_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.json");
    // One element of an array is held whole: so many numbers in it do not fit.
    std::fs::write(&path, format!("[[{}1]]", "1,".repeat(2_500_000))).unwrap();
    let error = client()
        .run(&[describe(b"a\n1\n", "x.csv"), check_of(&path)])
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "reading huge.json met the limit of 256 MiB of memory; give a part of it as the sample"
    );
    let unlimited = client().with_limits(ChildLimits {
        memory_bytes: 1 << 40,
        seconds: 600,
    });
    assert!(
        unlimited.run(&[check_of(&path)]).await.is_ok(),
        "it does take more"
    );
}

/// A Parquet file that is a footer alone: a schema of this many groups, each in the one before it. In Thrift's compact form.
fn nested_groups(depth: usize) -> Vec<u8> {
    let mut footer = vec![0x15, 2, 0x19, 0xfc];
    let mut count = depth + 2;
    while count > 0x7f {
        footer.push(u8::try_from(count & 0x7f).unwrap() | 0x80);
        count >>= 7;
    }
    footer.push(u8::try_from(count).unwrap());
    // Their names are `r` and `a`; each has one child, the last one is a number.
    footer.extend(b"\x48\x01r\x15\x02\x00");
    footer.extend(b"\x35\x02\x18\x01a\x15\x02\x00".repeat(depth));
    footer.extend(b"\x15\x02\x25\x02\x18\x01a\x00");
    // No rows, no row groups.
    footer.extend([0x16, 0, 0x19, 0x0c, 0]);
    let length = u32::try_from(footer.len()).unwrap().to_le_bytes();
    [b"PAR1", footer.as_slice(), &length, b"PAR1"].concat()
}

#[tokio::test]
async fn a_schema_that_is_nested_too_deeply_is_named_as_the_reason() {
    let replies = client()
        .run(&[describe(&nested_groups(20), "flat.parquet")])
        .await
        .unwrap();
    let [Ok(Response::Profile(profile))] = replies.as_slice() else {
        panic!("{replies:?}")
    };
    assert!(matches!(profile.content, Content::Table(_)), "{profile:?}");
    let deep = describe(&nested_groups(20_000), "deep.parquet");
    let error = client().run(&[deep]).await.unwrap_err().to_string();
    assert_eq!(
        error,
        "deep.parquet cannot be read: its content, or the schema of a Parquet file, may be nested too deeply; give it with fewer levels"
    );
}

#[tokio::test]
async fn a_child_that_takes_too_long_is_killed_and_its_file_named() {
    let client = shell("exec sleep 600", PathBuf::from("x")).with_limits(ChildLimits {
        memory_bytes: MIB,
        seconds: 1,
    });
    let error = client.run(&[describe(b"", "slow.csv")]).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "reading slow.csv met the limit of 1 s; give a part of it as the sample"
    );
}

#[tokio::test]
async fn an_answer_of_a_child_process_before_it_ended_is_used() {
    let script = r#"read -r limits; read -r request; printf '{"Ok":{"joins":[]}}\n{"Ok":'; kill -XCPU $$"#;
    let requests = [ChildRequest::Join, describe(b"", "spin.csv")];
    let answered = shell(script, PathBuf::from("x"))
        .answered(&requests)
        .await
        .unwrap();
    assert!(matches!(answered.replies.as_slice(), [Ok(Response::Joins(_))]));
    let fault = answered.fault.unwrap().to_string();
    assert!(
        fault.starts_with("reading spin.csv met the limit of 60 s"),
        "{fault}"
    );
}

#[tokio::test]
async fn a_child_that_spins_meets_the_limit_of_cpu_time() {
    let error = shell("kill -XCPU $$", PathBuf::from("x"))
        .run(&[describe(b"", "spin.csv")])
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "reading spin.csv met the limit of 60 s of CPU time; give a part of it as the sample"
    );
}

#[tokio::test]
async fn a_child_that_dies_is_an_error_with_its_last_words() {
    let script = "read -r limits; echo unlucky >&2; kill -SEGV $$";
    let error = shell(script, PathBuf::from("x"))
        .run(&[describe(b"", "bad.csv")])
        .await
        .unwrap_err();
    assert!(!error.is_passing());
    let error = error.to_string();
    assert!(
        error.starts_with("the process that read bad.csv ended without an answer"),
        "{error}"
    );
    assert!(
        error.contains("signal: 11") && error.contains("unlucky"),
        "{error}"
    );
}

#[tokio::test]
async fn a_child_that_the_system_kills_is_no_fault_of_its_file() {
    let error = shell("read -r limits; kill -9 $$", PathBuf::from("x"))
        .run(&[describe(b"", "big.csv")])
        .await
        .unwrap_err();
    assert!(error.is_passing());
    assert_eq!(
        error.to_string(),
        "the process that read big.csv was killed from outside, as the system does when memory runs out; free some and run again"
    );
}

#[tokio::test]
async fn a_program_that_is_not_there_is_an_error() {
    let client = WorkerClient::new(Path::new("/nonexistent/reader"), ["x"]);
    assert!(matches!(client.run(&[]).await, Err(DataError::Worker(_))));
}

#[tokio::test]
async fn a_child_sees_no_environment() {
    let script = r#"read -r limits; if [ -n "$CARGO_MANIFEST_DIR$HOME" ]; then echo seen >&2; else echo empty >&2; fi; exit 3"#;
    let error = shell(script, PathBuf::from("x"))
        .run(&[describe(b"", "x.csv")])
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("empty"), "{error}");
}

/// Its children say in a file when they begin, and end when there is a file `go`, or when three of them have begun.
fn held_back(folder: &Path) -> WorkerClient {
    let script = "cd \"$0\" && echo began >>begun; until [ -e go ] || [ \"$(wc -l <begun)\" -ge 3 ]; do sleep 0.01; done; \
        wc -l <begun >>seen";
    shell(script, folder.to_owned())
}

#[tokio::test]
async fn no_more_children_read_at_once_than_there_are_places() {
    let folder = tempfile::tempdir().unwrap();
    let (begun, go) = (folder.path().join("begun"), folder.path().join("go"));
    let client = held_back(folder.path()).with_at_most(2);
    let lets_go = async {
        while std::fs::read_to_string(&begun)
            .unwrap_or_default()
            .lines()
            .count()
            < 2
        {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(client.places.as_ref().unwrap().available_permits(), 0);
        std::fs::write(&go, "").unwrap();
    };
    let (a, b, c, ()) = tokio::join!(client.run(&[]), client.run(&[]), client.run(&[]), lets_go);
    assert!(a.is_ok() && b.is_ok() && c.is_ok(), "{a:?} {b:?} {c:?}");
    let seen = std::fs::read_to_string(folder.path().join("seen")).unwrap();
    let mut seen: Vec<&str> = seen.lines().map(str::trim).collect();
    seen.sort_unstable();
    assert_eq!(seen.last(), Some(&"3"), "the third one follows");
    assert_ne!(seen.first(), Some(&"3"), "it does not run beside both");
}

#[tokio::test]
async fn a_child_that_answers_without_an_end_is_killed_and_the_file_named() {
    let endless = shell("exec yes '{\"Err\":\"x\"}'", PathBuf::new());
    let Answered { replies, fault } = endless.answered(&[describe(b"a\n1\n", "a.csv")]).await.unwrap();
    assert_eq!(replies.len(), 2);
    assert!(
        matches!(&fault, Some(DataError::Limit { limit, .. }) if limit == "64 MiB of answers"),
        "{fault:?}"
    );
}
