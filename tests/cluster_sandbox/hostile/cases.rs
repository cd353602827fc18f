//! What keeps attacks on the network, the node and the harness out, and the smallest thing that takes each defence away.

use codegen_core::sandbox::{Job, OutputContent, Phase};
use serde_json::{Value, json};

use super::without::{Ran, WITH_JOB, Without, command, container};
use super::{ATTACKS, Got, Targets, report, said};
use crate::support::{job, program};

/// Attacks with the same defence.
#[derive(Clone, Copy)]
pub struct Case {
    /// Their names.
    pub attacks: &'static [&'static str],
    /// What keeps them out.
    pub defence: &'static str,
    /// What takes it away.
    pub without: Without,
    /// What is run, with the defence and without.
    pub job: fn(&Targets, bool) -> Job,
    /// What came of one of them.
    pub got: fn(&str, &Job, &Ran) -> Got,
}

pub const fn pod(what: &'static str, pod: fn(&mut Value)) -> Without {
    Without {
        what,
        pod,
        harness: &[],
    }
}

pub const fn harness(
    what: &'static str,
    harness: &'static [(&'static str, &'static str, &'static str)],
) -> Without {
    Without {
        what,
        pod: |_| {},
        harness,
    }
}

/// One run of the program, with these arguments.
pub fn attack(arguments: &[&str]) -> Phase {
    let mut phase = program(ATTACKS, &["result"]);
    if let Phase::Program(phase) = &mut phase {
        phase.args = arguments.iter().map(ToString::to_string).collect();
    }
    phase
}

pub fn attacks(arguments: &[&str]) -> Job {
    job(vec![attack(arguments)])
}

