//! Limits of a process tree by control group, where this user may make one; else the harness watches the tree itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use codegen_core::sandbox::JobLimits;

/// Memory that bubblewrap and the harness take for themselves, bytes.
// A limit of the job's own size would end the harness in place of the program that took too much.
const OWN_MEMORY: u64 = 24 * 1024 * 1024;
/// Processes of ours in the group: bubblewrap and the harness.
const OWN_PROCESSES: u32 = 2;
/// Microseconds over which CPU time is shared out.
const CPU_PERIOD: u32 = 100_000;

const PREFIX: &str = "codegen-";

/// A control group of one job, removed when dropped. With version 1 there is a folder per controller.
#[derive(Debug)]
pub(super) struct ControlGroup {
    folders: Vec<PathBuf>,
    /// Counts processes that were ended for want of memory (`oom_kill`).
    pub memory_events: PathBuf,
    /// Counts refused forks (`max`).
    pub process_events: PathBuf,
}

impl ControlGroup {
    /// A group with these limits below the one this process is in; `None` where that is not ours to make.
    pub(super) fn create(limits: &JobLimits) -> Option<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        Self::create_under(Path::new("/sys/fs/cgroup"), &own, limits)
    }

    fn create_under(root: &Path, own: &str, limits: &JobLimits) -> Option<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let name = format!(
            "{PREFIX}{}-{}",
            process::id(),
            NUMBER.fetch_add(1, Ordering::Relaxed)
        );
        // Version 1 has a folder for each controller; with version 2 `memory` is none.
        if root.join("memory").is_dir() && root.join("pids").is_dir() {
            Self::version_1(root, own, &name, limits)
        } else {
            Self::version_2(root, own, &name, limits)
        }
    }

    fn version_1(root: &Path, own: &str, name: &str, limits: &JobLimits) -> Option<Self> {
        let memory = make(&parent_1(root, own, "memory"), name)?;
        let mut group = Self {
            memory_events: memory.join("memory.oom_control"),
            process_events: PathBuf::new(),
            folders: vec![memory.clone()],
        };
        let pids = make(&parent_1(root, own, "pids"), name)?;
        group.process_events = pids.join("pids.events");
        group.folders.push(pids.clone());
        let bytes = limits.memory_bytes.saturating_add(OWN_MEMORY).to_string();
        // In this order: the kernel takes no limit of memory and swap that lies below that of memory.
        write(&memory, "memory.limit_in_bytes", &bytes)?;
        // Absent where swap is not accounted for.
        let _ = write(&memory, "memory.memsw.limit_in_bytes", &bytes);
        write(
            &pids,
            "pids.max",
            &limits.processes.saturating_add(OWN_PROCESSES).to_string(),
        )?;
        // Without it CPU time is bounded per process only.
        if let Some(cpu) = make(&parent_1(root, own, "cpu"), name) {
            let _ = write(&cpu, "cpu.cfs_quota_us", &cpu_quota(limits).to_string());
            group.folders.push(cpu);
        }
        Some(group)
    }

    fn version_2(root: &Path, own: &str, name: &str, limits: &JobLimits) -> Option<Self> {
        let own = own.lines().find_map(|line| line.strip_prefix("0::"))?;
        let own = root.join(own.trim_start_matches('/'));
        // Processes may not be in a group that shares out memory, so the place is above our own group.
        let parent = own
            .ancestors()
            .take_while(|folder| folder.starts_with(root))
            .find(|folder| {
                let controllers =
                    fs::read_to_string(folder.join("cgroup.subtree_control")).unwrap_or_default();
                let has = |wanted| controllers.split_whitespace().any(|name| name == wanted);
                // A process moves only where the group above both places may be written.
                has("memory") && has("pids") && is_writable(&folder.join("cgroup.procs"))
            })?;
        let folder = make(parent, name)?;
        let group = Self {
            memory_events: folder.join("memory.events"),
            process_events: folder.join("pids.events"),
            folders: vec![folder.clone()],
        };
        write(
            &folder,
            "memory.max",
            &limits.memory_bytes.saturating_add(OWN_MEMORY).to_string(),
        )?;
        // Swap would let a program take more than its memory; where it is not accounted for, the file is not there.
        let _ = write(&folder, "memory.swap.max", "0");
        write(
            &folder,
            "pids.max",
            &limits.processes.saturating_add(OWN_PROCESSES).to_string(),
        )?;
        // A machine whose `cpu` controller is not delegated runs without this bound.
        let _ = write(&folder, "cpu.max", &format!("{} {CPU_PERIOD}", cpu_quota(limits)));
        Some(group)
    }

    /// Files to which a process writes its id to join.
    pub(super) fn join_files(&self) -> impl Iterator<Item = PathBuf> {
        self.folders.iter().map(|folder| folder.join("cgroup.procs"))
    }

    /// Reports whether a process of the group was ended for want of memory.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        fs::read_to_string(&self.memory_events).is_ok_and(|events| {
            events.lines().any(|line| {
                line.strip_prefix("oom_kill ")
                    .is_some_and(|count| count.trim() != "0")
            })
        })
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        for folder in &self.folders {
            // A group that still holds a dying process is removed by the next run.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// The folder of a version 1 controller that this process is in, else (in a container that sees another tree) the topmost.
fn parent_1(root: &Path, own: &str, controller: &str) -> PathBuf {
    let top = root.join(controller);
    own.lines()
        .filter_map(|line| line.split_once(':')?.1.split_once(':'))
        .find(|(controllers, _)| controllers.split(',').any(|name| name == controller))
        .map(|(_, path)| top.join(path.trim_start_matches('/')))
        .filter(|folder| folder.is_dir())
        .unwrap_or(top)
}

/// Make a group; groups that killed runs left beside it go.
fn make(parent: &Path, name: &str) -> Option<PathBuf> {
    for entry in fs::read_dir(parent).ok()?.flatten() {
        let left = entry.file_name();
        let maker = left
            .to_str()
            .and_then(|left| left.strip_prefix(PREFIX)?.split_once('-'));
        // The maker's process id is in the name: a group of a process that is alive may be in use.
        if maker.is_some_and(|(maker, _)| !Path::new("/proc").join(maker).exists()) {
            // Succeeds only when no process is in it.
            let _ = fs::remove_dir(entry.path());
        }
    }
    let folder = parent.join(name);
    fs::create_dir(&folder).ok()?;
    Some(folder)
}

fn is_writable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

fn write(folder: &Path, file: &str, value: &str) -> Option<()> {
    fs::write(folder.join(file), value).ok()
}

/// Microseconds of CPU time per period. The kernel takes no less than 1,000.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "CPUs are few and not negative"
)]
fn cpu_quota(limits: &JobLimits) -> u32 {
    ((limits.cpus * f64::from(CPU_PERIOD)) as u32).max(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: JobLimits = JobLimits {
        timeout_seconds: 10.0,
        cpus: 1.5,
        memory_bytes: 1024,
        processes: 64,
        file_bytes: 1024,
    };

    fn folder(root: &Path, path: &str) -> PathBuf {
        let folder = root.join(path);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn read(group: &ControlGroup, file: &str) -> Option<String> {
        group
            .folders
            .iter()
            .find_map(|folder| fs::read_to_string(folder.join(file)).ok())
    }

    #[test]
    fn a_delegated_group_above_our_own_is_used() {
        let root = tempfile::tempdir().unwrap();
        let user = folder(root.path(), "user.slice/user@1000.service");
        fs::write(user.join("cgroup.subtree_control"), "cpu memory pids\n").unwrap();
        fs::write(user.join("cgroup.procs"), "").unwrap();
        folder(&user, "app.slice/shell.scope");
        let own = "0::/user.slice/user@1000.service/app.slice/shell.scope\n";
        let group = ControlGroup::create_under(root.path(), own, &LIMITS).expect("a group");
        assert!(
            group
                .join_files()
                .all(|file| file.parent().and_then(Path::parent) == Some(&user))
        );
        assert_eq!(
            read(&group, "memory.max").unwrap(),
            (1024 + OWN_MEMORY).to_string()
        );
        assert_eq!(read(&group, "pids.max").unwrap(), "66");
        assert_eq!(read(&group, "cpu.max").unwrap(), "150000 100000");
    }

    #[test]
    fn without_delegated_controllers_there_is_no_group() {
        let root = tempfile::tempdir().unwrap();
        let own = folder(root.path(), "user.slice/session.scope");
        fs::write(own.join("cgroup.subtree_control"), "cpu\n").unwrap();
        assert!(ControlGroup::create_under(root.path(), "0::/user.slice/session.scope\n", &LIMITS).is_none());
    }

    #[test]
    fn version_1_has_a_folder_per_controller() {
        let root = tempfile::tempdir().unwrap();
        let memory = folder(root.path(), "memory/outer");
        folder(root.path(), "pids");
        folder(root.path(), "cpu");
        let own = "5:cpu,cpuacct:/elsewhere\n4:memory:/outer\n3:pids:/\n0::/\n";
        let group = ControlGroup::create_under(root.path(), own, &LIMITS).expect("a group");
        assert_eq!(group.folders.len(), 3);
        assert!(group.folders[0].starts_with(memory), "{:?}", group.folders);
        assert_eq!(read(&group, "cpu.cfs_quota_us").unwrap(), "150000");
    }

    #[test]
    fn a_kill_for_want_of_memory_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let events = folder.path().join("memory.events");
        let group = ControlGroup {
            folders: vec![],
            memory_events: events.clone(),
            process_events: PathBuf::new(),
        };
        fs::write(&events, "low 0\noom 3\noom_kill 0\n").unwrap();
        assert!(!group.ran_out_of_memory());
        fs::write(&events, "low 0\noom 3\noom_kill 2\n").unwrap();
        assert!(group.ran_out_of_memory());
    }
}
