//! What keeps attacks within the limits of a job and of a phase.

use codegen_core::sandbox::{Job, PhaseEnd};
use serde_json::Value;

use super::cases::{Case, attack, attacks, harness, pod};
use super::without::{Ran, container};
use super::{Got, report, said};
use crate::support::job;

const MIB: u64 = 1 << 20;

/// A run that takes its time.
fn slow(mut job: Job, memory_bytes: u64) -> Job {
    job.limits.timeout_seconds = 90.0;
    job.limits.memory_bytes = memory_bytes;
    job
}

/// What the program said, or the limit that ended it.
fn limited(attack: &str, job: &Job, ran: &Ran) -> Got {
    let ends: Option<Vec<&PhaseEnd>> =
        report(ran).map(|report| report.phases.iter().map(|phase| &phase.end).collect());
    match ends.as_deref() {
        Some([PhaseEnd::Exited(0)]) => said(attack, job, ran),
        Some([PhaseEnd::LimitHit(kind)]) => Err(format!("limit of {kind:?}")),
        Some([PhaseEnd::TimedOut]) => Err("out of time".to_owned()),
        // The node ended the container with all that was in it.
        Some([]) => Err("limit of Memory".to_owned()),
        other => panic!("{attack} came to another end: {other:?}: {ran:#?}"),
    }
}

fn without_memory_limit(pod: &mut Value) {
    for amounts in ["limits", "requests"] {
        let amounts = container(pod)["resources"][amounts].as_object_mut().unwrap();
        amounts.remove("memory").unwrap();
    }
    for volume in pod["spec"]["volumes"].as_array_mut().unwrap() {
        if let Some(folder) = volume.get_mut("emptyDir") {
            folder.as_object_mut().unwrap().remove("sizeLimit").unwrap();
        }
    }
}

pub const LIMITS: &[Case] = &[
    Case {
        attacks: &["fork_bomb"],
        defence: "a limit of processes",
        without: harness(
            "the harness knows none",
            &[(
                "processes.py",
                "self.processes = int(limits[\"processes\"])",
                "self.processes = 100_000",
            )],
        ),
        job: |_, _| slow(attacks(&["fork_bomb@200"]), 512 * MIB),
        got: limited,
    },
    Case {
        attacks: &["memory"],
        defence: "a limit of memory",
        without: pod("there is none", without_memory_limit),
        job: |_, _| slow(attacks(&["memory@640"]), 64 * MIB),
        got: limited,
    },
    Case {
        attacks: &["full_disk"],
        defence: "folders in memory, which count as memory",
        without: pod("there is no limit of memory", without_memory_limit),
        job: |_, _| slow(attacks(&["full_disk@640"]), 64 * MIB),
        got: limited,
    },
    Case {
        attacks: &["large_file"],
        defence: "a limit of the size of a file",
        without: harness(
            "there is none",
            &[(
                "processes.py",
                "        (resource.RLIMIT_FSIZE, limits.file_bytes),\n",
                "",
            )],
        ),
        job: |_, _| attacks(&["large_file@48"]),
        got: said,
    },
    Case {
        attacks: &["disk_of_the_node"],
        defence: "an end of whoever writes much to the only file on the node's disk",
        without: harness(
            "nobody looks at it",
            &[(
                "watch.py",
                "return _message is not None and os.stat(_message).st_size > _MOST_MESSAGE_BYTES",
                "return False",
            )],
        ),
        job: |_, _| {
            let mut job = attacks(&["disk_of_the_node@512"]);
            // As much as tasks have.
            job.limits.file_bytes = 1024 * MIB;
            job
        },
        got: limited,
    },
    Case {
        attacks: &["output"],
        defence: "a harness that keeps the end of all output alone",
        without: harness(
            "it keeps all, and the sandbox goes out of memory",
            &[(
                "processes.py",
                "if len(self._bytes) > 2 * self._keep:",
                "if False:",
            )],
        ),
        job: |_, _| slow(attacks(&["output@1024"]), 64 * MIB),
        got: |attack, job, ran| {
            let phases = report(ran).map_or(&[][..], |report| &report.phases);
            match phases {
                [phase] if phase.end == PhaseEnd::Exited(0) => {
                    Err(format!("of 1 GiB {} bytes are kept", phase.stdout.len()))
                }
                _ => {
                    limited(attack, job, ran).map_or_else(Ok, |_| unreachable!("it has not ended by itself"))
                }
            }
        },
    },
    Case {
        attacks: &["no_end"],
        defence: "a limit of time",
        without: harness(
            "there is none",
            &[(
                "processes.py",
                "self.deadline = started + seconds",
                "self.deadline = started + 3600",
            )],
        ),
        job: |_, _| {
            let mut job = attacks(&["no_end@4"]);
            job.limits.timeout_seconds = 2.0;
            job
        },
        got: limited,
    },
];

/// The first phase leaves something, the second looks for it.
fn two_phases(leave: &[&str], look: &[&str]) -> Job {
    job(vec![attack(leave), attack(look)])
}

pub const PHASES: &[Case] = &[
    Case {
        attacks: &["stayed"],
        defence: "an end of every process after each phase",
        without: harness(
            "nothing is ended",
            &[("processes.py", "    kill_everything()\n    remove", "    remove")],
        ),
        job: |_, _| two_phases(&["stay"], &["stayed"]),
        got: said,
    },
    Case {
        attacks: &["left_files"],
        defence: "folders that are emptied before each phase",
        without: harness(
            "only the program's own is",
            &[("files.py", "for folder in SCRATCH):", "for folder in [WORK]):")],
        ),
        job: |_, _| two_phases(&["leave_files"], &["left_files"]),
        got: said,
    },
    Case {
        attacks: &["left_last_words", "left_shared_memory", "left_queue"],
        defence: "an end of what else outlives its process",
        without: harness(
            "it is left alone",
            &[
                ("files.py", "    empty_message()\n", ""),
                (
                    "processes.py",
                    "    remove_shared_objects()\n    for stream",
                    "    for stream",
                ),
                ("processes.py", "        (resource.RLIMIT_MSGQUEUE, 0),\n", ""),
            ],
        ),
        job: |_, _| {
            two_phases(
                &["leave_last_words", "leave_shared_memory", "leave_queue"],
                PHASES[2].attacks,
            )
        },
        got: said,
    },
];
