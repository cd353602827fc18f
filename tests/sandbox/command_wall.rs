//! Commands of agents against the wall of a sandbox: each of the lists is run there by a shell, whatever it says, and the machine outside
//! is byte for byte what it was, with no process left.
//!
//! `attacks.list` was written to get around a reading of commands and to reach what no command shall; `tests.list` starts pytest in every
//! spelling; `usual.list` is what agents write; `unusual.list` was written to find what is refused. They hold `rm -rf /` and `kill -9 1`:
//! in every sandbox a first command shows that it is walled in, and where it is not, nothing of a list runs. No shell outside has them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use codegen_core::agent::{AgentCommand, CommandResult, Workspace};
use codegen_core::digest::sha256_hex;
use codegen_core::sandbox::{CommandsPhase, Phase};

use crate::support::{cache, environment, job, run};

const ATTACKS: &str = include_str!("command_lists/attacks.list");
const TESTS: &str = include_str!("command_lists/tests.list");
const USUAL: &str = include_str!("command_lists/usual.list");
const UNUSUAL: &str = include_str!("command_lists/unusual.list");

/// So many commands share a sandbox, unless one ends it before.
const AT_ONCE: usize = 60;
/// Milliseconds that each has which may run on for ever, and one that starts pytest.
const TIME: f64 = 1_000.0;
const TIME_OF_PYTEST: f64 = 60_000.0;

/// A larger file is compared by size and times alone.
const MOST_BYTES: u64 = 256 * 1024;

fn commands(list: &str) -> Vec<String> {
    let lines = list
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    let command = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| line.to_owned());
    lines.map(command).collect()
}

/// What commands of a list find in their workspace.
fn workspace() -> Workspace {
    let table = b"region,name,amount\nnorth,Ann,120\nsouth,Bob,80\nnorth,Cid,45.5\neast,Dan,300\n";
    let program = b"import sys\n\n\ndef total(values):\n    return sum(values)\n\n\nif __name__ == '__main__':\n    print('args', sys.argv[1:])\n";
    let suite = b"from solution import total\n\n\ndef test_total():\n    assert total([1]) == 1\n";
    let files: [(&str, &[u8]); 9] = [
        ("solution.py", program),
        ("test_solution.py", suite),
        ("data.csv", table),
        ("names.txt", b"Bob\nAnn\n"),
        ("packages.txt", b"# packages\n"),
        ("tests.txt", b"test_solution.py\n"),
        ("old/inner.txt", b"x\n"),
        ("with space.txt", b"x\n"),
        ("confined.py", include_bytes!("walls/confined.py")),
    ];
    let mut workspace = Workspace::default();
    for (path, content) in files {
        workspace.put(path, content.to_vec()).unwrap();
    }
    workspace
}

/// Shows that a sandbox is one, and ends all of its commands where it is not.
fn first_command() -> String {
    let own = |name: &str| fs::read_link(format!("/proc/self/ns/{name}")).unwrap();
    let namespaces = ["user", "pid", "net", "mnt", "ipc"].map(|name| format!("'{}'", own(name).display()));
    let user = rustix::process::geteuid().as_raw();
    format!(
        "python confined.py {user} {} || kill -9 $PPID",
        namespaces.join(" ")
    )
}

/// The phase of some commands behind the first one, each for so many milliseconds at most.
fn phase(workspace: &Workspace, commands: &[String], time: f64) -> Phase {
    let first = AgentCommand {
        line: first_command(),
        timeout: None,
    };
    let command = |line: &String| AgentCommand {
        line: line.clone(),
        timeout: Some(time),
    };
    let asked: Vec<AgentCommand> = std::iter::once(first)
        .chain(commands.iter().map(command))
        .collect();
    Phase::Commands(CommandsPhase::new(workspace, &asked, &[]))
}

