//! Commands of agents: whatever the text, what is safe starts listed programs alone, and reads back as it was printed.
#![no_main]

use std::sync::LazyLock;

use codegen_command_policy::{Class, Outline, Rules, Script, judge};
use serde_json::Value;

static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::shipped().expect("the rules keep their examples"));

codegen_operator_fuzz::target!(|bytes| {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let judged = judge(text, &RULES);
    assert_eq!(judged.parsed.is_some(), judged.class == Class::Safe);
    assert!(Outline::read(text).is_some() || judged.class == Class::Denied);
    assert!(!judged.rule.is_empty() && !judged.reason.is_empty());
    let around = [judged.before, judged.after.passed, judged.after.failed];
    assert!(around.iter().all(Option::is_none) || judged.class == Class::Intercepted);
    for script in around.into_iter().chain([judged.parsed]).flatten() {
        let printed = serde_json::to_value(&script).expect("a script is plain data");
        let read: Script = serde_json::from_value(printed.clone()).expect("a script is read as it was printed");
        assert_eq!(read, script);
        check(&printed);
    }
});

/// Every program is listed and lies in a folder of the system; every file that is written is below a folder that may be.
fn check(value: &Value) {
    match value {
        Value::Object(fields) => {
            if let Some(name) = fields.get("program").and_then(|program| program.get("name")) {
                let name = name.as_str().expect("a name");
                assert!(RULES.lists(name) && !name.contains('/'), "{name}");
                assert!(!["sh", "bash", "env", "timeout", "cd"].contains(&name), "{name}");
            }
            for kind in ["write", "append"] {
                if let Some(path) = fields.get(kind).and_then(Value::as_str).filter(|path| path.starts_with('/')) {
                    let path = without_steps(path);
                    let roots = ["/sandbox", "/var/outputs", "/tmp", "/dev/null"];
                    assert!(roots.iter().any(|root| path == *root || path.starts_with(&format!("{root}/"))), "{path}");
                }
            }
            fields.values().for_each(check);
        }
        Value::Array(items) => items.iter().for_each(check),
        _ => {}
    }
}

/// A path without `.` and `..`.
fn without_steps(path: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    format!("/{}", names.join("/"))
}
