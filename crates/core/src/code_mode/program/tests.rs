use serde_json::json;

use super::*;
use crate::task::FrozenFile;
use crate::test_support::task;
use codegen_code_mode::arguments::bind;
use codegen_code_mode::signature::Toolbox;

fn cleaning(has_samples: bool) -> SourcedTool {
    let mut task = task();
    task.inputs = serde_json::from_value(json!([
        {"name": "orders", "type": "File", "description": "one order a line"},
        {"name": "decimals", "type": "Int", "default": "2"},
        {"name": "currency", "type": "String"},
        {"name": "strict", "type": "Bool", "default": "true"},
    ]))
    .unwrap();
    task.outputs = serde_json::from_value(json!([
        {"name": "cleaned", "type": "File", "format": "CSV"},
        {"name": "total", "type": "Float", "description": "of all orders"},
        {"name": "last", "type": "Datetime"},
    ]))
    .unwrap();
    task.samples = vec![FrozenFile {
        name: "orders".to_owned(),
        file_name: "orders.csv".to_owned(),
        sha256: "0".repeat(64),
        bytes: 1,
        is_dir: false,
    }];
    let source = ToolSource {
        name: "clean_orders".to_owned(),
        ..ToolSource::default()
    };
    let origin = ToolOrigin::Task {
        program: String::new(),
        name: "order-cleaning".to_owned(),
    };
    program_tool(&source, origin, &task, has_samples)
}

fn output(value: Value) -> RunOutputStatus {
    serde_json::from_value(value).unwrap()
}

#[test]
fn the_options_of_a_program_are_parameters_and_its_outputs_fields() {
    let toolbox = Toolbox::new(vec![cleaning(true).tool]).unwrap();
    let declarations = toolbox.declarations();
    assert!(
        declarations.contains(
            "async def clean_orders(currency: str, orders: File | str | None = None, decimals: int = 2, strict: bool = True) -> "
        ),
        "{declarations}"
    );
    assert!(declarations.contains("    cleaned: File\n"), "{declarations}");
    assert!(
        declarations.contains("    total: float  # of all orders\n"),
        "{declarations}"
    );
    assert!(
        declarations.contains("# Count the words of a text."),
        "{declarations}"
    );
    assert!(toolbox.names().contains(&"read_text".to_owned()));
}

#[test]
fn a_published_program_has_no_samples_so_that_its_files_must_be_given() {
    let required = cleaning(false).tool.parameters["required"].clone();
    assert_eq!(required, json!(["orders", "currency"]));
}

#[test]
fn arguments_become_the_inputs_of_a_run() {
    let tool = cleaning(true).tool;
    let toolbox = Toolbox::new(vec![tool.clone()]).unwrap();
    let handle = json!({"file": "shop-1/cleaned", "sha256": "a".repeat(64), "bytes": 3});
    let keyword = json!({"orders": handle, "decimals": 3, "strict": false, "currency": "EUR"});
    let signature = toolbox.find("clean_orders").unwrap();
    let arguments = bind(signature, Vec::new(), keyword.as_object().unwrap().clone()).unwrap();
    let inputs = serde_json::to_value(run_inputs(&tool, &arguments).unwrap()).unwrap();
    let mut inputs = inputs.as_array().unwrap().clone();
    inputs.sort_by_key(|input| input["name"].to_string());
    assert_eq!(
        Value::Array(inputs),
        json!([
            {"name": "currency", "value": "EUR"},
            {"name": "decimals", "value": "3"},
            {"name": "orders", "source": {"runOutput": {"run": "shop-1", "output": "cleaned"}, "sha256": "a".repeat(64)}},
            {"name": "strict", "value": "false"},
        ])
    );
    assert_eq!(handles(&tool, &arguments)[0].1.run, "shop-1");
}

#[test]
fn the_text_of_a_file_is_passed_as_it_is_and_what_is_no_file_is_refused() {
    let tool = cleaning(true).tool;
    let inputs = |orders: Value| run_inputs(&tool, json!({"orders": orders}).as_object().unwrap());
    let text = inputs(json!("id,amount\n1,2\n")).unwrap();
    let source = text[0].source.as_ref().unwrap();
    assert_eq!(source.inline.as_deref(), Some("id,amount\n1,2\n"));
    let refused = inputs(json!({"file": "no run"})).unwrap_err();
    assert!(refused.contains("orders is no file"), "{refused}");
}

#[test]
fn what_a_run_wrote_becomes_values_and_handles() {
    let outputs = [
        output(
            json!({"name": "cleaned", "type": "File", "sha256": "b".repeat(64), "bytes": 12, "fileName": "cleaned.csv", "files": []}),
        ),
        output(
            json!({"name": "total", "type": "Float", "value": "61.5\n", "sha256": "", "bytes": 4, "fileName": "total", "files": []}),
        ),
        output(
            json!({"name": "count", "type": "Int", "value": "7", "sha256": "", "bytes": 1, "fileName": "count", "files": []}),
        ),
        output(
            json!({"name": "note", "type": "String", "sha256": "", "bytes": 2000, "fileName": "note", "files": []}),
        ),
    ];
    let result = run_result("shop-1", &outputs, |_| Some("from the Secret".to_owned()));
    assert_eq!(
        result,
        json!({
            "cleaned": {"file": "shop-1/cleaned", "sha256": "b".repeat(64), "bytes": 12},
            "total": 61.5,
            "count": 7,
            "note": "from the Secret",
        })
    );
    let handle = FileHandle::read(&result["cleaned"]).unwrap();
    assert_eq!(
        (handle.run.as_str(), handle.output.as_str()),
        ("shop-1", "cleaned")
    );
}
