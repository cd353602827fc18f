//! Installs packages into a new environment: uv within bubblewrap, which writes to one folder with that and its own archives.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use super::super::bwrap::{self, UV, WORKSHOP, Workshop};
use super::super::interpreter::PythonInterpreter;
use super::super::isolation::{self, KernelSwitches};
use super::ENVIRONMENT;
use crate::error::SandboxError;
use crate::image::ImageSpec;
use crate::installation::{INSTALL, Installation, PipSettings, SETTINGS, denied, judge};
use crate::packages::{classify, classify_locked};
use codegen_core::lock::Lock;

/// File that the installation leaves: names, versions, digests.
const REQUIREMENTS: &str = "requirements.txt";
/// File with what was recorded, and is installed again.
const LOCKED: &str = "locked.txt";
/// Whom an installer trusts besides.
const AUTHORITIES: &str = "authorities.pem";
const JOB: &str = "installation.json";
/// Folder of what uv has fetched and unpacked.
const ARCHIVES: &str = "archives";

/// Place of an installation, and its installer.
pub(super) struct InstallPlace<'a> {
    /// The interpreter behind the environment.
    pub interpreter: &'a PythonInterpreter,
    /// The program that installs.
    pub uv: &'a Path,
    /// Folder in which its archives are stored between installations.
    pub archives: &'a Path,
    /// The folder of the installation, with the environment in it.
    pub folder: &'a Path,
}

impl InstallPlace<'_> {
    /// Installs what the lock says, or what uv chooses; what that is.
    pub async fn install(&self, spec: &ImageSpec, lock: Option<&Lock>) -> Result<Lock, SandboxError> {
        let settings = self.settings(spec).await?;
        for name in &settings.left_out {
            tracing::warn!("pip's setting {name} is not taken: uv has none like it");
        }
        let (archives, locked) = (format!("{WORKSHOP}/{ARCHIVES}"), format!("{WORKSHOP}/{LOCKED}"));
        let installation = Installation {
            uv: UV,
            environment: super::FOLDER,
            work: WORKSHOP,
            cache: &archives,
            link: None,
            requirements: &spec.packages.pip,
            locked: lock.is_some().then_some(locked.as_str()),
            days: spec.min_release_age_days,
            settings: Some(&settings),
        };
        self.write(JOB, &serde_json::to_string(&installation).unwrap_or_default())?;
        self.write(LOCKED, &lock.map(Lock::to_string).unwrap_or_default())?;
        self.write(INSTALL.0, INSTALL.1)?;
        let own = self.folder.join(ARCHIVES);
        // Of two installations at once the second one begins without; what they fetched last stays.
        let _ = fs::rename(self.archives, &own);
        let ended = run(self.sandboxed(&settings)?).await;
        let _ = fs::rename(&own, self.archives);
        ended.map_err(|said| self.failed(&said, lock.is_some()))?;
        let written = self.folder.join(REQUIREMENTS);
        let text = fs::read_to_string(&written).map_err(SandboxError::io("read", &written))?;
        let installed =
            Lock::parse(&text).ok_or_else(|| SandboxError::NoReport("uv's list cannot be read".into()))?;
        // Before anything of it is read or started.
        let environment = self.environment();
        let fault = judge::environment(&environment, &installed);
        match fault.map_err(SandboxError::io("read", &environment))? {
            Some((package, why)) => Err(denied(&package, &why)),
            None => Ok(installed),
        }
    }

    fn environment(&self) -> PathBuf {
        self.folder.join(ENVIRONMENT)
    }

    fn failed(&self, said: &str, is_locked: bool) -> SandboxError {
        if let Some(error) = isolation::explain(said, KernelSwitches::read()) {
            return error;
        }
        // The one thing that the installation itself finds.
        if said.contains(&format!("replaced: {}", judge::SETTINGS)) {
            let fault = judge::owner_of(&self.environment(), judge::SETTINGS);
            return denied(
                &fault,
                &format!(
                    "replaces {}, which says where Python finds its modules",
                    judge::SETTINGS
                ),
            );
        }
        let error = classify(said);
        if is_locked { classify_locked(error) } else { error }
    }

    fn sandboxed(&self, settings: &PipSettings) -> Result<Command, SandboxError> {
        let line = bwrap::installation(
            &Workshop {
                starter: super::super::runner::starter(),
                system: &bwrap::system_folders(),
                executable: &self.interpreter.executable,
                interpreter: &self.interpreter.prefix,
                uv: self.uv,
                folder: self.folder,
                files: &settings.files,
            },
            &[&format!("{WORKSHOP}/{}", INSTALL.0), &format!("{WORKSHOP}/{JOB}")],
        );
        let mut command = Command::new(isolation::find_bubblewrap()?);
        command.args(line);
        Ok(command)
    }

    /// Reads this user's configuration of pip, and what the task says of its index.
    async fn settings(&self, spec: &ImageSpec) -> Result<PipSettings, SandboxError> {
        let script = self.write(SETTINGS.0, SETTINGS.1)?;
        let mut command = Command::new(&self.interpreter.executable);
        // Isolated, and without what this user's Python loads at its start.
        command.args(["-I", "-S", "-B"]).arg(script);
        command.arg(spec.min_release_age_days.to_string());
        if let Some(index) = &spec.index_url {
            command.env("PIP_INDEX_URL", index);
        }
        if let Some(pem) = &spec.index_ca_bundle {
            command.env("PIP_CERT", self.write(AUTHORITIES, pem)?);
        }
        let refused = |reason: String| SandboxError::Refused {
            object: "the settings of pip".to_owned(),
            reason,
            remedy: "correct them (`pip config list` shows them)".to_owned(),
        };
        let printed = run(command)
            .await
            .map_err(|said| refused(said.trim().to_owned()))?;
        serde_json::from_slice(&printed).map_err(|error| refused(error.to_string()))
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf, SandboxError> {
        let file = self.folder.join(name);
        fs::write(&file, text).map_err(SandboxError::io("write", &file))?;
        Ok(file)
    }
}

