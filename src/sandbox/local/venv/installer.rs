//! The program that makes an environment and installs into it: uv, or venv and pip.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use jiff::{SignedDuration, Timestamp};
use tokio::process::Command;

use super::super::interpreter::Interpreter;
use super::super::isolation::find_on_path;
use super::archives;
use crate::pipeline::lock::Lock;
use crate::sandbox::error::SandboxError;
use crate::sandbox::image::ImageSpec;
use crate::sandbox::installation::{INSTALL, INTERPRETERS, NEWER_PIP};
use crate::sandbox::packages::classify;

/// What pip says of its work, beside it.
pub(super) const REPORT: &str = "report.json";

/// Whom an installer trusts, beside its tools.
const AUTHORITIES: &str = "authorities.pem";
/// Variables for uv, pip, and the client in pip, which follows the last even where pip has another setting.
const TRUST: [&str; 3] = ["SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE"];

/// What is installed.
pub(super) enum Wanted<'a> {
    /// Exactly that.
    Locked(&'a Lock),
    /// What the installer chooses for these requirements.
    Chosen(Vec<String>),
}

/// The program that makes environments and installs packages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Installer {
    /// `uv`, much faster.
    Uv(PathBuf),
    /// `venv` and pip of the interpreter.
    Pip,
}

/// Whether the user has configured pip, which uv does not read.
pub(super) fn is_pip_configured() -> bool {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let files = [
        "/etc/pip.conf".into(),
        home.join(".config/pip/pip.conf"),
        home.join(".pip/pip.conf"),
    ];
    let variables = [
        "PIP_INDEX_URL",
        "PIP_EXTRA_INDEX_URL",
        "PIP_FIND_LINKS",
        "PIP_CONFIG_FILE",
    ];
    files.iter().any(|file: &PathBuf| file.exists())
        || variables.iter().any(|name| std::env::var_os(name).is_some())
}

impl Installer {
    /// uv where it is installed; pip where the user has configured pip (an index of their own), which uv does not read.
    pub fn choose() -> Self {
        // uv would take packages from PyPI where the user has said otherwise.
        match find_on_path("uv") {
            Some(uv) if !is_pip_configured() => Self::Uv(uv),
            _ => Self::Pip,
        }
    }

    pub fn create(&self, interpreter: &Interpreter, target: &Path) -> Command {
        match self {
            Self::Uv(uv) => {
                let mut command = Command::new(uv);
                command.args(["venv", "--quiet", "--python"]);
                command.arg(&interpreter.executable).arg(target);
                command
            }
            Self::Pip => {
                let mut command = Command::new(&interpreter.executable);
                command.args(["-I", "-m", "venv"]).arg(target);
                command
            }
        }
    }

    /// Installs the pip that knows ages to a folder of its own: one archive, by its digest, from where this user's packages come
    /// from. Where a task's packages come from is no place for what installs them.
    pub fn beside(&self, place: &Place<'_>, folder: &Path) -> std::io::Result<Command> {
        let file = place.tools.join("installer.txt");
        fs::write(&file, NEWER_PIP)?;
        let mut command = self.command(place)?;
        command
            .args(["--no-deps", "--require-hashes", "--target"])
            .arg(folder);
        command.arg("--requirement").arg(file);
        Ok(command)
    }

    pub fn install(
        &self,
        place: &Place<'_>,
        spec: &ImageSpec,
        wanted: &Wanted<'_>,
    ) -> std::io::Result<Command> {
        let tools = &place.tools;
        let mut command = self.command(place)?;
        if let Some(index) = &spec.index_url {
            command.args(["--index-url", index]);
        }
        if let Some(pem) = &spec.index_ca_bundle {
            let file = tools.join(AUTHORITIES);
            fs::write(&file, pem)?;
            for name in TRUST {
                command.env(name, &file);
            }
        }
        let (days, is_pip) = (spec.min_release_age_days, matches!(self, Self::Pip));
        // uv has no such report, and an older pip refuses the option.
        if is_pip && archives::reports(tools) {
            command.arg("--report").arg(tools.join(REPORT));
        }
        match wanted {
            Wanted::Locked(lock) => {
                let file = tools.join("requirements.txt");
                fs::write(&file, lock.to_string())?;
                command
                    .args(["--no-deps", "--require-hashes", "--requirement"])
                    .arg(file);
            }
            Wanted::Chosen(requirements) => {
                if days > 0 && is_pip && archives::knows_ages(tools) {
                    command.arg("--uploaded-prior-to").arg(format!("P{days}D"));
                }
                // uv counts from a moment, where pip counts days.
                if days > 0 && !is_pip {
                    let least = SignedDuration::from_hours(24 * i64::from(days));
                    let youngest = Timestamp::now() - least;
                    command.arg("--exclude-newer").arg(youngest.to_string());
                }
                // After this, nothing is an option, whatever a model named its package.
                command.arg("--").args(requirements);
            }
        }
        Ok(command)
    }

