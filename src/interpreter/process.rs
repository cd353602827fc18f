//! One worker process: frames out, frames in, and how it ended.

use std::ops::ControlFlow;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, timeout, timeout_at};

use crate::error::{Death, Error};
use crate::protocol::LENGTH_BYTES;

/// Exit code by which the worker's allocator says that the program's memory ran out.
const OUT_OF_MEMORY: i32 = 65;
/// How long a worker has to be gone after its pipe closed.
const END_GRACE: Duration = Duration::from_secs(2);
/// Bytes of the read buffer that stay between messages.
const BUFFER: usize = 8 * 1024;

/// A worker process. It is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
    /// What came and was not taken yet.
    inbox: Vec<u8>,
    /// A frame is on its way out; what is cut off in the middle of one can never be used again.
    is_sending: bool,
    /// Programs that it took.
    pub(crate) programs: u32,
}

impl Process {
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
            stdout,
            inbox: Vec::new(),
            is_sending: false,
            programs: 0,
        })
    }

    /// Whether it can take another program: alive, nothing left in its pipe, nothing half sent.
    pub(crate) fn is_reusable(&mut self) -> bool {
        !self.is_sending && self.inbox.is_empty() && matches!(self.child.try_wait(), Ok(None))
    }

    /// Its process number, while it lives.
    pub(crate) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Sends a frame. A worker that reads no more does not hold the host past `limit`.
    pub(crate) async fn send(&mut self, frame: &[u8], limit: Duration) -> Result<(), Death> {
        self.is_sending = true;
        match timeout(limit, self.stdin.write_all(frame)).await {
            Ok(Ok(())) => {
                self.is_sending = false;
                Ok(())
            }
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
        let frame = loop {
            match self.whole_frame(most_bytes) {
                ControlFlow::Break(Ok(end)) => break end,
                ControlFlow::Break(Err(reason)) => return Err(self.kill(reason).await),
                ControlFlow::Continue(missing) => self.inbox.reserve(missing.max(BUFFER)),
            }
            match timeout_at(deadline, self.stdout.read_buf(&mut self.inbox)).await {
                Ok(Ok(0)) => {
                    let reason = Death::Protocol("its output ended in the middle of a message".to_owned());
                    return Err(self.death(reason).await);
                }
                Ok(Ok(_)) => {}
                Ok(Err(error)) => return Err(self.death(error.into()).await),
                Err(_) => return Err(self.kill(Death::Deadline { after: limit }).await),
            }
        };
        *spent += started.elapsed();
        let message = serde_json::from_slice(&self.inbox[LENGTH_BYTES..frame]);
        self.inbox.drain(..frame);
        self.inbox.shrink_to(BUFFER);
        match message {
            Ok(message) => Ok(message),
            Err(error) => Err(self
                .kill(Death::Protocol(format!("a message could not be read: {error}")))
                .await),
        }
    }

    /// Where the first frame ends, or how many bytes are missing to it.
    fn whole_frame(&self, most_bytes: usize) -> ControlFlow<Result<usize, Death>, usize> {
        let Some(length) = self.inbox.first_chunk::<LENGTH_BYTES>() else {
            return ControlFlow::Continue(LENGTH_BYTES - self.inbox.len());
        };
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        if length > most_bytes {
            let reason = format!("a message of {length} bytes, where at most {most_bytes} are allowed");
            return ControlFlow::Break(Err(Death::Protocol(reason)));
        }
        match (LENGTH_BYTES + length).checked_sub(self.inbox.len()) {
            None | Some(0) => ControlFlow::Break(Ok(LENGTH_BYTES + length)),
            Some(missing) => ControlFlow::Continue(missing),
        }
    }

    /// Kills it for this reason.
    async fn kill(&mut self, reason: Death) -> Death {
        // It may be gone already.
        let _ = self.child.kill().await;
        reason
    }

    /// Why it ended: what its exit says, else what was seen of it.
    async fn death(&mut self, seen: Death) -> Death {
        match timeout(END_GRACE, self.child.wait()).await {
            Ok(Ok(status)) => cause(status).unwrap_or(seen),
            _ => self.kill(seen).await,
        }
    }
}

/// What an exit status says about a death.
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
