//! Packages that do not exist, and what takes their place.

use super::*;

fn replacing(name: &str, replacement: &str) -> Result<Accepted, Refusal> {
    let mut progress = start();
    progress.build.wanted = pip(&["pandsa<3", "requests"]);
    progress.build.fault = Some(BuildFault {
        packages: progress.build.wanted.clone(),
        message: "no".into(),
    });
    let value = json!({"replacements": [{"manager": "pip", "name": name, "replacement": replacement}]});
    accept(
        &task(),
        &progress,
        &material(),
        CallKind::FixEnvironment,
        &reply(&value),
    )
}

#[test]
fn a_package_that_does_not_exist_is_replaced_or_left_out() {
    match replacing("Pandsa", "pandas").unwrap() {
        Accepted::Environment { wanted, .. } => assert_eq!(wanted, pip(&["pandas", "requests"])),
        other => panic!("{other:?}"),
    }
    match replacing("pandsa", "").unwrap() {
        Accepted::Environment { wanted, .. } => assert_eq!(wanted, pip(&["requests"])),
        other => panic!("{other:?}"),
    }
}

#[rstest]
#[case::unknown("numpy", "x", "none of the packages")]
#[case::the_same("requests", "requests", "as they were")]
#[case::an_address("pandsa", "https://evil.example/x.whl", "not allowed")]
fn a_replacement_that_helps_nothing_is_refused(
    #[case] name: &str,
    #[case] replacement: &str,
    #[case] says: &str,
) {
    let reason = refused(replacing(name, replacement));
    assert!(reason.contains(says), "{reason}");
}

#[test]
fn a_replacement_is_followed_by_the_next_and_of_its_own_manager_only() {
    let mut build = crate::progress::Build::default();
    build.replaced.insert("pip:a".into(), "b".into());
    build.replaced.insert("pip:b".into(), "c".into());
    build.replaced.insert("pip:graphviz".into(), String::new());
    let wanted = Packages {
        pip: vec!["a".into(), "graphviz".into()],
        apt: vec!["graphviz".into()],
    };
    assert_eq!(
        build.replace(&wanted),
        Packages {
            pip: vec!["c".into()],
            apt: vec!["graphviz".into()]
        }
    );
}

#[test]
fn what_only_the_acceptance_tests_import_is_installed_too() {
    let material = Material {
        acceptance_tests: "import requests\n".into(),
        ..material()
    };
    let result = accept(
        &task(),
        &start(),
        &material,
        CallKind::Code,
        &reply(&code(SOLUTION)),
    );
    assert!(matches!(result, Ok(Accepted::Source(accepted)) if accepted.wanted == pip(&["requests"])));
}
