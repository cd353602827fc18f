//! Virtual environments by content hash: found in a moment, built once, never half there.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::{Deserialize, Serialize};
use tokio::process::Command;

use super::interpreter::{self, Interpreter};
use super::isolation::find_on_path;
use super::system_packages;
use crate::sandbox::Built;
use crate::sandbox::error::SandboxError;
use crate::sandbox::image::ImageSpec;
use crate::sandbox::packages::{classify, reject_locations};

/// Where an environment lies inside a sandbox.
pub(super) const FOLDER: &str = "/env";

/// Written last: an environment without it is not there.
const MARKER: &str = "environment.json";

/// What is known of an environment that is ready.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(super) struct Environment {
    /// The interpreter, as users are told.
    pub python: String,
    /// `3.11.2`.
    pub version: String,
    /// The interpreter behind the environment.
    pub executable: PathBuf,
    /// The folder of its standard library.
    pub prefix: PathBuf,
    /// Installed distributions (`pandas==2.3.1`).
    pub resolved: Vec<String>,
}

/// The folder of an environment.
pub(super) fn folder(cache: &Path, id: &str) -> PathBuf {
    cache.join("environments").join(id)
}

/// An environment that is ready; `None` when it is not built or its interpreter is gone.
pub(super) fn find(cache: &Path, id: &str) -> Option<Environment> {
    let text = fs::read(folder(cache, id).join(MARKER)).ok()?;
    let environment: Environment = serde_json::from_slice(&text).ok()?;
    environment.executable.exists().then_some(environment)
}

/// The environment of a spec, built when it is not there. Of two at once, the second waits and finds the first one's.
pub(super) async fn find_or_build(cache: &Path, spec: &ImageSpec) -> Result<Built, SandboxError> {
    let id = spec.content_hash();
    if let Some(environment) = find(cache, &id) {
        return Ok(built(id, environment, false));
    }
    reject_locations(&spec.packages.pip)?;
    system_packages::check(&spec.packages.apt).await?;
    let target = folder(cache, &id);
    let parent = cache.join("environments");
    fs::create_dir_all(&parent).map_err(SandboxError::io("create", &parent))?;
    let _lock = lock(parent.join(format!("{id}.lock"))).await?;
    if let Some(environment) = find(cache, &id) {
        return Ok(built(id, environment, false));
    }
    // What a killed run left is removed: whoever holds the lock is the only one who builds.
    tidy(&parent, &format!("{id}.unfinished-"));
    remove(&target)?;
    // A name of its own: the installer of a killed run may still write into the folder that it was given.
    let folder = tempfile::Builder::new()
        .prefix(&format!("{id}.unfinished-"))
        .permissions(fs::Permissions::from_mode(0o755))
        .tempdir_in(&parent)
        .map_err(SandboxError::io("create a folder in", &parent))?;
    let unfinished = folder.path();
    let environment = build(unfinished, spec).await?;
    let marker = serde_json::to_vec_pretty(&environment).unwrap_or_default();
    fs::write(unfinished.join(MARKER), marker).map_err(SandboxError::io("write", unfinished))?;
    fs::rename(unfinished, &target).map_err(SandboxError::io("create", &target))?;
    Ok(built(id, environment, true))
}

/// Removes what killed runs left, as far as it can be removed.
fn tidy(parent: &Path, prefix: &str) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn built(id: String, environment: Environment, fresh: bool) -> Built {
    Built {
        image: id,
        resolved: environment.resolved,
        python: environment.python,
        fresh,
    }
}

/// Wait for the lock of one environment, held until the file is dropped (or the process ends).
async fn lock(path: PathBuf) -> Result<fs::File, SandboxError> {
    let shown = path.clone();
    let locked = tokio::task::spawn_blocking(move || {
        let file = fs::File::create(path)?;
        file.lock()?;
        Ok(file)
    });
    locked
        .await
        .unwrap_or_else(|error| Err(std::io::Error::other(error)))
        .map_err(SandboxError::io("lock", &shown))
}

fn remove(folder: &Path) -> Result<(), SandboxError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(SandboxError::io("remove", folder)(error))
        }
        _ => Ok(()),
    }
}

async fn build(target: &Path, spec: &ImageSpec) -> Result<Environment, SandboxError> {
    let installer = Installer::choose();
    let interpreter = interpreter::find(&spec.python_version, matches!(installer, Installer::Pip)).await?;
    let environment_python = target.join("bin/python");
    check(installer.create(&interpreter, target)).await?;
    check(installer.install(&environment_python, spec)).await?;
    let listed = check(installer.list(&environment_python)).await?;
    point_scripts_into_sandbox(&target.join("bin")).map_err(SandboxError::io("write", target))?;
    Ok(Environment {
        python: interpreter.describe(&spec.python_version),
        version: interpreter.version(),
        executable: interpreter.executable,
        prefix: interpreter.prefix,
        resolved: resolved(&listed),
    })
}

/// The program that makes environments and installs packages.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Installer {
    /// `uv`, much faster.
    Uv(PathBuf),
    /// `venv` and pip of the interpreter.
    Pip,
}

impl Installer {
    /// uv where it is installed; pip where the user has configured pip (an index of their own), which uv does not read.
    fn choose() -> Self {
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
        let configured = files.iter().any(|file: &PathBuf| file.exists())
            || variables.iter().any(|name| std::env::var_os(name).is_some());
        match find_on_path("uv") {
            Some(uv) if !configured => Self::Uv(uv),
            _ => Self::Pip,
        }
    }

