//! Reading of data files in a child process with limits, so that a hostile file cannot hurt the parent.
//!
//! The child reads one request a line from its standard input and writes one reply a line to its standard output.

use std::ffi::OsString;
use std::io::{self, BufRead, Write};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use codegen_syscall_filter::{AllowedCalls, FilterAction};
use rustix::process::{Resource, Rlimit, Signal, setrlimit};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio::sync::Semaphore;

use crate::checks::rule::ColumnCheck;
use crate::format::FileFormat;

use super::DataError;
use super::checks::{self, CheckReport};
use super::column::distinct::ValueHashes;
use super::describe::{DescribeOptions, describe_source};
use super::joins::{JoinProfile, joins};
use super::outputs::{self, Declared, OutputContent, OutputFault, OutputValue};
use super::profile::{Content, SampleProfile, TextProfile};
use super::source::Source;
use super::turns::Turns;

const MIB: u64 = 1024 * 1024;
const STDERR_LIMIT: u64 = 4096;
/// Most bytes of all answers of a child. Those to honest files are of some hundred KiB.
const MOST_ANSWERED: u64 = 64 * MIB;
/// System calls of a child: it reads files, and writes to whoever started it.
const READER: AllowedCalls<'_> = AllowedCalls {
    reads: &[0],
    writes: &[1, 2],
    opens_files: true,
};
/// Hashes of values kept for joins (16 MiB); of further columns those that an estimate takes.
const MOST_HASHES: usize = 2 * 1024 * 1024;

/// Request to the child.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ChildRequest {
    /// Describe a sample.
    Describe {
        /// Source of the file.
        source: Source,
        /// Name of the sample.
        name: String,
        /// File name as the program sees it.
        file_name: String,
        /// Options of the description.
        options: DescribeOptions,
    },
    /// Find the columns on which the samples described before may be joined.
    Join,
    /// Check the values of a file.
    Check {
        /// Source of the file.
        source: Source,
        /// File name, or the name of the output.
        file_name: String,
        /// Declared format; otherwise the content decides.
        format: Option<FileFormat>,
        /// Checks that must hold.
        checks: Vec<ColumnCheck>,
    },
    /// Check that a file is of its declared format.
    CheckFormat {
        /// Source of the file.
        source: Source,
        /// Name of the output.
        name: String,
        /// Its declared format.
        format: FileFormat,
    },
    /// Read outputs as their types.
    ParseOutputs {
        /// Declared outputs with what lies there.
        outputs: Vec<(Declared, OutputContent)>,
    },
}

/// Answer of the child.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub enum Response {
    /// The description of a sample.
    Profile(Box<SampleProfile>),
    /// Columns on which samples may be joined.
    Joins(Vec<JoinProfile>),
    /// Report of the checks.
    Report(CheckReport),
    /// Fault of a file's format; `None` where it is of its format.
    Format(Option<String>),
    /// One result an output, in order.
    Outputs(Vec<Result<OutputValue, OutputFault>>),
}

impl ChildRequest {
    /// The file that it is about, as the user knows it.
    fn file(&self) -> String {
        match self {
            Self::Describe { file_name, .. } | Self::Check { file_name, .. } => file_name.clone(),
            Self::Join => "the samples".to_owned(),
            Self::CheckFormat { name, .. } => format!("the output {name}"),
            Self::ParseOutputs { outputs } => {
                let names: Vec<_> = outputs.iter().map(|(output, _)| output.name.as_str()).collect();
                format!("the outputs {}", names.join(", "))
            }
        }
    }

    /// Answers in this process, which has answered others before.
    fn answer(&self, session: &mut Session) -> Result<Response, DataError> {
        match self {
            Self::Describe {
                source,
                name,
                file_name,
                options,
            } => describe_source(source, name, file_name, options)
                .map(|profile| session.retain_join_data(profile)),
            Self::Join => Ok(Response::Joins(joins(&session.profiles))),
            Self::Check {
                source,
                file_name,
                format,
                checks,
            } => checks::evaluate(source, file_name, *format, checks).map(Response::Report),
            Self::CheckFormat { source, format, .. } => {
                Ok(Response::Format(outputs::judge_format(*format, source).err()))
            }
            Self::ParseOutputs { outputs } => {
                let values = outputs
                    .iter()
                    .map(|(output, content)| outputs::parse(output, content))
                    .collect();
                Ok(Response::Outputs(values))
            }
        }
    }
}

/// Samples that a child has described.
#[derive(Debug, Default)]
struct Session {
    profiles: Vec<SampleProfile>,
    hashes: usize,
}

