//! One controller for every kind: what it watches, a reconcile pass with its failures, and its end. A kind gives its steps.

pub mod finish;

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::{join, ready};
use futures::{Stream, StreamExt as _};
use kube::runtime::controller::{Action, Config as ControllerConfig};
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::watcher::{self, watcher};
use kube::runtime::{Controller, WatchStreamExt as _};
use kube::{Resource as _, ResourceExt as _};
use tokio::sync::broadcast::error::RecvError;

use super::api::namespaced;
use super::context::Context;
use super::error::{ReconcileError, hold_for, is_conflict, is_forbidden};
use super::hold::Blocked;
use super::process::health::Unread;
use super::process::stop;
use super::schedule::shared::{Shared, SharedKind};
use super::selector::TaskSelector;
use super::telemetry::metrics::Reconciled;
use codegen_api::conditions::reason;
use codegen_core::bounds::message_shown;
use codegen_core::causes::with_causes;
use codegen_core::status::{Hold, Until};

/// A pass without cause, should a watch have missed something.
pub const SAFETY_NET: Duration = Duration::from_mins(5);
/// Pause before asking again for what no watch reports: the end of a log that a node still writes.
pub const MOMENT: Duration = Duration::from_secs(1);
/// Pause before asking again for a Pod that reads claims: one that cannot mount them says so in events alone, which are not watched.
pub const READING: Duration = Duration::from_secs(16);

/// The pause after which there is another pass although nothing has changed, and what the pass came to.
pub type PassResult = Result<(Option<Duration>, Reconciled), ReconcileError>;

/// A kind with its steps.
pub trait Controlled: SharedKind {
    /// One reconcile pass over one object.
    type Pass<'a>: Pass<Of = Self>;

    /// Returns the memory that all passes over the kind share.
    fn shared(context: &Context) -> &Shared<Self>;

    /// A pass over the object as it is.
    fn pass(self, context: &Context) -> Self::Pass<'_>;

    /// Drops what nobody asks an object in memory for.
    fn trim(&mut self) {
        // Nothing here reads managed fields, and they would take memory for every object in the store.
        self.meta_mut().managed_fields = None;
    }

    /// Drops what is in memory of one that has ended, and gives its place to others.
    fn release(context: &Context, uid: &str) {
        Self::shared(context).release(uid);
    }

    /// Forgets those that were deleted while nobody watched.
    fn forget_deleted(context: &Context) {
        for uid in Self::shared(context).deleted() {
            Self::release(context, &uid);
        }
    }

    /// Takes up a change that the watch of one namespace, or of all, has brought.
    fn observe(
        context: &Arc<Context>,
        _namespace: Option<&str>,
        event: &watcher::Event<Self>,
        all: &Store<Self>,
    ) {
        match event {
            watcher::Event::Delete(object) => {
                Self::release(context, object.meta().uid.as_deref().unwrap_or_default());
            }
            // The first list, before any pass, or one after a break.
            watcher::Event::InitDone => {
                Self::forget_deleted(context);
                Self::shared(context).resume(&all.state());
            }
            watcher::Event::Init | watcher::Event::InitApply(_) | watcher::Event::Apply(_) => {}
        }
    }

    /// The children whose changes lead to a pass.
    fn watch_children(
        controller: Controller<Self>,
        _context: &Arc<Context>,
        _namespace: Option<&str>,
        _all: &Store<Self>,
    ) -> Controller<Self> {
        controller
    }

    /// Counts a pass.
    fn count(_context: &Context, _came_to: Reconciled, _took: Duration) {}

    /// Counts a pass that only the end of a pause has led to.
    fn count_pause(&self, _context: &Context, _after: Reconciled) {}
}

/// The steps of one pass, and what of a hold differs from kind to kind.
pub trait Pass: Send {
    /// The kind of the object.
    type Of: Controlled;

    /// The object as it was read, or written last.
    fn object(&self) -> &Self::Of;

    /// Returns the state that all passes share.
    fn context(&self) -> &Context;

    /// Makes one decision, does it and records it.
    fn act(&mut self) -> impl Future<Output = PassResult> + Send;

    /// Reports whether the status says already what holds the object.
    fn says_hold(&self, hold: &Hold) -> bool;

