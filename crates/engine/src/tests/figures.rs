//! Calls and prompt tokens of whole tasks, counted with the cl100k vocabulary: deterministic, so asserted.
//!
//! Prompt tokens are those of both messages and four for each message, as the original's were counted; the JSON Schema that goes
//! with a request is left out on both sides.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tiktoken_rs::{CoreBPE, cl100k_base};

use crate::test_support::{Judge, Script, World, failure};
use codegen_api::common::Exposure;
use codegen_api::values::{Output, ValueType};
use codegen_core::call::CallKind;
use codegen_core::progress::Progress;
use codegen_core::sandbox::{OutputContent, OutputReport, ProgramPhase, TestFailure};
use codegen_core::stage::{Stage, StopReason};
use codegen_core::task::{FrozenFile, Task};
use codegen_core::test_support::task;
use codegen_data::context::{DescribeOptions, render};
use codegen_data::describe::describe_source;
use codegen_data::exposure::{Exposed, ExposedJoins};
use codegen_data::source::Source;
use codegen_ledger::MemoryStore;

static CL100K: LazyLock<CoreBPE> = LazyLock::new(|| cl100k_base().unwrap());

const SALES: &str = include_str!("../../../data/src/testdata/sales.csv");
const SENSORS: &str = include_str!("../../../data/src/testdata/sensor.csv");

pub(crate) fn tokens(text: &str) -> usize {
    CL100K.encode_ordinary(text).len()
}

/// Prompt tokens of every call of the world.
fn prompt_tokens(world: &World) -> usize {
    let requests = world.script.requests.lock().unwrap();
    requests
        .iter()
        .map(|request| tokens(&request.system) + tokens(&request.user_message()) + 8)
        .sum()
}

fn frozen(name: &str, text: &str) -> FrozenFile {
    FrozenFile {
        name: name.into(),
        file_name: format!("{name}.csv"),
        sha256: "0".repeat(64),
        bytes: text.len() as u64,
        is_dir: false,
    }
}

fn file_input(name: &str) -> codegen_api::values::Input {
    serde_json::from_value(json!({"name": name, "type": "File"})).unwrap()
}

fn output(name: &str, type_: ValueType) -> Output {
    Output {
        name: name.into(),
        type_,
        format: None,
        description: None,
    }
}

fn sales_task() -> Task {
    Task {
        prompt: "Read the CSV and compute total_revenue, total_units and row_count.".into(),
        samples: vec![frozen("sales", SALES)],
        inputs: vec![file_input("sales")],
        outputs: vec![
            output("total_revenue", ValueType::Float),
            output("total_units", ValueType::Int),
            output("row_count", ValueType::Int),
        ],
        ..task()
    }
}

fn context(samples: &[(&str, &str)]) -> String {
    let profiles: Vec<_> = samples
        .iter()
        .map(|(name, text)| {
            describe_source(
                &Source::bytes(text.as_bytes()),
                name,
                &format!("{name}.csv"),
                &DescribeOptions { max_rows: 100 },
            )
            .unwrap()
        })
        .collect();
    let exposed = Exposed::all(&profiles, Exposure::Rows);
    render(&exposed, &ExposedJoins::default(), 4_000, 100).text
}

const HEAD: &str =
    "\"\"\"Totals of a sales file.\"\"\"\n\nimport argparse\nimport csv\nfrom pathlib import Path\n";
const READ: &str = "def read_sales(path: str) -> list[dict[str, str]]:\n    \"\"\"Rows of the CSV file at path.\"\"\"\n    with open(path, newline=\"\", encoding=\"utf-8\") as file:\n        return list(csv.DictReader(file))\n";
const TAIL: &str = "def write_output(name: str, value: float | int) -> None:\n    \"\"\"Write one output as text.\"\"\"\n    Path(f\"/var/outputs/{name}\").write_text(str(value))\n\n\ndef main() -> None:\n    \"\"\"Read the file and write the three totals.\"\"\"\n    parser = argparse.ArgumentParser(description=__doc__)\n    parser.add_argument(\"--sales\", default=\"/var/inputs/sales.csv\")\n    args = parser.parse_args()\n    revenue, units, rows = totals(read_sales(args.sales))\n    for name, value in [(\"total_revenue\", revenue), (\"total_units\", units), (\"row_count\", rows)]:\n        write_output(name, value)\n\n\nif __name__ == \"__main__\":\n    main()\n";

