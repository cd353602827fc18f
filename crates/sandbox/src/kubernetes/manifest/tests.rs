use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use serde::Serialize;
use serde_json::{Value, json};

use super::*;
use crate::kubernetes::{build, isolation, pod};

fn read_as<T: DeserializeOwned + Serialize>(text: &str) -> (Value, Value) {
    (serde_json::to_value(parse::<T>(text)).unwrap(), parse(text))
}

/// A field that is misspelt is passed over in silence, by the API server too.
#[test]
fn every_field_of_a_manifest_is_one_of_its_kind() {
    let manifests = [
        read_as::<Job>(include_str!("../build/build.yaml")),
        read_as::<Pod>(include_str!("../pod/sandbox.yaml")),
        read_as::<ConfigMap>(include_str!("../pod/harness.yaml")),
        read_as::<Pod>(include_str!("../pod/reader.yaml")),
        read_as::<Pod>(include_str!("../isolation/canary.yaml")),
        read_as::<NetworkPolicy>(include_str!("../closed.yaml")),
    ];
    for (typed, all) in manifests {
        assert_eq!(typed, all);
    }
}

/// Fields by which a Pod would have a part of its node, of another Pod or of the API server.
const ABSENT: [&str; 6] = [
    "hostNetwork",
    "hostPID",
    "hostIPC",
    "shareProcessNamespace",
    "ephemeralContainers",
    "serviceAccountName",
];
/// Kinds of volumes that the level *restricted* of the Pod Security Standards admits and that are used.
const VOLUMES: [&str; 5] = [
    "configMap",
    "secret",
    "emptyDir",
    "projected",
    "persistentVolumeClaim",
];
/// What unpacking images needs.
const UNPACKING: &[&str] = &[
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "SETGID",
    "SETUID",
    "SETFCAP",
    "KILL",
];

/// Name, user, group, whether the root file system can be written, and added capabilities.
type Rights = (String, Value, Value, bool, Value);

fn rights(name: &str, user: &Value, group: &Value, is_writable: bool, added: &[&str]) -> Rights {
    let added = if added.is_empty() {
        Value::Null
    } else {
        json!(added)
    };
    (name.to_owned(), user.clone(), group.clone(), is_writable, added)
}

fn check_pod(kind: &str, spec: &Value) {
    for field in ABSENT {
        assert_eq!(spec.get(field), None, "{kind}: {field}");
    }
    assert_eq!(spec["automountServiceAccountToken"], false, "{kind}");
    assert_eq!(spec["enableServiceLinks"], false, "{kind}");
    assert_eq!(spec["restartPolicy"], "Never", "{kind}");
    let security = &spec["securityContext"];
    assert_eq!(
        security["seccompProfile"],
        json!({"type": "RuntimeDefault"}),
        "{kind}"
    );
    for field in [
        "sysctls",
        "seLinuxOptions",
        "supplementalGroups",
        "windowsOptions",
    ] {
        assert_eq!(security.get(field), None, "{kind}: {field}");
    }
    assert_eq!(security["runAsNonRoot"] == true, kind != "build", "{kind}");
    // The Job of a build has the deadline.
    assert_eq!(spec["activeDeadlineSeconds"].is_i64(), kind != "build", "{kind}");
    for volume in spec["volumes"].as_array().into_iter().flatten() {
        let mut sources = volume.as_object().unwrap().keys().filter(|key| *key != "name");
        assert!(
            sources.all(|source| VOLUMES.contains(&source.as_str())),
            "{volume}"
        );
    }
}

fn rights_of(kind: &str, container: &Value, of_pod: &Value) -> Rights {
    let name = format!("{kind}/{}", container["name"].as_str().unwrap());
    let own = &container["securityContext"];
    assert_eq!(own["privileged"], false, "{name}");
    assert_eq!(own["allowPrivilegeEscalation"], false, "{name}");
    assert_eq!(own["capabilities"]["drop"], json!(["ALL"]), "{name}");
    for resource in ["cpu", "memory"] {
        assert!(
            container["resources"]["limits"][resource].is_string(),
            "{name}: {resource}"
        );
    }
    for field in ["ports", "lifecycle", "envFrom", "restartPolicy"] {
        assert_eq!(container.get(field), None, "{name}: {field}");
    }
    let id = |field: &str| own.get(field).unwrap_or(&of_pod[field]).clone();
    let is_writable = own["readOnlyRootFilesystem"] != true;
    let added = own["capabilities"]["add"].clone();
    (name, id("runAsUser"), id("runAsGroup"), is_writable, added)
}

/// The wall: the rights of every container, as the API server gets it.
#[test]
fn no_container_may_do_more_than_its_work_needs() {
    let others = [("build", build::pod()), ("canary", isolation::canary())];
    let mut found = Vec::new();
    for (kind, pod) in pod::pods().into_iter().chain(others) {
        let spec = serde_json::to_value(pod.spec).unwrap();
        check_pod(kind, &spec);
        for list in ["initContainers", "containers"] {
            let containers = spec[list].as_array().into_iter().flatten();
            let of_pod = &spec["securityContext"];
            found.extend(containers.map(|container| rights_of(kind, container, of_pod)));
        }
    }
    let (root, other) = (json!(0), json!(65532));
    // By the names of the Pods, from 100,000 on.
    let own = json!(131_994);
    // Any user but root, which its image names.
    let images = Value::Null;
    assert_eq!(
        found,
        [
            rights("sandbox/sandbox", &own, &own, false, &[]),
            rights("checked sandbox/sandbox", &own, &own, false, &[]),
            rights("checked sandbox/checker", &own, &own, false, &[]),
            rights("reader/sandbox", &own, &own, false, &[]),
            rights("build/installer", &other, &other, false, &[]),
            rights("build/build", &root, &root, true, UNPACKING),
            rights("build/push", &root, &other, false, &[]),
            rights("canary/probe", &images, &images, false, &[]),
        ]
    );
}
