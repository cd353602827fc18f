//! What keeps attacks from a verdict that is not theirs to make.

use codegen_core::cases::CasesJudged;
use codegen_core::sandbox::{Job, Phase, PhaseName, Report};
use codegen_core::verdict::{RehearsalFindings, judge};

use super::cases::{Case, attack, harness, pod};
use super::without::{Ran, WITH_JOB, command, mount_the_key};
use super::{Got, report, said};
use crate::jobs;
use crate::support::{job, program};

/// A word that stands in the acceptance tests alone.
const SECRET_WORD: &str = "only_the_acceptance_tests_know_this";
/// A word that stands in the arguments of another case alone.
const OTHER_INPUT: &str = "only_another_case_is_given_this";

/// An attack that looks for a word, which is no word of its own arguments.
fn attack_that_searches(name: &str, word: &str) -> Phase {
    let backwards: String = word.chars().rev().collect();
    attack(&[&format!("{name}@{backwards}")])
}

/// A suite in two files, and a program that is wrong. `attack` stands at its top.
fn suite(attack: &str) -> Phase {
    let wrong = "\n\ndef double(x):\n    return 3 * x\n";
    let first = "import solution\n\n\ndef test_there():\n    assert solution.double\n";
    let second = "import solution\n\n\ndef test_double():\n    assert solution.double(2) == 4\n";
    let files = [("test_first.py", first), ("test_second.py", second)];
    jobs::suite(PhaseName::Tests, &format!("{attack}{wrong}"), &files)
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
    let verdict = judge(
        &[(&asked, &run)],
        None,
        &RehearsalFindings::default(),
        None,
        CasesJudged::default(),
    );
    if verdict.passed() {
        Ok(verdict.summary())
    } else {
        Err(verdict.summary())
    }
}

/// pytest as most would run it: its exit code is the verdict. Each phase is named after its attack.
const NAIVE: &str = r"
import os, subprocess
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
        "skip_the_tests",
        "import sys, unittest\n\n\ndef skip(self):\n    raise unittest.SkipTest('later')\n\n\nsys.modules['_pytest.python'].Function.runtest = skip\n",
    ),
];

/// Says what an honest session says, over the stream that pytest's plugin says it over.
const FORGE_RESULTS: &str = r#"
import json, os
ids = ["test_first.py::test_there", "test_second.py::test_double"]
result = lambda id: {"id": id, "outcome": "passed", "failure": None, "stdout": ""}
messages = [("collected", ids), *(("result", result(id)) for id in ids), ("finished", 0)]
for number, (kind, body) in enumerate(messages):
    os.write(3, json.dumps({"token": "0" * 32, "number": number, "kind": kind, "body": body}).encode() + b"\n")
os._exit(0)
"#;

fn acceptance_tests() -> Phase {
    let text = format!("def test_{SECRET_WORD}():\n    assert True\n");
    jobs::suite(PhaseName::Acceptance, "", &[("test_acceptance.py", &text)])
}

pub const TESTS: &[Case] = &[
    Case {
        attacks: &[ON_PYTEST[0].0, ON_PYTEST[1].0, ON_PYTEST[2].0],
        defence: "a harness that believes no exit code",
        without: pod("pytest's exit code decides", |pod| {
            command(pod, &format!("{WITH_JOB}{NAIVE}"));
        }),
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
        defence: "a Pod of their own, and a job that is encrypted",
        without: pod(
            "they are in the Pod of the program, and the key of its job with them",
            mount_the_key,
        ),
        job: |_, is_defended| {
            let mut phases = vec![attack_that_searches("acceptance_tests", SECRET_WORD)];
            phases.extend((!is_defended).then(acceptance_tests));
            job(phases)
        },
        got: said,
    },
    Case {
        attacks: &["other_cases"],
        defence: "a job that is encrypted with a key that the harness alone has",
        without: pod("the key is mounted beside the job", mount_the_key),
        job: |_, _| {
            let mut other = program("", &[]);
            if let Phase::Program(other) = &mut other {
                other.args.push(OTHER_INPUT.to_owned());
            }
            job(vec![attack_that_searches("other_cases", OTHER_INPUT), other])
        },
        got: said,
    },
];
