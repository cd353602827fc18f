//! Environments are built once, found fast, and fail with the name of the package at fault.

use codegen_operator::pipeline::stage::Category;
use codegen_operator::sandbox::{
    ImageSpec, LocalSandbox, PackageProblemKind, Progressing, Sandbox as _, SandboxError,
};

use crate::support::{build, cache, sandbox, spec};

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
    let (first, second) = tokio::join!(sandbox.build(&spec), sandbox.build(&spec));
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
    let built = LocalSandbox::new(cache.path()).build(&spec).await.unwrap();
    assert!(matches!(built, Progressing::Done(_)));
    assert!(!left.exists());
}

fn cache_parent() -> std::path::PathBuf {
    std::fs::create_dir_all(cache()).unwrap();
    cache()
}

#[tokio::test]
async fn an_unknown_package_is_named() {
    let error = build(&spec(&["codegen-operator-no-such-package"]))
        .await
        .unwrap_err();
    assert_eq!(error.category(), Category::Environment);
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
    let error = sandbox().run("0123", &job).await.unwrap_err();
    assert!(matches!(error, SandboxError::EnvironmentMissing(_)));
}
