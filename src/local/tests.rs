//! A laptop takes what a cluster takes and refuses what it refuses: files of odd YAML and JSON, and all examples.
//!
//! What kubectl and an API server make of them stands in `tests/odd_manifests/table.tsv`; `make packaging` and `make e2e` ask these.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::files::load_file;
use super::kustomize;
use super::manifest::ManifestDocument;
use super::objects::Objects;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn odd() -> PathBuf {
    root().join("tests/odd_manifests")
}

/// Verdict of a cluster on one file.
enum Verdict {
    Unreadable,
    Rejected(Value),
    Taken(Value),
}

impl Verdict {
    fn parse(cell: &str) -> Self {
        let (word, objects) = cell.split_once(' ').unwrap_or((cell, "null"));
        let objects = serde_json::from_str(objects).unwrap();
        match word {
            "unreadable" => Self::Unreadable,
            "rejected" => Self::Rejected(objects),
            "taken" => Self::Taken(objects),
            word => panic!("{word}"),
        }
    }
}

struct Row {
    file: String,
    kubectl: Verdict,
    kustomize: Verdict,
    note: String,
}

fn table() -> Vec<Row> {
    let table = fs::read_to_string(odd().join("table.tsv")).unwrap();
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    rows.map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        let second = if cells[2] == "=" { cells[1] } else { cells[2] };
        Row {
            file: cells[0].to_owned(),
            kubectl: Verdict::parse(cells[1]),
            kustomize: Verdict::parse(second),
            note: cells.get(3).copied().unwrap_or_default().to_owned(),
        }
    })
    .collect()
}

/// Compares what is read here, and what is made of it, with a cluster; returns how it differs, if it does.
fn difference<E: std::fmt::Display>(
    verdict: &Verdict,
    read: Result<Vec<ManifestDocument>, E>,
) -> Option<String> {
    let documents = match (verdict, read) {
        (Verdict::Unreadable | Verdict::Rejected(_), Err(_)) => return None,
        (Verdict::Taken(_), Err(error)) => return Some(format!("refused here: {error}")),
        (_, Ok(documents)) => documents,
    };
    let values: Vec<Value> = documents.iter().map(|document| document.value.clone()).collect();
    let taken = Objects::collect(documents);
    match (verdict, taken) {
        (Verdict::Unreadable | Verdict::Rejected(_), Ok(_)) => Some(format!("taken here as {values:?}")),
        (Verdict::Taken(_), Err(faults)) => Some(format!("refused here: {faults}")),
        (Verdict::Taken(objects), Ok(_)) if *objects != Value::Array(values.clone()) => {
            Some(format!("read here as {values:?}"))
        }
        _ => None,
    }
}