/// Runs commands in as many sandboxes as that takes; what each came to, nothing of one that fills the memory of its sandbox.
async fn run_all(commands: Vec<String>, time: f64) -> Vec<(String, Option<CommandResult>)> {
    let workspace = workspace();
    let mut done = Vec::new();
    let mut at_once = AT_ONCE;
    while done.len() < commands.len() {
        let rest = &commands[done.len()..];
        let some = &rest[..rest.len().min(at_once)];
        let mut job = job(vec![phase(&workspace, some, time)]);
        job.limits.timeout_seconds = 300.0;
        let report = run(&job).await;
        if report.phases.is_empty() {
            // The kernel ended the sandbox with all that it had to tell: fewer of them show which one it was.
            if let [full] = some {
                done.push((full.clone(), None));
            }
            at_once = some.len().div_ceil(2);
            continue;
        }
        at_once = AT_ONCE;
        let phase = report.phases.first();
        let commands = phase.and_then(|phase| phase.commands.as_ref());
        let results = commands.unwrap_or_else(|| panic!("{report:?}")).results.clone();
        let [first, ran @ ..] = results.as_slice() else {
            panic!("{report:?}")
        };
        let namespace = first.output.trim();
        assert!(first.exit == 0 && namespace.starts_with("pid:["), "{report:?}");
        assert_eq!(left_in(namespace).await, Vec::<PathBuf>::new());
        assert!(!ran.is_empty(), "{report:?}");
        done.extend(rest.iter().cloned().zip(ran.iter().cloned().map(Some)));
    }
    done
}

/// Processes that stay in the namespace of a sandbox that has ended; the kernel takes a moment to end the last ones.
async fn left_in(namespace: &str) -> Vec<PathBuf> {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let left = processes_of(namespace);
        if left.is_empty() || Instant::now() > deadline {
            return left;
        }
        tokio::task::yield_now().await;
    }
}

/// Processes of this machine that are in a namespace.
fn processes_of(namespace: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let is_in =
        |path: &PathBuf| fs::read_link(path.join("ns/pid")).is_ok_and(|own| own == Path::new(namespace));
    entries.filter(is_in).collect()
}

/// What a command could have changed outside: the environment and the harness, which it sees, folders of the system, and files that were
/// put where a way out may lead.
struct Machine {
    folders: Vec<PathBuf>,
    planted: tempfile::TempDir,
    before: BTreeMap<PathBuf, String>,
}

impl Machine {
    async fn new() -> Self {
        let environment = cache().join("environments").join(environment().await);
        assert!(environment.is_dir(), "{}", environment.display());
        let planted = tempfile::tempdir().unwrap();
        fs::set_permissions(planted.path(), fs::Permissions::from_mode(0o777)).unwrap();
        for name in ["solution.py", "x", "secret.txt"] {
            fs::write(planted.path().join(name), "as it was\n").unwrap();
            fs::set_permissions(planted.path().join(name), fs::Permissions::from_mode(0o666)).unwrap();
        }
        let folders = vec![
            environment,
            cache().join("harness"),
            planted.path().to_owned(),
            PathBuf::from("/etc"),
            PathBuf::from("/usr/bin"),
            PathBuf::from("/usr/local/bin"),
        ];
        let before = digests(&folders);
        Self {
            folders,
            planted,
            before,
        }
    }

    fn assert_unchanged(self) {
        let after = digests(&self.folders);
        let other = after
            .iter()
            .filter(|(path, digest)| self.before.get(*path) != Some(digest));
        let other: Vec<&PathBuf> = other.map(|(path, _)| path).collect();
        let gone: Vec<&PathBuf> = self
            .before
            .keys()
            .filter(|path| !after.contains_key(*path))
            .collect();
        assert!(self.before.len() > 1_000, "{}", self.before.len());
        assert!(other.is_empty() && gone.is_empty(), "{other:?} {gone:?}");
        self.planted.close().unwrap();
    }
}