/// Reports whether an installer gets this variable of the user's environment: where packages come from, by which way, and whom to trust.
/// The keys of a model's provider are none of its business, nor are those for publishing packages.
fn is_for_installers(name: &str) -> bool {
    const NAMES: [&str; 11] = [
        "PATH",
        "HOME",
        "LANG",
        "TMPDIR",
        "LD_LIBRARY_PATH",
        "NETRC",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
    ];
    const PREFIXES: [&str; 5] = ["XDG_", "SSL_", "PIP_", "UV_", "LC_"];
    !name.starts_with("UV_PUBLISH_")
        && (NAMES.contains(&name.to_ascii_uppercase().as_str())
            || name.eq_ignore_ascii_case("NO_PROXY")
            || PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
}

/// Runs a program of an installation and returns what it printed; where it fails, all that it said.
pub(super) async fn run(mut command: Command) -> Result<Vec<u8>, String> {
    let own: Vec<_> = command
        .as_std()
        .get_envs()
        .map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned)))
        .collect();
    let given = std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_for_installers));
    let output = command
        // The folder of the user's shell may hold settings and files of another project.
        .current_dir("/")
        .stdin(Stdio::null())
        .env_clear()
        .envs(given)
        .envs(own.into_iter().filter_map(|(name, value)| Some((name, value?))))
        // Ctrl-C is for this program alone: an installer that dies of it would be reported as a package that cannot be installed.
        .process_group(0)
        .kill_on_drop(true)
        .output()
        .await
        .map_err(|error| format!("{}: {error}", command.as_std().get_program().display()))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installer_sees_its_own_settings_and_no_key() {
        for name in [
            "PATH",
            "HOME",
            "https_proxy",
            "NO_PROXY",
            "PIP_INDEX_URL",
            "UV_INDEX_URL",
            "SSL_CERT_FILE",
        ] {
            assert!(is_for_installers(name), "{name}");
        }
        for name in [
            "OPENAI_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "PYTHONPATH",
            "PYTHONHOME",
            "VIRTUAL_ENV",
            "UV_PUBLISH_TOKEN",
        ] {
            assert!(!is_for_installers(name), "{name}");
        }
    }
}
