//! `kubectl-codegen cost`: calls and tokens of tasks, and what they come to by a table of prices.

mod count;

use std::collections::BTreeMap;

use kube::Api;
use serde_json::{Value, json};

use self::count::{Group, Kind, by_kind, grouped};
use super::args::{Color, CostArgs, CostBy};
use super::cluster::Cluster;
use super::command::{TASK_FAILED, USAGE, fail, runtime, warning};
use super::ended::Absent;
use super::prices::{Prices, Sum};
use super::progress::Progress;
use super::recorded::{RecordedTask, model_of, read};
use super::table::Listing;
use super::text::thousands;
use crate::api::{CodeGenAgent, CodeGenTask};

/// Runs the command.
pub(super) fn run(args: &CostArgs) -> i32 {
    let progress = Progress::new(Color::Auto);
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&progress, &format!("cannot start: {error}"), TASK_FAILED),
    };
    let shown = prices(args).map_err(|message| Absent::new(message, USAGE));
    let shown = shown.and_then(|prices| {
        runtime.block_on(async {
            match &args.task {
                Some(task) => of_task(&read(task, &args.cluster).await?, args, &prices),
                None => of_tasks(args, &prices).await,
            }
        })
    });
    match shown {
        Ok(Shown { text, notes }) => {
            if let Err(error) = super::print_as_it_is(text.as_bytes()) {
                return fail(
                    &progress,
                    &format!("cannot write to stdout: {error}"),
                    TASK_FAILED,
                );
            }
            for note in &notes {
                progress.lines(&warning(note));
            }
            0
        }
        Err(Absent { message, code }) => fail(&progress, &message, code),
    }
}

#[derive(Debug)]
struct Shown {
    text: String,
    /// What whoever reads it must know.
    notes: Vec<String>,
}

fn prices(args: &CostArgs) -> Result<Prices, String> {
    let prices = match &args.prices {
        None => Prices::default(),
        Some(file) => {
            let name = file.display().to_string();
            let text = std::fs::read_to_string(file);
            let text = text.map_err(|error| format!("cannot read {name}, which --prices names: {error}"))?;
            Prices::parse(&name, &text)?
        }
    };
    Ok(prices.with(&args.price))
}

/// One task by the kinds of its calls.
fn of_task(task: &RecordedTask, args: &CostArgs, prices: &Prices) -> Result<Shown, Absent> {
    if args.by.is_some_and(|by| by != CostBy::Kind) {
        return Err(Absent::new(
            "one task is added up by kind of call: leave --by out, or leave out the task".to_owned(),
            USAGE,
        ));
    }
    let model = task.model();
    let price = model.and_then(|model| prices.models.get(model)).copied();
    // The replies of an adopted program are those of the task that paid for them.
    let entries = match &task.status.adopted_from {
        Some(_) => Vec::new(),
        None => task.entries()?,
    };
    let kinds = by_kind(&entries, &task.status);
    let cost = |kind: &Kind| price.map(|price| price.of(kind.input, kind.output));
    let mut total = Kind::named("total");
    for kind in &kinds {
        total.add(kind);
    }
    let mut sum = Sum::default();
    sum.add(cost(&total).or(total.is_free().then_some(0.0)));
    let all: Vec<&Kind> = kinds.iter().chain([&total]).collect();
    let mut notes = Vec::new();
    if sum.whole().is_none() {
        notes.push(unpriced(&[model.unwrap_or_default().to_owned()]));
    }
    if task.withheld.is_some() {
        notes.push("kinds of call are in Secrets, which you may not read in this namespace, so there are the totals of the status alone".to_owned());
    }
    let listing = Listing {
        header: vec!["KIND", "CALLS", "INPUT", "OUTPUT", "COST"],
        rows: all
            .iter()
            .map(|kind| row(vec![kind.name.clone()], kind, &words(cost(kind), kind, prices)))
            .collect(),
        names: all.iter().map(|kind| kind.name.clone()).collect(),
        items: all
            .iter()
            .map(|kind| document(json!({"kind": kind.name}), kind, cost(kind)))
            .collect(),
    };
    let about = json!({"task": task.name, "model": model, "currency": prices.currency});
    Ok(Shown {
        text: listing.print(args.format, &about),
        notes,
    })
}

