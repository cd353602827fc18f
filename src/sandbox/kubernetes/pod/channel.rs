//! How a report leaves a Pod: a signed message about it when the container ends, the report itself in the log.
//!
//! Code under test can write both. What counts is signed under a nonce that the harness alone holds, so a message that is cut,
//! forged or missing never becomes a report.

use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::read::ZlibDecoder;
use ring::hmac;
use serde::Deserialize;
use thiserror::Error;

use crate::pipeline::digest::sha256_hex;
use crate::pipeline::sandbox::Report;

/// What a node keeps of a message, bytes.
const MOST_MESSAGE_BYTES: usize = 4096;
/// Longest report that is unpacked, bytes; the harness shortens what would be longer.
const MOST_REPORT_BYTES: u64 = 32 << 20;

/// Why there is no report.
#[derive(Error, Clone, Debug, PartialEq, Eq)]
pub(super) enum ChannelError {
    #[error("the container ended without a message")]
    Missing,
    #[error("the message of the container is cut")]
    Cut,
    #[error("the message of the container is not signed by the harness")]
    Forged,
    #[error("the message of the container cannot be read: {0}")]
    Unreadable(String),
    #[error("the log holds {found} of {announced} lines of the report")]
    LogIncomplete { found: usize, announced: usize },
    #[error("the report in the log is not the one that the harness announced")]
    NotAsAnnounced,
}

/// What a signed message says.
#[derive(Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(super) enum Message {
    /// Nothing was run, because this address answered.
    NotIsolated(String),
    /// A report is in the log.
    Report(Announcement),
}

/// The report that the log holds.
#[derive(Deserialize, Clone, Debug, PartialEq, Eq)]
pub(super) struct Announcement {
    /// The word that its lines begin with.
    marker: String,
    /// How many lines it has.
    lines: usize,
    /// Its length, bytes.
    length: u64,
    /// Its SHA-256, hex.
    sha256: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    not_isolated: Option<String>,
    report: Option<Announcement>,
}

/// The message, once its signature under `nonce` holds: the signature in hex, a line feed, what is signed.
pub(super) fn verify(message: &str, nonce: &[u8]) -> Result<Message, ChannelError> {
    if message.is_empty() {
        return Err(ChannelError::Missing);
    }
    let forged = if message.len() >= MOST_MESSAGE_BYTES {
        ChannelError::Cut
    } else {
        ChannelError::Forged
    };
    let Some((signature, body)) = message.split_once('\n') else {
        return Err(forged);
    };
    let Some(signature) = from_hex(signature) else {
        return Err(forged);
    };
    let key = hmac::Key::new(hmac::HMAC_SHA256, nonce);
    if hmac::verify(&key, body.as_bytes(), &signature).is_err() {
        return Err(forged);
    }
    let unreadable = |why: String| ChannelError::Unreadable(why);
    let body: Body = serde_json::from_str(body).map_err(|error| unreadable(error.to_string()))?;
    match (body.not_isolated, body.report) {
        (Some(address), _) => Ok(Message::NotIsolated(address)),
        (None, Some(report)) => Ok(Message::Report(report)),
        (None, None) => Err(unreadable("it announces nothing".to_owned())),
    }
}

impl Announcement {
    /// The announced report, out of the whole log.
    pub(super) fn find(&self, log: &str) -> Result<Report, ChannelError> {
        let prefix = format!("{} ", self.marker);
        let lines: Vec<&str> = log
            .lines()
            .filter_map(|line| line.strip_prefix(&prefix))
            .collect();
        if lines.len() < self.lines {
            return Err(ChannelError::LogIncomplete {
                found: lines.len(),
                announced: self.lines,
            });
        }
        let text = self.unpack(&lines.concat()).ok_or(ChannelError::NotAsAnnounced)?;
        if text.len() as u64 != self.length || sha256_hex(&text) != self.sha256 {
            return Err(ChannelError::NotAsAnnounced);
        }
        serde_json::from_slice(&text).map_err(|error| ChannelError::Unreadable(error.to_string()))
    }

    /// No more than was announced is unpacked.
    fn unpack(&self, encoded: &str) -> Option<Vec<u8>> {
        if self.length > MOST_REPORT_BYTES {
            return None;
        }
        let packed = BASE64.decode(encoded).ok()?;
        let mut text = Vec::new();
        ZlibDecoder::new(packed.as_slice())
            .take(self.length + 1)
            .read_to_end(&mut text)
            .ok()?;
        Some(text)
    }
}

/// Bytes of hexadecimal digits.
pub(super) fn from_hex(digits: &str) -> Option<Vec<u8>> {
    if !digits.len().is_multiple_of(2) || !digits.is_ascii() {
        return None;
    }
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok())
        .collect()
}

#[cfg(test)]
mod tests;
