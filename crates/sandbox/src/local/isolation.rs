//! Check that this machine can isolate, and what to do when it cannot.

use std::path::{Path, PathBuf};

use crate::error::SandboxError;

/// Finds bubblewrap.
pub(super) fn find_bubblewrap() -> Result<PathBuf, SandboxError> {
    if !cfg!(target_os = "linux") {
        return Err(unavailable(
            format!("bubblewrap needs Linux, and this is {}", std::env::consts::OS),
            "run on Linux or WSL2, or in a cluster",
        ));
    }
    find_on_path("bwrap").ok_or_else(|| {
        unavailable(
            "bubblewrap is not installed",
            format!(
                "run `{}apt-get install -y bubblewrap` (or your distribution's equivalent)",
                sudo()
            ),
        )
    })
}

/// A program on `PATH`.
pub(super) fn find_on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file())
}

/// Returns the text that a line needs in front of it for this user.
pub(super) fn sudo() -> &'static str {
    if rustix::process::geteuid().is_root() {
        ""
    } else {
        "sudo "
    }
}

/// Switches of the kernel that forbid what bubblewrap needs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KernelSwitches {
    /// Ubuntu: `AppArmor` takes rights away from programs in user namespaces.
    apparmor_restricts: bool,
    /// Debian: user namespaces are for root.
    clone_forbidden: bool,
    /// No user namespace may be created at all.
    none_allowed: bool,
}

impl KernelSwitches {
    /// As this machine has them.
    pub(super) fn read() -> Self {
        let is = |path: &str, value: &str| {
            std::fs::read_to_string(Path::new("/proc/sys").join(path)).is_ok_and(|text| text.trim() == value)
        };
        Self {
            apparmor_restricts: is("kernel/apparmor_restrict_unprivileged_userns", "1"),
            clone_forbidden: is("kernel/unprivileged_userns_clone", "0"),
            none_allowed: is("user/max_user_namespaces", "0"),
        }
    }
}

/// Finds in bubblewrap's words the error that it did not start a sandbox with; `None` when these are not bubblewrap's.
pub(super) fn explain(stderr: &str, switches: KernelSwitches) -> Option<SandboxError> {
    let answers = stderr
        .lines()
        .find_map(|line| line.strip_prefix("not isolated: "));
    if let Some(answers) = answers {
        return Some(unavailable(
            format!("nothing was run, for the network of the sandbox is not closed: {answers}"),
            "report it, with the output of `pasta --version` and `ip rule`",
        ));
    }
    let words = stderr
        .lines()
        .find_map(|line| line.trim().strip_prefix("bwrap: "))?;
    if words.starts_with("Unknown option") {
        return Some(unavailable(
            format!("bubblewrap is too old ({words})"),
            "install bubblewrap 0.5 or later",
        ));
    }
    // Words of bubblewrap about user, process and network namespaces; the last two come from setting up the loopback device.
    let forbidden = ["namespace", "uid map", "gid map", "RTM_", "loopback"]
        .iter()
        .any(|sign| words.contains(sign));
    if !forbidden {
        return Some(unavailable(
            format!("bubblewrap failed ({words})"),
            "correct what it names",
        ));
    }
    // In this order: lifting a later one does not help while an earlier one is set.
    let remedy = if switches.none_allowed {
        "run `sudo sysctl -w user.max_user_namespaces=16384`"
    } else if switches.clone_forbidden {
        "run `sudo sysctl -w kernel.unprivileged_userns_clone=1`"
    } else if switches.apparmor_restricts {
        "run `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`"
    } else {
        "inside a container, start it with `--privileged` or with seccomp and AppArmor profiles that allow user namespaces"
    };
    Some(unavailable(
        format!("namespaces are forbidden here (bubblewrap: {words})"),
        remedy,
    ))
}

pub(super) fn unavailable(cause: impl Into<String>, remedy: impl Into<String>) -> SandboxError {
    SandboxError::IsolationUnavailable {
        cause: cause.into(),
        remedy: remedy.into(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const NONE: KernelSwitches = KernelSwitches {
        apparmor_restricts: false,
        clone_forbidden: false,
        none_allowed: false,
    };

    #[rstest]
    #[case::ubuntu(
        "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted",
        KernelSwitches { apparmor_restricts: true, ..NONE },
        "kernel.apparmor_restrict_unprivileged_userns=0"
    )]
    #[case::ubuntu_uid_map(
        "bwrap: setting up uid map: Permission denied",
        KernelSwitches { apparmor_restricts: true, ..NONE },
        "kernel.apparmor_restrict_unprivileged_userns=0"
    )]
    #[case::debian(
        "bwrap: No permissions to create new namespace, likely because the kernel does not allow it",
        KernelSwitches { clone_forbidden: true, ..NONE },
        "kernel.unprivileged_userns_clone=1"
    )]
    #[case::none(
        "bwrap: Creating new namespace failed: No space left on device",
        KernelSwitches { none_allowed: true, ..NONE },
        "user.max_user_namespaces"
    )]
    #[case::container(
        "bwrap: Creating new namespace failed: Operation not permitted",
        NONE,
        "--privileged"
    )]
    #[case::old("bwrap: Unknown option --perms", NONE, "0.5 or later")]
    #[case::other(
        "bwrap: Can't find source path /env: Permission denied",
        NONE,
        "correct what it names"
    )]
    fn a_refusal_names_the_line_to_run(
        #[case] stderr: &str,
        #[case] switches: KernelSwitches,
        #[case] expected: &str,
    ) {
        let error = explain(stderr, switches).expect("bubblewrap's words");
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(error.category(), codegen_core::stage::Category::Configuration);
    }

    #[test]
    fn words_of_others_are_not_explained() {
        assert!(explain("Traceback (most recent call last):", NONE).is_none());
    }
}
