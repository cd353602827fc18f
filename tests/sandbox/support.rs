//! What the tests share: an environment, and runs in it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use codegen_api::common::Language;
use codegen_core::sandbox::{Job, Packages, Phase, PhaseReport, Report, TestReport};
use codegen_core::task::ImageSettings;
use codegen_sandbox::{BuiltEnvironment, ImageSpec, LocalSandbox, Progressing, Sandbox as _, SandboxError};

pub use crate::jobs::{job, program, tests};

pub fn cache() -> PathBuf {
    std::env::var_os("CODEGEN_CACHE_DIR").map_or_else(
        || {
            let user = rustix::process::geteuid().as_raw();
            std::env::temp_dir().join(format!("codegen-operator-tests-{user}"))
        },
        PathBuf::from,
    )
}

pub fn sandbox() -> LocalSandbox {
    LocalSandbox::new(cache())
}

pub fn spec(packages: &[&str]) -> ImageSpec {
    let settings = ImageSettings {
        reference: None,
        pull_repository: None,
        push_secret: None,
        pull_secret: None,
        repository: None,
        base: String::new(),
        base_packages: vec![],
        base_system_packages: vec![],
        python_version: "3.12".into(),
        index_url: None,
        index_ca_bundle: None,
    };
    let pip = packages.iter().map(ToString::to_string).collect();
    ImageSpec::new(Language::Python, &settings, &Packages { pip, apt: vec![] })
}

pub async fn build(spec: &ImageSpec) -> Result<BuiltEnvironment, SandboxError> {
    match sandbox().build(spec, 0).await? {
        Progressing::Done(built) => Ok(built),
        Progressing::Pending | Progressing::Unseen | Progressing::Queued(_) => {
            panic!("a local build is done when it answers")
        }
    }
}

/// The environment that most tests run in.
pub async fn environment() -> String {
    build(&spec(&["pytest-asyncio", "pytest-mock"]))
        .await
        .unwrap()
        .image
}

pub async fn run(job: &Job) -> Report {
    match sandbox().run(&environment().await, job, 0).await {
        Ok(Progressing::Done(report)) => report,
        other => panic!("no report: {other:?}"),
    }
}

pub async fn run_one(phase: Phase) -> PhaseReport {
    run(&job(vec![phase])).await.phases.remove(0)
}

/// Run a program that prints; what it printed.
pub async fn printed(solution: &str) -> String {
    let report = run_one(program(solution, &[])).await;
    assert_eq!(report.stderr, "");
    report.stdout
}

pub async fn session(solution: &str, test_file: &str) -> TestReport {
    let report = run_one(tests(solution, test_file)).await;
    let session = report.tests.expect("a session");
    assert!(!report.stderr.contains("Traceback"), "{}", report.stderr);
    session
}

/// Tests that fill the machine wait for each other.
pub fn one_at_a_time() -> File {
    std::fs::create_dir_all(cache()).unwrap();
    let file = File::create(cache().join("one-at-a-time.lock")).unwrap();
    file.lock().unwrap();
    file
}

/// The cache of an ordinary user: this one, or nobody where root runs the tests.
pub fn user_cache() -> PathBuf {
    if !rustix::process::geteuid().is_root() {
        return cache();
    }
    let cache = cache().with_file_name("codegen-operator-tests-nobody");
    std::fs::create_dir_all(&cache).unwrap();
    std::os::unix::fs::chown(&cache, Some(NOBODY), Some(NOBODY)).unwrap();
    cache
}

const NOBODY: u32 = 65534;

/// These tests as a program that an ordinary user starts, whose session has a key. Add which of them.
pub fn as_a_user(cache: &Path) -> Command {
    static COPY: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    // Cargo's folder may be closed to other users, /proc's link to the program is not.
    let program = COPY.get_or_init(|| {
        let copy = user_cache().join("sandbox-tests");
        let _ = std::fs::remove_file(&copy);
        std::fs::copy(std::fs::canonicalize("/proc/self/exe").unwrap(), &copy).unwrap();
        copy
    });
    let mut command = if rustix::process::geteuid().is_root() {
        let user = NOBODY.to_string();
        let mut command = Command::new("setpriv");
        command.args([
            "--reuid",
            &user,
            "--regid",
            &user,
            "--clear-groups",
            "--",
            "python3",
        ]);
        command
    } else {
        Command::new("python3")
    };
    command
        .args(["-c", include_str!("walls/with_a_key.py")])
        .arg(program)
        .env("HOME", "/nonexistent")
        .env("CODEGEN_CACHE_DIR", cache)
        .env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command
}
