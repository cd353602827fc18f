//! An operator of the test's own.

use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use kube::config::Kubeconfig;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::model::Model;
use super::proxy::Proxy;
use crate::full::operator::Operator;
use crate::space::{OPERATOR_NAMESPACE, SOON, Space, is_task, kubectl};

/// Label of the tasks that an operator of a test works on; the installed one leaves all that have it.
pub const OPERATOR: &str = "codegen-operator.dev/operator";

/// An operator that works on the tasks of one namespace, with the rights of the installed one.
pub struct Own {
    pub proxy: Proxy,
    child: Child,
    listen: SocketAddr,
    folder: TempDir,
}

impl Own {
    /// The only one.
    pub async fn start(space: &Space, model: &Model, seed: u64) -> Self {
        Self::start_with(space, model, seed, |_| {}).await
    }

    /// The only one, with another configuration.
    pub async fn start_with(
        space: &Space,
        model: &Model,
        seed: u64,
        change: impl FnOnce(&mut Value),
    ) -> Self {
        Self::launch(space, model, seed, json!({"enabled": false}), change).await
    }

    /// One of several, with the default times of a Lease.
    pub async fn candidate(space: &Space, model: &Model, seed: u64) -> Self {
        Self::launch(
            space,
            model,
            seed,
            json!({"enabled": true, "leaseName": space.name}),
            |_| {},
        )
        .await
    }

    async fn launch(
        space: &Space,
        model: &Model,
        seed: u64,
        election: Value,
        change: impl FnOnce(&mut Value),
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let (server, authority) = api_server(&path("ca.crt"));
        let proxy = Proxy::start(&server, &authority, seed).await;
        write_kubeconfig(&path("kubeconfig"), proxy.address);
        let listen = free_address();
        let mut config = Operator::new(space.client.clone()).configuration().await;
        config["listen"] = json!(listen);
        config["watchNamespaces"] = json!([space.name]);
        config["taskSelector"] = json!(format!("{OPERATOR}={}", space.name));
        config["leaderElection"] = election;
        config["model"] = json!({"allowedEndpoints": [format!("http://{}", model.address)]});
        // What the installed operator has shown holds for this one too.
        config["sandbox"]["isolation"] = json!({"intervalSeconds": 86_400});
        if let Ok(authority) = std::env::var("CODEGEN_E2E_REGISTRY_CA") {
            config["registries"]["authorities"] = json!([authority]);
        }
        change(&mut config);
        fs::write(path("config.yaml"), config.to_string()).unwrap();
        let log = fs::File::create(path("log")).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_codegen-operator"))
            .arg("run")
            .arg("--config")
            .arg(path("config.yaml"))
            .args(["--namespace", OPERATOR_NAMESPACE, "--log-format", "text"])
            .env("KUBECONFIG", path("kubeconfig"))
            .env(
                "OPERATOR_IMAGE",
                std::env::var("CODEGEN_OPERATOR_IMAGE").expect("run make e2e"),
            )
            .env("RUST_LOG", "info,codegen=debug")
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let own = Self {
            proxy,
            child,
            listen,
            folder,
        };
        own.wait_until_ready().await;
        own
    }

    async fn wait_until_ready(&self) {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let mut look = tokio::time::interval(Duration::from_millis(100));
        let begun = Instant::now();
        loop {
            look.tick().await;
            let answer = client.get(format!("http://{}/readyz", self.listen)).send().await;
            if answer.is_ok_and(|answer| answer.status().is_success()) {
                return;
            }
            assert!(
                begun.elapsed() < SOON,
                "the operator is not ready: {}",
                self.log()
            );
        }
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// What it counts.
    pub async fn metrics(&self) -> String {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let url = format!("http://{}/metrics", self.listen);
        client.get(url).send().await.unwrap().text().await.unwrap()
    }

    /// Waits until what it counts has this line: objects are counted every few seconds, and the watch has its delay.
    pub async fn counts(&self, line: &str) {
        let begun = Instant::now();
        let mut look = tokio::time::interval(Duration::from_millis(200));
        loop {
            look.tick().await;
            let metrics = self.metrics().await;
            if metrics.lines().any(|known| known == line) {
                return;
            }
            assert!(begun.elapsed() < SOON, "{line} is not in {metrics}");
        }
    }

    /// The most memory that it has had so far, bytes.
    pub fn peak_memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .unwrap();
        let kilobytes: u64 = line.trim().trim_end_matches(" kB").trim().parse().unwrap();
        kilobytes * 1024
    }

