//! The shutdown of a controller that has not begun.

use std::future::{Future, pending};
use std::hash::Hash;

use futures::FutureExt as _;
use futures::future::select;
use kube::runtime::reflector::{Lookup, Store};
use tokio_util::sync::CancellationToken;

/// Ends with `looks`, the passes of a controller that shuts down when what is in flight has ended. Nothing is in flight before
/// every object was read once, but the controller waits for that even at shutdown, and it may never come.
pub async fn in_order<K>(looks: impl Future<Output = ()>, objects: &Store<K>, stopping: &CancellationToken)
where
    K: Lookup + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    let before_it_began = async {
        stopping.cancelled().await;
        if let Some(Ok(())) = objects.wait_until_ready().now_or_never() {
            pending::<()>().await;
        }
    };
    select(std::pin::pin!(looks), std::pin::pin!(before_it_began)).await;
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use futures::future::ready;
    use futures::{Stream, StreamExt as _, stream};
    use kube::runtime::controller::Action;
    use kube::runtime::watcher::{self, Event};
    use kube::runtime::{Controller, WatchStreamExt as _, reflector};
    use tokio::time::timeout;

    use super::*;
    use codegen_api::CodeGenTask;

    const LONG: Duration = Duration::from_secs(20);

    /// State that is shared with the passes of [`stopped`].
    struct Shared {
        stopping: CancellationToken,
        under_way: CancellationToken,
        has_ended: AtomicBool,
    }

    /// A reconcile pass that ends some time after shutdown was asked for.
    async fn slow_pass(_: Arc<CodeGenTask>, shared: Arc<Shared>) -> Result<Action, Infallible> {
        shared.under_way.cancel();
        shared.stopping.cancelled().await;
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        shared.has_ended.store(true, Ordering::SeqCst);
        Ok(Action::await_change())
    }

    /// Runs a controller on these events, shuts it down `when` that is over, and says whether a pass has ended.
    async fn stopped(
        events: impl Stream<Item = Result<Event<CodeGenTask>, watcher::Error>> + Send + 'static,
        when: impl AsyncFnOnce(&Shared),
    ) -> bool {
        let (objects, writer) = reflector::store();
        let shared = Arc::new(Shared {
            stopping: CancellationToken::new(),
            under_way: CancellationToken::new(),
            has_ended: AtomicBool::new(false),
        });
        let told = shared.stopping.clone();
        let changes = events.chain(stream::pending()).reflect(writer).applied_objects();
        let looks = Controller::for_stream(changes, objects.clone())
            .graceful_shutdown_on(async move { told.cancelled().await })
            .run(slow_pass, |_, _, _| Action::await_change(), Arc::clone(&shared))
            .for_each(|_| ready(()));
        let tell = async {
            when(&shared).await;
            shared.stopping.cancel();
        };
        let both = futures::future::join(in_order(looks, &objects, &shared.stopping), tell);
        timeout(LONG, both).await.expect("the controller ends");
        shared.has_ended.load(Ordering::SeqCst)
    }

    #[tokio::test]
    async fn a_controller_that_has_read_nothing_ends_at_shutdown() {
        assert!(!stopped(stream::empty(), async |_| {}).await);
        let begun = stream::iter([Ok(Event::Init)]);
        assert!(!stopped(begun, async |_| tokio::task::yield_now().await).await);
    }

    #[tokio::test]
    async fn a_reconcile_pass_under_way_at_shutdown_is_finished() {
        let mut task = CodeGenTask::new("penguins", codegen_api::CodeGenTaskSpec::default());
        task.metadata.namespace = Some("lab".to_owned());
        let read = stream::iter([Event::Init, Event::InitApply(task), Event::InitDone].map(Ok));
        assert!(stopped(read, async |shared| shared.under_way.cancelled().await).await);
    }
}
