//! A case is to a program what a run is: nothing that it finds differs, and one that behaves otherwise in a run does not pass.

use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use codegen_api::CodeGenTask;
use codegen_api::case::Case;
use codegen_core::cases::{CaseExecution, CaseOrigin, CaseSet, Forms, PlannedCase, executions, judge};
use codegen_core::run::{RunSettings, resolve as resolve_run};
use codegen_core::sandbox::{Job, OutputContent, PhaseReport};
use codegen_core::task::{FrozenFile, FrozenFiles, Task, resolve};
use codegen_core::verdict::FailedCheck;
use serde_json::{Value, json};

use crate::support::{job, run};

const DUMP: &str = include_str!("alike/dump.py");
const RIGHT: &str = include_str!("alike/program.py");
const SAMPLE: &str = "item,units\nsample,7\n";

/// A task with a sample; `more` samples are no options of the program.
fn task(folder: &Path) -> Task {
    let spec = json!({
        "prompt": "Units of each item, and their total times the factor.",
        "model": {"name": "m"},
        "samples": [{"name": "sales", "inline": SAMPLE, "format": "CSV"}],
        "inputs": [
            {"name": "factor", "type": "Int", "default": "2"},
            {"name": "months", "type": "Dir"},
        ],
        "outputs": [{"name": "total", "type": "Int"}, {"name": "items", "type": "File", "format": "CSV"}],
    });
    let task = CodeGenTask::new("sales", serde_json::from_value(spec).unwrap());
    std::fs::write(folder.join("sample"), SAMPLE).unwrap();
    let samples = vec![frozen("sales", "sales.csv", false)];
    let files = FrozenFiles {
        samples,
        ..FrozenFiles::default()
    };
    resolve(&task, None, files).unwrap()
}

fn frozen(name: &str, file_name: &str, is_dir: bool) -> FrozenFile {
    FrozenFile {
        name: name.into(),
        file_name: file_name.into(),
        sha256: "0".repeat(64),
        bytes: 1,
        is_dir,
    }
}

/// What a case or a run is given.
struct Inputs {
    sales: &'static str,
    month: &'static str,
    factor: &'static str,
}

const GIVEN: [Inputs; 5] = [
    Inputs {
        sales: "item,units\npen,2\nink,1\n",
        month: "item,units\npen,1\n",
        factor: "3",
    },
    Inputs {
        sales: "item,units\nink,4\n",
        month: "item,units\n",
        factor: "1",
    },
    Inputs {
        sales: "item,units\n",
        month: "item,units\nzebra,5\nink,2\n",
        factor: "2",
    },
    Inputs {
        sales: "item,units\npen,1\npen,1\nzoo,8\n",
        month: "item,units\npen,3\n",
        factor: "10",
    },
    Inputs {
        sales: "item,units\na,1\nb,2\nc,3\n",
        month: "item,units\nc,1\n",
        factor: "-1",
    },
];
/// Of a real run: as large as a case, and none of them.
const REAL: Inputs = Inputs {
    sales: "item,units\nrope,3\nink,9\npen,4\n",
    month: "item,units\nrope,2\n",
    factor: "5",
};

impl Inputs {
    /// The total and the table that the right program writes.
    fn expected(&self) -> (i64, String) {
        let mut items = BTreeMap::new();
        for line in self.sales.lines().skip(1).chain(self.month.lines().skip(1)) {
            let (item, units) = line.split_once(',').unwrap();
            *items.entry(item).or_insert(0) += units.parse::<i64>().unwrap();
        }
        let total: i64 = items.values().sum::<i64>() * self.factor.parse::<i64>().unwrap();
        let rows: Vec<String> = items
            .iter()
            .map(|(item, units)| format!("{item},{units}\n"))
            .collect();
        (total, format!("item,units\n{}", rows.concat()))
    }

