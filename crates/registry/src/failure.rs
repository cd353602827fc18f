//! Answers of a registry that are not what was asked for. Of its text the specification's form of an error is taken, and nothing else:
//! whoever answers may be no registry.

use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::Value;

/// Most characters that are quoted of what a registry says.
const MOST_QUOTED: usize = 500;

/// Reason for which a request did not come to what was asked for.
#[derive(Debug, thiserror::Error)]
pub(super) enum RequestFailure {
    /// An answer with another status than those of success.
    #[error("{}", with_status(*code, said))]
    Status {
        /// The status.
        code: u16,
        /// Codes of the specification, in order.
        codes: Vec<String>,
        /// Text of the registry in the specification's form, ready to be quoted.
        said: String,
    },
    /// No whole answer.
    #[error("{}", causes(.0))]
    Request(reqwest::Error),
    /// The content of a blob cannot be read.
    #[error("{0}")]
    Read(#[from] std::io::Error),
    /// It sends the operator to an address that is not requested.
    #[error("{0}")]
    Sent(String),
    /// An answer that is too large to be held.
    #[error("its answer has more than {0} bytes")]
    Large(u64),
    /// An answer that is not of the specification.
    #[error("its answer has {0}")]
    Form(&'static str),
    /// No end in time.
    #[error("it did not end within {0} s")]
    Late(u64),
}

impl From<reqwest::Error> for RequestFailure {
    fn from(error: reqwest::Error) -> Self {
        // An address may hold a signature that lets whoever has it in.
        Self::Request(error.without_url())
    }
}

#[derive(Deserialize)]
struct Envelope {
    errors: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    code: String,
    #[serde(default)]
    message: Value,
    #[serde(default)]
    detail: Value,
}

impl RequestFailure {
    /// Reads what an answer with this status and body says.
    pub fn of_answer(status: StatusCode, body: &[u8]) -> Self {
        let errors = serde_json::from_slice(body).map_or_else(|_| Vec::new(), |Envelope { errors }| errors);
        let said: Vec<String> = errors.iter().map(Entry::said).collect();
        Self::Status {
            code: status.as_u16(),
            codes: errors.into_iter().map(|error| error.code).collect(),
            said: plain(&said.join(", ")),
        }
    }

    /// The HTTP status that stands behind it, where there is one. A registry's own word goes before the number.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Status { code, codes, .. } => Some(match codes.first().map(String::as_str) {
                Some("UNAUTHORIZED") => 401,
                Some("DENIED") => 403,
                Some("TOOMANYREQUESTS") => 429,
                _ => *code,
            }),
            Self::Sent(_) | Self::Large(_) | Self::Form(_) => Some(400),
            Self::Request(_) | Self::Read(_) | Self::Late(_) => None,
        }
    }

    /// Reports whether the registry says that there is no such thing.
    pub fn is_not_found(&self) -> bool {
        let Self::Status { code, codes, .. } = self else {
            return false;
        };
        let unknown = ["MANIFEST_UNKNOWN", "NAME_UNKNOWN", "NOT_FOUND"];
        *code == 404 || (400..500).contains(code) && codes.iter().any(|code| unknown.contains(&code.as_str()))
    }
}

impl Entry {
    /// `DENIED: the project is full, 3 of 3 GiB`.
    fn said(&self) -> String {
        let texts = [&self.message, &self.detail].into_iter();
        let texts: Vec<&str> = texts
            .filter_map(Value::as_str)
            .filter(|text| !text.is_empty())
            .collect();
        if texts.is_empty() {
            self.code.clone()
        } else {
            format!("{}: {}", self.code, texts.join(", "))
        }
    }
}

/// A text of somebody else on one line, cut.
pub(super) fn plain(text: &str) -> String {
    // A line of somebody else must not begin a line of ours in a log.
    let one_line = text.replace(char::is_control, " ");
    let mut words = one_line.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = words.char_indices().nth(MOST_QUOTED) {
        words.truncate(end);
        words.push_str("...");
    }
    words
}

/// `500 Internal Server Error: UNKNOWN: unknown error, no space left on device`.
fn with_status(code: u16, said: &str) -> String {
    let status = StatusCode::from_u16(code).map_or_else(|_| code.to_string(), |status| status.to_string());
    if said.is_empty() {
        status
    } else {
        format!("{status}: {said}")
    }
}

/// The error with its causes: the cause behind it says what happened.
fn causes(error: &reqwest::Error) -> String {
    let mut reason = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !reason.contains(&text) {
            reason = format!("{reason}: {text}");
        }
        cause = inner.source();
    }
    plain(&reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message_of(code: u16, body: &str) -> String {
        let status = StatusCode::from_u16(code).unwrap();
        RequestFailure::of_answer(status, body.as_bytes()).to_string()
    }

    #[test]
    fn what_a_registry_says_of_its_failure_stands_without_its_wrapping() {
        let full = r#"{"errors":[{"code":"UNKNOWN","message":"unknown error","detail":"write data: no space left on device"}]}"#;
        assert_eq!(
            message_of(500, full),
            "500 Internal Server Error: UNKNOWN: unknown error, write data: no space left on device"
        );
        let denied =
            r#"{"errors":[{"code":"DENIED","message":"","detail":{"a": 1}}, {"code":"UNAVAILABLE"}]}"#;
        assert_eq!(message_of(403, denied), "403 Forbidden: DENIED, UNAVAILABLE");
    }

    #[test]
    fn what_is_no_error_of_a_registry_is_not_quoted() {
        for body in [
            "the storage is being moved",
            "",
            r#"{"errors": []}"#,
            r#"{"errors": ["a secret"]}"#,
            "<html>",
        ] {
            assert_eq!(message_of(503, body), "503 Service Unavailable", "{body}");
        }
    }

    #[test]
    fn a_text_is_cut_and_has_no_control_characters() {
        assert_eq!(plain("a\u{1b}[2J\r\n\tb"), "a [2J b");
        assert_eq!(plain(&"\u{e9}".repeat(600)).chars().count(), MOST_QUOTED + 3);
    }

    #[test]
    fn a_registrys_own_word_goes_before_the_number() {
        let of = |code: u16, word: &str| {
            let body = format!(r#"{{"errors":[{{"code":"{word}"}}]}}"#);
            RequestFailure::of_answer(StatusCode::from_u16(code).unwrap(), body.as_bytes())
        };
        assert_eq!(of(404, "UNAUTHORIZED").status(), Some(401));
        assert_eq!(of(400, "TOOMANYREQUESTS").status(), Some(429));
        assert!(of(400, "MANIFEST_UNKNOWN").is_not_found());
        assert!(!of(500, "NAME_UNKNOWN").is_not_found());
    }
}
