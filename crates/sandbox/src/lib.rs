//! Sandboxes: build an environment, run a job in it. One trait for laptop and cluster.

pub mod error;
mod harness;
pub mod image;
mod index;
mod installation;
pub mod kubernetes;
pub mod local;
pub mod packages;
pub mod publication;

use std::future::Future;

pub use harness::HASH_SEED;

pub use error::{PackageProblem, PackageProblemKind, SandboxError};
pub use image::ImageSpec;
pub use installation::judge::{PACKAGE_LAYER, layer as judge_layer};
pub use kubernetes::KubernetesSandbox;
pub use local::LocalSandbox;
pub use publication::{Publication, Published};

use codegen_core::lock::Lock;
use codegen_core::sandbox::{Job, Report};
use codegen_core::stored_outputs::{OutputsAsked, RunOnDisk};

/// The state of something that may take longer than one step of the engine.
#[derive(Clone, Debug, PartialEq)]
pub enum Progressing<T> {
    /// It goes on; ask again when something changed.
    Pending,
    /// It goes on, and no watch will report a change: ask again in a moment.
    Unseen,
    /// It waits for room that others take: which limit, and that it goes on by itself.
    Queued(String),
    /// It is done.
    Done(T),
}

impl<T> Progressing<T> {
    /// Returns the result; where it is not done, the state of anything that needs it.
    pub fn done<U>(self) -> Result<T, Progressing<U>> {
        match self {
            Self::Done(done) => Ok(done),
            Self::Pending => Err(Progressing::Pending),
            Self::Unseen => Err(Progressing::Unseen),
            Self::Queued(why) => Err(Progressing::Queued(why)),
        }
    }
}

/// An environment that is ready to run jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct BuiltEnvironment {
    /// Name of the environment as `Sandbox::run` takes it: an image reference in a cluster, the id of an environment locally.
    pub image: String,
    /// Installed distributions, sorted (`pandas==2.3.1`).
    pub resolved: Vec<String>,
    /// The same with the digests of the archives, where all have one.
    pub lock: Option<Lock>,
    /// The interpreter's version; says so when it is not the one that was asked for (`3.11.2 (3.12 was asked for)`).
    pub python: String,
    /// True where it was made for this call; false when it was there.
    pub fresh: bool,
    /// Seconds that making it took, where that is longer than the call that found it done.
    pub seconds: Option<f64>,
    /// Remark for people on how it came about.
    pub remark: Option<String>,
}

/// Sandbox: a place in which untrusted code runs.
pub trait Sandbox: Send + Sync {
    /// Build an environment, or find the one that is there. Asking twice builds once. `repeat` counts the builds of this
    /// environment that were lost, so that another one is not taken for them.
    fn build(
        &self,
        spec: &ImageSpec,
        repeat: u32,
    ) -> impl Future<Output = Result<Progressing<BuiltEnvironment>, SandboxError>> + Send;

    /// Run a job in an environment. `repeat` counts the executions of this job before, so that a repeat is not taken for
    /// the execution that it repeats. A local sandbox ends the job when the future is dropped.
    fn run(
        &self,
        image: &str,
        job: &Job,
        repeat: u32,
    ) -> impl Future<Output = Result<Progressing<Report>, SandboxError>> + Send;

    /// Run a job of one program whose outputs go to a disk, and check there what `asked` names; otherwise as [`Self::run`]. Small outputs
    /// are in the report as well.
    fn run_on_disk(
        &self,
        _image: &str,
        _job: &Job,
        _asked: &OutputsAsked,
        _repeat: u32,
    ) -> impl Future<Output = Result<Progressing<RunOnDisk>, SandboxError>> + Send {
        async {
            Err(SandboxError::Refused {
                object: "the outputs of the rehearsal".to_owned(),
                reason: "they are larger than what is brought back, and this sandbox has no disk for them"
                    .to_owned(),
                remedy: "give smaller samples".to_owned(),
            })
        }
    }

    /// Push a finished program as an image. Doing it twice pushes once.
    fn publish(
        &self,
        _publication: &Publication,
    ) -> impl Future<Output = Result<Published, SandboxError>> + Send {
        async {
            Err(SandboxError::Refused {
                object: "spec.publish".to_owned(),
                reason: "images are published in a cluster alone".to_owned(),
                remedy: "leave it out here".to_owned(),
            })
        }
    }
}
