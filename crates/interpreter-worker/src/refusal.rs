//! Requests to a host that the interpreter would make and that get nowhere: files, environment, clock.

use monty_types::{ExcType, ExtFunctionResult, MontyException, OsFunctionCall};

/// The exception for a call of the operating system.
pub(crate) fn of(call: &OsFunctionCall) -> ExtFunctionResult {
    let name = call.name();
    let what = match call {
        OsFunctionCall::DateToday | OsFunctionCall::DateTimeNow(_) => "there is no clock here",
        OsFunctionCall::Getenv(_) | OsFunctionCall::GetEnviron => "there is no environment here",
        _ => "there are no files here",
    };
    let message =
        format!("{name}: {what}, nor a network; only the tools reach anything outside of this program");
    MontyException::new(ExcType::PermissionError, Some(message)).into()
}

/// The exception of a tool. One that the interpreter has not keeps its name in the message.
pub(crate) fn raised(kind: &str, message: String) -> MontyException {
    let own: Option<ExcType> = kind.parse().ok();
    // These would pass by every `except Exception` of the program.
    let own = own.filter(|own| own.is_subclass_of(ExcType::Exception));
    if let Some(own) = own {
        return MontyException::new(own, Some(message));
    }
    let derived = DERIVED.iter().find(|(name, _)| *name == kind);
    let base = derived.map_or(ExcType::RuntimeError, |(_, base)| *base);
    MontyException::new(base, Some(format!("{kind}: {message}")))
}

/// Exceptions of Python's that the interpreter has not, each with one that it has: what Python derives it from.
pub(crate) const DERIVED: [(&str, ExcType); 10] = [
    ("BlockingIOError", ExcType::OSError),
    ("BrokenPipeError", ExcType::OSError),
    ("ConnectionAbortedError", ExcType::OSError),
    ("ConnectionError", ExcType::OSError),
    ("ConnectionRefusedError", ExcType::OSError),
    ("ConnectionResetError", ExcType::OSError),
    ("EnvironmentError", ExcType::OSError),
    ("IOError", ExcType::OSError),
    ("InterruptedError", ExcType::OSError),
    ("UnicodeError", ExcType::ValueError),
];
