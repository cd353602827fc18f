//! The command line of bubblewrap: what a sandbox sees, and nothing else.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::inputs::Mount;
use super::venv;
use crate::harness;

/// Top folders of the system that programs and libraries need.
// On merged systems these are links into `/usr`, which is bound as a whole.
const SYSTEM: [&str; 6] = ["/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32"];
/// Files and folders of `/etc` that libraries read; none of them says anything about users or this machine.
// No `/etc/passwd`, `/etc/hosts` or `/etc/hostname` of this machine: they name users and networks.
// Beside certificates lie private keys, which whoever is in the group `ssl-cert` may read: certificates and settings alone.
const SETTINGS: [&str; 13] = [
    "/etc/ld.so.cache",
    "/etc/alternatives",
    "/etc/ssl/certs",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/openssl.cnf",
    "/etc/ca-certificates",
    "/etc/pki/ca-trust",
    "/etc/pki/ca-trust-source",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/cert.pem",
    "/etc/pki/tls/openssl.cnf",
    "/etc/fonts",
];
/// Files that a resolver reads, given only with the network: the sandbox's own, since the machine's name servers are out of its reach.
pub(super) const RESOLVER: [&str; 2] = ["resolv.conf", "nsswitch.conf"];
/// Files that names are looked up by on this machine, for an installation alone: its indexes may have private names.
const NAMES: [&str; 3] = ["/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/hosts"];
/// Package stores outside `/usr`.
const STORES: [&str; 2] = ["/nix/store", "/gnu/store"];

/// Files of `/proc` that reveal processes and the kernel beyond the sandbox, or hold what any process can leave for another.
const OF_THE_MACHINE: [&str; 14] = [
    "/proc/kallsyms",
    "/proc/kcore",
    "/proc/key-users",
    "/proc/keys",
    "/proc/kmsg",
    "/proc/latency_stats",
    "/proc/locks",
    "/proc/modules",
    "/proc/sched_debug",
    "/proc/slabinfo",
    "/proc/sysrq-trigger",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/vmallocinfo",
];
/// The descriptor by which bubblewrap reads its filter.
pub(super) const FILTER: u8 = 9;
/// Name of the file that stands for one of the machine: an empty one beside the sandbox's own `passwd`.
pub(super) const NOTHING: &str = "nothing";

/// Folder to which programs write their outputs.
const OUTPUTS: &str = "/var/outputs";

/// User that the sandbox starts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Starter {
    /// A user: a user namespace gives bubblewrap its rights.
    User,
    /// Root: bubblewrap mounts as root, then the harness becomes this user before it runs anything.
    Root {
        /// The user to become.
        user: u32,
    },
}

impl Starter {
    /// The uid that programs see.
    pub(super) const fn inner_uid(self) -> u32 {
        match self {
            Self::User => 1000,
            Self::Root { user } => user,
        }
    }
}

/// A top folder of the system: many are links into `/usr`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SystemFolder {
    path: PathBuf,
    link: Option<PathBuf>,
}

/// The top folders that this system has.
pub(super) fn system_folders() -> Vec<SystemFolder> {
    SYSTEM
        .iter()
        .map(PathBuf::from)
        .filter(|path| path.exists())
        .map(|path| SystemFolder {
            // As links they must be links in the sandbox too: the loader's path is compiled into programs.
            link: std::fs::read_link(&path).ok(),
            path,
        })
        .collect()
}

/// The files of the machine that this kernel has.
pub(super) fn machine_files() -> Vec<&'static str> {
    OF_THE_MACHINE
        .into_iter()
        // bubblewrap cannot bind over a file that is not there.
        .filter(|path| Path::new(path).exists())
        .collect()
}

/// Layout of one sandbox.
#[derive(Clone, Debug)]
pub(super) struct SandboxLayout<'a> {
    /// User that starts it.
    pub starter: Starter,
    /// Top folders of the system.
    pub system: &'a [SystemFolder],
    /// Files of the machine, which are hidden.
    pub machine: &'a [&'static str],
    /// Folder of the environment.
    pub environment: &'a Path,
    /// The interpreter behind the environment, which runs the harness.
    pub executable: &'a Path,
    /// Its folder.
    pub interpreter: &'a Path,
    /// Folder of the harness.
    pub harness: &'a Path,
    /// `passwd`, `group` and `hosts` of the sandbox, and an empty file.
    pub identity: &'a Path,
    /// Inputs and the counters of a control group.
    pub mounts: &'a [Mount],
    /// True where the harness writes inputs, beside those that are mounted.
    pub own_inputs: bool,
    /// The folder that outputs go to, where they do not go to memory.
    pub outputs: Option<&'a Path>,
    /// True where it is started in a network namespace that leads to the internet.
    pub internet: bool,
    /// Address that must be out of reach before anything runs.
    pub closed: Option<&'a str>,
}