    /// Whether it has lost or been told that it must end, and its exit code.
    pub async fn ended(&mut self) -> Option<i32> {
        let mut look = tokio::time::interval(Duration::from_millis(50));
        let begun = Instant::now();
        while begun.elapsed() < 2 * SOON {
            look.tick().await;
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
        }
        panic!("the operator does not end: {}", self.log());
    }

    /// Without a warning.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
    }

    /// In order.
    pub fn terminate(&mut self) {
        self.signal(Signal::TERM);
    }

    fn signal(&mut self, signal: Signal) {
        let process = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(process, signal).unwrap();
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<&str> = log.lines().collect();
            let last = &lines[lines.len().saturating_sub(80)..];
            let _ = writeln!(
                std::io::stderr(),
                "--- met: {:?}\n--- the end of its log\n{}",
                self.proxy.met(),
                last.join("\n")
            );
        }
    }
}

/// Address of the API server, and the file of its authority.
fn api_server(file: &PathBuf) -> (String, PathBuf) {
    let config = Kubeconfig::read().unwrap();
    let cluster = config
        .clusters
        .into_iter()
        .find_map(|named| named.cluster)
        .unwrap();
    let server = cluster.server.unwrap();
    if let Some(authority) = cluster.certificate_authority {
        return (server, authority.into());
    }
    let data = cluster.certificate_authority_data.unwrap();
    let bytes = base64::engine::general_purpose::STANDARD.decode(data).unwrap();
    fs::write(file, bytes).unwrap();
    (server, file.clone())
}

fn free_address() -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

/// Applies the multiplication table as `task`, for the space's own operator, and asks `model`. Three calls, one image.
pub fn apply(space: &Space, model: &Model, task: &str) {
    apply_changed(space, model, task, |_| {});
}

/// Applies the task of a manifest with its own name for the space's own operator, which asks `model`.
pub fn apply_manifest(space: &Space, model: &Model, path: &str, task: &str) {
    let mut objects = space.objects(path, task);
    for object in objects.iter_mut().filter(|object| is_task(object)) {
        object["metadata"]["labels"] = json!({OPERATOR: space.name});
        object["spec"]["model"]["baseURL"] = json!(model.base_url(task));
    }
    space.apply_objects(&objects);
}

/// [`apply`] with a further change of the task.
pub fn apply_changed(space: &Space, model: &Model, task: &str, change: impl Fn(&mut Value)) {
    let mut objects = space.objects("examples/prompt-only/task.yaml", "prompt-only");
    for object in objects.iter_mut().filter(|object| is_task(object)) {
        object["metadata"]["name"] = json!(task);
        // Tasks that ask the same would adopt each other's programs.
        let prompt = object["spec"]["prompt"].as_str().unwrap();
        object["spec"]["prompt"] = json!(format!("{prompt} ({task})"));
        object["metadata"]["labels"] = json!({OPERATOR: space.name});
        object["spec"]["model"]["baseURL"] = json!(model.base_url(task));
        change(object);
    }
    space.apply_objects(&objects);
}

/// The way to the API server that an operator outside of the cluster takes, with the rights of the one inside.
fn write_kubeconfig(file: &Path, address: SocketAddr) {
    let token = kubectl(
        &[
            "--namespace",
            OPERATOR_NAMESPACE,
            "create",
            "token",
            "codegen-operator",
            "--duration=2h",
        ],
        "",
    );
    let way = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "own",
        "clusters": [{"name": "own", "cluster": {"server": format!("http://{address}")}}],
        "users": [{"name": "own", "user": {"token": token.trim()}}],
        "contexts": [{"name": "own", "context": {"cluster": "own", "user": "own"}}],
    });
    fs::write(file, way.to_string()).unwrap();
}
