//! Environments are built once, found fast, and fail with the name of the package at fault.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;

use codegen_core::stage::Category;
use codegen_sandbox::{ImageSpec, LocalSandbox, PackageProblemKind, Progressing, Sandbox as _, SandboxError};

use crate::support::{build, cache, program, sandbox, spec};

#[tokio::test]
async fn an_environment_is_found_again() {
    let first = build(&spec(&["pytest-asyncio", "pytest-mock"])).await.unwrap();
    let second = build(&spec(&["pytest-mock", "pytest-asyncio"])).await.unwrap();
    assert_eq!((&first.image, &first.resolved), (&second.image, &second.resolved));
    assert!(!second.fresh);
    assert!(
        first.resolved.iter().any(|line| line.starts_with("pytest==")),
        "{:?}",
        first.resolved
    );
    assert!(first.python.starts_with("3."));
}

#[tokio::test]
async fn two_builds_at_once_build_once() {
    let cache = tempfile::tempdir_in(cache_parent()).unwrap();
    let sandbox = LocalSandbox::new(cache.path());
    let spec = spec(&[]);
    let (first, second) = tokio::join!(sandbox.build(&spec, 0), sandbox.build(&spec, 0));
    let (Progressing::Done(first), Progressing::Done(second)) = (first.unwrap(), second.unwrap()) else {
        panic!("a local build is done when it returns");
    };
    assert_eq!((&first.image, &first.resolved), (&second.image, &second.resolved));
    assert!(first.fresh != second.fresh, "one was built, the other found");
    let entries = std::fs::read_dir(cache.path().join("environments"))
        .unwrap()
        .count();
    assert_eq!(entries, 2, "the environment and its lock");
}

#[tokio::test]
async fn what_a_killed_build_left_is_built_anew() {
    let cache = tempfile::tempdir_in(cache_parent()).unwrap();
    let spec = spec(&[]);
    let left = cache
        .path()
        .join("environments")
        .join(format!("{}.unfinished-killed", spec.content_hash()));
    std::fs::create_dir_all(left.join("bin")).unwrap();
    let built = LocalSandbox::new(cache.path()).build(&spec, 0).await.unwrap();
    assert!(matches!(built, Progressing::Done(_)));
    assert!(!left.exists());
}

pub fn cache_parent() -> std::path::PathBuf {
    std::fs::create_dir_all(cache()).unwrap();
    cache()
}

#[tokio::test]
async fn an_unknown_package_is_named() {
    let error = build(&spec(&["codegen-operator-no-such-package"]))
        .await
        .unwrap_err();
    let SandboxError::Packages(problem) = error else {
        panic!("{error}")
    };
    assert_eq!(problem.kind, PackageProblemKind::NotFound);
    assert_eq!(problem.names, ["codegen-operator-no-such-package"]);
}

#[tokio::test]
async fn an_index_that_does_not_answer_is_infrastructure() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let spec = ImageSpec {
        index_url: Some(format!("http://{closed}/simple")),
        ..spec(&[])
    };
    let error = build(&spec).await.unwrap_err();
    assert_eq!(error.category(), Category::Infrastructure, "{error}");
}

#[tokio::test]
async fn an_environment_that_was_never_built_is_missing() {
    let job = crate::support::job(vec![]);
    let error = sandbox().run("0123", &job, 0).await.unwrap_err();
    assert!(matches!(error, SandboxError::EnvironmentMissing(_)));
}

#[tokio::test]
async fn console_scripts_start_however_long_the_path_of_the_environment_is() {
    let folder = tempfile::tempdir_in(cache_parent()).unwrap();
    // The sandbox may run as another user.
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    // More than any kernel reads of a script's first line (127 bytes, newer ones 255).
    let sandbox = LocalSandbox::new(folder.path().join("long".repeat(60)));
    let Progressing::Done(built) = sandbox.build(&spec(&["pytest-mock"]), 0).await.unwrap() else {
        panic!("a local build is done when it returns");
    };
    let solution =
        "import subprocess\nprint(subprocess.check_output(['/env/bin/pytest', '--version'], text=True))\n";
    let job = crate::support::job(vec![program(solution, &[])]);
    let Progressing::Done(report) = sandbox.run(&built.image, &job, 0).await.unwrap() else {
        panic!("a local run is done when it returns");
    };
    let phase = &report.phases[0];
    assert!(
        phase.stdout.starts_with("pytest "),
        "{}{}",
        phase.stdout,
        phase.stderr
    );
}

/// A wheel that leaves a file behind where a Python starts with it (`.pth`) or the environment's pip is started.
const HOSTILE_WHEEL: &str = r#"
import sys, zipfile
wheel, marker = sys.argv[1:]
run = f"open({marker!r}, 'a').write('ran')\n"
info = 'hostile_wheel-1.0.dist-info/'
files = {
    'hostile.pth': f'import sys; {run}',
    'hostile.py': run,
    'pip/__init__.py': run,
    'pip/__main__.py': run,
    info + 'METADATA': 'Metadata-Version: 2.1\nName: hostile-wheel\nVersion: 1.0\n',
    info + 'WHEEL': 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
}
with zipfile.ZipFile(wheel, 'w') as archive:
    for name, text in files.items():
        archive.writestr(name, text)
    archive.writestr(info + 'RECORD', ''.join(f'{name},,\n' for name in [*files, info + 'RECORD']))
"#;

/// A package index on loopback that has this one wheel; its address.
fn index_of(wheel: Vec<u8>) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let mut lines = BufReader::new(connection.try_clone().unwrap()).lines();
            let request = lines.next().unwrap().unwrap();
            while lines
                .next()
                .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
            {}
            let (kind, body) = if request.contains(".whl") {
                ("application/octet-stream", wheel.clone())
            } else {
                let name = "hostile_wheel-1.0-py3-none-any.whl";
                (
                    "text/html",
                    format!("<a href=\"/{name}\">{name}</a>").into_bytes(),
                )
            };
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            connection.write_all(&[head.into_bytes(), body].concat()).unwrap();
        }
    });
    format!("http://{address}/simple")
}

#[tokio::test]
async fn nothing_of_a_package_runs_while_it_is_installed() {
    let folder = tempfile::tempdir_in(cache_parent()).unwrap();
    let (wheel, marker) = (folder.path().join("wheel"), folder.path().join("marker"));
    let made = std::process::Command::new("python3")
        .args(["-c", HOSTILE_WHEEL])
        .args([&wheel, &marker])
        .status()
        .unwrap();
    assert!(made.success());
    let mut spec = ImageSpec {
        index_url: Some(index_of(std::fs::read(&wheel).unwrap())),
        ..spec(&[])
    };
    spec.packages.pip = vec!["hostile-wheel".into()];
    let built = LocalSandbox::new(folder.path()).build(&spec, 0).await.unwrap();
    let Progressing::Done(built) = built else {
        panic!("a local build is done when it returns");
    };
    assert_eq!(built.resolved, ["hostile-wheel==1.0"]);
    assert!(!marker.exists(), "code of the package ran outside the sandbox");
}
