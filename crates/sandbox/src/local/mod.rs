//! The local sandbox: virtual environments instead of images, bubblewrap instead of Pods.

mod bwrap;
mod cgroup;
mod filter;
mod inputs;
mod internet;
mod interpreter;
mod isolation;
mod runner;
pub mod system_packages;
mod venv;

use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;

use super::error::SandboxError;
use super::image::ImageSpec;
use super::{BuiltEnvironment, Progressing, Sandbox};
use codegen_core::sandbox::{Job, NetworkAccess, Report};
use codegen_egress::AllowedHost;

/// Variable that names the folder for environments, in place of the user's cache folder.
pub const CACHE_VARIABLE: &str = "CODEGEN_CACHE_DIR";

/// Runs jobs on this machine, isolated by bubblewrap.
#[derive(Clone, Debug)]
pub struct LocalSandbox {
    cache: PathBuf,
    /// True where an environment that is there is made anew.
    replaces: bool,
    /// Hosts that programs reach besides public addresses, where they reach these.
    opened: Vec<AllowedHost>,
}

impl LocalSandbox {
    /// A sandbox that stores its environments below `cache`. Nothing is created before the first build.
    #[must_use]
    pub fn new(cache: impl AsRef<Path>) -> Self {
        let cache = cache.as_ref();
        // Fails for an empty path alone, which the first build then refuses.
        Self {
            cache: std::path::absolute(cache).unwrap_or_else(|_| cache.to_path_buf()),
            replaces: false,
            opened: Vec::new(),
        }
    }

    /// A sandbox that stores its environments where `CODEGEN_CACHE_DIR` says, else in the user's cache folder.
    pub fn for_user() -> Result<Self, SandboxError> {
        user_cache().map(Self::new)
    }

    /// The same, which makes environments anew that are there, for itself and whoever comes after it.
    #[must_use]
    pub fn replacing(self) -> Self {
        Self {
            replaces: true,
            ..self
        }
    }

    /// The same, whose programs reach these hosts too where their task opens the internet.
    #[must_use]
    pub fn opening(self, hosts: &[AllowedHost]) -> Self {
        Self {
            opened: hosts.to_vec(),
            ..self
        }
    }

    /// The same with environments of its own, which nobody else finds.
    #[must_use]
    pub fn apart(self, whose: &str) -> Self {
        Self {
            cache: self.cache.join("apart").join(whose),
            ..self
        }
    }

    /// Refuse what could not build any environment, before something is paid for that needs one: a folder that cannot be written and,
    /// where `asks_index` and nothing has been built yet, an index that does not answer.
    pub async fn check_builds(&self, spec: &ImageSpec, asks_index: bool) -> Result<(), SandboxError> {
        venv::can_be_stored(&self.cache)?;
        if asks_index && !venv::has_any(&self.cache) {
            venv::index_answers(spec).await?;
        }
        Ok(())
    }

    /// Run a job whose programs write their outputs to this folder, which is empty and the job's alone. What they leave there may be of
    /// any kind: no link in it is to be followed.
    pub async fn run_in(&self, image: &str, job: &Job, outputs: &Path) -> Result<Report, SandboxError> {
        runner::run(&self.cache, image, job, Some(outputs), &self.opened).await
    }

    /// Refuse what this machine cannot open to programs, before anything is paid for that needs it.
    pub fn check_network(access: &NetworkAccess) -> Result<(), SandboxError> {
        match access {
            NetworkAccess::Denied => Ok(()),
            NetworkAccess::Internet => internet::tools().map(drop),
            NetworkAccess::List(_) => Err(SandboxError::NetworkList),
        }
    }

    /// Refuse a machine that cannot isolate, as far as this can be seen without starting anything.
    pub fn probe(&self) -> Result<(), SandboxError> {
        isolation::find_bubblewrap().map(drop)
    }
}

/// The folder of what is kept for this user: where `CODEGEN_CACHE_DIR` says, else in the user's cache folder.
pub fn user_cache() -> Result<PathBuf, SandboxError> {
    if let Some(folder) = std::env::var_os(CACHE_VARIABLE).filter(|folder| !folder.is_empty()) {
        return Ok(folder.into());
    }
    let strategy = etcetera::choose_base_strategy().map_err(|_| SandboxError::IsolationUnavailable {
        cause: "the user has no home folder to cache environments in".into(),
        remedy: format!("set {CACHE_VARIABLE} to a folder"),
    })?;
    Ok(strategy.cache_dir().join("codegen-operator"))
}

impl Sandbox for LocalSandbox {
    async fn build(
        &self,
        spec: &ImageSpec,
        _repeat: u32,
    ) -> Result<Progressing<BuiltEnvironment>, SandboxError> {
        self.probe()?;
        venv::find_or_build(&self.cache, spec, self.replaces)
            .await
            .map(Progressing::Done)
    }

    async fn run(&self, image: &str, job: &Job, _repeat: u32) -> Result<Progressing<Report>, SandboxError> {
        runner::run(&self.cache, image, job, None, &self.opened)
            .await
            .map(Progressing::Done)
    }
}
