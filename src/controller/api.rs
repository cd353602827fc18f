//! Requests to the API server that every kind needs.

use std::fmt::Debug;

use k8s_openapi::NamespaceResourceScope;
use kube::api::{DeleteParams, PostParams, Preconditions};
use kube::runtime::reflector::ObjectRef;
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ledger::StoreError;

/// The objects of a namespace, or of all.
pub fn namespaced<K>(client: &Client, namespace: Option<&str>) -> Api<K>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
{
    match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}

/// The object as the API server has it, which in memory may be trimmed. `None` where it is there no more.
pub async fn whole<K>(client: &Client, object: &K) -> Result<Option<K>, StoreError>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let found = of(client, object).get_opt(&object.name_any()).await;
    let found = found.map_err(|error| StoreError::Remote {
        action: format!("read {}", called(object)),
        source: Box::new(error),
    })?;
    // An object that was created under the same name since is another one.
    Ok(found.filter(|found| found.uid() == object.uid()))
}

/// Writes the status of an object over the version that it was read at; gives the object as it is then.
pub async fn replace_status<K>(client: &Client, object: &K) -> Result<K, StoreError>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + DeserializeOwned + Serialize,
{
    let how = PostParams::default();
    let written = of(client, object)
        .replace_status(&object.name_any(), &how, object)
        .await;
    written.map_err(|error| match error {
        // A 404 means deleted in between. Callers treat it like a conflict: the watch brings what follows.
        kube::Error::Api(status) if status.is_conflict() || status.is_not_found() => StoreError::Conflict {
            object: called(object),
        },
        error => StoreError::Remote {
            action: format!("write the status of {}", called(object)),
            source: Box::new(error),
        },
    })
}

/// Deletes an object whose time has come. It may be gone already, and another one of its name stays.
pub async fn delete<K>(client: &Client, object: &K) -> Result<(), StoreError>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
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
fn of<K>(client: &Client, object: &K) -> Api<K>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
{
    Api::namespaced(client.clone(), &object.namespace().unwrap_or_default())
}

/// `CodeGenTask team-a/words`.
fn called<K: Resource<DynamicType = ()>>(object: &K) -> String {
    let namespace = object.namespace().unwrap_or_default();
    format!("{} {namespace}/{}", K::kind(&()), object.name_any())
}
