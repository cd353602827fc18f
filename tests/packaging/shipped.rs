//! Each way to get a program brings the interpreter that it starts: the image, the archive of a release, krew, `make install`. Compilers and
//! tools of images have stand-ins, so that what the scripts make of their output is all that takes time.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use flate2::read::GzDecoder;
use rstest::rstest;
use serde_json::Value;

use crate::tool::{output, root};

/// A command that meets the stand-ins before the programs of this system.
fn command(program: impl AsRef<std::ffi::OsStr>, target: &Path) -> Command {
    let stand_ins = root().join("tests/packaging/stand-ins");
    let path = std::env::var("PATH").unwrap();
    let mut command = Command::new(program);
    command
        .env("PATH", format!("{}:{path}", stand_ins.display()))
        .env("CARGO_TARGET_DIR", target);
    command
}

fn run(mut command: Command) {
    let done = command.output().unwrap();
    let printed = String::from_utf8_lossy(&done.stderr);
    assert!(
        done.status.success(),
        "{}: {printed}",
        command.get_program().display()
    );
}

/// The files of an archive that anybody may execute, with their sizes.
fn programs(archive: impl Read) -> BTreeMap<String, u64> {
    let mut archive = tar::Archive::new(archive);
    archive
        .entries()
        .unwrap()
        .map(Result::unwrap)
        .filter(|entry| {
            entry.header().entry_type().is_file() && entry.header().mode().unwrap() & 0o111 == 0o111
        })
        .map(|entry| (entry.path().unwrap().display().to_string(), entry.size()))
        .collect()
}

fn assert_has(programs: &BTreeMap<String, u64>, wanted: [&str; 2]) {
    for name in wanted {
        assert!(
            programs.get(name).is_some_and(|size| *size > 0),
            "{name} is missing: {programs:?}"
        );
    }
}

#[rstest]
#[case::as_it_ships("release")]
#[case::as_the_tests_were_built("dev")]
fn the_image_has_the_operator_and_its_interpreter(#[case] profile: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let password = file("password", "password\n");
    file(
        "environment",
        &format!(
            "CODEGEN_E2E_REGISTRY=registry.example\nCODEGEN_E2E_REGISTRY_USER=codegen\n\
             CODEGEN_E2E_REGISTRY_PASSWORD_FILE={password}\n"
        ),
    );
    let mut image = command(
        root().join("tests/cluster/operator-image"),
        &folder.path().join("target"),
    );
    image
        .env("CODEGEN_E2E_DIR", folder.path())
        .env("CODEGEN_E2E_PROFILE", profile)
        .env("SSL_CERT_FILE", file("authorities.pem", "-----\n"))
        .env_remove("CODEGEN_E2E_REGISTRY_CA");
    run(image);
    let layer = File::open(folder.path().join("layer.tar")).unwrap();
    assert_has(
        &programs(layer),
        ["./usr/bin/codegen-operator", "./usr/bin/codegen-interpreter"],
    );
}

/// The script of the step of the release that packs the plugin.
fn packing() -> String {
    let text = fs::read_to_string(root().join(".github/workflows/release.yaml")).unwrap();
    let workflow: Value = serde_saphyr::from_str(&text).unwrap();
    let steps = workflow["jobs"]["build"]["steps"].as_array().unwrap();
    let mut scripts = steps.iter().filter_map(|step| step["run"].as_str());
    let script = scripts.find(|script| script.contains("scripts/plugin"));
    script
        .expect("no step of the release calls scripts/plugin")
        .to_owned()
}

#[test]
fn the_archive_of_a_release_has_the_plugin_and_its_interpreter() {
    let checkout = tempfile::tempdir().unwrap();
    for name in ["scripts", "LICENSE"] {
        symlink(root().join(name), checkout.path().join(name)).unwrap();
    }
    let mut bash = command("bash", &checkout.path().join("target"));
    bash.args(["-euc", &packing()])
        .current_dir(checkout.path())
        .env("ARCH", "amd64")
        .env_remove("PROFILE");
    run(bash);
    let archive = File::open(checkout.path().join("kubectl-codegen-linux-amd64.tar.gz")).unwrap();
    assert_has(
        &programs(GzDecoder::new(archive)),
        ["./kubectl-codegen", "./codegen-interpreter"],
    );
}