fn totals(price: &str) -> String {
    format!(
        "def totals(rows: list[dict[str, str]]) -> tuple[float, int, int]:\n    \"\"\"Revenue, units and number of rows; rows without a quantity sell nothing.\"\"\"\n    revenue, units = 0.0, 0\n    for row in rows:\n        quantity = int(float(row[\"quantity\"] or 0))\n        discount = float(row[\"discount\"] or 0)\n        revenue += quantity * {price}\n        units += quantity\n    return round(revenue, 2), units, len(rows)\n"
    )
}

const RIGHT: &str = "float(row[\"unit_price\"]) * (1 - discount)";
const WRONG: &str = "float(row[\"unit_price\"])";

fn program(price: &str, imports: &str) -> Value {
    json!({
        "code": format!("{HEAD}{imports}\n\n{READ}\n\n{}\n\n{TAIL}", totals(price)),
        "packages": [],
        "systemPackages": [],
    })
}

fn suite(units: u32) -> Value {
    json!({"code": format!("import pytest\n\nimport solution\n\n\ndef row(quantity, price, discount=\"\"):\n    return {{\"quantity\": quantity, \"unit_price\": price, \"discount\": discount}}\n\n\ndef test_reads_rows(tmp_path):\n    path = tmp_path / \"sales.csv\"\n    path.write_text(\"quantity,unit_price,discount\\n2,1.50,\\n\")\n    assert solution.read_sales(str(path)) == [row(\"2\", \"1.50\")]\n\n\ndef test_discount_lowers_revenue():\n    revenue, _, _ = solution.totals([row(\"2\", \"10.00\", \"0.25\")])\n    assert revenue == pytest.approx(15.0)\n\n\ndef test_missing_quantity_sells_nothing():\n    assert solution.totals([row(\"\", \"10.00\"), row(\"3\", \"1.00\")]) == (3.0, {units}, 2)\n\n\ndef test_no_rows():\n    assert solution.totals([]) == (0.0, 0, 0)\n")})
}

fn plan() -> Value {
    json!({
        "description": "Computes total revenue, total units and the number of rows of a sales CSV.",
        "approach": "Read the CSV with csv.DictReader. Treat a missing quantity as 0 and a missing discount as 0. Revenue is quantity times unit_price times (1 - discount). Write each output as text.",
        "libraries": [],
        "cases": [
            {"about": "the discount lowers the revenue", "inputs": [{"name": "sales", "value": "quantity,unit_price,discount\n2,2.00,0.50\n1,1.00,\n"}], "refused": false, "expect": [{"output": "total_revenue", "check": "Equals", "at": "", "value": "3", "tolerance": ""}]},
            {"about": "a row without a quantity sells nothing and is counted", "inputs": [{"name": "sales", "value": "quantity,unit_price,discount\n,10.00,\n3,1.00,\n"}], "refused": false, "expect": [{"output": "total_revenue", "check": "Equals", "at": "", "value": "3", "tolerance": ""}, {"output": "row_count", "check": "Equals", "at": "", "value": "2", "tolerance": ""}]},
            {"about": "a missing discount is none", "inputs": [{"name": "sales", "value": "quantity,unit_price,discount\n1,1.00,\n2,1.00,\n"}], "refused": false, "expect": [{"output": "total_revenue", "check": "Equals", "at": "", "value": "3", "tolerance": ""}, {"output": "total_units", "check": "Equals", "at": "", "value": "3", "tolerance": ""}]},
            {"about": "nothing sold is a row too", "inputs": [{"name": "sales", "value": "quantity,unit_price,discount\n0,10.00,\n3,1.00,0.00\n"}], "refused": false, "expect": [{"output": "total_units", "check": "Equals", "at": "", "value": "3", "tolerance": ""}, {"output": "row_count", "check": "Equals", "at": "", "value": "2", "tolerance": ""}]},
        ],
        "unstable": [],
    })
}

