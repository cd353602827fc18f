use k8s_openapi::api::core::v1::Pod;

use super::super::dockerfile::{ENVIRONMENT, TOOLS, WORK};
use super::*;
use crate::kubernetes::names::{Component, labels};

fn owner() -> OwnerReference {
    OwnerReference {
        api_version: "codegen-operator.dev/v1alpha1".to_owned(),
        kind: "CodeGenTask".to_owned(),
        name: "penguins".to_owned(),
        uid: "0c1".to_owned(),
        ..OwnerReference::default()
    }
}

fn plan<'a>(build: &'a BuildSettings, registries: &'a Registries) -> BuildPlan<'a> {
    BuildPlan {
        name: "build-3f2a",
        namespace: "lab",
        labels: labels("penguins", "0c1", Component::Build),
        owner: Some(owner()),
        annotations: BTreeMap::from([(MADE_FOR.to_owned(), "0c1".to_owned())]),
        reference: "registry.example/team:3f2a".to_owned(),
        is_tagged: false,
        base_registry: "docker.io".to_owned(),
        architecture: "amd64",
        push_secret: None,
        arguments: BTreeMap::new(),
        base_secret: None,
        repeat: 0,
        operator_image: "registry.example/codegen-operator:1",
        files: BuildFiles {
            dockerfile: "FROM x\n".to_owned(),
            installation: "{}".to_owned(),
            requirements: String::new(),
            registry_authorities: String::new(),
            index_authorities: String::new(),
            pip_authorities: String::new(),
        },
        build,
        registries,
    }
}

/// The Pod of a build, as its Job makes it.
pub(in crate::kubernetes) fn pod() -> Pod {
    let (build, registries) = (BuildSettings::default(), Registries::default());
    let template = template(&plan(&build, &registries));
    Pod {
        metadata: template.metadata.unwrap(),
        spec: template.spec,
        status: None,
    }
}

#[test]
fn what_no_setting_asks_for_is_left_out() {
    let spec = pod().spec.unwrap();
    let names = spec.volumes.unwrap().into_iter().map(|volume| volume.name);
    assert_eq!(names.collect::<Vec<_>>(), ["files", "installer", "results"]);
    assert_eq!(spec.init_containers.unwrap()[1].env, None);
    assert_eq!(spec.containers[0].env, None);
    let arguments = spec.containers[0].args.as_ref().unwrap();
    assert_eq!(arguments[8..], ["--untagged"]);
    assert_eq!(
        (
            spec.image_pull_secrets,
            spec.tolerations,
            spec.priority_class_name
        ),
        (None, None, None)
    );
}

