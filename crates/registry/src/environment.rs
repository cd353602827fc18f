//! Environments in a registry: whoever may push to it may give their tags to anything, so that only what an operator signed is one.

use super::client::{Registry, RegistryImage};
use super::error::RegistryError;
use super::installed;
use super::layout::{MANIFEST_TYPES, OCI_MANIFEST};
use super::manifest::Small;
use super::signature::SigningKeys;
use super::target::PushTarget;

/// Place of an environment.
#[derive(Clone, Copy, Debug)]
pub struct EnvironmentPlace<'a> {
    /// Its repository.
    pub repository: &'a str,
    /// Its tag, which says what it holds.
    pub tag: &'a str,
}

/// Finding at the tag of an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnvironmentFinding {
    /// Nothing.
    Absent,
    /// An image that no key here signed for this tag: its digest.
    Unsigned(String),
    /// The environment.
    Signed(RegistryImage),
}

/// An environment that was signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedEnvironment {
    /// It.
    pub image: RegistryImage,
    /// Digest of an image without a signature that had its tag before.
    pub replaced: Option<String>,
}

impl EnvironmentPlace<'_> {
    fn reference(&self) -> String {
        format!("{}:{}", self.repository, self.tag)
    }

    fn at(&self, digest: &str) -> String {
        format!("{}@{digest}", self.repository)
    }
}

impl Registry {
    /// Reads what the tag has. One request, once the registry has been spoken to.
    pub async fn environment(
        &self,
        place: EnvironmentPlace<'_>,
        keys: &SigningKeys,
    ) -> Result<EnvironmentFinding, RegistryError> {
        let target = self.target(&place.reference())?;
        self.environment_at(&target, place, keys).await
    }

    async fn environment_at(
        &self,
        target: &PushTarget,
        place: EnvironmentPlace<'_>,
        keys: &SigningKeys,
    ) -> Result<EnvironmentFinding, RegistryError> {
        let Some((manifest, digest)) = self.manifest(target, &MANIFEST_TYPES).await? else {
            return Ok(EnvironmentFinding::Absent);
        };
        // The signature is over repository and tag as well: a signed manifest that somebody copies to another tag is not accepted there.
        if !keys.verify(&manifest, place.repository, place.tag) {
            return Ok(EnvironmentFinding::Unsigned(digest));
        }
        Ok(EnvironmentFinding::Signed(RegistryImage {
            digest,
            installed: installed::of_manifest(&manifest),
        }))
    }

    /// Signs the image of this digest, which the caller knows to be what belongs there, and gives it the tag; `None` where the registry
    /// does not have it. What had the tag before keeps one of its own, which no environment has: it may be that of another operator.
    pub async fn sign(
        &self,
        place: EnvironmentPlace<'_>,
        digest: &str,
        keys: &SigningKeys,
    ) -> Result<Option<SignedEnvironment>, RegistryError> {
        let pushed = self.target(&place.at(digest))?;
        let Some((manifest, _)) = self.manifest(&pushed, &MANIFEST_TYPES).await? else {
            return Ok(None);
        };
        let wrong = || RegistryError::Image {
            reference: place.at(digest),
            reason: "is none that could be signed: its manifest is of another form".to_owned(),
        };
        let signed = keys
            .sign(&manifest, place.repository, place.tag)
            .ok_or_else(wrong)?;
        let signed = Small::of(signed);
        let tagged = self.target(&place.reference())?;
        let image = RegistryImage {
            digest: signed.digest.clone(),
            installed: installed::of_manifest(&signed.bytes),
        };
        let replaced = match self.environment_at(&tagged, place, keys).await? {
            EnvironmentFinding::Signed(present) if present.digest == signed.digest => {
                return Ok(Some(SignedEnvironment {
                    image,
                    replaced: None,
                }));
            }
            EnvironmentFinding::Unsigned(digest) => Some(digest),
            EnvironmentFinding::Signed(_) | EnvironmentFinding::Absent => None,
        };
        self.authenticate_for_push(&tagged).await?;
        self.tag_present_image(&tagged, &signed.digest).await?;
        self.put_manifest(&tagged, OCI_MANIFEST, &signed.bytes).await?;
        // By its digest: somebody may move the tag at any time, which the next read of it shows.
        let there = self.target(&place.at(&signed.digest))?;
        if self.find(&there).await?.is_none() {
            return Err(RegistryError::Overtaken {
                reference: place.reference(),
                pushed: signed.digest,
                found: String::new(),
            });
        }
        Ok(Some(SignedEnvironment { image, replaced }))
    }
}
