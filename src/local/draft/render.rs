//! A task and its data as the files of a folder: `task.yaml` and `kustomization.yaml`, with comments for whoever goes on with them.

use serde_json::{Value, json};

use super::{DataFile, FilePlace, TASK};
use codegen_api::CodeGenTask;
use codegen_api::model::Model;
use codegen_api::{GROUP, VERSION};

/// The comment before a task, whose large files lie on `claim`.
fn head(claim: Option<&str>) -> String {
    let stands_for = claim.map(|claim| format!(" --claim {claim}=."));
    let on_claim = claim.map(|claim| {
        format!(
            "#                          Before that, copy what lies on the claim {claim} to it (docs/new.md).\n"
        )
    });
    format!(
        "# Run it on this machine:  kubectl-codegen local -k .{}\n\
         # Run it in a cluster:     kubectl apply -k .\n{}\
         # Every field:             kubectl explain codegentask.spec --recursive\n",
        stands_for.unwrap_or_default(),
        on_claim.unwrap_or_default()
    )
}

/// The lines of `task.yaml`.
pub(super) fn task(task: &CodeGenTask, claim: Option<&str>) -> String {
    let mut text = head(claim);
    text.push_str(&yaml(&json!({
        "apiVersion": format!("{GROUP}/{VERSION}"),
        "kind": "CodeGenTask",
        "metadata": {"name": task.metadata.name},
    })));
    text.push_str("spec:\n");
    // Values of a manifest are JSON, so that this cannot fail.
    let spec = serde_json::to_value(&task.spec).unwrap_or_default();
    for (field, value) in spec.as_object().into_iter().flatten() {
        let comments = match (field.as_str(), &task.spec.model) {
            ("model", Some(model)) => of_the_model(model),
            _ => of_a_field(field).iter().map(|line| (*line).to_owned()).collect(),
        };
        for comment in comments {
            text.extend(["  # ", &comment, "\n"]);
        }
        text.push_str(&indented(&yaml(&json!({field: value}))));
    }
    text
}

/// The comment before a field of `spec`.
fn of_a_field(field: &str) -> &'static [&'static str] {
    match field {
        "exposure" => &["What of the samples the model may see."],
        "samples" => &[
            "The model sees statistics and some rows of each (exposure: SchemaOnly shows names and types alone).",
            "Each is an option of the program, too, and its default.",
        ],
        "constraints" => &["Rules that the data must keep, one sentence each."],
        "inputs" => &["Further options of the program."],
        "outputs" => {
            &["What the program writes: each must be there and have its type before the task succeeds."]
        }
        "acceptanceTests" => &["Tests of yours, which no model sees and the program must pass."],
        _ => &[],
    }
}

/// The comment before the model: about its address and its key.
fn of_the_model(model: &Model) -> Vec<String> {
    let mut lines = Vec::new();
    if model.base_url.is_some() {
        lines.push(
            "In a cluster, an address that is private must be allowed by whoever runs the operator."
                .to_owned(),
        );
    }
    if let Some(secret) = &model.api_key_secret_ref {
        let variable = model.provider.unwrap_or_default().key_variable();
        lines.push(format!(
            "The key stays out of this folder: locally it is {variable}, in a cluster this Secret,"
        ));
        lines.push(format!(
            "  kubectl create secret generic {} --type {GROUP}/model --from-literal {}=\"${variable}\"",
            secret.name, secret.key
        ));
    }
    lines
}

/// The lines of `kustomization.yaml`.
pub(super) fn kustomization(files: &[DataFile]) -> String {
    let mut text =
        "# What `kubectl apply -k .` applies to a cluster, and `kubectl-codegen local -k .` runs without one.\n".to_owned();
    text.push_str(&yaml(&json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [TASK],
    })));
    let config_maps = files.iter().filter_map(|file| match &file.place {
        FilePlace::ConfigMap { name, .. } => Some(json!({"name": name, "files": [file.file_name]})),
        FilePlace::Claim { .. } => None,
    });
    let config_maps: Vec<Value> = config_maps.collect();
    if config_maps.is_empty() {
        return text;
    }
    text.push_str(
        "# A ConfigMap holds at most 1 MiB. What is larger lies on a claim, which task.yaml names in the place of\n\
         # configMapKeyRef: persistentVolumeClaim: {claimName: NAME, path: FILE}\n",
    );
    text.push_str(&yaml(&json!({"configMapGenerator": config_maps})));
    text.push_str(
        "# kustomize knows no references of custom resources, so the names must stay as task.yaml has them.\n",
    );
    text.push_str(&yaml(
        &json!({"generatorOptions": {"disableNameSuffixHash": true}}),
    ));
    text
}

