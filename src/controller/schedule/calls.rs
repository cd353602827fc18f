//! Limit on the model calls that are in flight at once to one endpoint.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::controller::process::leader::LeadTerm;
use crate::controller::telemetry::metrics::Metrics;

/// Endpoints that are remembered although nobody calls them.
const MOST_IDLE: usize = 64;

/// Places for model calls: a number of them for each endpoint, given in the order in which they were asked for.
#[derive(Debug)]
pub struct CallPool {
    limit: usize,
    stopping: CancellationToken,
    lead: LeadTerm,
    metrics: Metrics,
    endpoints: Mutex<HashMap<String, Arc<Semaphore>>>,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    in_flight: AtomicI64,
    waiting: AtomicI64,
}

impl Counts {
    fn show(&self, metrics: &Metrics) {
        metrics.set_calls(
            self.in_flight.load(Ordering::Relaxed),
            self.waiting.load(Ordering::Relaxed),
        );
    }
}

/// A place for one call, free again when it is dropped.
#[derive(Debug)]
pub struct CallPermit {
    _permit: OwnedSemaphorePermit,
    _counted: Counted,
}

/// Counted for as long as it lives.
#[derive(Debug)]
struct Counted {
    counts: Arc<Counts>,
    which: fn(&Counts) -> &AtomicI64,
    metrics: Metrics,
}

impl Counted {
    fn new(pool: &CallPool, which: fn(&Counts) -> &AtomicI64) -> Self {
        which(&pool.counts).fetch_add(1, Ordering::Relaxed);
        pool.counts.show(&pool.metrics);
        Self {
            counts: Arc::clone(&pool.counts),
            which,
            metrics: pool.metrics.clone(),
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        (self.which)(&self.counts).fetch_sub(1, Ordering::Relaxed);
        self.counts.show(&self.metrics);
    }
}

impl CallPool {
    /// `limit` places for each endpoint, until `stopping` is cancelled.
    #[must_use]
    pub fn new(limit: usize, stopping: CancellationToken, metrics: Metrics) -> Self {
        Self {
            limit,
            stopping,
            lead: LeadTerm::always(),
            metrics,
            endpoints: Mutex::default(),
            counts: Arc::default(),
        }
    }

    /// Gives no place where this replica does not lead.
    pub fn follow(&mut self, lead: LeadTerm) {
        self.lead = lead;
    }

    /// Waits for a place among the calls to the server of `base_url`. `None` when no call may start any more. Ask before
    /// the call's intent is written, so that whoever still waits then has nothing to lose.
    pub async fn enter(&self, base_url: &str) -> Option<CallPermit> {
        let endpoint = endpoint(base_url);
        let places = self.places(&endpoint);
        // A drop guard: a caller whose future is cancelled while it waits is no longer counted.
        let waiting = Counted::new(self, |counts| &counts.waiting);
        if places.available_permits() == 0 {
            tracing::debug!(
                endpoint,
                limit = self.limit,
                "waits for a place among the endpoint's calls"
            );
        }
        let permit = tokio::select! {
            // At shutdown no call starts, also where a place is free.
            biased;
            () = self.stopping.cancelled() => return None,
            permit = places.acquire_owned() => permit.ok()?,
        };
        drop(waiting);
        // Last, and by the clock: after a pause of the whole process another replica may lead before any timer has fired here.
        if !self.lead.is_held() && !self.stopping.run_until_cancelled(self.lead.confirm()).await? {
            return None;
        }
        Some(CallPermit {
            _permit: permit,
            _counted: Counted::new(self, |counts| &counts.in_flight),
        })
    }

