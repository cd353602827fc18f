//! Calls and tokens added up. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::api::CodeGenTask;
use crate::api::status::CodeGenTaskStatus;
use crate::cli::args::CostBy;
use crate::cli::prices::{Prices, Sum};
use crate::ledger::Entry;
use crate::pipeline::call::CallKind;

/// Calls without a recorded reply.
const UNANSWERED: &str = "lost";
/// Tasks without an agent.
const NO_AGENT: &str = "<none>";

/// What calls of one kind came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Kind {
    /// Of the kind, or of what it is the sum.
    pub name: String,
    pub calls: u64,
    /// Tokens sent.
    pub input: u64,
    /// Tokens received.
    pub output: u64,
}

impl Kind {
    /// Nothing yet.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// Whether no token was spent.
    pub const fn is_free(&self) -> bool {
        self.input == 0 && self.output == 0
    }

    /// Adds what others came to.
    pub fn add(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
    }
}

/// What the status says in all.
fn all_of(status: &CodeGenTaskStatus) -> Kind {
    let number = |number: i64| u64::try_from(number).unwrap_or_default();
    Kind {
        name: String::new(),
        calls: number(status.model_calls.into()),
        input: number(status.tokens.input),
        output: number(status.tokens.output),
    }
}

/// The recorded calls by kind. What the status counts besides are calls that were lost, which may be billed all the same.
pub(super) fn by_kind(entries: &[Entry], status: &CodeGenTaskStatus) -> Vec<Kind> {
    let mut kinds = Vec::new();
    let mut recorded = Kind::default();
    for kind in CallKind::ALL {
        let mut sum = Kind::named(kind.as_str());
        for entry in entries.iter().filter(|entry| entry.kind == kind) {
            sum.add(&Kind {
                name: String::new(),
                calls: 1,
                input: entry.reply.usage.input,
                output: entry.reply.usage.output,
            });
        }
        recorded.add(&sum);
        if sum.calls > 0 {
            kinds.push(sum);
        }
    }
    let all = all_of(status);
    let rest = Kind {
        name: if entries.is_empty() { "calls" } else { UNANSWERED }.to_owned(),
        calls: all.calls.saturating_sub(recorded.calls),
        input: all.input.saturating_sub(recorded.input),
        output: all.output.saturating_sub(recorded.output),
    };
    if rest.calls > 0 || !rest.is_free() {
        kinds.push(rest);
    }
    kinds
}

/// What the tasks of one task, agent or namespace came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Group {
    /// Empty for the total.
    pub namespace: String,
    pub spent: Kind,
    pub tasks: usize,
    pub cost: Sum,
}

impl Group {
    fn add(&mut self, spent: &Kind, cost: Option<f64>) {
        self.spent.add(spent);
        self.tasks += 1;
        self.cost.add(cost);
    }
}

/// Groups, the total last, and the models without a price.
pub(super) struct Groups {
    pub all: Vec<Group>,
    pub unpriced: Vec<String>,
}

/// Adds up tasks, each with the name of its model.
pub(super) fn grouped<'a>(
    tasks: impl Iterator<Item = (&'a CodeGenTask, &'a Option<String>)>,
    by: CostBy,
    prices: &Prices,
) -> Groups {
    let mut groups: BTreeMap<(String, String), Group> = BTreeMap::new();
    let mut total = Group {
        spent: Kind::named("total"),
        ..Group::default()
    };
    let mut unpriced = BTreeSet::new();
    for (task, model) in tasks {
        let spent = task.status.as_ref().map(all_of).unwrap_or_default();
        let price = model.as_ref().and_then(|model| prices.models.get(model));
        let cost = match price {
            Some(price) => Some(price.of(spent.input, spent.output)),
            // Nothing was asked of any model.
            None if spent.is_free() => Some(0.0),
            None => {
                unpriced.insert(model.clone().unwrap_or_default());
                None
            }
        };
        let key = key(task, by);
        let group = groups.entry(key.clone()).or_insert_with(|| Group {
            namespace: key.0,
            spent: Kind::named(&key.1),
            ..Group::default()
        });
        group.add(&spent, cost);
        total.add(&spent, cost);
    }
    let mut all: Vec<Group> = groups.into_values().collect();
    all.push(total);
    Groups {
        all,
        unpriced: unpriced.into_iter().collect(),
    }
}

/// Namespace and name of the group of a task.
fn key(task: &CodeGenTask, by: CostBy) -> (String, String) {
    let namespace = task.metadata.namespace.clone().unwrap_or_default();
    let name = match by {
        CostBy::Agent => {
            let agent = task.spec.agent_ref.as_ref();
            agent.map_or_else(|| NO_AGENT.to_owned(), |agent| agent.name.clone())
        }
        CostBy::Namespace => namespace.clone(),
        CostBy::Task | CostBy::Kind => task.metadata.name.clone().unwrap_or_default(),
    };
    (namespace, name)
}
