//! The process in which a model's short program is run.
//!
//! It confines itself before it reads the first byte of a program: memory, files, processes and system calls are bounded, and nothing
//! of its environment is left. What it reads and writes are the messages of `codegen_interpreter::protocol`.

mod calls;
mod confine;
mod confine_probe;
mod execution;
mod fault;
mod link;
mod memory;
mod printed;
mod refusal;
mod source;
mod values;

use std::process::ExitCode;

use monty_alloc::LimitedAllocator;

/// Counts what a program takes, and ends the process where the limit is passed by far.
#[global_allocator]
static ALLOCATOR: LimitedAllocator = LimitedAllocator;

const USAGE: &str = "codegen-interpreter runs programs for the codegen operator, which starts it and speaks to it over pipes.

usage: codegen-interpreter run BYTES      answer messages about programs, within BYTES of memory
       codegen-interpreter probe CALL     confine this process and try CALL, which must kill it: open, socket, fork, thread, descriptor
       codegen-interpreter probe CALL unconfined";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ended = match args.as_slice() {
        ["run", bytes] => execution::warm().and_then(|()| serve(bytes)),
        ["probe", call] => confine_probe::run(call, true),
        ["probe", call, "unconfined"] => confine_probe::run(call, false),
        _ => Err(USAGE.to_owned()),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            report(&message);
            ExitCode::FAILURE
        }
    }
}

/// Serves within these bytes of memory.
fn serve(bytes: &str) -> Result<(), String> {
    let bytes = bytes
        .parse()
        .map_err(|error| format!("BYTES is no number ({error})\n\n{USAGE}"))?;
    confine::enter(bytes).map_err(|error| format!("this process could not be confined: {error}"))?;
    execution::serve().map_err(|error| error.to_string())
}

#[expect(
    clippy::print_stderr,
    reason = "the pool gives it no standard error; whoever runs it by hand has one"
)]
fn report(message: &str) {
    eprintln!("{message}");
}
