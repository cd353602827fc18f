//! Bounds of the answers that commands take from an API server: an end, the size of objects, and the time of requests.

use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::{Request, Response, Uri};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use kube::Client;
use kube::client::Body;
use memchr::memrchr;
use thiserror::Error;
use tokio::time::{Instant, timeout, timeout_at};

const MIB: usize = 1024 * 1024;

/// Most of an answer, and longest time that it may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Bytes of an answer; of a watch, of one event.
    pub bytes: usize,
    /// Until the end of an answer; of a watch, until its beginning.
    pub time: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            // etcd takes no object beyond 1.5 MiB, which are more in JSON.
            bytes: 8 * MIB,
            // The API server gives up after a minute by default.
            time: Duration::from_secs(90),
        }
    }
}

/// An answer that is not read to its end.
#[derive(Debug, Error)]
enum Unanswered {
    #[error(
        "the answer to {request} is longer than any object, {} MiB: see whether the kubeconfig names the right cluster, and what stands between",
        .bytes / MIB
    )]
    TooLong { request: String, bytes: usize },
    #[error(
        "{request} was not answered within {} s: try again, and see whether the API server is well (kubectl get --raw /readyz)",
        .time.as_secs()
    )]
    TooLate { request: String, time: Duration },
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A client that speaks through `client` and takes no more than the bounds allow.
pub(super) fn bounded(client: Client, bounds: Bounds) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = tower::service_fn(move |request| answer(client.clone(), request, bounds));
    Client::new(service, namespace)
}

async fn answer(
    client: Client,
    request: Request<Body>,
    bounds: Bounds,
) -> Result<Response<impl http_body::Body<Data = Bytes, Error = BoxError> + Send>, BoxError> {
    let reading = Reading {
        is_watch: is_watch(request.uri()),
        request: format!("{} {}", request.method(), request.uri().path()),
        until: Instant::now() + bounds.time,
        bounds,
        held: 0,
    };
    let answer = timeout(bounds.time, client.send(request)).await;
    let answer = answer.map_err(|_| reading.too_late())??;
    let (parts, body) = answer.into_parts();
    let frames = stream::try_unfold(
        (reading, body.into_data_stream()),
        |(mut reading, mut body)| async move {
            // A watch has no end and may be silent for long: only its beginning has a limit of time.
            let next = if reading.is_watch {
                body.next().await
            } else {
                let next = timeout_at(reading.until, body.next()).await;
                next.map_err(|_| reading.too_late())?
            };
            let Some(bytes) = next.transpose()? else {
                return Ok(None);
            };
            reading.hold(&bytes)?;
            Ok::<_, BoxError>(Some((Frame::data(bytes), (reading, body))))
        },
    );
    Ok(Response::from_parts(parts, StreamBody::new(frames)))
}

/// Reports whether an answer goes on as long as there is something to say: a watch, or a log that is followed.
fn is_watch(uri: &Uri) -> bool {
    let query = uri.query().unwrap_or_default();
    query
        .split('&')
        .any(|pair| matches!(pair, "watch=true" | "watch=1" | "follow=true"))
}

/// Progress of reading an answer.
struct Reading {
    request: String,
    /// It has no end, and an event or a line of a log on each line.
    is_watch: bool,
    until: Instant,
    bounds: Bounds,
    /// Bytes that whoever reads it has to keep.
    held: usize,
}

impl Reading {
    fn hold(&mut self, bytes: &[u8]) -> Result<(), Unanswered> {
        // A watch has an event on each line: only the unfinished last line stays in memory.
        self.held = match memrchr(b'\n', bytes).filter(|_| self.is_watch) {
            Some(end) => bytes.len() - end - 1,
            None => self.held.saturating_add(bytes.len()),
        };
        if self.held <= self.bounds.bytes {
            return Ok(());
        }
        Err(Unanswered::TooLong {
            request: self.request.clone(),
            bytes: self.bounds.bytes,
        })
    }

