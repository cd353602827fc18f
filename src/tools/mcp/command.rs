//! MCP servers that are a process of this machine, spoken to over its standard streams.

use std::pin::Pin;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use std::{fmt, io};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, waitid};
use tokio::io::{AsyncRead, AsyncReadExt as _, ReadBuf};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::model::Secret;
use crate::pipeline::code_mode::command_line;
use crate::pipeline::redact::Redactor;
use crate::tools::ToolError;

/// Variables of this process that every server gets. The others may be keys.
const PASSED_ON: [&str; 8] = [
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "TMPDIR",
];
/// Bytes of the end of its standard error that are held; of them the last line is shown, which says in a traceback what was wrong.
const LONGEST_WORDS: usize = 400;
/// Time for what a process said last to arrive.
const WORDS_DEADLINE: Duration = Duration::from_millis(500);

/// A program with its arguments that whoever runs this process has allowed to be started.
#[derive(Clone, Debug)]
pub(crate) struct AllowedCommand {
    argv: Vec<String>,
    on_start: OnStart,
}

impl AllowedCommand {
    /// For whoever has asked the user, and nobody else.
    pub const fn by_the_user(argv: Vec<String>, on_start: OnStart) -> Self {
        Self { argv, on_start }
    }
}

/// Takes the name of a server, and its command.
type Report = dyn Fn(&str, &str) + Send + Sync;

/// Is told of each start before it.
#[derive(Clone)]
pub(crate) struct OnStart(Arc<Report>);

impl OnStart {
    pub fn new(on_start: impl Fn(&str, &str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(on_start))
    }
}

impl Default for OnStart {
    fn default() -> Self {
        Self::new(|_, _| {})
    }
}

impl fmt::Debug for OnStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnStart")
    }
}

/// A command that is a server.
#[derive(Clone, Debug)]
pub(super) struct Command {
    server: String,
    allowed: AllowedCommand,
    env: Vec<(String, Secret)>,
    redactor: Redactor,
}

impl Command {
    pub fn new(name: &str, command: AllowedCommand, env: Vec<(String, Secret)>) -> Result<Self, ToolError> {
        if command.argv.first().is_none_or(String::is_empty) {
            return Err(ToolError::Server {
                server: name.to_owned(),
                why: "has a command without a program: write it as a list, program first".to_owned(),
                is_transient: false,
            });
        }
        let values = env
            .iter()
            .map(|(name, value)| (name.clone(), value.expose().to_owned()));
        Ok(Self {
            server: name.to_owned(),
            allowed: command,
            redactor: Redactor::new(values),
            env,
        })
    }

    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Starts it. Lines of more than `max_bytes` end the conversation.
    pub fn start(&self, max_bytes: usize) -> Result<(Process, ChildStdin, BoundedLines), String> {
        let (program, args) = self.allowed.argv.split_first().ok_or("has no command")?;
        (self.allowed.on_start.0)(&self.server, &command_line(&self.allowed.argv));
        self.spawn(program, args, max_bytes).map_err(|error| {
            format!("`{program}` could not be started: {error}; check that it is installed and in PATH")
        })
    }

    fn spawn(
        &self,
        program: &str,
        args: &[String],
        max_bytes: usize,
    ) -> io::Result<(Process, ChildStdin, BoundedLines)> {
        let passed_on = PASSED_ON
            .iter()
            .filter_map(|name| Some((*name, std::env::var_os(name)?)));
        let given = self.env.iter().map(|(name, value)| (name, value.expose()));
        let mut groups = groups();
        let groups = groups.as_mut().ok_or(io::ErrorKind::Interrupted)?;
        let mut child = tokio::process::Command::new(program)
            .args(args)
            .env_clear()
            .envs(passed_on)
            .envs(given)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is for this program alone, and what the server started ends with it.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let leader = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        let ((Some(stdin), Some(stdout), Some(stderr)), Some(leader)) = (streams, leader) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        groups.push(leader);
        tokio::spawn(end_with(leader));
        let sent_too_much = Arc::new(AtomicBool::new(false));
        let output = BoundedLines {
            inner: stdout,
            limit: max_bytes,
            line: 0,
            exceeded: Arc::clone(&sent_too_much),
        };
        let process = Process {
            leader,
            _child: child,
            words: Words::of(stderr),
            sent_too_much,
            max_bytes,
        };
        Ok((process, stdin, output))
    }
}

/// Groups of processes that were started by this one, by their leaders, unless no further one is to start. No leader is reaped while it is
/// here, so that its number is no other group's.
static GROUPS: Mutex<Option<Vec<Pid>>> = Mutex::new(Some(Vec::new()));