    /// Says in the status and in an Event what holds the object.
    fn write_hold(&mut self, hold: &Hold) -> impl Future<Output = Result<(), ReconcileError>> + Send;

    /// Reports whether a hold may stand in the status: it never takes the place of an end.
    fn may_hold(&self) -> bool {
        true
    }

    /// Reports whether the place of the held object is for others meanwhile.
    fn leaves_place(&self, hold: &Hold) -> bool {
        // An object that waits for room or for a retry goes on by itself, so it holds its place.
        hold.until != Until::Room
    }

    /// Reports whether what ends the hold is watched, so that no pause is needed.
    fn is_watched(&self, hold: &Hold) -> bool {
        // The change of `spec.suspend` comes by the watch of the object itself.
        hold.until == Until::Resumed
    }
}

/// Makes a pass over an object.
pub async fn reconcile<K: Controlled>(
    object: Arc<K>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    let started = Instant::now();
    let shared = K::shared(&context);
    // Before the pass, which sets a due time of its own.
    if let Some(after) = shared.pause_is_over(&object) {
        object.count_pause(&context, after);
    }
    let result = Box::pin(pass_over(&object, &context)).await;
    let came_to = result.as_ref().map_or(Reconciled::Error, |(_, came_to)| *came_to);
    K::count(&context, came_to, started.elapsed());
    let (pause, came_to) = result?;
    shared.due(&object, pause, came_to);
    // Without a pause nothing is requeued: the write of the pass itself, or a child, triggers the next one.
    Ok(pause.map_or_else(Action::await_change, Action::requeue))
}

async fn pass_over<K: Controlled>(object: &Arc<K>, context: &Context) -> PassResult {
    // Its children go with it by owner references, and its place is for others.
    if object.meta().deletion_timestamp.is_some() {
        K::release(context, object.meta().uid.as_deref().unwrap_or_default());
        return Ok((None, Reconciled::Idle));
    }
    // What was written last is not back yet: the watch brings it.
    if K::shared(context).is_stale(object) {
        return Ok((None, Reconciled::Idle));
    }
    // Reads, acts and writes. What blocks the pass is said in the status; that write may fail too, and is judged below like the rest.
    let mut pass = K::pass((**object).clone(), context);
    let done = match Box::pin(pass.act()).await {
        Err(ReconcileError::Blocked(Blocked(why))) => Box::pin(hold(&mut pass, &why)).await,
        done => done,
    };
    match done {
        // A newer version is on its way by the watch: another try with this one could only conflict again.
        Err(error) if is_conflict(&error) => Ok((None, Reconciled::Idle)),
        Err(error) if !pass.may_hold() => Err(error),
        Err(error) => match Box::pin(hold(&mut pass, &hold_for(&error))).await {
            // It cannot even be said, as while the API server is away.
            Err(_) => Err(error),
            held => held,
        },
        done => done,
    }
}

/// Says what holds an object, and when there is to be another pass: later each time.
pub async fn hold<P: Pass>(pass: &mut P, hold: &Hold) -> PassResult {
    let came_to = record_hold(pass, hold).await?;
    let shared = P::Of::shared(pass.context());
    if pass.is_watched(hold) {
        return Ok((None, came_to));
    }
    let pause = shared.pause(pass.object());
    let pause = match hold.until {
        // What a person corrects elsewhere is not watched.
        Until::Corrected => shared.pause_for_correction(pass.object(), pause),
        Until::Room | Until::Resumed => pause,
    };
    Ok((Some(pause), came_to))
}

/// Says what holds an object, unless its status says so already. For a pass that has a pause of its own.
pub async fn record_hold<P: Pass>(pass: &mut P, hold: &Hold) -> Result<Reconciled, ReconcileError> {
    // Before it is compared: the status has this text, and another one would differ from it at every pass.
    let hold = Hold {
        message: message_shown(&hold.message),
        ..hold.clone()
    };
    let (object, shared) = (pass.object(), P::Of::shared(pass.context()));
    if pass.leaves_place(&hold) {
        shared.leave(object.meta().uid.as_deref().unwrap_or_default());
    }
    // Writing the same text again would come back by the watch and start the next pass at once.
    if !pass.says_hold(&hold) {
        pass.write_hold(&hold).await?;
    }
    Ok(if hold.reason == reason::QUEUED {
        Reconciled::Queued
    } else {
        Reconciled::Waiting
    })
}

