//! The filter as the kernel takes it.

use std::collections::BTreeMap;
use std::io;

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use seccompiler::SeccompCmpArgLen::{Dword, Qword};
use seccompiler::SeccompCmpOp::{Eq, MaskedEq};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

use crate::{AllowedCalls, FilterAction};

/// Calls that need nothing of their arguments: memory, the clock of the time limit, seeds of hash tables, signals, the end.
const COMPUTING: [i64; 17] = [
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
/// System calls on files that are open, or by their names.
const FILES: [i64; 8] = [
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_lseek,
    libc::SYS_newfstatat,
    libc::SYS_pread64,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_statx,
];
/// Of `fcntl`: a second descriptor of the same file, and its flags.
const SECOND_DESCRIPTORS: [i32; 3] = [libc::F_DUPFD_CLOEXEC, libc::F_GETFD, libc::F_GETFL];

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

pub(super) fn enter(allowed: &AllowedCalls<'_>, refusal: FilterAction) -> io::Result<()> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    rustix::thread::set_no_new_privs(true)?;
    let filter = filter(allowed, refusal).map_err(io::Error::other)?;
    seccompiler::apply_filter(&filter).map_err(io::Error::other)
}

fn filter(allowed: &AllowedCalls<'_>, refusal: FilterAction) -> Result<BpfProgram, BackendError> {
    let mut rules: Rules = COMPUTING.into_iter().map(|call| (call, vec![])).collect();
    // Nothing that was written can be executed.
    let executable = u64::from(libc::PROT_EXEC.cast_unsigned());
    let is_data = SeccompCondition::new(2, Qword, MaskedEq(executable), 0)?;
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        rules.insert(call, vec![SeccompRule::new(vec![is_data.clone()])?]);
    }
    // How the runtime aborts.
    rules.insert(libc::SYS_tgkill, vec![is(0, u64::from(std::process::id()))?]);
    // No other descriptor can be used, whatever this process was started with.
    descriptors(&mut rules, libc::SYS_read, allowed.reads)?;
    descriptors(&mut rules, libc::SYS_write, allowed.writes)?;
    if allowed.opens_files {
        files(&mut rules)?;
    }
    let refused = match refusal {
        FilterAction::Kill => SeccompAction::KillProcess,
        FilterAction::Fail => SeccompAction::Errno(libc::EPERM.cast_unsigned()),
    };
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, refused, SeccompAction::Allow, architecture)?.try_into()
}

/// The argument has this value.
fn is(argument: u8, value: u64) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(argument, Dword, Eq, value)?])
}

fn descriptors(rules: &mut Rules, call: i64, numbers: &[u32]) -> Result<(), BackendError> {
    if !numbers.is_empty() {
        let each: Result<Vec<_>, _> = numbers.iter().map(|number| is(0, u64::from(*number))).collect();
        rules.insert(call, each?);
    }
    Ok(())
}

fn files(rules: &mut Rules) -> Result<(), BackendError> {
    rules.extend(FILES.into_iter().map(|call| (call, vec![])));
    let second: Result<Vec<_>, _> = SECOND_DESCRIPTORS
        .into_iter()
        .map(|command| is(1, u64::from(command.cast_unsigned())))
        .collect();
    rules.insert(libc::SYS_fcntl, second?);
    rules.insert(libc::SYS_openat, vec![to_read(2)?]);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_open, vec![to_read(1)?]);
    Ok(())
}

/// The flags in this argument neither write to a file nor make one.
fn to_read(flags: u8) -> Result<SeccompRule, BackendError> {
    let changes = libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC | libc::O_APPEND;
    let changes = u64::from(changes.cast_unsigned());
    SeccompRule::new(vec![SeccompCondition::new(flags, Dword, MaskedEq(changes), 0)?])
}