fn finding(error_type: &str, functions: &[&str], packages: &[&str]) -> Value {
    json!({"failures": [{
        "failure": 1, "errorType": error_type, "expected": "Revenue 15.0 after a discount of 0.25.",
        "actual": "Revenue 20.0.", "rootCause": "totals leaves the discount out.",
        "suggestedFix": "Multiply the price by (1 - discount).", "functions": functions, "packages": packages,
        "systemPackages": [],
    }]})
}

fn happy() -> Script {
    Script::new()
        .with(CallKind::Plan, &plan())
        .with(CallKind::Code, &program(RIGHT, ""))
        .with(CallKind::Tests, &suite(3))
}

async fn run(task: Task, context: String, script: Script, judge: Judge) -> (Progress, World) {
    let mut world = World::new(task, script, judge);
    world.data.context = context;
    world.sandbox.writes = totals_of;
    let progress = world.live(&MemoryStore::new()).await.unwrap();
    (progress, world)
}

/// Returns the outputs of a right program for the sales that a case gives; nothing of one with a mistake more.
fn totals_of(program: &ProgramPhase) -> Vec<OutputReport> {
    let parts = [
        READ,
        "    for name, value in [(",
        "    for row in rows:\n",
        "return round(revenue, 2), units, len(rows)",
    ];
    let is_as_written = parts
        .iter()
        .all(|part| program.solution.contains(part.trim_end()));
    if !is_as_written {
        return Vec::new();
    }
    let text = BASE64_STANDARD.decode(&program.files[0].content).unwrap();
    let text = String::from_utf8(text).unwrap();
    let mut lines = text.lines();
    let columns: Vec<&str> = lines.next().unwrap().split(',').collect();
    let place = |name: &str| columns.iter().position(|column| *column == name).unwrap();
    let (mut revenue, mut units, mut rows) = (0.0, 0.0, 0);
    for line in lines {
        let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap_or(0.0)).collect();
        let quantity = cells[place("quantity")];
        revenue += quantity * cells[place("unit_price")] * (1.0 - cells[place("discount")]);
        units += quantity;
        rows += 1;
    }
    let values = [
        ("total_revenue", revenue),
        ("total_units", units),
        ("row_count", f64::from(rows)),
    ];
    let report = |(name, value): (&str, f64)| OutputReport {
        name: name.into(),
        content: OutputContent::File(BASE64_STANDARD.encode(value.to_string())),
    };
    values.map(report).into()
}

fn discounts(solution: &str, tests: &str, _: &[String]) -> Vec<TestFailure> {
    let mut failures = Vec::new();
    if !solution.contains("(1 - discount)") {
        failures.push(failure(
            "test_solution.py::test_discount_lowers_revenue",
            "AssertionError",
            "assert 20.0 == 15.0 ± 1.5e-05\n  \n  comparison failed\n  Obtained: 20.0\n  Expected: 15.0 ± 1.5e-05",
        ));
    }
    if !tests.contains("(3.0, 3, 2)") {
        failures.push(failure(
            "test_solution.py::test_missing_quantity_sells_nothing",
            "AssertionError",
            "assert (3.0, 3, 2) == (3.0, 4, 2)\n  \n  At index 1 diff: 3 != 4",
        ));
    }
    failures
}

#[tokio::test]
async fn a_happy_task_costs_three_calls_and_at_most_2600_prompt_tokens() {
    let (progress, world) = run(sales_task(), context(&[("sales", SALES)]), happy(), discounts).await;
    assert_eq!(
        (progress.stage, world.script.calls()),
        (Stage::Succeeded, 3),
        "{progress:#?}"
    );
    let spent = prompt_tokens(&world);
    println!("happy: 3 calls, {spent} prompt tokens");
    assert!(spent <= 2_600, "{spent}");
}

