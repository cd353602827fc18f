//! What this process gives up before it reads a program.

use std::io;

use rustix::process::{Resource, Rlimit, setrlimit};

/// Address space for the binary itself, its stack and what the C library takes beside the program's memory.
const REST: u64 = 512 * 1024 * 1024;
/// Programs nest, and so do the functions that parse and run them.
const STACK: u64 = 64 * 1024 * 1024;

/// Bounds this process, which is to have so many bytes for programs. Limits that only some systems have are set where they exist; the
/// filter of system calls is Linux's.
pub(crate) fn enter(memory_bytes: u64) -> io::Result<()> {
    limits(memory_bytes)?;
    #[cfg(target_os = "linux")]
    linux::enter()?;
    Ok(())
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

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeMap;
    use std::io;

    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    use seccompiler::SeccompCmpArgLen::{Dword, Qword};
    use seccompiler::SeccompCmpOp::{Eq, MaskedEq};
    use seccompiler::{
        BackendError, BpfProgram, SeccompAction, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
    };

    /// Calls that need nothing of their arguments: memory, the clock of the time limit, seeds of hash tables, signals, the end.
    const FREE: [i64; 17] = [
        libc::SYS_brk,
        libc::SYS_clock_gettime,
        libc::SYS_exit,
        libc::SYS_exit_group,
        libc::SYS_futex,
        libc::SYS_getpid,
        libc::SYS_getrandom,
        libc::SYS_gettid,
        libc::SYS_madvise,
        libc::SYS_mremap,
        libc::SYS_munmap,
        libc::SYS_restart_syscall,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sched_yield,
        libc::SYS_sigaltstack,
    ];

    pub(super) fn enter() -> io::Result<()> {
        // Other processes of the user cannot read its memory, nor follow its steps.
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
        rustix::thread::set_no_new_privs(true)?;
        let filter = filter().map_err(io::Error::other)?;
        seccompiler::apply_filter(&filter).map_err(io::Error::other)
    }

    /// Whatever is not listed ends the process.
    fn filter() -> Result<BpfProgram, BackendError> {
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
            FREE.into_iter().map(|call| (call, vec![])).collect();
        let is = |argument, value| SeccompRule::new(vec![SeccompCondition::new(argument, Dword, Eq, value)?]);
        // No other descriptor can be used, whatever this process was started with.
        rules.insert(libc::SYS_read, vec![is(0, 0)?]);
        rules.insert(libc::SYS_write, vec![is(0, 1)?, is(0, 2)?]);
        // Nothing that was written can be executed.
        let executable = u64::from(libc::PROT_EXEC.cast_unsigned());
        let is_data = SeccompCondition::new(2, Qword, MaskedEq(executable), 0)?;
        for call in [libc::SYS_mmap, libc::SYS_mprotect] {
            rules.insert(call, vec![SeccompRule::new(vec![is_data.clone()])?]);
        }
        // How the runtime aborts.
        let own = u64::from(std::process::id());
        rules.insert(libc::SYS_tgkill, vec![is(0, own)?]);
        let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
        SeccompFilter::new(
            rules,
            SeccompAction::KillProcess,
            SeccompAction::Allow,
            architecture,
        )?
        .try_into()
    }
}
