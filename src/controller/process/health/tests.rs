use serde_json::json;

use super::*;

/// Returns the document that an API server with exactly `crds` would publish.
fn published(crds: &[CustomResourceDefinition]) -> Value {
    let schemas = crds.iter().map(|crd| {
        let schema = crd.spec.versions[0].schema.as_ref().unwrap();
        let mut schema = serde_json::to_value(schema.open_api_v3_schema.as_ref().unwrap()).unwrap();
        let kind = &crd.spec.names.kind;
        schema["x-kubernetes-group-version-kind"] =
            json!([{"group": GROUP, "version": VERSION, "kind": kind}]);
        (format!("dev.codegen-operator.{VERSION}.{kind}"), schema)
    });
    json!({"components": {"schemas": schemas.collect::<Map<_, _>>()}})
}

fn field(crd: &str, field: &str) -> MissingField {
    MissingField {
        crd: format!("{crd}.{GROUP}"),
        field: field.to_owned(),
    }
}

#[test]
fn our_own_definitions_lack_nothing() {
    assert_eq!(lacking(&crds(), &published(&crds())), []);
}

#[test]
fn a_field_that_an_older_definition_lacks_is_named_with_its_path() {
    let mut served = published(&crds());
    let task = &mut served["components"]["schemas"]["dev.codegen-operator.v1alpha1.CodeGenTask"];
    let remove = |object: &mut Value, path: &str, name: &str| {
        let properties = object.pointer_mut(path).unwrap().as_object_mut().unwrap();
        assert!(properties.remove(name).is_some());
    };
    let status = "/properties/status/properties";
    remove(task, &format!("{status}/tokens/properties"), "total");
    remove(task, &format!("{status}/attempts/items/properties"), "summary");
    let mut missing = lacking(&crds(), &served);
    missing.sort_by(|a, b| a.field.cmp(&b.field));
    assert_eq!(
        missing,
        [
            field("codegentasks", "status.attempts[].summary"),
            field("codegentasks", "status.tokens.total"),
        ]
    );
}

#[test]
fn a_field_that_only_the_server_has_is_no_matter() {
    let mut served = published(&crds());
    served["components"]["schemas"]["dev.codegen-operator.v1alpha1.CodeGenAgent"]["properties"]["later"] =
        json!({"type": "string"});
    assert_eq!(lacking(&crds(), &served), []);
}

#[test]
fn a_definition_that_is_not_there_or_another_version_is_named() {
    let agent_only = published(&crds()[1..]);
    assert_eq!(lacking(&crds(), &agent_only), [field("codegentasks", "")]);
    assert_eq!(lacking(&crds(), &Value::Null).len(), crds().len());
    let other = published(&crds())
        .to_string()
        .replace(r#""version":"v1alpha1""#, r#""version":"v1""#);
    assert_eq!(
        lacking(&crds(), &serde_json::from_str(&other).unwrap()).len(),
        crds().len()
    );
}

#[test]
fn the_message_names_definition_and_field_and_what_to_do() {
    assert_eq!(explain(&[]), None);
    let text = explain(&[field("codegentasks", "status.reason"), field("codegenagents", "")]).unwrap();
    assert_eq!(
        text,
        "the API server lacks what this version of the operator needs: the field status.reason of \
         codegentasks.codegen-operator.dev, the definition codegenagents.codegen-operator.dev; apply the definitions \
         of this version: codegen-operator crds | kubectl apply --server-side -f -"
    );
    let many = explain(&vec![field("codegentasks", "status.x"); 8]).unwrap();
    assert!(many.contains(" and 3 more; "), "{many}");
}

#[tokio::test]
async fn the_server_says_why_it_is_not_ready_and_ends_at_shutdown() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (readiness, told) = watch::channel(Readiness::NotReady("the tasks are not read yet".to_owned()));
    let stop = CancellationToken::new();
    let server = tokio::spawn(serve(listener, told, Metrics::new(), stop.clone()));
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let get = async |path: &str| {
        let answer = client
            .get(format!("http://{address}{path}"))
            .send()
            .await
            .unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    assert_eq!(get("/healthz").await, (200, "ok\n".to_owned()));
    assert_eq!(
        get("/readyz").await,
        (503, "the tasks are not read yet\n".to_owned())
    );
    readiness.send_replace(Readiness::Ready);
    assert_eq!(get("/readyz").await, (200, "ok\n".to_owned()));
    let (status, text) = get("/metrics").await;
    assert_eq!(status, 200);
    assert!(text.ends_with("# EOF\n"), "{text}");
    assert_eq!(get("/elsewhere").await.0, 404);
    drop(client);
    stop.cancel();
    server.await.unwrap().unwrap();
}

#[test]
fn the_operator_is_ready_when_the_last_namespace_is_read() {
    let (ready, told) = watch::channel(Readiness::Ready);
    let unread = Unread::new(2, &ready);
    let not_yet = Readiness::NotReady("the tasks are not read yet".to_owned());
    assert_eq!(*told.borrow(), not_yet, "also where it was ready to lead before");
    unread.read();
    assert_eq!(*told.borrow(), not_yet);
    unread.read();
    assert_eq!(*told.borrow(), Readiness::Ready);
}
