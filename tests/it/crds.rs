//! `codegen-operator crds` as a user runs it.

use assert_cmd::Command;

fn operator() -> Command {
    Command::new(env!("CARGO_BIN_EXE_codegen-operator"))
}

#[test]
fn crds_prints_every_definition_as_one_stream() {
    operator()
        .arg("crds")
        .assert()
        .success()
        .stdout(codegen_api::crds_yaml().unwrap())
        .stderr("");
}

#[test]
fn crds_writes_one_file_a_definition_into_a_folder_that_it_makes() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("crds");
    operator()
        .args(["crds", "--output"])
        .arg(&output)
        .assert()
        .success()
        .stdout("");
    for crd in codegen_api::crds() {
        let file = output.join(format!("{}.yaml", crd.spec.names.plural));
        assert_eq!(
            std::fs::read_to_string(file).unwrap(),
            codegen_api::crd::crd_yaml(&crd).unwrap()
        );
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let assert = operator()
        .args(["crds", "--output"])
        .arg(file.path())
        .assert()
        .failure();
    let said = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    let expected = format!("Error: failed to make the folder {}", file.path().display());
    assert!(said.starts_with(&expected), "{said}");
}
