//! Errors: why a registry did not do what it was asked, and whether asking again may help.

use codegen_core::stage::Category;

use super::failure::RequestFailure;
use super::layout::LayoutError;

/// A request to a registry that failed.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The reference is not one.
    #[error("{reference:?} is no image reference ({reason}); write registry/repository:tag")]
    Reference {
        /// As it was given.
        reference: String,
        /// Description of the fault.
        reason: String,
    },
    /// The settings of the client cannot be used.
    #[error("cannot set up the client for registries: {0}")]
    Setup(String),
    /// The layout is not what it says.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The operator's configuration does not name the repository.
    #[error(
        "{repository} is not in registries.allow of the operator's configuration: use a repository that is, or ask whoever runs the operator to add it"
    )]
    NotAllowed {
        /// Host and repository.
        repository: String,
    },
    /// No address is known for the host of the registry.
    #[error(
        "no address is known for the registry {registry}; check its name, and that the cluster's DNS knows it"
    )]
    UnknownHost {
        /// Host of the registry.
        registry: String,
    },
    /// The registry refused the credentials, or asks for some.
    #[error("{registry} refused {what}: {reason}; check the credentials for it and what they may do")]
    Refused {
        /// Host of the registry.
        registry: String,
        /// Description of what was asked.
        what: String,
        /// Answer of the registry.
        reason: String,
    },
    /// The registry cannot take the request as it is.
    #[error("{registry} rejected {what}: {reason}")]
    Rejected {
        /// Host of the registry.
        registry: String,
        /// Description of what was asked.
        what: String,
        /// Answer of the registry.
        reason: String,
    },
    /// The registry did not answer, or failed.
    #[error("{registry} failed at {what}: {reason}")]
    Unavailable {
        /// Host of the registry.
        registry: String,
        /// Description of what was asked.
        what: String,
        /// Account of what happened.
        reason: String,
    },
    /// An image that the registry has is not what it should be.
    #[error("the image {reference} {reason}")]
    Image {
        /// The image.
        reference: String,
        /// Description of the fault, and of what to do.
        reason: String,
    },
    /// A tag belongs to somebody else.
    #[error(
        "{reference} is the tag of an image that was not published by {owner}: choose another tag, or remove that one from the registry"
    )]
    Taken {
        /// The reference.
        reference: String,
        /// Owner, who may replace what it has published itself.
        owner: String,
    },
    /// Mismatch: the registry holds afterwards something else than was pushed.
    #[error(
        "{reference} has the digest {found:?} after {pushed} was pushed: someone else changed the tag at the same time"
    )]
    Overtaken {
        /// The reference.
        reference: String,
        /// Digest of what was pushed.
        pushed: String,
        /// Digest that is there.
        found: String,
    },
}

impl RegistryError {
    /// Returns the kind of failure: trying again helps against `Infrastructure` alone.
    #[must_use]
    pub const fn category(&self) -> Category {
        match self {
            Self::Reference { .. }
            | Self::NotAllowed { .. }
            | Self::UnknownHost { .. }
            | Self::Setup(_)
            | Self::Image { .. }
            | Self::Taken { .. }
            | Self::Refused { .. }
            | Self::Rejected { .. } => Category::Configuration,
            // A layout that is not what it says is made anew by another build.
            Self::Layout(_) | Self::Unavailable { .. } | Self::Overtaken { .. } => Category::Infrastructure,
        }
    }

    /// Reports whether the same request may succeed in a moment.
    pub(super) const fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable { .. })
    }

    /// Sorts an answer of `registry` to `what`.
    pub(super) fn of(registry: &str, what: &str, failure: &RequestFailure) -> Self {
        let (registry, what) = (registry.to_owned(), what.to_owned());
        let reason = failure.to_string();
        // A resolver that fails for now says nothing of the name.
        if reason.contains("dns error") && !reason.contains("Temporary failure") {
            return Self::UnknownHost { registry };
        }
        match failure.status() {
            Some(401 | 403) => Self::Refused {
                registry,
                what,
                reason,
            },
            // 408, 425 and 429 ask for patience; other answers below 500 stay the same.
            Some(code) if code < 500 && !matches!(code, 408 | 425 | 429) => Self::Rejected {
                registry,
                what,
                reason,
            },
            Some(_) | None => Self::Unavailable {
                registry,
                what,
                reason,
            },
        }
    }
}
