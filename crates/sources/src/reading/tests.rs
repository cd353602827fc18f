//! Refusals on a claim, and the names in each. Digests are compared with those of local runs in `tests/it/sources.rs`.

use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

/// A claim with `2026/a.csv`, a folder of several files, and links.
fn claim() -> TempDir {
    let claim = tempfile::tempdir().unwrap();
    let top = claim.path();
    std::fs::create_dir_all(top.join("2026/deep")).unwrap();
    std::fs::write(top.join("2026/a.csv"), "abc").unwrap();
    std::fs::write(top.join("2026/deep/b.csv"), "abd").unwrap();
    symlink("2026", top.join("latest")).unwrap();
    symlink("/etc/passwd", top.join("outside")).unwrap();
    symlink("..", top.join("above")).unwrap();
    claim
}

async fn reading(claim: &TempDir, path: &str, is_dir: bool) -> ReadReport {
    asked(source(claim, path, is_dir)).await
}

fn source(claim: &TempDir, path: &str, is_dir: bool) -> ClaimSource {
    ClaimSource {
        name: "m".to_owned(),
        claim: "data".to_owned(),
        folder: claim.path().to_str().unwrap().to_owned(),
        path: path.to_owned(),
        is_dir,
        sha256: None,
    }
}

async fn asked(source: ClaimSource) -> ReadReport {
    let request = ReadRequest {
        sources: vec![source],
        ..ReadRequest::default()
    };
    read(&request, &WorkerClient::new(Path::new("/bin/false"), [""; 0])).await
}

async fn refusal(claim: &TempDir, path: &str, is_dir: bool) -> String {
    match reading(claim, path, is_dir).await {
        ReadReport::Refused(why) => why,
        other => panic!("{other:?}"),
    }
}

async fn found(claim: &TempDir, path: &str, is_dir: bool) -> ReadSource {
    match reading(claim, path, is_dir).await {
        ReadReport::Read {
            sources,
            profiles: None,
        } => sources[0].clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_file_has_digest_and_size_also_through_a_link_on_its_claim() {
    let claim = claim();
    let abc = ReadSource {
        sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned(),
        bytes: 3,
    };
    assert_eq!(found(&claim, "2026/a.csv", false).await, abc);
    assert_eq!(found(&claim, "latest/a.csv", false).await, abc);
}

#[tokio::test]
async fn another_content_than_the_spec_says_names_both_digests() {
    let claim = claim();
    let source = ClaimSource {
        sha256: Some("00".to_owned()),
        ..source(&claim, "2026/a.csv", false)
    };
    let ReadReport::Refused(why) = asked(source).await else {
        panic!("it was read")
    };
    assert!(
        why.contains("has sha256 ba7816bf") && why.contains("the spec says 00"),
        "{why}"
    );
}

#[tokio::test]
async fn a_folder_is_read_with_all_below_it() {
    let claim = claim();
    let folder = found(&claim, "2026", true).await;
    assert_eq!(folder.bytes, 6);
    assert_eq!(found(&claim, "latest", true).await, folder);
    std::fs::write(claim.path().join("2026/deep/b.csv"), "abe").unwrap();
    assert_ne!(found(&claim, "2026", true).await, folder);
}

#[tokio::test]
async fn what_a_volume_has_at_its_top_is_no_part_of_a_folder() {
    let claim = tempfile::tempdir().unwrap();
    std::fs::write(claim.path().join("a.csv"), "abc").unwrap();
    let before = found(&claim, "", true).await;
    std::fs::create_dir(claim.path().join("lost+found")).unwrap();
    std::fs::write(claim.path().join("lost+found/x"), "abc").unwrap();
    assert_eq!(found(&claim, "", true).await, before);
}

#[tokio::test]
async fn a_path_that_is_not_there_is_named_with_its_claim() {
    assert_eq!(
        refusal(&claim(), "2026/none.csv", false).await,
        "m: cannot read 2026/none.csv on the claim data: No such file or directory (os error 2); correct the path, or put it there"
    );
    assert!(
        refusal(&claim(), "2026/a.csv/b", false)
            .await
            .contains("Not a directory")
    );
}

#[tokio::test]
async fn a_file_is_no_folder_and_a_folder_no_file() {
    assert_eq!(
        refusal(&claim(), "2026/a.csv", true).await,
        "m: 2026/a.csv on the claim data is not a folder"
    );
    assert_eq!(
        refusal(&claim(), "2026", false).await,
        "m: 2026 on the claim data is not a file"
    );
}

#[tokio::test]
async fn a_link_leads_nowhere_but_to_its_own_claim() {
    for path in ["outside", "above", "latest/../outside"] {
        let why = refusal(&claim(), path, path == "above").await;
        assert!(why.contains("leads out of the claim data"), "{why}");
    }
}

#[tokio::test]
async fn inside_of_a_folder_there_are_no_links_and_no_pipes() {
    let linked = claim();
    symlink("a.csv", linked.path().join("2026/b.csv")).unwrap();
    assert_eq!(
        refusal(&linked, "2026", true).await,
        "m: 2026/b.csv on the claim data is not a file"
    );
    let piped = claim();
    let pipe = piped.path().join("2026/pipe");
    rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
    assert!(
        refusal(&piped, "2026", true)
            .await
            .contains("2026/pipe on the claim data is not a file")
    );
    assert!(
        refusal(&piped, "2026/pipe", false)
            .await
            .contains("is not a file")
    );
    let socketed = claim();
    let _socket = std::os::unix::net::UnixListener::bind(socketed.path().join("2026/socket")).unwrap();
    assert!(
        refusal(&socketed, "2026", true)
            .await
            .contains("2026/socket on the claim data is not a file")
    );
}

#[tokio::test]
async fn a_claim_of_folders_without_an_end_is_refused_in_words() {
    let claim = tempfile::tempdir().unwrap();
    let folders = |tops: std::ops::Range<usize>| {
        for (top, inner) in tops.flat_map(|top| (0..99).map(move |inner| (top, inner))) {
            std::fs::create_dir_all(claim.path().join(format!("tree/{top}/{inner}"))).unwrap();
        }
    };
    // As many as there may be, each with 99 others in it.
    folders(0..100);
    std::fs::write(claim.path().join("tree/0/a.csv"), "abc").unwrap();
    assert_eq!(found(&claim, "tree", true).await.bytes, 3);
    folders(100..101);
    assert_eq!(
        refusal(&claim, "tree", true).await,
        "m: is larger than 1 GiB or has more than 10,000 files or folders: give a smaller one"
    );
}

#[tokio::test]
async fn the_names_on_somebodys_disk_need_be_no_text() {
    let claim = claim();
    let before = found(&claim, "2026", true).await;
    let name = std::ffi::OsStr::from_bytes(b"2026/caf\xe9.csv");
    std::fs::write(claim.path().join(name), "abc").unwrap();
    assert_eq!(found(&claim, "2026", true).await.bytes, before.bytes + 3);
}

#[test]
fn what_a_person_can_fix_is_refused_and_a_disk_error_is_tried_again() {
    let claim = tempfile::tempdir().unwrap();
    let source = source(&claim, "", true);
    let reader = ClaimReader::of_input(&source);
    let error = |kind: io::ErrorKind| reader.error(claim.path(), kind.into());
    let denied = error(io::ErrorKind::PermissionDenied);
    assert!(!denied.is_passing() && denied.to_string().contains("let every user read it"));
    assert!(error(io::ErrorKind::StaleNetworkFileHandle).is_passing());
}
