//! The key of a Pod's job. Program and harness are one user, so the program can read every file that the harness can: the one with the job
//! is encrypted, and its key is in variables of the harness alone.
//!
//! The cipher is what Python's standard library has at hand: the job, XOR the output of SHAKE-256 for the key. A key is drawn for one
//! Secret and encrypts one job. What is decrypted is compared with its digest, so that nobody can change it unseen.

use shake::Shake256;
use shake::digest::{ExtendableOutput as _, Update as _, XofReader as _};

use super::channel::from_hex;
use crate::SandboxError;
use codegen_core::digest::{hex, sha256_hex};

/// Variable with the key of the job.
pub const JOB_KEY: &str = "CODEGEN_JOB_KEY";
/// Name of the job in its Secret, and as a file.
pub(super) const JOB_NAME: &str = "job.json";
/// Name of what is to be checked, in the same Secret.
pub(super) const CHECK_NAME: &str = "check.json";
/// Name of the key in that Secret, which no Pod mounts: whoever finds the Secret there makes the Pod with it.
pub(super) const KEY_NAME: &str = "key";

/// Keys of one Pod.
pub(super) struct PodKeys {
    /// That of the message's signature, hex.
    pub nonce: String,
    /// That of the job.
    pub job: JobKey,
}

impl PodKeys {
    /// Fresh ones.
    pub(super) fn draw() -> Result<Self, SandboxError> {
        Ok(Self {
            nonce: hex(&random()?),
            job: JobKey::draw()?,
        })
    }
}

/// The key of one job.
#[derive(Clone)]
pub(super) struct JobKey([u8; 32]);

impl JobKey {
    /// A fresh key.
    pub(super) fn draw() -> Result<Self, SandboxError> {
        random().map(Self)
    }

    /// The key of these hexadecimal digits.
    pub(super) fn from_hex(digits: &str) -> Option<Self> {
        from_hex(digits)?.try_into().ok().map(Self)
    }

    /// A key of its own for what is to be checked beside the job: a stream encrypts one text.
    pub(super) fn for_check(&self) -> Self {
        let mut hasher = Shake256::default();
        hasher.update(b"check");
        hasher.update(&self.0);
        let mut key = [0; 32];
        hasher.finalize_xof().read(&mut key);
        Self(key)
    }

    /// Its hexadecimal digits.
    pub(super) fn hex(&self) -> String {
        hex(&self.0)
    }

    /// Encrypts what is plain, and decrypts what is encrypted.
    pub(super) fn apply(&self, text: &[u8]) -> Vec<u8> {
        // SHAKE gives a stream of any length. A key encrypts one job and is drawn anew for the next, so XOR never uses a stream twice.
        let mut hasher = Shake256::default();
        hasher.update(&self.0);
        let mut stream = vec![0; text.len()];
        hasher.finalize_xof().read(&mut stream);
        stream
            .iter_mut()
            .zip(text)
            .for_each(|(byte, plain)| *byte ^= plain);
        stream
    }
}

/// Returns what a Pod was given as its job, decrypted with the digits of `key`; `None` where it is not what has the digest `sha256`.
#[must_use]
pub fn decrypt_job(encrypted: &[u8], key: &str, sha256: &str) -> Option<Vec<u8>> {
    let text = JobKey::from_hex(key)?.apply(encrypted);
    // A Secret that somebody exchanged decrypts to noise, which has another digest.
    (sha256_hex(&text) == sha256).then_some(text)
}

/// Bytes that nobody can guess.
fn random() -> Result<[u8; 32], SandboxError> {
    let random = ring::rand::generate::<[u8; 32]>(&ring::rand::SystemRandom::new());
    let random = random.map_err(|_| SandboxError::Io {
        action: "draw random bytes".to_owned(),
        source: std::io::Error::other("the system gives none"),
    })?;
    Ok(random.expose())
}

#[cfg(test)]
mod tests;
