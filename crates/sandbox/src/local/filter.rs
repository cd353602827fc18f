//! The seccomp filter of a sandbox: what no program of ours needs of the kernel, and what no namespace keeps apart.

use crate::error::SandboxError;

/// The filter as bubblewrap reads it: instructions of BPF, eight bytes each.
#[cfg(not(target_os = "linux"))]
pub(super) fn program() -> Result<Vec<u8>, SandboxError> {
    Err(super::isolation::unavailable(
        "system calls can be filtered on Linux alone",
        "run on Linux or WSL2, or in a cluster",
    ))
}

#[cfg(target_os = "linux")]
pub(super) use linux::program;

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeMap;

    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule, TargetArch, sock_filter,
    };

    use super::SandboxError;
    use crate::local::isolation::unavailable;

    /// As of a kernel that was built without them: libraries that can do without do so.
    const NO_SUCH_CALL: u32 = libc::ENOSYS.cast_unsigned();

    /// Keyrings belong to a session and a user, whatever their namespaces.
    const KEYS: [i64; 3] = [libc::SYS_add_key, libc::SYS_keyctl, libc::SYS_request_key];
    /// System calls in which the kernel's own faults are mostly found, and which nobody who transforms data asks for.
    const DEEP: [i64; 6] = [
        libc::SYS_bpf,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
        libc::SYS_io_uring_setup,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
    ];
    /// System calls that only an administrator may make, with the rights that a namespace would give as well. `clone3` has its flags in
    /// memory, where a filter cannot read; C libraries go back to `clone`.
    const MACHINE: [i64; 32] = [
        libc::SYS_acct,
        libc::SYS_chroot,
        libc::SYS_clock_settime,
        libc::SYS_clone3,
        libc::SYS_delete_module,
        libc::SYS_fanotify_init,
        libc::SYS_finit_module,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_fsopen,
        libc::SYS_fspick,
        libc::SYS_init_module,
        libc::SYS_kexec_load,
        libc::SYS_lookup_dcookie,
        libc::SYS_mount,
        libc::SYS_mount_setattr,
        libc::SYS_move_mount,
        libc::SYS_name_to_handle_at,
        libc::SYS_nfsservctl,
        libc::SYS_open_by_handle_at,
        libc::SYS_open_tree,
        libc::SYS_pivot_root,
        libc::SYS_quotactl,
        libc::SYS_quotactl_fd,
        libc::SYS_reboot,
        libc::SYS_setns,
        libc::SYS_settimeofday,
        libc::SYS_swapoff,
        libc::SYS_swapon,
        libc::SYS_syslog,
        libc::SYS_umount2,
        libc::SYS_vhangup,
    ];
    /// More of these that not every architecture has, or not every C library names (`kexec_file_load` of the others).
    #[cfg(target_arch = "x86_64")]
    const MACHINE_TOO: [i64; 3] = [libc::SYS_ioperm, libc::SYS_iopl, libc::SYS_kexec_file_load];
    #[cfg(not(target_arch = "x86_64"))]
    const MACHINE_TOO: [i64; 1] = [294];
    /// Calls whose first argument is a family of addresses.
    const SOCKETS: [i64; 2] = [libc::SYS_socket, libc::SYS_socketpair];
    /// Families that the network namespace keeps apart, and that libraries ask for. Others reach past it (`AF_VSOCK` the machine, its
    /// hypervisor and every sandbox beside this one), or into parts of the kernel that nobody needs who transforms data.
    const FAMILIES: [i32; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    /// Calls whose first argument holds flags, one of which makes a user namespace, where a program would be root.
    const NAMESPACES: [i64; 2] = [libc::SYS_clone, libc::SYS_unshare];

    pub(in super::super) fn program() -> Result<Vec<u8>, SandboxError> {
        let compiled = compile().map_err(|error| {
            unavailable(
                format!(
                    "no filter of system calls can be made for {} ({error})",
                    std::env::consts::ARCH
                ),
                "run on x86_64 or aarch64, or in a cluster",
            )
        })?;
        Ok(without_x32(compiled).iter().flat_map(bytes).collect())
    }

    fn compile() -> Result<BpfProgram, seccompiler::BackendError> {
        let new_user = u64::from(libc::CLONE_NEWUSER.cast_unsigned());
        let has_new_user = SeccompCondition::new(
            0,
            SeccompCmpArgLen::Dword,
            // `MaskedEq`: the flag counts whatever other flags stand beside it.
            SeccompCmpOp::MaskedEq(new_user),
            new_user,
        )?;
        // An empty list of conditions matches every call of that number.
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
        for call in KEYS.into_iter().chain(DEEP).chain(MACHINE).chain(MACHINE_TOO) {
            rules.insert(call, vec![]);
        }
        for call in NAMESPACES {
            rules.insert(call, vec![SeccompRule::new(vec![has_new_user.clone()])?]);
        }
        let other_family: Result<Vec<_>, _> = FAMILIES.into_iter().map(differs_from).collect();
        let other_family = SeccompRule::new(other_family?)?;
        for call in SOCKETS {
            rules.insert(call, vec![other_family.clone()]);
        }
        // A call of another architecture ends the process.
        let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
        SeccompFilter::new(
            rules,
            // Everything else is allowed: programs and their libraries use hundreds of calls, and the sandbox does not rest on the filter
            // alone.
            SeccompAction::Allow,
            SeccompAction::Errno(NO_SUCH_CALL),
            architecture,
        )?
        .try_into()
    }

    fn differs_from(family: i32) -> Result<SeccompCondition, seccompiler::BackendError> {
        let family = u64::from(family.cast_unsigned());
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family)
    }

    /// On `x86_64`, the calls of the x32 ABI are the same ones under numbers of their own: all of them are refused.
    fn without_x32(compiled: BpfProgram) -> BpfProgram {
        const LOAD_NUMBER: u16 = 0x20;
        const SKIP_IF_BELOW: u16 = 0x35;
        const RETURN: u16 = 0x06;
        const X32: u32 = 0x4000_0000;
        // No other architecture has x32.
        if !cfg!(target_arch = "x86_64") {
            return compiled;
        }
        let step = |code, jf, k| sock_filter { code, jt: 0, jf, k };
        let refuse = u32::from(SeccompAction::Errno(NO_SUCH_CALL));
        let first = [
            step(LOAD_NUMBER, 0, 0),
            step(SKIP_IF_BELOW, 1, X32),
            step(RETURN, 0, refuse),
        ];
        // Before the filter that was compiled: its comparison of numbers would let x32 through as unknown calls.
        first.into_iter().chain(compiled).collect()
    }

    /// An instruction as the kernel has it in memory.
    fn bytes(step: &sock_filter) -> impl Iterator<Item = u8> + use<> {
        let (code, operand) = (step.code.to_ne_bytes(), step.k.to_ne_bytes());
        // The kernel reads it in the machine's own byte order.
        code.into_iter().chain([step.jt, step.jf]).chain(operand)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #[test]
    fn a_filter_is_whole_instructions_and_no_more_than_the_kernel_takes() {
        let program = super::program().unwrap();
        assert_eq!(program.len() % 8, 0);
        assert!((8 * 40..8 * 4096).contains(&program.len()), "{}", program.len());
    }
}
