use clap::Parser as _;
use insta::assert_snapshot;

use super::*;
use crate::cli::args::{Cli, Command};
use crate::cli::recorded::fixture::{recorded, seen, withheld};
use crate::controller::tests::api_server::Fault;
use crate::controller::tests::code_mode::Shop;
use codegen_api::CodeGenTask;
use codegen_api::code_mode::CodeModeRun;

fn args(line: &str) -> Box<CostArgs> {
    let words = ["kubectl-codegen", "cost"]
        .into_iter()
        .chain(line.split_whitespace());
    match Cli::try_parse_from(words).unwrap().command {
        Command::Cost(args) => args,
        other => panic!("{other:?}"),
    }
}

fn of_one(task: &RecordedTask, line: &str) -> Printout {
    let args = args(line);
    of_task(task, &args, &prices(&args).unwrap()).unwrap()
}

#[test]
fn the_cost_of_a_task_is_by_kind_of_call_with_what_was_lost() {
    let shown = of_one(&recorded(), "words --price test-model=2.50/10");
    assert_eq!(shown.notes, Vec::<String>::new());
    assert_snapshot!(shown.text);
}

#[test]
fn a_price_that_nobody_gave_is_unknown_and_never_nothing() {
    let Printout { text, notes, .. } = of_one(&recorded(), "words");
    assert!(text.contains("unknown") && !text.contains("0.00"), "{text}");
    assert!(notes[0].contains("--price 'test-model="), "{notes:?}");
    let document: Value = serde_json::from_str(&of_one(&recorded(), "words -o json").text).unwrap();
    let total = document["items"].as_array().unwrap().last().unwrap();
    assert_eq!((&total["kind"], &total["cost"]), (&json!("total"), &Value::Null));
    assert_eq!(total["tokens"], json!({"input": 6_100, "output": 600}));
}

#[test]
fn who_may_not_read_calls_gets_the_totals_of_the_status() {
    let Printout { text, notes, .. } = of_one(&withheld(), "words");
    assert!(text.contains("calls") && text.contains("6,100"), "{text}");
    assert!(notes.iter().any(|note| note.contains("Secrets")), "{notes:?}");
}

#[test]
fn an_adopted_program_costs_nothing_whatever_its_origin_paid() {
    let mut task = recorded();
    task.status.adopted_from = Some("words-1".to_owned());
    task.status.model_calls = 0;
    task.status.tokens = codegen_api::status::TokenStatus::default();
    let Printout { text, notes, .. } = of_one(&task, "words");
    assert!(text.contains("total") && text.contains("0.0000"), "{text}");
    assert!(!text.contains("plan") && notes.is_empty(), "{text}");
}

fn task(namespace: &str, name: &str, agent: Option<&str>, input: i64) -> CodeGenTask {
    let task = json!({
        "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenTask",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"prompt": "Add.", "agentRef": agent.map(|name| json!({"name": name}))},
        "status": {"modelCalls": 2, "tokens": {"input": input, "output": 0, "total": input}},
    });
    serde_json::from_value(task).unwrap()
}

fn question() -> CodeModeRun {
    let run = json!({
        "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeModeRun",
        "metadata": {"name": "march", "namespace": "data"},
        "spec": {"agentRef": {"name": "shared"}, "message": "How much?"},
        "status": {"modelCalls": 2, "lostCalls": 1, "tokens": {"input": 500_000, "output": 0, "total": 500_000}},
    });
    serde_json::from_value(run).unwrap()
}

fn many(line: &str) -> (String, Vec<String>) {
    let args = args(line);
    let tasks = [
        task("data", "sum", Some("shared"), 1_000_000),
        task("data", "mean", Some("shared"), 2_000_000),
        task("lab", "words", None, 3_000_000),
        task("lab", "new", None, 0),
    ];
    let models = [Some("a"), Some("a"), Some("b"), None];
    let tasks = tasks.iter().zip(models);
    let tasks = tasks.map(|(task, model)| Spender::of_task(task, model));
    let asked = Spender::of_question(&question(), Some("a"));
    let spenders: Vec<Spender> = tasks.chain([asked]).collect();
    let (by, prices) = (args.by.unwrap_or(CostBy::Task), prices(&args).unwrap());
    let groups = grouped(&spenders, by, &prices);
    let text = groups_listing(&groups.all, by, &args, &prices).print(args.format, &Value::Null);
    (text, groups.unpriced)
}

#[test]
fn costs_are_added_up_by_task_agent_and_namespace() {
    let (by_task, _) = many("-A --price a=1/1 --price b=2/2");
    let (by_agent, _) = many("-A --by agent --price a=1/1 --price b=2/2");
    let (by_namespace, unpriced) = many("-A --by namespace --price a=1/1");
    assert_eq!(unpriced, ["b"]);
    assert_snapshot!(format!("{by_task}\n{by_agent}\n{by_namespace}"));
}

#[test]
fn kinds_are_of_one_task_and_groups_of_many() {
    let args = args("words --by agent");
    let absent = of_task(&recorded(), &args, &Prices::default()).unwrap_err();
    assert_eq!(absent.code, 2);
}

#[tokio::test]
async fn the_cost_of_a_question_is_what_its_programs_took_also_for_who_may_read_its_status_alone() {
    let mut shop = Shop::new("await till() + 1").await;
    shop.ask("ask", &json!({}));
    shop.settle("ask").await;
    let cluster = seen(&shop.world);
    let shown = async || {
        let args = args("codemoderun/ask -o json --price test-model=1/1");
        let shown = of_question(&cluster, "ask", &args, &prices(&args).unwrap()).await;
        let shown = shown.unwrap();
        (serde_json::from_str::<Value>(&shown.text).unwrap(), shown.notes)
    };
    let (document, notes) = shown().await;
    assert_eq!(notes, Vec::<String>::new());
    assert_eq!(
        (
            &document["question"],
            &document["model"],
            &document["items"][0]["kind"]
        ),
        (&json!("ask"), &json!("test-model"), &json!("program"))
    );
    let total = document["items"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(total["calls"], 1);
    shop.world
        .server
        .fail("get Secret", Fault::Refused(403, "Forbidden"));
    let (document, notes) = shown().await;
    assert_eq!(document["model"], "test-model", "by its agent");
    assert_eq!(document["items"].as_array().unwrap().last().unwrap(), &total);
    assert!(notes[0].contains("Secrets"), "{notes:?}");
}
