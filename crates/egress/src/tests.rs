//! Tests of the addresses that are let through, on a real server at a loopback address and without one.

use rstest::rstest;
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::*;

fn gate(allow: &[&str]) -> EgressGate {
    EgressGate::direct(allow, &["203.0.113.0/24"])
}

fn check(gate: &EgressGate, url: &str) -> Result<(), Why> {
    gate.check_url(&url.parse().unwrap())
        .map_err(|refused| refused.why)
}

async fn get(gate: &EgressGate, url: &str) -> Result<String, Refused> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = gate.client_builder().build().unwrap();
    match client.get(url).send().await {
        Ok(response) => Ok(response.text().await.unwrap()),
        Err(error) => Err(Refused::within(&error).unwrap_or_else(|| panic!("{error:?}"))),
    }
}

#[rstest]
#[case("https://example.com/a.csv", Ok(()))]
#[case("https://1.1.1.1/a.csv", Ok(()))]
#[case("http://example.com/a.csv", Err(Why::NoTls))]
#[case("ftp://example.com/a.csv", Err(Why::Scheme))]
#[case("https://127.0.0.1/", Err(Why::NotPublic))]
#[case("https://2130706433/", Err(Why::NotPublic))]
#[case("https://0x7f000001/", Err(Why::NotPublic))]
#[case("https://0177.0.0.1/", Err(Why::NotPublic))]
#[case("https://127.1/", Err(Why::NotPublic))]
#[case("https://169.254.169.254/latest", Err(Why::NotPublic))]
#[case("https://[::1]/", Err(Why::NotPublic))]
#[case("https://[::ffff:10.0.0.1]/", Err(Why::NotPublic))]
#[case("https://[::ffff:7f00:1]/", Err(Why::NotPublic))]
#[case("https://203.0.113.7/", Err(Why::NotPublic))]
#[case("https://[::ffff:203.0.113.7]/", Err(Why::NotPublic))]
#[case("https://[64:ff9b::cb00:7107]/", Err(Why::NotPublic))]
#[case("https://[64:ff9b::101:101]/", Ok(()))]
fn only_public_hosts_over_https_are_reached_without_an_entry(
    #[case] url: &str,
    #[case] expected: Result<(), Why>,
) {
    assert_eq!(check(&gate(&[]), url), expected);
}

#[test]
fn a_refusal_names_the_entry_that_would_open_the_address() {
    let refused = gate(&[]).check_url(&"http://files.data:8080/a.csv?token=s3cret".parse().unwrap());
    assert_eq!(
        refused.unwrap_err().to_string(),
        "no request is sent to http://files.data:8080: plain http is spoken to listed hosts only; give a public https \
         address, or have `http://files.data:8080` added to egress.allow of the operator"
    );
}

#[test]
fn a_listed_host_is_reached_at_its_listed_origins_alone() {
    let gate = gate(&["http://files.data:8080"]);
    assert_eq!(check(&gate, "http://files.data:8080/a"), Ok(()));
    assert_eq!(check(&gate, "http://files.data/a"), Err(Why::NoTls));
    assert_eq!(check(&gate, "https://files.data:6443/a"), Err(Why::OtherOrigin));
}

#[test]
fn of_the_addresses_of_a_name_only_public_ones_are_connected_to() {
    let gate = gate(&["https://files.data"]);
    let addresses = ["10.0.0.1:0", "1.1.1.1:0", "[::ffff:10.0.0.1]:0", "203.0.113.7:0"];
    let addresses: Vec<_> = addresses.iter().map(|text| text.parse().unwrap()).collect();
    let open = gate.0.open("example.com", addresses.clone()).unwrap();
    assert_eq!(open, ["1.1.1.1:0".parse().unwrap()]);
    assert_eq!(gate.0.open("files.data", addresses.clone()).unwrap(), addresses);
    let refused = gate.0.open("example.com", vec!["10.0.0.1:0".parse().unwrap()]);
    assert_eq!(refused.unwrap_err().why, Why::NotPublic);
}

#[test]
fn behind_a_proxy_only_listed_hosts_are_reached() {
    let proxies = Matcher::builder()
        .https("http://proxy.corp:3128")
        .no("direct.example")
        .build();
    let allowed = OpenedEntries {
        entries: &[EgressEntry::try_from("https://files.example.com".to_owned()).unwrap()],
        setting: "egress.allow",
    };
    let gate = EgressGate::behind(proxies, allowed, Vec::new());
    assert_eq!(check(&gate, "https://files.example.com/a"), Ok(()));
    assert_eq!(check(&gate, "https://example.com/a"), Err(Why::Proxy));
    assert_eq!(check(&gate, "https://direct.example/a"), Ok(()));
    assert_eq!(check(&gate, "https://proxy.corp/a"), Err(Why::Proxy));
    let private = vec!["10.0.0.1:0".parse().unwrap()];
    assert_eq!(gate.0.open("proxy.corp", private.clone()).unwrap(), private);
}

#[tokio::test]
async fn a_name_that_leads_to_a_private_address_is_refused_when_it_is_connected_to() {
    let gate = gate(&[]);
    assert_eq!(check(&gate, "https://localhost:8443/"), Ok(()));
    let refused = get(&gate, "https://localhost:8443/").await.unwrap_err();
    assert_eq!(refused.why, Why::NotPublic);
    assert_eq!(refused.origin, "https://localhost:8443");
}

#[tokio::test]
async fn a_listed_server_is_reached_although_it_is_private() {
    let server = MockServer::start().await;
    Mock::given(path("/a"))
        .respond_with(ResponseTemplate::new(200).set_body_string("yes"))
        .mount(&server)
        .await;
    let port = server.address().port();
    let by_name = format!("http://localhost:{port}");
    let gate = gate(&[&server.uri(), &by_name]);
    assert_eq!(get(&gate, &format!("{}/a", server.uri())).await.unwrap(), "yes");
    assert_eq!(get(&gate, &format!("{by_name}/a")).await.unwrap(), "yes");
}

#[tokio::test]
async fn a_redirect_is_judged_like_the_first_address() {
    let server = MockServer::start().await;
    let targets = [
        ("/metadata", "http://169.254.169.254/latest", Why::NoTls),
        ("/private", "https://10.0.0.1/", Why::NotPublic),
        ("/mapped", "https://[::ffff:127.0.0.1]/", Why::NotPublic),
        ("/name", "https://localhost:1/", Why::NotPublic),
    ];
    for (from, to, _) in targets {
        Mock::given(path(from))
            .respond_with(ResponseTemplate::new(302).insert_header("location", to))
            .mount(&server)
            .await;
    }
    let gate = gate(&[&server.uri()]);
    for (from, to, why) in targets {
        let refused = get(&gate, &format!("{}{from}", server.uri())).await.unwrap_err();
        assert_eq!(refused.why, why, "{to}");
    }
}