/// Repeats a pass that failed, later each time.
#[expect(clippy::needless_pass_by_value, reason = "the controller calls it this way")]
pub fn retry_later<K: Controlled>(object: Arc<K>, error: &ReconcileError, context: Arc<Context>) -> Action {
    let (kind, namespace, name) = (K::kind(&()), object.namespace(), object.name_any());
    tracing::warn!(
        kind = &*kind,
        namespace,
        name,
        error = with_causes(error),
        "a step could not be taken and is tried again"
    );
    let shared = K::shared(&context);
    let pause = shared.pause(&object);
    shared.due(&object, Some(pause), Reconciled::Error);
    Action::requeue(pause)
}

/// Reconciles the selected objects of one namespace, or of all, until shutdown is asked for and what is in flight has ended. `unread` is told
/// when they are read.
pub async fn control<K: Controlled>(
    context: Arc<Context>,
    namespace: Option<&str>,
    selector: &TaskSelector,
    unread: Option<&Unread<'_>>,
) {
    let stopping = context.stopping.clone();
    let (objects, writer) = reflector::store();
    K::shared(&context).knows(objects.clone());
    let (all, seen_by, of) = (
        objects.clone(),
        Arc::clone(&context),
        namespace.map(str::to_owned),
    );
    // Each page of the first list is whole in memory until it is trimmed.
    let few_at_once = watcher::Config::default().page_size(50).labels(selector.as_str());
    let changes = watcher(namespaced::<K>(&context.client, namespace), few_at_once)
        .default_backoff()
        // Trimmed before it is stored, observed after that: at the end of the first list the store is complete.
        .modify(K::trim)
        .reflect(writer)
        .inspect(move |event| match event {
            Ok(event) => K::observe(&seen_by, of.as_deref(), event, &all),
            Err(error) => log_broken_watch::<K>(error),
        })
        .applied_objects();
    let controller = Controller::for_stream(changes, objects.clone());
    let passes = K::watch_children(controller, &context, namespace, &objects)
        .reconcile_on(woken::<K>(&context, namespace))
        // Unbounded: the gate limits how many tasks run, and a pass that waits for a model must not hold up the others.
        .with_config(ControllerConfig::default().concurrency(0))
        .graceful_shutdown_on(async move { stopping.cancelled().await })
        .run(reconcile::<K>, retry_later::<K>, Arc::clone(&context))
        .for_each(|result| {
            if let Err(error) = result {
                // `retry_later` has logged what failed; objects that went before their pass end here as well.
                tracing::debug!(%error, "a pass did not end well");
            }
            ready(())
        });
    let filled = async {
        if objects.wait_until_ready().await.is_ok()
            && let Some(unread) = unread
        {
            unread.read();
        }
    };
    join(stop::in_order(passes, &objects, &context.stopping), filled).await;
}

/// A watch breaks now and then, and is opened again; one that is refused stays so until somebody gives the operator the right.
fn log_broken_watch<K: Controlled>(error: &watcher::Error) {
    let (kind, why) = (K::kind(&()), with_causes(error));
    if is_forbidden(error) {
        tracing::warn!(
            kind = &*kind,
            why,
            "the operator may not read these objects: give its account the roles of the chart"
        );
    } else {
        tracing::debug!(kind = &*kind, why, "a watch broke and is opened again");
    }
}

/// The objects of a namespace, or of all, for which there is now what they waited for.
fn woken<K: Controlled>(
    context: &Context,
    namespace: Option<&str>,
) -> impl Stream<Item = ObjectRef<K>> + Send + use<K> {
    let namespace = namespace.map(str::to_owned);
    futures::stream::unfold(K::shared(context).woken(), |mut woken| async move {
        loop {
            match woken.recv().await {
                Ok(object) => return Some((object, woken)),
                // Those that were lost are reconciled when their pause is over.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    })
    .filter(move |object| ready(namespace.is_none() || object.namespace == namespace))
}
