use rstest::rstest;

use super::*;
use crate::test_support::{pip, start, task};

fn rules(allow: &[&str], deny: &[&str]) -> Rules {
    let owned = |list: &[&str]| list.iter().map(ToString::to_string).collect();
    Rules {
        allow: owned(allow),
        deny: owned(deny),
        ..Rules::default()
    }
}

#[rstest]
#[case("pandas", "pandas", true)]
#[case("pandas", "pandas-stubs", false)]
#[case("torch*", "torch", true)]
#[case("torch*", "torchvision", true)]
#[case("*-evil", "very-evil", true)]
#[case("*-evil", "very-evils", false)]
#[case("a*b*c", "a-b-c", true)]
#[case("a*b*c", "acb", false)]
#[case("a*a", "a", false)]
#[case("*", "anything", true)]
#[case("*", "apt:curl", false)]
#[case("apt:*", "apt:curl", true)]
#[case("apt:libstdc++*", "apt:libstdc++6", true)]
#[case("curl", "apt:curl", false)]
#[case("Scikit_Learn", "scikit-learn", true)]
#[case("zope.*", "zope-interface", true)]
fn a_rule_means_a_name_with_stars(#[case] pattern: &str, #[case] name: &str, #[case] expected: bool) {
    assert_eq!(matches(pattern, name), expected);
}

/// Takes the packages wanted, the base, the rules, and what the end says; nothing where all may be installed.
#[rstest]
#[case(&["pandas"], &[], rules(&[], &[]), rules(&[], &[]), None)]
#[case(&["torch>=2"], &[], rules(&[], &["torch*"]), rules(&[], &[]), Some("pip package torch is denied by \"torch*\" in packages.deny of the task"))]
#[case(&["Py_Torch[cuda]"], &[], rules(&[], &[]), rules(&[], &["py.torch"]), Some("pip package py-torch is denied by \"py.torch\" in packages.deny of the operator"))]
#[case(&["pandas"], &[], rules(&["pandas"], &[]), rules(&["numpy"], &[]), Some("pip package pandas is not in packages.allow of the operator"))]
#[case(&["numpy"], &[], rules(&["pandas"], &[]), rules(&["numpy"], &[]), Some("pip package numpy is not in packages.allow of the task"))]
#[case(&["numpy"], &[], rules(&["numpy"], &[]), rules(&["n*"], &[]), None)]
#[case(&["numpy"], &[], rules(&["numpy"], &["numpy"]), rules(&[], &[]), Some("is denied by"))]
#[case(&["pytest"], &[], rules(&["numpy"], &["pytest"]), rules(&["numpy"], &[]), None)]
#[case(&["base"], &["base"], rules(&["numpy"], &[]), rules(&[], &[]), None)]
#[case(&["numpy"], &["base"], rules(&["numpy"], &[]), rules(&["numpy"], &[]), Some("pip package base is not in packages.allow of the operator"))]
#[case(&[], &["base"], rules(&[], &["base"]), rules(&[], &[]), Some("pip package base is denied"))]
fn deny_wins_and_what_is_allowed_must_be_allowed_by_all(
    #[case] wanted: &[&str],
    #[case] base: &[&str],
    #[case] own: Rules,
    #[case] cluster: Rules,
    #[case] expected: Option<&str>,
) {
    let mut task = task();
    task.image.base_packages = base.iter().map(ToString::to_string).collect();
    task.packages = PackagePolicy { own, cluster };
    let mut progress = start();
    progress.build.wanted = pip(wanted);
    let said = denial(&task, &progress).map(|denial| denial.to_string());
    match expected {
        None => assert_eq!(said, None),
        Some(words) => assert!(said.as_ref().is_some_and(|said| said.contains(words)), "{said:?}"),
    }
}

#[test]
fn system_packages_are_named_with_what_installs_them() {
    let policy = PackagePolicy {
        own: rules(&["pandas"], &[]),
        cluster: rules(&[], &["apt:openssh-*"]),
    };
    let wanted = |apt: &str| Packages {
        pip: vec!["pandas".into()],
        apt: vec![apt.into()],
    };
    let image = task().image;
    let denied = |apt: &str| policy.denial(&wanted(apt), &image).unwrap().to_string();
    assert!(denied("openssh-client=1:9.2").starts_with("apt package openssh-client is denied by"));
    assert!(denied("libgomp1").starts_with("apt package libgomp1 is not in packages.allow of the task"));
}

#[test]
fn what_packages_bring_along_must_not_be_denied_and_need_not_be_allowed() {
    let policy = PackagePolicy {
        own: rules(&["pandas"], &[]),
        cluster: rules(&["pandas"], &["six"]),
    };
    let installed = |names: &[&str]| {
        let resolved: Vec<String> = names.iter().map(|name| format!("{name}==1.0")).collect();
        policy
            .denial_of_installed(&resolved)
            .map(|denial| denial.to_string())
    };
    assert_eq!(installed(&["numpy", "pandas", "pytest"]), None);
    let said = installed(&["numpy", "six"]).unwrap();
    assert!(
        said.starts_with("pip package six, which another package brought along, is denied by \"six\""),
        "{said}"
    );
    assert!(said.contains("whoever runs the operator"), "{said}");
}

#[test]
fn a_rule_against_every_package_leaves_the_test_runner_and_what_it_needs() {
    let policy = PackagePolicy {
        own: rules(&[], &["*"]),
        ..PackagePolicy::default()
    };
    let runner = [
        "iniconfig==2.3.0",
        "packaging==26.0",
        "pluggy==1.6.0",
        "Pygments==2.20.0",
        "pytest==9.0.3",
    ];
    assert_eq!(policy.denial_of_installed(&runner.map(str::to_owned)), None);
    let asked = Packages {
        pip: vec!["pygments".into()],
        ..Packages::default()
    };
    assert!(policy.denial(&asked, &task().image).is_some());
}

#[test]
fn the_stricter_rule_on_ages_holds_and_whoever_asks_no_index_is_not_asked_to() {
    let mut policy = PackagePolicy::default();
    assert_eq!(
        (policy.min_release_age_days(), policy.verifies_on_index()),
        (0, true)
    );
    policy.own.min_release_age_days = 3;
    policy.cluster.min_release_age_days = 7;
    assert_eq!(policy.min_release_age_days(), 7);
    policy.cluster.verify_on_index = false;
    assert!(!policy.verifies_on_index());
}

#[test]
fn a_name_that_resembles_a_popular_one_is_a_warning() {
    assert_eq!(
        doubts(&pip(&["pandas", "requests[socks]<3"])),
        Vec::<String>::new()
    );
    let said = doubts(&pip(&["pandsa>=1"]));
    assert!(
        said.len() == 1 && said[0].contains("pandsa") && said[0].contains("pandas"),
        "{said:?}"
    );
}

#[rstest]
#[case("pandas", true)]
#[case("apt:g++", true)]
#[case("*", true)]
#[case("", false)]
#[case("pip install x", false)]
#[case("pandas>=2", false)]
#[case("-x", false)]
fn rules_that_no_package_can_meet_are_found(#[case] pattern: &str, #[case] is_usable: bool) {
    assert_eq!(rules(&[pattern], &[]).unusable().is_none(), is_usable);
}
