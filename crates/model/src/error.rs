//! Errors: why a model call gave no reply, and who can change that.

use std::time::Duration;

use thiserror::Error;

use codegen_core::call::CallKind;
use codegen_core::stage::Category;
use codegen_egress::Refused;

/// A model call that gave no reply. No message holds a key, a secret header or a query parameter.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ModelError {
    /// No connection, on every try: nothing was sent.
    #[error(
        "the model endpoint {endpoint} could not be reached ({}): {detail}; \
         check {address_from}, the proxy variables and the network",
        counted(*.tries)
    )]
    Unreachable {
        /// Address without query.
        endpoint: String,
        /// Place where the address is set.
        address_from: &'static str,
        /// Tries made.
        tries: u32,
        /// Description of what the last try met.
        detail: String,
    },
    /// Refusal: the operator does not speak to this address, as whoever runs it decided.
    #[error("spec.model.baseURL: {0}")]
    Refused(#[from] Refused),
    /// The connection ended after the request was sent and before the reply was whole.
    #[error(
        "the connection to the model endpoint {endpoint} ended after the request was sent and before the reply was there: {detail}"
    )]
    CutReply {
        /// Address without query.
        endpoint: String,
        /// Description of what ended it.
        detail: String,
    },
    /// The deadline of the call or of the task passed.
    #[error(
        "the model endpoint {endpoint} gave no reply within {} s ({} begun); {detail}",
        seconds(*.allowed),
        counted(*.tries)
    )]
    DeadlineExceeded {
        /// Address without query.
        endpoint: String,
        /// Tries begun.
        tries: u32,
        /// Time that the call had.
        allowed: Duration,
        /// True where the server had the request of the last try.
        was_sent: bool,
        /// Description of what the try before met, or that it hung.
        detail: String,
    },
    /// Overloaded or out of order, on every try.
    #[error("the model endpoint {endpoint} answered {status} ({}): {detail}{}", counted(*.tries), wait_hint(*.retry_after))]
    Unavailable {
        /// Address without query.
        endpoint: String,
        /// HTTP status of the last try.
        status: u16,
        /// Tries made.
        tries: u32,
        /// Pause that the server asks for.
        retry_after: Option<Duration>,
        /// True where a model may have worked behind it all the same.
        may_be_billed: bool,
        /// Beginning of the last answer.
        detail: String,
    },
    /// 401 or 403.
    #[error(
        "the model endpoint {endpoint} refused the credentials ({status}): {detail}; check the API key: {key_source}"
    )]
    Unauthorized {
        /// Address without query.
        endpoint: String,
        /// HTTP status.
        status: u16,
        /// Source that the key comes from, or should come from.
        key_source: String,
        /// Beginning of the answer.
        detail: String,
    },
    /// 404: no such path or no such model.
    #[error(
        "the model endpoint {endpoint} answered 404: {detail}; \
         check {model_from} (`{model}`) and {address_from}"
    )]
    NotFound {
        /// Address without query.
        endpoint: String,
        /// Place where the address is set.
        address_from: &'static str,
        /// Place where the model is named.
        model_from: &'static str,
        /// Name of the model.
        model: String,
        /// Beginning of the answer.
        detail: String,
    },
    /// The request does not fit the model's context.
    #[error(
        "the request is longer than the context of model `{model}` at {endpoint}: {detail}; \
         lower limits.maxContextTokens or maxSampleRows, or choose a model with a longer context"
    )]
    ContextTooLong {
        /// Address without query.
        endpoint: String,
        /// Name of the model.
        model: String,
        /// Beginning of the answer.
        detail: String,
    },
    /// The account has no credit left.
    #[error(
        "the account at the model endpoint {endpoint} has no credit left ({status}): {detail}; check its billing"
    )]
    QuotaExhausted {
        /// Address without query.
        endpoint: String,
        /// HTTP status.
        status: u16,
        /// Beginning of the answer.
        detail: String,
    },
    /// Any other answer that a repeat would not change.
    #[error(
        "the model endpoint {endpoint} rejected the request ({status}): {detail}; \
         check spec.model.parameters, headers and query"
    )]
    Rejected {
        /// Address without query.
        endpoint: String,
        /// HTTP status.
        status: u16,
        /// Beginning of the answer.
        detail: String,
    },
    /// A redirect that would carry the credentials to another host.
    #[error(
        "the model endpoint {endpoint} redirects to {location}, where the credentials are not sent; \
         set {address_from} to the final address"
    )]
    Redirected {
        /// Address without query.
        endpoint: String,
        /// Place where the address is set.
        address_from: &'static str,
        /// Target without query.
        location: String,
    },
    /// A page for people, where an API was expected.
    #[error(
        "the model endpoint {endpoint} answered with a web page ({status}), not with JSON: {detail}; \
         check {address_from} (it often ends in /v1)"
    )]
    WebPage {
        /// Address without query.
        endpoint: String,
        /// Place where the address is set.
        address_from: &'static str,
        /// HTTP status.
        status: u16,
        /// Beginning of the page.
        detail: String,
    },
    /// An answer that is not what the protocol says.
    #[error(
        "the model endpoint {endpoint} sent an answer that is not of its protocol: {detail}; \
         if it stays so, check spec.model.provider and the server's log"
    )]
    Malformed {
        /// Address without query.
        endpoint: String,
        /// Description of the fault and the beginning of the answer.
        detail: String,
    },
    /// An answer above the size limit.
    #[error(
        "the model endpoint {endpoint} sent more than {limit} bytes; no reply of a model is that long, check the server"
    )]
    TooLarge {
        /// Address without query.
        endpoint: String,
        /// The limit, bytes.
        limit: usize,
    },
    /// Settings from which no request can be made.
    #[error("{field} cannot be used: {detail}")]
    InvalidSettings {
        /// Field of the manifest.
        field: String,
        /// Description of the fault and of what to write instead.
        detail: String,
    },
    /// The client could not be built.
    #[error(
        "the HTTPS client could not be built: {detail}; check the system's CA certificates and the proxy variables"
    )]
    Client {
        /// Description of what went wrong.
        detail: String,
    },
    /// A line of a recording that cannot be read.
    #[error("line {line} of the recording {recording} cannot be read: {detail}")]
    RecordingUnreadable {
        /// Name of the recording.
        recording: String,
        /// Line, counted from 1.
        line: usize,
        /// Description of the fault.
        detail: String,
    },
    /// The recording holds no further reply.
    #[error(
        "the recording {recording} has {replies} replies and all are used; the next call asks for `{asked}`: \
         record the task again, or run it against a model"
    )]
    RecordingEnded {
        /// Name of the recording.
        recording: String,
        /// Replies in it.
        replies: usize,
        /// Kind of call that was asked for.
        asked: CallKind,
    },
    /// The next reply is of another kind.
    #[error(
        "line {line} of the recording {recording} holds a reply to `{found}`, but the call asks for `{asked}`: \
         the task took another way than when it was recorded; record it again"
    )]
    RecordingMismatch {
        /// Name of the recording.
        recording: String,
        /// Line, counted from 1.
        line: usize,
        /// Kind of call that was asked for.
        asked: CallKind,
        /// Kind of call that the line holds.
        found: CallKind,
    },
    /// The next reply was given to another request, and that is not allowed.
    #[error(
        "line {line} of the recording {recording} was recorded for another `{kind}` request \
         (hash {recorded}, now {asked}): record it again, or replay without the strict check"
    )]
    RecordingChanged {
        /// Name of the recording.
        recording: String,
        /// Line, counted from 1.
        line: usize,
        /// Kind of the call.
        kind: CallKind,
        /// Hash in the recording.
        recorded: String,
        /// Hash of the request.
        asked: String,
    },
}

