//! What a watch saw from the beginning of a test on.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use futures::StreamExt as _;
use k8s_openapi::NamespaceResourceScope;
use kube::ResourceExt as _;
use kube::api::Api;
use kube::runtime::watcher::{self, Event, watcher};
use serde::de::DeserializeOwned;
use tokio::task::JoinHandle;

use crate::space::Space;

/// Every object of a kind that was there, by name, with its uids: more than one means that it was made anew.
pub struct Seen {
    uids: Arc<Mutex<BTreeMap<String, BTreeSet<String>>>>,
    watch: JoinHandle<()>,
}

impl Seen {
    /// Watches objects with these labels from now on.
    pub fn watch<K>(space: &Space, labels: &str) -> Self
    where
        K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()>
            + Clone
            + Debug
            + DeserializeOwned
            + Send
            + 'static,
    {
        let uids: Arc<Mutex<BTreeMap<String, BTreeSet<String>>>> = Arc::default();
        let found = Arc::clone(&uids);
        let api: Api<K> = space.api();
        let config = watcher::Config::default().labels(labels);
        let watch = tokio::spawn(async move {
            let mut events = std::pin::pin!(watcher(api, config));
            while let Some(event) = events.next().await {
                if let Ok(Event::Apply(object) | Event::InitApply(object)) = event {
                    let mut found = found.lock().unwrap();
                    found
                        .entry(object.name_any())
                        .or_default()
                        .insert(object.uid().unwrap());
                }
            }
        });
        Self { uids, watch }
    }

    /// Names, and how many objects had each.
    pub fn end(self) -> BTreeMap<String, usize> {
        self.watch.abort();
        let uids = self.uids.lock().unwrap();
        uids.iter()
            .map(|(name, uids)| (name.clone(), uids.len()))
            .collect()
    }
}