/// A value in lines that every parser reads as the same, whether it speaks YAML 1.1 or 1.2.
fn yaml(value: &Value) -> String {
    // A mapping of JSON with texts for keys: writing it cannot fail.
    serde_saphyr::to_string(value).unwrap_or_default()
}

fn indented(text: &str) -> String {
    let lines = text.split_inclusive('\n');
    let lines = lines.map(|line| match line {
        "\n" => line.to_owned(),
        line => format!("  {line}"),
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use codegen_api::validate::{self, Manifest};
    use proptest::prelude::*;

    fn typed(value: &Value) -> CodeGenTask {
        match validate::manifest(value) {
            Ok(Manifest::Task(task)) => *task,
            other => panic!("{other:?}"),
        }
    }

    fn value(prompt: &str, description: &str) -> Value {
        json!({
            "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenTask", "metadata": {"name": "on"},
            "spec": {
                "prompt": prompt, "exposure": "Statistics",
                "model": {
                    "provider": "Anthropic", "name": "a: #b", "baseURL": "http://127.0.0.1:1/v1",
                    "apiKeySecretRef": {"name": "anthropic", "key": "api-key"},
                },
                "samples": [
                    {"name": "yes", "configMapKeyRef": {"name": "1-2", "key": "1e3"}},
                    {"name": "large", "persistentVolumeClaim": {"claimName": "1e3", "path": "a b.csv"}},
                ],
                "constraints": [format!("a{description}")],
                "inputs": [
                    {"name": "decimals", "type": "Int", "default": "1"},
                    {"name": "title", "type": "String", "default": description},
                    {"name": "rates", "type": "File", "source": {"configMapKeyRef": {"name": "r", "key": "r.csv"}}},
                    {"name": "more", "type": "File", "source": {"persistentVolumeClaim": {"claimName": "c", "path": "x"}}},
                ],
                "outputs": [
                    {"name": "n", "type": "File", "format": "JSONLines", "description": description},
                    {"name": "no", "type": "Timedelta"},
                ],
                "acceptanceTests": {"configMapKeyRef": {"name": "t", "key": "test_x.py"}},
            },
        })
    }

    #[test]
    fn a_text_stands_in_lines_and_a_word_of_yaml_in_quotes() {
        let prompt = "word ".repeat(40);
        let text = task(&typed(&value(prompt.trim_end(), "a\n\n- {{ c }}")), None);
        for expected in [
            "  prompt: >-\n    word word",
            "  - name: \"yes\"\n    configMapKeyRef:\n      name: 1-2\n      key: \"1e3\"\n",
            "    description: |-\n      a\n",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
        assert!(text.lines().all(|line| line.len() <= 130), "{text}");
    }

    proptest! {
        #[test]
        fn a_task_is_read_back_as_it_is(prompt in "[a-z\"'{}:#\n -]{1,80}[a-z]", description in any::<String>()) {
            let description: String = description.chars().take(200).collect();
            let value = value(&prompt, &description);
            let text = task(&typed(&value), Some("c"));
            let read: Value = serde_saphyr::from_str(&text).unwrap();
            prop_assert_eq!(&read, &value, "{}", text);
        }
    }

    #[test]
    fn a_task_of_a_prompt_alone_has_no_empty_lists() {
        let value = json!({
            "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenTask", "metadata": {"name": "a"},
            "spec": {"prompt": "p", "model": {"provider": "OpenAI", "name": "m"}},
        });
        let text = task(&typed(&value), None);
        assert_eq!(serde_saphyr::from_str::<Value>(&text).unwrap(), value);
        assert!(!kustomization(&[]).contains("configMapGenerator"));
    }
}
