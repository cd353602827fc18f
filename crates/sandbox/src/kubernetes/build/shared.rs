//! Environments that tasks share: the one that a tag has, once the operator has signed it.

use k8s_openapi::api::batch::v1::Job;

use super::{Build, registries};
use crate::{BuiltEnvironment, Progressing, SandboxError};
use codegen_api::common::CacheMode;
use codegen_registry::{
    EnvironmentFinding, EnvironmentPlace, RegistryError, RegistryImage, SignedEnvironment,
};

/// Message about an image that has the tag of an environment and no signature.
const UNSIGNED: &str = "was not signed by this operator: somebody else pushed it, or its key was another one. It is not used; the environment is \
                        built anew and takes its tag";

impl Build<'_> {
    /// The image that the tag has, where the task may take it: one that this operator signed.
    pub(super) async fn found(&self) -> Result<Option<RegistryImage>, SandboxError> {
        // `Override` builds although there is one, and the tag of `Disable` is nobody else's.
        if self.sandbox.task.cache != CacheMode::Auto {
            return Ok(None);
        }
        let keys = self.sandbox.registries.signing().keys().await?;
        let found = self.target.registry.environment(self.tagged(), &keys).await;
        match found.map_err(|error| self.refused_by_registry(error))? {
            EnvironmentFinding::Signed(image) => Ok(Some(image)),
            EnvironmentFinding::Unsigned(digest) => {
                tracing::warn!(reference = self.reference(), digest, "{UNSIGNED}");
                Ok(None)
            }
            EnvironmentFinding::Absent => Ok(None),
        }
    }

    /// Reports whether others may take what is built.
    pub(super) fn is_shared(&self) -> bool {
        match self.sandbox.task.cache {
            CacheMode::Auto | CacheMode::Override => true,
            CacheMode::Disable => false,
        }
    }

    fn tagged(&self) -> EnvironmentPlace<'_> {
        EnvironmentPlace {
            repository: &self.target.repository,
            tag: &self.tag,
        }
    }

    fn refused_by_registry(&self, error: RegistryError) -> SandboxError {
        registries::failed(&self.reference(), &self.target.credentials(), error)
    }

    async fn ask(&self, reference: &str) -> Result<Option<RegistryImage>, SandboxError> {
        let answer = self.target.registry.image(reference).await;
        answer.map_err(|error| registries::failed(reference, &self.target.credentials(), error))
    }

    /// A digest counts once the registry has shown the image. What others may take is signed first, unless somebody was faster: then what
    /// its tag has by now is taken.
    pub(super) async fn pushed(
        &self,
        job: &Job,
        digest: &str,
        seconds: Option<f64>,
    ) -> Result<Progressing<BuiltEnvironment>, SandboxError> {
        let reference = format!("{}@{digest}", self.target.repository);
        let gone = || SandboxError::Lost {
            child: self.child(),
            reason: format!("the registry has no {reference} any more"),
        };
        if !self.is_shared() {
            let image = self.ask(&reference).await?.ok_or_else(gone)?;
            return Ok(self.take(image, self.owns(job), seconds));
        }
        // Somebody was faster with the same content: two images under one tag would take the digest from those who use the first.
        if let Some(image) = self.found().await? {
            return Ok(self.take(image, self.owns(job), seconds));
        }
        let keys = self.sandbox.registries.signing().keys().await?;
        let signed = self.target.registry.sign(self.tagged(), digest, &keys).await;
        let signed = signed.map_err(|error| self.refused_by_registry(error))?;
        let SignedEnvironment { image, replaced } = signed.ok_or_else(gone)?;
        let taken = self.take(image, self.owns(job), seconds);
        Ok(match (taken, replaced) {
            (Progressing::Done(built), Some(digest)) => Progressing::Done(BuiltEnvironment {
                remark: Some(format!(
                    "{}@{digest}, which had the tag {}, {UNSIGNED}",
                    self.target.repository, self.tag
                )),
                ..built
            }),
            (taken, _) => taken,
        })
    }
}

#[cfg(test)]
mod tests;
