//! Odd and hostile samples, read by the real program in its reading process under the real limits: each ends as a
//! context with a true remark or as an error that names the file. The snapshot holds what is said, word for word.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests say what they expect"
)]

mod compressed;
mod files;
mod odd;
mod packed;
mod reading;
mod text;
