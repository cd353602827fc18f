//! Kustomizations as people ship tasks with them.

use std::fs;

use super::super::manifest;
use super::super::objects::Objects;
use super::file::Kustomization;
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
fn a_field_that_takes_the_tool_is_named() {
    for (text, field) in [
        ("patches: []", "patches"),
        ("namePrefix: dev-", "namePrefix"),
        ("components: [a]", "components"),
        ("resource: [a.yaml]", "resource"),
        (
            "configMapGenerator: [{name: a, behavior: merge}]",
            "configMapGenerator.behavior",
        ),
        (
            "secretGenerator: [{name: a}]",
            "secretGenerator.name without generatorOptions.disableNameSuffixHash",
        ),
    ] {
        assert_eq!(kustomization(text).beyond().as_deref(), Some(field));
    }
    for text in [
        "generatorOptions: {disableNameSuffixHash: yes}\nconfigMapGenerator: [{name: a, behavior: create}]",
        "configMapGenerator: [{name: a, options: {disableNameSuffixHash: true}}]",
        "configurations: [names.yaml]\ncommonLabels: ~",
    ] {
        assert_eq!(kustomization(text).beyond(), None, "{text}");
    }
}

fn kustomization(text: &str) -> Kustomization {
    let value = manifest::parse("k", text).unwrap()[0].value.clone();
    serde_json::from_value(value).unwrap()
}

#[test]
fn nothing_outside_is_read_or_fetched_where_the_tool_renders_the_rest() {
    for (resource, words) in [
        ("https://example.com/a", "https://example.com/a lies outside"),
        ("github.com/a/b", "github.com/a/b"),
        ("../task.yaml", "../task.yaml lies outside"),
        ("linked", "linked lies outside"),
    ] {
        for field in ["resources", "components"] {
            let text = format!("namePrefix: a-\n{field}: ['{resource}']\n");
            let folder = folder(&[
                ("top/kustomization.yaml", "resources: [../inner]\n"),
                ("inner/kustomization.yaml", &text),
                ("task.yaml", TASK),
            ]);
            let link = folder.path().join("inner/linked");
            std::os::unix::fs::symlink(folder.path().join("task.yaml"), link).unwrap();
            let error = render(&folder.path().join("top")).unwrap_err();
            assert!(!matches!(error, KustomizeError::Tool { .. }), "{error}");
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}

#[rstest::rstest]
#[case("patches: [{path: 'ADDRESS'}]")]
#[case("patchesStrategicMerge: ['ADDRESS']")]
#[case("patchesJson6902: [{target: {kind: CodeGenTask, name: a}, path: 'ADDRESS'}]")]
#[case("configurations: ['ADDRESS']")]
#[case("crds: ['ADDRESS']")]
#[case("openapi: {path: 'ADDRESS'}")]
#[case("replacements: [{path: 'ADDRESS'}]")]
#[case("generators: ['ADDRESS']")]
#[case("transformers: ['ADDRESS']")]
#[case("validators: ['ADDRESS']")]
#[case("transformers: [inner]")]
fn an_address_anywhere_in_a_kustomization_is_fetched_by_no_tool(#[case] text: &str) {
    for address in ["https://example.com/a.yaml", "HTTP://127.0.0.1:1/a.yaml"] {
        let inner = "namePrefix: a-\nresources: [task.yaml]\npatches: [{path: 'ADDRESS'}]\n";
        let folder = folder(&[
            (
                "kustomization.yaml",
                &format!("namePrefix: a-\n{text}\n").replace("ADDRESS", address),
            ),
            ("inner/kustomization.yaml", &inner.replace("ADDRESS", address)),
            ("inner/task.yaml", TASK),
        ]);
        let error = render(folder.path()).unwrap_err();
        assert!(!matches!(error, KustomizeError::Tool { .. }), "{error}");
        assert!(
            error.to_string().contains(&format!("{address} lies outside")),
            "{error}"
        );
    }
}

#[test]
fn an_address_in_an_annotation_or_within_a_patch_is_none_to_fetch() {
    let folder = folder(&[(
        "kustomization.yaml",
        "commonAnnotations: {a: 'https://example.com'}\npatches: [{patch: \"- {op: add, path: /spec/a, value: https://example.com}\"}]\n",
    )]);
    let mut all = Accumulated::default();
    accumulate(folder.path(), 0, &mut all).unwrap();
    assert!(all.beyond.is_some());
}

#[test]
fn a_key_that_stands_twice_is_refused() {
    let folder = folder(&[("kustomization.yaml", "resources: []\nresources: []\n")]);
    let error = render(folder.path()).unwrap_err().to_string();
    assert!(error.contains("stands twice"), "{error}");
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
