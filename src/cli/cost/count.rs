//! Calls and tokens added up. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::cli::args::CostBy;
use crate::cli::prices::{Prices, Sum};
use codegen_api::CodeGenTask;
use codegen_api::code_mode::{CodeModeRun, CodeModeRunStatus};
use codegen_api::status::{CodeGenTaskStatus, TokenStatus};
use codegen_core::call::CallKind;
use codegen_ledger::Entry;

/// Calls without a recorded reply.
const UNANSWERED: &str = "lost";
/// Tasks without an agent.
const NO_AGENT: &str = "<none>";

/// Sums over calls of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct KindCost {
    /// Of the kind, or of what it is the sum.
    pub name: String,
    pub calls: u64,
    /// Tokens sent.
    pub input: u64,
    /// Tokens received.
    pub output: u64,
}

impl KindCost {
    /// Nothing yet.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// Reports whether no token was spent.
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

/// Returns what the status says in all.
pub(super) fn all_of(status: &CodeGenTaskStatus) -> KindCost {
    spent(status.model_calls, status.tokens)
}

/// Returns what the status of a question says in all; lost calls may be billed too.
pub(super) fn all_of_question(status: &CodeModeRunStatus) -> KindCost {
    let calls = status.model_calls.saturating_add(status.lost_calls);
    spent(calls, status.tokens.unwrap_or_default())
}

fn spent(calls: i32, tokens: TokenStatus) -> KindCost {
    let number = |number: i64| u64::try_from(number).unwrap_or_default();
    KindCost {
        name: String::new(),
        calls: number(calls.into()),
        input: number(tokens.input),
        output: number(tokens.output),
    }
}

/// The recorded calls by kind. What the status counts besides, `all`, are calls that were lost, which may be billed all the same.
pub(super) fn by_kind(entries: &[Entry], all: &KindCost) -> Vec<KindCost> {
    let mut kinds = Vec::new();
    let mut recorded = KindCost::default();
    for kind in CallKind::ALL {
        let mut sum = KindCost::named(kind.as_str());
        for entry in entries.iter().filter(|entry| entry.kind == kind) {
            sum.add(&KindCost {
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
    let rest = KindCost {
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

/// Task or question that is added up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Spender {
    pub namespace: String,
    /// As commands take it.
    pub name: String,
    /// Its agent; that of a question has its kind before its name, for one of each kind may have the same name.
    pub agent: Option<String>,
    pub is_question: bool,
    /// Name of its model.
    pub model: Option<String>,
    pub spent: KindCost,
}

impl Spender {
    /// A task, whose model is called so.
    pub fn of_task(task: &CodeGenTask, model: Option<&str>) -> Self {
        Self {
            namespace: task.metadata.namespace.clone().unwrap_or_default(),
            name: task.metadata.name.clone().unwrap_or_default(),
            agent: task.spec.agent_ref.as_ref().map(|agent| agent.name.clone()),
            is_question: false,
            model: model.map(str::to_owned),
            spent: task.status.as_ref().map(all_of).unwrap_or_default(),
        }
    }

    /// A question, whose model is called so.
    pub fn of_question(run: &CodeModeRun, model: Option<&str>) -> Self {
        let name = run.metadata.name.as_deref().unwrap_or_default();
        Self {
            namespace: run.metadata.namespace.clone().unwrap_or_default(),
            name: format!("codemoderun/{name}"),
            agent: Some(format!("codemodeagent/{}", run.spec.agent_ref.name)),
            is_question: true,
            model: model.map(str::to_owned),
            spent: run.status.as_ref().map(all_of_question).unwrap_or_default(),
        }
    }
}

/// Sums over the tasks and questions of one task, agent or namespace.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Group {
    /// Empty for the total.
    pub namespace: String,
    pub spent: KindCost,
    pub tasks: usize,
    pub questions: usize,
    pub cost: Sum,
}

impl Group {
    fn add(&mut self, spender: &Spender, cost: Option<f64>) {
        self.spent.add(&spender.spent);
        if spender.is_question {
            self.questions += 1;
        } else {
            self.tasks += 1;
        }
        self.cost.add(cost);
    }
}

/// Groups, the total last, and the models without a price.
pub(super) struct Groups {
    pub all: Vec<Group>,
    pub unpriced: Vec<String>,
}

/// Adds up tasks and questions.
pub(super) fn grouped(spenders: &[Spender], by: CostBy, prices: &Prices) -> Groups {
    let mut groups: BTreeMap<(String, String), Group> = BTreeMap::new();
    let mut total = Group {
        spent: KindCost::named("total"),
        ..Group::default()
    };
    let mut unpriced = BTreeSet::new();
    for spender in spenders {
        let spent = &spender.spent;
        let price = spender.model.as_ref().and_then(|model| prices.models.get(model));
        let cost = match price {
            Some(price) => Some(price.of(spent.input, spent.output)),
            // Nothing was asked of any model.
            None if spent.is_free() => Some(0.0),
            None => {
                unpriced.insert(spender.model.clone().unwrap_or_default());
                None
            }
        };
        let key = key(spender, by);
        let group = groups.entry(key.clone()).or_insert_with(|| Group {
            namespace: key.0,
            spent: KindCost::named(&key.1),
            ..Group::default()
        });
        group.add(spender, cost);
        total.add(spender, cost);
    }
    let mut all: Vec<Group> = groups.into_values().collect();
    all.push(total);
    Groups {
        all,
        unpriced: unpriced.into_iter().collect(),
    }
}

/// Namespace and name of the group of a task or question.
fn key(spender: &Spender, by: CostBy) -> (String, String) {
    let name = match by {
        CostBy::Agent => spender.agent.as_deref().unwrap_or(NO_AGENT),
        CostBy::Namespace => &spender.namespace,
        CostBy::Task | CostBy::Kind => &spender.name,
    };
    (spender.namespace.clone(), name.to_owned())
}
