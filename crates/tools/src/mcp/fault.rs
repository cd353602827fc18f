//! Faults of a request to a server.

use std::error::Error as StdError;
use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, HeaderValue, RETRY_AFTER};
use rmcp::service::ServiceError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use thiserror::Error;

use crate::tries::{FailedTry, Repeat, meaning};
use crate::{RaisedKind, Sent, ToolException};
use codegen_egress::Refused;
use codegen_model::retry_after;

/// Fault of a request. The texts continue the name of a tool or of a server.
#[derive(Error, Clone, Debug)]
pub(super) enum McpFault {
    /// No connection came about: the request stayed here.
    #[error("cannot be reached: {0}")]
    NotSent(String),
    /// The gate does not open the address.
    #[error("was not called: {0}")]
    Refused(Refused),
    /// The connection ended after the request was sent.
    #[error("was called, and the connection ended before its reply was whole: {0}")]
    Cut(String),
    /// The server does not have the session any more, so it refused the request.
    #[error("refused the session")]
    SessionLost,
    /// A message above the limit.
    #[error("replied with more than {0} bytes, the limit: ask it for less at a time")]
    TooLarge(usize),
    /// More events than the limit, and no reply among them.
    #[error("sent more than {0} bytes before its reply, the limit: check the server's log")]
    TooMuch(usize),
    /// An answer that is an error.
    #[error("answered {status}{}{}", quoted(.said), hint(*.status))]
    Status {
        /// Its HTTP status.
        status: u16,
        /// Its header `Retry-After`.
        retry_after: Option<String>,
        /// The beginning of its body, where it was read.
        said: String,
    },
    /// An answer that is not of the protocol.
    #[error("sent an answer that is not of its protocol: {0}")]
    Protocol(String),
}

fn quoted(said: &str) -> String {
    match said {
        "" => String::new(),
        said => format!(": {said}"),
    }
}

fn hint(status: u16) -> &'static str {
    match status {
        300..=399 => "; set its URL to the address that answers",
        401 | 403 => "; check its credentials in `headersFrom`",
        404 | 405 => "; check that this is where it speaks MCP",
        _ => "",
    }
}

impl McpFault {
    /// Returns the failure of the call that met it: handed over and without a reply, it may have been made.
    pub fn failure(&self) -> FailedTry {
        let (kind, was_sent, repeat) = match self {
            Self::NotSent(_) => (RaisedKind::ConnectionError, Sent::No, Repeat::Always),
            Self::Refused(_) => (RaisedKind::ConnectionError, Sent::No, Repeat::Never),
            Self::Cut(_) | Self::SessionLost => {
                (RaisedKind::ConnectionError, Sent::Perhaps, Repeat::IfIdempotent)
            }
            // The tool may be at work on it all the same.
            Self::TooMuch(_) => (RaisedKind::RuntimeError, Sent::Perhaps, Repeat::Never),
            Self::TooLarge(_) | Self::Protocol(_) => {
                (RaisedKind::RuntimeError, Sent::Answered, Repeat::Never)
            }
            Self::Status {
                status, retry_after, ..
            } => meaning(*status, retry_after.is_some()),
        };
        let retry_after = match self {
            Self::Status { retry_after, .. } => retry_after.as_deref().and_then(pause),
            _ => None,
        };
        FailedTry {
            raised: ToolException {
                kind,
                message: self.to_string(),
                was_sent,
            },
            repeat,
            retry_after,
        }
    }

    pub const fn of_status(status: u16) -> Self {
        Self::Status {
            status,
            retry_after: None,
            said: String::new(),
        }
    }

    /// The fault behind an error of a request, if one of the transport is.
    pub fn of(error: &ServiceError) -> Option<Self> {
        match error {
            ServiceError::TransportSend(error) => Self::within(error.error.as_ref()),
            _ => None,
        }
    }

    /// The fault that an error of the transport was caused by.
    pub fn within(error: &(dyn StdError + 'static)) -> Option<Self> {
        let mut causes = std::iter::successors(Some(error), |cause| (*cause).source());
        causes.find_map(|cause| {
            let own = cause.downcast_ref::<Self>().cloned();
            own.or_else(|| match cause.downcast_ref::<StreamableHttpError<Self>>()? {
                StreamableHttpError::Client(fault) => Some(fault.clone()),
                _ => None,
            })
        })
    }
}

/// The pause that a header `Retry-After` asks for.
fn pause(header: &str) -> Option<Duration> {
    let header = HeaderValue::from_str(header).ok()?;
    retry_after(&HeaderMap::from_iter([(RETRY_AFTER, header)]), SystemTime::now())
}
