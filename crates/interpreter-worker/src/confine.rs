//! Rights that this process gives up before it reads a program.

use std::io;

use codegen_syscall_filter::{AllowedCalls, FilterAction};
use rustix::process::{Resource, Rlimit, setrlimit};

/// Address space for the binary itself, its stack and what the C library takes beside the program's memory.
const REST: u64 = 512 * 1024 * 1024;
/// Programs nest, and so do the functions that parse and run them.
const STACK: u64 = 64 * 1024 * 1024;
/// The pipes of whoever started it.
const PIPES: AllowedCalls<'_> = AllowedCalls {
    reads: &[0],
    writes: &[1, 2],
    opens_files: false,
};

/// Bounds this process, which is to have so many bytes for programs. Limits that only some systems have are set where they exist; the
/// filter of system calls is Linux's.
pub(crate) fn enter(memory_bytes: u64) -> io::Result<()> {
    limits(memory_bytes)?;
    codegen_syscall_filter::enter(&PIPES, FilterAction::Kill)
}

fn limits(memory_bytes: u64) -> io::Result<()> {
    // A core file would hold the program's data.
    bound(Resource::Core, 0)?;
    bound(Resource::Fsize, 0)?;
    bound(Resource::Nofile, 0)?;
    bound(Resource::Nproc, 0)?;
    // The allocator's own bound is met first; this one holds for what goes past it.
    bound(Resource::As, memory_bytes.saturating_mul(2).saturating_add(REST))?;
    let stack = Rlimit {
        current: Some(STACK),
        ..rustix::process::getrlimit(Resource::Stack)
    };
    // A lower hard limit of the system stays.
    let _ = setrlimit(Resource::Stack, stack);
    Ok(())
}

fn bound(resource: Resource, value: u64) -> io::Result<()> {
    let limit = Rlimit {
        current: Some(value),
        maximum: Some(value),
    };
    match setrlimit(resource, limit) {
        // Other systems have some of these in name alone.
        Err(error) if cfg!(target_os = "linux") => Err(error.into()),
        _ => Ok(()),
    }
}
