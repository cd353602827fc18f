//! MCP servers that are a process of this machine, spoken to over its standard streams.

use std::pin::Pin;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as SyncMutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use std::{fmt, io};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, ReadBuf};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::watch;
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
/// Bytes of the beginning of a line that is no JSON that are held, of which less is shown.
const UNREAD_BYTES: usize = 4_096;
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
    line: String,
    on_start: OnStart,
    program: String,
    args: Vec<String>,
    env: Vec<(String, Secret)>,
    redactor: Redactor,
    unread: Unread,
}

/// The last line of a process that is no JSON, with why.
type Unread = Arc<SyncMutex<Option<String>>>;

impl Command {
    pub fn new(name: &str, command: AllowedCommand, env: Vec<(String, Secret)>) -> Result<Self, ToolError> {
        let line = command_line(&command.argv);
        let mut argv = command.argv.into_iter();
        let Some(program) = argv.next().filter(|program| !program.is_empty()) else {
            return Err(ToolError::Server {
                server: name.to_owned(),
                why: "has a command without a program: write it as a list, program first".to_owned(),
                is_transient: false,
            });
        };
        let values = env
            .iter()
            .map(|(name, value)| (name.clone(), value.expose().to_owned()));
        Ok(Self {
            server: name.to_owned(),
            line,
            on_start: command.on_start,
            program,
            args: argv.collect(),
            redactor: Redactor::new(values),
            env,
            unread: Unread::default(),
        })
    }

    /// The last line that it sent and that is no JSON, with why.
    pub fn unread(&self) -> Option<String> {
        let unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
        let excerpt = |unread: &String| self.redactor.excerpt(unread, LONGEST_WORDS);
        unread.as_ref().map(excerpt)
    }

    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Starts it. Lines of more than `max_bytes` end the conversation.
    pub fn start(&self, max_bytes: usize) -> Result<(Process, ChildStdin, BoundedLines), String> {
        let passed_on = PASSED_ON
            .iter()
            .filter_map(|name| Some((*name, std::env::var_os(name)?)));
        let given = self.env.iter().map(|(name, value)| (name, value.expose()));
        (self.on_start.0)(&self.server, &self.line);
        let mut groups = groups();
        let mut child = tokio::process::Command::new(&self.program)
            .args(&self.args)
            .env_clear()
            .envs(passed_on)
            .envs(given)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is for this program alone, and what the server started ends with it.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| self.not_started(&error))?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = streams else {
            return Err(self.not_started(&io::ErrorKind::BrokenPipe.into()));
        };
        let sent_too_much = Arc::new(AtomicBool::new(false));
        let output = BoundedLines {
            inner: stdout,
            limit: max_bytes,
            line: Vec::new(),
            unread: Arc::clone(&self.unread),
            exceeded: Arc::clone(&sent_too_much),
        };
        let (group, status) = Group::watch(child).map_err(|error| self.not_started(&error))?;
        groups.retain(|other| other.strong_count() > 0);
        groups.push(Arc::downgrade(&group.0));
        drop(groups);
        let process = Process {
            _group: group,
            status,
            words: Words::of(stderr),
            sent_too_much,
            max_bytes,
        };
        Ok((process, stdin, output))
    }

    fn not_started(&self, error: &io::Error) -> String {
        format!(
            "`{}` could not be started: {error}; check that it is installed and in PATH",
            self.program
        )
    }
}

/// The process of a server; it and what it started end when this is dropped.
pub(super) struct Process {
    _group: Group,
    /// None while it runs.
    status: watch::Receiver<Option<ExitStatus>>,
    words: Words,
    sent_too_much: Arc<AtomicBool>,
    max_bytes: usize,
}

