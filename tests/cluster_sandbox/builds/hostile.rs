//! Packages that search, reach out and plant links while they are installed, and the same build without each defence.

use codegen_sandbox::{PackageProblemKind, SandboxError};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::ResourceExt as _;
use kube::api::{ListParams, LogParams};
use kube::runtime::wait::await_condition;
use serde_json::{Value, json};

use super::image::pushed;
use super::index::{Distribution, Index, source, wheel};
use crate::space::{BUILT, Space, create, variable};

const CREDENTIALS: &str = "/credentials/config.json";

/// A wheel whose `.pth` file has every Python that starts import the probe, which plants `links` at its end.
async fn prober(space: &Space, links: &[(&str, &str)]) -> Distribution {
    let registry = variable("CODEGEN_E2E_REGISTRY");
    let node = registry.split(':').next().unwrap();
    let targets = json!({
        "API server": [node, 6443],
        "API server's Service": ["kubernetes.default.svc.cluster.local", 443],
        "kubelet": [node, 10250],
        "metadata": ["169.254.169.254", 80],
        "Pod beside it": [space.listener().await, 8080],
    });
    let probe = include_str!("probe.py")
        .replace("@TARGETS@", &targets.to_string())
        .replace("@REGISTRY@", &registry)
        .replace("@LINKS@", &json!(links).to_string());
    wheel(
        "prober",
        &[("prober.py", &probe), ("prober.pth", "import prober\n")],
    )
}

async fn scene(name: &str, links: &[(&str, &str)]) -> (Space, Index) {
    let mut space = Space::open(name).await;
    let index = Index::start(vec![prober(&space, links).await]).await;
    space.allow(index.address());
    (space, index)
}

/// Makes a Job of the test's own from one of the product's: the same but for `change`, which gets the Pod's template and the Dockerfile,
/// and a tag of this name. Waits for its end.
async fn without(space: &Space, name: &str, change: impl FnOnce(&mut Value, &mut String)) -> String {
    let original = space
        .jobs()
        .await
        .into_iter()
        .min_by_key(Job::creation_timestamp)
        .unwrap();
    let files = space.api::<ConfigMap>().get(&original.name_any()).await.unwrap();
    let mut data = files.data.unwrap();
    let mut template = serde_json::to_value(&original.spec.unwrap().template).unwrap();
    let labels = template["metadata"]["labels"].as_object_mut().unwrap();
    labels.retain(|label, _| !label.contains("job-name") && !label.contains("controller-uid"));
    for volume in template["spec"]["volumes"].as_array_mut().unwrap() {
        if volume["name"] == "files" {
            volume["configMap"]["name"] = json!(name);
        }
    }
    let reference = format!("{}:{name}", space.repository);
    let arguments = template["spec"]["containers"][0]["args"].as_array_mut().unwrap();
    arguments[2] = json!(reference);
    // Else nothing is pushed that was built from another Dockerfile.
    let before = arguments.len();
    arguments.retain(|argument| !argument.as_str().unwrap().starts_with("--built-from"));
    assert_eq!(before - arguments.len(), 2);
    // What such a build leaves outside of its environment is what these tests look at.
    arguments.retain(|argument| !argument.as_str().unwrap().starts_with("--environment"));
    // Nobody signs it, so that it gets its tag at once.
    arguments.retain(|argument| argument != "--untagged");
    change(&mut template, data.get_mut("Dockerfile").unwrap());
    let map = json!({"metadata": {"name": name}, "data": data});
    create(&space.api::<ConfigMap>(), &serde_json::from_value(map).unwrap()).await;
    let job = json!({"metadata": {"name": name}, "spec": {"backoffLimit": 0, "template": template}});
    create(&space.api::<Job>(), &serde_json::from_value(job).unwrap()).await;
    let ended = await_condition(space.api::<Job>(), name, |job: Option<&Job>| {
        let conditions = job.and_then(|job| job.status.as_ref()?.conditions.as_ref());
        conditions.is_some_and(|all| {
            all.iter()
                .any(|one| matches!(one.type_.as_str(), "Complete" | "Failed"))
        })
    });
    tokio::time::timeout(BUILT, ended)
        .await
        .expect("the Job without a defence ends in time")
        .unwrap();
    reference
}

async fn log(space: &Space, job: &str, container: &str) -> String {
    let its = ListParams::default().labels(&format!("batch.kubernetes.io/job-name={job}"));
    let pods = space.api::<Pod>().list(&its).await.unwrap();
    let parameters = LogParams {
        container: Some(container.to_owned()),
        ..LogParams::default()
    };
    space
        .api::<Pod>()
        .logs(&pods.items[0].name_any(), &parameters)
        .await
        .unwrap()
}

async fn report(reference: &str) -> Value {
    serde_json::from_str(&pushed(reference).await.file("opt/codegen/probe.json")).unwrap()
}