/// A `files` would choose among them, and the plugin searches beside itself.
#[test]
fn krew_installs_all_files_of_the_archive() {
    let text = fs::read_to_string(root().join("release/krew.yaml")).unwrap();
    let manifest: Value = serde_saphyr::from_str(&text).unwrap();
    let platforms = manifest["spec"]["platforms"].as_array().unwrap();
    assert!(!platforms.is_empty());
    for platform in platforms {
        assert_eq!(platform["bin"], "kubectl-codegen");
        assert!(platform.get("files").is_none(), "{platform}");
    }
}

#[test]
fn make_install_installs_the_programs_and_their_interpreter() {
    let commands = output("make", &["--dry-run", "install"], "");
    let packages: Vec<&str> = commands
        .lines()
        .filter_map(|line| line.strip_prefix("cargo install --locked --path "))
        .collect();
    assert_eq!(packages, [".", "crates/interpreter-worker"]);
}

/// A tag that is moved would run in the job that signs a release.
#[test]
fn every_action_of_a_workflow_is_named_by_its_commit() {
    let is_commit = |name: &str| name.len() == 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut actions = 0;
    for workflow in fs::read_dir(root().join(".github/workflows")).unwrap() {
        let text = fs::read_to_string(workflow.unwrap().path()).unwrap();
        for line in text.lines().filter(|line| line.contains("uses:")) {
            let commit = line.split_once('@').unwrap().1.split_whitespace().next().unwrap();
            assert!(is_commit(commit), "{line}");
            actions += 1;
        }
    }
    assert!(actions > 10, "{actions}");
}

#[test]
fn a_release_builds_on_images_by_their_digests_and_stops_where_it_learns_none() {
    let target = tempfile::tempdir().unwrap();
    let digests = |digest: &str| {
        let mut script = command(root().join("scripts/image-digests"), target.path());
        script.env("CODEGEN_TEST_DIGEST", digest).output().unwrap()
    };
    let digest = format!("sha256:{}", "a".repeat(64));
    let done = digests(&digest);
    let lines = String::from_utf8(done.stdout).unwrap();
    let names: Vec<&str> = lines
        .lines()
        .map(|line| line.split_once('=').unwrap().0)
        .collect();
    assert_eq!(
        names,
        ["installer-base", "build-base", "base", "executor"],
        "{lines}"
    );
    assert!(
        lines.lines().all(|line| line.ends_with(&format!("@{digest}"))),
        "{lines}"
    );
    assert!(!digests("").status.success());
    // Each is used: the bases by the build of the image, the executor by the chart.
    let workflow = fs::read_to_string(root().join(".github/workflows/release.yaml")).unwrap();
    for name in names {
        assert!(
            workflow.contains(&format!("needs.version.outputs.{name} }}}}")),
            "{name}"
        );
    }
    let dockerfile = fs::read_to_string(root().join("Dockerfile")).unwrap();
    let froms: Vec<&str> = dockerfile
        .lines()
        .filter(|line| line.starts_with("FROM "))
        .collect();
    assert_eq!(
        froms,
        [
            "FROM ${INSTALLER_BASE} AS installer",
            "FROM ${BUILD_BASE} AS build",
            "FROM ${BASE}"
        ]
    );
}

#[test]
fn advisories_that_cannot_be_read_fail_where_they_are_required() {
    let cache = tempfile::tempdir().unwrap();
    let version = output("sed", &["-n", "s/^VERSION=//p", "scripts/deny"], "");
    let bin = cache
        .path()
        .join(format!("codegen-operator/cargo-deny-{}/bin", version.trim()));
    fs::create_dir_all(&bin).unwrap();
    symlink("/bin/true", bin.join("cargo-deny")).unwrap();
    symlink("/bin/false", bin.join("git")).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let ends_well = |arguments: &[&str]| {
        let mut script = command(root().join("scripts/deny"), cache.path());
        script
            .args(arguments)
            .env("PATH", &path)
            .env("XDG_CACHE_HOME", cache.path());
        script.output().unwrap().status.success()
    };
    assert!(ends_well(&[]));
    assert!(!ends_well(&["--require-advisories"]));
    let workflow = |name: &str| fs::read_to_string(root().join(".github/workflows").join(name)).unwrap();
    for name in ["ci.yaml", "release.yaml"] {
        assert!(
            workflow(name).contains("scripts/deny --require-advisories"),
            "{name}"
        );
    }
}
