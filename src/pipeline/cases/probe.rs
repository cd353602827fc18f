//! Whether cases reject a program that ignores its input: they are held against made-up programs whose results are the same
//! whatever they are given, by the judge that decides of real ones.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value};

use crate::api::case::{Case, Check, Expectation};
use crate::api::values::ValueType;
use crate::pipeline::sandbox::{OutputContent, OutputReport, PhaseEnd, PhaseName, PhaseReport};
use crate::pipeline::task::Task;

use super::compare::scalar::number;
use super::compare::table::{Table, delimiter};
use super::compare::{Separator, Shape};
use super::judge::holds;
use super::names::named;
use super::{CaseExecution, Origin, check, form};

/// A number that no task asks for.
// Prime and negative: no result of a task is this by chance.
const NUMBER: i32 = -7919;
/// A text that no task asks for.
const TEXT: &str = "qwzx";
/// A moment that no task asks for.
const MOMENT: &str = "1907-07-19T07:19:07Z";
/// What a program says that ends with an error before it does anything.
const COMPLAINT: &str = "usage: solution.py [-h]\nTraceback (most recent call last):\nRuntimeError: error\n";

/// A program that does the same whatever it is given.
struct Probe {
    exit_code: i32,
    writes: Writes,
    stdout: &'static str,
    stderr: &'static str,
}

/// What it leaves behind as each of its outputs.
#[derive(Clone, Copy)]
enum Writes {
    Nothing,
    Empty,
    Nonsense { truth: bool, document: Document },
}

/// What it takes for a document.
#[derive(Clone, Copy)]
enum Document {
    Object,
    List,
    /// The first one that a case states, with other numbers.
    Stated,
}

/// An output, or a file in a folder, of which something is expected.
struct Place {
    /// Its name, with a slash and the file's name where it is one of a folder.
    output: String,
    shape: Shape,
    /// Columns and keys that the cases name.
    names: Vec<String>,
    /// The first whole text that a case expects.
    whole: Option<String>,
}

/// Whether some program that does the same whatever it is given passes all of these cases; without any case each of them does.
pub(super) fn are_vacuous<'a>(task: &Task, cases: impl Iterator<Item = &'a Case>) -> bool {
    let runs: Vec<CaseExecution> = cases
        .map(|case| CaseExecution {
            origin: Origin::Example,
            case: case.clone(),
            is_settled: true,
        })
        .collect();
    let places = places(task, &runs);
    // One such program that passes is enough: whoever writes nothing sensible would pass as well.
    probes().any(|probe| {
        let phase = probe.run(task, &places);
        runs.iter().all(|run| holds(task, run, Some(&phase)))
    })
}

fn probes() -> impl Iterator<Item = Probe> {
    let documents = [Document::Object, Document::List, Document::Stated];
    // Both truth values, for a case may state either.
    let nonsense = [true, false]
        .into_iter()
        .flat_map(move |truth| documents.map(|document| Writes::Nonsense { truth, document }));
    let ending_well = [Writes::Nothing, Writes::Empty]
        .into_iter()
        .chain(nonsense)
        .flat_map(|writes| {
            ["", TEXT].map(|stdout| Probe {
                exit_code: 0,
                writes,
                stdout,
                stderr: "",
            })
        });
    // Programs that refuse everything pass cases whose inputs must be refused.
    let ending_badly = ["", COMPLAINT].into_iter().map(|stderr| Probe {
        exit_code: 1,
        writes: Writes::Nothing,
        stdout: "",
        stderr,
    });
    ending_well.chain(ending_badly)
}

impl Probe {
    /// What such a program comes to.
    fn run(&self, task: &Task, places: &[Place]) -> PhaseReport {
        PhaseReport {
            name: PhaseName::Case,
            end: PhaseEnd::Exited(self.exit_code),
            seconds: 0.0,
            stdout: self.stdout.to_owned(),
            stderr: self.stderr.to_owned(),
            cut: Vec::new(),
            tests: None,
            outputs: task
                .outputs
                .iter()
                .map(|output| OutputReport {
                    name: output.name.clone(),
                    content: self.writes.content(&output.name, places),
                })
                .collect(),
            not_writable: None,
            mutants: None,
            commands: None,
        }
    }
}

impl Writes {
    fn content(self, output: &str, places: &[Place]) -> OutputContent {
        let mut files = Vec::new();
        for place in places {
            let text = match self {
                Self::Nothing => return OutputContent::Missing,
                Self::Empty => String::new(),
                Self::Nonsense { truth, document } => place.nonsense(truth, document),
            };
            let encoded = BASE64_STANDARD.encode(text);
            match form::split(&place.output) {
                (name, None) if name == output => return OutputContent::File(encoded),
                (name, Some(file)) if name == output => files.push((file.to_owned(), encoded)),
                _ => {}
            }
        }
        OutputContent::Dir(files)
    }
}