impl ModelError {
    /// Returns the category, which says who can change what went wrong.
    #[must_use]
    pub const fn category(&self) -> Category {
        match self {
            Self::Unreachable { .. }
            | Self::CutReply { .. }
            | Self::DeadlineExceeded { .. }
            | Self::Unavailable { .. }
            | Self::Malformed { .. }
            | Self::TooLarge { .. } => Category::Infrastructure,
            Self::Refused(_)
            | Self::Unauthorized { .. }
            | Self::NotFound { .. }
            | Self::ContextTooLong { .. }
            | Self::QuotaExhausted { .. }
            | Self::Rejected { .. }
            | Self::Redirected { .. }
            | Self::WebPage { .. }
            | Self::InvalidSettings { .. }
            | Self::Client { .. }
            | Self::RecordingUnreadable { .. }
            | Self::RecordingEnded { .. }
            | Self::RecordingMismatch { .. }
            | Self::RecordingChanged { .. } => Category::Configuration,
        }
    }

    /// Reports whether the model may have worked for nothing: it had the request, and no usable reply came back. Where it had not for
    /// certain, or turned it away, no bill can show the call.
    #[must_use]
    pub const fn may_be_billed(&self) -> bool {
        match self {
            Self::CutReply { .. } | Self::Malformed { .. } | Self::TooLarge { .. } => true,
            Self::DeadlineExceeded { was_sent, .. } => *was_sent,
            Self::Unavailable { may_be_billed, .. } => *may_be_billed,
            Self::Refused(_)
            | Self::Unreachable { .. }
            | Self::Unauthorized { .. }
            | Self::NotFound { .. }
            | Self::ContextTooLong { .. }
            | Self::QuotaExhausted { .. }
            | Self::Rejected { .. }
            | Self::Redirected { .. }
            | Self::WebPage { .. }
            | Self::InvalidSettings { .. }
            | Self::Client { .. }
            | Self::RecordingUnreadable { .. }
            | Self::RecordingEnded { .. }
            | Self::RecordingMismatch { .. }
            | Self::RecordingChanged { .. } => false,
        }
    }

    /// The pause that the server asked for, where it did and the call had no time left for it.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Unavailable { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

/// `1 try`, `5 tries`.
fn counted(tries: u32) -> String {
    match tries {
        1 => "1 try".to_owned(),
        _ => format!("{tries} tries"),
    }
}

fn seconds(allowed: Duration) -> String {
    let rounded = format!("{:.1}", allowed.as_secs_f64());
    rounded.strip_suffix(".0").map_or(rounded.clone(), str::to_owned)
}

fn wait_hint(retry_after: Option<Duration>) -> String {
    retry_after.map_or_else(String::new, |pause| {
        format!("; it asks to wait {} s", seconds(pause))
    })
}
