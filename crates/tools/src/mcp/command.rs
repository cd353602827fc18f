//! MCP servers that are a process of this machine, spoken to over its standard streams.

use std::io;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, ChildStderr, ChildStdin, Command};
use tokio::sync::{Mutex as AsyncMutex, watch};
use tokio_util::codec::{FramedRead, LinesCodec, LinesCodecError};

/// Variables of this process that every server gets. The others may be keys.
const PASSED_ON: &str = "PATH HOME USER LOGNAME SHELL TERM LANG TMPDIR";
/// Bytes of the end of its standard error that are held; of them the last line is shown, which says in a traceback what was wrong.
const LONGEST_WORDS: usize = 400;
/// Time for what a process said last to arrive.
const WORDS_DEADLINE: Duration = Duration::from_millis(500);

/// A program with its arguments that whoever runs this process has allowed to be started.
#[derive(Clone, Debug)]
pub struct AllowedCommand(Vec<String>);

impl AllowedCommand {
    /// For whoever has asked the user, and nobody else.
    #[must_use]
    pub const fn by_the_user(argv: Vec<String>) -> Self {
        Self(argv)
    }
}

/// Groups of processes that were started by this one, by their leaders, unless no further one is to start. No leader is reaped while it is
/// here, so that its number is no other group's.
static GROUPS: Mutex<Option<Vec<Pid>>> = Mutex::new(Some(Vec::new()));

fn groups() -> MutexGuard<'static, Option<Vec<Pid>>> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills every server that this process has started. For whoever ends the process without ending what uses them: no further one starts.
pub fn kill_servers() {
    for leader in groups().take().unwrap_or_default() {
        let _ = kill_process_group(leader, Signal::KILL);
    }
}

/// The process of a server; it and what it started end when this is dropped.
pub(super) struct ServerProcess {
    leader: Pid,
    child: AsyncMutex<Child>,
    words: watch::Receiver<Vec<u8>>,
    /// Says that it sent too much.
    too_much: Arc<OnceLock<String>>,
}

/// Starts a server, and gives what it writes and what it reads. A line of more than `max_bytes` ends what it writes.
pub(super) fn start(
    AllowedCommand(argv): &AllowedCommand,
    max_bytes: usize,
) -> Result<(ServerProcess, impl AsyncRead + Send + Unpin + use<>, ChildStdin), String> {
    let program = argv.first().map_or("", String::as_str);
    let failed = |error: io::Error| {
        format!("`{program}` could not be started: {error}; check that it is installed and in PATH")
    };
    let passed_on = PASSED_ON.split(' ');
    let passed_on = passed_on.filter_map(|name| Some((name, std::env::var_os(name)?)));
    let mut groups = groups();
    let groups = groups.as_mut().ok_or("is not started, for this command ends")?;
    let mut child = Command::new(program)
        .args(argv.iter().skip(1))
        .env_clear()
        .envs(passed_on)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C is for this program alone, and what the server started ends with it.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let leader = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
    let ((Some(stdin), Some(stdout), Some(stderr)), Some(leader)) = (streams, leader) else {
        return Err(failed(io::ErrorKind::BrokenPipe.into()));
    };
    groups.push(leader);
    tokio::task::spawn_blocking(move || {
        // What it has started may hold its streams open, for which nobody waits then. It is not reaped yet.
        let _ = waitid(WaitId::Pid(leader), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        kill(leader);
    });
    let too_much = Arc::new(OnceLock::new());
    let process = ServerProcess {
        leader,
        child: AsyncMutex::new(child),
        words: end_of(stderr),
        too_much: Arc::clone(&too_much),
    };
    let lines = FramedRead::new(stdout, LinesCodec::new_with_max_length(max_bytes));
    let lines = lines.map(move |line| {
        if let Err(LinesCodecError::MaxLineLengthExceeded) = line {
            too_much.get_or_init(|| format!("it sent a message of more than {max_bytes} bytes, the limit"));
        }
        line.map(|line| tokio_util::bytes::Bytes::from(line + "\n"))
            .map_err(io::Error::other)
    });
    Ok((process, tokio_util::io::StreamReader::new(lines), stdin))
}

/// The end of what a process writes to its standard error.
fn end_of(mut stderr: ChildStderr) -> watch::Receiver<Vec<u8>> {
    let (written, end) = watch::channel(Vec::new());
    tokio::spawn(async move {
        let mut buffer = [0; 1_024];
        while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
            written.send_modify(|end| {
                end.extend_from_slice(&buffer[..count]);
                let excess = end.len().saturating_sub(LONGEST_WORDS);
                end.drain(..excess);
            });
        }
    });
    end
}

/// Kills the group of a leader, once.
fn kill(leader: Pid) {
    for groups in groups().iter_mut() {
        if let Some(place) = groups.iter().position(|listed| *listed == leader) {
            let _ = kill_process_group(groups.swap_remove(place), Signal::KILL);
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        kill(self.leader);
    }
}

impl ServerProcess {
    /// Ends it, and says what it did that explains an end of the conversation.
    pub async fn last_words(&self) -> Option<String> {
        if let Some(too_much) = self.too_much.get() {
            return Some(too_much.clone());
        }
        let mut words = self.words.clone();
        // It may go on with its stream open.
        let _ = tokio::time::timeout(WORDS_DEADLINE, words.wait_for(|_| false)).await;
        kill(self.leader);
        // One without a code may have been ended here.
        let status = self.child.lock().await.wait().await.ok();
        let status = status.filter(|status| status.code().is_some());
        let words = String::from_utf8_lossy(&words.borrow()).trim().to_owned();
        let words = words.lines().next_back();
        let said = words.unwrap_or("nothing");
        match status {
            Some(status) => Some(format!("it ended with {status} and said: {said}")),
            None => words.map(|words| format!("it said last: {words}")),
        }
    }
}
