//! Reads samples and outputs in a child process with limits, so that a hostile file cannot hurt this one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use codegen_api::run_status::Severity;
use codegen_api::status::{ConstraintStatus, SampleStatus};
use codegen_core::cases::{Form, Forms};
use codegen_core::checks::{ColumnCheck, Interpretation, bound_samples, checks_from_reply};
use codegen_core::reply::ConstraintsReply;
use codegen_core::run::OutputsRead;
use codegen_core::sandbox::OutputReport;
use codegen_core::task::Task;
use codegen_data::DataError;
use codegen_data::checks::text::in_words;
use codegen_data::context::{DataContext, DescribeOptions, render};
use codegen_data::exposure::{Exposed, ExposedJoins};
use codegen_data::profile::{ColumnType, Profiles, SampleProfile, TableProfile};
use codegen_data::source::Source;
use codegen_data::worker::{ChildRequest, Response, WorkerClient};

use super::data::{DataReader, Described};
use super::run_data::{ColumnsByInput, RunData};

/// Said of the first sample where the child ended while it searched for joins.
const NO_JOINS: &str = "columns on which the samples may be joined are not known: looking for them met a limit of time or memory";

/// Reads through a child process.
#[derive(Clone, Debug)]
pub struct WorkerReader {
    /// Starts the child.
    pub client: WorkerClient,
    /// Place of each sample, by name.
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
            [] => DataContext::default(),
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
        exposed.iter().flat_map(Exposed::columns).collect()
    }

    fn forms(&self, profiles: &[u8]) -> Forms {
        let profiles: Vec<SampleProfile> = serde_json::from_slice(profiles).unwrap_or_default();
        profiles
            .iter()
            .map(|profile| (profile.name.clone(), form(profile)))
            .collect()
    }

    async fn outputs(
        &self,
        task: &Task,
        reported: &[OutputReport],
        checks: &[ColumnCheck],
    ) -> Result<OutputsRead, DataError> {
        let data = RunData {
            client: &self.client,
            columns: &ColumnsByInput::new(),
            checks,
        };
        data.outputs(&task.outputs, Some(Severity::Violation), reported)
            .await
    }
}

/// A sample that is there as a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleFile {
    /// Its name.
    pub name: String,
    /// Its file name as the program sees it.
    pub file_name: String,
    /// Place of the file.
    pub path: PathBuf,
}

/// Describes samples in a child process. `max_rows` of each are shown.
pub async fn profiles(
    client: &WorkerClient,
    samples: &[SampleFile],
    max_rows: usize,
) -> Result<Profiles, DataError> {
    if samples.is_empty() {
        return Ok(Profiles::default());
    }
    let describe = |sample: &SampleFile| ChildRequest::Describe {
        source: Source::path(&sample.path),
        name: sample.name.clone(),
        file_name: sample.file_name.clone(),
        options: DescribeOptions { max_rows },
    };
    // Joins last: the child searches them in what it has described before.
    let requests: Vec<ChildRequest> = samples.iter().map(describe).chain([ChildRequest::Join]).collect();
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
}

fn form(profile: &SampleProfile) -> Form {
    Form {
        encoding: profile.encoding,
        compression: profile.compression,
    }
}

fn sample_status(sample: &codegen_core::task::FrozenFile) -> SampleStatus {
    SampleStatus {
        name: sample.name.clone(),
        sha256: sample.sha256.clone(),
        bytes: i64::try_from(sample.bytes).unwrap_or(i64::MAX),
    }
}

fn columns_of(profile: &SampleProfile) -> Vec<(String, ColumnType)> {
    let columns = profile.tables().flat_map(TableProfile::all_columns);
    columns.map(|column| (column.name, column.type_)).collect()
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

#[cfg(test)]
mod tests;