pub const NETWORK: &[Case] = &[Case {
    attacks: &[
        "api_server",
        "name_server",
        "metadata",
        "sibling",
        "registry",
        "kubelet",
    ],
    defence: "a NetworkPolicy that selects its Pod",
    without: pod("no policy selects it", |pod| {
        let labels = pod["metadata"]["labels"].as_object_mut().unwrap();
        labels.remove("codegen-operator.dev/egress").unwrap();
        let env = container(pod)["env"].as_array_mut().unwrap();
        // Else the harness sees that the network is open, and runs nothing.
        env.push(json!({"name": "CODEGEN_PROBE", "value": "none"}));
    }),
    job: |targets, _| {
        let named = |attack: &&str| format!("{attack}@{}", targets.of(attack).unwrap());
        let arguments: Vec<String> = NETWORK[0].attacks.iter().map(named).collect();
        attacks(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    },
    got: said,
}];

pub const NODE: &[Case] = &[
    Case {
        attacks: &["token"],
        defence: "a Pod without an account",
        without: pod("its account's token is mounted", |pod| {
            pod["spec"]["automountServiceAccountToken"] = json!(true);
        }),
        job: |_, _| attacks(&["token"]),
        got: said,
    },
    Case {
        attacks: &["processes_of_the_node"],
        defence: "a process namespace of its own",
        without: pod("it shares the node's processes", |pod| {
            pod["spec"]["hostPID"] = json!(true);
            // Our harness refuses to run there, since it ends every process that it sees.
            let program = "phase = job['phases'][0]['program']\nsys.argv = ['', *phase['args']]\nexec(phase['solution'])";
            command(pod, &format!("{WITH_JOB}{program}"));
        }),
        job: |_, _| attacks(&["processes_of_the_node"]),
        got: said,
    },
    Case {
        attacks: &["files_of_the_node"],
        defence: "mounts of its own alone",
        without: pod("the node's root is mounted", |pod| {
            let volumes = pod["spec"]["volumes"].as_array_mut().unwrap();
            volumes.push(json!({"name": "node", "hostPath": {"path": "/"}}));
            let mounts = container(pod)["volumeMounts"].as_array_mut().unwrap();
            mounts.push(json!({"name": "node", "mountPath": "/mnt", "readOnly": true}));
        }),
        job: |_, _| attacks(&["files_of_the_node"]),
        got: said,
    },
    Case {
        attacks: &["become_root"],
        defence: "no new privileges",
        without: pod("it may get privileges", |pod| {
            let security = &mut container(pod)["securityContext"];
            security["allowPrivilegeEscalation"] = json!(true);
        }),
        job: |_, _| attacks(&["become_root"]),
        got: said,
    },
    Case {
        attacks: &["change_the_system"],
        defence: "a user of its own and a root file system that is read-only",
        without: Without {
            what: "it is root and its root file system can be written",
            pod: |pod| {
                container(pod)["securityContext"]["readOnlyRootFilesystem"] = json!(false);
                pod["spec"]["securityContext"]["runAsNonRoot"] = json!(false);
                pod["spec"]["securityContext"]["runAsUser"] = json!(0);
            },
            harness: &[("processes.py", "if os.getuid() == 0:", "if False:")],
        },
        job: |_, _| attacks(&["change_the_system"]),
        got: said,
    },
    Case {
        attacks: &["mount"],
        defence: "the runtime's seccomp profile",
        without: pod("it has no profile", |pod| {
            pod["spec"]["securityContext"]["seccompProfile"] = json!({"type": "Unconfined"});
        }),
        job: |_, _| attacks(&["mount"]),
        got: said,
    },
];

/// A change of one file of the harness.
type Change = (&'static str, &'static str, &'static str);

const DUMPABLE: Change = (
    "processes.py",
    "if _prctl(_DUMPABLE, 0, 0, 0, 0) != 0:",
    "if False:",
);
const INTERRUPTIBLE: Change = (
    "processes.py",
    "    signal.signal(signal.SIGINT, signal.SIG_DFL)\n",
    "",
);

pub const HARNESS: &[Case] = &[
    Case {
        attacks: &[
            "environment_of_the_harness",
            "key_of_the_job",
            "memory_of_the_harness",
            "trace_the_harness",
            "streams_of_the_harness",
        ],
        defence: "a harness that is not dumpable",
        without: harness("it is as every process", &[DUMPABLE]),
        job: |_, _| attacks(HARNESS[0].attacks),
        got: said,
    },
    Case {
        attacks: &["end_the_harness"],
        defence: "the first process of a namespace, without handlers of signals",
        without: harness("Python's handler of SIGINT is left", &[INTERRUPTIBLE]),
        job: |_, _| attacks(&["end_the_harness"]),
        got: |attack, job, ran| match ran {
            Err(error) => Ok(error.to_string()),
            Ok(_) => said(attack, job, ran),
        },
    },
    Case {
        attacks: &["report_of_its_own"],
        defence: "a message that is signed with a key that the program cannot have",
        without: harness(
            "the harness can be looked into, and ended",
            &[DUMPABLE, INTERRUPTIBLE],
        ),
        job: |_, _| attacks(&["report_of_its_own"]),
        got: |_, _, ran| match report(ran).map(|report| report.phases[0].stdout.as_str()) {
            Some("forged\n") => Ok("its own report was taken".to_owned()),
            Some(words) => Err(words.to_owned()),
            None => Err(format!("{ran:?}")),
        },
    },
    Case {
        attacks: &["link_to_the_harness"],
        defence: "outputs that are read without following a link",
        without: harness(
            "links are followed, by a harness that may read its own environment",
            &[
                DUMPABLE,
                (
                    "files.py",
                    "os.lstat(path, dir_fd=folder)",
                    "os.stat(path, dir_fd=folder)",
                ),
                (
                    "files.py",
                    "os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK",
                    "os.O_RDONLY | os.O_NONBLOCK",
                ),
            ],
        ),
        job: |_, _| attacks(&["link_to_the_harness"]),
        got: |_, _, ran| match report(ran).map(|report| &report.phases[0].outputs[0].content) {
            Some(OutputContent::File(content)) if !content.is_empty() => {
                Ok("the harness's environment is an output".to_owned())
            }
            other => Err(format!("{other:?}")),
        },
    },
];
