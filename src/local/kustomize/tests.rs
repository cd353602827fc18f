//! Kustomizations as people ship tasks with them.

use std::fs;

use super::super::manifest;
use super::super::objects::Objects;
use super::*;
use codegen_sources::find;

const TASK: &str = "apiVersion: codegen-operator.dev/v1alpha1\nkind: CodeGenTask\nmetadata: {name: sum}\nspec:\n  prompt: p\n  model: {name: m, apiKeySecretRef: {name: openai, key: k}}\n  samples: [{name: a, configMapKeyRef: {name: penguins, key: penguins.csv}}]\n";

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn objects(folder: &tempfile::TempDir) -> Objects {
    Objects::collect(render(folder.path()).unwrap()).unwrap()
}

#[test]
fn generators_read_files_literals_and_environment_files() {
    let folder = folder(&[
        (
            "kustomization.yaml",
            "resources: [task.yaml]\ngeneratorOptions: {disableNameSuffixHash: true}\nconfigMapGenerator:\n- name: penguins\n  files: [data/penguins.csv, other.txt=data/penguins.csv]\nsecretGenerator:\n- name: openai\n  literals: [\"k=\\\"quoted\\\"\"]\n  envs: [keys.env]\n",
        ),
        ("task.yaml", TASK),
        ("data/penguins.csv", "species\nAdelie\n"),
        ("keys.env", "# comment\n\nOTHER=a=b\n"),
    ]);
    let objects = objects(&folder);
    let penguins = find(&objects.config_maps, "default", "penguins").unwrap();
    assert_eq!(penguins.0["penguins.csv"], b"species\nAdelie\n");
    assert_eq!(penguins.0["other.txt"], b"species\nAdelie\n");
    let openai = find(&objects.secrets, "default", "openai").unwrap();
    assert_eq!(openai.0["k"], b"quoted");
    assert_eq!(openai.0["OTHER"], b"a=b");
}

const REFERENCES: &str = include_str!("../../../deploy/kustomize/name-references.yaml");

const OVERLAY: [(&str, &str); 4] = [
    (
        "kustomization.yaml",
        "namePrefix: dev-\nnameSuffix: -x\nnamespace: lab\nresources: [base]\ncommonLabels: {team: a}\n",
    ),
    (
        "base/kustomization.yaml",
        "resources: [task.yaml]\nconfigMapGenerator: [{name: penguins, files: [penguins.csv]}]\n",
    ),
    ("base/task.yaml", TASK),
    ("base/penguins.csv", "species\n"),
];

#[test]
fn names_change_and_references_of_ours_change_with_a_configuration_alone() {
    let mut files = OVERLAY.to_vec();
    let plain = objects(&folder(&files));
    let task = &plain.tasks[0];
    assert_eq!(task.metadata.name.as_deref(), Some("dev-sum-x"));
    assert_eq!(task.metadata.namespace.as_deref(), Some("lab"));
    assert_eq!(task.metadata.labels.as_ref().unwrap()["team"], "a");
    let reference = task.spec.samples[0].config_map_key_ref.as_ref().unwrap();
    assert_eq!(reference.name, "penguins", "kustomize does not know this field");

    // In a folder of its own it holds for what names that folder among its resources, as in kustomize.
    files.push(("names/kustomization.yaml", "configurations: [names.yaml]\n"));
    files.push(("names/names.yaml", REFERENCES));
    files[0].1 = "namePrefix: dev-\nnameSuffix: -x\nnamespace: lab\nresources: [base, names]\n";
    let configured = objects(&folder(&files));
    let task = &configured.tasks[0];
    let reference = task.spec.samples[0].config_map_key_ref.as_ref().unwrap();
    assert!(
        reference.name.starts_with("dev-penguins-x-") && reference.name.len() == "dev-penguins-x-".len() + 10,
        "{}",
        reference.name
    );
    assert!(find(&configured.config_maps, "lab", &reference.name).is_some());
    // The Secret is none of the kustomization's objects: its name stays.
    let model = task.spec.model.as_ref().unwrap();
    assert_eq!(model.api_key_secret_ref.as_ref().unwrap().name, "openai");
}

