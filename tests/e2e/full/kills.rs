//! The operator is killed again and again while it works.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use codegen_api::CodeGenTask;
use fastrand::Rng;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::ListParams;
use serde_json::{Value, json};

use super::operator::Operator;
use super::seen::Seen;
use super::server::Server;
use crate::space::{Space, condition, has_ended, in_space, is_task, status_of};

/// Tasks under way at once.
const AT_ONCE: usize = 4;
/// Tasks of one image.
const SHARE_IMAGE: usize = 8;
/// How long the model takes.
const LATENCY: &str = "2s";
/// Longest time that an operator works before it is killed, seconds.
const LONGEST: f64 = 6.0;
/// Calls of the example, a diagnosis and a fix among them.
const CALLS: i32 = 6;
/// The task that runs before anybody is killed.
const WITHOUT_KILLS: &str = "calm";

/// `CODEGEN_E2E_KILLS`, or 30.
fn kills() -> usize {
    std::env::var("CODEGEN_E2E_KILLS").map_or(30, |count| count.parse().expect("a number of kills"))
}

/// `CODEGEN_E2E_SEED`, or another one each time.
fn seed() -> u64 {
    std::env::var("CODEGEN_E2E_SEED")
        .map_or_else(|_| fastrand::u64(..100_000), |seed| seed.parse().expect("a seed"))
}

/// Tasks of one example, one after another.
struct Tasks<'a> {
    space: &'a Space,
    server: Server<'a>,
    /// What every task needs beside itself is applied with the first.
    objects: Vec<Value>,
    begun: usize,
}

impl Tasks<'_> {
    fn name(number: usize) -> String {
        format!("t{number:02}")
    }

    fn begin(&self, name: &str, image: usize) {
        let objects: Vec<Value> = self
            .objects
            .iter()
            .cloned()
            .map(|mut object| {
                if is_task(&object) {
                    object["metadata"]["name"] = json!(name);
                    // Tasks that ask the same would adopt each other's programs.
                    let prompt = object["spec"]["prompt"].as_str().unwrap();
                    object["spec"]["prompt"] = json!(format!("{prompt} ({name})"));
                    object["spec"]["model"]["baseURL"] = json!(self.server.base_url(name));
                    let repository = format!("{}/i{image}", self.space.repository());
                    object["spec"]["image"]["repository"] = json!(repository);
                }
                object
            })
            .collect();
        self.space.apply_objects(&objects);
    }

    /// Begins as many as are missing.
    fn fill(&mut self, under_way: usize) {
        for _ in under_way..AT_ONCE {
            self.begin(&Self::name(self.begun), 1 + self.begun / SHARE_IMAGE);
            self.begun += 1;
        }
    }

    async fn list(&self) -> Vec<CodeGenTask> {
        let api = self.space.api::<CodeGenTask>();
        api.list(&ListParams::default()).await.unwrap().items
    }

    async fn under_way(&self) -> Vec<CodeGenTask> {
        let mut tasks = self.list().await;
        tasks.retain(|task| !has_ended(task));
        tasks
    }
}

fn stage(task: &CodeGenTask) -> String {
    let stage = task.status.as_ref().and_then(|status| status.stage.clone());
    stage.unwrap_or_else(|| "Pending".to_owned())
}

/// What must be the same however often the operator was killed.
fn end_state(task: &CodeGenTask) -> Value {
    let status = task.status.as_ref().unwrap();
    let attempts: Vec<Value> = status
        .attempts
        .iter()
        .map(|attempt| {
            json!([
                attempt.number,
                attempt.tests,
                attempt.acceptance_tests,
                attempt.summary
            ])
        })
        .collect();
    let program: Vec<Value> = status
        .artifacts
        .iter()
        .filter(|kept| !["conversation", "test-output"].contains(&kept.name.as_str()))
        .map(|kept| json!([kept.name, kept.sha256]))
        .collect();
    json!({
        "end": condition(task, "Succeeded"), "stage": status.stage, "tests": status.tests, "attempts": attempts,
        "packages": status.packages, "rehearsal": status.rehearsal, "artifacts": program,
        "replies": status.model_calls - status.lost_calls,
    })
}

