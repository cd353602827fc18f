//! `kubectl-codegen cost`: calls and tokens of tasks and questions, and what they come to by a table of prices.

mod count;
mod models;

use serde_json::{Value, json};

use self::count::{Group, KindCost, Spender, all_of, all_of_question, by_kind, grouped};
use self::models::Models;
use super::args::{Color, CostArgs, CostBy, question_name};
use super::cluster::Cluster;
use super::command::{self, CommandError, Printout};
use super::prices::{Prices, Sum};
use super::recorded::{RecordedTask, question_from_cluster, read};
use super::table::Listing;
use super::text::thousands;

/// Runs the command.
pub(super) fn run(args: &CostArgs) -> i32 {
    command::run(Color::Auto, async |progress| {
        let prices = prices(args).map_err(CommandError::usage)?;
        let shown = match &args.task {
            None => of_tasks(args, &prices).await?,
            Some(text) => match question_name(text) {
                Some(name) => {
                    let cluster = Cluster::connect(&args.cluster).await?;
                    of_question(&cluster, name, args, &prices).await?
                }
                None => of_task(&Box::pin(read(text, &args.cluster)).await?, args, &prices)?,
            },
        };
        shown.print(progress)
    })
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
fn of_task(task: &RecordedTask, args: &CostArgs, prices: &Prices) -> Result<Printout, CommandError> {
    only_by_kind(args)?;
    // The replies of an adopted program are those of the task that paid for them.
    let entries = match &task.status.adopted_from {
        Some(_) => Vec::new(),
        None => task.entries()?,
    };
    let one = One {
        about: ("task", &task.name),
        model: task.model(),
        kinds: by_kind(&entries, &all_of(&task.status)),
        is_withheld: task.withheld.is_some(),
    };
    Ok(one.shown(args, prices))
}

/// The question `name`.
async fn of_question(
    cluster: &Cluster,
    name: &str,
    args: &CostArgs,
    prices: &Prices,
) -> Result<Printout, CommandError> {
    only_by_kind(args)?;
    let question = question_from_cluster(cluster, name).await?;
    let entries = match question.withheld {
        Some(_) => Vec::new(),
        None => question.entries().await?,
    };
    // As it was when the question started, else as its agent has it now.
    let model = if let Some(frozen) = question.question() {
        Some(frozen.model.name)
    } else {
        let questions = std::slice::from_ref(&question.object);
        let models = Models::of(cluster, &[], questions).await;
        models.of_question(&question.object).map(str::to_owned)
    };
    let one = One {
        about: ("question", &question.name()),
        model: model.as_deref(),
        kinds: by_kind(&entries, &all_of_question(&question.status())),
        is_withheld: question.withheld.is_some(),
    };
    Ok(one.shown(args, prices))
}

fn only_by_kind(args: &CostArgs) -> Result<(), CommandError> {
    if args.by.is_some_and(|by| by != CostBy::Kind) {
        return Err(CommandError::usage(
            "one task or question is added up by kind of call: leave --by out, or leave out its name",
        ));
    }
    Ok(())
}

/// Cost of one task or question.
struct One<'a> {
    /// Kind and name.
    about: (&'static str, &'a str),
    model: Option<&'a str>,
    kinds: Vec<KindCost>,
    /// True where kinds of call could not be read.
    is_withheld: bool,
}

impl One<'_> {
    fn shown(&self, args: &CostArgs, prices: &Prices) -> Printout {
        let price = self.model.and_then(|model| prices.models.get(model)).copied();
        let cost = |kind: &KindCost| price.map(|price| price.of(kind.input, kind.output));
        let mut total = KindCost::named("total");
        for kind in &self.kinds {
            total.add(kind);
        }
        let mut sum = Sum::default();
        sum.add(cost(&total).or(total.is_free().then_some(0.0)));
        let all: Vec<&KindCost> = self.kinds.iter().chain([&total]).collect();
        let mut notes = Vec::new();
        if sum.whole().is_none() {
            notes.push(unpriced(&[self.model.unwrap_or_default().to_owned()]));
        }
        if self.is_withheld {
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
        let about = json!({self.about.0: self.about.1, "model": self.model, "currency": prices.currency});
        Printout {
            text: listing.print(args.format, &about),
            notes,
            code: 0,
        }
    }
}

