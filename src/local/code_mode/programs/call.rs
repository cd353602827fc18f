//! Calls of finished programs: each is a run in the sandbox of its task, made once for equal arguments.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};
use tokio::sync::{Mutex as AsyncMutex, Semaphore};

use super::{Programs, digest};
use crate::local::code_mode::runs::{OUTPUTS, Runs};
use crate::local::folder::{FolderError, io_error};
use crate::local::objects::Objects;
use crate::local::run::{FinishedTask, LocalRunError, LocalRunOptions, run as run_program, write};
use codegen_api::CodeGenRun;
use codegen_api::run::{RunInput, RunSource};
use codegen_api::source::ContentSource;
use codegen_code_mode::journal::CallOutcome;
use codegen_core::code_mode::{FileHandle, SourcedTool, ToolOrigin, handles, run_inputs, run_result};
use codegen_core::digest::sha256_hex;
use codegen_core::run::RunEnd;
use codegen_egress::AllowedHost;
use codegen_engine::code_mode::clients::not_here;
use codegen_engine::code_mode::{CallKey, Made, ToolCaller};
use codegen_sources::{place, usable};

/// Hex digits that distinguish runs of one task.
const NAME_DIGITS: usize = 12;
/// Programs that run at once where the machine does not say how many it can.
const USUAL_ROOM: usize = 2;
/// Bytes of the longest character.
const LONGEST_CHARACTER: usize = 4;

/// Makes calls of finished programs.
pub(in crate::local::code_mode) struct ProgramCaller<'a> {
    programs: Programs,
    runs: &'a Runs,
    /// Secrets of sandboxes.
    objects: &'a Objects,
    /// Hosts that they reach besides public addresses.
    allowed_hosts: &'a [AllowedHost],
    /// For programs that run at once.
    room: Semaphore,
    /// Runs under way by name: an equal call waits for the first one.
    under_way: Mutex<BTreeMap<String, Arc<AsyncMutex<()>>>>,
}

impl<'a> ProgramCaller<'a> {
    /// Calls of `programs`, recorded as `runs`.
    pub fn new(
        programs: Programs,
        runs: &'a Runs,
        (objects, allowed_hosts): (&'a Objects, &'a [AllowedHost]),
    ) -> Self {
        let room = std::thread::available_parallelism().map_or(USUAL_ROOM, usize::from);
        Self {
            programs,
            runs,
            objects,
            allowed_hosts,
            room: Semaphore::new(room),
            under_way: Mutex::default(),
        }
    }

    /// Returns the result of the run for a call, which may be recorded already, or what the call came to instead.
    async fn result(
        &self,
        tool: &SourcedTool,
        finished: &FinishedTask,
        arguments: &Map<String, Value>,
    ) -> Result<Value, Made> {
        let inputs = run_inputs(&tool.tool, arguments).map_err(|why| invalid(&why))?;
        for (parameter, handle) in handles(&tool.tool, arguments) {
            self.path_of(&handle)
                .map_err(|why| invalid(&format!("{parameter}: {why}")))?;
        }
        let name = name_of(finished, &inputs);
        let turn = self.turn(&name);
        let _turn = turn.lock().await;
        let recorded = self.runs.find(&name).map_err(|error| blocked(&error))?;
        let run = match recorded {
            Some(run) => run,
            None => self.run(&name, finished, inputs).await?,
        };
        let outputs = run.status.map(|status| status.outputs).unwrap_or_default();
        Ok(run_result(&name, &outputs, |_| None))
    }

    /// Runs the program, and records what it wrote.
    async fn run(
        &self,
        name: &str,
        finished: &FinishedTask,
        inputs: Vec<RunInput>,
    ) -> Result<CodeGenRun, Made> {
        // An error means that it is closed, which nobody does.
        let _room = self.room.acquire().await;
        let begun = self.runs.begin().map_err(|error| blocked(&error))?;
        let given = tempfile::tempdir().map_err(|error| not_run(&LocalRunError::NoTemporaryFolder(error)))?;
        let options = LocalRunOptions {
            inputs: self.given(&inputs, given.path())?,
            output_dir: Some(begun.path().to_owned()),
            allowed_hosts: self.allowed_hosts.to_vec(),
            ..LocalRunOptions::default()
        };
        let ran = Box::pin(run_program(finished, &options, self.objects, &|_| {})).await;
        let mut ran = ran.map_err(|error| not_run(&error))?;
        let outputs = match ran.end {
            RunEnd::Succeeded(outputs) => outputs,
            RunEnd::Failed(failure) => {
                let message = format!("the run {name} has failed: {}", failure.message);
                return Err(Made::Ended(raised("RuntimeError", message)));
            }
        };
        write::write(&begun.path().join(OUTPUTS), &outputs).map_err(|error| blocked(&error))?;
        drop(ran.disk);
        ran.object.metadata.name = Some(name.to_owned());
        ran.object.spec.inputs = inputs;
        let recorded = self.runs.record(name, &ran.object, &begun);
        recorded.map_err(|error| blocked(&error))?;
        Ok(ran.object)
    }

