//! Reads samples and outputs in a child process with limits, so that a hostile file cannot hurt this one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::api::status::{ConstraintStatus, SampleStatus};
use crate::api::values::ValueType;
use crate::data::DataError;
use crate::data::checks::text::in_words;
use crate::data::checks::{CheckOutcome, CheckReport, CheckResult};
use crate::data::context::{Context, Options, render};
use crate::data::exposure::{Exposed, ExposedJoins};
use crate::data::outputs::{OutputFault, OutputProblem, OutputValue};
use crate::data::profile::{ColumnType, Profiles, SampleProfile, TableProfile};
use crate::data::source::Source;
use crate::data::worker::{Client, Request, Response};
use crate::pipeline::cases::{Form, Forms};
use crate::pipeline::checks::{ColumnCheck, Interpretation, bound_samples, checks_from_reply};
use crate::pipeline::reply::ConstraintsReply;
use crate::pipeline::sandbox::{OutputContent, OutputReport};
use crate::pipeline::task::Task;
use crate::pipeline::verdict::{Fault, RehearsalFindings, TooLarge};

use super::data::{DataReader, Described};

/// Violations of a constraint that a fault quotes.
const QUOTED: usize = 3;

/// Said of the first sample where the child ended while it searched for joins.
const NO_JOINS: &str = "columns on which the samples may be joined are not known: looking for them met a limit of time or memory";

/// Reads through a child process.
#[derive(Clone, Debug)]
pub struct WorkerReader {
    /// Starts the child.
    pub client: Client,
    /// Where each sample lies, by name.
    pub sources: BTreeMap<String, PathBuf>,
    /// The profiles of the samples, where they are recorded: then no sample is read.
    pub profiles: Option<Profiles>,
}

impl DataReader for WorkerReader {
    async fn describe(&self, task: &Task) -> Result<Described, DataError> {
        let Profiles { samples, joins } = match &self.profiles {
            Some(profiles) => profiles.clone(),
            None => profiles(&self.client, &self.samples(task), task.max_sample_rows).await?,
        };
        let joins = ExposedJoins::new(joins, &samples, task.exposure);
        let context = match samples.as_slice() {
            [] => Context::default(),
            samples => render(
                &Exposed::all(samples, task.exposure),
                &joins,
                task.limits.max_context_tokens,
                task.max_sample_rows,
            ),
        };
        // Plain data with string keys: writing it to memory cannot fail.
        let profiles = serde_json::to_vec_pretty(&samples).unwrap_or_default();
        Ok(Described {
            context,
            profiles,
            joins: joins.get().to_vec(),
            samples: task.samples.iter().map(sample_status).collect(),
        })
    }

    fn bind(
        &self,
        task: &Task,
        profiles: &[u8],
        reply: &ConstraintsReply,
    ) -> (Vec<ColumnCheck>, Vec<ConstraintStatus>) {
        let profiles: Vec<SampleProfile> = serde_json::from_slice(profiles).unwrap_or_default();
        let columns: Vec<_> = profiles.iter().flat_map(columns_of).collect();
        let found = checks_from_reply(&reply.checks, task.constraints.len(), &columns, &task.outputs);
        let statuses = task.constraints.iter().enumerate();
        let statuses = statuses.map(|(number, text)| constraint_status(number, text, &found, &profiles));
        (found.checks.clone(), statuses.collect())
    }

    fn columns(&self, task: &Task, profiles: &[u8]) -> BTreeSet<String> {
        let profiles: Vec<SampleProfile> = serde_json::from_slice(profiles).unwrap_or_default();
        let exposed = Exposed::all(&profiles, task.exposure);
        exposed
            .iter()
            .flat_map(Exposed::columns)
            .map(str::to_owned)
            .collect()
    }

    fn forms(&self, profiles: &[u8]) -> Forms {
        let profiles: Vec<SampleProfile> = serde_json::from_slice(profiles).unwrap_or_default();
        profiles
            .iter()
            .map(|profile| (profile.name.clone(), form(profile)))
            .collect()
    }

