//! An index that no public authority has signed for, and a task that knows its authority.

use std::path::Path;
use std::process::Output;

use codegen_core::python::requirement::Requirement;
use codegen_package_index::{IndexQuery, PackageFinding, PackageIndex};
use codegen_sandbox::{ImageSpec, LocalSandbox, Progressing, Sandbox as _};

use crate::environments::cache_parent;
use crate::index::{Index, wheel};
use crate::server::Authority;
use crate::support::spec;

async fn serving() -> (Index, String) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let authority = Authority::new();
    let tiny = wheel("tiny", &[("tiny.py", "")]);
    let index = Index::start_with(Some(authority.server()), None, vec![tiny]).await;
    (index, std::fs::read_to_string(authority.file()).unwrap())
}

#[tokio::test]
async fn packages_come_from_an_index_whose_authority_the_task_alone_knows() {
    let (index, pem) = serving().await;
    let folder = tempfile::tempdir_in(cache_parent()).unwrap();
    let sandbox = LocalSandbox::new(folder.path());
    let spec = spec(&["tiny"]);
    let known = ImageSpec {
        index_url: Some(index.url(None)),
        index_ca_bundle: Some(pem),
        ..spec
    };
    let Progressing::Done(built) = sandbox.build(&known, 0).await.unwrap() else {
        panic!("a local build is done when it returns");
    };
    assert!(built.resolved.contains(&"tiny==1.0".to_owned()), "{built:?}");
}

/// What a pip that trusts these hosts comes to.
async fn pip(index: &str, trusted: Option<&str>, folder: &Path) -> Output {
    let mut pip = tokio::process::Command::new("python3");
    pip.args([
        "-I",
        "-m",
        "pip",
        "--isolated",
        "--disable-pip-version-check",
        "download",
    ]);
    pip.args([
        "--no-deps",
        "--no-cache-dir",
        "--retries",
        "0",
        "--index-url",
        index,
    ]);
    if let Some(host) = trusted {
        pip.args(["--trusted-host", host]);
    }
    pip.arg("--dest").arg(folder).arg("tiny");
    pip.env("PIP_CONFIG_FILE", "/dev/null")
        .env("NO_PROXY", "127.0.0.1");
    pip.output().await.unwrap()
}

#[tokio::test]
async fn the_password_of_an_index_goes_to_nobody_whose_certificate_is_unknown() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let login = "reader:opens-the-index";
    let tiny = wheel("tiny", &[("tiny.py", "")]);
    // It answers whoever shows the password, and says that to nobody.
    let stranger = Index::start_with(Some(Authority::new().server()), Some(login), vec![tiny]).await;
    let url = stranger.url(Some(login));
    let folder = tempfile::tempdir_in(cache_parent()).unwrap();

    let spec = ImageSpec {
        index_url: Some(url.clone()),
        ..spec(&["tiny"])
    };
    let refused = LocalSandbox::new(folder.path()).build(&spec, 0).await;
    let said = refused.unwrap_err().to_string();
    assert!(!said.contains("opens-the-index"), "{said}");
    let refused = pip(&url, None, folder.path()).await;
    assert!(!refused.status.success());
    assert_eq!(stranger.requests(), Vec::<String>::new());

    // Without the check it has the password.
    let host = stranger.address().to_string();
    let told = pip(&url, Some(&host), folder.path()).await;
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    assert!(folder.path().join("tiny-1.0-py3-none-any.whl").exists());
}

#[tokio::test]
async fn the_authority_of_one_question_is_that_of_no_other() {
    let (index, pem) = serving().await;
    let (known, url) = (PackageIndex::new(None, vec![]), index.url(None));
    let requirement = Requirement::parse("tiny").unwrap();
    let ask = |authorities| {
        let question = IndexQuery {
            index: &url,
            requirement: &requirement,
            python: "3.12",
            architecture: "x86_64",
            min_release_age_days: 0,
            authorities,
        };
        let known = &known;
        async move { known.ask(&question).await }
    };
    let available = Ok(PackageFinding::Available);
    assert!(ask(None).await.unwrap_err().passes());
    assert_eq!(ask(Some(pem.as_str())).await, available);
    assert!(ask(None).await.unwrap_err().passes());

    let unreadable = ask(Some(
        "-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----",
    ))
    .await;
    let said = unreadable.unwrap_err().to_string();
    assert!(said.contains("image.indexCABundle"), "{said}");
}
