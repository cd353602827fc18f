//! Reasons for which a source cannot be had.

use std::io;

use thiserror::Error;

use super::objects::ObjectData;
use codegen_api::common::ConfigMapKeyRef;

/// A source that cannot be had. Of category configuration: the message says what to change.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum SourceError {
    /// No such ConfigMap among the documents.
    #[error(
        "{field} refers to ConfigMap {name}, which is not among the manifests{renamed}: add its document with -f (or its kustomization with -k), or give the file with {option}"
    )]
    NoConfigMap {
        /// The field.
        field: String,
        /// The ConfigMap.
        name: String,
        /// Name that kustomize made of this one, in brackets, or nothing.
        renamed: String,
        /// The option that gives the file instead.
        option: String,
    },
    /// The ConfigMap has no such key.
    #[error("{field} refers to key {key} of ConfigMap {name}, which has {}: correct the key{}", keys_text(.present), or_give(option.as_ref()))]
    NoKey {
        /// The field.
        field: String,
        /// The ConfigMap.
        name: String,
        /// The key.
        key: String,
        /// The keys that it has.
        present: Vec<String>,
        /// The option that gives the file instead, where there is one.
        option: Option<String>,
    },
    /// A claim that no folder stands for.
    #[error(
        "{field} lies on PersistentVolumeClaim {claim}, which a local run cannot mount: give the file with {option}, or a folder for the claim with --claim {claim}=FOLDER"
    )]
    NoClaim {
        /// The field.
        field: String,
        /// The claim.
        claim: String,
        /// The option that gives the file instead.
        option: String,
    },
    /// A path that leaves its claim.
    #[error(
        "{field} has the path {path}, which leaves the claim: write a path without .. and without a leading slash"
    )]
    OutsideClaim {
        /// The field.
        field: String,
        /// The path.
        path: String,
    },
    /// An option for a name that the task does not have.
    #[error("{option}: the task has no {what} of that name; it has {}", keys_text(.present))]
    Unknown {
        /// The option.
        option: String,
        /// `sample`, or `File or Dir input`.
        what: &'static str,
        /// The names that it has.
        present: Vec<String>,
    },
    /// A folder for a claim that no task reads.
    #[error("--claim {name}=...: no task reads a PersistentVolumeClaim of that name; they read {}", keys_text(.present))]
    UnknownClaim {
        /// The name.
        name: String,
        /// The claims that the tasks read.
        present: Vec<String>,
    },
    /// Two files that the program would see under one name.
    #[error("{first} and {second} have the same file name {file_name}: give one of them another fileName")]
    SameFileName {
        /// One.
        first: String,
        /// The other.
        second: String,
        /// The name.
        file_name: String,
    },
    /// A sample without a source.
    #[error(
        "{field} has no source: write one of inline, configMapKeyRef, url with sha256 and persistentVolumeClaim, or give the file with {option}"
    )]
    NoSource {
        /// The field.
        field: String,
        /// The option that gives the file.
        option: String,
    },
}

/// Returns the remedy for a file or folder of this machine that cannot be read.
#[must_use]
pub fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "let your user read it (chmod u+r), and enter the folders above it"
        }
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => "correct the path",
        _ => "try again, or give a copy of it",
    }
}

/// The text of a ConfigMap's key, or what is wrong with the reference to it at `field`.
pub fn text_of_key(keys: &ObjectData, field: &str, reference: &ConfigMapKeyRef) -> Result<String, String> {
    let ConfigMapKeyRef { name, key } = reference;
    let wrong = |why: String| format!("{field} refers to the key {key} of the ConfigMap {name}, which {why}");
    let Some(bytes) = keys.0.get(key) else {
        let present: Vec<String> = keys.0.keys().cloned().collect();
        return Err(wrong(format!("has {}: correct the key", keys_text(&present))));
    };
    String::from_utf8(bytes.clone()).map_err(|_| wrong("is not UTF-8 text: save it as text".to_owned()))
}

/// Keys joined for a message, `none` without any.
#[must_use]
pub fn keys_text(keys: &[String]) -> String {
    match keys {
        [] => "none".to_owned(),
        keys => keys.join(", "),
    }
}

fn or_give(option: Option<&String>) -> String {
    option.map_or_else(String::new, |option| format!(", or give the file with {option}"))
}
