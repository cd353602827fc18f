//! The model key, secret headers and secret variables of a task, from Secret documents and the environment.

use std::collections::BTreeMap;

use thiserror::Error;

use super::objects::Objects;
use codegen_api::common::SecretKeyRef;
use codegen_api::model::Header;
use codegen_api::sandbox::SecretVariable;
use codegen_core::call::ModelIndex;
use codegen_core::task::ModelSettings;
use codegen_model::Secret;
use codegen_sources::{find, keys_text, renamed_text};

/// Credentials that are sent to the model beside the request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelCredentials {
    /// The API key; `None` for servers that need none.
    pub api_key: Option<Secret>,
    /// Further headers.
    pub headers: Vec<(String, Secret)>,
}

/// A secret that cannot be had. Of category configuration: the message says what to change.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum CredentialError {
    /// `--model-key-env` names a variable that is not set.
    #[error("--model-key-env: the variable {name} is not set or empty: export it first")]
    NoVariable {
        /// The variable.
        name: String,
    },
    /// No such Secret among the documents.
    #[error(
        "{field} refers to Secret {name}, which is not among the manifests{renamed}: add its document with -f{instead}"
    )]
    NoSecret {
        /// The field.
        field: String,
        /// The Secret.
        name: String,
        /// Name that kustomize made of it, in brackets, or nothing.
        renamed: String,
        /// The other way to give it.
        instead: String,
    },
    /// The Secret has no such key.
    #[error("{field} refers to key {key} of Secret {name}, which has {}: correct the key{instead}", keys_text(.present))]
    NoKey {
        /// The field.
        field: String,
        /// The Secret.
        name: String,
        /// The key.
        key: String,
        /// The keys that it has.
        present: Vec<String>,
        /// The other way to give it.
        instead: String,
    },
    /// The key is empty.
    #[error("{field}: key {key} of Secret {name} is empty: put the API key there{instead}")]
    EmptyKey {
        /// The field.
        field: String,
        /// The Secret.
        name: String,
        /// The key.
        key: String,
        /// The other way to give it.
        instead: String,
    },
    /// The provider's usual variable is set and empty.
    #[error(
        "the variable {name} is set and empty, and {host} answers nobody without a key: set it to your API key, or name another \
         variable with --model-key-env"
    )]
    EmptyVariable {
        /// The variable.
        name: &'static str,
        /// The provider's host.
        host: &'static str,
    },
    /// The provider's usual variable has a key, and nobody said that it goes to this address.
    #[error(
        "the key of {name} is not sent to {address}: {why}; {remedy} to send it, unset it to send none, or run the \
         same command at a terminal, which asks once"
    )]
    NotSent {
        /// The variable.
        name: &'static str,
        /// The address.
        address: String,
        /// Reason of the refusal.
        why: &'static str,
        /// Step that sends it.
        remedy: String,
    },
    /// The value is not text.
    #[error("{field}: key {key} of Secret {name} is not UTF-8 text")]
    NotText {
        /// The field.
        field: String,
        /// The Secret.
        name: String,
        /// The key.
        key: String,
    },
}

/// Sources of a model key besides the manifest.
#[derive(Clone, Copy, Debug)]
pub struct KeyOptions<'a> {
    /// The model, among those of its task.
    pub at: ModelIndex,
    /// `--model-key-env`.
    pub variable: Option<&'a str>,
    /// True where the user named the endpoint on the command line.
    pub endpoint_given: bool,
    /// Answer of a person who was asked about the address; `None` where nobody was.
    pub may_send: Option<bool>,
}

