//! Key of a run: all that decides its outputs.

use serde::Serialize;

use super::resolve::{ResolvedInput, ResolvedRun, ResolvedValue};
use crate::digest::sha256_hex;
use crate::mounts::mount_name;
use crate::sandbox::NetworkAccess;
use codegen_api::run::Validation;
use codegen_api::sandbox::SecretVariable;
use codegen_api::values::Output;

/// Raised when runs are made or judged otherwise, so that older outputs are not taken for new ones.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Key<'a> {
    version: u32,
    engine: &'static str,
    program: &'a str,
    environment: &'a str,
    inputs: Vec<Value<'a>>,
    outputs: &'a [Output],
    env: &'a std::collections::BTreeMap<String, String>,
    secrets: &'a [SecretVariable],
    network: &'a NetworkAccess,
    validation: Option<Validation>,
}

/// An option as the program meets it: where it came from does not matter.
#[derive(Serialize)]
struct Value<'a> {
    name: &'a str,
    text: Option<&'a str>,
    file_name: Option<String>,
    sha256: Option<&'a str>,
}

impl<'a> From<&'a ResolvedInput> for Value<'a> {
    fn from(input: &'a ResolvedInput) -> Self {
        let file = input.file();
        Self {
            name: &input.name,
            text: match &input.value {
                ResolvedValue::Text(text) => Some(text),
                ResolvedValue::File(_) => None,
            },
            // Libraries go by the ending, so it is part of what the program meets.
            file_name: file.map(mount_name),
            sha256: file.map(|file| file.sha256.as_str()),
        }
    }
}

impl ResolvedRun {
    /// SHA-256, hex, over what decides the outputs: the program by its digest, the environment (an image by digest, locally
    /// its id), the inputs by content, what the sandbox lets the program see, and what its data must keep. Limits and places
    /// do not count, nor do the values of Secrets: after one was changed, a run says `cache: Override`.
    #[must_use]
    pub fn key(&self, program_sha256: &str, environment: &str) -> String {
        let key = Key {
            version: VERSION,
            engine: env!("CARGO_PKG_VERSION"),
            program: program_sha256,
            environment,
            inputs: self.inputs.iter().map(Value::from).collect(),
            outputs: &self.outputs,
            env: &self.sandbox.env,
            secrets: &self.sandbox.secrets,
            network: &self.sandbox.network,
            validation: self.validation,
        };
        sha256_hex(serde_json::json!(key).to_string().as_bytes())
    }
}
