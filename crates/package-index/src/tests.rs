//! Indexes as real servers at a loopback address.

use std::net::TcpListener;

use rstest::rstest;
use wiremock::matchers::{header, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::*;

const JSON: &str = "application/vnd.pypi.simple.v1+json";
const PAGE: &str = r#"{"files": [{"filename": "tiny-1.0-py3-none-any.whl"}]}"#;
const HTML: &str = r#"<html><body><a href="/files/tiny-1.0-py3-none-any.whl">tiny</a></body></html>"#;
const AVAILABLE: PackageFinding = PackageFinding::Available;

fn asking(gate: EgressGate) -> PackageIndex {
    let _ = rustls::crypto::ring::default_provider().install_default();
    PackageIndex::new(Some(gate), Vec::new())
}

fn page(form: &str, body: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(body, form)
}

async fn serving(answer: ResponseTemplate) -> (MockServer, PackageIndex) {
    let server = MockServer::start().await;
    Mock::given(path("/simple/tiny/"))
        .respond_with(answer)
        .mount(&server)
        .await;
    let index = asking(EgressGate::direct(&[&server.uri()], &[]));
    (server, index)
}

async fn ask(index: &PackageIndex, address: &str, requirement: &str) -> Result<PackageFinding, IndexError> {
    let question = IndexQuery {
        index: address,
        requirement: &Requirement::parse(requirement).unwrap(),
        python: "3.12",
        architecture: "x86_64",
        min_release_age_days: 0,
        authorities: None,
    };
    index.ask(&question).await
}

#[rstest]
#[case::json(page(JSON, PAGE), Ok(AVAILABLE))]
#[case::html(page("text/html; charset=utf-8", HTML), Ok(AVAILABLE))]
#[case::no_files(page(JSON, r#"{"files": []}"#), Ok(PackageFinding::NoWheel))]
#[case::absent(ResponseTemplate::new(404), Ok(PackageFinding::NoProject))]
#[case::unknown_user(ResponseTemplate::new(401), Err("answers 401 Unauthorized"))]
#[case::forbidden(ResponseTemplate::new(403), Err("answers 403 Forbidden"))]
#[case::busy(ResponseTemplate::new(503), Err("does not answer: 503"))]
#[case::many(ResponseTemplate::new(429), Err("does not answer: 429"))]
#[case::page(
    page("text/plain", "please sign in"),
    Err("as a package index does: its page is neither")
)]
#[case::elsewhere(
    ResponseTemplate::new(302).insert_header("location", "http://other.example/simple/tiny/"),
    Err("no request is sent to http://other.example")
)]
#[tokio::test]
async fn an_index_is_understood_whatever_it_answers(
    #[case] answer: ResponseTemplate,
    #[case] expected: Result<PackageFinding, &str>,
) {
    let (server, index) = serving(answer).await;
    let answer = ask(&index, &format!("{}/simple", server.uri()), "tiny").await;
    match expected {
        Ok(expected) => assert_eq!(answer, Ok(expected)),
        Err(words) => {
            let said = answer.unwrap_err().to_string();
            assert!(said.contains(words), "{said}");
        }
    }
}

#[tokio::test]
async fn one_package_is_asked_for_once_and_by_its_normal_name() {
    let (server, index) = serving(page(JSON, PAGE)).await;
    // With or without a slash at its end, an address is one index.
    let address = format!("{}/simple/", server.uri());
    for requirement in ["tiny", "Tiny", "tiny"] {
        assert_eq!(ask(&index, &address, requirement).await, Ok(AVAILABLE));
    }
    assert_eq!(server.received_requests().await.unwrap().len(), 1);
    assert_eq!(
        ask(&index, &address, "tiny>=2").await,
        Ok(PackageFinding::NoVersion)
    );
}

#[tokio::test]
async fn what_failed_is_asked_again() {
    let (server, index) = serving(ResponseTemplate::new(500)).await;
    let address = format!("{}/simple", server.uri());
    for _ in 0..2 {
        assert!(ask(&index, &address, "tiny").await.unwrap_err().passes());
    }
    assert_eq!(server.received_requests().await.unwrap().len(), 2);
}

#[tokio::test]
async fn user_and_password_are_shown_to_the_index_and_to_nobody_else() {
    let server = MockServer::start().await;
    Mock::given(path("/simple/tiny/"))
        .and(header("authorization", "Basic cmVhZGVyOmh1bnRlcjI="))
        .respond_with(page(JSON, PAGE))
        .mount(&server)
        .await;
    let index = asking(EgressGate::direct(&[&server.uri()], &[]));
    let with = format!("{}/simple", server.uri().replace("://", "://reader:hunter2@"));
    assert_eq!(ask(&index, &with, "tiny").await, Ok(AVAILABLE));
    assert_eq!(
        ask(&index, &format!("{}/simple", server.uri()), "tiny").await,
        Ok(PackageFinding::NoProject)
    );
    server.reset().await;
    Mock::given(path("/simple/other/"))
        .respond_with(ResponseTemplate::new(503))
        .mount(&server)
        .await;
    let said = ask(&index, &with, "other").await.unwrap_err().to_string();
    assert!(
        said.contains(&server.uri()) && !said.contains("hunter2"),
        "{said}"
    );
}

#[tokio::test]
async fn an_index_that_is_not_open_is_not_asked() {
    let server = MockServer::start().await;
    let index = asking(EgressGate::direct(&[], &[]));
    let refused = ask(&index, &format!("{}/simple", server.uri()), "tiny")
        .await
        .unwrap_err();
    assert!(
        matches!(refused, IndexError::Refused(_)) && !refused.passes(),
        "{refused}"
    );
    assert_eq!(server.received_requests().await.unwrap().len(), 0);
}

#[tokio::test]
async fn an_index_that_is_slow_or_not_there_is_not_waited_for() {
    let slow = page(JSON, PAGE).set_delay(Duration::from_mins(1));
    let (server, mut index) = serving(slow).await;
    index.deadline = Duration::from_millis(100);
    let said = ask(&index, &format!("{}/simple", server.uri()), "tiny")
        .await
        .unwrap_err();
    assert!(
        said.passes() && said.to_string().contains("no answer within 0.1 s"),
        "{said}"
    );

    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let index = asking(EgressGate::direct(&[&address], &[]));
    let said = ask(&index, &format!("{address}/simple"), "tiny")
        .await
        .unwrap_err();
    assert!(said.passes(), "{said}");
}

#[tokio::test]
async fn an_authority_that_cannot_be_read_is_named() {
    let file = PathBuf::from("absent/ca.pem");
    let index = PackageIndex::new(None, vec![file]);
    let said = ask(&index, "https://index.example/simple", "tiny")
        .await
        .unwrap_err();
    assert!(said.to_string().contains("absent/ca.pem"), "{said}");
}
