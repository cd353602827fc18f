//! Downloads from a real server at a loopback address.

use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::*;
use codegen_api::conditions::reason;

fn downloads(allow: &str) -> Downloads {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Downloads::new(EgressGate::direct(&[allow], &[]))
}

async fn serving(at: &str, answer: ResponseTemplate) -> (MockServer, Downloads) {
    let server = MockServer::start().await;
    let once = Mock::given(path(at)).respond_with(answer).expect(1);
    once.mount(&server).await;
    let downloads = downloads(&server.uri());
    (server, downloads)
}

/// Reason and message of a refusal.
async fn refusal(at: &str, answer: ResponseTemplate) -> (&'static str, String) {
    let (server, downloads) = serving(at, answer).await;
    let url = format!("{}{at}?sig=s3cret", server.uri());
    let Blocked(hold) = downloads.get("1", "m", &url, "00").await.unwrap_err();
    assert!(!hold.message.contains("s3cret"), "{}", hold.message);
    (hold.reason, hold.message)
}

#[tokio::test]
async fn a_file_is_fetched_once_while_its_task_gets_ready() {
    let (server, downloads) = serving("/a.csv", ResponseTemplate::new(200).set_body_string("a,b\n")).await;
    let url = format!("{}/a.csv", server.uri());
    let sha256 = sha256_hex(b"a,b\n");
    for _ in 0..2 {
        assert_eq!(downloads.get("1", "m", &url, &sha256).await.unwrap(), b"a,b\n");
    }
    server.verify().await;
}

#[tokio::test]
async fn another_content_names_both_digests() {
    let (reason, message) = refusal("/a.csv", ResponseTemplate::new(200).set_body_string("a")).await;
    assert_eq!(reason, reason::CONFIGURATION);
    assert!(
        message.contains(&sha256_hex(b"a")) && message.contains("says 00"),
        "{message}"
    );
}

#[tokio::test]
async fn a_missing_source_waits_for_a_person() {
    let (reason, message) = refusal("/a.csv", ResponseTemplate::new(404)).await;
    assert_eq!(reason, reason::CONFIGURATION);
    assert!(message.contains("/a.csv answers 404 Not Found"), "{message}");
}

#[tokio::test]
async fn a_server_in_trouble_is_asked_again() {
    let (reason, message) = refusal("/a.csv", ResponseTemplate::new(503)).await;
    assert_eq!(reason, reason::INFRASTRUCTURE);
    assert!(message.ends_with("; it is tried again"), "{message}");
}

#[tokio::test]
async fn a_large_file_belongs_on_a_claim() {
    let large = ResponseTemplate::new(200).set_body_bytes(vec![b'a'; LARGEST_FILE + 1]);
    let (reason, message) = refusal("/a.csv", large).await;
    assert_eq!(reason, reason::CONFIGURATION);
    assert!(message.contains("put it on a PersistentVolumeClaim"), "{message}");
}

#[tokio::test]
async fn a_redirect_to_a_private_address_is_refused() {
    let answer = ResponseTemplate::new(302).insert_header("location", "https://10.0.0.1/a.csv");
    let (reason, message) = refusal("/a.csv", answer).await;
    assert_eq!(reason, reason::CONFIGURATION);
    assert!(
        message.contains("https://10.0.0.1") && message.contains("egress.allow"),
        "{message}"
    );
}

#[tokio::test]
async fn an_address_that_is_not_listed_is_not_asked() {
    let (server, _) = serving("/a.csv", ResponseTemplate::new(200)).await;
    let url = format!("{}/a.csv", server.uri());
    let Blocked(hold) = downloads("http://other.example")
        .get("1", "m", &url, "00")
        .await
        .unwrap_err();
    assert_eq!(hold.reason, reason::CONFIGURATION);
    assert!(server.received_requests().await.unwrap().is_empty());
    // What the server expected did not come, which is right.
    server.reset().await;
}

#[tokio::test]
async fn a_server_that_hangs_is_left_after_the_deadline() {
    // The system takes the connection, and nobody answers.
    let silent = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let origin = format!("http://{}", silent.local_addr().unwrap());
    let mut downloads = downloads(&origin);
    downloads.deadline = Duration::from_millis(50);
    let url = format!("{origin}/a.csv");
    let Blocked(hold) = downloads.get("1", "m", &url, "00").await.unwrap_err();
    assert_eq!(hold.reason, reason::INFRASTRUCTURE);
    assert!(hold.message.contains("took longer"), "{}", hold.message);
}

#[test]
fn an_address_is_shown_without_its_secrets() {
    assert_eq!(
        shown("https://me:pw@a.example/b/c.csv?sig=1#x"),
        "https://a.example/b/c.csv"
    );
    assert_eq!(shown("https://a.example?sig=1"), "https://a.example");
}