    /// The inputs as a command line has them; texts of files are written to `folder`.
    fn given(&self, inputs: &[RunInput], folder: &Path) -> Result<Vec<(String, String)>, Made> {
        let text = |input: &RunInput| match &input.source {
            None => Ok(input.value.clone().unwrap_or_default()),
            Some(source) => {
                let path = self.content(&input.name, source, folder)?;
                Ok(format!("@{}", path.display()))
            }
        };
        let inputs = inputs.iter();
        inputs
            .map(|input| Ok((input.name.clone(), text(input)?)))
            .collect()
    }

    /// Returns the path of an input's content.
    fn content(&self, input: &str, source: &RunSource, folder: &Path) -> Result<PathBuf, Made> {
        if let Some(output) = &source.run_output {
            let handle = FileHandle {
                run: output.run.clone(),
                output: output.output.clone(),
                sha256: source.sha256.clone().unwrap_or_default(),
            };
            let path = self.path_of(&handle);
            return path.map_err(|why| invalid(&format!("{input}: {why}")));
        }
        let text = source.inline.as_deref().unwrap_or_default();
        let path = write_text(input, text, &folder.join(input));
        path.map_err(|error| blocked(&io_error("write the text of a file in", folder)(error)))
    }

    /// Returns the path of what a handle stands for. Of another question's run nothing is passed on, whatever a program makes up.
    fn path_of(&self, handle: &FileHandle) -> Result<PathBuf, String> {
        match self.runs.output(handle) {
            Ok(Some(path)) => Ok(path),
            Ok(None) => Err(format!("no tool gave the file {}/{}", handle.run, handle.output)),
            Err(error) => Err(error.to_string()),
        }
    }

    fn turn(&self, name: &str) -> Arc<AsyncMutex<()>> {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(under_way.entry(name.to_owned()).or_default())
    }
}

impl ToolCaller for ProgramCaller<'_> {
    async fn call(&self, tool: &SourcedTool, _: &CallKey, arguments: &Map<String, Value>) -> Made {
        let finished = match &tool.origin {
            ToolOrigin::Task { name, .. } => self.programs.get(name),
            _ => None,
        };
        let Some(finished) = finished else {
            return not_here(tool);
        };
        let result = Box::pin(self.result(tool, finished, arguments)).await;
        result.map_or_else(|made| made, |value| Made::Ended(CallOutcome::Returned(value)))
    }

    async fn read_text(&self, handle: &Value, limit: usize) -> Made {
        let Some(handle) = FileHandle::read(handle) else {
            return invalid("this is no file: pass on what a tool gave");
        };
        let named = format!("{}/{}", handle.run, handle.output);
        let path = match self.path_of(&handle) {
            Ok(path) => path,
            Err(why) => return invalid(&why),
        };
        if path.is_dir() {
            return invalid(&format!("{named} is a folder, which read_text does not read"));
        }
        match beginning(&path, limit) {
            Ok(text) if text.contains('\0') => invalid(&format!("{named} is no text")),
            Ok(text) => Made::Ended(CallOutcome::Returned(Value::String(text))),
            Err(error) => invalid(&format!("{named} cannot be read: {error}")),
        }
    }
}

/// The name of the run of a program with these inputs.
fn name_of(finished: &FinishedTask, inputs: &[RunInput]) -> String {
    // Plain data: it becomes JSON always.
    let decisive = serde_json::to_string(&(digest(finished), inputs)).unwrap_or_default();
    let mut digest = sha256_hex(decisive.as_bytes());
    digest.truncate(NAME_DIGITS);
    format!("{}-{digest}", finished.task.name)
}

/// Writes the text of a file, whose name has the ending that it has in a cluster.
fn write_text(input: &str, text: &str, folder: &Path) -> io::Result<PathBuf> {
    let named = place(ContentSource::Inline(text), input, false, |_| None);
    let file_name = named.map_or_else(|_| input.to_owned(), |(_, name)| usable(&name, input));
    fs::create_dir_all(folder)?;
    let path = folder.join(file_name);
    fs::write(&path, text)?;
    Ok(path)
}

/// At most `limit` characters of a file.
fn beginning(path: &Path, limit: usize) -> io::Result<String> {
    let mut bytes = Vec::new();
    let most = limit.saturating_mul(LONGEST_CHARACTER);
    let file = File::open(path)?;
    file.take(u64::try_from(most).unwrap_or(u64::MAX))
        .read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).chars().take(limit).collect())
}

/// A run that did not come about: what is wrong with its inputs is the program's matter.
fn not_run(error: &LocalRunError) -> Made {
    match error {
        LocalRunError::Faults(_) => invalid(&error.messages().join("; ")),
        _ => Made::Blocked {
            message: error.to_string(),
            needs_person: error.exit_code() != 1,
        },
    }
}

fn blocked(error: &FolderError) -> Made {
    Made::Blocked {
        message: error.to_string(),
        needs_person: false,
    }
}

fn invalid(why: &str) -> Made {
    Made::Ended(raised("ValueError", why.to_owned()))
}

fn raised(kind: &str, message: String) -> CallOutcome {
    CallOutcome::Raised {
        kind: kind.to_owned(),
        message,
    }
}
