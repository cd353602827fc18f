//! A node that runs nothing, but ends each Pod of a sandbox as the harness would: with a signed report.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::controller::tests::api_server::ApiServer;
use crate::engine::tests::world::{Fake, splits, tests};
use crate::pipeline::digest::sha256_hex_of_parts;
use crate::pipeline::python::sentinels::plant;
use crate::pipeline::sandbox::{
    Job, OutputContent, OutputReport, Phase, PhaseEnd, PhaseName, Report, TestPhase,
};
use crate::sandbox::kubernetes::{JOB_KEY, JOB_SHA256, NONCE, decrypt_job, send};
use crate::sandbox::{Progressing, Sandbox as _};

/// The only file of a suite.
const SUITE: &str = "test_solution.py";

/// A node.
pub struct Node {
    /// What comes of programs and suites.
    pub sandbox: Fake,
    /// Texts of the outputs that a program writes.
    pub outputs: BTreeMap<String, String>,
    /// What a run of a program ends with.
    pub exit_code: i32,
}

impl Default for Node {
    fn default() -> Self {
        Self {
            sandbox: Fake::new(splits),
            outputs: BTreeMap::new(),
            exit_code: 0,
        }
    }
}

impl Node {
    /// Ends what runs; says how many Pods that were.
    pub async fn end_pods(&self, server: &ApiServer) -> usize {
        let mut pods = server.of_component("pods", "sandbox");
        pods.retain(|pod| pod["status"]["containerStatuses"].is_null());
        for pod in &pods {
            let report = self.report(server, pod).await;
            let sent = send(&serde_json::to_vec(&report).unwrap(), variable(pod, NONCE)).unwrap();
            let name = pod["metadata"]["name"].as_str().unwrap();
            server.log(name, sent.log);
            let ended = json!({"exitCode": 0, "reason": "Completed", "message": sent.message, "finishedAt": Timestamp::now()});
            let container = json!({
                "name": "sandbox", "image": "", "imageID": "", "ready": false, "restartCount": 0,
                "state": {"terminated": ended},
            });
            server.edit("pods", name, |pod| {
                pod["status"] = json!({"phase": "Succeeded", "containerStatuses": [container]});
            });
        }
        pods.len()
    }

    async fn report(&self, server: &ApiServer, pod: &Value) -> Report {
        let mut job = job_of(server, pod);
        for phase in &mut job.phases {
            if let Phase::Tests(phase) = phase {
                name_sentinels(server, phase);
            }
        }
        let image = pod["spec"]["containers"][0]["image"].as_str().unwrap();
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
        }
        report
    }
}

fn variable<'a>(pod: &'a Value, name: &str) -> &'a str {
    let variables = pod["spec"]["containers"][0]["env"].as_array().unwrap();
    let found = variables.iter().find(|variable| variable["name"] == name);
    found.unwrap()["value"].as_str().unwrap()
}

/// The job of a Pod, as its harness decrypts it.
fn job_of(server: &ApiServer, pod: &Value) -> Job {
    let secrets = server.of_component("secrets", "sandbox");
    let of_pod = |secret: &&Value| secret["metadata"]["name"] == pod["metadata"]["name"];
    let secret = secrets.iter().find(of_pod).unwrap();
    let encrypted = bytes(&secret["data"]["job.json"]);
    let job = decrypt_job(&encrypted, variable(pod, JOB_KEY), variable(pod, JOB_SHA256));
    serde_json::from_slice(&job.unwrap()).unwrap()
}

/// Says which tests of a suite the operator has planted: they follow from what the snapshot holds, which no sandbox sees.
fn name_sentinels(server: &ApiServer, phase: &mut TestPhase) {
    let suite = tests(2)["code"].as_str().unwrap().to_owned();
    let suite = BTreeMap::from([(SUITE.to_owned(), suite)]);
    for snapshot in server.of_component("secrets", "snapshot") {
        let index: Value =
            serde_json::from_slice(&bytes(&snapshot["data"]["snapshot.json"])).unwrap_or_default();
        let seed = index["seed"].as_str().unwrap_or_default();
        for attempt in ["1", "2", "3"] {
            let (planted, sentinels) = plant(&suite, &sha256_hex_of_parts(&[seed, attempt, SUITE]));
            if planted == phase.tests {
                phase.sentinels = sentinels;
                return;
            }
        }
    }
    panic!("this suite is of no snapshot: {:?}", phase.tests);
}

fn bytes(base64: &Value) -> Vec<u8> {
    BASE64.decode(base64.as_str().unwrap_or_default()).unwrap()
}
