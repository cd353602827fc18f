//! The operator's keys for environments, in its own namespace: a Secret with one that the first operator makes and none ever changes, and one
//! that people write, where keys are to be changed or shared.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use tokio::sync::Mutex;

use super::objects::NamespaceObjects;
use crate::SandboxError;
use crate::kubernetes::names::{COMPONENT, MANAGED_BY, OPERATOR};
use codegen_registry::SigningKeys;

/// Type of the Secret.
const TYPE: &str = "codegen-operator.dev/signing-keys";
/// End of the name of the Secret that an operator makes.
// The admission policy lets the operator write only what has a name that ends so, in ten hexadecimal digits.
const OWN: &str = "0000000001";
/// Name of the key in it: before all that people add.
const FIRST: &str = "0.pem";
/// After this time the Secret is read again: somebody may have added a key.
const KEYS_CACHED_FOR: Duration = Duration::from_mins(1);

/// PEM by name.
type Entries = BTreeMap<String, Vec<u8>>;

/// Location of the keys.
pub struct Signing {
    secret: Option<(Client, String, String)>,
    cached: Mutex<Option<(Instant, Arc<SigningKeys>)>>,
}

impl Signing {
    /// Those in the Secret of this name in the operator's namespace, and in that which the operator makes.
    #[must_use]
    pub fn in_secret(client: Client, namespace: &str, name: &str) -> Self {
        Self {
            secret: Some((client, namespace.to_owned(), name.to_owned())),
            cached: Mutex::default(),
        }
    }

    /// A key that nobody else ever has: its signatures are valid as long as this lives.
    #[must_use]
    pub fn of_ones_own() -> Self {
        Self {
            secret: None,
            cached: Mutex::default(),
        }
    }

    /// The keys.
    pub(super) async fn keys(&self) -> Result<Arc<SigningKeys>, SandboxError> {
        // Held until the keys are read: passes that come at once ask the API server once.
        let mut cached = self.cached.lock().await;
        if let Some((since, keys)) = cached.as_ref()
            && (self.secret.is_none() || since.elapsed() < KEYS_CACHED_FOR)
        {
            return Ok(Arc::clone(keys));
        }
        let (object, entries) = match &self.secret {
            Some((client, namespace, name)) => {
                let entries = read_or_create(client, namespace, name).await?;
                (format!("Secret {namespace}/{name}"), entries)
            }
            None => ("its own key".to_owned(), first()?),
        };
        let keys = SigningKeys::of_entries(&entries).map_err(|error| SandboxError::Refused {
            object,
            reason: error.to_string(),
            remedy: "correct it: what its keys signed is built anew where they are gone".to_owned(),
        })?;
        let keys = Arc::new(keys);
        *cached = Some((Instant::now(), Arc::clone(&keys)));
        Ok(keys)
    }
}

async fn read_or_create(client: &Client, namespace: &str, name: &str) -> Result<Entries, SandboxError> {
    let objects = NamespaceObjects::new(client.clone(), namespace);
    let own = format!("{name}-{OWN}");
    let of_people = objects.secret(name).await?.unwrap_or_default();
    let mut entries = objects.secret(&own).await?.unwrap_or_default();
    if entries.is_empty() && of_people.is_empty() {
        // Another operator may be faster: what is there then is what counts.
        objects.create(&secret(&own, first()?)).await?;
        let lost = || SandboxError::Lost {
            child: format!("Secret {namespace}/{own}"),
            reason: "it was deleted as soon as it was made".to_owned(),
        };
        entries = objects.secret(&own).await?.ok_or_else(lost)?;
    }
    // Theirs replace the operator's own by name, so that a key can be withdrawn by giving its public half.
    entries.extend(of_people);
    Ok(entries)
}

fn first() -> Result<Entries, SandboxError> {
    let pem = SigningKeys::generate().map_err(|error| SandboxError::Refused {
        object: "operator".to_owned(),
        reason: error.to_string(),
        remedy: "start it on a node that has /dev/urandom".to_owned(),
    })?;
    Ok(Entries::from([(FIRST.to_owned(), pem.into_bytes())]))
}

/// Not owned by anything: it outlives the installation, like the images.
fn secret(name: &str, entries: Entries) -> Secret {
    let entries = entries.into_iter().map(|(name, pem)| (name, ByteString(pem)));
    let labels = [(MANAGED_BY, OPERATOR), (COMPONENT, "signing")];
    Secret {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(
                labels
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .into(),
            ),
            ..ObjectMeta::default()
        },
        type_: Some(TYPE.to_owned()),
        data: Some(entries.collect()),
        immutable: Some(true),
        ..Secret::default()
    }
}