/// Finds the key in this order: `--model-key-env`, the Secret document, `OPENAI_API_KEY` or `ANTHROPIC_API_KEY`.
///
/// The last are sent only where the user means them to go: to the provider itself over HTTPS, or to an endpoint given on the command
/// line, over HTTPS or on this machine. A manifest of somebody else must not be able to send them to its own server.
pub fn model_credentials(
    model: &ModelSettings,
    options: KeyOptions<'_>,
    namespace: &str,
    objects: &Objects,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<ModelCredentials, CredentialError> {
    let mut headers = Vec::new();
    for (index, header) in model.headers.iter().enumerate() {
        let field = format!("{}.headers[{index}].valueFrom", options.at);
        headers.push((
            header.name.clone(),
            header_value(&field, header, namespace, objects)?,
        ));
    }
    let api_key = api_key(model, options, namespace, objects, variable)?;
    Ok(ModelCredentials {
        api_key: api_key.map(|key| Secret::new(&key)),
        headers,
    })
}

fn api_key(
    model: &ModelSettings,
    options: KeyOptions<'_>,
    namespace: &str,
    objects: &Objects,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<Option<String>, CredentialError> {
    let is_set_and_empty = |name: &str| variable(name).is_some_and(|value| value.trim().is_empty());
    let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    // What the command line names goes before everything, and must be there.
    if let Some(name) = options.variable {
        let missing = || CredentialError::NoVariable {
            name: name.to_owned(),
        };
        return variable(name).ok_or_else(missing).map(Some);
    }
    let usual = model.provider.key_variable();
    let objection = objection(model, options);
    let may_use_usual = objection.is_none() || options.may_send == Some(true);
    let from_environment = may_use_usual.then(|| variable(usual)).flatten();
    // The answer no means to go on without the key.
    let not_sent = || match objection.filter(|_| options.may_send.is_none() && variable(usual).is_some()) {
        Some(why) => Err(CredentialError::NotSent {
            name: usual,
            address: model.base_url.clone(),
            why,
            remedy: if options.at == ModelIndex::Own {
                format!("give --model-key-env {usual}")
            } else {
                format!("put it into a Secret that {}.apiKeySecretRef names", options.at)
            },
        }),
        None => Ok(()),
    };
    let Some(reference) = &model.api_key_secret_ref else {
        // A server of one's own may need none; the provider's refuses every call.
        if is_own_host(model) && is_set_and_empty(usual) {
            let host = model.provider.own_host();
            return Err(CredentialError::EmptyVariable { name: usual, host });
        }
        not_sent()?;
        return Ok(from_environment);
    };
    let instead = match (options.at, may_use_usual) {
        (ModelIndex::Own, true) => format!(", or set {usual}, or name another variable with --model-key-env"),
        (ModelIndex::Own, false) => ", or name a variable that holds the key with --model-key-env".to_owned(),
        (_, true) => format!(", or set {usual}"),
        (_, false) => String::new(),
    };
    let field = format!("{}.apiKeySecretRef", options.at);
    match secret(reference, &field, &instead, namespace, objects) {
        Ok(key) if key.trim().is_empty() => Err(CredentialError::EmptyKey {
            field,
            name: reference.name.clone(),
            key: reference.key.clone(),
            instead,
        }),
        // The endpoint of the command line may need no key, whatever the manifest's one needs.
        Err(CredentialError::NoSecret { .. }) if from_environment.is_some() || options.endpoint_given => {
            not_sent()?;
            Ok(from_environment)
        }
        found => found.map(Some),
    }
}

/// The values of `sandbox.secrets` by variable.
pub fn sandbox_variables(
    secrets: &[SecretVariable],
    namespace: &str,
    objects: &Objects,
) -> Result<BTreeMap<String, Secret>, CredentialError> {
    let mut values = BTreeMap::new();
    for (index, variable) in secrets.iter().enumerate() {
        let field = format!("spec.sandbox.secrets[{index}] ({})", variable.name);
        let instead = ", or set it in plain sight under spec.sandbox.env";
        let value = secret(&variable.secret_key_ref, &field, instead, namespace, objects)?;
        values.insert(variable.name.clone(), Secret::new(&value));
    }
    Ok(values)
}

/// The value of a header of a tool.
pub(super) fn tool_header(
    reference: &SecretKeyRef,
    field: &str,
    namespace: &str,
    objects: &Objects,
) -> Result<Secret, CredentialError> {
    Ok(Secret::new(&secret(reference, field, "", namespace, objects)?))
}

fn header_value(
    field: &str,
    header: &Header,
    namespace: &str,
    objects: &Objects,
) -> Result<Secret, CredentialError> {
    match &header.value_from {
        Some(reference) => {
            let instead = ", or write it in plain sight under value";
            Ok(Secret::new(&secret(
                reference, field, instead, namespace, objects,
            )?))
        }
        None => Ok(Secret::new(header.value.as_deref().unwrap_or_default())),
    }
}

fn secret(
    reference: &SecretKeyRef,
    field: &str,
    instead: &str,
    namespace: &str,
    objects: &Objects,
) -> Result<String, CredentialError> {
    let (field, name, instead) = (field.to_owned(), reference.name.clone(), instead.to_owned());
    let Some(keys) = find(&objects.secrets, namespace, &name) else {
        return Err(CredentialError::NoSecret {
            renamed: renamed_text(&objects.secrets, namespace, &name),
            field,
            name,
            instead,
        });
    };
    let key = reference.key.clone();
    let Some(bytes) = keys.0.get(&key) else {
        let present = keys.0.keys().cloned().collect();
        return Err(CredentialError::NoKey {
            field,
            name,
            key,
            present,
            instead,
        });
    };
    String::from_utf8(bytes.clone()).map_err(|_| CredentialError::NotText { field, name, key })
}

/// Returns what speaks against sending the key of the usual variable.
fn objection(model: &ModelSettings, options: KeyOptions<'_>) -> Option<&'static str> {
    let url = reqwest::Url::parse(&model.base_url);
    let is_secret = url.is_ok_and(|url| {
        url.scheme() == "https" || matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"))
    });
    if is_own_host(model) || (options.endpoint_given && is_secret) {
        None
    } else if options.endpoint_given {
        Some("plain http shows it to everybody between")
    } else {
        Some("the manifest alone names that address")
    }
}

/// Reports whether the endpoint is the provider's own, over HTTPS.
fn is_own_host(model: &ModelSettings) -> bool {
    let own = model.provider.own_host();
    let is_own = |url: reqwest::Url| url.host_str() == Some(own) && url.scheme() == "https";
    reqwest::Url::parse(&model.base_url).is_ok_and(is_own)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::manifest::parse;
    use super::*;

    fn model(base_url: &str, reference: bool) -> ModelSettings {
        ModelSettings {
            provider: codegen_api::model::Provider::OpenAI,
            name: "m".to_owned(),
            base_url: base_url.to_owned(),
            api_key_secret_ref: reference.then(|| SecretKeyRef {
                name: "openai".to_owned(),
                key: "api-key".to_owned(),
            }),
            parameters: serde_json::Map::new(),
            headers: Vec::new(),
            query: BTreeMap::new(),
        }
    }

    fn objects(data: &str) -> Objects {
        let text =
            format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: openai}}\nstringData: {{{data}}}\n");
        Objects::collect(parse("s.yaml", &text).unwrap()).unwrap()
    }

    fn environment(name: &str) -> Option<String> {
        match name {
            "OPENAI_API_KEY" => Some("usual".to_owned()),
            "MINE" => Some("mine".to_owned()),
            _ => None,
        }
    }

    fn key(
        model: &ModelSettings,
        variable: Option<&str>,
        endpoint_given: bool,
        objects: &Objects,
        environment: &impl Fn(&str) -> Option<String>,
    ) -> Result<Option<String>, CredentialError> {
        key_where(
            model,
            KeyOptions {
                at: ModelIndex::Own,
                variable,
                endpoint_given,
                may_send: None,
            },
            objects,
            environment,
        )
    }

    fn key_where(
        model: &ModelSettings,
        options: KeyOptions<'_>,
        objects: &Objects,
        environment: &impl Fn(&str) -> Option<String>,
    ) -> Result<Option<String>, CredentialError> {
        model_credentials(model, options, "default", objects, environment)
            .map(|credentials| credentials.api_key.map(|key| key.expose().to_owned()))
    }

    const OPENAI: &str = "https://api.openai.com/v1";

    #[test]
    fn the_named_variable_wins_over_the_secret_and_that_over_the_usual_variable() {
        let with = objects("api-key: \"stored\\n\"");
        let without = Objects::default();
        let model = model(OPENAI, true);
        let found = |variable, objects| {
            key(&model, variable, false, objects, &environment)
                .unwrap()
                .unwrap()
        };
        assert_eq!(found(Some("MINE"), &with), "mine");
        assert_eq!(found(None, &with), "stored");
        assert_eq!(found(None, &without), "usual");
    }

    #[rstest]
    #[case::another_host("https://gateway.example.com/v1", false, false)]
    #[case::this_machine("http://127.0.0.1:8080/v1", false, false)]
    #[case::its_own_host_in_plain_text("http://api.openai.com/v1", false, false)]
    #[case::in_plain_text("http://gateway.example.com/v1", true, false)]
    #[case::its_own_host(OPENAI, false, true)]
    #[case::given("https://gateway.example.com/v1", true, true)]
    #[case::given_on_this_machine("http://127.0.0.1:8080/v1", true, true)]
    fn a_key_of_the_environment_goes_nowhere_unasked_but_to_its_provider_and_where_the_command_line_says(
        #[case] address: &str,
        #[case] endpoint_given: bool,
        #[case] is_sent: bool,
    ) {
        let model = model(address, false);
        let found = |may_send| {
            let options = KeyOptions {
                at: ModelIndex::Own,
                variable: None,
                endpoint_given,
                may_send,
            };
            key_where(&model, options, &Objects::default(), &environment)
        };
        if is_sent {
            assert_eq!(found(None), Ok(Some("usual".to_owned())));
            return;
        }
        let refused = found(None).unwrap_err().to_string();
        for words in ["OPENAI_API_KEY", address, "--model-key-env OPENAI_API_KEY"] {
            assert!(refused.contains(words), "{refused}");
        }
        assert_eq!(found(Some(true)), Ok(Some("usual".to_owned())));
        assert_eq!(found(Some(false)), Ok(None));
        let named = key(
            &model,
            Some("MINE"),
            endpoint_given,
            &Objects::default(),
            &environment,
        );
        assert_eq!(named, Ok(Some("mine".to_owned())));
        let nothing_to_send = key(&model, None, endpoint_given, &Objects::default(), &|_| None);
        assert_eq!(nothing_to_send, Ok(None));
    }

    #[test]
    fn a_missing_secret_says_the_other_ways() {
        let none = |_: &str| None;
        let error = key(&model(OPENAI, true), None, false, &Objects::default(), &none)
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "spec.model.apiKeySecretRef refers to Secret openai, which is not among the manifests: add its document with -f, or set OPENAI_API_KEY, or name another variable with --model-key-env"
        );
    }

    #[test]
    fn a_missing_key_names_those_that_there_are() {
        let error = key(
            &model(OPENAI, true),
            None,
            false,
            &objects("key: x"),
            &environment,
        )
        .unwrap_err()
        .to_string();
        assert!(
            error.contains("key api-key of Secret openai, which has key: correct the key"),
            "{error}"
        );
    }

    #[test]
    fn a_named_variable_that_is_empty_is_an_error() {
        let empty = |_: &str| Some(String::new());
        let error = key(
            &model(OPENAI, false),
            Some("MINE"),
            false,
            &Objects::default(),
            &empty,
        );
        assert_eq!(
            error.unwrap_err(),
            CredentialError::NoVariable {
                name: "MINE".to_owned()
            }
        );
    }

    #[test]
    fn an_empty_key_is_an_error_where_one_is_needed() {
        let empty = |_: &str| Some(" ".to_owned());
        let none = |_: &str| None;
        let told = |model: &ModelSettings, objects: &Objects, variable: &dyn Fn(&str) -> Option<String>| {
            key(model, None, false, objects, &variable).map_err(|error| error.to_string())
        };
        let refused = told(&model(OPENAI, true), &objects("api-key: \"\\n\""), &none).unwrap_err();
        assert!(
            refused.starts_with(
                "spec.model.apiKeySecretRef: key api-key of Secret openai is empty: put the API key there"
            ),
            "{refused}"
        );
        let refused = told(&model(OPENAI, false), &Objects::default(), &empty).unwrap_err();
        assert!(
            refused.starts_with("the variable OPENAI_API_KEY is set and empty"),
            "{refused}"
        );
        let own_server = model("http://127.0.0.1:8080/v1", false);
        assert_eq!(told(&own_server, &Objects::default(), &empty), Ok(None));
    }

    #[test]
    fn sandbox_variables_come_from_secrets_and_hide_in_debug() {
        let secrets = [SecretVariable {
            name: "TOKEN".to_owned(),
            secret_key_ref: SecretKeyRef {
                name: "openai".to_owned(),
                key: "key".to_owned(),
            },
        }];
        let values = sandbox_variables(&secrets, "default", &objects("key: hunter2")).unwrap();
        assert_eq!(values["TOKEN"].expose(), "hunter2");
        assert!(!format!("{values:?}").contains("hunter2"));
        let error = sandbox_variables(&secrets, "other", &objects("key: x"))
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("spec.sandbox.secrets[0] (TOKEN) refers to Secret openai"),
            "{error}"
        );
    }
}