impl Place {
    fn nonsense(&self, truth: bool, document: Document) -> String {
        let is_stated = matches!(document, Document::Stated);
        let stated = self.whole.as_deref().filter(|_| is_stated);
        match self.shape {
            Shape::Value(ValueType::Bool) => truth.to_string(),
            Shape::Value(ValueType::Int | ValueType::Float) => NUMBER.to_string(),
            Shape::Value(ValueType::Datetime) => MOMENT.to_owned(),
            Shape::Value(ValueType::Timedelta) => format!("PT{}S", NUMBER.unsigned_abs()),
            Shape::Value(ValueType::String | ValueType::File | ValueType::Dir)
            | Shape::Text
            | Shape::Bytes => TEXT.to_owned(),
            Shape::Table(separator) => stated
                .and_then(table_of_other_numbers)
                .unwrap_or_else(|| self.row(separator)),
            Shape::Json | Shape::JsonLines => match document {
                Document::Object => "{}".to_owned(),
                Document::List if self.shape == Shape::JsonLines => String::new(),
                Document::List => "[]".to_owned(),
                Document::Stated => stated
                    .and_then(json_of_other_numbers)
                    .unwrap_or_else(|| self.object()),
            },
        }
    }

    /// A table of one row.
    fn row(&self, separator: Separator) -> String {
        let columns = if self.names.is_empty() {
            vec![TEXT.to_owned()]
        } else {
            self.names.clone()
        };
        let row = vec![NUMBER.to_string(); columns.len()];
        let table = Table {
            columns,
            rows: vec![row],
        };
        let delimiter = match separator {
            Separator::Tab => b'\t',
            Separator::Any | Separator::Comma => b',',
        };
        table.print(delimiter).unwrap_or_default()
    }

    fn object(&self) -> String {
        let fields = self.names.iter().map(|name| (name.clone(), Value::from(NUMBER)));
        Value::Object(fields.collect::<Map<_, _>>()).to_string()
    }
}

/// Every output of the task, and every file of a folder, that something can be expected of.
fn places(task: &Task, runs: &[CaseExecution]) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for output in &task.outputs {
        if output.type_ != ValueType::Dir {
            let shape = Shape::declared(output.type_, output.format).unwrap_or(Shape::Text);
            places.push(Place::new(&output.name, shape));
        }
    }
    for run in runs {
        for expectation in &run.case.expect {
            place(task, &mut places, expectation);
        }
        for of in named(task, std::iter::once(&run.case)) {
            if let Some(place) = places.iter_mut().find(|place| place.output == of.output) {
                let new: Vec<String> = of
                    .names
                    .into_iter()
                    .filter(|name| !place.names.contains(name))
                    .collect();
                place.names.extend(new);
            }
        }
    }
    places
}

impl Place {
    fn new(output: &str, shape: Shape) -> Self {
        Self {
            output: output.to_owned(),
            shape,
            names: Vec::new(),
            whole: None,
        }
    }
}

/// Notes what an expectation says of the shape and text of its output.
fn place(task: &Task, places: &mut Vec<Place>, expectation: &Expectation) {
    let Expectation {
        output,
        check,
        at,
        value,
        ..
    } = expectation;
    let Some(shape) = check::shape(task, expectation).filter(|_| !matches!(&**output, "stdout" | "stderr"))
    else {
        return;
    };
    if !places.iter().any(|place| place.output == *output) {
        places.push(Place::new(output, shape));
    }
    let Some(place) = places.iter_mut().find(|place| place.output == *output) else {
        return;
    };
    // What may be anything is read as each expectation takes it; a table or a document is a text as well.
    if place.shape == Shape::Text {
        place.shape = shape;
    }
    let is_whole = matches!(check, Check::Equals | Check::SameRows) && at.is_empty();
    if is_whole && place.whole.is_none() && !value.starts_with('$') {
        place.whole = Some(value.clone());
    }
}

/// The table with another number for every number; `None` where it has none.
fn table_of_other_numbers(text: &str) -> Option<String> {
    let mut table = Table::parse(text).ok()?;
    let numbers = table.rows.iter_mut().flatten();
    let mut is_other = false;
    for cell in numbers.filter(|cell| number(cell).is_some()) {
        *cell = NUMBER.to_string();
        is_other = true;
    }
    table.print(delimiter(text)).filter(|_| is_other)
}

/// The documents with another number for every number; `None` where they have none.
fn json_of_other_numbers(text: &str) -> Option<String> {
    let documents = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let before: Vec<Value> = documents.collect::<Result<_, _>>().ok()?;
    let after: Vec<Value> = before.iter().cloned().map(with_other_numbers).collect();
    let lines: Vec<String> = after.iter().map(Value::to_string).collect();
    // Without a number there is nothing to change, and the text itself would pass.
    (after != before).then(|| lines.join("\n"))
}

fn with_other_numbers(value: Value) -> Value {
    match value {
        Value::Number(_) => NUMBER.into(),
        Value::Array(elements) => elements.into_iter().map(with_other_numbers).collect(),
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .map(|(name, value)| (name, with_other_numbers(value)))
                .collect(),
        ),
        other => other,
    }
}

#[cfg(test)]
mod tests;