    /// Wheels alone: building a source distribution would run its code on the user's machine, outside every sandbox.
    /// One process does it all. pip is read from `tools` by the interpreter behind the environment, and nothing is read from the
    /// environment that it fills.
    fn command(&self, place: &Place<'_>) -> std::io::Result<Command> {
        let command = match self {
            Self::Uv(uv) => {
                let mut command = Command::new(uv);
                command.args(["pip", "install", "--quiet", "--only-binary", ":all:"]);
                // uv would compile with the environment's interpreter, after the packages are in.
                command.args(["--no-compile-bytecode", "--python"]);
                command.arg(place.environment.join("bin/python"));
                command
            }
            Self::Pip => {
                let mut command = place.script(INSTALL)?;
                command.arg(&place.tools).arg(place.environment);
                command.args(["install", "--quiet", "--no-input", "--disable-pip-version-check"]);
                command.args([
                    "--retries",
                    "5",
                    "--only-binary",
                    ":all:",
                    "--no-warn-script-location",
                ]);
                command
            }
        };
        Ok(command)
    }
}

/// Where packages are installed, and by what.
pub(super) struct Place<'a> {
    /// The interpreter behind the environment.
    pub interpreter: &'a Interpreter,
    /// The environment.
    pub environment: &'a Path,
    /// A folder that no package writes to: pip, and what it reads and says.
    pub tools: PathBuf,
}

impl Place<'_> {
    /// The interpreter behind the environment with one of our scripts: isolated, without what this user's Python loads at its start.
    fn script(&self, (name, text): (&str, &str)) -> std::io::Result<Command> {
        let file = self.tools.join(name);
        fs::write(&file, text)?;
        let mut command = Command::new(&self.interpreter.executable);
        command.args(["-I", "-S", "-B"]).arg(file);
        Ok(command)
    }

    /// Keeps in mind what the interpreters are.
    pub fn before(&self) -> std::io::Result<Command> {
        self.compare("before")
    }

    /// Fails where they are no longer that, and says by which package.
    pub fn after(&self) -> std::io::Result<Command> {
        self.compare("after")
    }

    fn compare(&self, when: &str) -> std::io::Result<Command> {
        let mut command = self.script(INTERPRETERS)?;
        command.arg(when).arg(self.environment);
        command.arg(self.tools.join("interpreters.json"));
        Ok(command)
    }
}

/// Whether a program gets this variable of the user's environment that neither asks the network nor runs anything of others.
fn is_for_everybody(name: &str) -> bool {
    ["PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH"].contains(&name) || name.starts_with("LC_")
}

/// Whether an installer gets this variable of the user's environment: where packages come from, by which way, and whom to trust. The
/// keys of a model's provider are none of its business, nor are those for publishing packages.
fn is_for_installers(name: &str) -> bool {
    const NAMES: [&str; 8] = [
        "USER",
        "NETRC",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
    ];
    const PREFIXES: [&str; 4] = ["XDG_", "SSL_CERT_", "PIP_", "UV_"];
    // uv refuses this one beside its opposite, which is set.
    name != "UV_COMPILE_BYTECODE"
        && !name.starts_with("UV_PUBLISH_")
        && (is_for_everybody(name)
            || NAMES.contains(&name.to_ascii_uppercase().as_str())
            || PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
}

/// Starts an installer. Whatever this user's mask, the sandbox's user must be able to read the environment; and where
/// util-linux is installed, the installer ends with this program, however that ends.
const START: &str = r#"umask 022
setpriv --pdeathsig KILL true 2>/dev/null && exec setpriv --pdeathsig KILL "$0" "$@"
exec "$0" "$@""#;

/// Run an installer; where it fails, what its words mean.
pub(super) async fn check(installer: Command) -> Result<(), SandboxError> {
    run(installer, is_for_installers).await
}

/// Run a program of ours that installs nothing.
pub(super) async fn check_alone(command: Command) -> Result<(), SandboxError> {
    run(command, is_for_everybody).await
}

async fn run(installer: Command, is_given: fn(&str) -> bool) -> Result<(), SandboxError> {
    let program = PathBuf::from(installer.as_std().get_program());
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", START])
        .arg(&program)
        .args(installer.as_std().get_args());
    let output = command
        // The folder of the user's shell may hold settings and files of another project.
        .current_dir("/")
        .stdin(Stdio::null())
        .env_clear()
        .envs(std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_given)))
        .envs(
            installer
                .as_std()
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        // Ctrl-C is for this program alone: an installer that dies of it would be reported as a package that cannot be installed.
        .process_group(0)
        .kill_on_drop(true)
        .output()
        .await
        .map_err(SandboxError::io("start", &program))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(classify(&String::from_utf8_lossy(&said)))
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
            "UV_CACHE_DIR",
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
            "UV_COMPILE_BYTECODE",
            "UV_PUBLISH_TOKEN",
        ] {
            assert!(!is_for_installers(name), "{name}");
        }
        assert!(is_for_everybody("PATH") && !is_for_everybody("PIP_INDEX_URL"));
    }
}
