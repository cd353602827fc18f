//! Why a registry did not do what it was asked, and whether asking again may help.

use oci_client::errors::{OciDistributionError, OciErrorCode};

use crate::pipeline::stage::Category;

use super::layout::LayoutError;

/// A request to a registry that failed.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The reference is not one.
    #[error("{reference:?} is no image reference ({reason}); write registry/repository:tag")]
    Reference {
        /// As it was given.
        reference: String,
        /// What is wrong with it.
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
        /// What was asked.
        what: String,
        /// What it said.
        reason: String,
    },
    /// The registry cannot take the request as it is.
    #[error("{registry} rejected {what}: {reason}")]
    Rejected {
        /// Host of the registry.
        registry: String,
        /// What was asked.
        what: String,
        /// What it said.
        reason: String,
    },
    /// The registry did not answer, or failed.
    #[error("{registry} failed at {what}: {reason}")]
    Unavailable {
        /// Host of the registry.
        registry: String,
        /// What was asked.
        what: String,
        /// What happened.
        reason: String,
    },
    /// An image that the registry has is not what it should be.
    #[error("the image {reference} {reason}")]
    Image {
        /// The image.
        reference: String,
        /// What is wrong with it, and what to do.
        reason: String,
    },
    /// A tag belongs to somebody else.
    #[error(
        "{reference} is the tag of an image that was not published by {owner}: choose another tag, or remove that one from the registry"
    )]
    Taken {
        /// The reference.
        reference: String,
        /// Who may replace what it has published itself.
        owner: String,
    },
    /// What the registry holds afterwards is not what was pushed.
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
    /// What kind of failure it is: trying again helps against `Infrastructure` alone.
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
            Self::Layout(_) | Self::Unavailable { .. } | Self::Overtaken { .. } => Category::Infrastructure,
        }
    }

    /// Whether the same request may succeed in a moment.
    pub(super) const fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable { .. })
    }

    /// Sorts an answer of `registry` to `what`.
    pub(super) fn of(registry: &str, what: &str, error: &OciDistributionError) -> Self {
        let (registry, what) = (registry.to_owned(), what.to_owned());
        let reason = reason(error);
        // A resolver that fails for now says nothing of the name.
        if reason.contains("dns error") && !reason.contains("Temporary failure") {
            return Self::UnknownHost { registry };
        }
        match status(error) {
            Some(401 | 403) => Self::Refused {
                registry,
                what,
                reason,
            },
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

/// The HTTP status that stands behind an error, where it tells one.
fn status(error: &OciDistributionError) -> Option<u16> {
    match error {
        OciDistributionError::AuthenticationFailure(_) | OciDistributionError::UnauthorizedError { .. } => {
            Some(401)
        }
        OciDistributionError::ServerError { code, .. } => Some(*code),
        OciDistributionError::ImageManifestNotFoundError(_) => Some(404),
        OciDistributionError::RequestError(error) => error.status().map(|status| status.as_u16()),
        OciDistributionError::RegistryError { envelope, .. } => {
            let code = envelope.errors.first().map(|error| &error.code)?;
            Some(match code {
                OciErrorCode::Unauthorized => 401,
                OciErrorCode::Denied => 403,
                OciErrorCode::Toomanyrequests => 429,
                _ => 400,
            })
        }
        _ => None,
    }
}

/// The error with its causes: a client names the URL only, the cause behind it says what happened.
fn reason(error: &OciDistributionError) -> String {
    if let OciDistributionError::ServerError { code, message, .. } = error {
        return answer(*code, message);
    }
    let mut reason = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !reason.contains(&text) {
            reason = format!("{reason}: {text}");
        }
        cause = inner.source();
    }
    reason
}

/// What a registry answered besides what was asked for: `500 Internal Server Error: unknown error, no space left on device`.
fn answer(code: u16, body: &str) -> String {
    let status =
        http::StatusCode::from_u16(code).map_or_else(|_| code.to_string(), |status| status.to_string());
    let said = said(body).unwrap_or_else(|| body.trim().to_owned());
    if said.is_empty() {
        status
    } else {
        format!("{status}: {said}")
    }
}

/// Messages and details of the registry's own form of an error.
fn said(body: &str) -> Option<String> {
    let envelope: serde_json::Value = serde_json::from_str(body).ok()?;
    let errors = envelope["errors"].as_array()?.iter();
    let texts = errors.flat_map(|error| [&error["message"], &error["detail"]]);
    let texts: Vec<&str> = texts.filter_map(serde_json::Value::as_str).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// Whether the registry says that there is no such thing.
pub(super) fn is_not_found(error: &OciDistributionError) -> bool {
    match error {
        OciDistributionError::RegistryError { envelope, .. } => envelope.errors.iter().any(|error| {
            matches!(
                error.code,
                OciErrorCode::ManifestUnknown | OciErrorCode::NameUnknown | OciErrorCode::NotFound
            )
        }),
        other => status(other) == Some(404),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(code: u16, message: &str) -> String {
        let error = OciDistributionError::ServerError {
            code,
            url: "https://registry.example/v2/x/blobs/uploads/1?_state=abc".to_owned(),
            message: message.to_owned(),
        };
        RegistryError::of("registry.example", "the upload of the blob sha256:1", &error).to_string()
    }

    #[test]
    fn what_a_registry_says_of_its_failure_stands_without_its_wrapping() {
        let full = r#"{"errors":[{"code":"UNKNOWN","message":"unknown error","detail":"write data: no space left on device"}]}"#;
        assert_eq!(
            told(500, full),
            "registry.example failed at the upload of the blob sha256:1: 500 Internal Server Error: unknown error, write data: no space left on device"
        );
        assert!(
            told(503, "the storage is being moved\n")
                .ends_with("503 Service Unavailable: the storage is being moved")
        );
        assert!(told(500, "").ends_with("500 Internal Server Error"));
        assert!(told(500, r#"{"errors": []}"#).ends_with(r#"{"errors": []}"#));
    }
}
