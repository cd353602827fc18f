//! A task and its data as the files of a folder: `task.yaml` and `kustomization.yaml`, with comments for whoever goes on with them.

use std::fmt::Write as _;

use super::yaml::{block, quoted, scalar};
use super::{DataFile, FilePlace};
use codegen_api::CodeGenTask;
use codegen_api::common::ClaimPath;
use codegen_api::model::Model;
use codegen_api::values::{Input, Output, Sample};
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

const KUSTOMIZATION: &str = "\
# What `kubectl apply -k .` applies to a cluster, and `kubectl-codegen local -k .` runs without one.
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - task.yaml
";

/// The lines of `task.yaml`.
pub(super) fn task(task: &CodeGenTask, claim: Option<&str>) -> String {
    let spec = &task.spec;
    let name = scalar(task.metadata.name.as_deref().unwrap_or_default());
    let mut text = format!(
        "{}apiVersion: {GROUP}/{VERSION}\nkind: CodeGenTask\nmetadata:\n  name: {name}\nspec:\n  prompt: {}\n",
        head(claim),
        block(&spec.prompt, 4)
    );
    if let Some(own) = &spec.model {
        text.push_str(&model(own));
    }
    if let Some(exposure) = spec.exposure {
        line(&mut text, "  # What of the samples the model may see.");
        line(&mut text, &format!("  exposure: {}", exposure.as_str()));
    }
    if !spec.samples.is_empty() {
        line(
            &mut text,
            "  # The model sees statistics and some rows of each (exposure: SchemaOnly shows names and types alone).",
        );
        line(
            &mut text,
            "  # Each is an option of the program, too, and its default.",
        );
        line(&mut text, "  samples:");
        for each in &spec.samples {
            sample(&mut text, each);
        }
    }
    if !spec.constraints.is_empty() {
        line(&mut text, "  # Rules that the data must keep, one sentence each.");
        line(&mut text, "  constraints:");
        for constraint in &spec.constraints {
            line(&mut text, &format!("    - {}", scalar(constraint)));
        }
    }
    if !spec.inputs.is_empty() {
        line(&mut text, "  # Further options of the program.");
        line(&mut text, "  inputs:");
        for each in &spec.inputs {
            input(&mut text, each);
        }
    }
    if !spec.outputs.is_empty() {
        line(
            &mut text,
            "  # What the program writes: each must be there and have its type before the task succeeds.",
        );
        line(&mut text, "  outputs:");
        for each in &spec.outputs {
            output(&mut text, each);
        }
    }
    let acceptance = spec.acceptance_tests.as_ref();
    if let Some(key) = acceptance.and_then(|tests| tests.config_map_key_ref.as_ref()) {
        line(
            &mut text,
            "  # Tests of yours, which no model sees and the program must pass.",
        );
        line(&mut text, "  acceptanceTests:");
        line(&mut text, &format!("    {}", reference(&key.name, &key.key)));
    }
    text
}

fn model(model: &Model) -> String {
    let provider = model.provider.unwrap_or_default();
    let mut text = String::new();
    line(&mut text, "  model:");
    line(&mut text, &format!("    provider: {}", provider.as_str()));
    let name = model.name.as_deref().unwrap_or_default();
    line(&mut text, &format!("    name: {}", scalar(name)));
    if let Some(address) = &model.base_url {
        line(
            &mut text,
            "    # In a cluster, one at a private address must be allowed by whoever runs the operator.",
        );
        line(&mut text, &format!("    baseURL: {}", quoted(address)));
    }
    if let Some(secret) = &model.api_key_secret_ref {
        let variable = provider.key_variable();
        line(
            &mut text,
            &format!(
                "    # The key stays out of this folder: locally it is {variable}, in a cluster this Secret,"
            ),
        );
        line(
            &mut text,
            &format!(
                "    #   kubectl create secret generic {} --type {GROUP}/model --from-literal {}=\"${variable}\"",
                secret.name, secret.key
            ),
        );
        let reference = format!("{{name: {}, key: {}}}", scalar(&secret.name), scalar(&secret.key));
        line(&mut text, &format!("    apiKeySecretRef: {reference}"));
    }
    text
}

fn sample(text: &mut String, sample: &Sample) {
    line(text, &format!("    - name: {}", scalar(&sample.name)));
    if let Some(key) = &sample.config_map_key_ref {
        line(text, &format!("      {}", reference(&key.name, &key.key)));
    }
    if let Some(place) = &sample.persistent_volume_claim {
        line(text, &format!("      {}", on_claim(place)));
    }
}

fn input(text: &mut String, input: &Input) {
    line(text, &format!("    - name: {}", scalar(&input.name)));
    line(text, &format!("      type: {}", input.type_));
    if let Some(default) = &input.default {
        line(text, &format!("      default: {}", quoted(default)));
    }
    let source = input.source.as_ref();
    let key = source.and_then(|source| source.config_map_key_ref.as_ref());
    let place = source.and_then(|source| source.persistent_volume_claim.as_ref());
    let key = key.map(|key| reference(&key.name, &key.key));
    if let Some(place) = key.or_else(|| place.map(on_claim)) {
        line(text, "      source:");
        line(text, &format!("        {place}"));
    }
}

fn output(text: &mut String, output: &Output) {
    line(text, &format!("    - name: {}", scalar(&output.name)));
    line(text, &format!("      type: {}", output.type_));
    if let Some(format) = output.format {
        line(text, &format!("      format: {format:?}"));
    }
    if let Some(description) = &output.description {
        line(text, &format!("      description: {}", block(description, 8)));
    }
}

fn reference(config_map: &str, key: &str) -> String {
    format!(
        "configMapKeyRef: {{name: {}, key: {}}}",
        scalar(config_map),
        scalar(key)
    )
}

fn on_claim(place: &ClaimPath) -> String {
    format!(
        "persistentVolumeClaim: {{claimName: {}, path: {}}}",
        scalar(&place.claim_name),
        scalar(&place.path)
    )
}

/// The lines of `kustomization.yaml`.
pub(super) fn kustomization(files: &[DataFile]) -> String {
    let mut text = KUSTOMIZATION.to_owned();
    let config_maps = files.iter().filter_map(|file| match &file.place {
        FilePlace::ConfigMap { name, .. } => Some((name, &file.file_name)),
        FilePlace::Claim { .. } => None,
    });
    let mut config_maps = config_maps.peekable();
    if config_maps.peek().is_none() {
        return text;
    }
    line(
        &mut text,
        "# A ConfigMap holds at most 1 MiB. What is larger lies on a claim, which task.yaml names in the place of",
    );
    line(
        &mut text,
        "# configMapKeyRef: persistentVolumeClaim: {claimName: NAME, path: FILE}",
    );
    line(&mut text, "configMapGenerator:");
    for (name, file) in config_maps {
        line(&mut text, &format!("  - name: {}", scalar(name)));
        line(&mut text, &format!("    files: [{}]", scalar(file)));
    }
    line(&mut text, "generatorOptions:");
    line(
        &mut text,
        "  # kustomize knows no references of custom resources, so the names must stay as task.yaml has them.",
    );
    line(&mut text, "  disableNameSuffixHash: true");
    text
}

fn line(text: &mut String, line: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use codegen_api::validate::{self, Manifest};

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
