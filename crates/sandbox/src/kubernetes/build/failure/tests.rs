//! Logs of failed builds, as Kaniko 1.24 with uv 0.13.9 and apt 2.6 printed them; progress lines are left out.

use rstest::rstest;

use super::*;

fn failed(repeat: u32) -> FailedBuild<'static> {
    FailedBuild {
        child: "Job lab/build-3f2a".to_owned(),
        base: "registry.example/python:3.11",
        reference: "registry.example/team:3f2a",
        repeat,
        is_locked: false,
        push_credentials: "the Secret push of image.pushSecretRef",
    }
}

fn of(log: &str) -> SandboxError {
    failed(0).error(BuildFailureCause::Builder, log)
}

macro_rules! log {
    ($name:literal) => {
        include_str!(concat!("logs/", $name, ".log"))
    };
}

#[rstest]
#[case::unknown(log!("uv-unknown"), "pip", PackageProblemKind::NotFound, &["no-such-package-3f2a"])]
#[case::version(log!("uv-version"), "pip", PackageProblemKind::NoSuchVersion, &["six"])]
#[case::conflict(log!("uv-conflict"), "pip", PackageProblemKind::Conflict, &["requests", "urllib3"])]
#[case::no_wheel(log!("uv-no-wheel"), "pip", PackageProblemKind::NotFound, &["docopt"])]
#[case::apt_unknown(log!("apt-unknown"), "apt", PackageProblemKind::NotFound, &["no-such-package-3f2a"])]
#[case::apt_version(log!("apt-version"), "apt", PackageProblemKind::NoSuchVersion, &["libgomp1"])]
fn a_package_that_cannot_be_had_is_named(
    #[case] log: &str,
    #[case] manager: &str,
    #[case] kind: PackageProblemKind,
    #[case] names: &[&str],
) {
    let SandboxError::Packages(problem) = of(log) else {
        panic!("not a package problem: {:?}", of(log));
    };
    assert_eq!((problem.manager, problem.kind), (manager, kind));
    assert_eq!(problem.names, names);
}

#[test]
fn what_was_to_be_installed_as_before_is_no_models_matter() {
    let locked = FailedBuild {
        is_locked: true,
        ..failed(0)
    };
    let said = locked.error(BuildFailureCause::Builder, log!("uv-version"));
    assert!(
        matches!(&said, SandboxError::Refused { object, .. } if object == "pip package six"),
        "{said}"
    );
    let said = locked.error(BuildFailureCause::Builder, log!("uv-other-content"));
    assert!(
        matches!(&said, SandboxError::Refused { object, .. } if object == "pip package tiny==1.0"),
        "{said}"
    );
}

#[rstest]
#[case::base_missing(log!("base-missing"), "check image.base: registry.example/python:3.11 is not there")]
#[case::base_unknown_host(log!("base-unknown-host"), "no address is known for the registry")]
#[case::base_untrusted(log!("base-untrusted"), "set registries.authorities")]
#[case::base_unauthorized(log!("base-unauthorized"), "give image.pullSecretRef a Secret that may pull")]
#[case::base_no_python(log!("base-no-python"), "take an image.base with python3")]
#[case::index_unknown_host(log!("index-unknown-host"), "check image.indexURL")]
#[case::index_untrusted(log!("index-untrusted"), "set image.indexCABundle")]
#[case::index_unauthorized(log!("index-unauthorized"), "give image.indexURL credentials")]
fn what_a_person_must_change_is_named(#[case] log: &str, #[case] says: &str) {
    let SandboxError::Refused { object, remedy, .. } = of(log) else {
        panic!("not refused: {:?}", of(log));
    };
    assert_eq!(object, "Job lab/build-3f2a");
    assert!(remedy.contains(says), "{remedy}");
}

#[rstest]
#[case::base(log!("base-refused"))]
#[case::index(log!("index-refused"))]
#[case::mirror("E: Failed to fetch http://deb.example/x.deb  404  Not Found [IP: 192.0.2.1 80]")]
#[case::disk("OSError: [Errno 28] No space left on device")]
fn a_failure_that_may_pass_is_tried_again(#[case] log: &str) {
    assert!(of(log).needs_another_child(), "{:?}", of(log));
}

#[test]
fn what_nobody_knows_is_tried_again_once() {
    let log = "Segmentation fault\nerror building image: exit status 139";
    assert!(of(log).needs_another_child());
    let SandboxError::Refused { reason, .. } = failed(1).error(BuildFailureCause::Builder, log) else {
        panic!("tried again for ever");
    };
    assert_eq!(
        reason,
        "error building image: exit status 139, for the second time"
    );
}

#[rstest]
#[case::memory(BuildFailureCause::OutOfMemory, "build.resources.limits.memory")]
#[case::time(BuildFailureCause::Deadline, "build.deadlineSeconds")]
fn a_limit_is_met_twice_before_anybody_must_act(#[case] failure: BuildFailureCause, #[case] field: &str) {
    assert!(failed(0).error(failure.clone(), "").needs_another_child());
    let SandboxError::Refused { remedy, .. } = failed(1).error(failure, "") else {
        panic!("tried again for ever");
    };
    assert!(remedy.contains(field), "{remedy}");
}

#[test]
fn a_refused_push_names_the_secret_and_a_broken_one_is_tried_again() {
    let push = |category| {
        failed(0).error(
            BuildFailureCause::Push(category, "registry.example refused it".to_owned()),
            "",
        )
    };
    let refused = push(Category::Configuration).to_string();
    assert_eq!(
        refused,
        "image registry.example/team:3f2a: registry.example refused it; change the Secret push of image.pushSecretRef"
    );
    assert!(push(Category::Infrastructure).needs_another_child());
}

#[test]
fn a_layer_that_the_push_refuses_is_a_matter_of_its_packages() {
    let said = format!("image x: {PACKAGE_LAYER} has bin/sh, which lies outside of /opt/codegen");
    let error = failed(0).error(BuildFailureCause::Push(Category::Configuration, said), "");
    assert!(
        matches!(&error, SandboxError::PackageDenied(text) if text.contains("bin/sh")),
        "{error}"
    );
}

#[test]
fn the_password_of_an_index_is_not_repeated() {
    let log = "error: Failed to fetch: https://reader:hunter2@index.example/simple/six\n  cause: dns error";
    let said = of(log).to_string();
    assert!(said.contains("https://***@index.example"), "{said}");
}