#[tokio::test]
async fn one_logic_bug_costs_five_calls_and_at_most_6800_prompt_tokens() {
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with(CallKind::Code, &program(WRONG, ""))
        .with(CallKind::Tests, &suite(3))
        .with(CallKind::Diagnosis, &finding("logic", &["totals"], &[]))
        .with(CallKind::FixCode, &json!({"code": totals(RIGHT)}));
    let (progress, world) = run(sales_task(), context(&[("sales", SALES)]), script, discounts).await;
    assert_eq!(
        (progress.stage, world.script.calls()),
        (Stage::Succeeded, 5),
        "{progress:#?}"
    );
    let spent = prompt_tokens(&world);
    println!("one logic bug: 5 calls, {spent} prompt tokens");
    assert!(spent <= 6_800, "{spent}");
}

#[tokio::test]
async fn one_wrong_test_costs_five_calls() {
    let fixed = "def test_missing_quantity_sells_nothing():\n    assert solution.totals([row(\"\", \"10.00\"), row(\"3\", \"1.00\")]) == (3.0, 3, 2)\n";
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with(CallKind::Code, &program(RIGHT, ""))
        .with(CallKind::Tests, &suite(4))
        .with(
            CallKind::Diagnosis,
            &finding("test_error", &["test_missing_quantity_sells_nothing"], &[]),
        )
        .with(CallKind::FixTests, &json!({"code": fixed}));
    let (progress, world) = run(sales_task(), context(&[("sales", SALES)]), script, discounts).await;
    assert_eq!(
        (progress.stage, world.script.calls()),
        (Stage::Succeeded, 5),
        "{progress:#?}"
    );
    println!("one wrong test: 5 calls, {} prompt tokens", prompt_tokens(&world));
}

fn misses_a_plugin(_: &str, _: &str, installed: &[String]) -> Vec<TestFailure> {
    if installed.iter().any(|name| name == "sales-plugin") {
        return Vec::new();
    }
    vec![failure(
        "test_solution.py",
        "ModuleNotFoundError",
        "No module named 'sales_plugin'",
    )]
}

#[tokio::test]
async fn one_missing_package_costs_four_calls() {
    let script = happy().with(
        CallKind::Diagnosis,
        &finding("environment", &[], &["sales-plugin"]),
    );
    let (progress, world) = run(
        sales_task(),
        context(&[("sales", SALES)]),
        script,
        misses_a_plugin,
    )
    .await;
    assert_eq!(
        (progress.stage, world.script.calls()),
        (Stage::Succeeded, 4),
        "{progress:#?}"
    );
    println!(
        "one missing package: 4 calls, {} prompt tokens",
        prompt_tokens(&world)
    );
}

#[tokio::test]
async fn a_package_that_is_imported_at_the_top_needs_no_call_of_its_own() {
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with(
            CallKind::Code,
            &program(RIGHT, "\nfrom dateutil import parser as dates\n"),
        )
        .with(CallKind::Tests, &suite(3));
    let (progress, world) = run(
        sales_task(),
        context(&[("sales", SALES)]),
        script,
        |_, _, installed| {
            if installed.iter().any(|name| name == "python-dateutil") {
                return Vec::new();
            }
            vec![failure(
                "test_solution.py",
                "ModuleNotFoundError",
                "No module named 'dateutil'",
            )]
        },
    )
    .await;
    assert_eq!(
        (progress.stage, world.script.calls()),
        (Stage::Succeeded, 3),
        "{progress:#?}"
    );
}

#[tokio::test]
async fn two_samples_and_three_constraints_cost_four_calls() {
    let mut task = sales_task();
    task.samples.push(frozen("readings", SENSORS));
    task.inputs.push(file_input("readings"));
    task.constraints = vec![
        "quantity must be positive".into(),
        "temperature_c is between -40 and 85".into(),
        "status is one of ok, warn, fail".into(),
    ];
    let row = |number: usize, column: &str, kind: &str, arguments: &[&str]| json!({"constraint": number, "column": column, "kind": kind, "arguments": arguments});
    let checks = json!({"checks": [
        row(0, "quantity", "greater_than", &["0"]),
        row(1, "temperature_c", "between", &["-40", "85"]),
        row(2, "status", "is_in", &["ok", "warn", "fail"]),
    ]});
    let mut with_readings = program(RIGHT, "");
    let code = with_readings["code"].as_str().unwrap().replace(
        "    args = parser.parse_args()",
        "    parser.add_argument(\"--readings\", default=\"/var/inputs/readings.csv\")\n    args = parser.parse_args()",
    );
    with_readings["code"] = json!(code);
    let script = Script::new()
        .with(CallKind::Constraints, &checks)
        .with(CallKind::Plan, &plan())
        .with(CallKind::Code, &with_readings)
        .with(CallKind::Tests, &suite(3));
    let context = context(&[("sales", SALES), ("readings", SENSORS)]);
    let (progress, world) = run(task, context, script, discounts).await;
    assert_eq!(
        (progress.stage, world.script.calls()),
        (Stage::Succeeded, 4),
        "{progress:#?}"
    );
    println!(
        "two samples, three constraints: 4 calls, {} prompt tokens",
        prompt_tokens(&world)
    );
}

