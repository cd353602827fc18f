//! Where builds get what they install: bases that ask for a password, indexes with an authority and a login of their own, a proxy
//! that is the only way out.

use std::time::Instant;

use codegen_sandbox::SandboxError;
use serde_json::json;

use super::image::{Pushed, private_base, pushed};
use super::index::{Index, wheel};
use super::proxy::Proxy;
use super::server::Authority;
use crate::space::{Space, variable};

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn a_base_that_asks_for_a_password_is_pulled_with_it_and_refused_at_once_without() {
    let mut space = Space::open("base").await;
    let index = Index::start(vec![]).await;
    space.allow(index.address());
    let base = private_base().await;
    let owner = space.owner("words").await;
    let task = |pull: Option<&str>| {
        space.task(|spec| {
            spec["image"]["base"] = json!(base);
            spec["image"]["indexURL"] = json!(index.url(None));
            if let Some(name) = pull {
                spec["image"]["pullSecretRef"] = json!({"name": name});
            }
        })
    };

    for (secret, remedy_names) in [
        (None, "image.pullSecretRef"),
        (Some("wrong"), "the Secret wrong of image.pullSecretRef"),
    ] {
        let started = Instant::now();
        let refused = space.build(&owner, &task(secret), &[]).await;
        let Err(SandboxError::Refused {
            object,
            reason,
            remedy,
        }) = refused
        else {
            panic!("{refused:?}");
        };
        eprintln!(
            "{:.2} s: {object}: {reason}; {remedy}",
            started.elapsed().as_secs_f64()
        );
        assert!(
            object.contains(&base) && reason.contains(&variable("CODEGEN_E2E_REGISTRY")),
            "{object}: {reason}"
        );
        assert!(
            remedy.contains(remedy_names) && remedy.contains("image.base"),
            "{remedy}"
        );
    }
    assert!(
        space.jobs().await.is_empty(),
        "nothing is built on what cannot be pulled"
    );

    let built = space.build(&owner, &task(Some("push")), &[]).await.unwrap();
    assert!(built.fresh && built.resolved == ["pytest==1.0"], "{built:?}");
    space.close().await;
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn an_index_with_an_authority_and_a_login_of_its_own_serves_whoever_has_both() {
    let mut space = Space::open("index").await;
    let authority = Authority::new();
    let login = "reader:opens-the-index";
    let index = Index::start_with(
        Some(authority.server()),
        Some(login),
        vec![wheel("tiny", &[("tiny.py", "")])],
    )
    .await;
    space.allow(index.address());
    let owner = space.owner("words").await;
    let task = |login: Option<&str>| space.task(|spec| spec["image"]["indexURL"] = json!(index.url(login)));
    let (with_login, without) = (task(Some(login)), task(None));

    let pem = std::fs::read_to_string(authority.file()).unwrap();
    let with_both = space.task(|spec| {
        spec["image"]["indexURL"] = json!(index.url(Some(login)));
        spec["image"]["indexCABundle"] = json!(pem);
    });

    let unknown = space.build(&owner, &with_login, &["tiny"]).await;
    let Err(SandboxError::Refused { reason, remedy, .. }) = unknown else {
        panic!("{unknown:?}");
    };
    assert!(reason.contains("invalid peer certificate"), "{reason}");
    for part in ["image.indexCABundle", "build.indexAuthorities"] {
        assert!(remedy.contains(part), "{remedy}");
    }
    assert!(
        index.requests().is_empty(),
        "a password goes to nobody who is not known"
    );

    space.settings.build.index_authorities = vec![authority.file()];
    let stranger = space
        .build(&space.owner("stranger").await, &without, &["tiny"])
        .await;
    let Err(SandboxError::Refused { reason, remedy, .. }) = stranger else {
        panic!("{stranger:?}");
    };
    assert!(remedy.contains("image.indexURL"), "{reason}; {remedy}");

    space.settings.build.index_authorities.clear();
    let built = space
        .build(&space.owner("reader").await, &with_both, &["tiny"])
        .await
        .unwrap();
    assert_eq!(built.resolved, ["pytest==1.0", "tiny==1.0"]);
    let image = pushed(&built.image).await;
    expect_no_password_in(&image);
    space.close().await;
}

fn expect_no_password_in(image: &Pushed) {
    for text in [&image.manifest, &image.configuration] {
        assert!(
            !text.contains("opens-the-index"),
            "a password became part of the image: {text}"
        );
    }
    assert!(
        !image.contains("opens-the-index"),
        "a password became part of a layer"
    );
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn a_build_whose_only_way_out_is_a_proxy_takes_it_for_everything() {
    let mut space = Space::open("proxy").await;
    let authority = Authority::new();
    let index = Index::start_with(Some(authority.server()), None, vec![wheel("tiny", &[])]).await;
    let proxy = Proxy::start().await;
    space.settings.build.index_authorities = vec![authority.file()];
    space.settings.build.network.egress = Some(vec![
        serde_json::from_value(json!({
            "to": [{"ipBlock": {"cidr": format!("{}/32", proxy.address().ip())}}],
            "ports": [{"protocol": "TCP", "port": proxy.address().port()}],
        }))
        .unwrap(),
    ]);
    let task = space.task(|spec| spec["image"]["indexURL"] = json!(index.url(None)));
    let owner = space.owner("words").await;

    let short = ("PIP_DEFAULT_TIMEOUT".to_owned(), "1".to_owned());
    space.settings.build.env = [short.clone()].into();
    space.settings.build.deadline_seconds = 20;
    let blocked = space.build(&owner, &task, &["blocked"]).await;
    assert!(
        matches!(blocked, Err(SandboxError::Lost { .. })),
        "without the proxy nothing gets out: {blocked:?}"
    );
    assert!(index.requests().is_empty() && proxy.targets().is_empty());
    space.settings.build.deadline_seconds = 900;

    let url = format!("http://{}", proxy.address());
    let names = ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"];
    space.settings.build.env = names
        .map(|name| (name.to_owned(), url.clone()))
        .into_iter()
        .chain([short])
        .collect();
    let built = space.build(&space.owner("behind").await, &task, &["tiny"]).await;
    let built =
        built.unwrap_or_else(|error| panic!("{error}; the proxy was asked for {:?}", proxy.targets()));
    assert_eq!(built.resolved, ["pytest==1.0", "tiny==1.0"]);
    let targets = proxy.targets();
    for target in [
        index.address().to_string(),
        variable("CODEGEN_E2E_BASE_REGISTRY"),
        variable("CODEGEN_E2E_REGISTRY"),
    ] {
        assert!(
            targets.contains(&target),
            "{target} was not asked for by way of the proxy: {targets:?}"
        );
    }
    space.close().await;
}
