//! Cases against a program that ignores its input: one that always writes the same to each of its outputs, nonsense or what some case
//! states, compared by what compares the outputs of real ones.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::task::Task;
use codegen_api::case::{Case, Check, Expectation};
use codegen_api::values::ValueType;

use super::compare::{OutputShape, number};
use super::judge::compared_with;
use super::names::named;
use super::{check, reference};

/// A number that no task asks for.
// Prime and negative: no result of a task is this by chance.
const NUMBER: i32 = -7919;
/// A text that no task asks for.
const TEXT: &str = "qwzx";
/// The words of a program that ends with an error before it does anything.
const COMPLAINT: &str = "usage: solution.py [-h]\nTraceback (most recent call last):\nRuntimeError: error\n";
/// Rounds in which texts are chosen: one that refers to another output follows it, and outputs may refer to each other in a row.
const ROUNDS: usize = 3;

/// Finds out if some program that does the same whatever it is given passes these cases: all of `proving` with nonsense, or all of
/// `deciding` with what some of them state. Without any case each such program does.
pub(super) fn are_vacuous<'a>(
    task: &Task,
    proving: impl Iterator<Item = &'a Case>,
    deciding: impl Iterator<Item = &'a Case>,
) -> bool {
    // A program may know what it must refuse, and write the same whenever it does not.
    let (refused_proving, proving): (Vec<&Case>, Vec<&Case>) = proving.partition(|case| case.refused);
    let (refused_deciding, deciding): (Vec<&Case>, Vec<&Case>) = deciding.partition(|case| case.refused);
    let hold = |proving: &[&Case], deciding: &[&Case]| {
        hold(task, proving, &[]) || hold_for_constants(task, deciding)
    };
    hold(&refused_proving, &refused_deciding) && hold(&proving, &deciding)
}

/// Holds cases against a program that writes what some of them state.
fn hold_for_constants(task: &Task, cases: &[&Case]) -> bool {
    // Without inputs there is none to ignore: a right program writes the same each time.
    if task.inputs.is_empty() {
        return false;
    }
    // Whatever a single case states, there are constants that it holds for.
    cases.windows(2).all(|pair| pair[0].expect == pair[1].expect) || hold(task, cases, cases)
}

/// Looks for a text of each output with which all cases hold: nonsense, or what one of the cases in `stated` states of it.
fn hold(task: &Task, cases: &[&Case], stated: &[&Case]) -> bool {
    let lines: Vec<&Expectation> = cases.iter().flat_map(|case| &case.expect).collect();
    let references = lines.iter().filter_map(|line| reference(task, &line.value));
    let outputs = lines.iter().map(|line| line.output.as_str()).chain(references);
    let candidates: BTreeMap<&str, Vec<String>> = outputs
        .map(|output| {
            let constants = stated.iter().filter_map(|case| constant(task, case, output));
            let nonsense = nonsense(task, cases, output).into_iter();
            (output, nonsense.chain(constants).collect())
        })
        .collect();
    let first = candidates.iter().map(|(output, all)| (*output, all[0].clone()));
    let mut texts: BTreeMap<&str, String> = first.collect();
    let holds = |line: &Expectation, texts: &BTreeMap<&str, String>| {
        let text_of = |name: &str| texts.get(name).cloned().ok_or_else(String::new);
        compared_with(task, line, text_of).is_ok()
    };
    for (output, candidates) in candidates.iter().cycle().take(candidates.len() * ROUNDS) {
        let about: Vec<&&Expectation> = lines.iter().filter(|line| line.output == *output).collect();
        let others = about.iter().filter_map(|line| reference(task, &line.value));
        let others: Vec<String> = others.filter_map(|name| texts.get(name).cloned()).collect();
        // Where none holds, the last one stays, which holds no less than another.
        candidates.iter().chain(&others).any(|text| {
            texts.insert(output, text.clone());
            about.iter().all(|line| holds(line, &texts))
        });
    }
    lines.iter().all(|line| holds(line, &texts))
}

