//! Builds the image, alone or beside a model call.

use futures::future::join;

use crate::ledger::Store;
use crate::model::Model;
use crate::pipeline::advance::{Outcome, advance};
use crate::pipeline::call::CallKind;
use crate::pipeline::package_policy::doubts;
use crate::pipeline::progress::{BuildFault, BuiltImage, Progress};
use crate::pipeline::sandbox::Packages;
use crate::pipeline::stage::{Category, Stop, StopReason};
use crate::sandbox::{ImageSpec, Progressing, Sandbox, SandboxError};

use super::data::DataReader;
use super::event::Event;
use super::{Engine, EngineError, Performed};

impl<M: Model, S: Store, B: Sandbox, D: DataReader> Engine<'_, M, S, B, D> {
    /// Builds the image.
    pub(super) async fn build(&self, progress: &Progress) -> Result<Performed, EngineError> {
        let wanted = progress.build.wanted.clone();
        let task = self.task;
        let mut spec = ImageSpec::new(task.language, &task.image, &wanted).under(&task.packages);
        if let Some(before) = &progress.build.built {
            spec = spec.after(&task.image, &before.packages);
        }
        let packages = [spec.packages.pip.clone(), spec.packages.apt.clone()].concat();
        self.tell(&Event::BuildStarted { packages });
        for message in doubts(&wanted) {
            self.tell(&Event::PackageDoubtful { message });
        }
        let started = (self.clock)();
        let built = match self.sandbox.build(&spec, progress.lost_children).await {
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
        // What packages bring along is known only now.
        if let Some(denial) = task.packages.denial_of_installed(&built.resolved) {
            return Ok(Performed::Done(Outcome::Stopped(denial.stop())));
        }
        self.tell(&Event::BuildFinished {
            python: built.python.clone(),
            packages: built.resolved.len(),
            seconds: built
                .seconds
                .unwrap_or_else(|| (self.clock)().duration_since(started).as_secs_f64()),
            cached: !built.fresh,
        });
        let image = BuiltImage {
            image: built.image,
            packages: wanted,
            resolved: built.resolved,
            python: built.python,
        };
        Ok(Performed::Done(Outcome::ImageReady {
            built: image,
            fresh: built.fresh,
        }))
    }

    fn build_failed(&self, progress: &Progress, wanted: Packages, error: &SandboxError) -> Outcome {
        match error.category() {
            Category::Environment => {
                let message = self.surroundings.redactor.redact(&error.to_string());
                self.tell(&Event::BuildFailed {
                    message: message.clone(),
                });
                Outcome::BuildFailed {
                    fault: BuildFault {
                        packages: wanted,
                        message,
                    },
                    is_tried: !matches!(error, SandboxError::Packages(problem) if problem.is_foreseen),
                }
            }
            Category::Infrastructure | Category::Configuration | Category::Logic | Category::TestError => {
                self.sandbox_failed(progress, error)
            }
        }
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
        let (called, built) = join(call, self.build(&progress)).await;
        let (progress, outcome) = called?;
        let progress = match built? {
            Performed::Done(built @ (Outcome::ImageReady { .. } | Outcome::BuildFailed { .. })) => {
                advance(self.task, &progress, built, (self.clock)())?
            }
            _ => progress,
        };
        Ok((progress, Performed::Done(outcome)))
    }
}
