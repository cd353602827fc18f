//! The environment of a finished program: had once, for however many runs.

use super::error::LocalRunError;
use super::finished::FinishedTask;
use codegen_sandbox::{BuiltEnvironment, ImageSpec, LocalSandbox, Progressing, Sandbox as _};

impl FinishedTask {
    /// The environment that the tests ran in, made again where it is gone. Runs that need it at once wait for the first of them.
    pub(super) async fn environment(
        &self,
        sandbox: &LocalSandbox,
        doing: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<&BuiltEnvironment, LocalRunError> {
        let build = || {
            doing("the environment with the packages of the program");
            self.build(sandbox)
        };
        self.environment.get_or_try_init(build).await
    }

    async fn build(&self, sandbox: &LocalSandbox) -> Result<BuiltEnvironment, LocalRunError> {
        let task = &self.task;
        let mut spec = ImageSpec::new(task.language, &task.image, &self.built.packages).under(&task.packages);
        spec.lock = self
            .lock
            .clone()
            // A list for another environment says nothing about this one.
            .filter(|(environment, _)| *environment == spec.content_hash())
            .map(|(_, lock)| lock);
        match sandbox.build(&spec, 0).await? {
            Progressing::Done(built) => Ok(built),
            Progressing::Pending | Progressing::Unseen | Progressing::Queued(_) => Err(
                LocalRunError::Stopped("the environment is not ready: run again".to_owned()),
            ),
        }
    }

    /// Other versions than the tests passed with, where the environment had to be made again.
    #[must_use]
    pub fn drift(&self) -> Option<String> {
        let built = self.environment.get()?;
        let before = &self.built.resolved;
        if !built.fresh || built.resolved == *before {
            return None;
        }
        let new: Vec<&str> = built
            .resolved
            .iter()
            .filter(|package| !before.contains(package))
            .map(String::as_str)
            .collect();
        Some(format!(
            "the environment was made again and has other versions than the tests passed with: {}",
            new.join(", ")
        ))
    }
}
