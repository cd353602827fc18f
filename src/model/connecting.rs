//! Whether a connection is being made: a request that ends meanwhile was not sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use tower::{Layer, Service};

/// Says of one client whether its connection is still being made, name look-up and TLS included.
#[derive(Clone, Debug, Default)]
pub(super) struct Connecting(Arc<AtomicBool>);

impl Connecting {
    /// The next try begins: it may find a connection that is there.
    pub fn begin_try(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Whether a connection was begun and is not there yet.
    pub fn is_under_way(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl<S> Layer<S> for Connecting {
    type Service = Observed<S>;

    fn layer(&self, inner: S) -> Observed<S> {
        Observed {
            inner,
            connecting: self.clone(),
        }
    }
}

/// A connector whose connections are observed.
#[derive(Clone, Debug)]
pub(super) struct Observed<S> {
    inner: S,
    connecting: Connecting,
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
        let under_way = Arc::clone(&self.connecting.0);
        under_way.store(true, Ordering::Relaxed);
        let connection = self.inner.call(target);
        Box::pin(async move {
            let connection = connection.await?;
            // Not where it failed: nothing was sent then either.
            under_way.store(false, Ordering::Relaxed);
            Ok(connection)
        })
    }
}
