//! Findings about outputs on a claim. Formats and constraints take a child process, and are tested in a cluster.

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

fn claim() -> TempDir {
    let claim = tempfile::tempdir().unwrap();
    let top = claim.path();
    std::fs::create_dir_all(top.join("pages/deep")).unwrap();
    std::fs::write(top.join("pages/a.txt"), "abc").unwrap();
    std::fs::write(top.join("pages/deep/line\nbreak"), "abd").unwrap();
    std::fs::write(top.join("cleaned"), "x".repeat(3_000_000)).unwrap();
    symlink("cleaned", top.join("inside")).unwrap();
    symlink("/etc/passwd", top.join("outside")).unwrap();
    claim
}

async fn found(claim: &TempDir, name: &str, type_: ValueType) -> FoundOutput {
    let declared: Output =
        serde_json::from_value(serde_json::json!({"name": name, "type": type_, "description": "d"})).unwrap();
    let asked = OutputsAsked {
        outputs: vec![declared],
        ..OutputsAsked::default()
    };
    let worker = WorkerClient::new(Path::new("/bin/false"), [""; 0]);
    check(claim.path(), &asked, &worker).await.unwrap().remove(0)
}

#[tokio::test]
async fn a_large_file_and_a_folder_are_said_by_digest_and_size() {
    let claim = claim();
    let FoundOutput::Read {
        sha256, bytes, files, ..
    } = found(&claim, "cleaned", ValueType::File).await
    else {
        panic!("not read");
    };
    assert_eq!((bytes, files), (3_000_000, 1));
    assert_eq!(
        sha256,
        codegen_core::digest::sha256_hex("x".repeat(3_000_000).as_bytes())
    );
    let FoundOutput::Read { bytes, files, .. } = found(&claim, "pages", ValueType::Dir).await else {
        panic!("not read");
    };
    assert_eq!((bytes, files), (6, 2));
}

#[tokio::test]
async fn no_link_is_followed_wherever_it_leads() {
    let claim = claim();
    for name in ["inside", "outside"] {
        let found = found(&claim, name, ValueType::File).await;
        assert_eq!(
            found,
            FoundOutput::Wrong("it is a link or a socket".to_owned()),
            "{name}"
        );
    }
    symlink("/etc", claim.path().join("pages/etc")).unwrap();
    let found = found(&claim, "pages", ValueType::Dir).await;
    assert_eq!(found, FoundOutput::Wrong("pages/etc is not a file".to_owned()));
}

#[tokio::test]
async fn a_name_in_a_folder_that_is_not_text_is_said_and_one_in_any_script_is_taken() {
    let claim = claim();
    std::fs::write(claim.path().join("pages/注文 café\n.csv"), "abc").unwrap();
    let FoundOutput::Read { files: 3, .. } = found(&claim, "pages", ValueType::Dir).await else {
        panic!("not read");
    };
    for name in [b"pages/caf\xe9.csv".as_slice(), b"pages/deep/caf\xe9"] {
        let path = claim.path().join(std::ffi::OsStr::from_bytes(name));
        std::fs::create_dir(&path).unwrap();
        let wrong = FoundOutput::Wrong(NOT_TEXT.to_owned());
        assert_eq!(found(&claim, "pages", ValueType::Dir).await, wrong);
        std::fs::remove_dir(path).unwrap();
    }
}

#[tokio::test]
async fn what_is_gone_or_of_another_kind_is_said() {
    let claim = claim();
    for (name, type_, words) in [
        ("gone", ValueType::File, "it is not there any more"),
        ("pages", ValueType::File, "pages is not a file"),
        ("cleaned", ValueType::Dir, "cleaned is not a folder"),
        (
            "cleaned",
            ValueType::String,
            "a value of type String has at most 1048576 bytes, this one has 3000000: declare it as a File",
        ),
    ] {
        let found = found(&claim, name, type_).await;
        assert_eq!(found, FoundOutput::Wrong(words.to_owned()));
    }
}