impl Session {
    /// Retains what joins are computed from, and answers with the rest.
    fn retain_join_data(&mut self, mut profile: SampleProfile) -> Response {
        let mut kept = profile.clone();
        for table in kept.tables_mut() {
            table.rows.clear();
            for column in &mut table.columns {
                column.top.clear();
                if self.hashes > MOST_HASHES {
                    column.value_hashes.shrink();
                }
                self.hashes += column.value_hashes.len();
            }
        }
        if let Content::Text(text) = &mut kept.content {
            *text = TextProfile::default();
        }
        self.profiles.push(kept);
        for table in profile.tables_mut() {
            for column in &mut table.columns {
                column.value_hashes = ValueHashes::default();
            }
        }
        Response::Profile(Box::new(profile))
    }
}

/// Limits of a child.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ChildLimits {
    /// Address space, bytes.
    pub memory_bytes: u64,
    /// CPU time and wall time, seconds.
    pub seconds: u64,
}

impl Default for ChildLimits {
    fn default() -> Self {
        Self {
            memory_bytes: 256 * MIB,
            seconds: 60,
        }
    }
}

impl ChildLimits {
    /// Puts this process under the limits; it can write no file any more, reach no host and start no process.
    fn apply(self) -> io::Result<()> {
        let hard = |value| Rlimit {
            current: Some(value),
            maximum: Some(value),
        };
        // A core file of a reader would hold the data on the node's disk.
        setrlimit(Resource::Core, hard(0))?;
        // A file of hostile data must not make its reader write anything.
        setrlimit(Resource::Fsize, hard(0))?;
        setrlimit(Resource::As, hard(self.memory_bytes))?;
        // One second more for the hard limit: the soft one ends the process with a signal that says why.
        setrlimit(
            Resource::Cpu,
            Rlimit {
                current: Some(self.seconds),
                maximum: Some(self.seconds + 1),
            },
        )?;
        // A library that asks for more than it needs goes on without it.
        codegen_syscall_filter::enter(&READER, FilterAction::Fail)
    }
}

