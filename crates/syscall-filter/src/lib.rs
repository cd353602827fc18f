//! Filter of system calls that a worker process sets for itself before it reads what others wrote: seccomp, with a list of what stays. On
//! systems other than Linux there is none.

use std::io;

#[cfg(target_os = "linux")]
mod linux;

/// Consequence of a system call that is not listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterAction {
    /// The process ends, by `SIGSYS`.
    Kill,
    /// The call fails with `EPERM`: libraries that can do without it do so.
    Fail,
}

/// System calls that a worker makes beside computing: its memory (never executable), the clock, seeds of hash tables, signals to itself and
/// its end are listed in any case.
#[derive(Clone, Copy, Debug)]
pub struct AllowedCalls<'a> {
    /// Descriptors that it reads.
    pub reads: &'a [u32],
    /// Descriptors that it writes.
    pub writes: &'a [u32],
    /// True where it opens files, to read them; then it reads any descriptor.
    pub opens_files: bool,
}

/// Bounds the calling thread, and threads that it starts: for ever, and before any other thread runs. Other processes of the user
/// can neither read this one's memory nor follow its steps.
pub fn enter(allowed: &AllowedCalls<'_>, refusal: FilterAction) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    return linux::enter(allowed, refusal);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (allowed, refusal);
        Ok(())
    }
}