#[tokio::test]
async fn a_hopeless_task_ends_without_progress_within_twelve_calls() {
    let mut script = Script::new()
        .with(CallKind::Plan, &plan())
        .with(CallKind::Code, &program(WRONG, ""))
        .with(CallKind::Tests, &suite(3))
        .with(CallKind::Diagnosis, &finding("logic", &["totals"], &[]));
    for number in 1..9 {
        script = script
            .with(CallKind::FixCode, &json!({"code": totals(&format!("{WRONG} * 1.0 ** {number}"))}))
            .with(
                CallKind::FixTests,
                &json!({"code": format!("def test_discount_lowers_revenue():\n    revenue, _, _ = solution.totals([row(\"2\", \"10.00\", \"0.25\")])\n    assert revenue == pytest.approx(15.0, abs=1e-{number})\n")}),
            );
    }
    let (progress, world) = run(sales_task(), context(&[("sales", SALES)]), script, discounts).await;
    assert_eq!(
        progress.stop.as_ref().unwrap().reason,
        StopReason::NoProgress,
        "{progress:#?}"
    );
    println!(
        "hopeless: {} calls, {} prompt tokens",
        world.script.calls(),
        prompt_tokens(&world)
    );
    assert!(world.script.calls() <= 12, "{}", world.script.calls());
}

/// Completion tokens against replies of the original's shapes around the same plan, code and tests: it answers a detection call,
/// repeats the whole program for a fix, fills in every field of a diagnosis and answers a verification call after a fix.
#[test]
fn fixes_cost_at_most_three_quarters_of_the_completion_tokens_of_whole_file_fixes() {
    let size = |value: &Value| tokens(&value.to_string());
    let code = program(WRONG, "");
    // Cases cost what they cost either way: a fix does not write them again.
    let mut plan = plan();
    plan["cases"] = json!([]);
    let first = size(&plan) + size(&code) + size(&suite(3));
    let detect = size(&json!({"packages": [], "system_packages": []}));
    let whole =
        size(&json!({"language": "python", "code": program(RIGHT, "")["code"], "system_packages": []}));
    let long_diagnosis = json!({"needs_system_packages": [], "failures": [{
        "test_name": "test_discount_lowers_revenue",
        "error_message": "assert 20.0 == 15.0 ± 1.5e-05. comparison failed. Obtained: 20.0. Expected: 15.0 ± 1.5e-05",
        "expected_behavior": "Revenue 15.0 after a discount of 0.25.", "actual_behavior": "Revenue 20.0.",
        "root_cause": "totals leaves the discount out.", "suggested_fix": "Multiply the price by (1 - discount).",
        "error_type": "logic",
    }]});
    let verify = size(
        &json!({"all_fixes_applied": true, "applied_fixes": ["Multiply the price by (1 - discount)."], "missing_fixes": [], "explanation": "The discount is applied."}),
    );
    let theirs = first + detect + size(&long_diagnosis) + whole + verify;
    let ours = first + size(&finding("logic", &["totals"], &[])) + size(&json!({"code": totals(RIGHT)}));
    println!(
        "completion tokens: happy {first} against {}; one logic bug {ours} against {theirs}",
        first + detect
    );
    assert!(ours * 4 <= theirs * 3, "{ours} against {theirs}");
}