#[tokio::test]
#[ignore = "kills the operator again and again: make e2e-full"]
async fn a_killed_operator_pays_for_nothing_twice_and_every_task_ends_as_if_nothing_had_happened() {
    in_space("kills", async |space| {
        let seed = seed();
        eprintln!(
            "{} kills, seed {seed} (CODEGEN_E2E_KILLS, CODEGEN_E2E_SEED)",
            kills()
        );
        let recording = include_str!("../../../examples/penguins/replies.jsonl");
        // More than are ever begun: each takes longer than an operator lives.
        let names: Vec<String> = (0..kills() + 2 * AT_ONCE)
            .map(Tasks::name)
            .chain([WITHOUT_KILLS.to_owned()])
            .collect();
        let server = Server::start(space, recording, &names, LATENCY);
        let jobs = Seen::watch::<Job>(space, "codegen-operator.dev/component=build");
        let pods = Seen::watch::<Pod>(space, "codegen-operator.dev/component=sandbox");
        let mut tasks = Tasks {
            objects: space.objects("examples/penguins", "penguins"),
            begun: 0,
            space,
            server,
        };
        tasks.begin(WITHOUT_KILLS, 0);
        let calm = space.end(WITHOUT_KILLS).await;
        assert_eq!(status_of(&calm, "Succeeded"), Some("True"));

        let begun = Instant::now();
        kill_often(&mut tasks, Rng::with_seed(seed)).await;
        for number in 0..tasks.begun {
            space.end(&Tasks::name(number)).await;
        }
        eprintln!(
            "{} tasks have ended, {:.0} s in all",
            tasks.begun,
            begun.elapsed().as_secs_f64()
        );
        expect_as_without_kills(&tasks, &calm).await;

        let (jobs, pods) = (jobs.end(), pods.end());
        let images = 1 + tasks.begun.div_ceil(SHARE_IMAGE);
        let tries = |task: &str| {
            pods.keys()
                .filter(|pod| pod.starts_with(&format!("{task}-")))
                .count()
        };
        eprintln!(
            "{images} images in {} Jobs, {} tries in {} Pods",
            total(&jobs),
            pods.len(),
            total(&pods)
        );
        assert_eq!((jobs.len(), total(&jobs)), (images, images), "{jobs:#?}");
        assert_eq!(pods.len(), total(&pods), "a try had two Pods: {pods:#?}");
        for number in 0..tasks.begun {
            assert_eq!(tries(&Tasks::name(number)), tries(WITHOUT_KILLS), "{pods:#?}");
        }
    })
    .await;
}

/// Kills the operator at random moments at which it leads and some task is under way.
async fn kill_often(tasks: &mut Tasks<'_>, mut random: Rng) {
    let operator = Operator::new(tasks.space.client.clone());
    let mut killed = 0;
    while killed < kills() {
        let under_way = tasks.under_way().await.len();
        tasks.fill(under_way);
        let pause = random.f64() * LONGEST;
        tokio::time::sleep(Duration::from_secs_f64(pause)).await;
        let hit = tasks.under_way().await;
        if hit.is_empty() {
            continue;
        }
        let kill = operator.kill().await;
        killed += 1;
        let leads = operator.leads_again(&kill).await;
        let stages = hit.iter().fold(String::new(), |mut text, task| {
            let _ = write!(text, " {} {}", task.name_any(), stage(task));
            text
        });
        eprintln!(
            "kill {killed:2} ({}) after {pause:.1} s, led again after {leads:4.1} s:{stages}",
            kill.how
        );
    }
}

/// Compares every task with the one that nothing happened to, and its calls with the server's own count.
async fn expect_as_without_kills(tasks: &Tasks<'_>, calm: &CodeGenTask) {
    let (mut lost, mut repeated, mut replies) = (0, 0, 0);
    let mut wrong = Vec::new();
    for task in tasks.list().await {
        let name = task.name_any();
        let status = task.status.as_ref().unwrap();
        let asked = tasks.server.asked(&name);
        let again = asked.requests - asked.distinct;
        let mut expect = |holds: bool, what: String| {
            if !holds {
                wrong.push(format!("{name}: {what}"));
            }
        };
        let (is, should) = (end_state(&task), end_state(calm));
        expect(is == should, format!("ended as {is:#} instead of {should:#}"));
        expect(
            asked.distinct == u64::try_from(CALLS).unwrap(),
            format!("{asked:?}, but the task has {CALLS} calls"),
        );
        let lost_here = u64::try_from(status.lost_calls).unwrap();
        expect(
            again <= lost_here,
            format!(
                "{again} requests came again, but {lost_here} calls were lost: a recorded reply was asked for again"
            ),
        );
        lost += lost_here;
        repeated += again;
        replies += asked.distinct;
    }
    eprintln!(
        "{replies} replies recorded; {lost} calls lost by the tasks' count, {repeated} of them had reached the server by its own"
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn total(counts: &BTreeMap<String, usize>) -> usize {
    counts.values().sum()
}
