//! Fifty tasks at once.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use codegen_api::CodeGenTask;
use futures::StreamExt as _;
use futures::future::join_all;
use kube::ResourceExt as _;
use kube::api::{Api, PostParams};
use kube::runtime::watcher::{self, Event, watcher};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::operator::Operator;
use crate::space::{Space, condition, has_ended, in_space, in_spaces, is_task};

const TASKS: usize = 50;
/// Namespaces with one task each, beside one with all others.
const ALONE: usize = 6;
/// Longest wait for all.
const ALL: Duration = Duration::from_mins(10);

/// One change of a task, as a watch saw it.
struct Change {
    at: Instant,
    /// Namespace and name.
    task: String,
    reason: String,
    /// It has its place: a run has begun.
    has_begun: bool,
    has_ended: bool,
    has_succeeded: bool,
}

impl Change {
    fn of(task: &CodeGenTask) -> Self {
        let status = task.status.as_ref();
        Self {
            at: Instant::now(),
            task: path(&task.namespace().unwrap(), &task.name_any()),
            reason: status
                .and_then(|status| status.reason.clone())
                .unwrap_or_default(),
            has_begun: status.is_some_and(|status| status.run.is_some()),
            has_ended: has_ended(task),
            has_succeeded: matches!(condition(task, "Succeeded"), Some(("True", ..))),
        }
    }

    /// The operator knows of it.
    fn is_reconciled(&self) -> bool {
        self.has_begun || self.reason == "Queued"
    }
}