/// A text of an output for which this case holds, as far as it states any.
fn constant(task: &Task, case: &Case, output: &str) -> Option<String> {
    let stated = |checks: &[Check]| -> Vec<&str> {
        let lines = case.expect.iter().filter(|line| {
            let is_about = line.output == output && line.at.is_empty() && checks.contains(&line.check);
            is_about && reference(task, &line.value).is_none()
        });
        lines.map(|line| line.value.as_str()).collect()
    };
    let mut wholes = stated(&[Check::Equals, Check::SameRows]);
    wholes.extend(
        stated(&[Check::Between])
            .iter()
            .filter_map(|range| Some(range.split_once(',')?.0.trim())),
    );
    let words = stated(&[Check::Contains]);
    let text = wholes.first().map(|text| (*text).to_owned());
    text.or_else(|| (!words.is_empty()).then(|| words.join("\n")))
}

/// Texts that state nothing of this output: of its type, with the names that the cases give it, or empty.
fn nonsense(task: &Task, cases: &[&Case], output: &str) -> Vec<String> {
    let names = named(task, cases.iter().copied());
    let names = names.into_iter().find(|of| of.output == output);
    let names = names.map(|of| of.names).unwrap_or_default();
    let declared = task.outputs.iter().find(|declared| declared.name == output);
    let declared = declared.and_then(|output| OutputShape::declared(output.type_, output.format));
    // What may be anything is read as each expectation takes it; a table or a document is a text as well.
    let all = cases.iter().flat_map(|case| &case.expect);
    let about = all.filter(|line| line.output == output);
    let mut shapes = about.filter_map(|line| check::shape(task, line));
    let shape = shapes.find(|shape| *shape != OutputShape::Text).or(declared);
    let mut texts = match shape.unwrap_or(OutputShape::Text) {
        OutputShape::Value(ValueType::String | ValueType::File | ValueType::Dir)
        | OutputShape::Text
        | OutputShape::Bytes => {
            vec![TEXT.to_owned()]
        }
        OutputShape::Value(_) => vec![NUMBER.to_string(), true.to_string(), false.to_string()],
        OutputShape::Table(separator) => vec![row(&names, separator)],
        OutputShape::Json | OutputShape::JsonLines => vec![object(&names), "{}".to_owned(), "[]".to_owned()],
    };
    texts.push(String::new());
    texts.extend((output == "stderr").then(|| COMPLAINT.to_owned()));
    // Without a number there is nothing to change, and the text itself would pass.
    let wholes = cases.iter().filter_map(|case| constant(task, case, output));
    texts.extend(wholes.filter_map(|whole| with_other_numbers(&whole)));
    texts
}

/// A table of one row.
fn row(names: &[String], separator: Option<u8>) -> String {
    let nothing = [TEXT.to_owned()];
    let names = if names.is_empty() { &nothing } else { names };
    let quoted = names
        .iter()
        .map(|name| format!("\"{}\"", name.replace('"', "\"\"")));
    let separator = char::from(separator.unwrap_or(b',')).to_string();
    let header = quoted.collect::<Vec<_>>().join(&separator);
    format!(
        "{header}\n{}\n",
        vec![NUMBER.to_string(); names.len()].join(&separator)
    )
}

fn object(names: &[String]) -> String {
    let fields = names.iter().map(|name| (name.clone(), Value::from(NUMBER)));
    Value::Object(fields.collect::<Map<_, _>>()).to_string()
}

/// The table or the documents with another number for every number; `None` where they have none.
fn with_other_numbers(text: &str) -> Option<String> {
    const BETWEEN: [char; 11] = [',', ';', '\t', '|', '\n', '\r', '[', ']', '{', '}', ':'];
    let mut is_other = false;
    let mut replaced = |piece: &str| {
        let cell = piece.trim_end_matches(BETWEEN).trim();
        is_other |= number(cell).is_some();
        match number(cell) {
            Some(_) => piece.replace(cell, &NUMBER.to_string()),
            None => piece.to_owned(),
        }
    };
    // What stands in quotes is text.
    let parts = text.split('"').enumerate().map(|(index, part)| {
        if index % 2 == 1 {
            return part.to_owned();
        }
        part.split_inclusive(BETWEEN).map(&mut replaced).collect()
    });
    let text = parts.collect::<Vec<String>>().join("\"");
    is_other.then_some(text)
}

#[cfg(test)]
mod tests;