    fn case(&self) -> Case {
        let (total, items) = self.expected();
        let case = json!({
            "about": format!("a factor of {}", self.factor),
            "inputs": [
                {"name": "sales", "value": self.sales}, {"name": "factor", "value": self.factor},
                {"name": "months/may.csv", "value": self.month},
            ],
            "expect": [{"output": "total", "value": total.to_string()}, {"output": "items", "value": items}],
        });
        serde_json::from_value(case).unwrap()
    }

    /// A run that is given these.
    fn run(&self, task: &Task, folder: &Path, program: &str) -> Job {
        std::fs::create_dir_all(folder.join("months")).unwrap();
        std::fs::write(folder.join("sales.csv"), self.sales).unwrap();
        std::fs::write(folder.join("months/may.csv"), self.month).unwrap();
        let values = [("factor".to_owned(), self.factor.to_owned())].into();
        let files = [
            frozen("sales", "sales.csv", false),
            frozen("months", "months", true),
        ];
        let resolved = resolve_run(task, &values, &files, RunSettings::default()).unwrap();
        let mut made = resolved.job(program, &BTreeMap::new(), |_, file| {
            folder.join(&file.file_name).display().to_string()
        });
        made.limits = job(Vec::new()).limits;
        made
    }
}

fn plan(given: &[Inputs]) -> CaseSet {
    let planned = |inputs: &Inputs| PlannedCase {
        case: inputs.case(),
        revision: None,
    };
    CaseSet {
        cases: given.iter().map(planned).collect(),
        ..CaseSet::default()
    }
}

/// The sandbox of a case that is executed apart, and that of the others.
fn jobs(task: &Task, runs: &[CaseExecution], program: &str) -> (Job, Job) {
    let forms = Forms::new();
    let apart = runs.iter().find(|run| run.is_apart).unwrap();
    let (phase, inputs) = apart.as_run(task, &forms, program, |_| String::new());
    let beside = runs.iter().filter(|run| !run.is_apart);
    let beside = beside.map(|run| run.phase(task, &forms, program)).collect();
    let apart = Job {
        inputs,
        ..job(vec![phase])
    };
    (apart, job(beside))
}

/// Names of the cases that a program fails. Before, all shared a sandbox (`apart` is false).
async fn failed(task: &Task, set: &CaseSet, program: &str, apart: bool) -> Vec<String> {
    let runs = executions(task, set);
    let mut reports: Vec<(CaseExecution, PhaseReport)> = Vec::new();
    if apart {
        let (one, others) = jobs(task, &runs, program);
        let one = run(&one).await.phases;
        let others = run(&others).await.phases;
        let (first, rest): (Vec<_>, Vec<_>) = runs.into_iter().partition(|run| run.is_apart);
        reports.extend(first.into_iter().zip(one));
        reports.extend(rest.into_iter().zip(others));
    } else {
        let all = runs.iter().map(|run| run.phase(task, &Forms::new(), program));
        let done = run(&job(all.collect())).await.phases;
        reports.extend(runs.into_iter().zip(done));
    }
    let (runs, phases): (Vec<_>, Vec<_>) = reports.into_iter().unzip();
    let judged = judge(task, &runs, phases.iter().map(Some));
    judged.failed.iter().map(FailedCheck::headline).collect()
}

/// Whether a real run of a program gives what it should.
async fn is_right(task: &Task, program: &str, seed: Option<&str>) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let mut job = REAL.run(task, folder.path(), program);
    job.env
        .extend(seed.map(|seed| ("PYTHONHASHSEED".to_owned(), seed.to_owned())));
    let report = run(&job).await.phases.remove(0);
    let (total, items) = REAL.expected();
    [("total", total.to_string()), ("items", items)]
        .iter()
        .all(|(name, expected)| {
            let content = report.outputs.iter().find(|output| output.name == *name);
            let Some(OutputContent::File(encoded)) = content.map(|output| &output.content) else {
                return false;
            };
            let bytes = BASE64_STANDARD.decode(encoded).unwrap();
            String::from_utf8(bytes).unwrap().trim_end() == expected.trim_end()
        })
}

