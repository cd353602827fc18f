//! Watch on whether a connection is being made: a request that ends meanwhile was not sent.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use tower::{Layer, Service};

tokio::task_local! {
    /// The try that a connection is made for.
    static TRY: Connecting;
}

/// Says of one try at a time whether its connection is still being made, name look-up and TLS included. Its client has
/// [`ObserveConnections`] around its connector.
#[derive(Clone, Debug, Default)]
pub struct Connecting(Arc<AtomicBool>);

impl Connecting {
    /// Runs the next try, which may find a connection that is there.
    pub async fn observe<F: Future>(&self, attempt: F) -> F::Output {
        self.0.store(false, Ordering::Relaxed);
        TRY.scope(self.clone(), attempt).await
    }

    /// Reports whether a connection was begun and is not there yet.
    #[must_use]
    pub fn is_under_way(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Makes the connections of a client visible to the try that they are made for.
#[derive(Clone, Copy, Debug)]
pub struct ObserveConnections;

impl<S> Layer<S> for ObserveConnections {
    type Service = Observed<S>;

    fn layer(&self, inner: S) -> Observed<S> {
        Observed { inner }
    }
}

/// A connector whose connections are observed.
#[derive(Clone, Debug)]
pub struct Observed<S> {
    inner: S,
}

impl<S, R> Service<R> for Observed<S>
where
    S: Service<R>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, target: R) -> Self::Future {
        let connecting = TRY.try_with(Clone::clone).unwrap_or_default();
        connecting.0.store(true, Ordering::Relaxed);
        let connection = self.inner.call(target);
        Box::pin(async move {
            let connection = connection.await?;
            // Not where it failed: nothing was sent then either.
            connecting.0.store(false, Ordering::Relaxed);
            Ok(connection)
        })
    }
}
