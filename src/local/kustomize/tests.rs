//! Kustomizations as people ship tasks with them.

use super::super::objects::Objects;
use super::*;
use crate::sources::find;

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
            "resources: [task.yaml]\nconfigMapGenerator:\n- name: penguins\n  files: [data/penguins.csv, other.txt=data/penguins.csv]\nsecretGenerator:\n- name: openai\n  literals: [\"k=\\\"quoted\\\"\"]\n  envs: [keys.env]\n",
        ),
        ("task.yaml", TASK),
        ("data/penguins.csv", "species\nAdelie\n"),
        ("keys.env", "# comment\n\nOTHER=a=b\n"),
    ]);
    let objects = objects(&folder);
    let (_, penguins) = find(&objects.config_maps, "default", "penguins").unwrap();
    assert_eq!(penguins.0["penguins.csv"], b"species\nAdelie\n");
    assert_eq!(penguins.0["other.txt"], b"species\nAdelie\n");
    let (_, openai) = find(&objects.secrets, "default", "openai").unwrap();
    assert_eq!(openai.0["k"], b"quoted");
    assert_eq!(openai.0["OTHER"], b"a=b");
}

#[test]
fn a_prefix_and_a_namespace_reach_names_and_references() {
    let folder = folder(&[
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
    ]);
    let objects = objects(&folder);
    let task = &objects.tasks[0];
    assert_eq!(task.metadata.name.as_deref(), Some("dev-sum-x"));
    assert_eq!(task.metadata.namespace.as_deref(), Some("lab"));
    let reference = task.spec.samples[0].config_map_key_ref.as_ref().unwrap();
    assert_eq!(reference.name, "dev-penguins-x");
    assert!(find(&objects.config_maps, "lab", &reference.name).is_some());
    // The Secret is none of the kustomization's objects: its name stays.
    let model = task.spec.model.as_ref().unwrap();
    assert_eq!(model.api_key_secret_ref.as_ref().unwrap().name, "openai");
    assert_eq!(task.metadata.labels.as_ref().unwrap()["team"], "a");
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
    let with =
        |text: &str| serde_json::from_value(manifest::parse("k", text).unwrap()[0].value.clone()).unwrap();
    assert_eq!(beyond(&with("patches: []")), Some("patches".to_owned()));
    assert_eq!(
        beyond(&with("configMapGenerator: [{name: a, behavior: merge}]")),
        Some("configMapGenerator.behavior".to_owned())
    );
    assert_eq!(
        beyond(&with("resources: ['https://example.com/a']")),
        Some("the remote resource https://example.com/a".to_owned())
    );
    assert_eq!(
        beyond(&with("generatorOptions: {disableNameSuffixHash: true}")),
        None
    );
}

#[test]
fn a_folder_without_a_kustomization_says_how_to_read_it() {
    let folder = folder(&[("task.yaml", TASK)]);
    assert!(render(folder.path()).unwrap_err().to_string().contains("with -f"));
}