fn found(report: &PhaseReport) -> Value {
    serde_json::from_str(&report.stdout).unwrap_or_else(|_| panic!("{report:?}"))
}

#[tokio::test]
async fn a_case_that_is_executed_apart_finds_exactly_what_a_run_of_its_inputs_finds() {
    let folder = tempfile::tempdir().unwrap();
    let task = task(folder.path());
    let set = plan(&GIVEN[..1]);
    let (apart, _) = jobs(&task, &executions(&task, &set), DUMP);
    let in_case = found(&run(&apart).await.phases[0]);
    let in_run = found(&run(&GIVEN[0].run(&task, folder.path(), DUMP)).await.phases[0]);
    for (what, value) in in_run.as_object().unwrap() {
        assert_eq!(in_case[what], *value, "{what}");
    }
    assert_eq!(in_case, in_run);
    assert_eq!(
        in_run["listings"]["/var/inputs"],
        json!(["months", "sales", "sales.csv"])
    );
}

#[tokio::test]
async fn a_case_beside_others_has_the_variables_arguments_and_files_of_a_run_and_no_sample() {
    let folder = tempfile::tempdir().unwrap();
    let task = task(folder.path());
    let set = plan(&GIVEN[..3]);
    let (_, beside) = jobs(&task, &executions(&task, &set), DUMP);
    let phases = run(&beside).await.phases;
    assert_eq!(phases.len(), 2);
    let runs = executions(&task, &set);
    for (run_of, phase) in runs.iter().filter(|run| !run.is_apart).zip(&phases) {
        let CaseOrigin::Plan(number) = run_of.origin else {
            panic!("{run_of:?}")
        };
        let in_case = found(phase);
        let in_run = found(
            &run(&GIVEN[number - 1].run(&task, folder.path(), DUMP))
                .await
                .phases[0],
        );
        for what in [
            "environ",
            "cwd",
            "argv",
            "orig_argv",
            "path",
            "flags",
            "order",
            "umask",
            "work",
            "limits",
            "descriptors",
            "listings",
            "affinity",
            "nice",
            "groups",
            "host",
        ] {
            assert_eq!(in_case[what], in_run[what], "{what}");
        }
    }
}

#[tokio::test]
async fn a_right_program_passes_in_every_layout() {
    let folder = tempfile::tempdir().unwrap();
    let task = task(folder.path());
    for given in [&GIVEN[..1], &GIVEN[..2], &GIVEN[..]] {
        assert_eq!(failed(&task, &plan(given), RIGHT, true).await, [""; 0]);
    }
    assert!(is_right(&task, RIGHT, None).await);
}

/// Each with its name: what tells a case from a run, as an expression that is true in a case.
fn ways(text: &'static str) -> Vec<(&'static str, &'static str)> {
    let lines = text.lines().filter(|line| !line.is_empty());
    lines.map(|line| line.split_once(": ").unwrap()).collect()
}

/// A program that is wrong where `is_case` does not hold.
fn wrong_in_runs(is_case: &str) -> String {
    RIGHT.replace("IS_CASE = True\n", &format!("IS_CASE = bool({is_case})\n"))
}

#[tokio::test]
async fn no_program_that_knows_a_run_by_its_seed_passes_and_is_wrong_in_runs() {
    let folder = tempfile::tempdir().unwrap();
    let task = task(folder.path());
    let ways = ways(include_str!("alike/seeds.txt"));
    assert!(ways.len() >= 10);
    for (name, is_case) in ways {
        let program = wrong_in_runs(is_case);
        let passes = failed(&task, &plan(&GIVEN), &program, true).await.is_empty();
        // With the seed that runs had before, each is found out by nothing.
        assert!(
            passes && !is_right(&task, &program, Some("0")).await,
            "{name} is no tell"
        );
        assert!(is_right(&task, &program, None).await, "{name}");
    }
}

