//! What a package brings runs in a sandbox and nowhere else, and neither is nor replaces what judges the program.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use codegen_core::sandbox::{Report, TestOutcome};
use codegen_sandbox::{BuiltEnvironment, ImageSpec, LocalSandbox, Progressing, Sandbox as _, SandboxError};
use rstest::rstest;
use tempfile::TempDir;

use crate::environments::cache_parent;
use crate::index::{Index, wheel};
use crate::support::{job, program, spec, tests};

/// In the place of an interpreter.
const INTERPRETER: &str = include_str!("hostile/python.sh");
/// What a `.pth` file runs.
const AT_START: &str = include_str!("hostile/at_start.py");

/// A cache of the test's own.
struct World {
    folder: TempDir,
    sandbox: LocalSandbox,
}

impl World {
    fn new() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = tempfile::tempdir_in(cache_parent()).unwrap();
        Self {
            sandbox: LocalSandbox::new(folder.path().join("cache")),
            folder,
        }
    }

    /// What a hostile file leaves outside of a sandbox.
    fn marker(&self) -> PathBuf {
        self.folder.path().join("marker")
    }

    fn interpreter(&self) -> String {
        INTERPRETER.replace("{marker}", self.marker().to_str().unwrap())
    }

    async fn build(&self, spec: &ImageSpec) -> Result<BuiltEnvironment, SandboxError> {
        match self.sandbox.build(spec, 0).await? {
            Progressing::Done(built) => Ok(built),
            other => panic!("a local build is done when it returns: {other:?}"),
        }
    }

    /// The environment with this wheel in it, and pytest without anything in it.
    async fn with_wheel(&self, files: &[(&str, &str)]) -> Result<BuiltEnvironment, SandboxError> {
        let index = Index::start(vec![wheel("guest", files)]).await;
        let mut spec = ImageSpec {
            index_url: Some(index.url(None)),
            ..spec(&[])
        };
        spec.packages.pip = vec!["guest".to_owned(), "pytest".to_owned()];
        self.build(&spec).await
    }

    fn environment(&self, built: &BuiltEnvironment) -> PathBuf {
        self.folder.path().join("cache/environments").join(&built.image)
    }

    async fn run(&self, built: &BuiltEnvironment, job: &codegen_core::sandbox::Job) -> Report {
        match self.sandbox.run(&built.image, job, 0).await {
            Ok(Progressing::Done(report)) => report,
            other => panic!("no report: {other:?}"),
        }
    }
}

/// Puts a program in the place of what lies there.
fn replace(path: &Path, text: &str) {
    fs::remove_file(path).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn site_packages(environment: &Path) -> PathBuf {
    let library = fs::read_dir(environment.join("lib")).unwrap().next();
    library.unwrap().unwrap().path().join("site-packages")
}

#[rstest]
#[case::python(
    "guest-1.0.data/scripts/python",
    "is refused by uv (Scripts must not use the reserved name"
)]
#[case::python3(
    "guest-1.0.data/scripts/python3",
    "is refused by uv (Scripts must not use the reserved name"
)]
#[case::another(
    "guest-1.0.data/scripts/python3.99",
    "is refused by uv (Scripts must not use the reserved name"
)]
#[case::where_it_finds_its_modules("guest-1.0.data/data/pyvenv.cfg", "replaces pyvenv.cfg, ")]
#[case::where_it_looks_first(
    "guest-1.0.data/scripts/pyvenv.cfg",
    "brings bin/pyvenv.cfg, which is in the place of an interpreter"
)]
#[tokio::test]
async fn a_wheel_that_brings_an_interpreter_is_named(#[case] file: &str, #[case] says: &str) {
    let world = World::new();
    let error = world
        .with_wheel(&[(file, &world.interpreter())])
        .await
        .unwrap_err();
    let SandboxError::PackageDenied(said) = error else {
        panic!("{error}");
    };
    assert!(
        said.starts_with(&format!("pip package guest==1.0 {says}")),
        "{said}"
    );
    assert!(!world.marker().exists(), "it ran outside of a sandbox");
    let left = fs::read_dir(world.folder.path().join("cache/environments")).unwrap();
    let folders = left.filter(|entry| entry.as_ref().unwrap().path().is_dir());
    assert_eq!(folders.count(), 0, "nothing of it is kept");
}

