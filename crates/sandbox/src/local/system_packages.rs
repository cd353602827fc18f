//! System packages of a local environment: they must be there already, nothing is installed on the user's machine.

use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

use super::isolation::{find_on_path, sudo};
use crate::error::{PackageProblem, PackageProblemKind, SandboxError};

const PACKAGE_LISTS: &str = "/var/lib/apt/lists";

/// Checks that all packages are installed. Where the system is not Debian's, nothing can be checked and nothing is refused.
pub async fn check(names: &[String]) -> Result<(), SandboxError> {
    // What is installed system-wide cannot be changed without root, so it is checked and reported.
    if names.is_empty() || find_on_path("dpkg-query").is_none() {
        return Ok(());
    }
    let mut missing = Vec::new();
    for name in names {
        if !says("dpkg-query", &["-W", "-f=${Status}", "--", name])
            .await?
            // The status also knows packages that are removed or half configured.
            .contains("install ok installed")
        {
            missing.push(name.clone());
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let unknown = unknown(&missing).await?;
    if !unknown.is_empty() {
        return Err(SandboxError::Packages(PackageProblem {
            manager: "apt",
            detail: format!("unable to locate package {}", unknown.join(", ")),
            names: unknown,
            kind: PackageProblemKind::NotFound,
            is_foreseen: true,
        }));
    }
    let command = format!("{}apt-get install -y {}", sudo(), missing.join(" "));
    Err(SandboxError::SystemPackagesMissing {
        names: missing,
        command,
    })
}

/// Those that no package list knows; none where there are no lists to ask.
async fn unknown(names: &[String]) -> Result<Vec<String>, SandboxError> {
    if find_on_path("apt-cache").is_none() || !has_package_lists() {
        return Ok(vec![]);
    }
    let mut unknown = Vec::new();
    for name in names {
        if says("apt-cache", &["show", "--no-all-versions", "--", name])
            .await?
            .is_empty()
        {
            unknown.push(name.clone());
        }
    }
    Ok(unknown)
}

fn has_package_lists() -> bool {
    std::fs::read_dir(PACKAGE_LISTS).is_ok_and(|entries| {
        entries
            .flatten()
            .any(|entry| entry.file_name().to_string_lossy().contains("_Packages"))
    })
}

async fn says(program: &str, arguments: &[&str]) -> Result<String, SandboxError> {
    let output = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .output()
        .await
        .map_err(SandboxError::io("start", Path::new(program)))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nothing_asked_for_is_nothing_missing() {
        assert!(check(&[]).await.is_ok());
    }
}
