//! A program, in an interpreter of its own.

use std::io;
use std::time::Duration;

use codegen_interpreter::protocol::{
    Program, ProgramEnd, ReplyOutcome, ToWorker, WorkerEvent, WorkerLimits, WorkerReply,
};
use monty::{MontyRun, RunProgress};
use monty_types::{
    CompileOptions, ExcType, MontyException, MontyObject, NameLookupResult, PrintWriter, ResourceLimits,
    ResourceTracker,
};

use crate::calls::{Batch, Calls, Resumption};
use crate::link::{self, Received};
use crate::printed::Printed;
use crate::source::{CompiledSource, RAISE, RECORD, WAIT};
use crate::values::{DecodedValue, Encoded, NO_ROOM, cut_of, encodable, str_of};
use crate::{fault, memory, refusal};

/// The longest message that starts a program.
const MOST_PROGRAM: usize = 8 * 1024 * 1024;
/// Name of the program in a traceback.
const FILE: &str = "program.py";

type Message = WorkerEvent<Encoded>;
type Progress = Result<RunProgress, MontyException>;

/// Runs a program of ours before this process is confined: regular expressions count the processors once, which stand in files.
pub(crate) fn warm() -> Result<(), String> {
    let code = "import re\nimport json\nimport datetime\n'{:>5}'.format(re.sub('(a)|b', 'c', 'ab'))";
    let source = CompiledSource::new(code, &[]);
    let mut execution = Execution {
        calls: Calls::default(),
        printed: Printed::new(0),
    };
    match execution.run(source.text, &WorkerLimits::default()) {
        Ok(Some(Ok(_))) => Ok(()),
        Ok(Some(Err(error))) => Err(error.to_string()),
        Ok(None) => Err("the host is gone".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Runs one program, unless the host is gone.
pub(crate) fn serve() -> io::Result<()> {
    let Received::Message(message) = link::receive(MOST_PROGRAM)? else {
        return Ok(());
    };
    let ToWorker::<DecodedValue>::Run(run) = serde_json::from_slice(&message)? else {
        return Err(invalid("a program was expected"));
    };
    drop(message);
    match execute(run)? {
        Some(end) => link::send(&end),
        None => Ok(()),
    }
}

/// Runs one program to its end; nothing where the host is gone before.
fn execute(run: Program) -> io::Result<Option<Message>> {
    memory::limit(run.limits.memory_bytes)?;
    let source = CompiledSource::new(&run.code, &run.functions);
    let lines_before = source.lines_before;
    let mut execution = Execution {
        calls: Calls::new(run.functions, &run.limits),
        printed: Printed::new(run.limits.print_bytes),
    };
    let ended = execution.run(source.text, &run.limits)?;
    memory::lift()?;
    Ok(ended.map(|ended| execution.report(ended, lines_before)))
}

struct Execution {
    calls: Calls,
    printed: Printed,
}

/// Answer of the host.
enum Answer {
    Replies(Vec<WorkerReply<DecodedValue>>),
    /// It is larger than what is left of the memory.
    NoRoom,
    /// The host is gone.
    End,
}

impl Execution {
    fn run(
        &mut self,
        source: String,
        limits: &WorkerLimits,
    ) -> io::Result<Option<Result<MontyObject, MontyException>>> {
        let mut progress = self.start(source, limits);
        loop {
            progress = match progress {
                Ok(RunProgress::Complete(value)) => return Ok(Some(Ok(value))),
                Err(error) => return Ok(Some(Err(error))),
                Ok(RunProgress::FunctionCall(mut call)) => {
                    let args = std::mem::take(&mut call.args);
                    match self.calls.called(&call.function_name, args, call.call_id) {
                        Resumption::Now(result) => call.resume(result, self.writer()),
                        Resumption::Later => call.resume_pending(self.writer()),
                    }
                }
                Ok(RunProgress::NameLookup(lookup)) => {
                    lookup.resume(NameLookupResult::Undefined, self.writer())
                }
                Ok(RunProgress::OsCall(call)) => {
                    let refused = refusal::of(&call.function_call);
                    call.resume(refused, self.writer())
                }
                Ok(RunProgress::ResolveFutures(suspended)) => {
                    let Batch {
                        calls,
                        waiting,
                        refused: mut results,
                    } = self.calls.batch();
                    match ask(calls)? {
                        Answer::End => return Ok(None),
                        Answer::NoRoom => suspended.abort(no_room(), self.writer()),
                        Answer::Replies(_) if results.is_empty() && waiting.is_empty() => {
                            suspended.abort(deadlock(), self.writer())
                        }
                        Answer::Replies(replies) => {
                            for ((place, future), reply) in waiting.into_iter().zip(replies) {
                                results.push((future, self.calls.outcome(place, result(reply.outcome))));
                            }
                            suspended.resume(results, self.writer())
                        }
                    }
                }
            };
        }
    }

    fn start(&mut self, source: String, limits: &WorkerLimits) -> Progress {
        let functions = [RECORD, WAIT, RAISE].map(str::to_owned);
        let values = functions.clone().map(|name| MontyObject::Function {
            name,
            docstring: None,
        });
        let resources = ResourceLimits {
            max_duration: Some(Duration::from_millis(limits.time_ms)),
            max_memory: usize::try_from(limits.memory_bytes).ok(),
            max_recursion_depth: usize::try_from(limits.recursion).unwrap_or(usize::MAX),
            ..ResourceLimits::default()
        };
        MontyRun::new(source, FILE, functions.to_vec(), CompileOptions::default())?.start(
            values.to_vec(),
            ResourceTracker::new(resources),
            self.writer(),
        )
    }

    fn writer(&mut self) -> PrintWriter<'_> {
        PrintWriter::Callback(&mut self.printed)
    }

    fn report(self, ended: Result<MontyObject, MontyException>, lines_before: u32) -> Message {
        let printed = self.printed.into_text();
        let never_awaited = self.calls.never_awaited();
        match ended {
            Err(error) => WorkerEvent::Raised(fault::raised(&error, lines_before, never_awaited, printed)),
            Ok(value) => match never_awaited.or_else(|| coroutine(&value)) {
                Some(name) => WorkerEvent::Raised(fault::forgotten(name, printed)),
                None => WorkerEvent::Finished(finished(value, printed, self.calls.most_bytes())),
            },
        }
    }
}

fn finished(value: MontyObject, printed: String, most_bytes: u64) -> ProgramEnd<Encoded> {
    let text = str_of(&value);
    let cut = cut_of(&value, &text);
    let value = encodable(value, most_bytes).ok().map(|(value, _)| value);
    ProgramEnd {
        value,
        text,
        cut,
        printed,
    }
}

/// The name of the program's own `async def` whose coroutine is the last value.
fn coroutine(value: &MontyObject) -> Option<&str> {
    match value {
        MontyObject::Repr(text) => text.strip_prefix("<coroutine object ")?.strip_suffix('>'),
        _ => None,
    }
}

/// Sends these calls and waits for their outcomes.
fn ask(calls: Vec<codegen_interpreter::protocol::WorkerCall<Encoded>>) -> io::Result<Answer> {
    if calls.is_empty() {
        return Ok(Answer::Replies(Vec::new()));
    }
    let ids: Vec<u32> = calls.iter().map(|call| call.id).collect();
    link::send(&WorkerEvent::Calls(calls))?;
    let message = match link::receive(memory::room())? {
        Received::Message(message) => message,
        Received::TooLarge => return Ok(Answer::NoRoom),
        Received::End => return Ok(Answer::End),
    };
    match serde_json::from_slice::<ToWorker<DecodedValue>>(&message) {
        Ok(ToWorker::Answer { results }) if results.iter().map(|reply| reply.id).eq(ids) => {
            Ok(Answer::Replies(results))
        }
        Ok(_) => Err(invalid("the outcomes of the calls were expected")),
        Err(error) if error.to_string().starts_with(NO_ROOM) => Ok(Answer::NoRoom),
        Err(error) => Err(error.into()),
    }
}

fn result(outcome: ReplyOutcome<DecodedValue>) -> Result<MontyObject, MontyException> {
    match outcome {
        ReplyOutcome::Return(DecodedValue(value)) => Ok(value),
        ReplyOutcome::Raise { kind, message } => Err(refusal::raised(&kind, message)),
    }
}

fn no_room() -> MontyException {
    MontyException::new(
        ExcType::MemoryError,
        Some("the tools' replies are larger than what is left of the program's memory".to_owned()),
    )
}

fn deadlock() -> MontyException {
    MontyException::runtime_error("the program waits for something that is no call of a tool")
}

fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}
