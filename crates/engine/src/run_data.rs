//! Checks the data of a run of a finished program: given files before it, outputs after it. In a child process with limits.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use codegen_api::run_status::{DataSide, Finding, InputOrigin, RunInputStatus, Severity};
use codegen_api::values::{Output, ValueType};
use codegen_core::bounds::cut;
use codegen_core::checks::{ColumnCheck, Rule};
use codegen_core::run::checks::Severities;
use codegen_core::run::{OutputsRead, ResolvedInput, ResolvedRun, TypedOutput};
use codegen_core::sandbox::{OutputContent, OutputReport};
use codegen_core::task::FrozenFile;
use codegen_core::verdict::{BrokenOutput, OutputTooLarge};
use codegen_data::DataError;
use codegen_data::checks::text::in_words;
use codegen_data::checks::{CheckOutcome, CheckReport, CheckResult, Violation};
use codegen_data::format::format_name;
use codegen_data::outputs::{OutputFault, OutputProblem};
use codegen_data::profile::SampleProfile;
use codegen_data::schema::expected::{Expected, expected};
use codegen_data::source::Source;
use codegen_data::worker::{ChildRequest, Response, WorkerClient};

/// Values that a finding quotes.
const QUOTED: usize = 3;
/// Most findings of one file: a table of another kind breaks every rule.
const MOST_FINDINGS: usize = 8;
/// Most bytes of names of columns, and of a rule in words: a header and a list of allowed values may have any length.
const LONGEST_COLUMN: usize = 200;
const LONGEST_CHECK: usize = 400;

/// The columns of samples, by the input's name; nothing of their values.
pub type ColumnsByInput = BTreeMap<String, Vec<Expected>>;

/// The columns of these samples.
#[must_use]
pub fn columns(profiles: &[SampleProfile]) -> ColumnsByInput {
    let columns = profiles
        .iter()
        .map(|profile| (profile.name.clone(), expected(profile)));
    columns.filter(|(_, columns)| !columns.is_empty()).collect()
}

/// Knowledge about the data of a task.
#[derive(Clone, Copy, Debug)]
pub struct RunData<'a> {
    /// Starts the child.
    pub client: &'a WorkerClient,
    /// Requirements on a file for it to be read as the task's sample of that input was.
    pub columns: &'a ColumnsByInput,
    /// The constraints on columns.
    pub checks: &'a [ColumnCheck],
}

/// The files that a run gives, held to the rules of their task.
#[derive(Debug, Default)]
pub struct CheckedInputs {
    /// Faults that were found in them.
    pub findings: Vec<Finding>,
    /// Names of those for which there are rules, and whose content was not looked at.
    pub unchecked: Vec<String>,
}

impl CheckedInputs {
    /// Says in the status which inputs were not looked at.
    pub fn mark(&self, inputs: &mut [RunInputStatus]) {
        for input in inputs {
            input.unchecked = self.unchecked.contains(&input.name);
        }
    }
}

