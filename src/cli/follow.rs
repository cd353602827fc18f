//! Watches one object until whoever asks has seen enough of it.

use std::future::ready;
use std::pin::pin;

use futures::{Stream, StreamExt as _};
use kube::Resource;
use kube::runtime::{WatchStreamExt as _, watcher};

use super::cluster::Cluster;
use super::command::{CommandError, warning};
use super::progress::ProgressPrinter;
use codegen_api::Namespaced;

/// Change that a watch brings.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change<K> {
    /// The object as it is now.
    Seen(K),
    /// It is gone, or another one has its name.
    Deleted,
    /// The cluster does not answer, in a sentence; once until it answers again.
    CutOff(String),
}

/// Follows what becomes of the object `name`, which was there a moment ago.
pub(super) fn changes<K: Namespaced>(cluster: &Cluster, name: &str) -> impl Stream<Item = Change<K>> {
    read(watcher(cluster.api(), only(name)).default_backoff())
}

/// Follows the object `name` until `seen` makes something of it.
pub(super) async fn until<K: Namespaced, T>(
    cluster: &Cluster,
    name: &str,
    progress: &ProgressPrinter,
    mut seen: impl FnMut(K) -> Option<T>,
) -> Result<T, CommandError> {
    let mut changes = pin!(changes(cluster, name));
    while let Some(change) = changes.next().await {
        match change {
            Change::Seen(object) => {
                if let Some(found) = seen(object) {
                    progress.stop();
                    return Ok(found);
                }
            }
            Change::Deleted => break,
            Change::CutOff(message) => progress.lines(&warning(&message)),
        }
    }
    progress.stop();
    Err(deleted(name))
}

/// Returns the error about an object that is gone.
pub(super) fn deleted(name: &str) -> CommandError {
    CommandError::failed(format!("{name} was deleted before it had ended"))
}

fn only(name: &str) -> watcher::Config {
    watcher::Config::default().fields(&format!("metadata.name={name}"))
}

fn read<K, S>(events: S) -> impl Stream<Item = Change<K>>
where
    K: Resource,
    S: Stream<Item = watcher::Result<watcher::Event<K>>>,
{
    let mut before = Before::default();
    events.filter_map(move |event| ready(before.change(event)))
}

/// State that the watch brought so far.
#[derive(Default)]
struct Before {
    uid: Option<String>,
    /// The list that is being read has the object.
    is_listed: bool,
    is_cut_off: bool,
}

impl Before {
    fn change<K: Resource>(&mut self, event: watcher::Result<watcher::Event<K>>) -> Option<Change<K>> {
        match &event {
            Err(_) if self.is_cut_off => return None,
            Err(_) => self.is_cut_off = true,
            // Before the list is asked for.
            Ok(watcher::Event::Init) => self.is_listed = false,
            Ok(_) => self.is_cut_off = false,
        }
        match event {
            Ok(watcher::Event::Apply(object)) => Some(self.seen(object)),
            Ok(watcher::Event::InitApply(object)) => {
                self.is_listed = true;
                Some(self.seen(object))
            }
            // What goes while there is no watch is missing in the next list, and no event says so.
            Ok(watcher::Event::InitDone) => (!self.is_listed).then_some(Change::Deleted),
            Ok(watcher::Event::Delete(_)) => Some(Change::Deleted),
            Ok(watcher::Event::Init) => None,
            Err(error) => Some(Change::CutOff(format!(
                "the cluster does not answer, trying again: {error}"
            ))),
        }
    }

    fn seen<K: Resource>(&mut self, object: K) -> Change<K> {
        let uid = object.meta().uid.clone();
        if self.uid.is_some() && self.uid != uid {
            return Change::Deleted;
        }
        self.uid = uid;
        Change::Seen(object)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::convert::Infallible;
    use std::pin::pin;
    use std::sync::{Arc, Mutex};

    use http::{Request, Response};
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::client::Body;
    use kube::{Api, Client};
    use serde_json::{Value, json};

    use super::*;

    /// Collects what is seen of the object `a` where the API server gives these answers, one after the other.
    async fn seen(answers: impl IntoIterator<Item = Value>) -> Vec<String> {
        let answers: VecDeque<Vec<u8>> = answers
            .into_iter()
            .map(|answer| format!("{answer}\n").into_bytes())
            .collect();
        let answers = Arc::new(Mutex::new(answers));
        let service = tower::service_fn(move |_: Request<Body>| {
            let answer = answers.lock().unwrap().pop_front().expect("a request too many");
            async { Ok::<_, Infallible>(Response::new(Body::from(answer))) }
        });
        let api: Api<ConfigMap> = Api::namespaced(Client::new(service, "data"), "data");
        let mut changes = pin!(read(watcher(api, only("a"))));
        let mut seen = Vec::new();
        loop {
            match changes.next().await.unwrap() {
                Change::Seen(map) => seen.push(map.metadata.uid.unwrap()),
                Change::CutOff(_) => seen.push("cut off".to_owned()),
                Change::Deleted => {
                    seen.push("deleted".to_owned());
                    return seen;
                }
            }
        }
    }

    fn object(uid: &str) -> Value {
        json!({"metadata": {"name": "a", "uid": uid, "resourceVersion": "2"}})
    }

    fn list(items: &[Value]) -> Value {
        json!({"metadata": {"resourceVersion": "1"}, "items": items})
    }

    fn event(kind: &str, object: &Value) -> Value {
        json!({"type": kind, "object": object})
    }

    /// A watch that comes back after the API server has forgotten where it was.
    fn expired() -> Value {
        let status = json!({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"});
        event("ERROR", &status)
    }

    #[tokio::test]
    async fn an_object_that_is_deleted_under_the_watch_is_gone() {
        let one = object("1");
        let answers = [
            list(std::slice::from_ref(&one)),
            event("MODIFIED", &one),
            event("DELETED", &one),
        ];
        assert_eq!(seen(answers).await, ["1", "1", "deleted"]);
    }

    #[tokio::test]
    async fn an_object_that_is_deleted_while_the_watch_is_down_is_gone() {
        let answers = [list(&[object("1")]), expired(), list(&[])];
        assert_eq!(seen(answers).await, ["1", "cut off", "deleted"]);
    }

    #[tokio::test]
    async fn an_object_that_is_gone_before_the_first_list_is_not_waited_for() {
        assert_eq!(seen([list(&[])]).await, ["deleted"]);
    }

    #[tokio::test]
    async fn an_object_that_is_listed_again_is_followed_further() {
        let one = [object("1")];
        let answers = [list(&one), expired(), list(&one), event("DELETED", &one[0])];
        assert_eq!(seen(answers).await, ["1", "cut off", "1", "deleted"]);
    }

    #[tokio::test]
    async fn another_object_of_the_name_is_not_the_one_that_was_followed() {
        let answers = [list(&[object("1")]), expired(), list(&[object("2")])];
        assert_eq!(seen(answers).await, ["1", "cut off", "deleted"]);
    }

    #[tokio::test]
    async fn a_cluster_that_does_not_answer_is_complained_of_once_until_it_does() {
        let one = [object("1")];
        let answers = [
            list(&one),
            expired(),
            json!("no list"),
            json!("no list"),
            list(&one),
            expired(),
            list(&[]),
        ];
        assert_eq!(seen(answers).await, ["1", "cut off", "1", "cut off", "deleted"]);
    }
}
