//! Errors of a sandbox, each with the party that must act.

use std::path::{Path, PathBuf};

use thiserror::Error;

use codegen_core::machine::LostChild;
use codegen_core::stage::Category;

/// A sandbox that could not be built or run. A program that fails is no error: the report says so.
#[derive(Error, Debug)]
pub enum SandboxError {
    /// This machine cannot isolate.
    #[error("this machine cannot isolate untrusted code: {cause}; {remedy}")]
    IsolationUnavailable {
        /// Name of the thing that is missing or forbidden.
        cause: String,
        /// The one thing to do.
        remedy: String,
    },
    /// The job asks for a list of addresses, which a local sandbox cannot enforce.
    #[error(
        "sandbox.network.egress `List` cannot be enforced by a local sandbox; use `Denied` or `Internet`, or run the task in a cluster"
    )]
    NetworkList,
    /// System packages that a local environment needs are not installed.
    #[error("system packages are not installed: {}; run `{command}`", .names.join(", "))]
    SystemPackagesMissing {
        /// Their names.
        names: Vec<String>,
        /// The line to run.
        command: String,
    },
    /// An input cannot be mounted.
    #[error("input `{name}` cannot be given to the sandbox: {reason}")]
    Input {
        /// Its name.
        name: String,
        /// Reason of the refusal.
        reason: String,
    },
    /// The environment that a job names is not there.
    #[error("the environment `{0}` is not built, or its interpreter is gone; build it again")]
    EnvironmentMissing(String),
    /// The package set cannot be installed.
    #[error(transparent)]
    Packages(PackageProblem),
    /// A rule on releases forbids a package: which, and what to do.
    #[error("{0}")]
    PackageDenied(String),
    /// The package index does not answer.
    #[error("the package index does not answer: {0}; try again, or set image.indexURL")]
    IndexUnreachable(String),
    /// Nothing can be stored in the folder for environments.
    #[error("environments cannot be stored in {}: {source}; let your user write there, or set CODEGEN_CACHE_DIR to another folder", .folder.display())]
    Cache {
        /// The folder.
        folder: PathBuf,
        /// Reason of the failure.
        source: std::io::Error,
    },
    /// The disk is full.
    #[error("no space is left while {0}; free some and run again")]
    DiskFull(String),
    /// The operating system refused something.
    #[error("failed to {action}")]
    Io {
        /// Action that was tried, and its object.
        action: String,
        /// Error of the operating system.
        #[source]
        source: std::io::Error,
    },
    /// The sandbox ended without a report.
    #[error("the sandbox ended without a report: {0}")]
    NoReport(String),
    /// Loss of a run or a build, through no fault of what it ran: its node, an eviction, somebody's deletion.
    #[error("{child} is lost: {reason}; it is tried again")]
    Lost {
        /// The object (`Pod team-a/penguins-7d0c1`).
        child: String,
        /// Description of the event.
        reason: String,
    },
    /// The cluster refuses, and goes on refusing until somebody changes something.
    #[error("{object}: {reason}; {remedy}")]
    Refused {
        /// The object (`Pod team-a/penguins-7d0c1`).
        object: String,
        /// Message of the cluster.
        reason: String,
        /// Setting to change.
        remedy: String,
    },
    /// The cluster does not enforce its network policies.
    #[error(
        "the cluster does not enforce NetworkPolicies: {address} answers from inside a sandbox, so nothing was run; install a network plugin that enforces them, or close that address"
    )]
    NotIsolated {
        /// The address that answered.
        address: String,
    },
    /// The API server or the registry does not answer as it should.
    #[error("failed to {action}")]
    Cluster {
        /// Action that was tried, and its object.
        action: String,
        /// Error that it ended with.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl SandboxError {
    /// Returns the party that must act, where no other packages help ([`Packages`](Self::Packages)).
    #[must_use]
    pub const fn category(&self) -> Category {
        // What somebody has to change is `Configuration`: a task then waits for that change and does not repeat a step that cannot succeed.
        match self {
            Self::IsolationUnavailable { .. }
            | Self::NetworkList
            | Self::SystemPackagesMissing { .. }
            | Self::Refused { .. }
            | Self::NotIsolated { .. }
            | Self::PackageDenied(_)
            | Self::Cache { .. }
            | Self::Input { .. } => Category::Configuration,
            Self::Packages(_)
            | Self::EnvironmentMissing(_)
            | Self::IndexUnreachable(_)
            | Self::DiskFull(_)
            | Self::Io { .. }
            | Self::Cluster { .. }
            | Self::Lost { .. }
            | Self::NoReport(_) => Category::Infrastructure,
        }
    }

    /// End of the child that was asked about, if it will never answer, so that only another one can.
    #[must_use]
    pub const fn lost_child(&self) -> Option<LostChild> {
        // A repeat gets another name, so it is asked for only where the child itself is beyond hope; an answer that may still come is
        // waited for.
        match self {
            Self::Lost { .. } => Some(LostChild::Gone),
            Self::NoReport(_) => Some(LostChild::Silent),
            _ => None,
        }
    }

    /// Tells if only another child can answer.
    #[must_use]
    pub const fn needs_another_child(&self) -> bool {
        self.lost_child().is_some()
    }

    /// An error of the operating system about a path.
    pub fn io(action: &str, path: &Path) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let action = format!("{action} {}", path.display());
        move |source| {
            // A full disk has a remedy of its own, and the path that it happens at is a matter of chance.
            if source.kind() == std::io::ErrorKind::StorageFull {
                Self::DiskFull(format!("trying to {action}"))
            } else {
                Self::Io { action, source }
            }
        }
    }
}

/// A package set that cannot be installed.
#[derive(Error, Clone, Debug, PartialEq, Eq)]
#[error("{manager} cannot install {}: {}", if .names.is_empty() { "the packages".to_owned() } else { .names.join(", ") }, .kind.describe(.manager))]
pub struct PackageProblem {
    /// `pip` or `apt`.
    pub manager: &'static str,
    /// The packages at fault, as far as the installer named them.
    pub names: Vec<String>,
    /// Description of the problem.
    pub kind: PackageProblemKind,
    /// The end of what the installer said.
    pub detail: String,
    /// True where it was found before anything was installed.
    pub is_foreseen: bool,
}

/// Kind of problem with a package set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackageProblemKind {
    /// No package of that name, or none with a wheel for this interpreter.
    NotFound,
    /// The package exists, but not in that version.
    NoSuchVersion,
    /// Two requirements exclude each other.
    Conflict,
    /// It is no valid requirement.
    InvalidName,
    /// Anything else the installer stumbled over.
    Other,
}

impl PackageProblemKind {
    pub(super) fn describe(self, manager: &str) -> &'static str {
        match self {
            Self::NotFound if manager == "apt" => "the base image's distribution has no package of that name",
            Self::NoSuchVersion if manager == "apt" => "the base image's distribution has no such version",
            Self::NotFound => "the index has no wheel of that name for this interpreter",
            Self::NoSuchVersion => "the index has no such version for this interpreter",
            Self::Conflict => "the requirements exclude each other",
            Self::InvalidName => "it is not a valid requirement",
            Self::Other => "the installer failed",
        }
    }
}