    fn places(&self, endpoint: &str) -> Arc<Semaphore> {
        let mut endpoints = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        if endpoints.len() > MOST_IDLE {
            // Whoever waits holds the semaphore, and so does every permit.
            endpoints.retain(|_, places| Arc::strong_count(places) > 1);
        }
        let places = endpoints
            .entry(endpoint.to_owned())
            .or_insert_with(|| Arc::new(Semaphore::new(self.limit)));
        Arc::clone(places)
    }
}

/// Scheme, host and port; the text itself where it is no address.
fn endpoint(base_url: &str) -> String {
    match reqwest::Url::parse(base_url) {
        Ok(url) if url.has_host() => url.origin().ascii_serialization(),
        _ => base_url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt as _;
    use tokio::sync::watch;
    use tokio::time::Instant;

    use super::*;

    fn pool(limit: usize) -> CallPool {
        CallPool::new(limit, CancellationToken::new(), Metrics::new())
    }

    #[tokio::test]
    async fn whatever_is_asked_for_is_in_flight_at_once_where_there_is_no_limit() {
        let begun = |limit: usize| {
            let pool = pool(limit);
            let asked: Vec<_> = (0..100)
                .map(|_| pool.enter("https://models.example").now_or_never().flatten())
                .collect();
            asked.into_iter().flatten().count()
        };
        assert_eq!(begun(Semaphore::MAX_PERMITS), 100);
        assert_eq!(begun(4), 4);
    }

    #[tokio::test]
    async fn an_endpoint_has_as_many_calls_as_it_may_and_others_do_not_count() {
        let pool = pool(2);
        let first = pool.enter("https://models.example/v1").await;
        let second = pool.enter("https://models.example:443/v2").await;
        assert!(first.is_some() && second.is_some());
        let mut third = Box::pin(pool.enter("https://models.example/v1"));
        assert!((&mut third).now_or_never().is_none(), "the endpoint is full");
        assert!(pool.enter("http://models.example/v1").await.is_some());
        drop(first);
        assert!(third.await.is_some());
    }

    #[tokio::test]
    async fn places_are_given_in_the_order_in_which_they_were_asked_for() {
        let pool = pool(1);
        let only = pool.enter("http://a").await;
        let mut early = Box::pin(pool.enter("http://a"));
        let mut late = Box::pin(pool.enter("http://a"));
        assert!((&mut early).now_or_never().is_none() && (&mut late).now_or_never().is_none());
        drop(only);
        assert!((&mut late).now_or_never().is_none(), "it came later");
        let early = early.await;
        assert!(early.is_some());
        drop(early);
        assert!(late.await.is_some());
    }

    #[tokio::test]
    async fn at_shutdown_nobody_gets_a_place_and_who_has_one_keeps_it() {
        let pool = pool(1);
        let only = pool.enter("http://a").await;
        let mut waits = Box::pin(pool.enter("http://a"));
        assert!((&mut waits).now_or_never().is_none());
        pool.stopping.cancel();
        assert!(waits.await.is_none());
        assert!(pool.enter("http://b").await.is_none());
        assert!(only.is_some());
    }

    #[tokio::test]
    async fn a_replica_whose_time_is_over_begins_no_call_unless_it_leads_on() {
        let (until, received) = watch::channel(Some(Instant::now()));
        let mut pool = pool(2);
        pool.follow(LeadTerm::new(received));
        let mut waits = Box::pin(pool.enter("http://a"));
        assert!((&mut waits).now_or_never().is_none());
        until.send_replace(Some(Instant::now() + Duration::from_hours(1)));
        assert!(waits.await.is_some());
        until.send_replace(None);
        let mut waits = Box::pin(pool.enter("http://a"));
        assert!((&mut waits).now_or_never().is_none());
        drop(until);
        assert!(waits.await.is_none());
    }

    #[tokio::test]
    async fn what_is_in_flight_and_what_waits_is_shown() {
        let pool = pool(1);
        let shown = |name: &str, number: u8| {
            let line = format!("codegen_operator_model_calls_{name} {number}\n");
            assert!(pool.metrics.text().unwrap().contains(&line), "{line}");
        };
        let only = pool.enter("http://a").await;
        let mut waits = Box::pin(pool.enter("http://a"));
        assert!((&mut waits).now_or_never().is_none());
        shown("in_flight", 1);
        shown("waiting", 1);
        drop(waits);
        drop(only);
        shown("in_flight", 0);
        shown("waiting", 0);
    }

    #[tokio::test]
    async fn endpoints_that_nobody_calls_are_forgotten() {
        let pool = pool(1);
        let kept = pool.enter("http://kept").await;
        for number in 0..500 {
            pool.enter(&format!("http://host-{number}")).await;
        }
        assert!(pool.endpoints.lock().unwrap().len() <= MOST_IDLE + 1);
        assert!(pool.enter("http://kept").now_or_never().is_none());
        drop(kept);
    }
}
