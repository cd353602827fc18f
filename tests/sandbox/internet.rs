//! What an open network reaches: tests on a machine that is made up in network namespaces of its own, with a LAN, a metadata service, an
//! internet and a name server. No address outside of them is ever connected to.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use codegen_core::sandbox::{Job, NetworkAccess, Phase, Report};
use codegen_egress::AllowedHost;
use codegen_sandbox::{Progressing, Sandbox as _, SandboxError};
use rstest::rstest;

use crate::commands::phase as commands;
use crate::support::{as_a_user, environment, job, program, sandbox, user_cache};

/// What is not of the internet, in the words of `attempts.py`.
const CLOSED: [&str; 25] = [
    "abstract codegen-tests",
    "tcp 127.0.0.1 4000",
    "tcp 192.168.77.2 4000",
    "tcp ::1 4001",
    "tcp 2001:db8:77::2 4001",
    "tcp 192.168.77.1 80",
    "tcp 192.168.77.7 80",
    "udp 192.168.77.7 81",
    "tcp 10.1.2.3 80",
    "tcp 100.64.0.1 80",
    "tcp 169.254.169.254 80",
    "tcp 169.254.1.1 80",
    "tcp 168.63.129.16 80",
    "tcp 198.18.0.1 80",
    "tcp ::ffff:192.168.77.7 80",
    "tcp 2001:db8:77::7 80",
    "tcp fd00:ec2::254 80",
    "tcp 64:ff9b::a01:203 80",
    "tcp 2002:a01:203::1 80",
    "name lan.test 80",
    "name metadata.test 80",
    "name loopback.test 4000",
    "name mapped.test 80",
    "url http://internet.test/to-lan",
    "url http://lan.test/",
];
/// The same by sockets that name their device, which looks up no route where there is none.
const BY_DEVICE: [&str; 8] = [
    "bound 192.168.77.7 80",
    "bound 169.254.169.254 80",
    "bound 10.1.2.3 80",
    "steered 192.168.77.7 80",
    "told 192.168.77.7 81",
    "told 169.254.169.254 81",
    "bound 2001:db8:77::7 80",
    "bound fd00:ec2::254 80",
];
const OPEN: [&str; 5] = [
    "tcp 203.0.113.9 80",
    "udp 203.0.113.9 81",
    "name internet.test 80",
    "url http://internet.test/",
    "tcp 2001:db8:99::9 80",
];

fn attempts(targets: &[&str]) -> Job {
    let mut phase = program(include_str!("internet/attempts.py"), &[]);
    if let Phase::Program(program) = &mut phase {
        program.args = targets.iter().map(ToString::to_string).collect();
    }
    let mut job = job(vec![phase]);
    job.network = NetworkAccess::Internet;
    job
}

async fn run_with(opened: &[&str], job: &Job) -> Result<Report, SandboxError> {
    let opened: Vec<AllowedHost> = opened.iter().map(|text| text.parse().unwrap()).collect();
    match sandbox()
        .opening(&opened)
        .run(&environment().await, job, 0)
        .await?
    {
        Progressing::Done(report) => Ok(report),
        other => panic!("no report: {other:?}"),
    }
}

/// What answers of these, where the command line opens `opened`.
async fn answering(opened: &[&str], targets: &[&str]) -> Vec<String> {
    let report = run_with(opened, &attempts(targets)).await.unwrap();
    let phase = &report.phases[0];
    assert_eq!(phase.stderr, "");
    assert_eq!(phase.stdout.lines().count(), targets.len());
    let answers = phase
        .stdout
        .lines()
        .filter_map(|line| line.strip_suffix(": answers"));
    answers.map(str::to_owned).collect()
}

#[tokio::test]
#[ignore = "runs on a machine that is made up for it"]
async fn inside_the_internet_answers_and_nothing_else() {
    assert_eq!(answering(&[], &OPEN).await, OPEN);
    assert_eq!(answering(&[], &CLOSED).await, [""; 0]);
    assert_eq!(answering(&[], &BY_DEVICE).await, [""; 0]);
}

#[tokio::test]
#[ignore = "runs on a machine that is made up for it"]
async fn inside_what_the_command_line_names_is_open_at_its_port() {
    let opened = [
        "lan.test:80",
        "127.0.0.1:4000",
        "10.1.0.0/16",
        "[2001:db8:77::7]:80",
    ];
    let targets = [
        "name lan.test 80",
        "tcp 192.168.77.7 80",
        "tcp 127.0.0.1 4000",
        "tcp 10.1.2.3 80",
        "tcp 2001:db8:77::7 80",
        "udp 192.168.77.7 81",
        "tcp 192.168.77.1 80",
        "tcp 192.168.77.2 4000",
        "tcp 169.254.169.254 80",
        "abstract codegen-tests",
    ];
    assert_eq!(answering(&opened, &targets).await, targets[..5]);
}

#[tokio::test]
#[ignore = "runs on a machine that is made up for it"]
async fn inside_the_closed_ranges_answer() {
    let answers = answering(&[], &CLOSED).await;
    for target in [
        "tcp 192.168.77.7 80",
        "tcp 169.254.169.254 80",
        "name lan.test 80",
    ] {
        assert!(answers.contains(&target.to_owned()), "{answers:?}");
    }
}

#[tokio::test]
#[ignore = "runs on a machine that is made up for it"]
async fn inside_nothing_is_run() {
    let error = run_with(&[], &attempts(&OPEN)).await.unwrap_err();
    assert!(
        matches!(error, SandboxError::IsolationUnavailable { .. }),
        "{error}"
    );
    assert!(error.to_string().contains("192.168.77.2"), "{error}");
}

