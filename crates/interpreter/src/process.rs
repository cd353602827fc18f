//! One worker process: frames out, frames in, and how it ended.

use std::io::ErrorKind;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use futures::StreamExt as _;
use serde::de::DeserializeOwned;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::codec::{FramedRead, LengthDelimitedCodec};

use crate::error::{Death, Error};
use crate::protocol::LENGTH_BYTES;

/// Exit code by which the worker's allocator says that the program's memory ran out.
const OUT_OF_MEMORY: i32 = 65;
/// Time that a worker has to be gone after its pipe closed.
const END_GRACE: Duration = Duration::from_secs(2);

/// A worker process. It is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct WorkerProcess {
    child: Child,
    stdin: ChildStdin,
    stdout: FramedRead<ChildStdout, LengthDelimitedCodec>,
}

impl WorkerProcess {
    /// A new worker whose memory the kernel bounds by `memory_bytes` and its own size.
    pub(crate) fn spawn(program: &Path, memory_bytes: u64) -> Result<Self, Error> {
        let failed = |source| Error::Spawn {
            program: program.to_path_buf(),
            source,
        };
        let mut child = Command::new(program)
            .arg("run")
            .arg(memory_bytes.to_string())
            // A program must find no key of this process, not even by a fault of the interpreter.
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // Ctrl-C is for the parent alone.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed(std::io::Error::other("it has no pipes")));
        };
        Ok(Self {
            child,
            stdin,
            stdout: LengthDelimitedCodec::builder()
                .little_endian()
                .length_field_length(LENGTH_BYTES)
                .new_read(stdout),
        })
    }

    /// Its process number, while it lives.
    pub(crate) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Sends a frame. A worker that reads no more does not hold the host past `limit`.
    pub(crate) async fn send(&mut self, frame: &[u8], limit: Duration) -> Result<(), Death> {
        match timeout(limit, self.stdin.write_all(frame)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(self.death(error.into()).await),
            Err(_) => Err(self.kill(Death::Deadline { after: limit }).await),
        }
    }

    /// The next message, of at most `most_bytes`. `spent` counts the time that the worker took over all its messages. What was read
    /// when this future is dropped is there for the next one.
    pub(crate) async fn receive<M: DeserializeOwned>(
        &mut self,
        most_bytes: usize,
        limit: Duration,
        spent: &mut Duration,
    ) -> Result<M, Death> {
        let started = Instant::now();
        let deadline = started + limit.saturating_sub(*spent);
        self.stdout.decoder_mut().set_max_frame_length(most_bytes);
        let frame = match timeout_at(deadline, self.stdout.next()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(Some(Err(error))) if error.kind() == ErrorKind::InvalidData => {
                let reason = format!("a message of more than {most_bytes} bytes: {error}");
                return Err(self.kill(Death::Protocol(reason)).await);
            }
            Ok(Some(Err(error))) => return Err(self.death(error.into()).await),
            Ok(None) => {
                let reason = Death::Protocol("its output ended before its message".to_owned());
                return Err(self.death(reason).await);
            }
            Err(_) => return Err(self.kill(Death::Deadline { after: limit }).await),
        };
        *spent += started.elapsed();
        match serde_json::from_slice(&frame) {
            Ok(message) => Ok(message),
            Err(error) => Err(self
                .kill(Death::Protocol(format!("a message could not be read: {error}")))
                .await),
        }
    }

    /// Kills it for this reason.
    async fn kill(&mut self, reason: Death) -> Death {
        // It may be gone already.
        let _ = self.child.kill().await;
        reason
    }

    /// Returns the reason of its end: what its exit says, else what was seen of it.
    async fn death(&mut self, seen: Death) -> Death {
        match timeout(END_GRACE, self.child.wait()).await {
            Ok(Ok(status)) => cause(status).unwrap_or(seen),
            _ => self.kill(seen).await,
        }
    }
}

/// Returns what an exit status says about a death.
fn cause(status: ExitStatus) -> Option<Death> {
    /// `SIGSYS`, which has this number on every architecture that is built for.
    const FORBIDDEN_CALL: i32 = 31;
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal = None;
    match (signal, status.code()) {
        (Some(FORBIDDEN_CALL), _) if cfg!(target_os = "linux") => Some(Death::ForbiddenCall),
        (Some(signal), _) => Some(Death::Signal(signal)),
        // The bound is filled in where it is known.
        (None, Some(OUT_OF_MEMORY)) => Some(Death::Memory { limit: 0 }),
        (None, Some(0) | None) => None,
        (None, Some(code)) => Some(Death::Exit(code)),
    }
}