#[tokio::test]
async fn no_program_that_knows_a_case_by_its_sandbox_passes() {
    let folder = tempfile::tempdir().unwrap();
    let task = task(folder.path());
    let ways = ways(include_str!("alike/sandboxes.txt"));
    assert!(ways.len() >= 10);
    for (name, is_case) in ways {
        let program = wrong_in_runs(is_case);
        assert!(!is_right(&task, &program, None).await, "{name} is no tell");
        // Where all cases share a sandbox, each passes.
        assert_eq!(
            failed(&task, &plan(&GIVEN), &program, false).await,
            [""; 0],
            "{name} is no tell"
        );
        assert_eq!(
            failed(&task, &plan(&GIVEN), &program, true).await.len(),
            1,
            "{name} passes"
        );
        assert_eq!(
            failed(&task, &plan(&GIVEN[..1]), &program, true).await.len(),
            1,
            "{name} passes one case"
        );
    }
}

/// A program that looks up what the author was shown of these cases, by `key`, and does nothing else.
fn by_heart(shown: &[&Inputs], key: &str) -> String {
    let row = |inputs: &&Inputs| {
        let (total, items) = inputs.expected();
        json!([
            inputs.sales,
            inputs.month,
            inputs.factor,
            total.to_string(),
            items
        ])
    };
    let table: Value = shown.iter().map(row).collect();
    // A string of JSON is one of Python.
    let text = Value::from(table.to_string()).to_string();
    include_str!("alike/table.py")
        .replace("__TABLE__", &text)
        .replace("__KEY__", key)
}

/// What the author of a program was shown, where it has failed all of them.
fn shown(task: &Task, set: &CaseSet) -> Vec<&'static Inputs> {
    let runs = executions(task, set);
    let is_shown = |number: usize| {
        runs.iter()
            .any(|run| run.origin == CaseOrigin::Plan(number) && !run.is_held)
    };
    let all = GIVEN.iter().enumerate();
    all.filter(|(index, _)| is_shown(index + 1))
        .map(|(_, inputs)| inputs)
        .collect()
}

#[tokio::test]
async fn no_program_that_knows_by_heart_what_its_author_was_shown_passes() {
    let folder = tempfile::tempdir().unwrap();
    let task = task(folder.path());
    let set = plan(&GIVEN);
    let shown = shown(&task, &set);
    assert_eq!(shown.len(), GIVEN.len() - 1);
    let ways = ways(include_str!("alike/keys.txt"));
    assert!(ways.len() >= 10);
    for (name, key) in ways {
        // An author who was shown them all has them all.
        let all: Vec<&Inputs> = GIVEN.iter().collect();
        let known = by_heart(&all, key);
        assert_eq!(
            failed(&task, &set, &known, true).await,
            [""; 0],
            "{name} is no way"
        );
        assert!(!is_right(&task, &known, None).await, "{name} is right");
        let failed = failed(&task, &set, &by_heart(&shown, key), true).await;
        assert_eq!(failed.len(), 1, "{name}: {failed:?}");
        assert!(
            failed[0].contains("held back") && !failed[0].contains("expected"),
            "{failed:?}"
        );
    }
}

#[tokio::test]
async fn no_program_passes_that_is_right_in_cases_and_in_runs_knows_them_by_heart() {
    let folder = tempfile::tempdir().unwrap();
    let task = task(folder.path());
    let set = plan(&GIVEN);
    let shown = shown(&task, &set);
    for (name, is_case) in ways(include_str!("alike/sandboxes.txt")).into_iter().take(4) {
        let [right, table] = [RIGHT.to_owned(), by_heart(&shown, "(sales, month, factor)")]
            .map(|text| Value::from(text).to_string());
        let program = format!("import os\nimport sys\n\nexec({right} if {is_case} else {table})\n");
        assert_eq!(
            failed(&task, &set, &program, false).await,
            [""; 0],
            "{name} is no tell"
        );
        assert_eq!(
            failed(&task, &set, &program, true).await.len(),
            1,
            "{name} passes"
        );
    }
}
