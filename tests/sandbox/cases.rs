//! Cases against programs that are wrong and know every way around a test runner, and against right ones.

use codegen_api::CodeGenTask;
use codegen_api::case::Case;
use codegen_core::cases::{CaseSet, CasesJudged, Form, Forms, PlannedCase, executions, judge};
use codegen_core::sandbox::{Job, Phase, PhaseEnd, PhaseFile, PhaseName, ProgramPhase, Report};
use codegen_core::task::{FrozenFiles, Task, resolve};
use codegen_data::source::{Compression, Encoding};
use futures::StreamExt as _;
use serde_json::json;

use crate::support::{job, run};

const RIGHT: &str = include_str!("cases/program.py");
const WAYS: &str = include_str!("cases/ways_to_fool_a_suite.py");
const WRONG: &str = include_str!("cases/wrong_programs.txt");
const OWN_PARSER: &str = include_str!("cases/own_parser.py");

fn sales() -> Task {
    let spec = json!({
        "prompt": "Total revenue, number of rows, and units of each item.",
        "model": {"name": "m"},
        "inputs": [{"name": "sales", "type": "File"}, {"name": "decimals", "type": "Int", "default": "2"}],
        "outputs": [
            {"name": "revenue", "type": "Float"}, {"name": "rows", "type": "Int"},
            {"name": "items", "type": "File", "format": "CSV"},
        ],
    });
    let task = CodeGenTask::new("sales", serde_json::from_value(spec).unwrap());
    resolve(&task, None, FrozenFiles::default()).unwrap()
}

/// What a plan would state of that task.
fn plan() -> CaseSet {
    let case = |about: &str, sales: &str, decimals: &str, expect: serde_json::Value| {
        let value = json!({
            "about": about,
            "inputs": [{"name": "sales", "value": sales}, {"name": "decimals", "value": decimals}],
            "expect": expect,
        });
        PlannedCase {
            case: serde_json::from_value::<Case>(value).unwrap(),
            revision: None,
        }
    };
    CaseSet {
        cases: vec![
            case(
                "a discount",
                "item,units,price,discount\npen,2,10,0.5\nink,1,3,\n",
                "1",
                json!([{"output": "revenue", "value": "13"}, {"output": "rows", "value": "2"}]),
            ),
            case(
                "missing units and prices sell nothing",
                "item,units,price,discount\npen,,10,\nink,4,,\npen,2,1,\n",
                "0",
                json!([
                    {"output": "revenue", "value": "2"},
                    {"output": "items", "value": "item,units\nink,4\npen,2\n"},
                ]),
            ),
            case(
                "ties by name, equal rows each count, names as they are",
                "item,units,price,discount\nénc,1,1,\nzebra,1,1,\npen,1,1,\npen,1,1,\n",
                "2",
                json!([
                    {"output": "rows", "value": "4"},
                    {"output": "items", "value": "item,units\npen,2\nzebra,1\nénc,1\n"},
                ]),
            ),
            case(
                "so many decimals",
                "item,units,price,discount\npen,1,0.128,\n",
                "3",
                json!([{"output": "revenue", "value": "0.128"}]),
            ),
            case(
                "no rows",
                "item,units,price,discount\n",
                "0",
                json!([{"output": "rows", "value": "0"}, {"output": "items", "check": "Rows", "value": "0"}]),
            ),
        ],
        ..CaseSet::default()
    }
}

/// Each with its name.
fn ways() -> Vec<(&'static str, &'static str)> {
    let parts = WAYS.split("#### ").skip(1);
    parts.map(|part| part.split_once('\n').unwrap()).collect()
}

/// Wrong versions of the right program, each with what is wrong.
fn wrong_programs() -> Vec<(&'static str, String)> {
    let lines: Vec<&str> = WRONG.lines().collect();
    let changed = |change: &[&'static str]| {
        let [about, before, after] = change else {
            panic!("{change:?}")
        };
        let before = &before[2..];
        assert!(RIGHT.contains(before), "{before}");
        (*about, RIGHT.replace(before, after.get(2..).unwrap_or_default()))
    };
    lines.chunks(3).map(changed).collect()
}

