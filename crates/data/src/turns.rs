//! Turns by namespace: whoever has many to serve is served no sooner than whoever has one.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// A queue of which one is at the head: who waits there for a place, and nobody else does.
#[derive(Clone, Debug, Default)]
pub struct Turns(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    is_taken: bool,
    /// By namespace: when it was served last or came, and who waits of it.
    queues: BTreeMap<String, (u64, VecDeque<oneshot::Sender<Turn>>)>,
    /// The namespace that was served last.
    last: String,
    count: u64,
}

impl Waiting {
    fn count(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    fn add(&mut self, namespace: &str) -> oneshot::Receiver<Turn> {
        let (sender, receiver) = oneshot::channel();
        let count = self.count();
        let queue = self.queues.entry(namespace.to_owned());
        let (_, queue) = queue.or_insert_with(|| (count, VecDeque::new()));
        queue.push_back(sender);
        receiver
    }

    /// The first of the namespace that was served longest ago, and of the one that was served last where there is no other.
    fn next(&mut self) -> Option<oneshot::Sender<Turn>> {
        let count = self.count();
        let queues = self.queues.iter_mut();
        let longest = queues.min_by_key(|(name, (served, _))| (**name == self.last, *served));
        let next = longest.and_then(|(name, (served, queue))| {
            *served = count;
            self.last.clone_from(name);
            queue.pop_front()
        });
        self.queues.retain(|_, (_, queue)| !queue.is_empty());
        self.is_taken = next.is_some();
        next
    }
}

/// The head of the queue; dropped, the next one is.
#[derive(Debug)]
pub struct Turn(Option<Turns>);

impl Turns {
    /// The head, once it is this namespace's turn.
    pub async fn take(&self, namespace: &str) -> Turn {
        let receiver = {
            let mut waiting = self.lock();
            if !waiting.is_taken {
                waiting.is_taken = true;
                namespace.clone_into(&mut waiting.last);
                return Turn(Some(self.clone()));
            }
            waiting.add(namespace)
        };
        // Nobody drops a sender that waits.
        receiver.await.unwrap_or(Turn(None))
    }

    /// The head, where nobody has it.
    #[must_use]
    pub fn try_take(&self) -> Option<Turn> {
        let mut waiting = self.lock();
        if waiting.is_taken {
            return None;
        }
        waiting.is_taken = true;
        Some(Turn(Some(self.clone())))
    }

    fn pass_on(&self) {
        loop {
            let Some(next) = self.lock().next() else {
                return;
            };
            match next.send(Turn(Some(self.clone()))) {
                Ok(()) => return,
                // It waits no more, and its turn is the next one's.
                Err(mut turn) => turn.0 = None,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(turns) = self.0.take() {
            turns.pass_on();
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::JoinSet;

    use super::*;

    /// Returns the namespaces in the order in which they are served, where so many of each come in turn.
    async fn served(coming: &[(&'static str, usize)]) -> Vec<&'static str> {
        let (turns, order) = (Turns::default(), Arc::new(Mutex::new(Vec::new())));
        let head = turns.try_take();
        let mut all = JoinSet::new();
        for &(namespace, count) in coming {
            for _ in 0..count {
                let (turns, order) = (turns.clone(), Arc::clone(&order));
                all.spawn(async move {
                    let _turn = turns.take(namespace).await;
                    order.lock().unwrap().push(namespace);
                });
            }
        }
        all.spawn(async move { drop(head) });
        all.join_all().await;
        order.lock().unwrap().clone()
    }

    async fn is_ready(turn: &mut (impl Future<Output = Turn> + Unpin)) -> bool {
        tokio::select! {
            biased;
            _ = turn => true,
            () = std::future::ready(()) => false,
        }
    }

    #[tokio::test]
    async fn one_of_a_namespace_is_served_second_at_the_latest_however_many_another_has() {
        let order = served(&[("crowd", 500), ("one", 1)]).await;
        assert_eq!(order.len(), 501);
        assert_eq!(order.iter().position(|namespace| *namespace == "one"), Some(1));
    }

    #[tokio::test]
    async fn namespaces_take_turns() {
        let order = served(&[("a", 3), ("b", 2), ("c", 1)]).await;
        assert_eq!(order, ["a", "b", "c", "a", "b", "a"]);
    }

    #[tokio::test]
    async fn whoever_waits_no_more_holds_up_nobody() {
        let turns = Turns::default();
        let head = turns.try_take();
        let mut gone = Box::pin(turns.take("a"));
        assert!(!is_ready(&mut gone).await);
        let mut next = Box::pin(turns.take("b"));
        assert!(!is_ready(&mut next).await);
        drop(head);
        // It was given the head, and is dropped before it knows.
        drop(gone);
        assert!(is_ready(&mut next).await);
        assert!(turns.try_take().is_some());
    }
}
