//! Copies, digests and downloads.

use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::*;

fn wanted(source: SourceOrigin) -> WantedSource {
    WantedSource {
        name: "m".to_owned(),
        file_name: "m.csv".to_owned(),
        source,
        sha256: None,
    }
}

async fn freeze_sample(wanted: WantedSource, folder: &Path) -> Result<FrozenFile, FreezeError> {
    let plan = ReadPlan {
        samples: vec![wanted],
        ..ReadPlan::default()
    };
    let downloads = DownloadAccess::new(folder.join("cache"), &["127.0.0.1".parse().unwrap()]);
    Ok(freeze(&plan, folder, &downloads).await?.samples.remove(0))
}

const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

#[tokio::test]
async fn bytes_are_frozen_with_digest_and_size() {
    let folder = tempfile::tempdir().unwrap();
    let frozen = freeze_sample(wanted(SourceOrigin::Bytes(b"abc".to_vec())), folder.path())
        .await
        .unwrap();
    assert_eq!(
        (frozen.sha256.as_str(), frozen.bytes, frozen.is_dir),
        (ABC, 3, false)
    );
    assert_eq!(fs::read(folder.path().join("inputs/m.csv")).unwrap(), b"abc");
}

#[tokio::test]
async fn a_file_of_another_digest_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    fs::write(&path, "abd").unwrap();
    let wanted = WantedSource {
        sha256: Some(ABC.to_owned()),
        ..wanted(SourceOrigin::File(path))
    };
    let error = freeze_sample(wanted, folder.path())
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains(&format!("the manifest says {ABC}")), "{error}");
}

#[tokio::test]
async fn a_missing_file_and_a_folder_for_a_file_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = freeze_sample(wanted(SourceOrigin::File("absent.csv".into())), folder.path())
        .await
        .unwrap_err();
    assert!(
        error.to_string().starts_with("m: cannot read absent.csv: ")
            && error.to_string().ends_with("; correct the path"),
        "{error}"
    );
    let error = freeze_sample(wanted(SourceOrigin::File(folder.path().into())), folder.path())
        .await
        .unwrap_err();
    assert!(error.to_string().ends_with("is not a file"), "{error}");
}

#[test]
fn a_file_that_may_not_be_read_is_said_to_be_forbidden() {
    let error = FreezeError::Read {
        name: "m".to_owned(),
        path: "s.csv".into(),
        source: io::ErrorKind::PermissionDenied.into(),
    };
    assert_eq!(
        error.to_string(),
        "m: cannot read s.csv: permission denied; let your user read it (chmod u+r), and enter the folders above it"
    );
}

#[tokio::test]
async fn the_digest_of_a_folder_is_of_paths_and_contents() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fs::create_dir_all(source.join("sub")).unwrap();
    fs::write(source.join("sub/a"), "1").unwrap();
    fs::write(source.join("b"), "22").unwrap();
    let first = freeze_sample(
        wanted(SourceOrigin::Folder(source.clone())),
        &folder.path().join("1"),
    )
    .await
    .unwrap();
    let again = freeze_sample(
        wanted(SourceOrigin::Folder(source.clone())),
        &folder.path().join("2"),
    )
    .await
    .unwrap();
    assert_eq!(first, again);
    assert_eq!((first.bytes, first.is_dir), (3, true));
    fs::rename(source.join("b"), source.join("c")).unwrap();
    let renamed = freeze_sample(wanted(SourceOrigin::Folder(source)), &folder.path().join("3"))
        .await
        .unwrap();
    assert_ne!(first.sha256, renamed.sha256);
    assert_eq!(
        fs::read(folder.path().join("1/inputs/m.csv/sub/a")).unwrap(),
        b"1"
    );
}

#[tokio::test]
async fn a_folder_with_a_link_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fs::create_dir(&source).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", source.join("link")).unwrap();
    let error = freeze_sample(wanted(SourceOrigin::Folder(source)), folder.path())
        .await
        .unwrap_err()
        .to_string();
    assert!(error.ends_with("link is not a file"), "{error}");
}

#[tokio::test]
async fn keys_cannot_leave_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let files = BTreeMap::from([
        ("../../escaped".to_owned(), b"x".to_vec()),
        ("..".to_owned(), b"y".to_vec()),
    ]);
    freeze_sample(wanted(SourceOrigin::Files(files)), folder.path())
        .await
        .unwrap();
    assert!(!folder.path().join("escaped").exists());
    assert!(folder.path().join("inputs/m.csv/.._.._escaped").exists());
}

async fn server(body: &str, times: u64) -> MockServer {
    let server = MockServer::start().await;
    let answer = ResponseTemplate::new(200).set_body_string(body);
    Mock::given(path("/a.csv"))
        .respond_with(answer)
        .expect(times)
        .mount(&server)
        .await;
    server
}

fn install_tls() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

#[tokio::test]
async fn a_download_is_cached_by_its_digest() {
    install_tls();
    let folder = tempfile::tempdir().unwrap();
    let server = server("abc", 1).await;
    let source = SourceOrigin::Download(format!("{}/a.csv", server.uri()));
    let wanted = WantedSource {
        sha256: Some(ABC.to_owned()),
        ..wanted(source)
    };
    let first = freeze_sample(wanted.clone(), folder.path()).await.unwrap();
    // A copy is a new file.
    std::fs::remove_dir_all(folder.path().join(INPUTS)).unwrap();
    let second = freeze_sample(wanted, folder.path()).await.unwrap();
    assert_eq!((first.bytes, second.sha256.as_str()), (3, ABC));
}

#[tokio::test]
async fn a_download_of_another_digest_leaves_nothing_behind() {
    install_tls();
    let folder = tempfile::tempdir().unwrap();
    let server = server("abd", 1).await;
    let source = SourceOrigin::Download(format!("{}/a.csv", server.uri()));
    let wanted = WantedSource {
        sha256: Some(ABC.to_owned()),
        ..wanted(source)
    };
    let error = freeze_sample(wanted, folder.path()).await.unwrap_err();
    assert!(matches!(error, FreezeError::Digest { .. }), "{error}");
    assert_eq!(fs::read_dir(folder.path().join("cache")).unwrap().count(), 0);
}

#[tokio::test]
async fn a_refused_download_says_its_status_and_the_way_round() {
    install_tls();
    let folder = tempfile::tempdir().unwrap();
    let server = MockServer::start().await;
    let source = SourceOrigin::Download(format!("{}/absent", server.uri()));
    let error = freeze_sample(wanted(source), folder.path())
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("404") && error.contains("--sample m=PATH"),
        "{error}"
    );
}

#[tokio::test]
async fn a_copy_is_a_new_file_of_its_folder_and_nothing_else() {
    let home = tempfile::tempdir().unwrap();
    let notes = home.path().join("notes.txt");
    fs::write(&notes, "mine").unwrap();
    let into = home.path().join("work/incoming");
    fs::create_dir_all(into.join(INPUTS)).unwrap();
    std::os::unix::fs::symlink(&notes, into.join("inputs/linked")).unwrap();
    for name in [
        notes.to_str().unwrap(),
        "../../../notes.txt",
        "a/b",
        "linked",
        ".",
        "..",
        "",
        "a\0b",
    ] {
        let wanted = WantedSource {
            file_name: name.to_owned(),
            ..wanted(SourceOrigin::Bytes(b"theirs".to_vec()))
        };
        freeze_sample(wanted, &into).await.unwrap_err();
        assert_eq!(fs::read_to_string(&notes).unwrap(), "mine", "{name}");
    }
    assert_eq!(fs::read_dir(into.join(INPUTS)).unwrap().count(), 1);
}