fn tried(task: &Task, program: &str) -> Job {
    let phases = executions(task, &plan())
        .iter()
        .map(|run| run.phase(task, &Forms::new(), program))
        .collect();
    job(phases)
}

fn judged(task: &Task, report: &Report) -> CasesJudged {
    judge(task, &executions(task, &plan()), report.phases.iter().map(Some))
}

#[tokio::test]
async fn no_wrong_program_passes_its_cases_whatever_it_does_to_a_test_runner() {
    let task = sales();
    let mut programs = Vec::new();
    for (way, attack) in ways() {
        for (about, wrong) in wrong_programs() {
            // What a program says first of itself stays first.
            programs.push((format!("{about}, {way}"), format!("{attack}\n{wrong}")));
        }
    }
    assert!(programs.len() >= 250, "{}", programs.len());
    let task = &task;
    let passed: Vec<String> = futures::stream::iter(programs)
        .map(|(name, program)| async move {
            let judged = judged(task, &run(&tried(task, &program)).await);
            judged.failed.is_empty().then_some(name)
        })
        .buffer_unordered(2)
        .filter_map(std::future::ready)
        .collect()
        .await;
    assert_eq!(passed, [""; 0]);
}

#[tokio::test]
async fn a_correct_program_passes_them_whatever_its_style() {
    let task = sales();
    let printed = RIGHT.replace(
        "    rows = read(args.sales)\n",
        "    rows = read(args.sales)\n    print('rows:', len(rows))\n",
    );
    let helper = RIGHT.replace(
        "    Path(\"/var/outputs/rows\").write_text(str(len(rows)))\n",
        "    for name, value in {\"rows\": len(rows)}.items():\n        Path(\"/var/outputs\", name).write_text(str(value) + \"\\n\")\n",
    );
    for program in [RIGHT, printed.as_str(), helper.as_str()] {
        let judged = judged(&task, &run(&tried(&task, program)).await);
        assert_eq!(judged.failed, [], "{program}");
        assert_eq!(judged.cases.unwrap().passed, 5);
    }
}

#[tokio::test]
async fn a_case_leaves_nothing_for_the_next_one() {
    let task = sales();
    let remembers = format!(
        "import glob\n\nseen = glob.glob(\"/tmp/*\") + glob.glob(\"/dev/shm/*\") + glob.glob(\"/var/outputs/*\")\nopen(\"/tmp/seen\", \"w\").close()\n\
         assert not seen, seen\n{RIGHT}"
    );
    let report = run(&tried(&task, &remembers)).await;
    assert_eq!(judged(&task, &report).failed, []);
}

#[tokio::test]
async fn a_right_program_that_reads_its_options_itself_gets_them_as_the_contract_shows_them() {
    let task = sales();
    let judged = judged(&task, &run(&tried(&task, OWN_PARSER)).await);
    assert_eq!(judged.failed, []);
    assert_eq!(judged.cases.unwrap().passed, 5);
}

#[tokio::test]
async fn a_correct_program_finds_case_files_in_the_format_of_its_sample() {
    let task = sales();
    for (opened, form) in [
        (
            "open(path, newline=\"\", encoding=\"utf-16\")",
            (Encoding::Utf16Le, false),
        ),
        (
            "open(path, newline=\"\", encoding=\"latin-1\")",
            (Encoding::Latin1, false),
        ),
        (
            "__import__(\"gzip\").open(path, \"rt\", newline=\"\", encoding=\"utf-8\")",
            (Encoding::Utf8, true),
        ),
    ] {
        let program = RIGHT.replace("open(path, newline=\"\", encoding=\"utf-8\")", opened);
        assert_ne!(program, RIGHT);
        let form = Form {
            encoding: Some(form.0),
            compression: form.1.then_some(Compression::Gzip),
        };
        let forms = Forms::from([("sales".to_owned(), form)]);
        let phases = |forms: &Forms| {
            let runs = executions(&task, &plan());
            runs.iter().map(|run| run.phase(&task, forms, &program)).collect()
        };
        let report = run(&job(phases(&forms))).await;
        assert_eq!(judged(&task, &report).failed, [], "{opened}");
        // Written otherwise, the same program would be refused.
        let report = run(&job(phases(&Forms::new()))).await;
        assert_ne!(judged(&task, &report).failed, [], "{opened}");
    }
}

