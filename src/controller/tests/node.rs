//! A node that runs nothing, but ends each Pod of a sandbox as the harness would: with a signed report.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::controller::tests::api_server::ApiServer;
use codegen_core::sandbox::{Job, OutputContent, OutputReport, PhaseEnd, PhaseName, Report};
use codegen_core::stored_outputs::FoundOutput;
use codegen_engine::test_support::{Fake, splits};
use codegen_sandbox::kubernetes::{JOB_KEY, JOB_SHA256, NONCE, ReadReport, decrypt_job, send};
use codegen_sandbox::{Progressing, Sandbox as _};

/// A node.
pub struct Node {
    /// Results of programs and suites.
    pub sandbox: Fake,
    /// Texts of the outputs that a program writes.
    pub outputs: BTreeMap<String, String>,
    /// Bytes of the outputs of a rehearsal that are too large for its report.
    pub large: BTreeMap<String, u64>,
    /// Findings of a checker or a reader at outputs, in their order.
    pub found: Vec<FoundOutput>,
    /// Bytes of the outputs of a run that are too large for its report.
    pub large_in_runs: BTreeMap<String, u64>,
    /// Exit code of a run of a program.
    pub exit_code: i32,
}

impl Default for Node {
    fn default() -> Self {
        Self {
            sandbox: Fake::new(splits),
            outputs: BTreeMap::new(),
            large: BTreeMap::new(),
            found: Vec::new(),
            large_in_runs: BTreeMap::new(),
            exit_code: 0,
        }
    }
}

impl Node {
    /// Ends what runs; says how many Pods that were.
    pub async fn end_pods(&mut self, server: &ApiServer) -> usize {
        let own = self.end_own(server);
        let pods = running(server, "sandbox");
        for pod in &pods {
            let name = pod["metadata"]["name"].as_str().unwrap();
            if pod["status"]["phase"] == "Running" {
                self.end_checker(server, pod);
                continue;
            }
            let report = self.report(server, pod).await;
            let (log, ended) = terminated(&serde_json::to_vec(&report).unwrap(), pod, "sandbox");
            server.log(name, &log);
            let status = if has_checker(pod) {
                let checker = status_of("checker", &json!({"running": {}}));
                json!({"phase": "Running", "initContainerStatuses": [ended], "containerStatuses": [checker]})
            } else {
                json!({"phase": "Succeeded", "containerStatuses": [ended]})
            };
            server.edit("pods", name, |pod| pod["status"] = status);
        }
        own + pods.len()
    }

    /// Ends Pods of the operator's own, which read outputs on a claim.
    fn end_own(&self, server: &ApiServer) -> usize {
        let readers = running(server, "reader");
        for pod in &readers {
            let report = ReadReport::Outputs(self.found.clone());
            end(server, pod, "sandbox", &serde_json::to_vec(&report).unwrap());
        }
        readers.len()
    }

    /// Ends what checks the outputs of a program that has ended.
    fn end_checker(&self, server: &ApiServer, pod: &Value) {
        let report = ReadReport::Outputs(self.found.clone());
        let (log, ended) = terminated(&serde_json::to_vec(&report).unwrap(), pod, "checker");
        let name = pod["metadata"]["name"].as_str().unwrap();
        server.log(name, &log);
        server.edit("pods", name, |pod| {
            pod["status"]["phase"] = json!("Succeeded");
            pod["status"]["containerStatuses"] = json!([ended]);
        });
    }

    async fn report(&self, server: &ApiServer, pod: &Value) -> Report {
        let job = job_of(server, pod);
        let image = program_of(pod)["image"].as_str().unwrap();
        let Ok(Progressing::Done(mut report)) = self.sandbox.run(image, &job, 0).await else {
            panic!("nothing in this world is pending");
        };
        for phase in &mut report.phases {
            if phase.name == PhaseName::Run {
                phase.end = PhaseEnd::Exited(self.exit_code);
            }
            if matches!(phase.name, PhaseName::Run | PhaseName::Rehearsal) {
                let outputs = self.outputs.iter().map(|(name, text)| OutputReport {
                    name: name.clone(),
                    content: OutputContent::File(BASE64.encode(text)),
                });
                phase.outputs = outputs.collect();
            }
            let in_runs = self.large_in_runs.iter().filter(|_| phase.name == PhaseName::Run);
            for (name, bytes) in in_runs {
                phase.outputs.retain(|output| output.name != *name);
                phase.outputs.push(OutputReport {
                    name: name.clone(),
                    content: OutputContent::TooLarge(*bytes),
                });
            }
            if phase.name == PhaseName::Rehearsal {
                phase
                    .outputs
                    .extend(self.large.iter().map(|(name, bytes)| OutputReport {
                        name: name.clone(),
                        content: OutputContent::TooLarge(*bytes),
                    }));
            }
        }
        report
    }
}

/// The Pods that are for this and have not ended.
fn running(server: &ApiServer, component: &str) -> Vec<Value> {
    let mut pods = server.of_component("pods", component);
    pods.retain(|pod| pod["status"]["phase"].is_null() || pod["status"]["phase"] == "Running");
    pods
}

/// Ends a Pod of one container with a report.
fn end(server: &ApiServer, pod: &Value, container: &str, report: &[u8]) {
    let (log, ended) = terminated(report, pod, container);
    let name = pod["metadata"]["name"].as_str().unwrap();
    server.log(name, &log);
    let status = json!({"phase": "Succeeded", "containerStatuses": [ended]});
    server.edit("pods", name, |pod| pod["status"] = status);
}

fn has_checker(pod: &Value) -> bool {
    !pod["spec"]["initContainers"].is_null()
}

/// The container of the program, which comes before a checker.
fn program_of(pod: &Value) -> &Value {
    if has_checker(pod) {
        &pod["spec"]["initContainers"][0]
    } else {
        &pod["spec"]["containers"][0]
    }
}

/// Returns the status of a container in this state.
fn status_of(container: &str, state: &Value) -> Value {
    json!({"name": container, "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": state})
}

/// The log of a container that reports this, and what is said of its end.
fn terminated(report: &[u8], pod: &Value, container: &str) -> (String, Value) {
    let sent = send(report, variable(pod, NONCE)).unwrap();
    let ended = json!({"exitCode": 0, "reason": "Completed", "message": sent.message, "finishedAt": Timestamp::now()});
    (sent.log, status_of(container, &json!({"terminated": ended})))
}

fn variable<'a>(pod: &'a Value, name: &str) -> &'a str {
    let variables = program_of(pod)["env"].as_array().unwrap();
    let found = variables.iter().find(|variable| variable["name"] == name);
    found.unwrap()["value"].as_str().unwrap()
}

/// The job of a Pod, as its harness decrypts it.
fn job_of(server: &ApiServer, pod: &Value) -> Job {
    serde_json::from_slice(&body_of(server, pod, "sandbox")).unwrap()
}

/// The job of a Pod that is for this, as text.
pub fn body_of(server: &ApiServer, pod: &Value, component: &str) -> Vec<u8> {
    let secrets = server.of_component("secrets", component);
    let of_pod = |secret: &&Value| secret["metadata"]["name"] == pod["metadata"]["name"];
    let secret = secrets.iter().find(of_pod).unwrap();
    let encrypted = bytes(&secret["data"]["job.json"]);
    decrypt_job(&encrypted, variable(pod, JOB_KEY), variable(pod, JOB_SHA256)).unwrap()
}

fn bytes(base64: &Value) -> Vec<u8> {
    BASE64.decode(base64.as_str().unwrap_or_default()).unwrap()
}