/// Starts a Python of the environment, as whoever extends the image does.
fn start_python(dockerfile: &mut String) {
    dockerfile.push_str("RUN /opt/codegen/bin/python3 -c pass\n");
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn what_a_package_searches_for_in_its_build_is_not_there() {
    let links = [
        ("/out/work/requirements.txt", CREDENTIALS),
        ("/opt/codegen/passwd", "/etc/passwd"),
        ("/opt/codegen/stolen", CREDENTIALS),
        (
            "/opt/codegen/outside",
            "../../../../../../credentials/config.json",
        ),
    ];
    let (space, index) = scene("probe", &links).await;
    let task = space.task(|spec| spec["image"]["indexURL"] = json!(index.url(None)));
    let built = space
        .build(&space.owner("words").await, &task, &["prober"])
        .await
        .unwrap();
    let image = pushed(&built.image).await;
    assert!(
        !image.list().contains("probe.json"),
        "it ran while it was installed: {}",
        image.list()
    );

    // The same build, in which a Python of the environment starts.
    let started = without(&space, "started", |_, dockerfile| start_python(dockerfile)).await;
    let found = report(&started).await;
    let nothing = json!({"files": [], "environment": [], "reached": [], "registry": 401, "user": 0});
    assert_eq!(found, nothing);

    // The links are links in the image, and where the push would have read one it read nothing.
    let image = pushed(&started).await;
    for (path, target) in &links[1..] {
        let link = format!("{} -> {target}", path.trim_start_matches('/'));
        assert!(image.list().contains(&link), "{link}: {}", image.list());
    }
    assert!(!image.manifest.contains("annotations"), "{}", image.manifest);

    Box::pin(without_the_defences_it_finds_what_it_searches_for(&space)).await;
    space.close().await;
}

async fn without_the_defences_it_finds_what_it_searches_for(space: &Space) {
    let (one_phase, open) = futures::join!(
        // The credentials of the push, where Kaniko would take them if it pushed.
        without(space, "one-phase", |template, dockerfile| {
            start_python(dockerfile);
            let mount = json!({"name": "push-credentials", "mountPath": "/kaniko/.docker", "readOnly": true});
            template["spec"]["initContainers"][1]["volumeMounts"]
                .as_array_mut()
                .unwrap()
                .push(mount);
        }),
        without(space, "no-policy", |template, dockerfile| {
            start_python(dockerfile);
            let labels = template["metadata"]["labels"].as_object_mut().unwrap();
            labels.remove("codegen-operator.dev/component");
        }),
    );
    let found = report(&one_phase).await;
    let files = found["files"].as_array().unwrap();
    assert!(files.contains(&json!("/kaniko/.docker/config.json")), "{found}");
    assert_eq!(found["registry"], 200, "{found}");
    let found = report(&open).await;
    let all = json!([
        "API server",
        "API server's Service",
        "Pod beside it",
        "kubelet",
        "metadata"
    ]);
    assert_eq!(found["reached"], all, "{found}");
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn a_link_in_the_layout_that_leads_to_the_credentials_of_the_push_is_not_followed() {
    let (space, index) = scene("link", &[("/out/image/index.json", CREDENTIALS)]).await;
    let task = space.task(|spec| spec["image"]["indexURL"] = json!(index.url(None)));
    let built = space.build(&space.owner("words").await, &task, &["prober"]).await;
    built.unwrap();
    let before = space.requests().len();
    without(&space, "link", |_, dockerfile| start_python(dockerfile)).await;
    let said = log(&space, "link", "push").await;
    assert!(
        said.contains("cannot read index.json of the image layout"),
        "{said}"
    );
    let uploads: Vec<String> = space
        .requests()
        .split_off(before)
        .into_iter()
        .filter(|line| line.contains("\"PUT "))
        .collect();
    assert!(uploads.is_empty(), "{uploads:?}");

    // Whoever opens the file as others do reads the credentials.
    without(&space, "follows", |template, dockerfile| {
        start_python(dockerfile);
        let push = &mut template["spec"]["containers"][0];
        push["image"] = json!(variable("CODEGEN_E2E_PYTHON_IMAGE"));
        push["command"] = json!(["python3", "-c", "print(open('/out/image/index.json').read())"]);
        push["args"] = json!([]);
    })
    .await;
    let read = log(&space, "follows", "push").await;
    assert!(read.contains("\"auths\""), "the link leads nowhere: {read}");
    space.close().await;
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn a_setup_script_does_not_run_while_an_image_is_built() {
    let mut space = Space::open("setup").await;
    // It tells somebody whom builds may reach.
    let teller = Index::start(vec![]).await;
    let setup = format!(
        "import urllib.request\nurllib.request.urlopen('{}/ran')\n",
        teller.url(None)
    );
    let index = Index::start(vec![source("sourced", &setup)]).await;
    space.allow(teller.address());
    space.allow(index.address());
    let task = space.task(|spec| spec["image"]["indexURL"] = json!(index.url(None)));
    let refused = space
        .build(&space.owner("words").await, &task, &["sourced"])
        .await;
    let Err(SandboxError::Packages(problem)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(
        (problem.kind, problem.names),
        (PackageProblemKind::NotFound, vec!["sourced".to_owned()])
    );
    assert!(teller.requests().is_empty());
    assert!(
        !index.requests().iter().any(|path| path.contains("tar.gz")),
        "{:?}",
        index.requests()
    );

    without(&space, "any-distribution", |_, dockerfile| {
        let installs = "python3 -I -S -B /build/install.py";
        assert!(dockerfile.contains(installs), "{dockerfile}");
        let changed = "cp /build/settings.py /out && sed 's/\"--only-binary\", \":all:\", //' /build/install.py >/out/install.py && \
                       python3 -I -S -B /out/install.py";
        *dockerfile = dockerfile.replace(installs, changed);
    })
    .await;
    assert!(
        teller.requests().contains(&"/simple/ran".to_owned()),
        "{:?}",
        teller.requests()
    );
    space.close().await;
}