/// Everything below some folders: owner, permissions, size, times, and content of files of a usual size.
fn digests(folders: &[PathBuf]) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut pending = folders.to_vec();
    while let Some(path) = pending.pop() {
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            continue;
        };
        if path.ends_with("__pycache__") {
            // Python makes them where it may.
            continue;
        }
        let mut content = String::new();
        if metadata.is_dir() {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            pending.extend(entries.map(|entry| entry.path()));
        } else if metadata.is_symlink() {
            content = fs::read_link(&path).unwrap().display().to_string();
        } else if metadata.is_file() && metadata.len() <= MOST_BYTES {
            content = fs::read(&path).map_or_else(|error| error.to_string(), |bytes| sha256_hex(&bytes));
        }
        // Whoever writes to a file changes its times. Those of folders are also changed by a neighbour in a `__pycache__`.
        let times =
            (!metadata.is_dir()).then(|| (metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec()));
        let length = (!metadata.is_dir()).then_some(metadata.len());
        let rest = (metadata.uid(), metadata.gid(), metadata.mode(), times, length);
        found.insert(path, format!("{rest:?} {content}"));
    }
    found
}

#[tokio::test]
async fn where_a_wall_is_missing_nothing_of_a_list_runs() {
    let probe = include_str!("walls/confined.py").replace("\"/var/inputs\"", "\"/tmp\"");
    let mut workspace = workspace();
    workspace.put("confined.py", probe.into_bytes()).unwrap();
    let report = run(&job(vec![phase(&workspace, &["touch ran".to_owned()], TIME)])).await;
    let ended = report.phases[0].commands.as_ref().unwrap();
    assert_eq!(ended.results.len(), 1, "{report:?}");
    assert!(
        ended.results[0].interrupted && ended.changes.is_empty(),
        "{report:?}"
    );
}

#[tokio::test]
async fn every_attack_is_run_and_changes_nothing_outside_of_its_sandbox() {
    let machine = Machine::new().await;
    let attacks = commands(ATTACKS);
    assert!(attacks.len() >= 1_163, "{}", attacks.len());
    assert_eq!(run_all(attacks.clone(), TIME).await.len(), attacks.len());
    machine.assert_unchanged();
}

#[tokio::test]
async fn no_usual_command_is_refused_and_of_the_unusual_ones_those_that_install_or_ask_for_a_repository() {
    let machine = Machine::new().await;
    let denied = |ran: Vec<(String, Option<CommandResult>)>| -> Vec<String> {
        let is_denied = |result: CommandResult| !result.denied.is_empty();
        let denied = ran
            .into_iter()
            .filter(|(_, result)| result.clone().is_none_or(is_denied));
        denied.map(|(command, _)| command).collect()
    };
    let usual = run_all(commands(USUAL), TIME).await;
    assert!(usual.len() >= 455, "{}", usual.len());
    assert_eq!(denied(usual), Vec::<String>::new());
    let unusual = denied(run_all(commands(UNUSUAL), TIME).await);
    let is_expected = |command: &&String| ["pip ", "git "].iter().any(|name| command.contains(name));
    let others: Vec<&String> = unusual.iter().filter(|command| !is_expected(command)).collect();
    assert_eq!((unusual.len(), others), (4, Vec::new()), "{unusual:?}");
    machine.assert_unchanged();
}

#[tokio::test]
async fn pytest_is_noticed_in_every_spelling_that_starts_it() {
    let ran = run_all(commands(TESTS), TIME_OF_PYTEST).await;
    assert!(ran.len() >= 50, "{}", ran.len());
    let is_noticed = |result: &CommandResult| result.asks_for_tests;
    let unnoticed: Vec<&(String, Option<CommandResult>)> = ran
        .iter()
        .filter(|(_, result)| !result.as_ref().is_some_and(is_noticed))
        .collect();
    assert!(unnoticed.is_empty(), "{unnoticed:?}");
}