/// Resolves a name in a Pod of the namespace `lab`, in a cluster where somebody has a Service of that name.
fn stands_for(name: &str, ndots: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let resolver = format!(
        "nameserver 127.0.0.1\nsearch lab.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:{ndots}\n"
    );
    std::fs::create_dir(folder.path().join("etc")).unwrap();
    std::fs::write(folder.path().join("etc/resolv.conf"), resolver).unwrap();
    let words = "--unshare-user --uid 0 --gid 0 --cap-add CAP_NET_BIND_SERVICE --unshare-net --unshare-pid --die-with-parent \
                 --ro-bind /usr /usr --ro-bind /bin /bin --ro-bind /lib /lib --ro-bind-try /lib64 /lib64 --proc /proc --dev /dev";
    let ran = std::process::Command::new("bwrap")
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .args(words.split_whitespace())
        .arg("--ro-bind")
        .args([folder.path().join("etc").as_os_str(), "/etc".as_ref()])
        .args(["--", "python3", "-I", "-S", "-c", include_str!("names.py"), name])
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn a_service_of_somebody_elses_is_no_index_of_a_name_with_a_dot() {
    // What a Pod has by default: the name is completed first.
    assert_eq!(stands_for("pypi.org", "5"), "theirs\n");
    let (build, registries) = (BuildSettings::default(), Registries::default());
    let names = template(&plan(&build, &registries))
        .spec
        .unwrap()
        .dns_config
        .unwrap();
    let mut options = names.options.unwrap().into_iter();
    let ndots = options.find(|option| option.name.as_deref() == Some("ndots"));
    let ndots = ndots.and_then(|option| option.value).unwrap();
    assert_eq!(stands_for("pypi.org", &ndots), "public\n");
}

#[test]
fn the_job_of_everything_that_can_be_set() {
    let build: BuildSettings = serde_json::from_value(serde_json::json!({
        "executorImage": "kaniko:1",
        "deadlineSeconds": 60,
        "featureFlags": {"FF_KANIKO_RUN_VIA_TINI": "true"},
        "env": {"HTTPS_PROXY": "http://proxy:3128"},
        "nodeSelector": {"pool": "builds"},
        "tolerations": [{"key": "builds", "operator": "Exists"}],
        "priorityClassName": "low",
        "imagePullSecrets": [{"name": "mirror"}],
    }))
    .unwrap();
    let registries = Registries {
        insecure: vec!["plain.example:5000".to_owned()],
        trusted_origins: vec!["https://auth.example".parse().unwrap()],
        ..Registries::default()
    };
    let mut plan = plan(&build, &registries);
    plan.is_tagged = true;
    plan.push_secret = Some("push".to_owned());
    plan.base_secret = Some("pull".to_owned());
    plan.arguments = BTreeMap::from([
        ("HTTPS_PROXY", "http://proxy:3128"),
        ("PIP_INDEX_URL", "https://index.example/simple"),
    ]);
    plan.files.registry_authorities = "PEM\n".to_owned();
    insta::assert_json_snapshot!(job(&plan));
}

#[test]
fn the_builder_sees_no_credentials_to_push_with_and_the_push_nothing_else() {
    let (build, registries) = (BuildSettings::default(), Registries::default());
    let mut plan = plan(&build, &registries);
    plan.push_secret = Some("push".to_owned());
    let spec = template(&plan).spec.unwrap();
    let mounted = |container: &Container| -> Vec<String> {
        let mounts = container.volume_mounts.as_deref().unwrap_or_default();
        mounts.iter().map(|mount| mount.name.clone()).collect()
    };
    let first = spec.init_containers.unwrap();
    assert_eq!(mounted(&first[0]), ["installer"]);
    assert_eq!(mounted(&first[1]), ["files", "installer", "results"]);
    assert_eq!(
        mounted(&spec.containers[0]),
        ["files", "results", "push-credentials"]
    );
}

#[test]
fn a_repeated_build_has_twice_the_memory() {
    let build = BuildSettings::default();
    let memory = |repeat| resources(&build, repeat).limits.unwrap()["memory"].0.clone();
    assert_eq!(memory(0), "4Gi");
    assert_eq!(memory(1), (8_u64 << 30).to_string());
    assert_eq!(memory(2), memory(1));
}

#[test]
fn a_registry_without_tls_needs_no_authority() {
    let (build, registries) = (
        BuildSettings::default(),
        Registries {
            insecure: vec!["plain.example:5000".to_owned()],
            ..Registries::default()
        },
    );
    let mut plan = plan(&build, &registries);
    plan.files.registry_authorities = "PEM\n".to_owned();
    let has_certificate = |plan: &BuildPlan<'_>| {
        let builder = template(plan).spec.unwrap().init_containers.unwrap().remove(1);
        let mut arguments = builder.args.unwrap().into_iter();
        arguments.any(|argument| argument.starts_with("--registry-certificate="))
    };
    assert!(has_certificate(&plan));
    plan.base_registry = "plain.example:5000".to_owned();
    assert!(!has_certificate(&plan));
}

#[test]
fn files_are_those_that_have_content_and_belong_to_the_job() {
    let (build, registries) = (BuildSettings::default(), Registries::default());
    let map = config_map(&plan(&build, &registries), owner());
    assert_eq!(
        map.data.unwrap().into_keys().collect::<Vec<_>>(),
        ["Dockerfile", "install.py", "installation.json", "settings.py"]
    );
    assert_eq!(
        (map.immutable, map.metadata.owner_references),
        (Some(true), Some(vec![owner()]))
    );
}

#[test]
fn the_containers_mount_what_the_dockerfile_names() {
    let (build, registries) = (BuildSettings::default(), Registries::default());
    let spec = template(&plan(&build, &registries)).spec.unwrap();
    let mounts = spec.init_containers.unwrap()[1].volume_mounts.clone().unwrap();
    let paths: Vec<&str> = mounts.iter().map(|mount| mount.mount_path.as_str()).collect();
    assert_eq!(paths, [FILES, TOOLS, "/out"]);
    let arguments = spec.containers[0].args.as_ref().unwrap();
    let names = [
        format!("--installed={WORK}/{REQUIREMENTS}"),
        format!("--environment={ENVIRONMENT}"),
    ];
    assert_eq!(arguments[3..5], names);
}
