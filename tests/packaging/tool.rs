//! The programs, and what they print.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// Runs a program of `make packaging` in the repository.
fn run(program: &str, arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{program}: {error}; run make packaging"));
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// What a program prints that must not fail.
pub fn output(program: &str, arguments: &[&str], input: &str) -> String {
    let output = run(program, arguments, input);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{program} {}: {error}",
        arguments.join(" ")
    );
    String::from_utf8(output.stdout).unwrap()
}

/// The objects of a chart with these values.
pub fn template(chart: &str, values: &str) -> Vec<Value> {
    let chart = format!("charts/{chart}");
    let arguments = [
        "template",
        "release",
        &chart,
        "--namespace",
        "operators",
        "--values",
        "-",
    ];
    objects(&output("helm", &arguments, values))
}

/// Why Helm refuses values.
pub fn refusal(chart: &str, values: &str) -> String {
    let chart = format!("charts/{chart}");
    let output = run("helm", &["template", "release", &chart, "--values", "-"], values);
    assert!(!output.status.success(), "taken: {values}");
    String::from_utf8(output.stderr).unwrap()
}

/// The objects in a stream of YAML.
pub fn objects(yaml: &str) -> Vec<Value> {
    let all: Vec<Value> = serde_saphyr::from_multiple(yaml).unwrap();
    all.into_iter().filter(|object| !object.is_null()).collect()
}

/// Kind, namespace and name, for messages and comparisons.
pub fn identity(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    let (namespace, name) = (text(&metadata["namespace"]), text(&metadata["name"]));
    format!("{} {namespace}/{name}", text(&object["kind"]))
}

pub fn of_kind<'a>(objects: &'a [Value], kind: &str) -> Vec<&'a Value> {
    objects.iter().filter(|object| object["kind"] == kind).collect()
}