    async fn judge(
        &self,
        task: &Task,
        outputs: &[OutputReport],
        checks: &[ColumnCheck],
    ) -> Result<RehearsalFindings, DataError> {
        if task.outputs.is_empty() {
            return Ok(RehearsalFindings::default());
        }
        let declared = |name: &str| outputs.iter().find(|output| output.name == name);
        let pairs: Vec<_> = task
            .outputs
            .iter()
            .map(|output| {
                let content =
                    declared(&output.name).map_or(OutputContent::Missing, |found| found.content.clone());
                (output, content)
            })
            .collect();
        let typed = pairs
            .iter()
            .map(|(output, content)| ((*output).into(), content.clone()));
        let mut requests = vec![Request::ParseOutputs {
            outputs: typed.collect(),
        }];
        let mut checked = Vec::new();
        for (output, content) in pairs {
            // Only a file can be a table, and without constraints there is nothing to check in it.
            let checks = checks_of(&output.name, checks);
            if let (ValueType::File, OutputContent::File(bytes), false) =
                (output.type_, content, checks.is_empty())
            {
                checked.push((output.name.clone(), output.format.is_some()));
                requests.push(Request::Check {
                    source: Source::base64(bytes),
                    file_name: output.name.clone(),
                    format: output.format,
                    checks,
                });
            }
        }
        let mut responses = self.ask(&requests).await?.into_iter();
        let mut findings = parsed(task, responses.next());
        for ((name, has_format), response) in checked.into_iter().zip(responses) {
            let broken = violations(&name, has_format, response, &findings.faults);
            findings.faults.extend(broken);
        }
        Ok(findings)
    }
}

/// A sample that is there as a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleFile {
    /// Its name.
    pub name: String,
    /// Its file name as the program sees it.
    pub file_name: String,
    /// Where it lies.
    pub path: PathBuf,
}

/// Describes samples in a child process. `max_rows` of each are shown.
pub async fn profiles(
    client: &Client,
    samples: &[SampleFile],
    max_rows: usize,
) -> Result<Profiles, DataError> {
    if samples.is_empty() {
        return Ok(Profiles::default());
    }
    let describe = |sample: &SampleFile| Request::Describe {
        source: Source::path(&sample.path),
        name: sample.name.clone(),
        file_name: sample.file_name.clone(),
        options: Options { max_rows },
    };
    // Joins last: the child searches them in what it has described before.
    let requests: Vec<Request> = samples.iter().map(describe).chain([Request::Join]).collect();
    let answered = client.answered(&requests).await?;
    let mut found = Profiles::default();
    for response in answered.replies {
        match response? {
            Response::Profile(profile) => found.samples.push(*profile),
            Response::Joins(joins) => found.joins = joins,
            Response::Report(_) | Response::Format(_) | Response::Outputs(_) => {}
        }
    }
    match answered.fault {
        Some(fault) if found.samples.len() < samples.len() => Err(fault),
        fault => {
            // Joins are a help and no part of any sample.
            if let (Some(_), Some(first)) = (fault, found.samples.first_mut()) {
                first.remarks.push(NO_JOINS.into());
            }
            Ok(found)
        }
    }
}

impl WorkerReader {
    fn samples(&self, task: &Task) -> Vec<SampleFile> {
        let samples = task.samples.iter();
        samples
            .map(|sample| SampleFile {
                name: sample.name.clone(),
                file_name: task.mount_name(&sample.name).unwrap_or_default(),
                path: self.sources.get(&sample.name).cloned().unwrap_or_default(),
            })
            .collect()
    }

    async fn ask(&self, requests: &[Request]) -> Result<Vec<Result<Response, DataError>>, DataError> {
        if requests.is_empty() {
            Ok(Vec::new())
        } else {
            self.client.run(requests).await
        }
    }
}

fn form(profile: &SampleProfile) -> Form {
    Form {
        encoding: profile.encoding,
        compression: profile.compression,
    }
}

fn sample_status(sample: &crate::pipeline::task::FrozenFile) -> SampleStatus {
    SampleStatus {
        name: sample.name.clone(),
        sha256: sample.sha256.clone(),
        bytes: i64::try_from(sample.bytes).unwrap_or(i64::MAX),
    }
}

fn columns_of(profile: &SampleProfile) -> Vec<(String, ColumnType)> {
    let columns = profile.tables().flat_map(TableProfile::all_columns);
    columns.map(|(name, type_)| (name.to_owned(), type_)).collect()
}

fn constraint_status(
    number: usize,
    text: &str,
    found: &Interpretation,
    profiles: &[SampleProfile],
) -> ConstraintStatus {
    let checks = || {
        found
            .checks
            .iter()
            .filter(move |check| check.constraint == number)
    };
    let bound: BTreeSet<String> = checks()
        .flat_map(|check| bound_samples(check, profiles))
        .collect();
    let unchecked = found.unchecked.iter().filter(|one| one.constraint == number);
    let words = checks()
        .map(in_words)
        .chain(unchecked.map(|one| format!("unchecked: {}", one.reason)));
    ConstraintStatus {
        text: text.to_owned(),
        bound_to: bound.into_iter().collect(),
        check: words.collect::<Vec<_>>().join("; "),
        not_applied_to: Vec::new(),
    }
}

