//! Outputs on a claim that are what their run wrote, and some that are not. What is sent is tested against a registry (`tests/it/registry.rs`).

use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use codegen_core::digest::{of_folder, sha256_hex};
use codegen_sandbox::kubernetes::OutputFolder;

/// A folder with a file `levels` and a folder `pages` of two files, and the request to push them.
fn place() -> (tempfile::TempDir, PushRequest) {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    fs::write(at("levels"), "a\n1\n").unwrap();
    fs::create_dir_all(at("pages/deep")).unwrap();
    fs::write(at("pages/2.html"), "<p>").unwrap();
    fs::write(at("pages/deep/1.html"), "<b>").unwrap();
    let pages = of_folder(vec![
        ("2.html".to_owned(), sha256_hex(b"<p>")),
        ("deep/1.html".to_owned(), sha256_hex(b"<b>")),
    ]);
    let output = |name: &str, type_, file_name: &str, sha256: String, bytes| OutputToPush {
        name: name.to_owned(),
        type_,
        file_name: file_name.to_owned(),
        sha256,
        bytes,
    };
    let request = PushRequest {
        reference: "registry.example/outputs:2027".to_owned(),
        written_to: OutputFolder {
            claim: "results".to_owned(),
            path: "2027/run-0b6c".to_owned(),
            fs_group: None,
        },
        folder: folder.path().to_str().unwrap().to_owned(),
        outputs: vec![
            output("levels", ValueType::File, "levels.csv", sha256_hex(b"a\n1\n"), 4),
            output("pages", ValueType::Dir, "pages", pages, 6),
        ],
        annotations: std::collections::BTreeMap::new(),
        owner: "lab/run".to_owned(),
        has_credentials: false,
        access: PushAccess::default(),
    };
    (folder, request)
}

fn files(request: &PushRequest) -> Result<Vec<ArtifactFile>, PushReport> {
    let outputs = request.outputs.iter();
    let files: Result<Vec<_>, _> = outputs
        .map(|output| (OutputReader { request, output }).files())
        .collect();
    Ok(files?.concat())
}

fn changed(request: &PushRequest) -> String {
    match files(request) {
        Err(PushReport::Changed(words)) => words,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_file_is_a_layer_by_the_name_and_type_of_its_output() {
    let (_folder, request) = place();
    let files = files(&request).unwrap();
    let named: Vec<_> = files
        .iter()
        .map(|file| (file.title.as_str(), file.media_type))
        .collect();
    assert_eq!(
        named,
        [
            ("levels.csv", "text/csv"),
            ("pages/2.html", "text/html"),
            ("pages/deep/1.html", "text/html")
        ]
    );
}

#[test]
fn a_file_of_another_content_is_named_with_both_digests() {
    let (folder, request) = place();
    fs::write(folder.path().join("levels"), "a\n2\n").unwrap();
    let words = changed(&request);
    for part in [
        "the output levels is not what the program wrote, at 2027/run-0b6c/levels on the claim results",
        &sha256_hex(b"a\n1\n"),
        &sha256_hex(b"a\n2\n"),
    ] {
        assert!(words.contains(part), "{words}");
    }
    fs::write(folder.path().join("levels"), "a\n").unwrap();
    assert!(changed(&request).ends_with("it has 2 bytes, the run wrote 4"));
}

#[test]
fn a_folder_with_one_file_more_is_another_one() {
    let (folder, request) = place();
    fs::write(folder.path().join("pages/3.html"), "").unwrap();
    assert!(changed(&request).contains("the output pages is not what the program wrote"));
}

#[test]
fn a_name_that_is_not_text_is_no_name_of_a_layer() {
    use std::os::unix::ffi::OsStrExt as _;

    let (folder, request) = place();
    let name = std::ffi::OsStr::from_bytes(b"pages/caf\xe9.html");
    fs::write(folder.path().join(name), "").unwrap();
    assert!(changed(&request).ends_with("a name in it is not UTF-8"));
}

#[test]
fn refusals_are_distinguished_by_what_helps_against_them() {
    let (registry, what, reason) = (String::new(), String::new(), String::new());
    let refused = RegistryError::Refused {
        registry,
        what,
        reason,
    };
    assert!(matches!(not_sent(&refused), PushReport::Unauthorized(_)));
    let (registry, what, reason) = (String::new(), String::new(), "413".to_owned());
    let rejected = RegistryError::Rejected {
        registry,
        what,
        reason,
    };
    assert!(matches!(not_sent(&rejected), PushReport::Refused(_)));
    let (reference, bytes) = (String::new(), 5 << 20);
    let too_many = RegistryError::TooMany { reference, bytes };
    assert!(matches!(not_sent(&too_many), PushReport::TooMany(_)));
}

#[test]
fn no_link_is_followed() {
    let (folder, request) = place();
    let secret = tempfile::NamedTempFile::new().unwrap();
    fs::write(secret.path(), "a\n1\n").unwrap();
    fs::remove_file(folder.path().join("levels")).unwrap();
    symlink(secret.path(), folder.path().join("levels")).unwrap();
    // Whoever follows it finds what the run wrote.
    assert_eq!(fs::read(folder.path().join("levels")).unwrap(), b"a\n1\n");
    assert!(changed(&request).ends_with("it is a link or a socket"));

    let (folder, request) = place();
    fs::remove_file(folder.path().join("pages/2.html")).unwrap();
    symlink(secret.path(), folder.path().join("pages/2.html")).unwrap();
    assert!(changed(&request).ends_with("pages/2.html is not a file"));

    let (folder, request) = place();
    fs::rename(folder.path().join("pages"), folder.path().join("moved")).unwrap();
    symlink(folder.path().join("moved"), folder.path().join("pages")).unwrap();
    assert!(changed(&request).ends_with("it is a link or a socket"));
}

#[test]
fn a_link_that_takes_the_place_of_a_file_before_it_is_sent_is_not_followed() {
    let (folder, request) = place();
    let files = files(&request).unwrap();
    let FileContent::OnDisk(file) = &files[0].content else {
        panic!("it is held");
    };
    assert!((file.open)().is_ok());
    fs::remove_file(folder.path().join("levels")).unwrap();
    let secret = tempfile::NamedTempFile::new().unwrap();
    symlink(secret.path(), folder.path().join("levels")).unwrap();
    assert!(fs::File::open(folder.path().join("levels")).is_ok());
    assert!((file.open)().is_err());
}

#[test]
fn an_output_that_somebody_removed_is_named() {
    let (folder, request) = place();
    fs::remove_dir_all(folder.path().join("pages")).unwrap();
    assert_eq!(files(&request).unwrap_err(), PushReport::Gone("pages".to_owned()));
}
