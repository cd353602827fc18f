//! Requests to the API server that every kind needs.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};
use kube::api::{DeleteParams, PostParams, Preconditions};
use kube::runtime::reflector::ObjectRef;
use kube::{Api, Client, Resource, ResourceExt};

use codegen_api::Namespaced;
use codegen_ledger::StoreError;

/// Time within which a status is read again after a write that met an error.
const READ_AGAIN_WITHIN: Duration = Duration::from_secs(5);

/// The objects of a namespace, or of all.
pub fn namespaced<K: Namespaced>(client: &Client, namespace: Option<&str>) -> Api<K> {
    match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}

/// The object as the API server has it, which in memory may be trimmed. `None` where it is there no more.
pub async fn whole<K: Namespaced>(client: &Client, object: &K) -> Result<Option<K>, StoreError> {
    let found = of(client, object).get_opt(&object.name_any()).await;
    let found = found.map_err(|error| StoreError::Remote {
        action: format!("read {}", called(object)),
        source: Box::new(error),
    })?;
    // An object that was created under the same name since is another one.
    Ok(found.filter(|found| found.uid() == object.uid()))
}

/// Writes the status of an object over the version that it was read at; gives the object as it is then.
pub async fn replace_status<K: Namespaced>(client: &Client, object: &K) -> Result<K, StoreError> {
    let how = PostParams::default();
    let written = of(client, object)
        .replace_status(&object.name_any(), &how, object)
        .await;
    let error = match written {
        Ok(written) => return Ok(written),
        Err(error) => error,
    };
    match &error {
        // A 404 means deleted in between. Callers treat it like a conflict: the watch brings what follows.
        kube::Error::Api(status) if status.is_conflict() || status.is_not_found() => {
            return Err(StoreError::Conflict {
                object: called(object),
            });
        }
        kube::Error::Api(status) if status.code < 500 => {}
        // The write may have been done, and its reply lost.
        _ => {
            if let Some(found) = read_again(client, object).await {
                return Ok(found);
            }
        }
    }
    Err(StoreError::Remote {
        action: format!("write the status of {}", called(object)),
        source: Box::new(error),
    })
}

/// Reads the object again. `None` where its status is not the one that was sent, or cannot be read.
async fn read_again<K: Namespaced>(client: &Client, object: &K) -> Option<K> {
    let (api, name) = (of(client, object), object.name_any());
    let read = || api.get_opt(&name);
    let pauses = ExponentialBuilder::default().with_min_delay(Duration::from_millis(100));
    let found = tokio::time::timeout(READ_AGAIN_WITHIN, read.retry(pauses)).await;
    let found: K = found.ok()?.ok()??;
    let status = |object: &K| Some(serde_json::to_value(object).ok()?.get("status")?.clone());
    (found.uid() == object.uid() && status(&found) == status(object)).then_some(found)
}

/// Deletes an object whose time has come. It may be gone already, and another one of its name stays.
pub async fn delete<K: Namespaced>(client: &Client, object: &K) -> Result<(), StoreError> {
    // Children are removed by garbage collection, for which nobody here has to wait.
    let how = DeleteParams::background().preconditions(Preconditions {
        uid: object.uid(),
        resource_version: None,
    });
    match of(client, object).delete(&object.name_any(), &how).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Ok(()),
        Err(error) => Err(StoreError::Remote {
            action: format!("delete {}, which is kept no longer", called(object)),
            source: Box::new(error),
        }),
    }
}

/// The objects of a kind that own a child.
pub fn owners<K: Resource<DynamicType = ()>>(child: &impl ResourceExt) -> Vec<ObjectRef<K>> {
    let namespace = child.namespace().unwrap_or_default();
    let owners = child.owner_references().iter();
    owners
        .filter(|owner| owner.kind == K::kind(&()))
        .map(|owner| ObjectRef::new(&owner.name).within(&namespace))
        .collect()
}

/// The objects of the kind and the namespace of this one.
fn of<K: Namespaced>(client: &Client, object: &K) -> Api<K> {
    Api::namespaced(client.clone(), &object.namespace().unwrap_or_default())
}

/// `CodeGenTask team-a/words`.
fn called<K: Resource<DynamicType = ()>>(object: &K) -> String {
    let namespace = object.namespace().unwrap_or_default();
    format!("{} {namespace}/{}", K::kind(&()), object.name_any())
}
