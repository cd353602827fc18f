//! State and documents of a task or question in its store.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{EngineError, damaged};
use codegen_core::progress::Document;
use codegen_ledger::{Created, Store};

/// Stores a document under a name that is written once; what is there already counts.
pub(super) async fn put<S: Store>(store: &S, name: String, bytes: &[u8]) -> Result<Document, EngineError> {
    Ok(match store.create(&name, bytes).await? {
        Created::New => Document::of(name, bytes),
        Created::Existed(existed) => Document::of(name, &existed),
    })
}

/// Stores a value as JSON.
pub(super) async fn put_json<S: Store>(
    store: &S,
    name: String,
    value: &(impl Serialize + Sync),
) -> Result<Document, EngineError> {
    let bytes = to_bytes(&name, value)?;
    put(store, name, &bytes).await
}

/// Reads a document that must be there.
pub(super) async fn get<S: Store>(store: &S, document: &Document) -> Result<Vec<u8>, EngineError> {
    let bytes = store.read(&document.name).await?;
    let bytes = bytes.ok_or_else(|| damaged(&document.name, "it is gone"))?;
    match document.differs(&bytes) {
        Some(why) => Err(damaged(&document.name, why)),
        None => Ok(bytes),
    }
}

/// Reads the value of a document that must be there.
pub(super) async fn get_json<S: Store, D: DeserializeOwned>(
    store: &S,
    document: &Document,
) -> Result<D, EngineError> {
    from_bytes(&document.name, &get(store, document).await?)
}

/// A value as JSON.
pub(super) fn to_bytes(name: &str, value: &impl Serialize) -> Result<Vec<u8>, EngineError> {
    serde_json::to_vec(value).map_err(|error| damaged(name, &error.to_string()))
}

/// The value that `name` holds.
pub(super) fn from_bytes<D: DeserializeOwned>(name: &str, bytes: &[u8]) -> Result<D, EngineError> {
    serde_json::from_slice(bytes).map_err(|error| damaged(name, &error.to_string()))
}