impl RunData<'_> {
    /// Checks the files that a run gives, and lists those that were not looked at: folders, and those for which `source` has no place that
    /// can be read here. The error is that no child process could be started; the same may work at another time.
    pub async fn inputs(
        &self,
        run: &ResolvedRun,
        source: impl Fn(&ResolvedInput, &FrozenFile) -> Option<Source>,
    ) -> Result<CheckedInputs, DataError> {
        let mut checked = CheckedInputs::default();
        let Some(severity) = Severities::from(run.validation).inputs else {
            return Ok(checked);
        };
        // The task's own data was checked when the task was made.
        let given = run.files().filter(|(input, _)| input.from == InputOrigin::Given);
        for (input, file) in given {
            let expected = self.columns.get(&input.name).cloned().unwrap_or_default();
            let checks: Vec<ColumnCheck> = expected
                .iter()
                .flat_map(rules)
                .chain(self.checks.iter().cloned())
                .collect();
            if checks.is_empty() {
                continue;
            }
            let source = source(input, file).filter(|_| input.type_ == ValueType::File);
            let Some(source) = source else {
                checked.unchecked.push(input.name.clone());
                continue;
            };
            let about = About {
                severity,
                of: DataSide::Input,
                name: &input.name,
            };
            let asked = ChildRequest::Check {
                source,
                file_name: file.file_name.clone(),
                format: None,
                checks,
            };
            checked.findings.extend(match self.ask(asked).await? {
                Ok(Response::Report(report)) => about.input(&expected, &report),
                // Constraints alone say nothing of a file without columns.
                Err(error) if !expected.is_empty() => {
                    vec![about.whole(&format!("a table like the sample ({error})"))]
                }
                _ => Vec::new(),
            });
        }
        Ok(checked)
    }

    /// The outputs of a program that ended well, as their types, and the constraints that they break. The error is that no
    /// child could be had; the same may work at another time.
    pub async fn outputs(
        &self,
        declared: &[Output],
        severity: Option<Severity>,
        reported: &[OutputReport],
    ) -> Result<OutputsRead, DataError> {
        let mut read = OutputsRead::default();
        if declared.is_empty() {
            return Ok(read);
        }
        let pairs = with_contents(declared, reported);
        let checked: Vec<(&Output, &String)> = pairs
            .iter()
            .filter_map(|(declared, content)| match content {
                OutputContent::File(bytes) if declared.type_ == ValueType::File => Some((declared, bytes)),
                _ => None,
            })
            .filter(|(declared, _)| severity.is_some() && !checks_of(&declared.name, self.checks).is_empty())
            .collect();
        let typed = pairs
            .iter()
            .map(|(output, content)| (output.into(), content.clone()));
        let mut requests = vec![ChildRequest::ParseOutputs {
            outputs: typed.collect(),
        }];
        requests.extend(checked.iter().map(|(declared, bytes)| ChildRequest::Check {
            source: Source::base64((*bytes).clone()),
            file_name: declared.name.clone(),
            format: declared.format,
            checks: checks_of(&declared.name, self.checks),
        }));
        let mut answers = self.ask_all(requests).await?.into_iter();
        if let Some(answer) = answers.next() {
            add_values(&mut read, &pairs, answer);
        }
        for ((declared, _), answer) in checked.into_iter().zip(answers) {
            match (answer, severity) {
                (Ok(Response::Report(report)), Some(severity)) => {
                    let about = About {
                        severity,
                        of: DataSide::Output,
                        name: &declared.name,
                    };
                    read.findings.extend(about.broken(&report.results));
                }
                // What is no table has no columns.
                (Err(error), _) if declared.format.is_some() && !read.is_at_fault(&declared.name) => {
                    read.faults
                        .push(BrokenOutput::unreadable(&declared.name, &error.to_string()));
                }
                _ => {}
            }
        }
        Ok(read)
    }

    /// The constraints that a file of a program breaks, wherever it lies; or why it is not of its declared format, or could not
    /// be held to them. The outer error is that no child could be had.
    pub async fn file(
        &self,
        declared: &Output,
        severity: Option<Severity>,
        source: impl Fn() -> Source,
    ) -> Result<Result<Vec<Finding>, String>, DataError> {
        if let Some(format) = declared.format {
            let asked = ChildRequest::CheckFormat {
                source: source(),
                name: declared.name.clone(),
                format,
            };
            match self.ask(asked).await? {
                Ok(Response::Format(Some(reason))) => {
                    return Ok(Err(format!("not valid {}: {reason}", format_name(format))));
                }
                Ok(_) => {}
                Err(error) => return Ok(Err(error.to_string())),
            }
        }
        let checks = checks_of(&declared.name, self.checks);
        let Some(severity) = severity.filter(|_| !checks.is_empty()) else {
            return Ok(Ok(Vec::new()));
        };
        let about = About {
            severity,
            of: DataSide::Output,
            name: &declared.name,
        };
        let asked = ChildRequest::Check {
            source: source(),
            file_name: declared.name.clone(),
            format: declared.format,
            checks,
        };
        Ok(match self.ask(asked).await? {
            Ok(Response::Report(report)) => Ok(about.broken(&report.results)),
            // What is no table has no columns.
            Ok(_) | Err(DataError::Reported(_)) => Ok(Vec::new()),
            Err(error) => Err(format!(
                "it cannot be held to the constraints ({error}): set validation: Off where they need not hold"
            )),
        })
    }

    /// The value that these bytes are, as text; or why they are none of the declared type. The outer error is that no child
    /// could be had.
    pub async fn value(
        &self,
        declared: &Output,
        bytes: &[u8],
    ) -> Result<Result<Option<String>, String>, DataError> {
        let asked = ChildRequest::ParseOutputs {
            outputs: vec![(declared.into(), OutputContent::File(STANDARD.encode(bytes)))],
        };
        Ok(match self.ask(asked).await? {
            Ok(Response::Outputs(values)) => match values.into_iter().next() {
                Some(Ok(value)) => Ok(value.text()),
                Some(Err(fault)) => Err(fault.problem.to_string()),
                None => Ok(None),
            },
            Ok(_) => Ok(None),
            Err(error) => Err(error.to_string()),
        })
    }

    /// One answer each, of one child; where that does not survive a file, of a child each.
    async fn ask_all(
        &self,
        requests: Vec<ChildRequest>,
    ) -> Result<Vec<Result<Response, DataError>>, DataError> {
        if let Ok(answers) = self.client.run(&requests).await {
            return Ok(answers);
        }
        let mut answers = Vec::new();
        for request in requests {
            answers.push(self.ask(request).await?);
        }
        Ok(answers)
    }

    /// One answer of a child of its own. The inner error is about the file.
    async fn ask(&self, request: ChildRequest) -> Result<Result<Response, DataError>, DataError> {
        match self.client.run(&[request]).await {
            Ok(mut answers) => Ok(answers
                .pop()
                .unwrap_or_else(|| Err(DataError::Reported("no answer".to_owned())))),
            Err(error) if error.is_passing() => Err(error),
            Err(error) => Ok(Err(error)),
        }
    }
}

