//! The operator as a process, stopped while the API server leaves it without an answer.

use std::process::{Command, Stdio};
use std::time::Duration;

use axum::Router;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use rstest::rstest;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

const PATIENCE: Duration = Duration::from_secs(30);
const DEFINITIONS: &str = "/openapi/v3/apis/codegen-operator.dev/v1alpha1";

/// The definitions, as an API server tells of them.
fn definitions() -> Value {
    let schemas = codegen_api::crds().into_iter().map(|crd| {
        let version = &crd.spec.versions[0];
        let schema = version.schema.as_ref().unwrap().open_api_v3_schema.as_ref();
        let mut schema = serde_json::to_value(schema.unwrap()).unwrap();
        let kind = crd.spec.names.kind;
        schema["x-kubernetes-group-version-kind"] =
            json!([{"group": crd.spec.group, "version": version.name, "kind": kind}]);
        (kind, schema)
    });
    json!({"components": {"schemas": schemas.collect::<Map<_, _>>()}})
}

/// An API server that has nothing but the definitions, and leaves requests for `silent` without an answer; says when there was one.
async fn api_server(silent: &'static str) -> (String, CancellationToken) {
    let asked = CancellationToken::new();
    let seen = asked.clone();
    let answer = move |uri: Uri| {
        let seen = seen.clone();
        async move { respond(&uri, silent, &seen).await }
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().fallback(answer);
    tokio::spawn(async move { axum::serve(listener, router).await });
    (format!("http://{address}"), asked)
}

async fn respond(uri: &Uri, silent: &str, asked: &CancellationToken) -> Response {
    if uri.path() == DEFINITIONS {
        return axum::Json(definitions()).into_response();
    }
    if uri.path().starts_with(silent) {
        asked.cancel();
        std::future::pending::<()>().await;
    }
    let gone = json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "message": "not found"});
    (StatusCode::NOT_FOUND, axum::Json(gone)).into_response()
}

#[rstest]
#[case::before_it_knows_the_api_servers("/apis/discovery.k8s.io/")]
#[case::before_it_has_read_the_tasks("/apis/codegen-operator.dev/v1alpha1/codegentasks")]
#[case::before_it_has_read_the_runs("/apis/codegen-operator.dev/v1alpha1/codegenruns")]
#[case::before_it_has_read_the_approvals("/apis/codegen-operator.dev/v1alpha1/codegenapprovals")]
#[tokio::test]
async fn an_operator_that_receives_sigterm_ends_even_if_it_has_read_nothing(#[case] silent: &'static str) {
    let (server, asked) = api_server(silent).await;
    let folder = tempfile::tempdir().unwrap();
    let way = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "only",
        "clusters": [{"name": "only", "cluster": {"server": server}}],
        "users": [{"name": "only", "user": {}}],
        "contexts": [{"name": "only", "context": {"cluster": "only", "user": "only"}}],
    });
    let (kubeconfig, config) = (
        folder.path().join("kubeconfig"),
        folder.path().join("config.yaml"),
    );
    std::fs::write(&kubeconfig, way.to_string()).unwrap();
    let settings = json!({"listen": "127.0.0.1:0", "leaderElection": {"enabled": false}});
    std::fs::write(&config, settings.to_string()).unwrap();
    let mut operator = tokio::process::Command::from(Command::new(env!("CARGO_BIN_EXE_codegen-operator")))
        .args(["run", "--namespace", "codegen-system", "--config"])
        .arg(config)
        .env("KUBECONFIG", kubeconfig)
        .env("OPERATOR_IMAGE", "registry.example.com/codegen-operator")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    timeout(PATIENCE, asked.cancelled()).await.expect("it asks");
    let process = Pid::from_raw(i32::try_from(operator.id().unwrap()).unwrap()).unwrap();
    kill_process(process, Signal::TERM).unwrap();
    let ended = timeout(PATIENCE, operator.wait())
        .await
        .expect("it ends")
        .unwrap();
    assert_eq!(ended.code(), Some(0));
}