fn path(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

/// Every change of every task, in the order of one watch over all namespaces.
struct Changes {
    seen: watch::Receiver<Vec<Change>>,
    watch: JoinHandle<()>,
}

impl Changes {
    fn from_now_on(client: kube::Client) -> Self {
        let (sender, seen) = watch::channel(Vec::new());
        let watch = tokio::spawn(async move {
            let mut events = std::pin::pin!(watcher(
                Api::<CodeGenTask>::all(client),
                watcher::Config::default()
            ));
            while let Some(event) = events.next().await {
                if let Ok(Event::Apply(task)) = event {
                    sender.send_modify(|seen| seen.push(Change::of(&task)));
                }
            }
        });
        Self { seen, watch }
    }

    /// Waits until each of these has had a change like that.
    async fn until(&self, tasks: &[String], is: impl Fn(&Change) -> bool) {
        let all = |seen: &Vec<Change>| {
            let have: BTreeSet<&str> = seen
                .iter()
                .filter(|change| is(change))
                .map(|change| change.task.as_str())
                .collect();
            tasks.iter().all(|task| have.contains(task.as_str()))
        };
        let mut seen = self.seen.clone();
        let wait = tokio::time::timeout(ALL, seen.wait_for(all));
        let Ok(found) = wait.await else {
            panic!("not every task came so far in {} s", ALL.as_secs());
        };
        found.unwrap();
    }

    /// The place of the first change like that, and when it was seen.
    fn first(&self, task: &str, is: impl Fn(&Change) -> bool) -> (usize, Instant) {
        let seen = self.seen.borrow();
        let found = seen
            .iter()
            .enumerate()
            .find(|(_, change)| change.task == task && is(change));
        found.map(|(place, change)| (place, change.at)).unwrap()
    }

    fn end(self, tasks: &[String]) {
        let seen = self.seen.borrow();
        let failed: Vec<&str> = seen
            .iter()
            .filter(|change| change.has_ended && !change.has_succeeded)
            .map(|change| change.task.as_str())
            .filter(|failed| tasks.iter().any(|task| task == failed))
            .collect();
        assert!(failed.is_empty(), "{failed:?} did not succeed");
        self.watch.abort();
    }
}

/// Creates tasks of the shortest example at once: names that start with `name`, one image for all. Gives their paths.
async fn create(space: &Space, repository: &str, name: &str, count: usize) -> Vec<String> {
    let mut objects = space.objects("examples/prompt-only/task.yaml", "prompt-only");
    let mut task = objects.remove(0);
    assert!(is_task(&task));
    task["spec"]["image"]["repository"] = json!(repository);
    let api = space.api::<CodeGenTask>();
    let params = PostParams::default();
    join_all((0..count).map(|number| {
        let mut task: CodeGenTask = serde_json::from_value(task.clone()).unwrap();
        task.metadata.name = Some(format!("{name}-{number:02}"));
        // Tasks that ask the same would adopt each other's programs.
        task.spec.prompt = format!("{} ({name}-{number:02})", task.spec.prompt);
        let (api, params) = (&api, &params);
        async move {
            let made = api.create(params, &task).await.unwrap();
            path(&made.namespace().unwrap(), &made.name_any())
        }
    }))
    .await
}

/// Builds the image that all others find.
async fn build_image(space: &Space) -> String {
    space.copy_secret("openai").await;
    let repository = space.repository();
    create(space, &repository, "first", 1).await;
    space.end("first-00").await;
    repository
}

/// `min, median, max` of some seconds.
fn spread(mut seconds: Vec<f64>) -> String {
    seconds.sort_by(f64::total_cmp);
    let (first, last) = (seconds[0], seconds[seconds.len() - 1]);
    format!("{first:.1} / {:.1} / {last:.1} s", seconds[seconds.len() / 2])
}

#[tokio::test]
#[ignore = "fills the cluster: make e2e-full"]
async fn fifty_tasks_at_once_all_succeed() {
    in_space("fifty", async |space| {
        let repository = build_image(space).await;
        let changes = Changes::from_now_on(space.client.clone());
        let started = Instant::now();
        let tasks = create(space, &repository, "task", TASKS).await;
        changes.until(&tasks, |change| change.has_ended).await;
        let seconds = |is: fn(&Change) -> bool| {
            let since = |task: &String| changes.first(task, is).1.duration_since(started).as_secs_f64();
            spread(tasks.iter().map(since).collect())
        };
        eprintln!("{TASKS} tasks at once, min / median / max since the first was created:");
        eprintln!("  under way {}", seconds(|change| change.has_begun));
        eprintln!("  succeeded {}", seconds(|change| change.has_ended));
        changes.end(&tasks);
    })
    .await;
}

/// Seconds from `since` to the ends of these tasks.
fn spread_of_ends(changes: &Changes, tasks: &[String], since: Instant) -> String {
    let end = |task: &String| changes.first(task, |change| change.has_ended).1;
    let seconds = tasks
        .iter()
        .map(|task| end(task).duration_since(since).as_secs_f64());
    spread(seconds.collect())
}

#[tokio::test]
#[ignore = "needs an operator with limits.maxConcurrentTasks of 8: make e2e-full"]
async fn tasks_that_are_alone_in_their_namespace_pass_a_crowd_in_another() {
    in_spaces("crowd", 1 + ALONE, async |spaces| {
        let crowded = &spaces[0];
        let limits = Operator::new(crowded.client.clone()).configuration().await;
        let places = usize::try_from(limits["limits"]["maxConcurrentTasks"].as_u64().unwrap_or(100)).unwrap();
        assert!(
            places <= 10,
            "with {places} places nobody waits: run make e2e-full"
        );
        for space in &spaces[1..] {
            space.copy_secret("openai").await;
        }
        let repository = build_image(crowded).await;
        let changes = Changes::from_now_on(crowded.client.clone());
        let started = Instant::now();
        let crowd = create(crowded, &repository, "crowd", TASKS - ALONE).await;
        changes.until(&crowd, Change::is_reconciled).await;
        let late = Instant::now();
        let alone = join_all(
            spaces[1..]
                .iter()
                .map(|space| create(space, &repository, "alone", 1)),
        )
        .await
        .concat();
        changes
            .until(&[crowd.clone(), alone.clone()].concat(), |change| {
                change.has_ended
            })
            .await;

        let place = |task: &String, is: fn(&Change) -> bool| changes.first(task, is).0;
        let known = alone
            .iter()
            .map(|task| place(task, Change::is_reconciled))
            .max()
            .unwrap();
        let begun = |change: &Change| change.has_begun;
        let last = alone.iter().map(|task| place(task, begun)).max().unwrap();
        let between = crowd
            .iter()
            .filter(|task| (known..last).contains(&place(task, begun)))
            .count();
        eprintln!("{places} places, min / median / max from creation to success:");
        eprintln!(
            "  {} tasks of one namespace {}",
            crowd.len(),
            spread_of_ends(&changes, &crowd, started)
        );
        eprintln!(
            "  {ALONE} tasks of {ALONE} others, created after those {}",
            spread_of_ends(&changes, &alone, late)
        );
        eprintln!("  tasks of the crowd that began while one of the others waited: {between}");
        // A place may have been given in the moment in which they came.
        assert!(between <= 2, "{between} of the crowd went first");
        changes.end(&[crowd, alone].concat());
    })
    .await;
}