/// Every column has a rule about its type, so that its absence shows.
fn rules(expected: &Expected) -> impl Iterator<Item = ColumnCheck> {
    let of_type = Some(Rule::OfType(expected.type_));
    let complete = expected.is_complete.then_some(Rule::NotNull);
    of_type
        .into_iter()
        .chain(complete)
        .map(|rule| ColumnCheck::new(0, expected.column.clone(), rule))
}

/// Each declared output with what was reported of it.
fn with_contents(declared: &[Output], reported: &[OutputReport]) -> Vec<(Output, OutputContent)> {
    let content = |name: &str| {
        let found = reported.iter().find(|output| output.name == name);
        found.map_or(OutputContent::Missing, |found| found.content.clone())
    };
    let declared = declared.iter();
    declared
        .map(|output| (output.clone(), content(&output.name)))
        .collect()
}

/// Adds the outputs as their types, and what is wrong with those that are of none.
fn add_values(
    read: &mut OutputsRead,
    pairs: &[(Output, OutputContent)],
    answer: Result<Response, DataError>,
) {
    match answer {
        Ok(Response::Outputs(values)) => {
            for ((declared, content), value) in pairs.iter().zip(values) {
                match value {
                    Ok(value) => read
                        .outputs
                        .extend(TypedOutput::new(declared, content, value.text())),
                    Err(fault) => refuse(read, declared.type_, fault),
                }
            }
        }
        // A file that the child could not survive is a fault of the program that wrote it.
        Err(error) => read
            .faults
            .push(BrokenOutput::unreadable("(all)", &error.to_string())),
        Ok(_) => {}
    }
}

fn refuse(read: &mut OutputsRead, type_: ValueType, fault: OutputFault) {
    match fault.problem {
        OutputProblem::TooLarge(bytes) if may_be_large(type_) => read.too_large.push(OutputTooLarge {
            output: fault.output,
            bytes: Some(bytes),
        }),
        problem => read.faults.push(BrokenOutput {
            output: fault.output,
            without_values: problem.without_values(),
            broken: None,
            problem: problem.to_string(),
        }),
    }
}