fn groups() -> MutexGuard<'static, Option<Vec<Pid>>> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills every server that this process has started. For whoever ends the process without ending what uses them: no further one starts.
pub(crate) fn kill_servers() {
    for leader in groups().take().unwrap_or_default() {
        let _ = kill_process_group(leader, Signal::KILL);
    }
}

/// Waits for the end of a leader, and leaves it unreaped.
fn end_of(leader: Pid) -> JoinHandle<rustix::io::Result<Option<WaitIdStatus>>> {
    let unreaped = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    tokio::task::spawn_blocking(move || waitid(WaitId::Pid(leader), unreaped))
}

/// Kills what a leader has started once it has ended itself: that may hold its streams open, for which nobody waits then.
async fn end_with(leader: Pid) {
    let _ = end_of(leader).await;
    let groups = groups();
    // One that is not listed any more may be reaped.
    if groups.as_ref().is_some_and(|groups| groups.contains(&leader)) {
        let _ = kill_process_group(leader, Signal::KILL);
    }
}

/// The process of a server; it and what it started end when this is dropped.
pub(super) struct Process {
    leader: Pid,
    /// Reaped when it is dropped, after its group was killed.
    _child: Child,
    words: Words,
    sent_too_much: Arc<AtomicBool>,
    max_bytes: usize,
}

impl Drop for Process {
    fn drop(&mut self) {
        let mut groups = groups();
        let _ = kill_process_group(self.leader, Signal::KILL);
        if let Some(groups) = groups.as_mut() {
            groups.retain(|leader| *leader != self.leader);
        }
    }
}

impl Process {
    /// Says what it did that explains an end of the conversation.
    pub async fn last_words(&self) -> Option<String> {
        if self.sent_too_much.load(Ordering::Relaxed) {
            return Some(format!(
                "it sent a message of more than {} bytes, the limit",
                self.max_bytes
            ));
        }
        let words = self.words.last().await;
        match (self.ended().await, words.is_empty()) {
            (None, true) => None,
            (None, false) => Some(format!("it said last: {words}")),
            (Some(status), true) => Some(format!("it ended with {status} and said nothing")),
            (Some(status), false) => Some(format!("it ended with {status} and said: {words}")),
        }
    }

    /// Reports how it ended, if it ends now: its streams are closed a moment before.
    async fn ended(&self) -> Option<String> {
        let ended = tokio::time::timeout(WORDS_DEADLINE, end_of(self.leader)).await;
        let status = ended.ok()?.ok()?.ok()??;
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Some(format!("exit status: {code}")),
            (None, signal) => signal.map(|signal| format!("signal: {signal}")),
        }
    }
}

/// The end of what a process writes to its standard error.
struct Words {
    end: Arc<Mutex<Vec<u8>>>,
    is_whole: CancellationToken,
}

impl Words {
    fn of(mut stderr: ChildStderr) -> Self {
        let end = Arc::new(Mutex::new(Vec::new()));
        let is_whole = CancellationToken::new();
        let (written, closed) = (Arc::clone(&end), is_whole.clone().drop_guard());
        tokio::spawn(async move {
            let _closed = closed;
            let mut buffer = [0; 1_024];
            while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
                let mut end = written.lock().unwrap_or_else(PoisonError::into_inner);
                end.extend_from_slice(&buffer[..count]);
                let excess = end.len().saturating_sub(LONGEST_WORDS);
                end.drain(..excess);
            }
        });
        Self { end, is_whole }
    }

    async fn last(&self) -> String {
        // Whatever it started may hold the stream open.
        let _ = tokio::time::timeout(WORDS_DEADLINE, self.is_whole.cancelled()).await;
        let end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        let end = String::from_utf8_lossy(&end);
        end.trim().lines().next_back().unwrap_or_default().to_owned()
    }
}

/// Standard output that ends at a line that is too long: whoever reads it holds a line as a whole.
pub(super) struct BoundedLines {
    inner: ChildStdout,
    limit: usize,
    /// Bytes of the line that is not at its end.
    line: usize,
    exceeded: Arc<AtomicBool>,
}

impl AsyncRead for BoundedLines {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.exceeded.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        for part in buffer.filled()[before..].split_inclusive(|byte| *byte == b'\n') {
            let is_whole = part.ends_with(b"\n");
            self.line += part.len() - usize::from(is_whole);
            if self.line > self.limit {
                self.exceeded.store(true, Ordering::Relaxed);
                break;
            }
            if is_whole {
                self.line = 0;
            }
        }
        if self.exceeded.load(Ordering::Relaxed) {
            buffer.set_filled(before);
        }
        Poll::Ready(Ok(()))
    }
}