/// Many tasks and questions by task, agent or namespace. The last row is their total.
async fn of_tasks(args: &CostArgs, prices: &Prices) -> Result<Printout, CommandError> {
    let by = args.by.unwrap_or(CostBy::Task);
    if by == CostBy::Kind {
        return Err(CommandError::usage(
            "kinds of call are those of one task: name it",
        ));
    }
    let cluster = Cluster::connect(&args.cluster).await?;
    let (all, labels) = (args.all_namespaces, args.selector.as_deref());
    let tasks = cluster.list(all, labels).await?;
    let mut notes = Vec::new();
    // An older cluster has none, and somebody may list tasks alone.
    let questions = cluster.list(all, labels).await.unwrap_or_else(|message| {
        notes.push(format!("questions are left out: {message}"));
        Vec::new()
    });
    let models = Models::of(&cluster, &tasks, &questions).await;
    let tasks = tasks
        .iter()
        .map(|task| Spender::of_task(task, models.of_task(task)));
    let questions = questions
        .iter()
        .map(|run| Spender::of_question(run, models.of_question(run)));
    let spenders: Vec<Spender> = tasks.chain(questions).collect();
    let groups = grouped(&spenders, by, prices);
    if !groups.unpriced.is_empty() {
        notes.push(unpriced(&groups.unpriced));
    }
    Ok(Printout {
        text: groups_listing(&groups.all, by, args, prices)
            .print(args.format, &json!({"currency": prices.currency})),
        notes,
        code: 0,
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
    let mut header = vec![what, "TASKS", "QUESTIONS", "CALLS", "INPUT", "OUTPUT", "COST"];
    if has_namespace {
        header.insert(0, "NAMESPACE");
    }
    let cells = |group: &Group| {
        let (tasks, questions) = (group.tasks.to_string(), group.questions.to_string());
        let mut first = vec![group.spent.name.clone(), tasks, questions];
        if has_namespace {
            first.insert(0, group.namespace.clone());
        }
        row(first, &group.spent, &group.cost.words(prices))
    };
    let item = |group: &Group| {
        let about = json!({
            what.to_lowercase(): group.spent.name, "namespace": group.namespace,
            "tasks": group.tasks, "questions": group.questions,
        });
        document(about, &group.spent, group.cost.whole())
    };
    Listing {
        header,
        rows: groups.iter().map(cells).collect(),
        names: groups.iter().map(|group| group.spent.name.clone()).collect(),
        items: groups.iter().map(item).collect(),
    }
}

fn row(mut first: Vec<String>, spent: &KindCost, cost: &str) -> Vec<String> {
    first.extend([
        thousands(spent.calls),
        thousands(spent.input),
        thousands(spent.output),
        cost.to_owned(),
    ]);
    first
}

fn words(cost: Option<f64>, spent: &KindCost, prices: &Prices) -> String {
    match cost {
        Some(cost) => prices.amount(cost),
        None if spent.is_free() => prices.amount(0.0),
        None => "unknown".to_owned(),
    }
}

/// An item for scripts; `cost` is null where nobody knows it.
fn document(mut about: Value, spent: &KindCost, cost: Option<f64>) -> Value {
    let figures = json!({
        "calls": spent.calls, "tokens": {"input": spent.input, "output": spent.output}, "cost": cost,
    });
    if let (Value::Object(about), Value::Object(figures)) = (&mut about, figures) {
        about.extend(figures);
    }
    about
}

/// Says what to do about models without a price.
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