/// Reports whether so many bytes may be a value of the type that the task asks for: no number or date has them.
const fn may_be_large(type_: ValueType) -> bool {
    match type_ {
        ValueType::File | ValueType::Dir | ValueType::String => true,
        ValueType::Int | ValueType::Float | ValueType::Bool | ValueType::Datetime | ValueType::Timedelta => {
            false
        }
    }
}

/// The checks that speak of an output.
fn checks_of(output: &str, checks: &[ColumnCheck]) -> Vec<ColumnCheck> {
    checks
        .iter()
        .filter(|check| check.holds_of(output))
        .cloned()
        .collect()
}

/// Data that findings are about.
#[derive(Clone, Copy)]
struct About<'a> {
    severity: Severity,
    of: DataSide,
    name: &'a str,
}

impl About<'_> {
    /// Finds everything that a file has and its sample does not have, and the constraints that it breaks.
    fn input(&self, expected: &[Expected], report: &CheckReport) -> Vec<Finding> {
        let count: usize = expected.iter().map(|one| rules(one).count()).sum();
        // The checks of the sample come first, as they were asked.
        let (of_sample, of_constraints) = report.results.split_at(count.min(report.results.len()));
        let absent = of_sample.iter().filter(|result| {
            result.outcome == CheckOutcome::ColumnMissing && matches!(result.check.rule, Rule::OfType(_))
        });
        let absent: Vec<&str> = absent.map(|result| result.check.column.as_str()).collect();
        let mut findings: Vec<Finding> = self.absent(&absent).into_iter().collect();
        findings.extend(self.broken(of_constraints));
        findings.extend(self.broken(of_sample));
        findings.truncate(MOST_FINDINGS);
        findings
    }

    /// Columns that are not there.
    fn absent(&self, columns: &[&str]) -> Option<Finding> {
        let listed = columns
            .iter()
            .take(MOST_FINDINGS)
            .copied()
            .collect::<Vec<_>>()
            .join(", ");
        let check = match columns.len() {
            0 => return None,
            1 => format!("the column {listed} of the task's sample"),
            count if count <= MOST_FINDINGS => format!("the columns {listed} of the task's sample"),
            count => {
                let more = count - MOST_FINDINGS;
                format!("the columns {listed} and {more} more of the task's sample")
            }
        };
        Some(Finding {
            column: cut(&listed, LONGEST_COLUMN),
            ..self.whole(&check)
        })
    }

    /// Rules that values break. One that names no column of the file breaks nothing.
    fn broken(&self, results: &[CheckResult]) -> Vec<Finding> {
        results
            .iter()
            .filter_map(|result| match &result.outcome {
                CheckOutcome::Checked {
                    violations, first, ..
                } if *violations > 0 => Some(Finding {
                    column: cut(&result.check.column, LONGEST_COLUMN),
                    count: i64::try_from(*violations).unwrap_or(i64::MAX),
                    first: first.iter().take(QUOTED).map(quoted).collect(),
                    ..self.whole(&in_words(&result.check))
                }),
                CheckOutcome::Checked { .. } | CheckOutcome::ColumnMissing => None,
            })
            .take(MOST_FINDINGS)
            .collect()
    }

    /// A finding about the file as a whole.
    fn whole(&self, check: &str) -> Finding {
        Finding {
            severity: self.severity,
            of: self.of,
            name: self.name.to_owned(),
            column: String::new(),
            check: cut(check, LONGEST_CHECK),
            count: 0,
            first: Vec::new(),
        }
    }
}

fn quoted(violation: &Violation) -> String {
    match &violation.sheet {
        Some(sheet) => format!("sheet {sheet:?} line {}: {:?}", violation.line, violation.value),
        None => format!("line {}: {:?}", violation.line, violation.value),
    }
}
