//! A model of the test's own, that gives every task an address and counts what is asked there.

use serde_json::{Value, json};

use crate::space::Space;

/// The replies of one example behind an address for each task.
pub struct Server<'a> {
    space: &'a Space,
}

/// Requests for replies of one task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// All.
    pub requests: u64,
    /// Those that are not equal to an earlier one.
    pub distinct: u64,
}

impl<'a> Server<'a> {
    /// Serves `recording` to every one of `tasks`, each reply after `latency` (`1s`), and makes the Secret `openai` for it.
    pub fn start(space: &'a Space, recording: &str, tasks: &[String], latency: &str) -> Self {
        let mut arguments = vec![
            "serve-replies".to_owned(),
            format!("--latency={latency}"),
            "--listen=0.0.0.0:8080".to_owned(),
        ];
        arguments.extend(
            tasks
                .iter()
                .map(|task| format!("--replies={task}=/replies/all.jsonl")),
        );
        let labels = json!({"app": "replies"});
        space.apply_objects(&[
            json!({
                "apiVersion": "v1", "kind": "Secret",
                "metadata": {
                    "name": "openai",
                    "labels": {"codegen-operator.dev/use": "model"},
                    "annotations": {"codegen-operator.dev/hosts": format!("replies.{}.svc.cluster.local:8080", space.name)},
                },
                "stringData": {"api-key": "recorded"},
            }),
            json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "replies"},
                "data": {"all.jsonl": recording},
            }),
            json!({
                "apiVersion": "v1", "kind": "Service", "metadata": {"name": "replies"},
                "spec": {"selector": labels, "ports": [{"port": 8080}]},
            }),
            json!({
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "replies", "labels": labels},
                "spec": {
                    "automountServiceAccountToken": false,
                    "terminationGracePeriodSeconds": 0,
                    "imagePullSecrets": [{"name": "registry"}],
                    "containers": [{
                        "name": "replies",
                        "image": std::env::var("CODEGEN_OPERATOR_IMAGE").expect("run make e2e-full"),
                        "args": arguments,
                        "readinessProbe": {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 1},
                        "volumeMounts": [{"name": "replies", "mountPath": "/replies"}],
                    }],
                    "volumes": [{"name": "replies", "configMap": {"name": "replies"}}],
                },
            }),
        ]);
        space.kubectl(&["wait", "pod/replies", "--for=condition=Ready", "--timeout=60s"]);
        Self { space }
    }

    /// Where this task asks its model.
    pub fn base_url(&self, task: &str) -> String {
        format!(
            "http://replies.{}.svc.cluster.local:8080/{task}/v1",
            self.space.name
        )
    }

    /// What this task has asked so far.
    pub fn asked(&self, task: &str) -> Asked {
        let path = format!(
            "/api/v1/namespaces/{}/services/replies:8080/proxy/requests",
            self.space.name
        );
        let counts: Value = serde_json::from_str(&self.space.kubectl(&["get", "--raw", &path])).unwrap();
        let kinds = counts[format!("/{task}/v1")].as_object().unwrap().values();
        kinds.fold(Asked::default(), |sum, kind| Asked {
            requests: sum.requests + kind["requests"].as_u64().unwrap(),
            distinct: sum.distinct + kind["distinct"].as_u64().unwrap(),
        })
    }
}
