//! `kubectl-codegen events`: what happened to a task, its Pods and its Jobs, as one story.

mod story;

use std::collections::BTreeSet;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Event;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use serde_json::json;

use self::story::{Happening, Subject, of_events, of_record, story};
use super::args::{Color, EventsArgs, ListFormat};
use super::cluster::{Cluster, refusal};
use super::command::{TASK_FAILED, USAGE, fail, runtime, warning};
use super::ended::Absent;
use super::progress::Progress;
use super::recorded::{Place, RecordedTask, from_cluster, is_folder, read};
use super::table::{Listing, cell};
use crate::api::CodeGenTask;
use crate::sandbox::kubernetes::names;

/// Events of one page of a list.
const PAGE: u32 = 500;
/// Widest message of a table.
const MESSAGE_COLUMNS: usize = 160;

/// Runs the command.
pub(super) fn run(args: &EventsArgs) -> i32 {
    let progress = Progress::new(Color::Auto);
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&progress, &format!("cannot start: {error}"), TASK_FAILED),
    };
    match runtime.block_on(happenings(args, &progress)) {
        Ok((task, happenings)) => {
            let listing = listing(&happenings, args.format);
            let text = listing.print(args.format, &json!({"task": task.name}));
            match super::print_as_it_is(text.as_bytes()) {
                Ok(()) => 0,
                Err(error) => fail(
                    &progress,
                    &format!("cannot write to stdout: {error}"),
                    TASK_FAILED,
                ),
            }
        }
        Err(Absent { message, code }) => fail(&progress, &message, code),
    }
}

async fn happenings(
    args: &EventsArgs,
    progress: &Progress,
) -> Result<(RecordedTask, Vec<Happening>), Absent> {
    let record = &args.record;
    if is_folder(&record.task) {
        let task = read(&record.task, &record.cluster).await?;
        let happenings = story(of_record(&task)?, Vec::new());
        return Ok((task, happenings));
    }
    let connected = Cluster::connect(&record.cluster).await;
    let cluster = connected.map_err(|message| Absent::new(message, USAGE))?;
    let task = from_cluster(&cluster, &record.task).await?;
    if task.withheld.is_some() {
        progress.lines(&warning(
            "model calls, and all further tries but the last six, are left out, since they are in Secrets, which you may not read in this namespace",
        ));
    }
    let told = match &task.place {
        Place::Cluster { object, .. } => events(&cluster, object, progress).await,
        Place::Folder(_) => Vec::new(),
    };
    let happenings = story(of_record(&task)?, told);
    Ok((task, happenings))
}

/// The Events of a task, its Pods and its Jobs, as far as they may be read.
async fn events(cluster: &Cluster, object: &CodeGenTask, progress: &Progress) -> Vec<Happening> {
    let subject = Subject {
        name: object.name_any(),
        uid: object.uid().unwrap_or_default(),
        jobs: match jobs(cluster, object).await {
            Ok(jobs) => jobs,
            Err(error) => {
                progress.lines(&warning(&left_out("those of builds", &error, cluster)));
                BTreeSet::new()
            }
        },
    };
    let api: Api<Event> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let mut which = ListParams::default().limit(PAGE);
    let mut all = Vec::new();
    loop {
        match api.list(&which).await {
            Ok(page) => {
                all.extend(of_events(&page.items, &subject));
                match page.metadata.continue_.filter(|next| !next.is_empty()) {
                    Some(next) => which.continue_token = Some(next),
                    None => return all,
                }
            }
            Err(error) => {
                progress.lines(&warning(&left_out("Events of the cluster", &error, cluster)));
                return all;
            }
        }
    }
}

fn left_out(what: &str, error: &kube::Error, cluster: &Cluster) -> String {
    let why = refusal(error, "", &cluster.namespace);
    format!("{what} are left out: {why}; the stock ClusterRole view may read them")
}

/// Names of the Jobs that build for a task.
async fn jobs(cluster: &Cluster, object: &CodeGenTask) -> Result<BTreeSet<String>, kube::Error> {
    let api: Api<Job> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let uid = object.uid().unwrap_or_default();
    let its = ListParams::default().labels(&format!("{}={uid}", names::TASK_UID));
    let jobs = api.list_metadata(&its).await?;
    Ok(jobs.items.iter().map(ResourceExt::name_any).collect())
}

fn listing(happenings: &[Happening], format: ListFormat) -> Listing {
    let row = |one: &Happening| {
        vec![
            format!("{:.0}", one.at),
            if one.warning { "Warning" } else { "Normal" }.to_owned(),
            one.object.clone(),
            one.reason.clone(),
            cell(&one.sentence(), MESSAGE_COLUMNS, format),
        ]
    };
    Listing {
        header: vec!["TIME", "TYPE", "OBJECT", "REASON", "MESSAGE"],
        rows: happenings.iter().map(row).collect(),
        names: happenings.iter().map(|one| one.reason.clone()).collect(),
        items: happenings
            .iter()
            .map(|one| serde_json::to_value(one).unwrap_or_default())
            .collect(),
    }
}