impl Process {
    /// What it did that explains an end of the conversation.
    pub async fn last_words(&self) -> Option<String> {
        if self.sent_too_much.load(Ordering::Relaxed) {
            return Some(format!(
                "it sent a message of more than {} bytes, the limit",
                self.max_bytes
            ));
        }
        let words = self.words.last().await;
        let status = self.ended().await;
        match (status, words.is_empty()) {
            (None, true) => None,
            (None, false) => Some(format!("it said last: {words}")),
            (Some(status), true) => Some(format!("it ended with {status} and said nothing")),
            (Some(status), false) => Some(format!("it ended with {status} and said: {words}")),
        }
    }

    /// Its status, if it ends now: its streams are closed a moment before.
    async fn ended(&self) -> Option<ExitStatus> {
        let mut status = self.status.clone();
        let ended = tokio::time::timeout(WORDS_DEADLINE, status.wait_for(Option::is_some)).await;
        *ended.ok()?.ok()?
    }
}

/// The leader of a group of processes, until they are killed.
type Leader = SyncMutex<Option<Pid>>;

/// Groups that were started by this process.
static GROUPS: SyncMutex<Vec<Weak<Leader>>> = SyncMutex::new(Vec::new());

fn groups() -> MutexGuard<'static, Vec<Weak<Leader>>> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills every server that this process has started. For whoever ends the process without ending what uses them: no further one starts.
pub(crate) fn kill_servers() {
    let groups = groups();
    for leader in groups.iter().filter_map(Weak::upgrade) {
        Group(leader).kill();
    }
    // One that would start now waits for this.
    std::mem::forget(groups);
}

/// A process and what it started, which is killed once: when that process has ended, or when this is dropped.
struct Group(Arc<Leader>);

impl Group {
    /// The group that a child leads, and its status once it has ended. What it started may hold its streams open, for which nobody waits then.
    fn watch(mut child: Child) -> io::Result<(Self, watch::Receiver<Option<ExitStatus>>)> {
        let leader = child.id().and_then(|id| i32::try_from(id).ok());
        let leader = leader.and_then(Pid::from_raw).ok_or(io::ErrorKind::NotFound)?;
        let group = Self(Arc::new(SyncMutex::new(Some(leader))));
        let (sender, status) = watch::channel(None);
        let watched = Self(Arc::clone(&group.0));
        // It is not reaped by this: until it is, its number is no other group's.
        let end = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let ended = tokio::task::spawn_blocking(move || waitid(WaitId::Pid(leader), end));
        tokio::spawn(async move {
            let _ = ended.await;
            watched.kill();
            if let Ok(ended) = child.wait().await {
                sender.send_replace(Some(ended));
            }
        });
        Ok((group, status))
    }

    fn kill(&self) {
        let leader = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(leader) = leader {
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The end of what a process writes to its standard error.
struct Words {
    end: Arc<SyncMutex<Vec<u8>>>,
    is_whole: CancellationToken,
}

impl Words {
    fn of(mut stderr: ChildStderr) -> Self {
        let end = Arc::new(SyncMutex::new(Vec::new()));
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
    /// The line that is not at its end.
    line: Vec<u8>,
    unread: Unread,
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
        let read = &buffer.filled()[before..];
        for part in read.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            let is_whole = part.ends_with(b"\n");
            if self.line.len() - usize::from(is_whole) > self.limit {
                self.line = Vec::new();
                self.exceeded.store(true, Ordering::Relaxed);
                buffer.set_filled(before);
                break;
            }
            if is_whole {
                let line = std::mem::take(&mut self.line);
                self.note(&line);
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl BoundedLines {
    /// Holds a line that is no JSON: the protocol passes over it, and whoever waits in vain is shown it.
    fn note(&self, line: &[u8]) {
        let line = line.trim_ascii();
        let Err(error) = serde_json::from_slice::<Value>(line) else {
            return;
        };
        if line.is_empty() {
            return;
        }
        let start = String::from_utf8_lossy(&line[..line.len().min(UNREAD_BYTES)]);
        let mut unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
        *unread = Some(format!("{error}: {start}"));
    }
}