/// Arguments of bubblewrap, the harness's command last.
pub(super) fn arguments(layout: &SandboxLayout) -> Vec<OsString> {
    let mut line = Line::default();
    namespaces(layout, &mut line);
    line.add([
        "--hostname",
        "sandbox",
        // `--die-with-parent`: nothing runs on when this program is killed. `--new-session`: without it a program could push input to the
        // terminal (TIOCSTI). `--as-pid-1`: the harness reaps what its children leave, and the kernel kills all when it ends.
        "--die-with-parent",
        "--new-session",
        "--as-pid-1",
        "--seccomp",
    ]);
    line.add([FILTER.to_string()]);
    system(layout, &mut line);
    files_of_the_job(layout, &mut line);
    // A user who starts a sandbox owns both.
    line.add(["--remount-ro", "/dev", "--remount-ro", "/"]);
    line.add(["--chdir", "/sandbox", "--"]);
    // Nothing that a package brought runs in this process: neither the environment's interpreter nor what that would load.
    line.add([layout.executable]);
    line.add(["-I", "-S", "-c"]);
    let user = match layout.starter {
        Starter::User => None,
        Starter::Root { user } => Some(user),
    };
    line.add([&harness::start_code(
        &format!("{}/bin/python", venv::FOLDER),
        user,
        layout.closed,
    )]);
    line.0
}

