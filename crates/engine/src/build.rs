//! Builds the image, alone or beside a model call.

use futures::future::join;

use codegen_api::common::CacheMode;
use codegen_core::call::CallKind;
use codegen_core::digest::sha256_hex;
use codegen_core::lock::Lock;
use codegen_core::machine::{BuildFailed, ImageReady, Outcome, advance};
use codegen_core::package_policy::{doubts, unlisted};
use codegen_core::progress::{BuildFault, BuiltImage, Progress, RecordedLock};
use codegen_core::sandbox::Packages;
use codegen_core::stage::{Category, Stop, StopReason};
use codegen_ledger::Store;
use codegen_model::Model;
use codegen_sandbox::{BuiltEnvironment, ImageSpec, Progressing, Sandbox, SandboxError};

use super::data::DataReader;
use super::event::Event;
use super::{Engine, EngineError, Performed};

impl<M: Model, S: Store<Progress = Progress>, B: Sandbox, D: DataReader> Engine<'_, M, S, B, D> {
    /// Builds the image.
    pub(super) async fn build(&self, progress: &Progress) -> Result<Performed, EngineError> {
        let wanted = progress.build.wanted.clone();
        let task = self.task;
        let mut spec = ImageSpec::new(task.language, &task.image, &wanted).under(&task.packages);
        // Only reads, up to the build.
        spec.lock = self.lock(progress, &spec).await?;
        let packages = [spec.packages.pip.clone(), spec.packages.apt.clone()].concat();
        self.emit(&Event::BuildStarted { packages });
        for message in doubts(&wanted) {
            self.emit(&Event::PackageDoubtful { message });
        }
        let started = (self.clock)();
        let built = match self.sandbox.build(&spec, progress.unanswered_children()).await {
            Ok(Progressing::Pending) => return Ok(Performed::Pending),
            Ok(Progressing::Unseen) => return Ok(Performed::Unseen),
            Ok(Progressing::Queued(why)) => return Ok(Performed::Queued(why)),
            Ok(Progressing::Done(built)) => built,
            Err(SandboxError::PackageDenied(message)) => {
                let reason = StopReason::PolicyDenied;
                return Ok(Performed::Done(Outcome::Stopped(Stop { reason, message })));
            }
            Err(error) => return Ok(Performed::Done(self.build_failed(progress, wanted, &error))),
        };
        // Only decides.
        if let Some(refused) = self.check_installed(progress, &built) {
            return Ok(Performed::Done(refused));
        }
        self.emit(&Event::BuildFinished {
            python: built.python.clone(),
            packages: built.resolved.len(),
            seconds: built
                .seconds
                .unwrap_or_else(|| (self.clock)().duration_since(started).as_secs_f64()),
            cached: !built.fresh,
        });
        let lock = match &built.lock {
            Some(lock) => Some(self.record_lock(&spec, lock).await?),
            None => None,
        };
        let image = BuiltImage {
            image: built.image,
            packages: wanted,
            resolved: built.resolved,
            python: built.python,
            min_release_age_days: spec.min_release_age_days,
        };
        Ok(Performed::Done(Outcome::ImageReady(ImageReady {
            built: image,
            lock,
            fresh: built.fresh,
        })))
    }

    /// Says what is doubtful of an image, and what follows where the rules on packages do not allow it: what packages bring along
    /// is known only when they are installed.
    fn check_installed(&self, progress: &Progress, built: &BuiltEnvironment) -> Option<Outcome> {
        let rules = &self.task.packages;
        if let Some(message) = built.remark.clone() {
            self.emit(&Event::ImageReplaced { message });
        }
        let unlisted = unlisted(self.task, &built.image, &built.resolved);
        if let Some(why) = unlisted.as_ref().filter(|_| rules.judges_installed()) {
            let message = format!("a rule on packages cannot be checked: {why}");
            return Some(self.blocked(progress, Category::Configuration, &message));
        }
        if let Some(message) = unlisted {
            self.emit(&Event::PackageDoubtful { message });
        }
        let denial = rules.denial_of_installed(&built.resolved)?;
        Some(Outcome::Stopped(denial.stop()))
    }

    /// Returns the lock of the environment when it was made before, unless it is to be made of the packages that the index has now.
    async fn lock(&self, progress: &Progress, spec: &ImageSpec) -> Result<Option<Lock>, EngineError> {
        let recorded = progress.build.lock.as_ref();
        let is_asked = |lock: &&RecordedLock| lock.environment == spec.content_hash();
        match recorded.filter(is_asked) {
            // Who overrides takes what the index has now.
            Some(lock) if self.task.cache != CacheMode::Override => {
                let text = self.text(Some(&lock.document)).await?;
                Ok(Lock::parse(&text).filter(Lock::is_complete))
            }
            _ => Ok(None),
        }
    }

    async fn record_lock(&self, spec: &ImageSpec, lock: &Lock) -> Result<RecordedLock, EngineError> {
        let text = lock.to_string();
        // Named by its content: the list of another environment of the run is another document.
        let name = format!("documents/packages-{}.txt", &sha256_hex(text.as_bytes())[..16]);
        Ok(RecordedLock {
            environment: spec.content_hash(),
            document: self.put(name, text.as_bytes()).await?,
        })
    }

    fn build_failed(&self, progress: &Progress, wanted: Packages, error: &SandboxError) -> Outcome {
        let SandboxError::Packages(problem) = error else {
            // Whatever is not about packages is waited for, and takes no attempt from the task.
            return self.sandbox_failed(progress, error);
        };
        let message = self.surroundings.redactor.redact(&error.to_string());
        self.emit(&Event::BuildFailed {
            message: message.clone(),
        });
        Outcome::BuildFailed(BuildFailed {
            fault: BuildFault {
                packages: wanted,
                message,
            },
            is_tried: !problem.is_foreseen,
        })
    }

    /// Asks for the suite while the image builds. Both come to one write: a crash before it finds the reply in the ledger and
    /// the image by its hash.
    pub(super) async fn call_beside_build(
        &self,
        progress: Progress,
        kind: CallKind,
    ) -> Result<(Progress, Performed), EngineError> {
        let call = async {
            self.in_call.send_replace(true);
            let called = self.call(progress.clone(), kind).await;
            self.in_call.send_replace(false);
            called
        };
        // Both are awaited, also where one has failed: a call in flight is paid for.
        let (called, built) = join(call, self.build(&progress)).await;
        // Errors of the call first: the image is found by its hash in any case.
        let (progress, mut outcome) = called?;
        let progress = match built? {
            Performed::Done(built @ (Outcome::ImageReady(_) | Outcome::BuildFailed(_))) => {
                // The time of the build counts, whatever became of the call.
                if let Outcome::Blocked(blocked) = &mut outcome {
                    blocked.was_idle = false;
                }
                advance(self.task, &progress, built, (self.clock)())?
            }
            // Any other end of the build is met again by the step that builds.
            _ => progress,
        };
        Ok((progress, Performed::Done(outcome)))
    }
}
