//! The objects of one namespace, or of all.

use k8s_openapi::NamespaceResourceScope;
use kube::{Api, Client, Resource};

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