#[test]
fn an_odd_file_is_taken_and_refused_as_by_kubectl_and_an_api_server() {
    let mut differences = Vec::new();
    for row in table() {
        let path = odd().join(&row.file);
        let folder = tempfile::tempdir().unwrap();
        fs::copy(&path, folder.path().join(&row.file)).unwrap();
        let resources = format!("resources: [{}]\n", row.file);
        fs::write(folder.path().join("kustomization.yaml"), resources).unwrap();
        for (option, found) in [
            ("-f", difference(&row.kubectl, load_file(&path))),
            ("-k", difference(&row.kustomize, kustomize::render(folder.path()))),
        ] {
            // What differs says why in the table.
            let is_noted = row.note.starts_with(option);
            match found {
                Some(found) if !is_noted => differences.push(format!("{} {option}: {found}", row.file)),
                None if is_noted => differences.push(format!("{} {option}: no longer different", row.file)),
                _ => {}
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn every_odd_file_stands_in_the_table() {
    let listed: BTreeSet<String> = table().into_iter().map(|row| row.file).collect();
    let present: BTreeSet<String> = fs::read_dir(odd())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name != "table.tsv")
        .collect();
    assert_eq!(listed, present);
}

#[test]
fn every_field_that_names_an_object_is_in_the_configuration_for_kustomize() {
    let text = fs::read_to_string(root().join("deploy/kustomize/name-references.yaml")).unwrap();
    let listed: Value = serde_saphyr::from_str(&text).unwrap();
    let mut ours = BTreeSet::new();
    for reference in listed["nameReference"].as_array().unwrap() {
        for field in reference["fieldSpecs"].as_array().unwrap() {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            ours.insert((
                text(&reference["kind"]),
                text(&field["kind"]),
                text(&field["path"]),
            ));
        }
    }
    let mut expected = BTreeSet::new();
    for crd in codegen_api::crds() {
        let kind = crd.spec.names.kind.clone();
        let schema = serde_json::to_value(&crd.spec.versions[0].schema).unwrap();
        let spec = &schema["openAPIV3Schema"]["properties"]["spec"];
        references(spec, "spec", &mut |target, path| {
            // Questions are for agents of their own.
            let is_question = kind == "CodeModeRun" && target == "CodeGenAgent";
            let target = if is_question { "CodeModeAgent" } else { target };
            expected.insert((target.to_owned(), kind.clone(), path.to_owned()));
        });
    }
    assert_eq!(ours, expected);
}

/// Every field below `schema` that holds the name of another object, with the kind of that.
fn references(schema: &Value, path: &str, found: &mut impl FnMut(&str, &str)) {
    if schema["items"].is_object() {
        references(&schema["items"], path, found);
    }
    for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}/{field}");
        let (target, name) = match field.as_str() {
            "configMapKeyRef" | "configMapRef" => ("ConfigMap", "name"),
            "apiKeySecretRef" | "secretKeyRef" | "valueFrom" | "pushSecretRef" | "pullSecretRef" => {
                ("Secret", "name")
            }
            "persistentVolumeClaim" => ("PersistentVolumeClaim", "claimName"),
            "agentRef" => ("CodeGenAgent", "name"),
            "taskRef" => ("CodeGenTask", "name"),
            "runOutput" => ("CodeGenRun", "run"),
            "continues" | "codeModeRunRef" => ("CodeModeRun", "name"),
            _ => {
                // A field of another name with the shape of a reference must not be forgotten.
                assert!(!field.ends_with("Ref"), "{path}: of which kind is it?");
                references(schema, &path, found);
                continue;
            }
        };
        found(target, &format!("{path}/{name}"));
    }
}

/// Runs the kubectl of this machine with arguments: returns what it prints, or `None` where it refuses.
fn kubectl(arguments: &[&OsStr]) -> Option<String> {
    let output = Command::new("kubectl").args(arguments).output().unwrap();
    let is_done = output.status.success();
    is_done.then(|| String::from_utf8(output.stdout).unwrap())
}

/// The objects that kubectl reads in a file, as JSON; no server is asked.
fn read_by_kubectl(path: &Path) -> Option<Vec<Value>> {
    let arguments = ["annotate", "--local", "-o", "json", "none-", "-f"].map(OsStr::new);
    let text = kubectl(&[&arguments[..], &[path.as_os_str()]].concat())?;
    let objects = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    let objects = objects.map(|object| {
        let mut object = object.unwrap();
        // It stands there for the annotation that was not there to remove.
        if object["metadata"]["annotations"] == serde_json::json!({}) {
            object["metadata"].as_object_mut().unwrap().remove("annotations");
        }
        object
    });
    Some(objects.collect())
}

/// Returns what `kubectl kustomize` makes of a folder, and kubectl of that.
fn rendered_by_kubectl(folder: &Path) -> Option<Vec<Value>> {
    let text = kubectl(&[OsStr::new("kustomize"), folder.as_os_str()])?;
    let rendered = tempfile::tempdir().unwrap();
    let path = rendered.path().join("rendered.yaml");
    fs::write(&path, &text).unwrap();
    if text.trim().is_empty() {
        return Some(Vec::new());
    }
    read_by_kubectl(&path)
}

#[test]
#[ignore = "needs kubectl: make packaging"]
fn kubectl_reads_the_odd_files_as_the_table_says() {
    for row in table() {
        let path = odd().join(&row.file);
        let folder = tempfile::tempdir().unwrap();
        fs::copy(&path, folder.path().join(&row.file)).unwrap();
        let resources = format!("resources: [{}]\n", row.file);
        fs::write(folder.path().join("kustomization.yaml"), resources).unwrap();
        for (option, verdict, found) in [
            ("-f", &row.kubectl, read_by_kubectl(&path)),
            ("-k", &row.kustomize, rendered_by_kubectl(folder.path())),
        ] {
            let expected = match verdict {
                Verdict::Unreadable => None,
                Verdict::Rejected(objects) | Verdict::Taken(objects) => Some(objects.clone()),
            };
            assert_eq!(found.map(Value::Array), expected, "{} {option}", row.file);
        }
    }
}

/// Objects without their order, which kustomize changes.
fn sorted(mut objects: Vec<Value>) -> Vec<Value> {
    objects.sort_by_key(|object| {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        (object["kind"].to_string(), text("namespace"), text("name"))
    });
    objects
}

fn rendered_here(folder: &Path) -> Vec<Value> {
    let documents = kustomize::render(folder).unwrap();
    documents.into_iter().map(|document| document.value).collect()
}

#[test]
#[ignore = "needs kubectl: make packaging"]
fn kustomizations_come_out_as_kubectl_renders_them() {
    let mut folders = vec![root().join("deploy/gitops/tasks")];
    for entry in fs::read_dir(root().join("examples")).unwrap() {
        let folder = entry.unwrap().path();
        if folder.join("kustomization.yaml").exists() {
            folders.push(folder);
        }
    }
    assert!(folders.len() > 4);
    let written: Vec<_> = KUSTOMIZATIONS.iter().map(|files| write_all(files)).collect();
    folders.extend(written.iter().map(|folder| folder.path().join("top")));
    for folder in folders {
        let theirs = rendered_by_kubectl(&folder).unwrap_or_else(|| panic!("{}", folder.display()));
        assert_eq!(
            sorted(rendered_here(&folder)),
            sorted(theirs),
            "{}",
            folder.display()
        );
    }
}

fn write_all(files: Files) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

type Files = &'static [(&'static str, &'static str)];

const KUSTOMIZATIONS: &[Files] = &[
    &[
        ("top/kustomization.yaml", "resources: [../base]\n"),
        (
            "base/kustomization.yaml",
            "resources: [task.yaml]\ngeneratorOptions: {disableNameSuffixHash: true}\nconfigMapGenerator: [{name: penguins, files: \
             [penguins.csv]}]\n",
        ),
        (
            "base/task.yaml",
            "apiVersion: codegen-operator.dev/v1alpha1\nkind: CodeGenTask\nmetadata: {name: sum}\nspec:\n  prompt: on\n  suspend: true\n  \
             maxSampleRows: 010\n  model: {name: m, parameters: {a: 1.0, b: yes, c: '2026-01-01', d: ~}}\n  samples:\n  - {name: a, \
             configMapKeyRef: {name: penguins, key: penguins.csv}}\n---\napiVersion: codegen-operator.dev/v1alpha1\nkind: \
             CodeGenAgent\nmetadata: {name: shared, namespace: default}\nspec: {}\n",
        ),
        ("base/penguins.csv", "species,mass\nAdelie,<&>\u{e9}\n"),
    ],
    &[
        (
            "top/kustomization.yaml",
            "generatorOptions: {labels: {a: all, b: all}, disableNameSuffixHash: true}\nconfigMapGenerator:\n- name: texts\n  files: \
             [x=data.txt, data.txt]\n  literals: ['q=\"a b\"', \"r='c'\", s=a=b, 't= x ', u=]\n  envs: [keys.env]\n- name: still\n  \
             literals: [a=b]\n  options: {immutable: true, labels: {b: own}}\n- name: nothing\nsecretGenerator:\n- name: keys\n  \
             literals: [k=v]\n  type: example.com/key\n- {name: other, namespace: lab, literals: [k=v]}\n",
        ),
        ("top/data.txt", "line one\r\n\tline <two> & \u{2028} more\n"),
        ("top/keys.env", "# comment\n\nA=b=c\n  B=d\nC= e \n"),
    ],
];