#[tokio::test]
async fn a_wheel_with_programs_of_its_own_is_installed() {
    let world = World::new();
    let files = [
        ("guest-1.0.data/scripts/guest", "#!python\nprint('guest')\n"),
        (
            "guest-1.0.data/scripts/python-guest-check",
            "#!python\nprint('check')\n",
        ),
        ("guest-1.0.data/scripts/pip", "#!python\nprint('pip')\n"),
        ("guest_tool.py", "def main():\n    print('tool')\n"),
        (
            "guest-1.0.dist-info/entry_points.txt",
            "[console_scripts]\nguest-tool = guest_tool:main\n",
        ),
    ];
    let built = world.with_wheel(&files).await.unwrap();
    let solution = "import subprocess\nfor name in ('guest', 'python-guest-check', 'pip', 'guest-tool'):\n    \
                    print(subprocess.run([name], capture_output=True, text=True).stdout.strip())\n";
    let report = world.run(&built, &job(vec![program(solution, &[])])).await;
    assert_eq!(report.phases[0].stdout, "guest\ncheck\npip\ntool\n", "{report:?}");
}

#[tokio::test]
async fn nothing_of_an_environment_runs_outside_of_a_sandbox() {
    let world = World::new();
    let built = world.with_wheel(&[]).await.unwrap();
    for name in ["python", "python3"] {
        replace(
            &world.environment(&built).join("bin").join(name),
            &world.interpreter(),
        );
    }
    let report = world.run(&built, &job(vec![program("print(1)\n", &[])])).await;
    assert!(
        !world.marker().exists(),
        "{}",
        fs::read_to_string(world.marker()).unwrap_or_default()
    );
    // It is what runs programs, and does not run what judges them.
    assert!(report.seconds < 4711.0, "{report:?}");
    assert!(report.phases[0].stdout.contains("4711"), "{report:?}");
}

#[tokio::test]
async fn what_a_package_runs_at_the_start_of_python_has_no_token_to_speak_with() {
    let world = World::new();
    let files = [
        ("guest.pth", "import guest_at_start\n"),
        ("guest_at_start.py", AT_START),
    ];
    let built = world.with_wheel(&files).await.unwrap();
    let report = world
        .run(&built, &job(vec![tests("", "def test_a():\n    assert False\n")]))
        .await;
    let session = report.phases[0].tests.as_ref().unwrap();
    assert_eq!(
        (session.session_exit, session.results.len()),
        (None, 0),
        "{session:?}"
    );
}

#[tokio::test]
async fn what_a_package_runs_at_the_start_of_python_is_there_for_tests_and_programs() {
    let world = World::new();
    let built = world.build(&spec(&[])).await.unwrap();
    let packages = site_packages(&world.environment(&built));
    fs::write(packages.join("guest.pth"), "import guest_at_start\n").unwrap();
    let at_start = "import sys, types\nsys.modules['guest'] = types.ModuleType('guest')\n";
    fs::write(packages.join("guest_at_start.py"), at_start).unwrap();
    let report = world
        .run(
            &built,
            &job(vec![
                tests(
                    "import guest\n",
                    "import solution\n\n\ndef test_a():\n    assert solution.guest\n",
                ),
                program("import guest\nprint('there')\n", &[]),
            ]),
        )
        .await;
    let session = report.phases[0].tests.as_ref().unwrap();
    assert_eq!(session.results[0].outcome, TestOutcome::Passed, "{session:?}");
    assert_eq!(report.phases[1].stdout, "there\n");
}