/// Adds the options that separate the sandbox from the machine, and those for the rights inside.
fn namespaces(layout: &SandboxLayout, line: &mut Line) {
    line.add([
        "--unshare-ipc",
        "--unshare-pid",
        "--unshare-uts",
        // `-try`: kernels without this namespace run programs all the same.
        "--unshare-cgroup-try",
    ]);
    if !layout.internet {
        line.add(["--unshare-net"]);
    }
    // Who starts it in a network namespace is root of that.
    line.add(["--cap-drop", "ALL"]);
    match layout.starter {
        Starter::User => line.add(["--unshare-user", "--uid", "1000", "--gid", "1000"]),
        Starter::Root { .. } => {
            // Only what the harness needs to become the job's user.
            line.add(["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]);
        }
    }
}

/// Environment, harness and inputs, and the folders that the program may write.
fn files_of_the_job(layout: &SandboxLayout, line: &mut Line) {
    line.bind(layout.environment, Path::new(venv::FOLDER));
    line.bind(layout.harness, Path::new(harness::FOLDER));
    // Made first: bubblewrap would close the folders above a target like those above its source.
    for folder in ["/var", "/var/inputs", "/run", "/run/limits"] {
        line.add(["--dir", folder]);
    }
    if layout.own_inputs {
        line.add(["--perms", "1777", "--tmpfs", "/var/inputs"]);
    }
    for mount in layout.mounts {
        line.bind(&mount.source, &mount.target);
    }
    // Sticky and open to all, since the harness may become another user than the one who mounts.
    for scratch in ["/tmp", "/sandbox", "/dev/shm"] {
        line.add(["--perms", "1777", "--tmpfs", scratch]);
    }
    match layout.outputs {
        // bubblewrap lets nothing on it be a device or take another user's rights.
        Some(folder) => line.add([OsString::from("--bind"), folder.into(), OUTPUTS.into()]),
        None => line.add(["--perms", "1777", "--tmpfs", OUTPUTS]),
    }
    line.add(["--dir", "/var/inputs"]);
}

/// The read-only system: programs, libraries, a minimal `/etc`, devices and processes.
fn system(layout: &SandboxLayout, line: &mut Line) {
    programs(layout.system, line);
    // Made first for the same reason as `/var` is: another user than root reads what names resolve to, and whom to trust.
    for folder in ["/etc", "/etc/ssl", "/etc/pki", "/etc/pki/tls"] {
        line.add(["--dir", folder]);
    }
    for path in SETTINGS.iter().chain(&STORES) {
        // `-try`: no distribution has all of them.
        line.add(["--ro-bind-try", path, path]);
    }
    let resolver: &[&str] = if layout.internet { &RESOLVER } else { &[] };
    for name in ["passwd", "group", "hosts"].iter().chain(resolver) {
        line.bind(&layout.identity.join(name), &Path::new("/etc").join(name));
    }
    line.add(["--proc", "/proc", "--dev", "/dev"]);
    // Of what a namespace has for itself, its owner may write some, and it stays.
    line.bind(Path::new("/proc/sys"), Path::new("/proc/sys"));
    for path in layout.machine {
        line.bind(&layout.identity.join(NOTHING), Path::new(path));
    }
    interpreter(layout.interpreter, line);
}

fn programs(system: &[SystemFolder], line: &mut Line) {
    line.bind(Path::new("/usr"), Path::new("/usr"));
    for folder in system {
        match &folder.link {
            Some(target) => line.add([
                OsString::from("--symlink"),
                target.into(),
                folder.path.clone().into(),
            ]),
            None => line.bind(&folder.path, &folder.path),
        }
    }
}

/// The folder of the interpreter, where the system has it elsewhere.
fn interpreter(folder: &Path, line: &mut Line) {
    if ["/usr"]
        .iter()
        .chain(&STORES)
        .any(|system| folder.starts_with(system))
    {
        return;
    }
    // Made first for the same reason as `/var` is: a home is closed to other users.
    let above: Vec<&Path> = folder.ancestors().skip(1).collect();
    for folder in above.into_iter().rev().skip(1) {
        line.add([OsString::from("--dir"), folder.into()]);
    }
    line.bind(folder, folder);
}

/// View of an installation: the system and the interpreter read-only, the network, and one folder to write to.
#[derive(Clone, Debug)]
pub(super) struct Workshop<'a> {
    /// User that starts it.
    pub starter: Starter,
    /// Top folders of the system.
    pub system: &'a [SystemFolder],
    /// The interpreter that the environment is for.
    pub executable: &'a Path,
    /// Its folder.
    pub interpreter: &'a Path,
    /// The program that installs.
    pub uv: &'a Path,
    /// The folder with the new environment ([`venv::ENVIRONMENT`]), archives, and files of the installation.
    // One mount, so that files of archives become files of the environment without being copied.
    pub folder: &'a Path,
    /// Files of this user that its settings name.
    pub files: &'a [String],
}

/// The program that installs, as an installation sees it.
pub(super) const UV: &str = "/uv";
/// Its folder.
pub(super) const WORKSHOP: &str = "/workshop";

/// Arguments of bubblewrap for an installation, the command last.
pub(super) fn installation(workshop: &Workshop, command: &[&str]) -> Vec<OsString> {
    let mut line = Line::default();
    line.add([
        "--unshare-ipc",
        "--unshare-pid",
        "--unshare-uts",
        "--unshare-cgroup-try",
    ]);
    match workshop.starter {
        Starter::User => line.add(["--unshare-user"]),
        Starter::Root { .. } => line.add(["--cap-drop", "ALL"]),
    }
    line.add(["--die-with-parent", "--new-session"]);
    programs(workshop.system, &mut line);
    for path in SETTINGS.iter().chain(&NAMES).chain(&STORES) {
        line.add(["--ro-bind-try", path, path]);
    }
    line.add(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]);
    interpreter(workshop.interpreter, &mut line);
    for file in workshop.files {
        line.add(["--ro-bind-try", file, file]);
    }
    line.bind(workshop.uv, Path::new(UV));
    line.add([OsString::from("--bind"), workshop.folder.into(), WORKSHOP.into()]);
    // Under the name that it has in every sandbox: scripts have it in their first line.
    line.add([
        "--symlink",
        &format!("{}/{}", &WORKSHOP[1..], venv::ENVIRONMENT),
        venv::FOLDER,
    ]);
    line.add(["--remount-ro", "/", "--chdir", "/", "--"]);
    line.add([workshop.executable]);
    line.add(["-I", "-S", "-B"]);
    for word in command {
        line.add([*word]);
    }
    line.0
}

/// Arguments of bubblewrap for a program that fetches into `folder`, the start of its command last: it sees this machine, writes nowhere
/// else, and ends with this program.
pub(super) fn download(folder: &Path, program: &Path) -> Vec<OsString> {
    let mut line = Line::default();
    line.add(["--unshare-pid", "--die-with-parent", "--new-session"]);
    line.add(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]);
    line.add([OsString::from("--bind"), folder.into(), folder.into()]);
    line.add(["--"]);
    line.add([program]);
    line.0
}

#[derive(Default)]
struct Line(Vec<OsString>);

impl Line {
    fn add<const N: usize, T: Into<OsString> + Clone>(&mut self, words: [T; N]) {
        self.0.extend(words.map(Into::into));
    }

