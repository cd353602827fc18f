//! Steps for an object that has ended, whatever its kind: it is cleared up after, and in time deleted.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use kube::Resource as _;
use kube::runtime::reflector::ObjectRef;

use super::{Controlled as _, Pass};
use crate::controller::api;
use crate::controller::error::ReconcileError;
use crate::controller::record::cleanup::may_be_uncleared;

/// A pass over an object that has an end.
pub trait Finish: Pass {
    /// Returns the time at which the object ended.
    fn ended_at(&self) -> Option<Timestamp>;

    /// Seconds that it stays after its end; it stays for ever where there are none.
    fn time_to_live(&self) -> Option<i64>;

    /// Reports whether more objects than are to stay have ended after it.
    fn is_surplus(&self) -> bool {
        false
    }

    /// Those that have ended and are to stay no longer, now that the object has: each gets a pass.
    fn surplus(&self) -> Vec<ObjectRef<Self::Of>> {
        Vec::new()
    }

    /// Announces an end whose write had no answer, so that nobody has announced it.
    fn announce(&mut self, whole: Self::Of);

    /// Removes what was needed on the way to the end.
    fn clear(&self) -> impl Future<Output = ()> + Send;
}

/// A pass over an object that has ended: deletes it when its time has come. Gives the time until then, where there is any.
pub async fn finish<P: Finish>(pass: &mut P) -> Result<Option<Duration>, ReconcileError> {
    let context = pass.context();
    let has_missed = P::Of::shared(context).has_missed(pass.object());
    // Reads the whole object: nobody has counted an end whose write had no answer, and in memory it is trimmed.
    if has_missed && let Some(whole) = api::whole(&context.client, pass.object()).await? {
        pass.announce(whole);
    }
    let context = pass.context();
    let uid = pass.object().meta().uid.clone().unwrap_or_default();
    // At its start an operator makes a pass over each that has ended, which asks for itself alone.
    let has_ended_here = P::Of::shared(context).has_worked_on(&uid);
    // Writes nothing. The place is free for others as soon as the object has ended.
    P::Of::release(context, &uid);
    let Some(ended) = pass.ended_at() else {
        return Ok(None);
    };
    // Nothing else leads to a pass over an object that ended long ago.
    if has_ended_here {
        for surplus in pass.surplus() {
            P::Of::shared(context).wake(surplus);
        }
    }
    // The operator before this one may have been killed between the end and clearing up.
    if has_missed || may_be_uncleared(ended, context.since) {
        // It is never closed; without a place there are more requests at once, and nothing else is different.
        let _place = context.clearing.acquire().await;
        pass.clear().await;
    }
    // Only decides. A limit on the number goes before a time that is not over yet.
    let left = time_left(ended, pass.time_to_live(), Timestamp::now());
    match left {
        _ if pass.is_surplus() => {}
        None => return Ok(None),
        Some(left) if left > Duration::ZERO => return Ok(Some(left)),
        Some(_) => {}
    }
    api::delete(&pass.context().client, pass.object()).await?;
    Ok(None)
}

/// Returns how long the object still stays; `None` where it stays for ever.
fn time_left(ended: Timestamp, time_to_live: Option<i64>, now: Timestamp) -> Option<Duration> {
    let end = ended.checked_add(SignedDuration::from_secs(time_to_live?)).ok()?;
    // The difference is negative where the time is over, which becomes zero.
    Some(Duration::try_from(end.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_with_a_time_to_live_is_deleted_when_it_is_over() {
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(time_left(at(10), None, at(100)), None);
        assert_eq!(time_left(at(10), Some(60), at(100)), Some(Duration::ZERO));
        assert_eq!(
            time_left(at(10), Some(100), at(100)),
            Some(Duration::from_secs(10))
        );
        assert_eq!(time_left(at(10), Some(i64::MAX), at(100)), None);
    }
}
