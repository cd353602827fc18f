//! Cases that follow from others: inputs that are written otherwise, from which the same must come.

use crate::api::case::{Case, Check, Expectation};
use crate::api::values::ValueType;
use crate::pipeline::task::Task;

use super::compare::Shape;
use super::compare::table::{Table, delimiter};
use super::{CaseSet, Invariant, check};

/// Cases that follow from `case` by what the plan says may change; one that needs no table in its inputs has none.
pub(super) fn derived(task: &Task, set: &CaseSet, case: &Case) -> Vec<(Invariant, Case)> {
    set.invariants
        .iter()
        .filter_map(|invariant| Some((*invariant, changed(task, case, *invariant)?)))
        .collect()
}

fn changed(task: &Task, case: &Case, invariant: Invariant) -> Option<Case> {
    let mut next = case.clone();
    let mut is_changed = false;
    for given in &mut next.inputs {
        let (name, _) = check::split(&given.name);
        let is_file = task
            .inputs
            .iter()
            .any(|input| input.name == name && matches!(input.type_, ValueType::File | ValueType::Dir));
        if is_file && let Some(text) = rewritten(&given.value, invariant) {
            given.value = text;
            is_changed = true;
        }
    }
    if !is_changed {
        return None;
    }
    next.about = match invariant {
        Invariant::RowOrder => format!("{} (rows in another order)", case.about),
        Invariant::ColumnOrder => format!("{} (columns in another order)", case.about),
        Invariant::ExtraColumn => format!("{} (with a further column)", case.about),
    };
    if invariant == Invariant::RowOrder {
        // Where nothing orders the results, they may follow the order of the inputs.
        for expectation in &mut next.expect {
            loosen(task, expectation);
        }
    }
    Some(next)
}

/// Equal tables become tables of equal rows.
fn loosen(task: &Task, expectation: &mut Expectation) {
    let is_table = matches!(
        check::shape(task, expectation),
        Some(Shape::Table(_) | Shape::Json | Shape::JsonLines)
    );
    if is_table && expectation.check == Check::Equals && expectation.at.is_empty() {
        expectation.check = Check::SameRows;
    }
}

/// A table written otherwise; `None` for what is no table of at least two rows and columns.
fn rewritten(text: &str, invariant: Invariant) -> Option<String> {
    let delimiter = delimiter(text);
    let mut table = Table::parse(text).ok()?;
    let width = table.columns.len();
    let is_regular = width > 1 && table.rows.iter().all(|row| row.len() == width);
    if !is_regular {
        return None;
    }
    match invariant {
        Invariant::RowOrder if table.rows.len() > 1 => table.rows.reverse(),
        Invariant::RowOrder => return None,
        Invariant::ColumnOrder => {
            table.columns.reverse();
            table.rows.iter_mut().for_each(|row| row.reverse());
        }
        Invariant::ExtraColumn => {
            table.columns.push("remark".to_owned());
            for (index, row) in table.rows.iter_mut().enumerate() {
                row.push(format!("r{index}"));
            }
        }
    }
    table.print(delimiter).filter(|other| other != text)
}
