//! What code under test sees, reaches and cannot forge.

use std::collections::BTreeMap;

use codegen_core::sandbox::{InputMount, NetworkAccess, PhaseEnd};
use codegen_sandbox::kubernetes::{MountedFile, MountedInput};
use codegen_sandbox::{Progressing, SandboxError};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Pod, Secret};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use serde_json::json;

use crate::hostile::without::{Without, container};
use crate::support::{World, create, job, named, program};

/// Tries to connect, and says what came of it.
const CONNECT: &str = "import socket, sys\nhost, port = sys.argv[1].rsplit(':', 1)\ntry:\n    socket.create_connection((host, int(port)), 2)\n    print('connected')\nexcept OSError as error:\n    print('blocked')\n";

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn code_under_test_can_neither_sign_nor_reach_the_harness() {
    let world = World::new("forge").await;
    let code = r#"
import os
for name in ("/dev/termination-log",):
    open(name, "w").write("0" * 64 + '\n{"report":{"marker":"x","lines":0,"length":2,"sha256":""}}')
for path in ("/proc/1/environ", "/proc/1/mem", "/proc/1/fd/1", "/proc/1/root/etc"):
    try:
        os.listdir(path) if path.endswith("etc") else open(path, "rb").read(1)
        print("opened", path)
    except OSError:
        pass
print(any("NONCE" in name or "PROBE" in name for name in os.environ), os.getuid() >= 100000, os.uname().nodename)
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(int(status["CapEff"], 16), status["NoNewPrivs"].strip(), status["Seccomp"].strip())
for path in ("/usr/x", "/etc/x", "/x", "/harness/x", "/job/x", "/var/x"):
    try:
        open(path, "w")
        print("wrote", path)
    except OSError:
        pass
print(os.path.exists("/var/run/secrets/kubernetes.io"))
os.kill(1, 9)
os.kill(1, 2)
"#;
    let report = world.run(&job(vec![program(code, &[])])).await;
    let phase = &report.phases[0];
    assert_eq!(
        (&phase.end, phase.stdout.as_str()),
        (&PhaseEnd::Exited(0), "False True sandbox\n0 1 2\nFalse\n"),
        "{}",
        phase.stderr
    );
    world.end().await;
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn a_denied_network_reaches_neither_names_nor_pods_nor_the_api_server() {
    let world = World::new("denied").await;
    let peer = world.listener().await;
    let server = format!("{}:{}", "kubernetes.default.svc", 443);
    for target in [peer.as_str(), &server] {
        assert_eq!(
            reached(&world, target, NetworkAccess::Denied).await,
            "blocked\n",
            "{target}"
        );
    }
    world.end().await;
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn a_listed_target_answers_and_others_do_not() {
    let mut world = World::new("list").await;
    let peer = world.listener().await;
    let (address, port) = peer.rsplit_once(':').unwrap();
    let listed = |port: u16| NetworkAccess::List(vec![(format!("{address}/32"), vec![port])]);
    let error = world.fail(&with_network(CONNECT, &[&peer], listed(8080))).await;
    assert!(error.to_string().contains("allowedPrivateCidrs"), "{error}");
    world.settings.sandbox.network.allowed_private_cidrs = vec![format!("{address}/32")];
    assert_eq!(
        reached(&world, &peer, listed(port.parse().unwrap())).await,
        "connected\n"
    );
    assert_eq!(reached(&world, &peer, listed(8081)).await, "blocked\n");
    assert_eq!(reached(&world, &peer, NetworkAccess::Internet).await, "blocked\n");
    world.end().await;
}

async fn reached(world: &World, target: &str, network: NetworkAccess) -> String {
    world
        .run(&with_network(CONNECT, &[target], network))
        .await
        .phases
        .remove(0)
        .stdout
}

fn with_network(code: &str, args: &[&str], network: NetworkAccess) -> codegen_core::sandbox::Job {
    let mut job = job(vec![program(code, &[])]);
    if let codegen_core::sandbox::Phase::Program(phase) = &mut job.phases[0] {
        phase.args = args.iter().map(ToString::to_string).collect();
    }
    job.network = network;
    job
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn a_job_is_refused_whose_closed_address_answers() {
    let mut world = World::new("open").await;
    let peer = world.listener().await;
    let (address, _) = peer.rsplit_once(':').unwrap();
    // The listener stands for an address that the policy should close and does not.
    world.settings.sandbox.probe = Some(peer.clone());
    world.settings.sandbox.network.allowed_private_cidrs = vec![format!("{address}/32")];
    let open = NetworkAccess::List(vec![(format!("{address}/32"), vec![])]);
    let error = world
        .fail(&with_network(CONNECT_FOR_SECONDS, &[&peer], open))
        .await;
    assert!(
        matches!(&error, SandboxError::NotIsolated { address } if *address == peer),
        "{error}"
    );
    world.end().await;
}

/// Connects until a first packet that was lost has been sent again (after 1 s and 3 s). A node that is busy may take longer for an
/// answer than the look before the program; then the look at the end finds it.
const CONNECT_FOR_SECONDS: &str = "import socket, sys, time\nhost, port = sys.argv[1].rsplit(':', 1)\nend = time.monotonic() + 50\nwhile time.monotonic() < end:\n    try:\n        socket.create_connection((host, int(port)), 2).close()\n        end = min(end, time.monotonic() + 4)\n    except OSError:\n        pass\n    time.sleep(0.1)\n";
/// A Pod of which nobody asks whether its network is closed.
const UNWATCHED: Without = Without {
    what: "the harness does not look at the network",
    pod: |pod| {
        let env = container(pod)["env"].as_array_mut().unwrap();
        env.push(json!({"name": "CODEGEN_PROBE", "value": "none"}));
    },
    harness: &[],
};
/// Tries to connect until it can: a policy needs a moment to be enforced.
const CONNECT_AT_LAST: &str = "import socket, sys, time\nhost, port = sys.argv[1].rsplit(':', 1)\nend = time.monotonic() + 50\nwhile time.monotonic() < end:\n    try:\n        socket.create_connection((host, int(port)), 2)\n        print('connected')\n        break\n    except OSError:\n        time.sleep(0.2)\n";

/// Whether a Pod as ours, but that nobody watches, gets out.
async fn gets_out(world: &World, unwatched: &Pod) -> bool {
    create(&world.pods(), unwatched).await;
    let name = unwatched.metadata.name.as_deref().unwrap();
    match world.reported_by(name).await {
        Ok(Progressing::Done(report)) => report.phases[0].stdout == "connected\n",
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn a_changed_policy_is_put_right_before_the_next_pod() {
    let world = World::new("policy").await;
    let peer = world.listener().await;
    let attack = with_network(CONNECT_AT_LAST, &[&peer], NetworkAccess::Denied);
    let unwatched = world.weakened(&attack, &UNWATCHED, 1).await;
    let policies: Api<NetworkPolicy> = Api::namespaced(world.client.clone(), &world.namespace);
    let mut policy = policies.get("codegen-sandbox-denied").await.unwrap();
    policy.spec.as_mut().unwrap().egress = Some(vec![serde_json::from_value(json!({})).unwrap()]);
    policies
        .replace("codegen-sandbox-denied", &PostParams::default(), &policy)
        .await
        .unwrap();
    assert!(gets_out(&world, &unwatched).await, "the attack is none");

    assert_eq!(reached(&world, &peer, NetworkAccess::Denied).await, "blocked\n");
    let policy = policies.get("codegen-sandbox-denied").await.unwrap();
    assert_eq!(policy.spec.unwrap().egress, None);
    world.end().await;
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn without_the_isolation_check_a_policy_of_somebody_else_lets_a_program_out() {
    let world = World::new("opened").await;
    let peer = world.listener().await;
    let attack = with_network(CONNECT_AT_LAST, &[&peer], NetworkAccess::Denied);
    let unwatched = world.weakened(&attack, &UNWATCHED, 1).await;
    let opener: NetworkPolicy = serde_json::from_value(json!({
        "metadata": {"name": "allow-everything"},
        "spec": {"podSelector": {}, "policyTypes": ["Egress"], "egress": [{}]},
    }))
    .unwrap();
    let policies: Api<NetworkPolicy> = Api::namespaced(world.client.clone(), &world.namespace);
    create(&policies, &opener).await;
    assert!(gets_out(&world, &unwatched).await, "the attack is none");

    let error = world.run_try(&attack, 0).await.unwrap_err();
    assert!(error.to_string().contains("allow-everything"), "{error}");
    world.end().await;
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn inputs_lie_under_both_names_and_are_read_only() {
    let mut world = World::new("inputs").await;
    let secret = Secret {
        metadata: named("frozen").metadata,
        data: Some(BTreeMap::from([
            ("0".to_owned(), ByteString(b"species\nAdelie\n".to_vec())),
            ("1".to_owned(), ByteString(b"a".to_vec())),
        ])),
        ..Secret::default()
    };
    create(&Api::namespaced(world.client.clone(), &world.namespace), &secret).await;
    let file = |path: &str, key: &str| MountedFile {
        path: path.into(),
        secret: "frozen".into(),
        key: key.into(),
    };
    world.inputs = BTreeMap::from([
        (
            "measurements".to_owned(),
            MountedInput::Secrets(vec![file("", "0")]),
        ),
        (
            "photos".to_owned(),
            MountedInput::Secrets(vec![file("2026/a.txt", "1")]),
        ),
    ]);
    let code = "for path in ('/var/inputs/measurements.csv', '/var/inputs/measurements', '/var/inputs/photos/2026/a.txt'):\n    print(len(open(path).read()))\n    try:\n        open(path, 'a')\n    except OSError:\n        print('refused')\n";
    let mut job = job(vec![program(code, &[])]);
    job.inputs = [("measurements", "measurements.csv"), ("photos", "photos")]
        .map(|(name, file_name)| InputMount {
            name: name.into(),
            file_name: file_name.into(),
            source: String::new(),
            content: Vec::new(),
        })
        .to_vec();
    let report = world.run(&job).await;
    assert_eq!(
        report.phases[0].stdout, "15\nrefused\n15\nrefused\n1\nrefused\n",
        "{}",
        report.phases[0].stderr
    );
    world.end().await;
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn a_pod_that_somebody_deletes_while_it_runs_is_made_again() {
    let world = World::new("deleted").await;
    let job = job(vec![program("import time\ntime.sleep(2)\nprint('ran')", &[])]);
    let deletes = async {
        world.until_one_runs().await;
        let pods: Api<Pod> = world.pods();
        let name = world.names::<Pod>().await.remove(0);
        pods.delete(&name, &DeleteParams::default()).await.unwrap();
    };
    let (run, ()) = tokio::join!(world.run_image(world.image(), &job), deletes);
    assert!(matches!(&run, Err(SandboxError::Lost { .. })) && run.unwrap_err().needs_another_child());
    world.end().await;
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn nothing_is_left_of_a_task_that_is_cleared() {
    let world = World::new("clear").await;
    world.run(&job(vec![program("", &[])])).await;
    world.sandbox().clear_sandboxes().await.unwrap();
    world.until_no_pods().await;
    let secrets = world.names::<Secret>().await;
    assert!(secrets.iter().all(|name| name == "pull"), "{secrets:?}");
    world.end().await;
}
