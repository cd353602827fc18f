//! MCP servers that an object of kagent describes.

use rstest::rstest;
use serde_json::{Value, json};
use wiremock::matchers::{header, method};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::Shop;
use crate::api::code_mode::CodeModeAgent;

fn server(spec: &Value) -> Value {
    json!({"apiVersion": "kagent.dev/v1alpha2", "kind": "RemoteMCPServer", "metadata": {"name": "docs"}, "spec": spec})
}

/// What an agent whose tools are those of this object says of itself.
async fn said(shop: &mut Shop) -> String {
    shop.apply_agent(&json!([{"name": "docs", "mcp": {"serverRef": {"name": "docs"}}}]));
    shop.world.settle::<CodeModeAgent>("shop").await;
    let agent: CodeModeAgent = shop.world.server.get("shop").unwrap();
    agent.status.unwrap().conditions[0].message.clone()
}

#[rstest]
#[case::absent(None, "which is not there: create it where kagent is installed")]
#[case::another_protocol(
    Some(json!({"url": "http://docs/sse", "protocol": "SSE"})), "whose protocol is not STREAMABLE_HTTP"
)]
#[case::a_header_of_a_config_map(
    Some(json!({"url": "http://docs/mcp", "headersFrom": [{"name": "X", "valueFrom": {"type": "ConfigMap", "name": "m", "key": "k"}}]})),
    "whose header X does not come from a Secret"
)]
#[case::a_literal_header(
    Some(json!({"url": "http://docs/mcp", "headersFrom": [{"name": "X", "value": "a"}]})), "whose header X does not come from a Secret"
)]
#[tokio::test]
async fn a_server_that_cannot_be_used_is_said_with_the_way_out(
    #[case] spec: Option<Value>,
    #[case] words: &str,
) {
    let mut shop = Shop::without_task("1").await;
    shop.world.server.remove("codemodeagents", "shop");
    if let Some(spec) = spec {
        shop.world.server.create(server(&spec));
    }
    let said = said(&mut shop).await;
    assert!(
        said.contains("the RemoteMCPServer data/docs (kagent.dev/v1alpha2)") && said.contains(words),
        "{said}"
    );
}

#[rstest]
#[case::labelled(json!({"codegen-operator.dev/use": "tool"}), true)]
#[case::for_something_else(json!({}), false)]
#[tokio::test]
async fn the_secret_of_a_header_goes_to_the_server_where_its_owner_allows_that(
    #[case] labels: Value,
    #[case] is_sent: bool,
) {
    let docs = MockServer::start().await;
    // Enough to see that it was asked, and with what.
    Mock::given(method("POST"))
        .and(header("X-Key", "of-docs"))
        .respond_with(ResponseTemplate::new(418))
        .mount(&docs)
        .await;
    let mut shop = Shop::allowing(&docs.uri()).await;
    shop.world.server.remove("codemodeagents", "shop");
    let host = docs.address().to_string();
    shop.world.server.create(json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "stringData": {}, "data": {"key": "b2YtZG9jcw=="},
        "metadata": {"name": "docs-key", "labels": labels, "annotations": {"codegen-operator.dev/hosts": host}},
    }));
    let from = json!({"name": "X-Key", "valueFrom": {"type": "Secret", "name": "docs-key", "key": "key"}});
    shop.world.server.create(server(
        &json!({"url": format!("{}/mcp", docs.uri()), "headersFrom": [from]}),
    ));
    let said = said(&mut shop).await;
    let asked = docs.received_requests().await.unwrap();
    assert_eq!(
        asked.iter().any(|request| request.headers.contains_key("X-Key")),
        is_sent,
        "{said}"
    );
    assert_eq!(said.contains("418"), is_sent, "{said}");
}
