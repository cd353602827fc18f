//! Files in Secrets: packed into as few as they need, and where each lies then.

use std::borrow::Cow;
use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::ObjectMeta;

use crate::controller::record::own;
use codegen_ledger::StoreError;
use codegen_sandbox::kubernetes::names::{self, Component};
use codegen_sandbox::kubernetes::{MountedFile, MountedInput, Owner};

/// Type of the Secrets that hold a snapshot.
pub const SNAPSHOT_TYPE: &str = "codegen-operator.dev/snapshot";
/// Most bytes in one Secret.
// Its base64 and metadata fit below what etcd takes; the first one has the description of all as well.
pub const LARGEST_PART: usize = 900 * 1024;

/// A file that was read from its source.
pub struct SourceFile {
    /// Path below its folder; empty for an input that is a file.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Place of the content of a sample or an input.
pub enum Contents {
    /// Here: one file, or those of a folder.
    Here(Vec<SourceFile>),
    /// On a claim, where it stays.
    OnClaim {
        /// Name of the `PersistentVolumeClaim`.
        claim: String,
        /// File or folder on it, relative.
        path: String,
    },
}

impl Contents {
    /// The files that are here.
    #[must_use]
    pub fn files(&self) -> &[SourceFile] {
        match self {
            Self::Here(files) => files,
            Self::OnClaim { .. } => &[],
        }
    }

    /// The files that are here.
    #[must_use]
    pub fn into_files(self) -> Vec<SourceFile> {
        match self {
            Self::Here(files) => files,
            Self::OnClaim { .. } => Vec::new(),
        }
    }
}

fn secret(
    owner: &Owner,
    component: Component,
    type_: &str,
    first: &str,
    number: usize,
    data: BTreeMap<String, ByteString>,
) -> Secret {
    let mut labels = owner.labels(component);
    labels.insert(names::PART_OF.to_owned(), first.to_owned());
    Secret {
        metadata: ObjectMeta {
            name: Some(part_name(first, number)),
            namespace: Some(owner.namespace.clone()),
            labels: Some(labels),
            owner_references: Some(vec![owner.reference.clone()]),
            ..ObjectMeta::default()
        },
        type_: Some(type_.to_owned()),
        // The kubelet need not watch it, and what was compared once stays as it was.
        immutable: Some(true),
        data: Some(data),
        ..Secret::default()
    }
}

/// Contents packed into as few Secrets as they need, in order.
pub struct Parts<'a> {
    name: Cow<'a, str>,
    type_: &'static str,
    secrets: Vec<BTreeMap<String, ByteString>>,
    room: usize,
    files: usize,
}

impl<'a> Parts<'a> {
    /// Nothing yet; the first Secret is `name`.
    #[must_use]
    pub fn new(name: &'a str) -> Self {
        Self::of_type(name, SNAPSHOT_TYPE)
    }

    /// Nothing yet; the first Secret has this name.
    #[must_use]
    pub fn named(name: String) -> Parts<'static> {
        Parts {
            name: Cow::Owned(name),
            type_: SNAPSHOT_TYPE,
            secrets: vec![BTreeMap::new()],
            room: LARGEST_PART,
            files: 0,
        }
    }

    /// Nothing yet; the first Secret is `name`, and all are of this type.
    #[must_use]
    pub fn of_type(name: &'a str, type_: &'static str) -> Self {
        Self {
            name: Cow::Borrowed(name),
            type_,
            secrets: vec![BTreeMap::new()],
            room: LARGEST_PART,
            files: 0,
        }
    }

    /// Takes samples and inputs; says where each lies then.
    pub fn add_all(
        &mut self,
        contents: impl IntoIterator<Item = (String, Contents)>,
    ) -> BTreeMap<String, MountedInput> {
        let mut place = |contents| match contents {
            Contents::Here(files) => {
                let files = files.into_iter();
                MountedInput::Secrets(files.map(|file| self.add(file.path, file.bytes)).collect())
            }
            Contents::OnClaim { claim, path } => MountedInput::Claim { claim, path },
        };
        let contents = contents.into_iter();
        contents.map(|(name, contents)| (name, place(contents))).collect()
    }

    /// Puts a description of all into the first Secret.
    pub fn describe(&mut self, key: &str, description: Vec<u8>) {
        if let Some(first) = self.secrets.first_mut() {
            first.insert(key.to_owned(), ByteString(description));
        }
    }

    /// Reports whether there is nothing to write.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.files == 0
    }

    /// Writes the Secrets, or takes those that are there. The first one last: where it is, all are.
    pub async fn create(
        self,
        client: &Client,
        owner: &Owner,
        component: Component,
    ) -> Result<(), StoreError> {
        for (number, data) in self.secrets.into_iter().enumerate().rev() {
            let secret = secret(owner, component, self.type_, &self.name, number, data);
            own::create(client, &secret, own::is_as_wanted).await?;
        }
        Ok(())
    }

    /// Takes one file, and says where it lies then. `path` is that below its folder.
    pub fn add(&mut self, path: String, bytes: Vec<u8>) -> MountedFile {
        if bytes.len() > self.room {
            self.secrets.push(BTreeMap::new());
            self.room = LARGEST_PART;
        }
        // An output of a run may be larger than a part; it then has a Secret of its own.
        self.room = self.room.saturating_sub(bytes.len());
        self.files += 1;
        let key = format!("file.{}", self.files);
        if let Some(last) = self.secrets.last_mut() {
            last.insert(key.clone(), ByteString(bytes));
        }
        MountedFile {
            path,
            secret: part_name(&self.name, self.secrets.len() - 1),
            key,
        }
    }
}

/// Names of all parts but the first end in their number.
pub fn part_name(name: &str, number: usize) -> String {
    if number == 0 {
        name.to_owned()
    } else {
        format!("{name}-{number}")
    }
}

/// A Secret that could not be read or written.
#[must_use]
pub fn remote(action: &str, namespace: &str, name: &str, error: kube::Error) -> StoreError {
    StoreError::Remote {
        action: format!("{action} the Secret {namespace}/{name}"),
        source: Box::new(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_that_do_not_fit_one_secret_go_to_the_next() {
        let mut parts = Parts::new("a");
        let first = parts.add(String::new(), vec![0; 500 * 1024]);
        let second = parts.add("x/y".to_owned(), vec![0; 500 * 1024]);
        assert_eq!((first.secret.as_str(), first.key.as_str()), ("a", "file.1"));
        assert_eq!((second.secret.as_str(), second.key.as_str()), ("a-1", "file.2"));
        assert_eq!(second.path, "x/y");
    }
}
