//! Folders of `kubectl-codegen new`, as kubectl's kustomize takes them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use codegen_operator::local::kustomize;
use serde_json::Value;

use crate::tool::{identity, objects, output};

/// Bytes in a ConfigMap may be wrapped.
fn by_identity(objects: impl IntoIterator<Item = Value>) -> BTreeMap<String, Value> {
    let mut by_identity = BTreeMap::new();
    for mut object in objects {
        if let Some(bytes) = object.get_mut("binaryData").and_then(Value::as_object_mut) {
            for value in bytes.values_mut() {
                let packed: String = value.as_str().unwrap().split_whitespace().collect();
                *value = packed.into();
            }
        }
        by_identity.insert(identity(&object), object);
    }
    by_identity
}

fn new(folder: &Path, arguments: &[&str]) {
    let done = Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"))
        .current_dir(folder)
        .arg("new")
        .args(arguments)
        .args(["--output", "rows:Int", "-o", "task"])
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
#[ignore = "needs kubectl: make packaging"]
fn kustomize_makes_of_a_new_folder_what_a_local_run_reads() {
    let files: [(&str, &[u8]); 9] = [
        ("plain.csv", b"a,b\n1,2\n"),
        ("my birds, \"all\".csv", b"a\n1\n"),
        ("-rf.csv", b"a\r\n1\r\n"),
        ("Gr\u{f6}\u{df}e.csv", "a\n\u{e4}\u{2028}\u{feff}\n".as_bytes()),
        ("on", b"a: # b\n  - {{ c }}\n\ttab \n"),
        ("null.json", b"{\"a\": null}"),
        ("1e3.txt", b"\xef\xbb\xbf1e3\n"),
        ("bytes.bin", &[0, 159, 146, 150, 255]),
        ("task.yaml", b"---\nkind: Secret\n"),
    ];
    let prompts = [
        "count the rows",
        "say \"hello\" and 'bye': # not a comment",
        "first line\n\n  - second: {{ template }}\n---\n%YAML",
        "ends with a break\n",
        "na\u{ef}ve \u{202e}turned\u{7} \u{6570} \u{1f427}",
        "yes",
        "~",
        "word ",
    ];
    for prompt in prompts {
        let folder = tempfile::tempdir().unwrap();
        let mut arguments = vec![prompt.to_owned(), format!("--constraint={prompt}")];
        arguments.push(format!("--input=title:String={prompt}"));
        for (name, bytes) in files {
            fs::write(folder.path().join(name), bytes).unwrap();
            arguments.push(format!("--sample=./{name}"));
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        new(folder.path(), &arguments);
        let place = folder.path().join("task");
        let theirs = objects(&output("kubectl", &["kustomize", place.to_str().unwrap()], ""));
        let ours = kustomize::render(&place).unwrap();
        let ours = by_identity(ours.into_iter().map(|document| document.value));
        assert_eq!(ours.len(), files.len() + 1);
        let theirs = by_identity(theirs);
        for (identity, ours) in &ours {
            assert_eq!(theirs.get(identity), Some(ours), "{identity} of {prompt:?}");
        }
        assert_eq!(theirs.len(), ours.len());
        assert!(ours.values().any(|object| object["spec"]["prompt"] == prompt));
    }
}
