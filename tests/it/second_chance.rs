//! A test that failed in CI gets one more chance, alone, and is named; where that could hide a race it gets none.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use rstest::rstest;
use tempfile::TempDir;

/// A crate with these tests: those that fail once, since they make a folder, and those that fail for ever.
fn package(flaky: &[&str], failing: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let once = |name: &&str| {
        format!(
            "#[test]\nfn {name}() {{ assert!(std::fs::create_dir(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/{name}\")).is_err()); }}\n"
        )
    };
    let ever = |name: &&str| format!("#[test]\nfn {name}() {{ assert!({name:?}.is_empty()); }}\n");
    let source: String = flaky.iter().map(once).chain(failing.iter().map(ever)).collect();
    let source = source + "#[test]\nfn passes() {}\n";
    fs::create_dir(folder.path().join("src")).unwrap();
    fs::write(folder.path().join("src/lib.rs"), source).unwrap();
    let manifest = "[package]\nname = \"tried\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n";
    fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
    folder
}

fn cargo_test(package: &Path, listed: Option<&Path>) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/cargo-test");
    let mut command = Command::new(script);
    command
        .args(["--offline", "--workspace", "--no-fail-fast"])
        .current_dir(package)
        .env("CARGO_TARGET_DIR", package.join("target"))
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("CODEGEN_FLAKY_LIST");
    if let Some(listed) = listed {
        command.env("CODEGEN_FLAKY_LIST", listed);
    }
    command.output().unwrap()
}

#[test]
fn a_test_that_passes_alone_is_named_and_fails_nothing() {
    let package = package(&["now_and_then"], &[]);
    let listed = package.path().join("flaky.txt");
    let output = cargo_test(package.path(), Some(&listed));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("\nflaky: now_and_then\n"), "{text}");
    assert_eq!(fs::read_to_string(listed).unwrap(), "now_and_then\n");
}

#[rstest]
#[case::it_fails_twice(&[], &["for_ever"], "for_ever failed: it failed twice")]
#[case::one_of_two_fails_twice(&["now_and_then"], &["for_ever"], "for_ever failed: it failed twice")]
#[case::a_crash(&["a_crash_loses_nothing"], &[], "a_crash_loses_nothing failed: a test of its kind gets no second chance")]
#[case::a_wall(&["no_program_gets_out_of_the_sandbox"], &[], "a test of its kind gets no second chance")]
#[case::a_fourth(&["a", "b", "c", "d"], &[], "d failed: 3 tests were flaky before it")]
fn a_failure_stands_where(#[case] flaky: &[&str], #[case] failing: &[&str], #[case] why: &str) {
    let package = package(flaky, failing);
    let output = cargo_test(package.path(), Some(&package.path().join("flaky.txt")));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success(), "{text}");
    assert!(text.contains(why), "{text}");
}

#[test]
fn a_test_program_that_aborts_gets_no_second_chance() {
    let package = package(&["now_and_then"], &[]);
    let source = package.path().join("src/lib.rs");
    let text = fs::read_to_string(&source).unwrap() + "#[test]\nfn aborts() { std::process::abort() }\n";
    fs::write(&source, text).unwrap();
    let output = cargo_test(package.path(), Some(&package.path().join("flaky.txt")));
    assert!(!output.status.success());
    assert!(!String::from_utf8_lossy(&output.stdout).contains("flaky: "));
}

#[test]
fn without_a_list_a_failure_is_a_failure() {
    let package = package(&["now_and_then"], &[]);
    assert!(!cargo_test(package.path(), None).status.success());
}