    fn too_late(&self) -> Unanswered {
        Unanswered::TooLate {
            request: self.request.clone(),
            time: self.bounds.time,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures::Stream;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::Api;
    use kube::api::WatchParams;

    use super::*;
    use codegen_core::causes::with_causes;

    const NO_TIME: Bounds = Bounds {
        bytes: 8 * MIB,
        time: Duration::ZERO,
    };

    /// A cluster whose every answer is this.
    fn cluster<S>(answer: impl Fn() -> S + Clone + Send + Sync + 'static, bounds: Bounds) -> Api<ConfigMap>
    where
        S: Stream<Item = Bytes> + Send + 'static,
    {
        let service = tower::service_fn(move |_: Request<Body>| {
            let frames = answer().map(|bytes| Ok::<_, Infallible>(Frame::data(bytes)));
            async { Ok::<_, Infallible>(Response::new(StreamBody::new(frames))) }
        });
        Api::namespaced(bounded(Client::new(service, "data"), bounds), "data")
    }

    fn map(bytes: usize) -> String {
        format!("{{\"metadata\":{{\"name\":\"{}\"}}}}", "x".repeat(bytes))
    }

    #[test]
    fn a_log_that_is_followed_goes_on_as_a_watch_does() {
        let log = "/api/v1/namespaces/data/pods/a/log?container=build";
        assert!(is_watch(&format!("{log}&follow=true").parse().unwrap()));
        assert!(!is_watch(&log.parse().unwrap()));
    }

    #[tokio::test]
    async fn an_answer_without_an_end_is_left_and_the_object_named() {
        let maps = cluster(|| stream::repeat(Bytes::from(vec![b'x'; MIB])), Bounds::default());
        let error = with_causes(&maps.get("a").await.unwrap_err());
        assert!(
            error.contains("GET /api/v1/namespaces/data/configmaps/a is longer than any object, 8 MiB"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn an_answer_without_a_bound_is_held_whole() {
        let unbounded = Bounds {
            bytes: usize::MAX,
            ..Bounds::default()
        };
        for (bounds, is_held) in [(unbounded, true), (Bounds::default(), false)] {
            let answer = || stream::iter([Bytes::from(map(32 * MIB))]);
            let map = cluster(answer, bounds).get("a").await;
            assert_eq!(map.is_ok(), is_held);
        }
    }

    #[tokio::test]
    async fn an_answer_that_never_comes_is_not_waited_for() {
        let maps = cluster(stream::pending, NO_TIME);
        let error = with_causes(&maps.get("a").await.unwrap_err());
        assert!(
            error.contains("was not answered within 0 s: try again"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn an_object_of_the_largest_size_is_read() {
        let answer = || stream::iter([Bytes::from(map(2 * MIB))]);
        let map = cluster(answer, Bounds::default()).get("a").await.unwrap();
        assert_eq!(map.metadata.name.map(|name| name.len()), Some(2 * MIB));
    }

    #[tokio::test]
    async fn a_watch_goes_on_beyond_the_size_of_an_answer_and_an_event_does_not() {
        let event = || Bytes::from(format!("{{\"type\":\"ADDED\",\"object\":{}}}\n", map(MIB)));
        let maps = cluster(move || stream::repeat_with(event).take(12), Bounds::default());
        let seen = maps.watch(&WatchParams::default(), "0").await.unwrap();
        assert_eq!(
            seen.filter(|event| std::future::ready(event.is_ok()))
                .count()
                .await,
            12
        );
        let endless = cluster(|| stream::repeat(Bytes::from(vec![b'x'; MIB])), Bounds::default());
        let events = endless.watch(&WatchParams::default(), "0").await.unwrap();
        let error = std::pin::pin!(events).next().await.unwrap().unwrap_err();
        assert!(
            with_causes(&error).contains("is longer than any object"),
            "{error}"
        );
    }
}
