//! Sources of content, whichever field names them.

use super::common::{ClaimPath, ConfigMapKeyRef, LocalRef};
use super::run::RunSource;
use super::values::{AcceptanceTests, InputSource, Sample};

/// Source of the content of a sample, of an input or of the acceptance tests. The kinds that a field takes are in its schema; an output of
/// another run is a source of its own ([`RunSource::run_output`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentSource<'a> {
    /// The text stands in the manifest.
    Inline(&'a str),
    /// One key of a ConfigMap, as a file.
    ConfigMapKey(&'a ConfigMapKeyRef),
    /// All keys of a ConfigMap, as a folder.
    ConfigMap(&'a LocalRef),
    /// A download.
    Url(&'a str),
    /// A file or folder on a PersistentVolumeClaim.
    Claim(&'a ClaimPath),
}

impl<'a> ContentSource<'a> {
    /// The ConfigMap that it refers to.
    #[must_use]
    pub fn config_map(self) -> Option<&'a str> {
        match self {
            Self::ConfigMapKey(reference) => Some(&reference.name),
            Self::ConfigMap(reference) => Some(&reference.name),
            Self::Inline(_) | Self::Url(_) | Self::Claim(_) => None,
        }
    }
}

impl Sample {
    /// Returns the source of its file; `None` where the manifest leaves it open.
    #[must_use]
    pub fn source(&self) -> Option<ContentSource<'_>> {
        first(
            self.inline.as_deref(),
            self.config_map_key_ref.as_ref(),
            None,
            self.url.as_deref(),
            self.persistent_volume_claim.as_ref(),
        )
    }
}

impl InputSource {
    /// Returns the source of the content.
    #[must_use]
    pub fn content(&self) -> Option<ContentSource<'_>> {
        first(
            None,
            self.config_map_key_ref.as_ref(),
            self.config_map_ref.as_ref(),
            None,
            self.persistent_volume_claim.as_ref(),
        )
    }
}

impl RunSource {
    /// Returns the source of the content; `None` where it is the output of another run.
    #[must_use]
    pub fn content(&self) -> Option<ContentSource<'_>> {
        first(
            self.inline.as_deref(),
            self.config_map_key_ref.as_ref(),
            self.config_map_ref.as_ref(),
            self.url.as_deref(),
            self.persistent_volume_claim.as_ref(),
        )
    }
}

impl AcceptanceTests {
    /// Returns the source of the test file.
    #[must_use]
    pub fn source(&self) -> Option<ContentSource<'_>> {
        first(
            self.inline.as_deref(),
            self.config_map_key_ref.as_ref(),
            None,
            None,
            None,
        )
    }
}

/// The one that is there: the schema lets no more than one through.
fn first<'a>(
    inline: Option<&'a str>,
    key: Option<&'a ConfigMapKeyRef>,
    config_map: Option<&'a LocalRef>,
    url: Option<&'a str>,
    claim: Option<&'a ClaimPath>,
) -> Option<ContentSource<'a>> {
    inline
        .map(ContentSource::Inline)
        .or_else(|| key.map(ContentSource::ConfigMapKey))
        .or_else(|| config_map.map(ContentSource::ConfigMap))
        .or_else(|| url.map(ContentSource::Url))
        .or_else(|| claim.map(ContentSource::Claim))
}
