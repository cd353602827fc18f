//! Values from Secrets of the task's namespace: read by name when they are needed, used as their owners allow, and never stored.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1;
use kube::{Api, Client};

use crate::controller::hold::{Blocked, misconfigured, unreachable};
use codegen_api::code_mode::ToolHeader;
use codegen_api::common::SecretKeyRef;
use codegen_api::secret_use::{SecretUse, USE_LABEL, check_host, check_tool_host};
use codegen_core::call::ModelIndex;
use codegen_core::task::{ModelSettings, Task};
use codegen_egress::EgressGate;
use codegen_model::{ModelOptions, NamedIn, Secret};

/// Reads the options of a model client, with the key and the secret headers.
pub async fn model_options(
    client: &Client,
    gate: &EgressGate,
    namespace: &str,
    (index, model): (ModelIndex, &ModelSettings),
) -> Result<ModelOptions, Blocked> {
    let mut options = ModelOptions::new(model.clone());
    options.named = NamedIn::at(index);
    let field = format!("{index}.apiKeySecretRef");
    options.gate = Some(gate.clone());
    if let Some(reference) = &model.api_key_secret_ref {
        let at = (namespace, index, model);
        let value = model_value(client, at, &field, reference).await?;
        if value.trim().is_empty() {
            return Err(misconfigured(format!(
                "{field}: the key {} of the Secret {namespace}/{} is empty: put the API key there",
                reference.key, reference.name
            )));
        }
        // A Secret made from a file ends in a line break, which a header must not have.
        options.api_key = Some(Secret::new(value.trim_end_matches(['\r', '\n'])));
        options.key_source = format!(
            "key `{}` of the Secret {namespace}/{}",
            reference.key, reference.name
        );
    } else {
        options.key_source = format!("{field} is not set");
    }
    for (place, header) in model.headers.iter().enumerate() {
        if let Some(reference) = &header.value_from {
            let field = format!("{index}.headers[{place}].valueFrom");
            let value = model_value(client, (namespace, index, model), &field, reference).await?;
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
        let secret = secret(
            client,
            &task.namespace,
            &field,
            &variable.secret_key_ref,
            SecretUse::Sandbox,
        );
        let value = value(&secret.await?, &field, &variable.secret_key_ref)?;
        values.insert(variable.name.clone(), value);
    }
    Ok(values)
}

/// A value that is sent to the model's endpoint.
async fn model_value(
    client: &Client,
    (namespace, index, model): (&str, ModelIndex, &ModelSettings),
    field: &str,
    reference: &SecretKeyRef,
) -> Result<String, Blocked> {
    let secret = secret(client, namespace, field, reference, SecretUse::Model).await?;
    // Before the value is taken: the owner of the Secret says which hosts may have it.
    check_host(
        &secret.metadata,
        model.provider,
        &format!("{index}.baseURL"),
        &model.base_url,
    )
    .map_err(|refusal| misconfigured(format!("{field}: {refusal}")))?;
    value(&secret, field, reference)
}

/// The headers that requests to `url` carry. `field` is that of the address.
pub async fn tool_headers(
    client: &Client,
    namespace: &str,
    wanted: &[ToolHeader],
    (field, url): (&str, &str),
) -> Result<Vec<(String, Secret)>, Blocked> {
    let mut headers = Vec::new();
    for header in wanted {
        let reference = &header.secret_key_ref;
        let of_header = format!("the header {} of {field}", header.name);
        let secret = secret(client, namespace, &of_header, reference, SecretUse::Tool).await?;
        // Before the value is taken: the owner of the Secret says which hosts may have it.
        check_tool_host(&secret.metadata, field, url)
            .map_err(|refusal| misconfigured(format!("{of_header}: {refusal}")))?;
        let value = value(&secret, &of_header, reference)?;
        headers.push((header.name.clone(), Secret::new(&value)));
    }
    Ok(headers)
}

/// The Secret, if its owner allows this use of it.
async fn secret(
    client: &Client,
    namespace: &str,
    field: &str,
    reference: &SecretKeyRef,
    wanted: SecretUse,
) -> Result<v1::Secret, Blocked> {
    let SecretKeyRef { name, key } = reference;
    let secrets: Api<v1::Secret> = Api::namespaced(client.clone(), namespace);
    let found = secrets.get_opt(name).await;
    let found = found.map_err(|error| unreachable(&format!("read the Secret {namespace}/{name}"), &error))?;
    let Some(secret) = found else {
        return Err(misconfigured(format!(
            "{field} refers to the Secret {namespace}/{name}, which is not there: create it with the key {key} and the label \
             {USE_LABEL}={}, or correct the name",
            wanted.as_str()
        )));
    };
    // Before anything of its content is shown.
    wanted
        .check(&secret)
        .map_err(|refusal| misconfigured(format!("{field}: {refusal}")))?;
    Ok(secret)
}

fn value(secret: &v1::Secret, field: &str, reference: &SecretKeyRef) -> Result<String, Blocked> {
    let SecretKeyRef { name, key } = reference;
    let data = secret.data.as_ref();
    let Some(bytes) = data.and_then(|data| data.get(key)) else {
        let present: Vec<&str> = data.into_iter().flatten().map(|(key, _)| key.as_str()).collect();
        let present = if present.is_empty() {
            "none".to_owned()
        } else {
            present.join(", ")
        };
        return Err(misconfigured(format!(
            "{field} refers to the key {key} of the Secret {name}, which has {present}: correct the key, or add it"
        )));
    };
    String::from_utf8(bytes.0.clone()).map_err(|_| {
        misconfigured(format!(
            "{field}: key {key} of the Secret {name} is not UTF-8 text"
        ))
    })
}
