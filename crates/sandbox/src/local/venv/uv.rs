//! The uv of this machine: fetched once from where this user's pip has packages from, one archive by its digest.
//!
//! Never one from `PATH`: what installs is the same everywhere, and was looked at.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command as Program;

use tokio::process::Command;

use super::super::bwrap;
use super::super::interpreter::{PythonInterpreter, unavailable_venv};
use super::super::isolation::{self, KernelSwitches};
use super::installer;
use crate::error::SandboxError;
use crate::installation::UV_VERSION;
use codegen_core::digest::sha256_hex;

/// A wheel of uv: its platform, and the SHA-256 of the archive. Its program is linked statically, so any Linux runs it.
struct Wheel {
    platform: &'static str,
    sha256: &'static str,
}

// The digest makes the source irrelevant: whatever index has this archive, it is the one that was reviewed.
// scripts/uv has the same for the operator's image.
const X86_64: Wheel = Wheel {
    platform: "musllinux_1_1_x86_64",
    sha256: "2c45530751517d6c3bbc69a19473f6effe47cce047bede01ffd8af7ea7b36b25",
};
const AARCH64: Wheel = Wheel {
    platform: "musllinux_1_1_aarch64",
    sha256: "5435c5ce14a56431208ca0996416d310f1598e8c2c8ba707688985a16bb82dbe",
};

/// Returns the path of the program below the folder for tools.
fn place(tools: &Path) -> PathBuf {
    tools.join(format!("uv-{UV_VERSION}"))
}

/// Reports whether it is there.
pub(super) fn is_there(tools: &Path) -> bool {
    place(tools).is_file()
}

/// The program, fetched where it is not there.
pub(super) async fn find_or_fetch(
    tools: &Path,
    interpreter: &PythonInterpreter,
) -> Result<PathBuf, SandboxError> {
    let target = place(tools);
    if is_there(tools) {
        return Ok(target);
    }
    fs::create_dir_all(tools).map_err(SandboxError::io("create", tools))?;
    let _lock = super::lock(tools.join("uv.lock")).await?;
    if !is_there(tools) {
        let folder = tempfile::Builder::new()
            .prefix("uv.unfinished-")
            .tempdir_in(tools);
        let folder = folder.map_err(SandboxError::io("create a folder in", tools))?;
        fetch(folder.path(), interpreter, &target).await?;
    }
    Ok(target)
}

async fn fetch(folder: &Path, interpreter: &PythonInterpreter, target: &Path) -> Result<(), SandboxError> {
    let wheel = match std::env::consts::ARCH {
        "aarch64" => AARCH64,
        _ => X86_64,
    };
    let refused = |reason: String| SandboxError::Refused {
        object: format!("uv {UV_VERSION}, which installs packages"),
        reason,
        remedy: format!(
            "let the index that pip is configured with serve this archive ({}, SHA-256 {}), or put its program at {}",
            wheel.platform,
            wheel.sha256,
            target.display()
        ),
    };
    // Debian's Python has pip only within an environment.
    let venv = folder.join("pip");
    let mut make = Command::new(&interpreter.executable);
    make.args(["-I", "-m", "venv"]).arg(&venv);
    installer::run(make)
        .await
        .map_err(|said| unavailable_venv(&said))?;
    let wanted = folder.join("uv.txt");
    let line = format!("uv=={UV_VERSION} --hash=sha256:{}\n", wheel.sha256);
    fs::write(&wanted, line).map_err(SandboxError::io("write", &wanted))?;
    let mut download = Command::new(isolation::find_bubblewrap()?);
    download
        .args(bwrap::download(folder, &venv.join("bin/python")))
        .args([
            "-I",
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-input",
            "--no-cache-dir",
            "--disable-pip-version-check",
        ])
        .args([
            "--no-deps",
            "--require-hashes",
            "--only-binary",
            ":all:",
            "--platform",
            wheel.platform,
        ])
        .arg("--dest")
        .arg(folder)
        .arg("--requirement")
        .arg(&wanted)
        .env("TMPDIR", folder);
    installer::run(download).await.map_err(|said| {
        if let Some(error) = isolation::explain(&said, KernelSwitches::read()) {
            return error;
        }
        match crate::packages::classify(&said) {
            passing @ (SandboxError::IndexUnreachable(_) | SandboxError::DiskFull(_)) => passing,
            _ => refused(said.lines().last().unwrap_or_default().trim().to_owned()),
        }
    })?;
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let archive = files
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|end| end == "whl"))
        .ok_or_else(|| refused("pip left no archive".to_owned()))?;
    // pip has compared it; what becomes a program is compared by us.
    let bytes = fs::read(&archive).map_err(SandboxError::io("read", &archive))?;
    if sha256_hex(&bytes) != wheel.sha256 {
        return Err(refused("the archive has another content".to_owned()));
    }
    unpack(&interpreter.executable, &archive, folder, target).map_err(SandboxError::io("unpack", &archive))
}

/// Takes the program out of the archive, whose content is known.
fn unpack(python: &Path, archive: &Path, folder: &Path, target: &Path) -> io::Result<()> {
    let ended = Program::new(python)
        .args(["-I", "-S", "-m", "zipfile", "-e"])
        .args([archive, folder])
        .env_clear()
        .output()?;
    if !ended.status.success() {
        return Err(io::Error::other(
            String::from_utf8_lossy(&ended.stderr).into_owned(),
        ));
    }
    let program = folder.join(format!("uv-{UV_VERSION}.data/scripts/uv"));
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    // Last, and as a whole.
    fs::rename(program, target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operators_image_has_the_uv_that_a_laptop_has() {
        let script = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/uv")).unwrap();
        let names_wheel = |wheel: Wheel| {
            script.contains(&format!("platform={} sha256={} ;;", wheel.platform, wheel.sha256))
        };
        assert!(names_wheel(X86_64) && names_wheel(AARCH64), "{script}");
        assert!(script.contains(&format!("\nversion={UV_VERSION}\n")), "{script}");
    }
}
