//! Documents of one object, each in a Secret of its own.
//!
//! Secrets, because a document may hold rows of data, which the stock `view` role must not show. They are immutable and
//! belong to the object. What is longer than one Secret may be is cut into several; the first is written last.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};

use crate::controller::record::documents::RevisionDocuments;
use crate::controller::record::pack::pack;
use crate::controller::record::parts::LARGEST_PART;
use crate::controller::record::records::{CONTINUED_IN, PACKED, PLAIN, RECORD_TYPE, Records};
use codegen_core::digest::sha256_hex;
use codegen_ledger::{Created, StoreError};
use codegen_sandbox::kubernetes::Owner;

/// Annotation with the name that the engine knows a document by.
const DOCUMENT: &str = "codegen-operator.dev/document";
/// Longer documents are packed.
const PACKED_FROM: usize = 64 * 1024;

/// The documents of one object.
pub struct SecretDocuments<'a> {
    /// Speaks to the API server.
    pub client: Client,
    /// Owner of the documents.
    pub owner: &'a Owner,
    /// Labels of their Secrets.
    pub labels: BTreeMap<String, String>,
    /// Those in memory.
    pub cached: Arc<RevisionDocuments>,
}

impl SecretDocuments<'_> {
    /// A document: from memory, else from its Secrets.
    pub async fn read(&self, document: &str) -> Result<Option<Vec<u8>>, StoreError> {
        match self.cached.get(document) {
            Some(found) => Ok(Some(found)),
            None => self.records().read(document).await,
        }
    }

    /// Writes a document; what stands there already counts.
    pub async fn create(&self, document: &str, bytes: &[u8]) -> Result<Created, StoreError> {
        let name = self.records().first_name(document);
        let (key, stored) = stored(bytes);
        let mut parts = stored.chunks(LARGEST_PART);
        let first = parts.next().unwrap_or_default();
        let further: Vec<(String, &[u8])> = parts
            // A part that an earlier try has left is found by its digest, and is the same.
            .map(|part| (format!("{name}-{}", &sha256_hex(part)[..10]), part))
            .collect();
        for (name, part) in &further {
            self.create_secret(&self.secret(name.clone(), document, key, part, &[]))
                .await?;
        }
        // The Secret that names the parts is the last one: where it is, all of them are.
        let names: Vec<String> = further.into_iter().map(|(name, _)| name).collect();
        if self
            .create_secret(&self.secret(name, document, key, first, &names))
            .await?
        {
            self.cached.put(document, bytes);
            return Ok(Created::New);
        }
        // An earlier try was faster, and what is recorded counts.
        self.cached.set_all(false);
        let found = self.records().fetch(document).await?;
        let found = found.ok_or_else(|| StoreError::Damaged {
            name: document.to_owned(),
            detail: "it was deleted while it was written".to_owned(),
        })?;
        self.cached.put(document, &found);
        Ok(Created::Existed(found))
    }

    fn records(&self) -> Records<'_> {
        Records {
            client: &self.client,
            namespace: &self.owner.namespace,
            task: &self.owner.name,
            uid: &self.owner.uid,
            run: &self.owner.run,
        }
    }

    fn secret(&self, name: String, document: &str, key: &str, part: &[u8], further: &[String]) -> Secret {
        let mut annotations = BTreeMap::from([(DOCUMENT.to_owned(), document.to_owned())]);
        if !further.is_empty() {
            annotations.insert(CONTINUED_IN.to_owned(), further.join(","));
        }
        Secret {
            metadata: ObjectMeta {
                name: Some(name),
                namespace: Some(self.owner.namespace.clone()),
                labels: Some(self.labels.clone()),
                annotations: Some(annotations),
                owner_references: Some(vec![self.owner.reference.clone()]),
                ..ObjectMeta::default()
            },
            type_: Some(RECORD_TYPE.to_owned()),
            immutable: Some(true),
            data: Some(BTreeMap::from([(key.to_owned(), ByteString(part.to_vec()))])),
            ..Secret::default()
        }
    }

    async fn create_secret(&self, secret: &Secret) -> Result<bool, StoreError> {
        let namespace = &self.owner.namespace;
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        match secrets.create(&PostParams::default(), secret).await {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(false),
            Err(error) => {
                let name = secret.metadata.name.as_deref().unwrap_or_default();
                Err(StoreError::Remote {
                    action: format!("create the Secret {namespace}/{name}"),
                    source: Box::new(error),
                })
            }
        }
    }
}

/// The bytes as they are stored, and under which key.
fn stored(bytes: &[u8]) -> (&'static str, Vec<u8>) {
    if bytes.len() <= PACKED_FROM {
        return (PLAIN, bytes.to_vec());
    }
    (PACKED, pack(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::record::pack::{LARGEST_DOCUMENT, unpacked};

    #[test]
    fn a_long_document_is_packed_and_comes_back_as_it_was() {
        let long = b"row after row\n".repeat(20_000);
        let (key, packed) = stored(&long);
        assert_eq!(key, PACKED);
        assert!(packed.len() < long.len() / 10);
        assert_eq!(unpacked(&packed, LARGEST_DOCUMENT).unwrap(), long);
        assert_eq!(stored(b"short"), (PLAIN, b"short".to_vec()));
    }
}
