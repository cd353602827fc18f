//! The attacks, what keeps each of them out, and the smallest thing that takes this defence away.

use codegen_operator::pipeline::sandbox::{
    Job, OutputContent, Phase, PhaseEnd, PhaseName, Report, Sentinels, TestPhase,
};
use codegen_operator::pipeline::verdict::{RehearsalFindings, judge};
use serde_json::{Value, json};

use super::without::{Ran, Without, command, container};
use super::{ATTACKS, Got, Targets, report, said};
use crate::jobs::{FIRST, LAST};
use crate::support::{job, program};

const MIB: u64 = 1 << 20;
/// A word that stands in the acceptance tests alone.
const SECRET_WORD: &str = "only_the_acceptance_tests_know_this";

/// Attacks with the same defence.
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

const fn pod(what: &'static str, pod: fn(&mut Value)) -> Without {
    Without {
        what,
        pod,
        harness: &[],
    }
}

const fn harness(
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
fn attack(arguments: &[&str]) -> Phase {
    let mut phase = program(ATTACKS, &["result"]);
    if let Phase::Program(phase) = &mut phase {
        phase.args = arguments.iter().map(ToString::to_string).collect();
    }
    phase
}

fn attacks(arguments: &[&str]) -> Job {
    job(vec![attack(arguments)])
}

pub const NETWORK: &[Case] = &[Case {
    attacks: &["api_server", "name_server", "metadata", "sibling", "registry", "kubelet"],
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
            let program = "import json\nphase = json.load(open('/job/job.json'))['phases'][0]['program']\nimport sys\n\
                           sys.argv = ['', *phase['args']]\nexec(phase['solution'])";
            command(pod, program);
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

const DUMPABLE: Change = ("processes.py", "if _prctl(_DUMPABLE, 0, 0, 0, 0) != 0:", "if False:");
const INTERRUPTIBLE: Change = (
    "processes.py",
    "    signal.signal(signal.SIGINT, signal.SIG_DFL)\n",
    "",
);

pub const HARNESS: &[Case] = &[
    Case {
        attacks: &[
            "environment_of_the_harness",
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
        without: harness("the harness can be looked into, and ended", &[DUMPABLE, INTERRUPTIBLE]),
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
                ("files.py", "os.lstat(path, dir_fd=folder)", "os.stat(path, dir_fd=folder)"),
                ("files.py", "os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK", "os.O_RDONLY | os.O_NONBLOCK"),
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
        without: harness("there is none", &[("processes.py", "        (resource.RLIMIT_FSIZE, limits.file_bytes),\n", "")]),
        job: |_, _| attacks(&["large_file@48"]),
        got: said,
    },
    Case {
        attacks: &["disk_of_the_node"],
        defence: "an end of whoever writes much to the only file on the node's disk",
        without: harness(
            "nobody looks at it",
            &[("watch.py", "if _size(MESSAGE) > _MOST_MESSAGE_BYTES:", "if False:")],
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
            &[("processes.py", "if len(self._bytes) > 2 * self._keep:", "if False:")],
        ),
        job: |_, _| slow(attacks(&["output@1024"]), 64 * MIB),
        got: |attack, job, ran| {
            let phases = report(ran).map_or(&[][..], |report| &report.phases);
            match phases {
                [phase] if phase.end == PhaseEnd::Exited(0) => {
                    Err(format!("of 1 GiB {} bytes are kept", phase.stdout.len()))
                }
                _ => limited(attack, job, ran).map_or_else(Ok, |_| unreachable!("it has not ended by itself")),
            }
        },
    },
    Case {
        attacks: &["no_end"],
        defence: "a limit of time",
        without: harness(
            "there is none",
            &[("processes.py", "self.deadline = started + seconds", "self.deadline = started + 3600")],
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
                ("files.py", "        os.truncate(MESSAGE, 0)\n", "        pass\n"),
                ("processes.py", "    remove_shared_objects()\n    for stream", "    for stream"),
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

/// A suite in two files, and a program that is wrong. `attack` stands at its top.
fn suite(attack: &str) -> Phase {
    let wrong = "\n\ndef double(x):\n    return 3 * x\n";
    let first = "import solution\n\n\ndef test_there():\n    assert solution.double\n";
    let second = "import solution\n\n\ndef test_double():\n    assert solution.double(2) == 4\n";
    let files = [("test_first.py", first), ("test_second.py", second)];
    Phase::Tests(TestPhase {
        name: PhaseName::Tests,
        solution: format!("{attack}{wrong}"),
        tests: files.map(|(name, text)| (name.to_owned(), text.to_owned())).into(),
        sentinels: Sentinels {
            must_pass: FIRST.into(),
            must_fail: LAST.into(),
        },
    })
}

/// What the verdict says of one phase; of a Pod without our harness: what pytest's exit code says.
fn passed(attack: &str, phase: usize, job: &Job, ran: &Ran) -> Got {
    let Some(report) = report(ran) else {
        return said(attack, job, ran);
    };
    let asked = Job {
        phases: vec![job.phases[phase].clone()],
        ..job.clone()
    };
    let run = Report {
        phases: vec![report.phases[phase].clone()],
        ..report.clone()
    };
    let verdict = judge(&[(&asked, &run)], None, &RehearsalFindings::default(), None);
    if verdict.passed() {
        Ok(verdict.summary())
    } else {
        Err(verdict.summary())
    }
}

/// pytest as most would run it: its exit code is the verdict. Each phase is named after its attack.
const NAIVE: &str = r"
import json, os, subprocess, sys
job = json.load(open('/job/job.json'))
for name, phase in zip(job['env']['ATTACKS'].split(), job['phases']):
    folder = f'/sandbox/{name}'
    os.mkdir(folder)
    for file, text in {'solution.py': phase['tests']['solution'], **phase['tests']['tests']}.items():
        open(f'{folder}/{file}', 'w').write(text)
    ran = subprocess.run([sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider'], cwd=folder, capture_output=True, text=True)
    words = ran.stdout.strip().splitlines() or ['pytest says nothing']
    print(f'{name}: through: pytest ends with 0: {words[-1]}' if ran.returncode == 0 else f'{name}: kept out: {words[-1]}')
";

/// Attacks on pytest, each with the top of its program.
const ON_PYTEST: &[(&str, &str)] = &[
    (
        "change_the_tests",
        "with open('test_second.py', 'w') as file:\n    file.write('def test_double(): pass')\n",
    ),
    ("end_before_the_tests", "import os\nos._exit(0)\n"),
    (
        "replace_what_runs_tests",
        "import sys\nsys.modules['_pytest.python'].Function.runtest = lambda self: None\n",
    ),
    (
        "skip_the_tests",
        "import sys, unittest\n\n\ndef skip(self):\n    raise unittest.SkipTest('later')\n\n\nsys.modules['_pytest.python'].Function.runtest = skip\n",
    ),
];

/// Says what an honest session says, over the stream that pytest's plugin says it over.
const FORGE_RESULTS: &str = r#"
import json, os
ids = ["test_first_4f1c.py::test_first_4f1c", "test_first.py::test_there", "test_second.py::test_double", "test_last_9b2e.py::test_last_9b2e"]
result = lambda id: {"id": id, "outcome": "failed" if "last" in id else "passed", "failure": None, "stdout": ""}
messages = [("collected", ids), *(("result", result(id)) for id in ids), ("finished", 1)]
for number, (kind, body) in enumerate(messages):
    os.write(3, json.dumps({"token": "0" * 32, "number": number, "kind": kind, "body": body}).encode() + b"\n")
os._exit(0)
"#;

fn acceptance_tests() -> Phase {
    let text = format!("def test_{SECRET_WORD}():\n    assert True\n");
    Phase::Tests(TestPhase {
        name: PhaseName::Acceptance,
        solution: String::new(),
        tests: [("test_acceptance.py".to_owned(), text)].into(),
        sentinels: Sentinels {
            must_pass: FIRST.into(),
            must_fail: LAST.into(),
        },
    })
}

pub const TESTS: &[Case] = &[
    Case {
        attacks: &[
            ON_PYTEST[0].0,
            ON_PYTEST[1].0,
            ON_PYTEST[2].0,
            ON_PYTEST[3].0,
        ],
        defence: "a harness that believes no exit code",
        without: pod("pytest's exit code decides", |pod| command(pod, NAIVE)),
        job: |_, _| {
            let mut job = job(ON_PYTEST.iter().map(|(_, top)| suite(top)).collect());
            let names: Vec<&str> = ON_PYTEST.iter().map(|(name, _)| *name).collect();
            job.env.insert("ATTACKS".to_owned(), names.join(" "));
            job
        },
        got: |attack, job, ran| {
            let phase = ON_PYTEST.iter().position(|(name, _)| *name == attack).unwrap();
            passed(attack, phase, job, ran)
        },
    },
    Case {
        attacks: &["forge_results"],
        defence: "a token in every message of pytest's plugin",
        without: harness(
            "no token is asked for",
            &[("session_report.py", "message[\"token\"] != token or ", "")],
        ),
        job: |_, _| job(vec![suite(FORGE_RESULTS)]),
        got: |attack, job, ran| passed(attack, 0, job, ran),
    },
    Case {
        attacks: &["acceptance_tests"],
        defence: "a Pod of their own",
        without: pod("they are in the Pod of the program", |_| {}),
        job: |_, is_defended| {
            // Its argument is no place to find it at.
            let backwards: String = SECRET_WORD.chars().rev().collect();
            let mut phases = vec![attack(&[&format!("acceptance_tests@{backwards}")])];
            phases.extend((!is_defended).then(acceptance_tests));
            job(phases)
        },
        got: said,
    },
];
