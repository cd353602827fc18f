//! Runs one job: lays out the sandbox, starts it, hands over the job, takes the report.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use super::bwrap::{self, SandboxLayout, Starter};
use super::cgroup::ControlGroup;
use super::filter;
use super::inputs::{self, Mount};
use super::internet::{self, Internet};
use super::interpreter;
use super::isolation::{self, KernelSwitches};
use super::venv::{self, Environment};
use crate::error::SandboxError;
use crate::harness;
use codegen_core::sandbox::{Job, NetworkAccess, Report};
use codegen_egress::AllowedHost;

/// Time that the harness may take beyond the job's own wall time before it counts as hung.
// Enough to write the report and to kill what is left, of a machine under load.
const GRACE: Duration = Duration::from_secs(15);
/// Size of the part of the sandbox's own words that an error repeats, bytes.
const WORDS_BYTES: usize = 2048;
/// Users for sandboxes that root starts: a range that Debian reserves and nobody logs in from. Each job has its own, so
/// that two at once share neither a process limit nor signals.
const FIRST_USER: u32 = 62_000;
const USERS: u32 = 2000;
/// Joins the control groups of its first argument (separated by colons), opens the filter of its second one, and becomes the rest.
// The shell joins before it becomes bubblewrap: a process that started outside would have children that no limit counts.
const START: &str = r#"IFS=:; for group in $0; do echo $$ > "$group" || exit 125; done; filter=$1; shift; exec "$@" 9<"$filter""#;
/// The filter of system calls, in the folder of the job.
const FILTER: &str = "filter";

/// Run a job in an environment. What programs write to their outputs goes to the folder `outputs`, else to memory. Where the job
/// opens the internet, it reaches what is `opened` besides.
pub(super) async fn run(
    cache: &Path,
    image: &str,
    job: &Job,
    outputs: Option<&Path>,
    opened: &[AllowedHost],
) -> Result<Report, SandboxError> {
    let internet = match job.network {
        NetworkAccess::Denied => None,
        NetworkAccess::Internet => Some(Internet::new(opened).await?),
        NetworkAccess::List(_) => return Err(SandboxError::NetworkList),
    };
    let bubblewrap = isolation::find_bubblewrap()?;
    let environment =
        venv::find(cache, image).ok_or_else(|| SandboxError::EnvironmentMissing(image.to_owned()))?;
    let folder = venv::folder(cache, image);
    let harness = harness_folder(cache, &environment).await?;
    let starter = starter();
    // Dropped at the end of this function, with all that was copied for the job.
    let session = session(starter, internet.as_ref())?;
    let mut mounts = inputs::mounts(&job.inputs, session.path(), starter != Starter::User)?;
    // Without a group the harness measures the tree itself, and CPU time is bounded for each process alone.
    let group = ControlGroup::create(&job.limits);
    mounts.extend(group.iter().flat_map(counters));
    if let Some(outputs) = outputs {
        // The sandbox may have a user of its own. Nobody else comes that far: the folders above are closed.
        fs::set_permissions(outputs, fs::Permissions::from_mode(0o1777))
            .map_err(SandboxError::io("open to the sandbox", outputs))?;
    }
    let closed = internet.as_ref().and_then(Internet::closed_address);
    let arguments = bwrap::arguments(&SandboxLayout {
        starter,
        system: &bwrap::system_folders(),
        machine: &bwrap::machine_files(),
        environment: &folder,
        executable: &environment.executable,
        interpreter: &environment.prefix,
        harness: &harness,
        identity: session.path(),
        mounts: &mounts,
        own_inputs: job.has_own_inputs(),
        outputs,
        internet: internet.is_some(),
        closed: closed.as_deref(),
    });
    let start = match &internet {
        None => Command::new("/bin/sh"),
        Some(internet) => {
            let mut command = internet.command(starter, session.path());
            command.arg("/bin/sh");
            command
        }
    };
    let mut command = command(start, &bubblewrap, group.as_ref(), session.path());
    command.args(arguments);
    let deadline = Duration::from_secs_f64(job.longest_seconds()) + GRACE;
    // Dropping the future kills the sandbox, so a hung harness does not outlive its time.
    let ended = tokio::time::timeout(deadline, converse(command, job)).await;
    let ended = ended.map_err(|_| SandboxError::NoReport("it did not end in time".into()))??;
    if let (false, Some(error)) = (
        ended.status.success(),
        internet.and_then(|_| internet::explain(&ended.stderr)),
    ) {
        return Err(error);
    }
    ended.report(group.as_ref())
}

