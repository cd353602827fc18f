//! The calls of tools that a program made.

use std::collections::BTreeMap;

use codegen_interpreter::protocol::{WorkerCall, WorkerLimits};
use monty_types::{ExcType, ExtFunctionResult, MontyException, MontyObject};

use crate::source::{RAISE, RECORD, WAIT};
use crate::values::{Encoded, UnencodableValue, encodable};

/// All calls of a run so far.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    functions: Vec<String>,
    most_bytes: u64,
    recorded: Vec<Recorded>,
    /// Number of the next call that goes out.
    next: u32,
}

#[derive(Debug)]
struct Recorded {
    name: String,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// Called, and not awaited.
    Made(Arguments),
    /// Awaited: the interpreter waits for the future of this number.
    Awaited(u32, Arguments),
    /// Gone out.
    Sent,
    /// Come back with this exception, which is raised when the program goes on.
    Failed(MontyException),
    /// Nothing is left to do.
    Done,
}

#[derive(Debug, Default)]
struct Arguments {
    args: Vec<Encoded>,
    kwargs: BTreeMap<String, Encoded>,
    bytes: u64,
}

/// Calls that go out together, and what comes back to the program at once.
pub(crate) struct Batch {
    pub(crate) calls: Vec<WorkerCall<Encoded>>,
    /// For each call its place among the recorded ones, and the interpreter's future.
    pub(crate) waiting: Vec<(usize, u32)>,
    /// Futures of calls that had no room, which fail at once.
    pub(crate) refused: Vec<(u32, ExtFunctionResult)>,
}

/// Continuation of the interpreter after a call of ours.
pub(crate) enum Resumption {
    /// With this value or exception.
    Now(ExtFunctionResult),
    /// The value comes later.
    Later,
}

impl Calls {
    pub(crate) fn new(functions: Vec<String>, limits: &WorkerLimits) -> Self {
        Self {
            functions,
            most_bytes: limits.value_bytes,
            ..Self::default()
        }
    }

    /// Bytes that the values of this run may have.
    pub(crate) const fn most_bytes(&self) -> u64 {
        self.most_bytes
    }

    /// Handles a call of the definitions before the program.
    pub(crate) fn called(&mut self, function: &str, args: Vec<MontyObject>, future: u32) -> Resumption {
        let mut args = args.into_iter();
        let outcome = match (function, args.next(), args.next(), args.next()) {
            (
                RECORD,
                Some(MontyObject::String(name)),
                Some(MontyObject::Tuple(args)),
                Some(MontyObject::Dict(kwargs)),
            ) if self.functions.contains(&name) => self.record(name, args, kwargs),
            (RAISE, Some(MontyObject::Int(number)), None, None) => Err(self.raise(number)),
            (WAIT, Some(MontyObject::Int(number)), None, None) => match self.wait(number, future) {
                Ok(()) => return Resumption::Later,
                Err(error) => Err(error),
            },
            _ => Err(MontyException::new(
                ExcType::NameError,
                Some(format!("name '{function}' is not defined")),
            )),
        };
        Resumption::Now(match outcome {
            Ok(value) => value.into(),
            Err(error) => error.into(),
        })
    }

    fn record(
        &mut self,
        name: String,
        args: Vec<MontyObject>,
        kwargs: impl IntoIterator<Item = (MontyObject, MontyObject)>,
    ) -> Result<MontyObject, MontyException> {
        let mut arguments = Arguments::default();
        let refuse = |at: String, refused: UnencodableValue| {
            let message = format!("{name}(): argument {at}: {}", refused.message);
            MontyException::new(refused.kind, Some(message))
        };
        for (position, value) in args.into_iter().enumerate() {
            let (value, bytes) = encodable(value, self.most_bytes)
                .map_err(|error| refuse((position + 1).to_string(), error))?;
            arguments.bytes += bytes;
            arguments.args.push(value);
        }
        for (key, value) in kwargs {
            let MontyObject::String(key) = key else { continue };
            let (value, bytes) =
                encodable(value, self.most_bytes).map_err(|error| refuse(key.clone(), error))?;
            arguments.bytes += bytes;
            arguments.kwargs.insert(key, value);
        }
        self.recorded.push(Recorded {
            name,
            stage: Stage::Made(arguments),
        });
        let number = i64::try_from(self.recorded.len() - 1).unwrap_or(i64::MAX);
        Ok(MontyObject::Int(number))
    }

    fn wait(&mut self, number: i64, future: u32) -> Result<(), MontyException> {
        let call = usize::try_from(number)
            .ok()
            .and_then(|number| self.recorded.get_mut(number));
        if let Some(call) = call
            && let Stage::Made(arguments) = &mut call.stage
        {
            call.stage = Stage::Awaited(future, std::mem::take(arguments));
            return Ok(());
        }
        Err(MontyException::runtime_error(
            "cannot reuse already awaited coroutine",
        ))
    }

    /// All calls that are awaited, in the order in which they were made.
    pub(crate) fn batch(&mut self) -> Batch {
        let mut batch = Batch {
            calls: Vec::new(),
            waiting: Vec::new(),
            refused: Vec::new(),
        };
        let mut rest = self.most_bytes;
        for (place, call) in self.recorded.iter_mut().enumerate() {
            let Stage::Awaited(future, arguments) = &mut call.stage else {
                continue;
            };
            let (future, arguments) = (*future, std::mem::take(arguments));
            call.stage = Stage::Sent;
            let Some(left) = rest.checked_sub(arguments.bytes) else {
                call.stage = Stage::Failed(no_room(&call.name, self.most_bytes));
                batch.refused.push((future, MontyObject::None.into()));
                continue;
            };
            rest = left;
            batch.waiting.push((place, future));
            batch.calls.push(WorkerCall {
                id: self.next,
                name: call.name.clone(),
                args: arguments.args,
                kwargs: arguments.kwargs,
            });
            self.next += 1;
        }
        batch
    }

    /// Returns what a future of the last batch resolves to.
    pub(crate) fn outcome(
        &mut self,
        place: usize,
        outcome: Result<MontyObject, MontyException>,
    ) -> ExtFunctionResult {
        let (stage, value) = match outcome {
            Ok(value) => (Stage::Done, MontyObject::Tuple(vec![value])),
            Err(error) => (Stage::Failed(error), MontyObject::None),
        };
        if let Some(call) = self.recorded.get_mut(place) {
            call.stage = stage;
        }
        value.into()
    }

    /// The exception of a call that failed.
    fn raise(&mut self, number: i64) -> MontyException {
        let call = usize::try_from(number)
            .ok()
            .and_then(|number| self.recorded.get_mut(number));
        match call.map(|call| std::mem::replace(&mut call.stage, Stage::Done)) {
            Some(Stage::Failed(error)) => error,
            _ => MontyException::runtime_error("no such call has failed"),
        }
    }

    /// The first tool whose call was never awaited.
    pub(crate) fn never_awaited(&self) -> Option<&str> {
        let call = self
            .recorded
            .iter()
            .find(|call| matches!(call.stage, Stage::Made(_)))?;
        Some(&call.name)
    }
}

fn no_room(name: &str, most: u64) -> MontyException {
    let message = format!(
        "{name}(): the arguments of the calls that are awaited together have more than {most} bytes; await fewer at once"
    );
    MontyException::new(ExcType::ValueError, Some(message))
}
