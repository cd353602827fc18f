//! Way of a report out of a Pod: a signed message about it when the container ends, the report itself in the log.
//!
//! Code under test can write both. What counts is signed under a nonce that the harness alone holds, so a message that is cut,
//! forged or missing never becomes a report.

use std::io::{Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use ring::hmac;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use codegen_core::digest::{hex, sha256_hex};

/// Size of the part of a message that a node keeps, bytes.
// The kubelet cuts longer ones, and a cut message has no valid signature.
const MOST_MESSAGE_BYTES: usize = 4096;
/// Longest report that is unpacked, bytes; the harness shortens what would be longer.
const MOST_REPORT_BYTES: u64 = 32 << 20;
/// Longest line of a log.
const LINE_CHARACTERS: usize = 7 * 1024;
/// Length of the part of a log that a report takes: below what a node keeps before it starts a new file.
// A kubelet rotates logs at 10 MiB by default; what was rotated is not read.
const MOST_LOG_CHARACTERS: usize = 7 << 20;

/// Reason for which there is no report.
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

/// Content of a signed message.
#[derive(Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(super) enum SignedContent {
    /// Nothing was run, because this address answered.
    NotIsolated(String),
    /// A report is in the log.
    Report(Announcement),
}

/// The report that the log holds.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub(super) struct Announcement {
    /// The word that its lines begin with.
    marker: String,
    /// Number of its lines.
    lines: usize,
    /// Its length, bytes.
    length: u64,
    /// Its SHA-256, hex.
    sha256: String,
    /// The report itself, packed as in the log, where it is that small.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    packed: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    #[serde(skip_serializing_if = "Option::is_none")]
    not_isolated: Option<String>,
    report: Option<Announcement>,
}

/// The message, once its signature under `nonce` holds: the signature in hex, a line feed, what is signed.
pub(super) fn verify(message: &str, nonce: &[u8]) -> Result<SignedContent, ChannelError> {
    if message.is_empty() {
        return Err(ChannelError::Missing);
    }
    // A full message was cut by the node, which is nobody's forgery.
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
    // Compared in constant time, and before anything of the body is parsed.
    if hmac::verify(&key, body.as_bytes(), &signature).is_err() {
        return Err(forged);
    }
    let unreadable = |why: String| ChannelError::Unreadable(why);
    let body: Body = serde_json::from_str(body).map_err(|error| unreadable(error.to_string()))?;
    match (body.not_isolated, body.report) {
        // It goes before a report: what ran with an open network proves nothing.
        (Some(address), _) => Ok(SignedContent::NotIsolated(address)),
        (None, Some(report)) => Ok(SignedContent::Report(report)),
        (None, None) => Err(unreadable("it announces nothing".to_owned())),
    }
}

impl Announcement {
    /// The announced report, out of the whole log.
    pub(super) fn find<R: DeserializeOwned>(&self, log: &str) -> Result<R, ChannelError> {
        let prefix = format!("{} ", self.marker);
        let lines: Vec<&str> = log
            .lines()
            .filter_map(|line| line.strip_prefix(&prefix))
            .collect();
        // Further lines with the marker are left to the digest, which decides.
        if lines.len() < self.lines {
            return Err(ChannelError::LogIncomplete {
                found: lines.len(),
                announced: self.lines,
            });
        }
        self.read(&lines.concat())
    }

    /// The announced report, where it is in the message.
    pub(super) fn here<R: DeserializeOwned>(&self) -> Option<Result<R, ChannelError>> {
        self.packed.as_deref().map(|packed| self.read(packed))
    }

    fn read<R: DeserializeOwned>(&self, encoded: &str) -> Result<R, ChannelError> {
        let text = self.unpack(encoded).ok_or(ChannelError::NotAsAnnounced)?;
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
            // One byte more shows that there is more than was announced.
            .take(self.length + 1)
            .read_to_end(&mut text)
            .ok()?;
        Some(text)
    }
}

/// A report as it leaves a Pod: what goes to the log, and the signed message after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentReport {
    /// Lines for standard output.
    pub log: String,
    /// The termination message.
    pub message: String,
}

/// Packs and signs `report` under `nonce`, hexadecimal digits. `None` where it is too long for a log.
#[must_use]
pub fn send(report: &[u8], nonce: &str) -> Option<SentReport> {
    let nonce = from_hex(nonce)?;
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(report).ok()?;
    // Logs are lines of text, so bytes of compressed data cannot stand there.
    let encoded = BASE64.encode(packed.finish().ok()?);
    if report.len() as u64 > MOST_REPORT_BYTES || encoded.len() > MOST_LOG_CHARACTERS {
        return None;
    }
    // Nobody else writes to this log; the marker need not be secret.
    let sha256 = sha256_hex(report);
    let marker = sha256[..16].to_owned();
    let mut log = String::new();
    let mut lines = 0;
    for line in encoded.as_bytes().chunks(LINE_CHARACTERS) {
        lines += 1;
        log.extend([&marker, " ", str::from_utf8(line).ok()?, "\n"]);
    }
    let body = Body {
        not_isolated: None,
        report: Some(Announcement {
            marker,
            lines,
            length: report.len() as u64,
            sha256,
            packed: None,
        }),
    };
    let body = serde_json::to_string(&body).ok()?;
    let key = hmac::Key::new(hmac::HMAC_SHA256, &nonce);
    let signature = hex(hmac::sign(&key, body.as_bytes()).as_ref());
    Some(SentReport {
        log,
        message: format!("{signature}\n{body}"),
    })
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
