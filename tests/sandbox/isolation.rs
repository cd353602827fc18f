//! What a sandbox sees and reaches: what it is given, nothing else.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use codegen_core::sandbox::{InputMount, NetworkAccess, Phase, PhaseEnd};
use codegen_core::stage::Category;
use codegen_sandbox::{Sandbox as _, SandboxError};

use crate::support::{environment, job, printed, program, run, run_one, sandbox, tests};

fn connect_to(listener: &TcpListener) -> String {
    let port = listener.local_addr().unwrap().port();
    format!("import socket\nsocket.create_connection(('127.0.0.1', {port}), 5)\nprint('connected')\n")
}

#[tokio::test]
async fn without_network_even_this_machine_is_out_of_reach() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let report = run_one(program(&connect_to(&listener), &[])).await;
    assert_eq!(report.end, PhaseEnd::Exited(1));
    assert!(
        report.stderr.contains("ConnectionRefusedError"),
        "{}",
        report.stderr
    );
}

#[tokio::test]
async fn a_list_of_addresses_is_refused() {
    let mut job = job(vec![program("", &[])]);
    job.network = NetworkAccess::List(vec![("192.0.2.0/24".into(), vec![443])]);
    let error = sandbox().run(&environment().await, &job, 0).await.unwrap_err();
    assert!(matches!(error, SandboxError::NetworkList));
    assert_eq!(error.category(), Category::Configuration);
}

#[tokio::test]
async fn home_and_environment_of_the_user_are_out_of_sight() {
    let home = std::env::var("HOME").unwrap();
    let code = format!(
        "import os\nprint(sorted(os.environ))\nfor path in ({home:?}, '/home', '/etc/shadow', '/etc/hostname', '/var/log', '/sys'):\n    try:\n        if os.path.isdir(path):\n            for top, folders, files in os.walk(path):\n                if files: print('sees', top, files[:3]); break\n                folders[:] = [f for f in folders if f != '.pyenv']\n        else:\n            open(path); print('reads', path)\n    except OSError:\n        pass\n"
    );
    let mut job = job(vec![program(&code, &[])]);
    job.env.insert("GIVEN".into(), "1".into());
    let report = &run(&job).await.phases[0];
    assert_eq!(
        report.stdout, "['GIVEN', 'HOME', 'LANG', 'PATH', 'PYTHONDONTWRITEBYTECODE', 'PYTHONHASHSEED']\n",
        "{}",
        report.stderr
    );
}

#[tokio::test]
async fn certificates_of_the_system_are_in_sight_and_the_keys_beside_them_are_not() {
    let code = "import os\nprint([name for name in os.listdir('/etc/ssl') if name == 'private'], len(os.listdir('/etc/ssl/certs')) > 1)\n";
    assert_eq!(printed(code).await, "[] True\n");
}

#[tokio::test]
async fn the_system_and_the_environment_are_read_only() {
    let code = "import os\nfor path in ('/usr/x', '/env/x', '/harness/x', '/etc/x', '/x', '/var/inputs/x', '/run/x'):\n    try:\n        open(path, 'w')\n        print('wrote', path)\n    except OSError:\n        pass\nfor path in ('/tmp/x', '/sandbox/x', '/var/outputs/x', '/dev/shm/x', 'x2'):\n    open(path, 'w')\nprint('done')\n";
    assert_eq!(printed(code).await, "done\n");
}

#[tokio::test]
async fn programs_have_no_rights_and_no_way_to_the_harness() {
    let code = r#"
import os
print(os.getuid() != 0, os.uname().nodename)
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(int(status["CapEff"], 16), status["NoNewPrivs"].strip())
for path in ("/proc/1/environ", "/proc/1/mem", "/proc/1/fd/1"):
    try:
        open(path, "rb")
        print("opened", path)
    except OSError:
        pass
os.kill(1, 9)
os.kill(1, 2)
print("alive")
"#;
    assert_eq!(printed(code).await, "True sandbox\n0 1\nalive\n");
}

/// Looks for a word of the job wherever a program may look; in a Pod, it finds it where a defence is missing.
const SPY: &str = include_str!("../../crates/sandbox/src/kubernetes/pod/job_key/spy.py");