    fn create(&self, interpreter: &Interpreter, target: &Path) -> Command {
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

    /// Wheels alone: building a source distribution would run its code on the user's machine, outside every sandbox.
    fn install(&self, python: &Path, spec: &ImageSpec) -> Command {
        let mut command = match self {
            Self::Uv(uv) => {
                let mut command = Command::new(uv);
                command.args(["pip", "install", "--quiet", "--only-binary", ":all:"]);
                command.args(["--compile-bytecode", "--python"]).arg(python);
                command
            }
            Self::Pip => {
                let mut command = Command::new(python);
                command.args([
                    "-m",
                    "pip",
                    "install",
                    "--quiet",
                    "--no-input",
                    "--disable-pip-version-check",
                ]);
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
        if let Some(index) = &spec.index_url {
            command.args(["--index-url", index]);
        }
        // After this, nothing is an option, whatever a model named its package.
        command.arg("--").args(&spec.packages.pip);
        command
    }

    fn list(&self, python: &Path) -> Command {
        match self {
            Self::Uv(uv) => {
                let mut command = Command::new(uv);
                command
                    .args(["pip", "list", "--quiet", "--format=json", "--python"])
                    .arg(python);
                command
            }
            Self::Pip => {
                let mut command = Command::new(python);
                command.args([
                    "-m",
                    "pip",
                    "list",
                    "--format=json",
                    "--disable-pip-version-check",
                ]);
                command
            }
        }
    }
}

/// Starts an installer. Whatever this user's mask, the sandbox's user must be able to read the environment; and where
/// util-linux is installed, the installer ends with this program, however that ends.
const START: &str = r#"umask 022
setpriv --pdeathsig KILL true 2>/dev/null && exec setpriv --pdeathsig KILL "$0" "$@"
exec "$0" "$@""#;

/// Run an installer; its standard output, or what its words mean.
async fn check(installer: Command) -> Result<Vec<u8>, SandboxError> {
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
        .env_remove("PYTHONPATH")
        .env_remove("PYTHONHOME")
        .env_remove("VIRTUAL_ENV")
        // Ctrl-C is for this program alone: an installer that dies of it looks as if a package could not be installed.
        .process_group(0)
        .kill_on_drop(true)
        .output()
        .await
        .map_err(SandboxError::io("start", &program))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = [output.stdout, output.stderr].concat();
    Err(classify(&String::from_utf8_lossy(&said)))
}

/// `pandas==2.3.1` lines from an installer's list, without the installer's own tools.
fn resolved(listed: &[u8]) -> Vec<String> {
    #[derive(Deserialize)]
    struct Distribution {
        name: String,
        version: String,
    }
    let listed: Vec<Distribution> = serde_json::from_slice(listed).unwrap_or_default();
    let mut lines: Vec<String> = listed
        .into_iter()
        .filter(|distribution| !matches!(distribution.name.as_str(), "pip" | "setuptools"))
        .map(|Distribution { name, version }| format!("{name}=={version}"))
        .collect();
    lines.sort_by_key(|line| line.to_lowercase());
    lines
}

/// Scripts name the interpreter by the path they were installed under; in a sandbox it lies elsewhere.
fn point_scripts_into_sandbox(bin: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(bin)? {
        let path = entry?.path();
        if path.is_symlink() || !path.is_file() {
            continue;
        }
        let content = fs::read(&path)?;
        let Some(end) = content.iter().position(|byte| *byte == b'\n') else {
            continue;
        };
        if content.starts_with(b"#!") && content[..end].windows(10).any(|part| part == b"bin/python") {
            let mut changed = format!("#!{FOLDER}/bin/python").into_bytes();
            changed.extend_from_slice(&content[end..]);
            fs::write(&path, changed)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(executable: &Path) -> Environment {
        Environment {
            python: "3.11.2".into(),
            version: "3.11.2".into(),
            executable: executable.into(),
            prefix: "/usr".into(),
            resolved: vec!["pytest==9.0.1".into()],
        }
    }

    fn store(cache: &Path, id: &str, environment: &Environment) {
        fs::create_dir_all(folder(cache, id)).unwrap();
        fs::write(
            folder(cache, id).join(MARKER),
            serde_json::to_vec(environment).unwrap(),
        )
        .unwrap();
    }

    #[test]
    fn a_finished_environment_is_found() {
        let cache = tempfile::tempdir().unwrap();
        let environment = environment(Path::new("/proc/self/exe"));
        store(cache.path(), "abc", &environment);
        assert_eq!(find(cache.path(), "abc"), Some(environment));
    }

    #[test]
    fn an_environment_without_its_marker_or_interpreter_is_not_there() {
        let cache = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder(cache.path(), "half").join("bin")).unwrap();
        store(
            cache.path(),
            "orphan",
            &environment(Path::new("/nowhere/python3")),
        );
        assert_eq!(find(cache.path(), "half"), None);
        assert_eq!(find(cache.path(), "orphan"), None);
    }

    #[test]
    fn what_is_installed_is_listed_without_the_installer() {
        let listed = br#"[{"name":"pip","version":"24"},{"name":"six","version":"1.17.0"},{"name":"PyYAML","version":"6.0"}]"#;
        assert_eq!(resolved(listed), ["PyYAML==6.0", "six==1.17.0"]);
    }

    #[test]
    fn scripts_name_the_interpreter_of_the_sandbox() {
        let bin = tempfile::tempdir().unwrap();
        let script = bin.path().join("pytest");
        fs::write(&script, "#!/somewhere/x.unfinished/bin/python3.11\nimport sys\n").unwrap();
        fs::write(bin.path().join("activate"), "# a shell script\n").unwrap();
        point_scripts_into_sandbox(bin.path()).unwrap();
        assert_eq!(
            fs::read_to_string(script).unwrap(),
            "#!/env/bin/python\nimport sys\n"
        );
        assert_eq!(
            fs::read_to_string(bin.path().join("activate")).unwrap(),
            "# a shell script\n"
        );
    }
}
