//! `policy`: commands of agents, judged from outside.

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};

use super::{codegen, folder};

#[test]
fn a_command_is_judged_with_its_rule_and_reason() {
    let folder = folder(&[]);
    let mut safe = codegen(folder.path());
    safe.args(["policy", "ls | wc -l"])
        .assert()
        .success()
        .stdout(contains("Safe"));
    let mut denied = codegen(folder.path());
    let denied = denied.args(["policy", "ls; pip install x"]).assert().code(1);
    denied.stdout(contains("Denied").and(contains("packages.txt")));
}

#[test]
fn one_command_a_line_becomes_one_object_a_line() {
    let folder = folder(&[]);
    let mut judged = codegen(folder.path());
    let judged = judged
        .args(["policy", "-", "-o", "json"])
        .write_stdin("ls\n\npytest -q\ncurl x > y; (ls)\nls |\n")
        .assert()
        .code(1);
    let output = String::from_utf8(judged.get_output().stdout.clone()).unwrap();
    let objects: Vec<Value> = output
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let classes: Vec<_> = objects
        .iter()
        .map(|object| object["class"].as_str().unwrap())
        .collect();
    assert_eq!(classes, ["Safe", "Intercepted", "Denied", "Denied"]);
    assert_eq!(objects[0]["command"], "ls");
    assert!(objects[0]["parsed"]["statements"].is_array());
    assert!(objects[1]["rule"].is_string() && objects[2]["reason"].is_string());
    assert_eq!(objects[1]["parsed"], json!({"commands": [["pytest", "-q"]]}));
    assert_eq!(
        objects[2]["parsed"],
        json!({"commands": [["curl", "x", "> y"], ["ls"]]})
    );
    assert!(objects[3].get("parsed").is_none(), "{}", objects[3]);
}

#[test]
fn an_administrator_may_deny_more() {
    let folder = folder(&[]);
    let judge = |options: &[&str]| codegen(folder.path()).arg("policy").args(options).assert();
    judge(&["jq . data.json"]).success();
    judge(&["--deny", "jq,tree", "jq . data.json"])
        .code(1)
        .stdout(contains("administrator"));
}
