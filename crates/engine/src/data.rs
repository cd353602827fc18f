//! Interface to data that the engine needs: reading samples and outputs.

use std::collections::BTreeSet;
use std::future::Future;

use codegen_api::status::{ConstraintStatus, SampleStatus};
use codegen_core::cases::Forms;
use codegen_core::checks::ColumnCheck;
use codegen_core::reply::ConstraintsReply;
use codegen_core::run::OutputsRead;
use codegen_core::sandbox::OutputReport;
use codegen_core::task::Task;
use codegen_data::DataError;
use codegen_data::context::DataContext;
use codegen_data::joins::JoinProfile;

/// Reads samples and outputs, wherever that happens.
pub trait DataReader: Send + Sync {
    /// Describes every sample.
    fn describe(&self, task: &Task) -> impl Future<Output = Result<Described, DataError>> + Send;

    /// Turns the model's rows into checks bound to columns of samples and outputs.
    fn bind(
        &self,
        task: &Task,
        profiles: &[u8],
        reply: &ConstraintsReply,
    ) -> (Vec<ColumnCheck>, Vec<ConstraintStatus>);

    /// Names of the samples' columns that the model may know.
    fn columns(&self, task: &Task, profiles: &[u8]) -> BTreeSet<String>;

    /// Returns the forms in which the samples are written, so that the files of cases are written alike.
    fn forms(&self, profiles: &[u8]) -> Forms;

    /// Reads the outputs as their types and checks the constraints on their columns.
    fn outputs(
        &self,
        task: &Task,
        reported: &[OutputReport],
        checks: &[ColumnCheck],
    ) -> impl Future<Output = Result<OutputsRead, DataError>> + Send;
}

/// Samples, described.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Described {
    /// The data context as it goes into prompts; empty without samples.
    pub context: DataContext,
    /// The profiles as JSON, for schemas and constraints.
    pub profiles: Vec<u8>,
    /// Columns on which samples may be joined, as far as the task's exposure shows them.
    pub joins: Vec<JoinProfile>,
    /// Samples that were read.
    pub samples: Vec<SampleStatus>,
}
