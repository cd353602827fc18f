//! Virtual environments by content hash: found in a moment, built once, never half there.
//!
//! A model chose the packages, so nothing of theirs may run outside a sandbox, and nothing of theirs is written outside of the environment.
//! uv installs within bubblewrap; what it left is judged before anything reads it. A wheel can bring code that every start of the
//! environment's interpreter runs (a `.pth` file): no process outside a sandbox starts anything that lies in the environment.

mod installer;
mod uv;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use self::installer::InstallPlace;
use super::interpreter;
use super::{system_packages, user_cache};
use crate::BuiltEnvironment;
use crate::error::SandboxError;
use crate::image::ImageSpec;
use crate::index::{self, Where};
use crate::packages::reject_locations;
use codegen_core::digest::is_digest;
use codegen_core::lock::Lock;
use codegen_package_index::{PYPI, PackageIndex};

/// Folder of an environment inside a sandbox.
pub(super) const FOLDER: &str = "/env";

/// The folder of a new environment, in that of its installation.
pub(super) const ENVIRONMENT: &str = "env";

/// Written last: an environment without it is not there.
const MARKER: &str = "environment.json";

/// Record of an environment that is ready.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(super) struct Environment {
    /// The interpreter, as messages name it.
    pub python: String,
    /// `3.11.2`.
    pub version: String,
    /// The interpreter behind the environment.
    pub executable: PathBuf,
    /// The folder of its standard library.
    pub prefix: PathBuf,
    /// Installed distributions (`pandas==2.3.1`).
    pub resolved: Vec<String>,
    /// The same with digests, as a requirements file, where all have one.
    #[serde(default)]
    pub lock: Option<String>,
}

/// The folder of an environment.
pub(super) fn folder(cache: &Path, id: &str) -> PathBuf {
    cache.join("environments").join(id)
}

/// An environment that is ready; `None` when it is not built or its interpreter is gone, and for what is no id of one, whoever recorded it:
/// a path would name an environment of somebody else.
pub(super) fn find(cache: &Path, id: &str) -> Option<Environment> {
    let folder = is_digest(id).then(|| folder(cache, id))?;
    let is_in_cache = folder.symlink_metadata().ok()?.is_dir();
    let marker = is_in_cache.then(|| folder.join(MARKER))?;
    let text = marker
        .symlink_metadata()
        .ok()?
        .is_file()
        .then(|| fs::read(&marker))?;
    let environment: Environment = serde_json::from_slice(&text.ok()?).ok()?;
    // It names the folder of the harness.
    let is_version = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    // An update of the system may have removed the interpreter: the links in the environment lead nowhere then.
    let is_ready = environment.version.bytes().all(is_version) && environment.executable.exists();
    is_ready.then_some(environment)
}

/// Checks that anything can be built below `cache`: folders are made there, and one more that is removed again.
pub(super) fn can_be_stored(cache: &Path) -> Result<(), SandboxError> {
    let parent = cache.join("environments");
    let made = fs::create_dir_all(&parent).and_then(|()| tempfile::tempdir_in(&parent).map(drop));
    made.map_err(|source| SandboxError::Cache {
        folder: cache.to_owned(),
        source,
    })
}

/// Reports whether `cache` has an environment that is whole, of whichever packages.
pub(super) fn has_any(cache: &Path) -> bool {
    let entries = fs::read_dir(cache.join("environments")).into_iter().flatten();
    entries.flatten().any(|entry| entry.path().join(MARKER).exists())
}

/// Checks that the index that an environment of `spec` would be installed from answers.
pub(super) async fn index_answers(spec: &ImageSpec) -> Result<(), SandboxError> {
    let index = PackageIndex::new(None, Vec::new());
    index::answers(&index, spec, place(spec, &spec.python_version)).await
}