#[test]
fn of_two_variants_of_one_base_each_task_means_its_own_data() {
    let variant = |prefix: &str| format!("namePrefix: {prefix}-\nresources: [../base]\n");
    let (first, second) = (variant("one"), variant("two"));
    let mut files = OVERLAY[1..].to_vec();
    files.extend([
        (
            "kustomization.yaml",
            "resources: [one, two]\nconfigurations: [names.yaml]\n",
        ),
        ("names.yaml", REFERENCES),
        ("one/kustomization.yaml", first.as_str()),
        ("two/kustomization.yaml", second.as_str()),
    ]);
    for task in objects(&folder(&files)).tasks {
        let reference = task.spec.samples[0].config_map_key_ref.as_ref().unwrap();
        let (variant, _) = task.metadata.name.as_deref().unwrap().split_once('-').unwrap();
        assert!(
            reference.name.starts_with(&format!("{variant}-penguins-")),
            "{variant}: {}",
            reference.name
        );
    }
}

#[test]
fn options_of_generators_reach_their_objects() {
    let folder = folder(&[(
        "kustomization.yaml",
        "generatorOptions: {labels: {a: all, b: all}, immutable: true}\nsecretGenerator:\n- name: s\n  literals: [k=v]\n  options: {labels: {b: own}, annotations: {c: own}, disableNameSuffixHash: true}\n",
    )]);
    let secret = &render(folder.path()).unwrap()[0].value;
    assert_eq!(
        *secret,
        serde_json::json!({
            "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "immutable": true, "data": {"k": "dg=="},
            "metadata": {"name": "s", "labels": {"a": "all", "b": "own"}, "annotations": {"c": "own"}},
        })
    );
}

#[test]
fn a_generated_file_from_outside_is_refused() {
    let folder = folder(&[
        (
            "inner/kustomization.yaml",
            "configMapGenerator: [{name: a, files: [../secret.txt]}]\n",
        ),
        ("secret.txt", "private"),
    ]);
    let error = render(&folder.path().join("inner")).unwrap_err().to_string();
    assert!(error.contains("../secret.txt lies outside"), "{error}");
}

#[test]
fn a_kustomization_that_names_itself_is_stopped() {
    let folder = folder(&[("kustomization.yaml", "resources: [.]\n")]);
    assert!(
        render(folder.path())
            .unwrap_err()
            .to_string()
            .contains("does one name itself")
    );
}

#[test]
fn a_field_beyond_this_is_named() {
    let beyond = |text: &str| {
        let value = manifest::parse("k", text).unwrap()[0].value.clone();
        serde_json::from_value::<Kustomization>(value).unwrap().beyond()
    };
    assert_eq!(beyond("patches: []"), Some("patches".to_owned()));
    assert_eq!(
        beyond("configMapGenerator: [{name: a, behavior: merge}]"),
        Some("configMapGenerator.behavior".to_owned())
    );
    assert_eq!(
        beyond("resources: ['https://example.com/a']"),
        Some("the remote resource https://example.com/a".to_owned())
    );
    assert_eq!(beyond("generatorOptions: {disableNameSuffixHash: yes}"), None);
}

#[test]
fn what_kustomize_would_not_take_is_refused() {
    for (text, words) in [
        ("resource: [a.yaml]\n", "kustomize has no field resource"),
        ("resources: []\nresources: []\n", "stands twice"),
        ("commonLabels: {a: yes}\n", "expected a string"),
    ] {
        let error = render(folder(&[("kustomization.yaml", text)]).path())
            .unwrap_err()
            .to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn a_file_in_the_place_of_a_folder_is_answered_with_its_folder() {
    let folder = folder(&[("base/kustomization.yaml", "resources: []\n")]);
    let file = folder.path().join("base/kustomization.yaml");
    let error = render(&file).unwrap_err().to_string();
    assert!(
        error.ends_with(&format!("write -k {}", folder.path().join("base").display())),
        "{error}"
    );
}

#[test]
fn a_folder_without_a_kustomization_says_how_to_read_it() {
    let folder = folder(&[("task.yaml", TASK)]);
    assert!(render(folder.path()).unwrap_err().to_string().contains("with -f"));
}