fn with_files(paths: &[&str]) -> Phase {
    Phase::Program(ProgramPhase {
        name: PhaseName::Case,
        solution: "import os\nprint(sorted(os.listdir('/var/inputs')))\n".into(),
        args: Vec::new(),
        files: paths
            .iter()
            .map(|path| PhaseFile {
                path: (*path).into(),
                content: "YQ==".into(),
                also: Vec::new(),
            })
            .collect(),
        outputs: Vec::new(),
        max_output_bytes: 1 << 10,
        disk_bytes: None,
        in_message: false,
    })
}

#[tokio::test]
async fn inputs_that_cannot_be_laid_out_fail_their_own_execution_and_no_other() {
    let long = "x".repeat(256);
    let report = run(&job(vec![
        with_files(&["a", "a"]),
        with_files(&[&long]),
        with_files(&["a\0b"]),
        with_files(&["a/b/c"]),
        with_files(&["a", "b"]),
    ]))
    .await;
    let (last, bad) = report.phases.split_last().unwrap();
    assert_eq!(bad.len(), 4);
    for (phase, why) in bad
        .iter()
        .zip(["File exists", "File name too long", "null byte", "not a name"])
    {
        assert_eq!(phase.end, PhaseEnd::Exited(126), "{phase:?}");
        assert!(
            phase
                .stderr
                .starts_with("the sandbox could not lay out the inputs of this run: "),
            "{phase:?}"
        );
        assert!(phase.stderr.contains(why), "{phase:?}");
    }
    assert_eq!(
        (last.end.clone(), last.stdout.as_str()),
        (PhaseEnd::Exited(0), "['a', 'b']\n")
    );
}

#[tokio::test]
async fn a_page_of_two_hundred_kib_is_compared_and_one_that_is_larger_is_said_to_be() {
    let spec = json!({
        "prompt": "A page with a picture in it.",
        "model": {"name": "m"},
        "inputs": [{"name": "bytes", "type": "Int"}],
        "outputs": [{"name": "page", "type": "File"}],
    });
    let task = resolve(
        &CodeGenTask::new("page", serde_json::from_value(spec).unwrap()),
        None,
        FrozenFiles::default(),
    )
    .unwrap();
    let program = "import sys\nwith open('/var/outputs/page', 'w') as page:\n    \
                   page.write('<title>Sales</title>' + 'x' * int(sys.argv[2]))\n";
    for (bytes, failure) in [
        ("204800", None),
        ("300000", Some("300020 bytes, and at most 262144 are compared")),
    ] {
        let case = json!({
            "about": "it has a title",
            "inputs": [{"name": "bytes", "value": bytes}],
            "expect": [{"output": "page", "check": "Contains", "value": "<title>Sales"}],
        });
        let set = CaseSet {
            cases: vec![PlannedCase {
                case: serde_json::from_value(case).unwrap(),
                revision: None,
            }],
            ..CaseSet::default()
        };
        let runs = executions(&task, &set);
        let phases = runs.iter().map(|run| run.phase(&task, &Forms::new(), program));
        let report = run(&job(phases.collect())).await;
        let judged = judge(&task, &runs, report.phases.iter().map(Some));
        let messages: Vec<&str> = judged
            .failed
            .iter()
            .map(|failed| failed.detail.message.as_str())
            .collect();
        assert_eq!(messages.is_empty(), failure.is_none(), "{messages:?}");
        assert!(
            messages
                .iter()
                .all(|said| failure.is_some_and(|failure| said.contains(failure))),
            "{messages:?}"
        );
    }
}