/// The checks that speak of an output.
pub(super) fn checks_of(output: &str, checks: &[ColumnCheck]) -> Vec<ColumnCheck> {
    checks
        .iter()
        .filter(|check| check.holds_of(output))
        .cloned()
        .collect()
}

/// The outputs as such. A file that the child could not survive is a fault of the program that wrote it.
fn parsed(task: &Task, response: Option<Result<Response, DataError>>) -> RehearsalFindings {
    let mut findings = RehearsalFindings::default();
    match response {
        Some(Ok(Response::Outputs(values))) => {
            for (output, value) in task.outputs.iter().zip(values) {
                match value {
                    Ok(value) => findings.values.push((output.name.clone(), shown(&value))),
                    Err(OutputFault {
                        output: name,
                        problem: OutputProblem::TooLarge(bytes),
                    }) if may_be_large(output.type_) => findings.too_large.push(TooLarge {
                        output: name,
                        bytes: Some(bytes),
                    }),
                    Err(OutputFault { output, problem }) => findings.faults.push(Fault {
                        output,
                        problem: problem.to_string(),
                        without_values: problem.without_values(),
                        broken: None,
                    }),
                }
            }
        }
        Some(Err(error)) => findings.faults.push(unreadable("(all)", &error)),
        Some(Ok(Response::Profile(_) | Response::Joins(_) | Response::Report(_) | Response::Format(_)))
        | None => {}
    }
    findings
}

/// Whether so many bytes may be what the task asks for: no number or date has them.
const fn may_be_large(type_: ValueType) -> bool {
    match type_ {
        ValueType::File | ValueType::Dir | ValueType::String => true,
        ValueType::Int | ValueType::Float | ValueType::Bool | ValueType::Datetime | ValueType::Timedelta => {
            false
        }
    }
}

fn shown(value: &OutputValue) -> String {
    match value {
        OutputValue::File(1) => "1 byte".into(),
        OutputValue::File(bytes) => format!("{bytes} bytes"),
        OutputValue::Dir(files) if files.len() == 1 => "1 file".into(),
        OutputValue::Dir(files) => format!("{} files", files.len()),
        other => other.text().unwrap_or_default(),
    }
}

fn unreadable(output: &str, error: &DataError) -> Fault {
    Fault {
        output: output.to_owned(),
        problem: error.to_string(),
        without_values: "it cannot be read as what it is declared to be".to_owned(),
        broken: None,
    }
}

/// Constraints that an output breaks. One that names none of its columns, or an output that is no table, breaks nothing.
fn violations(
    name: &str,
    has_format: bool,
    response: Result<Response, DataError>,
    known: &[Fault],
) -> Vec<Fault> {
    match response {
        Ok(Response::Report(CheckReport { results, .. })) => results
            .iter()
            .filter_map(|result| violation(name, result))
            .collect(),
        Err(error) if has_format && known.iter().all(|fault| fault.output != name) => {
            vec![unreadable(name, &error)]
        }
        Ok(Response::Profile(_) | Response::Joins(_) | Response::Format(_) | Response::Outputs(_))
        | Err(_) => Vec::new(),
    }
}

fn violation(output: &str, result: &CheckResult) -> Option<Fault> {
    match &result.outcome {
        CheckOutcome::ColumnMissing | CheckOutcome::Checked { violations: 0, .. } => None,
        CheckOutcome::Checked {
            values,
            violations,
            first,
        } => {
            let quoted: Vec<String> = first
                .iter()
                .take(QUOTED)
                .map(|one| format!("line {}: {:?}", one.line, one.value))
                .collect();
            let constraint = in_words(&result.check);
            Some(Fault {
                output: output.to_owned(),
                problem: format!(
                    "{violations} of {values} values break the constraint {constraint} ({})",
                    quoted.join(", ")
                ),
                without_values: format!(
                    "{} of {} values break the constraint {constraint}",
                    about(*violations),
                    about(*values)
                ),
                broken: Some(constraint),
            })
        }
    }
}

/// A count to one digit: a program may write as many lines as a value says.
fn about(count: u64) -> String {
    let unit = 10u64.pow(count.checked_ilog10().unwrap_or(0));
    let rounded = count / unit * unit;
    if rounded == count {
        count.to_string()
    } else {
        format!("more than {rounded}")
    }
}

#[cfg(test)]
mod tests;