    fn bind(&mut self, source: &Path, target: &Path) {
        self.add([OsString::from("--ro-bind"), source.into(), target.into()]);
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn line(change: impl FnOnce(&mut SandboxLayout)) -> String {
        let system = [
            SystemFolder {
                path: "/bin".into(),
                link: Some("usr/bin".into()),
            },
            SystemFolder {
                path: "/lib".into(),
                link: None,
            },
        ];
        let mounts = [Mount {
            source: "/data/a.csv".into(),
            target: "/var/inputs/sales.csv".into(),
        }];
        let mut layout = SandboxLayout {
            starter: Starter::User,
            system: &system,
            machine: &["/proc/keys"],
            environment: Path::new("/cache/environments/abc"),
            executable: Path::new("/usr/bin/python3.12"),
            interpreter: Path::new("/usr"),
            harness: Path::new("/cache/harness/def"),
            identity: Path::new("/tmp/session"),
            mounts: &mounts,
            own_inputs: false,
            outputs: None,
            internet: false,
            closed: None,
        };
        change(&mut layout);
        arguments(&layout)
            .iter()
            .map(|word| word.to_string_lossy())
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[rstest]
    #[case("--unshare-net")]
    #[case("--unshare-pid")]
    #[case("--unshare-user --uid 1000 --gid 1000")]
    #[case("--die-with-parent --new-session")]
    #[case("--hostname sandbox")]
    #[case("--ro-bind /usr /usr")]
    #[case("--symlink usr/bin /bin")]
    #[case("--ro-bind /lib /lib")]
    #[case("--ro-bind /data/a.csv /var/inputs/sales.csv")]
    #[case("--ro-bind /cache/environments/abc /env")]
    #[case("--ro-bind /tmp/session/passwd /etc/passwd")]
    #[case("--perms 1777 --tmpfs /var/outputs")]
    #[case("--remount-ro /dev --remount-ro / --chdir")]
    #[case("--seccomp 9")]
    #[case("--ro-bind /proc/sys /proc/sys")]
    #[case("--ro-bind /tmp/session/nothing /proc/keys")]
    #[case("-- /usr/bin/python3.12 -I -S -c")]
    #[case("main.main('/env/bin/python', None, None)")]
    fn a_sandbox_of_a_user_has(#[case] words: &str) {
        let line = line(|_| ());
        assert!(line.contains(words), "{line}");
    }

    #[rstest]
    #[case("--bind")]
    #[case("/home")]
    #[case("/etc/resolv.conf")]
    #[case("--share-net")]
    #[case("--cap-add")]
    fn a_sandbox_of_a_user_has_no(#[case] words: &str) {
        let line = line(|_| ());
        assert!(!line.split_whitespace().any(|word| word == words), "{line}");
    }

    #[test]
    fn outputs_on_a_disk_are_the_only_folder_of_this_machine_that_is_writable() {
        let line = line(|layout| layout.outputs = Some(Path::new("/runs/1/outputs")));
        assert!(line.contains("--bind /runs/1/outputs /var/outputs"), "{line}");
        assert!(!line.contains("--tmpfs /var/outputs"), "{line}");
        assert_eq!(
            line.split_whitespace().filter(|word| *word == "--bind").count(),
            1
        );
    }

    #[test]
    fn root_keeps_the_rights_to_become_another_user_and_no_more() {
        let line = line(|layout| layout.starter = Starter::Root { user: 62_001 });
        assert!(
            line.contains("--cap-drop ALL --cap-add CAP_SETUID --cap-add CAP_SETGID"),
            "{line}"
        );
        assert!(
            line.ends_with("main.main('/env/bin/python', 62001, None)"),
            "{line}"
        );
        assert!(!line.contains("--unshare-user"), "{line}");
    }

    #[test]
    fn the_internet_brings_a_resolver_of_the_sandboxs_own_along() {
        let line = line(|layout| {
            layout.internet = true;
            layout.closed = Some("192.168.1.5:4000");
        });
        assert!(
            line.contains("--ro-bind /tmp/session/resolv.conf /etc/resolv.conf"),
            "{line}"
        );
        assert!(!line.contains("--unshare-net"), "{line}");
        assert!(line.ends_with("None, '192.168.1.5:4000')"), "{line}");
    }

    #[test]
    fn an_interpreter_outside_the_system_is_mounted_alone() {
        let line = line(|layout| layout.interpreter = Path::new("/home/ada/.pyenv/versions/3.12.1"));
        let words = "--ro-bind /home/ada/.pyenv/versions/3.12.1 /home/ada/.pyenv/versions/3.12.1";
        assert!(line.contains(words), "{line}");
    }
}
