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
use super::{CaseExecution, Origin, check, form, reference};

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
    stdout: String,
    stderr: String,
}

/// What it leaves behind as each of its outputs.
#[derive(Clone, Copy)]
enum Writes {
    Nothing,
    Empty,
    Nonsense {
        truth: bool,
        document: Document,
    },
    /// What a case states of it.
    Stated,
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
#[derive(Clone)]
struct Place {
    /// Its name, with a slash and the file's name where it is one of a folder.
    output: String,
    shape: Shape,
    /// Columns and keys that the cases name.
    names: Vec<String>,
    /// The first whole text that a case expects.
    whole: Option<String>,
}

/// Whether some program that does the same whatever it is given passes these cases: all of `proving` with nonsense, or all of
/// `deciding` with what one of them states. Without any case each such program does.
pub(super) fn are_vacuous<'a>(
    task: &Task,
    proving: impl Iterator<Item = &'a Case>,
    deciding: impl Iterator<Item = &'a Case>,
) -> bool {
    let (proving, deciding) = (runs(proving), runs(deciding));
    // A program may know what it must refuse, and write the same whenever it does not.
    [true, false].into_iter().all(|refused| {
        passes_nonsense(task, &those(&proving, refused)) || passes_constants(task, &those(&deciding, refused))
    })
}

fn runs<'a>(cases: impl Iterator<Item = &'a Case>) -> Vec<CaseExecution> {
    cases
        .map(|case| CaseExecution {
            origin: Origin::Example,
            case: case.clone(),
            is_settled: true,
            is_held: false,
            is_apart: false,
        })
        .collect()
}

/// The cases whose inputs must be refused, or the others.
fn those(runs: &[CaseExecution], refused: bool) -> Vec<CaseExecution> {
    let is_one = |run: &&CaseExecution| run.case.refused == refused;
    runs.iter().filter(is_one).cloned().collect()
}

fn passes_nonsense(task: &Task, runs: &[CaseExecution]) -> bool {
    let places = places(task, runs);
    // One such program that passes is enough: whoever writes nothing sensible would pass as well.
    probes().any(|probe| passes(task, runs, &probe.run(task, &places)))
}

/// Whether a program passes that always does what one of the cases states.
fn passes_constants(task: &Task, runs: &[CaseExecution]) -> bool {
    // Without inputs there is none to ignore: a right program writes the same each time.
    if task.inputs.is_empty() {
        return false;
    }
    let states_the_same = |run: &CaseExecution| runs.iter().all(|other| other.case.expect == run.case.expect);
    // Whatever a single case states, there are constants that it holds for.
    if runs.first().is_none_or(states_the_same) {
        return true;
    }
    let places = places(task, runs);
    runs.iter()
        .any(|run| passes(task, runs, &constant(task, &places, &run.case)))
}

fn passes(task: &Task, runs: &[CaseExecution], phase: &PhaseReport) -> bool {
    runs.iter().all(|run| holds(task, run, Some(phase)))
}

/// What a program comes to that always writes what this case states, and of other outputs what another one does.
fn constant(task: &Task, places: &[Place], case: &Case) -> PhaseReport {
    let stated_places: Vec<Place> = places
        .iter()
        .map(|place| Place {
            whole: stated(task, case, &place.output).or_else(|| place.whole.clone()),
            ..place.clone()
        })
        .collect();
    let stream = |name| stated(task, case, name).unwrap_or_default();
    Probe {
        exit_code: i32::from(case.refused),
        writes: Writes::Stated,
        stdout: stream("stdout"),
        stderr: stream("stderr"),
    }
    .run(task, &stated_places)
}

/// A text of an output for which this case holds, as far as it states any.
fn stated(task: &Task, case: &Case, output: &str) -> Option<String> {
    let is_about = |line: &&Expectation| {
        line.output == output && line.at.is_empty() && reference(task, &line.value).is_none()
    };
    let lines: Vec<&Expectation> = case.expect.iter().filter(is_about).collect();
    let of = |check: Check| {
        lines
            .iter()
            .filter(move |line| line.check == check)
            .map(|line| line.value.as_str())
    };
    let whole = of(Check::Equals).chain(of(Check::SameRows)).next();
    let lowest = of(Check::Between)
        .next()
        .and_then(|range| Some(range.split_once(',')?.0.trim()));
    let found: Vec<&str> = of(Check::Contains).collect();
    whole
        .or(lowest)
        .map(str::to_owned)
        .or_else(|| (!found.is_empty()).then(|| found.join("\n")))
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
                stdout: stdout.to_owned(),
                stderr: String::new(),
            })
        });
    // Programs that refuse everything pass cases whose inputs must be refused.
    let ending_badly = ["", COMPLAINT].into_iter().map(|stderr| Probe {
        exit_code: 1,
        writes: Writes::Nothing,
        stdout: String::new(),
        stderr: stderr.to_owned(),
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
            stdout: self.stdout.clone(),
            stderr: self.stderr.clone(),
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
                Self::Stated => place
                    .whole
                    .clone()
                    .unwrap_or_else(|| place.nonsense(true, Document::Stated)),
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