/// Runs the child: takes its limits from the first line, then answers every further line until the input ends. Call it before any other
/// thread starts.
pub fn serve(mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    serde_json::from_str::<ChildLimits>(&line)?.apply()?;
    let mut session = Session::default();
    loop {
        line.clear();
        if input.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let request: ChildRequest = serde_json::from_str(&line)?;
        let reply = request.answer(&mut session).map_err(|error| error.to_string());
        serde_json::to_writer(&mut output, &reply)?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
}

/// Starts children.
#[derive(Clone, Debug)]
pub struct WorkerClient {
    program: PathBuf,
    args: Vec<OsString>,
    limits: ChildLimits,
    places: Option<Arc<Semaphore>>,
    turns: Turns,
    namespace: String,
}

/// Answers of a child.
#[derive(Debug, Default)]
pub struct Answered {
    /// Its answers, in the order of the requests.
    pub replies: Vec<Result<Response, DataError>>,
    /// Reason that it ended before it had answered all of them.
    pub fault: Option<DataError>,
}

/// End of a child.
struct Ended {
    status: ExitStatus,
    stderr: Vec<u8>,
}

impl WorkerClient {
    /// A client whose children are `program` with `args`, which call `serve`.
    #[must_use]
    pub fn new(program: &Path, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        Self {
            program: program.to_path_buf(),
            args,
            limits: ChildLimits::default(),
            places: None,
            turns: Turns::default(),
            namespace: String::new(),
        }
    }

    /// The same client, which with its clones has no more than `children` at once: what they take together is bounded. Whoever
    /// has to wait for a place does so outside of the time that a child has.
    #[must_use]
    pub fn with_at_most(mut self, children: usize) -> Self {
        self.places = Some(Arc::new(Semaphore::new(children)));
        self
    }

    /// The same client for what belongs to `namespace`: a place that becomes free goes to namespaces by turns.
    #[must_use]
    pub fn in_turn_of(mut self, namespace: &str) -> Self {
        namespace.clone_into(&mut self.namespace);
        self
    }

    /// The same client with other limits.
    #[must_use]
    pub const fn with_limits(mut self, limits: ChildLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Lets one child answer all requests, in order. The outer error is the child's end: it names the file and, where
    /// one was met, the limit; an inner one is the answer to that request. Dropping the future kills the child.
    pub async fn run(
        &self,
        requests: &[ChildRequest],
    ) -> Result<Vec<Result<Response, DataError>>, DataError> {
        let Answered { replies, fault } = self.answered(requests).await?;
        fault.map_or(Ok(replies), Err)
    }

    /// As [`Self::run`], with the answers that were given before the child ended. The error is that there was none.
    pub async fn answered(&self, requests: &[ChildRequest]) -> Result<Answered, DataError> {
        let mut input = to_line(&self.limits)?;
        for request in requests {
            input.extend(to_line(request)?);
        }
        // Outside of the time that a child has: waiting for a place is not the file's fault.
        let _place = match &self.places {
            Some(places) => {
                let _turn = self.turns.take(&self.namespace).await;
                // Nobody closes it.
                places.acquire().await.ok()
            }
            None => None,
        };
        let mut stdout = Vec::new();
        let wall = Duration::from_secs(self.limits.seconds);
        let finished = tokio::time::timeout(wall, self.converse(&input, &mut stdout)).await;
        // Answers before the end count, also where the child was killed.
        let replies = replies(&stdout, requests.len())?;
        let file = || {
            requests
                // The first request without an answer is the one that it died of.
                .get(replies.len())
                .map_or_else(|| "the files".to_owned(), ChildRequest::file)
        };
        let fault = match finished {
            _ if stdout.len() as u64 > MOST_ANSWERED => Some(DataError::Limit {
                file: file(),
                limit: format!("{} MiB of answers", MOST_ANSWERED / MIB),
            }),
            Err(_) => Some(DataError::Limit {
                file: file(),
                limit: format!("{} s", self.limits.seconds),
            }),
            Ok(Err(error)) => return Err(error.into()),
            Ok(Ok(ended)) if ended.status.success() && replies.len() == requests.len() => None,
            Ok(Ok(ended)) => Some(self.fault(file(), &ended)),
        };
        Ok(Answered { replies, fault })
    }

    async fn converse(&self, input: &[u8], stdout: &mut Vec<u8>) -> io::Result<Ended> {
        let mut child = Command::new(&self.program)
            .args(&self.args)
            // The child reads other people's files, and needs no key of this process.
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is for the parent alone: it would look as if the file had crashed its reader.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let Child {
            stdin,
            stdout: child_output,
            stderr: child_errors,
            ..
        } = &mut child;
        let (Some(mut stdin), Some(output), Some(errors)) =
            (stdin.take(), child_output.take(), child_errors.take())
        else {
            return Err(io::Error::other("the child has no pipes"));
        };
        let mut stderr = Vec::new();
        // Whatever a broken reader prints is bounded.
        let mut errors = errors.take(STDERR_LIMIT);
        let mut output = output.take(MOST_ANSWERED + 1);
        // A child that ended early leaves a broken pipe; its status says more.
        let write = async {
            let _ = stdin.write_all(input).await;
            drop(stdin);
            Ok(())
        };
        let read = async {
            if output.read_to_end(stdout).await? as u64 > MOST_ANSWERED {
                // The child is not waited for: nobody reads what it goes on to print.
                return Err(io::Error::from(io::ErrorKind::FileTooLarge));
            }
            Ok(())
        };
        tokio::try_join!(write, read, errors.read_to_end(&mut stderr))?;
        let status = child.wait().await?;
        Ok(Ended { status, stderr })
    }

    fn fault(&self, file: String, ended: &Ended) -> DataError {
        let stderr = String::from_utf8_lossy(&ended.stderr);
        let signal = ended.status.signal();
        // In this order: signals say surely what words on standard error only suggest.
        if signal == Some(Signal::XCPU.as_raw()) {
            return DataError::Limit {
                file,
                limit: format!("{} s of CPU time", self.limits.seconds),
            };
        }
        if signal == Some(Signal::KILL.as_raw()) {
            return DataError::Killed { file };
        }
        // Rust's allocator prints this before it aborts.
        if stderr.contains("memory allocation of") {
            return DataError::Limit {
                file,
                limit: format!("{} MiB of memory", self.limits.memory_bytes / MIB),
            };
        }
        // Some readers of others go down a level of the file by a call, without a bound.
        if stderr.contains("has overflowed its stack") {
            return DataError::TooDeep { file };
        }
        let last_line = stderr
            .lines()
            .rev()
            .find(|line| !line.trim().is_empty())
            .unwrap_or("it said nothing");
        DataError::Crashed {
            file,
            reason: format!("{}: {}", ended.status, last_line.trim()),
        }
    }
}

fn to_line(value: &impl Serialize) -> Result<Vec<u8>, DataError> {
    let mut line = serde_json::to_vec(value).map_err(io::Error::from)?;
    line.push(b'\n');
    Ok(line)
}

/// The replies that a child finished, and one more where it answers what it was not asked.
fn replies(stdout: &[u8], asked: usize) -> Result<Vec<Result<Response, DataError>>, DataError> {
    stdout
        .split_inclusive(|byte| *byte == b'\n')
        // A child that was killed may leave half a line.
        .filter(|line| line.ends_with(b"\n"))
        .take(asked + 1)
        .map(|line| {
            let reply: Result<Response, String> = serde_json::from_slice(line).map_err(io::Error::from)?;
            Ok(reply.map_err(DataError::Reported))
        })
        .collect()
}

#[cfg(test)]
mod tests;
