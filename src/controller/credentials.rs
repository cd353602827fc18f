//! Values from Secrets of the task's namespace: read by name when they are needed, and never kept.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1;
use kube::{Api, Client};

use super::hold::{Blocked, misconfigured, unreachable};
use crate::api::common::SecretKeyRef;
use crate::model::{ModelOptions, Secret};
use crate::pipeline::task::Task;

/// What a model client is made of, with the key and the secret headers.
pub async fn model_options(client: &Client, task: &Task) -> Result<ModelOptions, Blocked> {
    let mut options = ModelOptions::new(task.model.clone());
    if let Some(reference) = &task.model.api_key_secret_ref {
        let value = value(client, &task.namespace, "spec.model.apiKeySecretRef", reference).await?;
        options.api_key = Some(Secret::new(value.trim_end_matches(['\r', '\n'])));
        options.key_source = format!(
            "key `{}` of the Secret {}/{}",
            reference.key, task.namespace, reference.name
        );
    } else {
        "spec.model.apiKeySecretRef is not set".clone_into(&mut options.key_source);
    }
    for (index, header) in task.model.headers.iter().enumerate() {
        if let Some(reference) = &header.value_from {
            let field = format!("spec.model.headers[{index}].valueFrom");
            let value = value(client, &task.namespace, &field, reference).await?;
            options.headers.push((header.name.clone(), Secret::new(&value)));
        }
    }
    Ok(options)
}

/// The sandbox's variables from Secrets.
pub async fn sandbox_variables(client: &Client, task: &Task) -> Result<BTreeMap<String, String>, Blocked> {
    let mut values = BTreeMap::new();
    for (index, variable) in task.sandbox.secrets.iter().enumerate() {
        let field = format!("spec.sandbox.secrets[{index}].secretKeyRef");
        let value = value(client, &task.namespace, &field, &variable.secret_key_ref).await?;
        values.insert(variable.name.clone(), value);
    }
    Ok(values)
}

async fn value(
    client: &Client,
    namespace: &str,
    field: &str,
    reference: &SecretKeyRef,
) -> Result<String, Blocked> {
    let SecretKeyRef { name, key } = reference;
    let secrets: Api<v1::Secret> = Api::namespaced(client.clone(), namespace);
    let found = secrets.get_opt(name).await;
    let found = found.map_err(|error| unreachable(&format!("read the Secret {namespace}/{name}"), &error))?;
    let Some(secret) = found else {
        return Err(misconfigured(format!(
            "{field} refers to the Secret {namespace}/{name}, which is not there: create it with the key {key}, or correct the \
             name"
        )));
    };
    let data = secret.data.unwrap_or_default();
    let Some(bytes) = data.get(key) else {
        let present: Vec<&str> = data.keys().map(String::as_str).collect();
        let present = if present.is_empty() {
            "none".to_owned()
        } else {
            present.join(", ")
        };
        return Err(misconfigured(format!(
            "{field} refers to the key {key} of the Secret {namespace}/{name}, which has {present}: correct the key, or add it"
        )));
    };
    String::from_utf8(bytes.0.clone()).map_err(|_| {
        misconfigured(format!(
            "{field}: key {key} of the Secret {namespace}/{name} is not UTF-8 text"
        ))
    })
}