/// The environment of a spec, built when it is not there, or when it is to take the place of the one that is. Of two at once, the second
/// waits and finds the first one's.
pub(super) async fn find_or_build(
    cache: &Path,
    spec: &ImageSpec,
    replaces: bool,
) -> Result<BuiltEnvironment, SandboxError> {
    let id = spec.content_hash();
    let found = || find(cache, &id).filter(|_| !replaces);
    if let Some(environment) = found() {
        return Ok(built(id, environment, false));
    }
    reject_locations(&spec.packages.pip)?;
    system_packages::check(&spec.packages.apt).await?;
    let target = folder(cache, &id);
    let parent = cache.join("environments");
    fs::create_dir_all(&parent).map_err(SandboxError::io("create", &parent))?;
    let _lock = lock(parent.join(format!("{id}.lock"))).await?;
    // Whoever waited for the lock finds what the first one built.
    if let Some(environment) = found() {
        return Ok(built(id, environment, false));
    }
    // What a killed run left is removed: whoever holds the lock is the only one who builds.
    tidy(&parent, &format!("{id}.unfinished-"));
    // A name of its own: the installer of a killed run may still write into the folder that it was given.
    let folder = tempfile::Builder::new()
        .prefix(&format!("{id}.unfinished-"))
        .tempdir_in(&parent)
        .map_err(SandboxError::io("create a folder in", &parent))?;
    let unfinished = &folder.path().join(ENVIRONMENT);
    // Whatever this user's mask: the sandbox may run as another user.
    fs::create_dir(unfinished)
        .and_then(|()| fs::set_permissions(unfinished, fs::Permissions::from_mode(0o755)))
        .map_err(SandboxError::io("create", unfinished))?;
    let environment = build(cache, folder.path(), spec).await?;
    let marker = serde_json::to_vec_pretty(&environment).unwrap_or_default();
    // Last, and renamed as a whole: whatever is found under the final name is complete.
    fs::write(unfinished.join(MARKER), marker).map_err(SandboxError::io("write", unfinished))?;
    // Only now: a build that fails leaves the one that is there.
    if find(cache, &id).is_some() {
        // A sandbox may run in it; it is tidied up before the next build.
        let aside = parent.join(format!("{id}.unfinished-replaced"));
        fs::rename(&target, &aside).map_err(SandboxError::io("replace", &target))?;
    } else {
        remove(&target)?;
    }
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

fn built(id: String, environment: Environment, fresh: bool) -> BuiltEnvironment {
    BuiltEnvironment {
        image: id,
        resolved: environment.resolved,
        lock: environment.lock.as_deref().and_then(Lock::parse),
        python: environment.python,
        fresh,
        seconds: None,
        remark: None,
    }
}

/// Wait for the lock of one environment, held until the file is dropped (or the process ends).
async fn lock(path: PathBuf) -> Result<fs::File, SandboxError> {
    let shown = path.clone();
    // Waiting for a lock blocks, and would hold up every other task of this thread.
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

async fn build(cache: &Path, folder: &Path, spec: &ImageSpec) -> Result<Environment, SandboxError> {
    // Of this user and not of this cache: every folder with environments has the same program.
    let tools = user_cache().unwrap_or_else(|_| cache.to_owned());
    let interpreter = interpreter::find(&spec.python_version, !uv::is_there(&tools)).await?;
    let python = interpreter.version();
    // Archives are for one minor version, and another interpreter may be here by now.
    let lock = spec
        .lock
        .as_ref()
        // A lock of another interpreter names archives that do not install here.
        .filter(|lock| lock.is_for(&python, &spec.architecture));
    if lock.is_none() && spec.min_release_age_days > 0 {
        index::verify(&PackageIndex::new(None, Vec::new()), spec, place(spec, &python)).await?;
    }
    let uv = uv::find_or_fetch(&tools, &interpreter).await?;
    let place = InstallPlace {
        interpreter: &interpreter,
        uv: &uv,
        archives: &cache.join("uv"),
        folder,
    };
    let installed = place.install(spec, lock).await?;
    Ok(Environment {
        python: interpreter.describe(&spec.python_version),
        version: python,
        executable: interpreter.executable,
        prefix: interpreter.prefix,
        resolved: installed.names(),
        lock: installed.is_complete().then(|| installed.to_string()),
    })
}

/// Returns the place in which the installer finds packages, where that can be said.
fn place<'a>(spec: &'a ImageSpec, python: &'a str) -> Where<'a> {
    Where {
        index: spec
            .index_url
            .as_deref()
            // Where the user configured sources of their own, nobody here can say which index answers.
            .or_else(|| (!has_sources_of_its_own()).then_some(PYPI)),
        python,
    }
}

/// Reports whether the user has configured where an installer takes packages from.
fn has_sources_of_its_own() -> bool {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let files = [
        "/etc/pip.conf".into(),
        home.join(".config/pip/pip.conf"),
        home.join(".pip/pip.conf"),
    ];
    let mut names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let is_source = |name: String| {
        ["PIP_", "UV_"].iter().any(|prefix| name.starts_with(prefix))
            && ["INDEX_URL", "INDEX", "LINKS", "CONFIG_FILE"]
                .iter()
                .any(|end| name.ends_with(end))
    };
    files.iter().any(|file| file.exists()) || names.any(is_source)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

    fn environment(executable: &Path) -> Environment {
        Environment {
            python: "3.11.2".into(),
            version: "3.11.2".into(),
            executable: executable.into(),
            prefix: "/usr".into(),
            resolved: vec!["pytest==9.0.1".into()],
            lock: None,
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
    fn a_folder_that_cannot_hold_environments_is_named_with_the_variable_for_another() {
        let folder = tempfile::tempdir().unwrap();
        assert!(can_be_stored(&folder.path().join("cache")).is_ok());
        // Root may write to any folder, but nobody makes one below a file.
        fs::write(folder.path().join("file"), "").unwrap();
        let cache = folder.path().join("file/cache");
        let error = can_be_stored(&cache).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("environments cannot be stored in {}: ", cache.display()))
                && error.ends_with("set CODEGEN_CACHE_DIR to another folder"),
            "{error}"
        );
    }

    #[test]
    fn a_finished_environment_is_found() {
        let cache = tempfile::tempdir().unwrap();
        let environment = environment(Path::new("/proc/self/exe"));
        store(cache.path(), ID, &environment);
        assert_eq!(find(cache.path(), ID), Some(environment));
    }

    #[test]
    fn an_id_that_is_a_path_or_a_link_finds_no_environment_of_somebody_else() {
        let (cache, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        store(cache.path(), ID, &environment(Path::new("/proc/self/exe")));
        let theirs = folder(other.path(), ID);
        store(other.path(), ID, &environment(Path::new("/proc/self/exe")));
        let upper = ID.to_uppercase();
        let linked = ID.replace('a', "b");
        std::os::unix::fs::symlink(&theirs, folder(cache.path(), &linked)).unwrap();
        let marked = ID.replace('a', "c");
        fs::create_dir(folder(cache.path(), &marked)).unwrap();
        std::os::unix::fs::symlink(theirs.join(MARKER), folder(cache.path(), &marked).join(MARKER)).unwrap();
        for id in [
            theirs.to_str().unwrap(),
            &format!("../environments/{ID}"),
            &format!("./{ID}"),
            &upper,
            &linked,
            &marked,
            "",
            ".",
            "..",
        ] {
            assert_eq!(find(cache.path(), id), None, "{id}");
        }
    }

    #[test]
    fn an_environment_without_its_marker_or_interpreter_is_not_there() {
        let cache = tempfile::tempdir().unwrap();
        let half = ID.replace('a', "b");
        fs::create_dir_all(folder(cache.path(), &half).join("bin")).unwrap();
        store(cache.path(), ID, &environment(Path::new("/nowhere/python3")));
        assert_eq!(find(cache.path(), &half), None);
        assert_eq!(find(cache.path(), ID), None);
    }
}
