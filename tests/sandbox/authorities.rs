//! An index that no public authority has signed for, and a task that knows its authority.

use codegen_operator::package_index::{Answer, PackageIndex, Question};
use codegen_operator::pipeline::python::requirement::Requirement;
use codegen_operator::sandbox::{ImageSpec, LocalSandbox, Progressing, Sandbox as _};

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

#[tokio::test]
async fn the_authority_of_one_question_is_that_of_no_other() {
    let (index, pem) = serving().await;
    let (known, url) = (PackageIndex::new(None, vec![]), index.url(None));
    let requirement = Requirement::parse("tiny").unwrap();
    let ask = |authorities| {
        let question = Question {
            index: &url,
            requirement: &requirement,
            python: "3.12",
            architecture: "x86_64",
            min_release_age_days: 0,
            sha256: None,
            authorities,
        };
        let known = &known;
        async move { known.ask(&question).await }
    };
    let available = Ok(Answer::Available { bound: None });
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