/// Returns the user that starts sandboxes here.
pub(super) fn starter() -> Starter {
    if rustix::process::geteuid().is_root() {
        Starter::Root {
            user: FIRST_USER + fastrand::u32(..USERS),
        }
    } else {
        Starter::User
    }
}

/// A folder for the time of one job, with the sandbox's own `passwd`, `group` and `hosts`, its filter, and what its network is made
/// from.
fn session(starter: Starter, internet: Option<&Internet>) -> Result<TempDir, SandboxError> {
    let action = SandboxError::io("create a folder in", &std::env::temp_dir());
    let session = tempfile::Builder::new()
        .prefix("codegen-sandbox-")
        .tempdir()
        .map_err(action)?;
    let uid = starter.inner_uid();
    let opened = internet.map_or("", |internet| internet.hosts.as_str());
    let files = [
        (
            "passwd",
            format!("root:x:0:0::/:/usr/sbin/nologin\nsandbox:x:{uid}:{uid}::/tmp:/bin/sh\n"),
        ),
        ("group", format!("root:x:0:\nsandbox:x:{uid}:\n")),
        (
            "hosts",
            format!("127.0.0.1 localhost sandbox\n::1 localhost\n{opened}"),
        ),
        (bwrap::NOTHING, String::new()),
    ];
    let of_the_network = internet.map(Internet::files).unwrap_or_default();
    for (name, text) in files.into_iter().chain(of_the_network) {
        let path = session.path().join(name);
        write_readable(&path, &text).map_err(SandboxError::io("write", &path))?;
    }
    let path = session.path().join(FILTER);
    fs::write(&path, filter::program()?).map_err(SandboxError::io("write", &path))?;
    Ok(session)
}

/// Writes a file that the sandbox's user can read, whatever the umask says.
fn write_readable(path: &Path, text: &str) -> io::Result<()> {
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o644))
}

/// Counters of a control group, where the harness reads them.
fn counters(group: &ControlGroup) -> [Mount; 2] {
    let mount = |source: &Path, target: &str| Mount {
        source: source.into(),
        target: target.into(),
    };
    [
        mount(&group.memory_events, "/run/limits/memory"),
        mount(&group.process_events, "/run/limits/processes"),
    ]
}

/// The command that goes on with the shell that `command` starts.
fn command(mut command: Command, bubblewrap: &Path, group: Option<&ControlGroup>, session: &Path) -> Command {
    let groups: Vec<PathBuf> = group.map_or_else(Vec::new, |group| group.join_files().collect());
    command
        .args(["-c", START])
        .arg(join(&groups))
        .arg(session.join(FILTER))
        .arg(bubblewrap);
    command
        // The environment of the user has keys.
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C is for this program alone.
        .process_group(0)
        .kill_on_drop(true);
    command
}

fn join(paths: &[PathBuf]) -> String {
    paths
        .iter()
        .map(|path| path.display().to_string())
        .collect::<Vec<_>>()
        .join(":")
}

/// Result that came back from a sandbox.
struct Ended {
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: String,
}

/// Start the sandbox, hand over the job, read until it ends. Its stdin stays open until then: a sandbox ends with its starter.
async fn converse(mut command: Command, job: &Job) -> Result<Ended, SandboxError> {
    let program = PathBuf::from(command.as_std().get_program());
    let failed = || SandboxError::io("talk to the sandbox through", &program);
    let mut child = command.spawn().map_err(SandboxError::io("start", &program))?;
    let mut group = Group::of(&child);
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(mut stdin), Some(mut stdout), Some(mut stderr)) = (stdin, stdout, stderr) else {
        return Err(failed()(io::ErrorKind::BrokenPipe.into()));
    };
    let mut line = serde_json::to_vec(job).map_err(|error| failed()(error.into()))?;
    line.push(b'\n');
    let (mut report, mut words) = (Vec::new(), Vec::new());
    let write = async {
        // A sandbox that did not start reads nothing; its words say why.
        let _ = stdin.write_all(&line).await;
        let _ = stdin.flush().await;
    };
    // All at once: a report larger than the buffer of a pipe would stop the sandbox while nobody reads.
    let end = async {
        let status = child.wait().await;
        // What fails to start may leave children behind, which hold what is read here.
        if status.as_ref().is_ok_and(ExitStatus::success) {
            group.0 = None;
        }
        drop(group);
        status
    };
    let ((), read, said, status) = tokio::join!(
        write,
        stdout.read_to_end(&mut report),
        stderr.read_to_end(&mut words),
        end
    );
    read.and(said).map_err(failed())?;
    let status = status.map_err(failed())?;
    drop(stdin);
    Ok(Ended {
        status,
        stdout: report,
        stderr: String::from_utf8_lossy(&words).into_owned(),
    })
}