#[tokio::test]
#[ignore = "runs on a machine that is made up for it"]
async fn inside_a_sandbox_ends_when_nobody_waits_for_it_any_more() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let code = format!(
        "import socket, time\nconnection = socket.create_connection(('127.0.0.1', {port}), 5)\nconnection.sendall(b'x')\ntime.sleep(600)\n"
    );
    let mut job = job(vec![program(&code, &[])]);
    job.network = NetworkAccess::Internet;
    let opened = format!("127.0.0.1:{port}");
    let mut running = tokio::spawn(async move { run_with(&[&opened], &job).await });
    // The port is open before the program is there to use it.
    let mut connection = tokio::select! {
        accepted = listener.accept() => accepted.unwrap().0,
        ended = &mut running => panic!("the sandbox ended before the program connected: {ended:?}"),
    };
    let mut byte = [0];
    tokio::io::AsyncReadExt::read_exact(&mut connection, &mut byte)
        .await
        .unwrap();
    running.abort();
    let read = tokio::io::AsyncReadExt::read(&mut connection, &mut byte).await;
    assert!(matches!(read, Ok(0) | Err(_)), "the program is gone");
}

#[tokio::test]
#[ignore = "runs on a machine that is made up for it"]
async fn inside_a_command_reaches_a_port_that_is_opened() {
    let mut job = attempts(&[]);
    job.phases = vec![commands(
        &[("attempts.py", include_str!("internet/attempts.py"))],
        &["python attempts.py 'tcp 127.0.0.1 4000'"],
    )];
    for (opened, came_to) in [("127.0.0.1:4000", "answers"), ("127.0.0.1:4001", "nothing")] {
        let report = run_with(&[opened], &job).await.unwrap();
        let results = &report.phases[0].commands.as_ref().unwrap().results;
        assert_eq!(results[0].output, format!("tcp 127.0.0.1 4000: {came_to}\n"));
    }
}

/// Runs one of the tests above on the made-up machine, with `path` before the search path.
fn on_a_machine(who: &str, test: &str, path: Option<&Path>) {
    // Nobody else may make a network: passed over.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let cache = user_cache();
    // Makes the environment where it is not there: on the made-up machine no index answers.
    let built = as_a_user(&cache)
        .args([
            "--exact",
            "isolation::the_system_and_the_environment_are_read_only",
        ])
        .output()
        .unwrap();
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stdout)
    );
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let world = folder.path().join("world.py");
    fs::write(&world, include_str!("internet/world.py")).unwrap();
    let search = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"].map(Path::new);
    let search = path.into_iter().chain(search);
    let output = Command::new("unshare")
        .args([
            "--net",
            "--mount",
            "--",
            "python3",
            "-c",
            include_str!("internet/machine.py"),
            who,
        ])
        .arg(&world)
        .arg(cache.join("sandbox-tests"))
        .args(["--exact", "--ignored", &format!("internet::inside_{test}")])
        .env("CODEGEN_CACHE_DIR", &cache)
        .env("PATH", std::env::join_paths(search).unwrap())
        .env("HOME", "/nonexistent")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}\n{words}"
    );
}

/// A folder with an `ip` of whose commands in files only those are left that hold `words`.
fn ip_with_only(words: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let path = folder.path().join("ip");
    let real = ["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip"]
        .into_iter()
        .find(|path| Path::new(path).exists())
        .unwrap();
    let script = format!(
        "#!/bin/sh\nif [ \"$2\" = -batch ]; then grep -e '{words}' \"$3\" | {real} \"$1\" -batch -; exit 0; fi\nexec {real} \"$@\"\n"
    );
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

#[rstest]
#[case::of_a_user("user")]
#[case::of_root("root")]
fn an_open_network_is_the_internet_and_not_the_machine(#[case] who: &str) {
    on_a_machine(who, "the_internet_answers_and_nothing_else", None);
}

#[rstest]
#[case::of_a_user("user")]
#[case::of_root("root")]
fn an_open_network_reaches_what_the_command_line_names(#[case] who: &str) {
    on_a_machine(who, "what_the_command_line_names_is_open_at_its_port", None);
}

#[rstest]
#[case::of_a_user("user")]
#[case::of_root("root")]
fn without_the_routes_a_lan_and_metadata_answer(#[case] who: &str) {
    let folder = ip_with_only("192.168.77.2/32\\|rule add");
    on_a_machine(who, "the_closed_ranges_answer", Some(folder.path()));
}

#[rstest]
#[case::of_a_user("user")]
#[case::of_root("root")]
fn nothing_is_run_where_the_machine_itself_answers(#[case] who: &str) {
    let folder = ip_with_only("no route");
    on_a_machine(who, "nothing_is_run", Some(folder.path()));
}

#[rstest]
#[case::of_a_user("user")]
#[case::of_root("root")]
fn a_sandbox_with_a_network_ends_when_nobody_waits_for_it_any_more(#[case] who: &str) {
    on_a_machine(who, "a_sandbox_ends_when_nobody_waits_for_it_any_more", None);
}

#[rstest]
#[case::of_a_user("user")]
#[case::of_root("root")]
fn with_its_port_opened_the_same_command_reaches_this_machine(#[case] who: &str) {
    on_a_machine(who, "a_command_reaches_a_port_that_is_opened", None);
}
