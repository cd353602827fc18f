//! Options of the command line about the tasks of a command.

use std::path::PathBuf;
use std::time::Duration;

use super::approval::Approvals;
use super::commands::Commands;
use super::trust::Trust;
use codegen_api::model::Provider;
use codegen_core::retry::Retry;
use codegen_egress::AllowedHost;
use codegen_sources::GivenFiles;

/// Options of the command line about every task of a command.
#[derive(Clone, Debug, Default)]
pub struct TaskOptions {
    /// Files in the place of what the manifest refers to.
    pub given: GivenFiles,
    /// Fields in the place of `spec.model`.
    pub model: ModelOverrides,
    /// Recorded replies in the place of the model.
    pub replay: Option<PathBuf>,
    /// True where a changed request is an error when replaying.
    pub replay_strict: bool,
    /// Time that one model call has, all its tries together; `None` for the default.
    pub model_timeout: Option<Duration>,
    /// Use of what an earlier command left.
    pub earlier: EarlierResult,
    /// Decisions at gates, by a person or by the command line.
    pub approvals: Approvals,
    /// Permissions to start servers that are programs of this machine.
    pub commands: Commands,
    /// Hosts that tools, downloads and programs reach although they are not public.
    pub allowed_hosts: Vec<AllowedHost>,
    /// The say on records that were made elsewhere.
    pub trust: Trust,
    /// Another try of a task that has ended; `None` where nobody asks for one.
    pub retry: Option<Retry>,
    /// Further tries at each end, in order: those of the task that is replayed.
    pub retries: Vec<Retry>,
    /// True where the folders beside that of the results are of tasks too, whose results may be taken over.
    pub has_neighbours: bool,
}

/// Use of what an earlier command left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EarlierResult {
    /// It is gone on from. An answer that is there is asked for anew.
    #[default]
    GoesOn,
    /// It is moved aside.
    SetAside,
    /// An answer that is there is printed.
    Printed,
}

impl TaskOptions {
    /// Reports whether the command begins anew.
    #[must_use]
    pub fn starts_over(&self) -> bool {
        self.earlier == EarlierResult::SetAside
    }
}

impl EarlierResult {
    /// Use by the switch `--fresh`.
    #[must_use]
    pub const fn of(is_fresh: bool) -> Self {
        if is_fresh { Self::SetAside } else { Self::GoesOn }
    }
}

/// Fields in the place of `spec.model`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelOverrides {
    /// Base address.
    pub base_url: Option<String>,
    /// Name.
    pub name: Option<String>,
    /// Protocol; drops what belongs to the manifest's one: address, key, headers, query and parameters.
    pub provider: Option<Provider>,
    /// Variable with the key.
    pub key_variable: Option<String>,
}