/// The processes of one sandbox that lie outside of it, which end with this.
struct Group(Option<rustix::process::Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self(id.and_then(rustix::process::Pid::from_raw))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            // Fails where nobody is left.
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
}

impl Ended {
    /// The report, or why there is none.
    fn report(self, group: Option<&ControlGroup>) -> Result<Report, SandboxError> {
        if self.status.success()
            && let Ok(report) = serde_json::from_slice(&self.stdout)
        {
            return Ok(report);
        }
        // The whole group was killed, which leaves no word but the kernel's count.
        if group.is_some_and(ControlGroup::ran_out_of_memory) {
            // Even the harness had to go: no phase has anything to say.
            return Ok(Report {
                phases: vec![],
                seconds: 0.0,
            });
        }
        if let Some(error) = isolation::explain(&self.stderr, KernelSwitches::read()) {
            return Err(error);
        }
        let words = self.stderr.trim();
        let words = &words[words.ceil_char_boundary(words.len().saturating_sub(WORDS_BYTES))..];
        let how = match (self.status.code(), self.status.signal()) {
            (Some(code), _) => format!("exit code {code}"),
            (None, signal) => format!("signal {}", signal.unwrap_or_default()),
        };
        Err(SandboxError::NoReport(
            format!("{how} {words}").trim_end().to_owned(),
        ))
    }
}

/// The harness as files, compiled by the interpreter behind the environment, made once per version of either. Nothing that lies
/// in an environment runs outside of a sandbox, nor what an environment only names: the interpreter is found as for a build.
async fn harness_folder(cache: &Path, python: &Environment) -> Result<PathBuf, SandboxError> {
    let parent = cache.join("harness");
    let folder = parent.join(format!("{}-{}", &harness::version()[..16], python.version));
    // The name has both versions, so what is there is complete and right.
    if folder.is_dir() {
        return Ok(folder);
    }
    let failed = || SandboxError::io("write", &folder);
    fs::create_dir_all(&parent).map_err(failed())?;
    // Filled beside and renamed: another run never sees half of it.
    let unfinished = tempfile::Builder::new()
        .prefix("unfinished-")
        .tempdir_in(&parent)
        .map_err(failed())?;
    for (name, text) in harness::FILES {
        write_readable(&unfinished.path().join(name), text).map_err(failed())?;
    }
    compile(unfinished.path(), python).await;
    fs::set_permissions(unfinished.path(), fs::Permissions::from_mode(0o755)).map_err(failed())?;
    match fs::rename(unfinished.path(), &folder) {
        // Another run was faster.
        Err(_) if folder.is_dir() => Ok(folder),
        done => done.map(|()| folder.clone()).map_err(failed()),
    }
}

/// Compiles the harness, where the interpreter of the environment is installed on this machine. Not compiled, it would only start slower.
async fn compile(harness: &Path, python: &Environment) {
    let minor = python.version.rsplit_once('.').map_or("", |(minor, _)| minor);
    let Ok(interpreter) = interpreter::find(minor, false).await else {
        return;
    };
    if interpreter.version() != python.version {
        return;
    }
    let _ = Command::new(&interpreter.executable)
        .env_clear()
        .args([
            "-I",
            "-S",
            "-m",
            "compileall",
            "-q",
            "--invalidation-mode",
            // `unchecked-hash`: sources are not compared again, and modes or times of files play no role.
            "unchecked-hash",
        ])
        .arg(harness)
        .stdin(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .output()
        .await;
}