/// Many tasks by task, agent or namespace. The last row is their total.
async fn of_tasks(args: &CostArgs, prices: &Prices) -> Result<Shown, Absent> {
    let by = args.by.unwrap_or(CostBy::Task);
    if by == CostBy::Kind {
        return Err(Absent::new(
            "kinds of call are those of one task: name it".to_owned(),
            USAGE,
        ));
    }
    let wrong = |message| Absent::new(message, USAGE);
    let cluster = Cluster::connect(&args.cluster).await.map_err(wrong)?;
    let listed = cluster.list(args.all_namespaces, args.selector.as_deref()).await;
    let tasks = listed.map_err(wrong)?;
    let agents = agents(&cluster, &tasks).await;
    let models: Vec<Option<String>> = tasks
        .iter()
        .map(|task| {
            let agent = agent_key(task).and_then(|key| agents.get(&key));
            model_of(task, agent).map(str::to_owned)
        })
        .collect();
    let groups = grouped(tasks.iter().zip(&models), by, prices);
    let notes = match groups.unpriced.as_slice() {
        [] => Vec::new(),
        models => vec![unpriced(models)],
    };
    Ok(Shown {
        text: groups_listing(&groups.all, by, args, prices)
            .print(args.format, &json!({"currency": prices.currency})),
        notes,
    })
}

fn groups_listing(groups: &[Group], by: CostBy, args: &CostArgs, prices: &Prices) -> Listing {
    let what = match by {
        CostBy::Kind => "KIND",
        CostBy::Task => "TASK",
        CostBy::Agent => "AGENT",
        CostBy::Namespace => "NAMESPACE",
    };
    let has_namespace = args.all_namespaces && by != CostBy::Namespace;
    let mut header = vec![what, "TASKS", "CALLS", "INPUT", "OUTPUT", "COST"];
    if has_namespace {
        header.insert(0, "NAMESPACE");
    }
    let cells = |group: &Group| {
        let mut first = vec![group.spent.name.clone(), group.tasks.to_string()];
        if has_namespace {
            first.insert(0, group.namespace.clone());
        }
        row(first, &group.spent, &group.cost.words(prices))
    };
    let item = |group: &Group| {
        let about = json!({what.to_lowercase(): group.spent.name, "namespace": group.namespace, "tasks": group.tasks});
        document(about, &group.spent, group.cost.whole())
    };
    Listing {
        header,
        rows: groups.iter().map(cells).collect(),
        names: groups.iter().map(|group| group.spent.name.clone()).collect(),
        items: groups.iter().map(item).collect(),
    }
}

/// Name of a task's agent, with its namespace.
fn agent_key(task: &CodeGenTask) -> Option<(String, String)> {
    let agent = task.spec.agent_ref.as_ref()?;
    Some((
        task.metadata.namespace.clone().unwrap_or_default(),
        agent.name.clone(),
    ))
}

/// The agents that name the models of tasks which leave it to them. What cannot be read is left out.
async fn agents(cluster: &Cluster, tasks: &[CodeGenTask]) -> BTreeMap<(String, String), CodeGenAgent> {
    let mut agents = BTreeMap::new();
    let wanted = tasks.iter().filter(|task| model_of(task, None).is_none());
    let keys: std::collections::BTreeSet<_> = wanted.filter_map(agent_key).collect();
    for (namespace, name) in keys {
        let api: Api<CodeGenAgent> = Api::namespaced(cluster.client.clone(), &namespace);
        if let Ok(Some(agent)) = api.get_opt(&name).await {
            agents.insert((namespace, name), agent);
        }
    }
    agents
}

fn row(mut first: Vec<String>, spent: &Kind, cost: &str) -> Vec<String> {
    first.extend([
        thousands(spent.calls),
        thousands(spent.input),
        thousands(spent.output),
        cost.to_owned(),
    ]);
    first
}

fn words(cost: Option<f64>, spent: &Kind, prices: &Prices) -> String {
    match cost {
        Some(cost) => prices.amount(cost),
        None if spent.is_free() => prices.amount(0.0),
        None => "unknown".to_owned(),
    }
}

/// An item for scripts; `cost` is null where nobody knows it.
fn document(mut about: Value, spent: &Kind, cost: Option<f64>) -> Value {
    let figures = json!({
        "calls": spent.calls, "tokens": {"input": spent.input, "output": spent.output}, "cost": cost,
    });
    if let (Value::Object(about), Value::Object(figures)) = (&mut about, figures) {
        about.extend(figures);
    }
    about
}

/// What to do about models without a price.
fn unpriced(models: &[String]) -> String {
    let named: Vec<&str> = models
        .iter()
        .map(|model| {
            if model.is_empty() {
                "(a model that is not named)"
            } else {
                model.as_str()
            }
        })
        .collect();
    let first = named.first().copied().unwrap_or("some-model");
    format!(
        "there is no price for {}: give it with --prices FILE, or --price '{first}=INPUT/OUTPUT', per million tokens",
        named.join(", ")
    )
}

#[cfg(test)]
mod tests;