#[tokio::test]
async fn a_program_finds_nothing_of_the_other_phases() {
    let word = "a-word-of-another-phase";
    let mut spying = program(SPY, &[]);
    let mut other = program("import sys\nprint(sys.argv[1])\n", &[]);
    if let (Phase::Program(spying), Phase::Program(other)) = (&mut spying, &mut other) {
        spying.args.push(word.chars().rev().collect());
        other.args.push(word.to_owned());
    }
    let phases = run(&job(vec![spying, other])).await.phases;
    assert_eq!(phases[0].stdout, "[]\n", "{:?}", phases[0]);
    assert_eq!(phases[1].stdout, format!("{word}\n"));
}

fn input(name: &str, file_name: &str, source: &Path) -> InputMount {
    InputMount {
        name: name.into(),
        file_name: file_name.into(),
        source: source.display().to_string(),
        content: Vec::new(),
    }
}

#[tokio::test]
async fn inputs_lie_under_both_names_and_are_read_only() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("penguins.csv");
    fs::write(&file, "species\nAdelie\n").unwrap();
    // Readable by its owner alone: the sandbox may run as another user.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let photos = folder.path().join("some-folder");
    fs::create_dir(&photos).unwrap();
    fs::write(photos.join("a.txt"), "a").unwrap();
    let code = "import os\nfor path in ('/var/inputs/measurements.csv', '/var/inputs/measurements', '/var/inputs/photos/a.txt'):\n    print(len(open(path).read()))\n    try:\n        open(path, 'a')\n    except OSError:\n        print('refused')\n";
    let mut job = job(vec![program(code, &[])]);
    job.inputs = vec![
        input("measurements", "measurements.csv", &file),
        input("photos", "photos", &photos),
    ];
    let report = &run(&job).await.phases[0];
    assert_eq!(
        report.stdout, "15\nrefused\n15\nrefused\n1\nrefused\n",
        "{}",
        report.stderr
    );
}

#[tokio::test]
async fn a_missing_input_is_refused_by_name() {
    let mut job = job(vec![program("", &[])]);
    job.inputs = vec![input("sales", "sales.csv", Path::new("/nowhere/sales.csv"))];
    let error = sandbox().run(&environment().await, &job, 0).await.unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("input `sales` cannot be given to the sandbox"),
        "{error}"
    );
}

#[tokio::test]
async fn nothing_is_left_of_the_phase_before() {
    let first = r#"
import ctypes, os, subprocess, sys, time
assert ctypes.CDLL(None).shmget(7, 1 << 20, 0o1600) >= 0
assert ctypes.CDLL(None).mq_open(b"/left", os.O_RDWR | os.O_CREAT, 0o600, None) < 0
for folder in ("/tmp", "/sandbox", "/var/outputs", "/dev/shm"):
    os.makedirs(folder + "/left/deep", exist_ok=True)
    open(folder + "/left/deep/file", "w").close()
    os.chmod(folder + "/left/deep", 0)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True, close_fds=False)
"#;
    let second = r#"
import ctypes, os
def test_fresh():
    assert ctypes.CDLL(None).shmget(7, 1 << 20, 0o600) < 0
    assert sum(name.isdigit() for name in os.listdir("/proc")) == 2
    for folder in ("/tmp", "/var/outputs", "/dev/shm"):
        assert os.listdir(folder) == []
    assert "left" not in os.listdir("/sandbox")
"#;
    let report = run(&job(vec![program(first, &[]), tests("", second)])).await;
    assert_eq!(
        report.phases[0].end,
        PhaseEnd::Exited(0),
        "{}",
        report.phases[0].stderr
    );
    let failures: Vec<_> = report.phases[1].tests.as_ref().unwrap().results.iter().collect();
    let fresh = failures
        .iter()
        .find(|result| result.id.ends_with("test_fresh"))
        .unwrap();
    assert!(fresh.failure.is_none(), "{:?}", fresh.failure);
}

#[tokio::test]
async fn a_tree_of_folders_deeper_than_any_path_is_cleared() {
    let code = "import os\nfor _ in range(5000):\n    os.mkdir('d' * 100)\n    os.chdir('d' * 100)\n";
    let report = run(&job(vec![program(code, &[]), program("print('fresh')", &[])])).await;
    assert_eq!(
        report.phases[0].end,
        PhaseEnd::Exited(0),
        "{}",
        report.phases[0].stderr
    );
    assert_eq!(report.phases[1].stdout, "fresh\n");
}
