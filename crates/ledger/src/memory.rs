//! A record in memory, which can be made to stop at a write: for tests of what a crash loses.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use codegen_core::progress::{Progress, State, bytes_of_state, state_of_bytes};

use super::store::{Created, Store, StoreError, check_name};

/// A store in memory. Clones share their contents.
#[derive(Clone, Debug)]
pub struct MemoryStore<P = Progress> {
    contents: Arc<Mutex<Contents>>,
    /// Fault at which this store stops; not shared by [`MemoryStore::restarted`].
    fault: Option<WriteFault>,
    life: Arc<Mutex<Life>>,
    state: PhantomData<fn() -> P>,
}

impl<P> Default for MemoryStore<P> {
    fn default() -> Self {
        Self {
            contents: Arc::default(),
            fault: None,
            life: Arc::default(),
            state: PhantomData,
        }
    }
}

#[derive(Debug, Default)]
struct Contents {
    progress: Option<Vec<u8>>,
    objects: BTreeMap<String, Vec<u8>>,
}

/// Events since the store was made or restarted.
#[derive(Debug, Default)]
struct Life {
    writes: usize,
    stopped: bool,
}

/// At which write a store stops. From then on every operation fails, as in a process that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteFault {
    /// The write, counted from 1. A `create` that finds the object there counts too.
    pub write: usize,
    /// Before or after that write takes effect.
    pub moment: FaultMoment,
}

/// Moment of a write at which a store stops.
#[cfg_attr(
    not(any(test, feature = "test-support")),
    expect(dead_code, reason = "tests alone let a store stop")
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultMoment {
    /// The write does not take effect.
    Before,
    /// The write takes effect, but whoever asked for it does not learn of it.
    After,
}

impl<P> MemoryStore<P> {
    /// An empty store that works.
    #[cfg(any(test, feature = "test-support"))]
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A store that works and holds these objects.
    #[must_use]
    pub fn holding(objects: BTreeMap<String, Vec<u8>>) -> Self {
        let store = Self::default();
        store
            .contents
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .objects = objects;
        store
    }

    /// The same contents with a life of its own that ends at `fault`, or never.
    #[cfg(any(test, feature = "test-support"))]
    #[must_use]
    pub fn restarted(&self, fault: Option<WriteFault>) -> Self {
        Self {
            contents: Arc::clone(&self.contents),
            fault,
            life: Arc::default(),
            state: PhantomData,
        }
    }

    /// Writes since the store was made or restarted, the one that met the fault included.
    #[cfg(any(test, feature = "test-support"))]
    #[must_use]
    pub fn writes(&self) -> usize {
        self.life().writes
    }

    /// Names of all objects, sorted.
    #[cfg(any(test, feature = "test-support"))]
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.contents().objects.keys().cloned().collect()
    }

    /// Puts other bytes in the place of an object.
    #[cfg(any(test, feature = "test-support"))]
    pub fn replace(&self, name: &str, bytes: &[u8]) {
        self.contents().objects.insert(name.to_owned(), bytes.to_owned());
    }

    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reading<T>(&self, read: impl FnOnce(&Contents) -> T) -> Result<T, StoreError> {
        let life = self.life();
        if life.stopped {
            return Err(StoreError::Stopped { write: life.writes });
        }
        drop(life);
        Ok(read(&self.contents()))
    }

    fn writing<T>(&self, write: impl FnOnce(&mut Contents) -> T) -> Result<T, StoreError> {
        let mut life = self.life();
        let stopped = StoreError::Stopped {
            write: life.writes + 1,
        };
        if life.stopped {
            return Err(StoreError::Stopped { write: life.writes });
        }
        life.writes += 1;
        let fault = self.fault.filter(|fault| fault.write == life.writes);
        life.stopped = fault.is_some();
        match fault.map(|fault| fault.moment) {
            Some(FaultMoment::Before) => Err(stopped),
            Some(FaultMoment::After) => {
                write(&mut self.contents());
                Err(stopped)
            }
            None => Ok(write(&mut self.contents())),
        }
    }
}

impl<P: State> Store for MemoryStore<P> {
    type Progress = P;

    async fn load(&self) -> Result<Option<P>, StoreError> {
        let bytes = self.reading(|contents| contents.progress.clone())?;
        Ok(bytes.as_deref().map(state_of_bytes).transpose()?)
    }

    async fn save(&self, progress: &P) -> Result<(), StoreError> {
        self.writing(|contents| contents.progress = Some(bytes_of_state(progress)))
    }

    async fn create(&self, name: &str, bytes: &[u8]) -> Result<Created, StoreError> {
        check_name(name)?;
        self.writing(|contents| {
            if let Some(there) = contents.objects.get(name) {
                return Created::Existed(there.clone());
            }
            contents.objects.insert(name.to_owned(), bytes.to_vec());
            Created::New
        })
    }

    async fn read(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        check_name(name)?;
        self.reading(|contents| contents.objects.get(name).cloned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Saved, saved};

    #[tokio::test]
    async fn a_store_that_stops_before_a_write_loses_it_and_all_later_ones() {
        let store = MemoryStore::<Saved>::new().restarted(Some(WriteFault {
            write: 2,
            moment: FaultMoment::Before,
        }));
        store.save(&saved("one")).await.unwrap();
        assert!(matches!(
            store.create("a", b"x").await,
            Err(StoreError::Stopped { write: 2 })
        ));
        assert!(store.save(&saved("three")).await.is_err());
        assert!(store.load().await.is_err());
        let restarted = store.restarted(None);
        assert_eq!(restarted.load().await.unwrap(), Some(saved("one")));
        assert!(restarted.names().is_empty());
        assert_eq!(store.writes(), 2);
    }

    #[tokio::test]
    async fn a_store_that_stops_after_a_write_keeps_it() {
        let store = MemoryStore::<Saved>::new().restarted(Some(WriteFault {
            write: 1,
            moment: FaultMoment::After,
        }));
        assert!(matches!(
            store.create("a", b"x").await,
            Err(StoreError::Stopped { write: 1 })
        ));
        let restarted = store.restarted(None);
        assert_eq!(restarted.read("a").await.unwrap().as_deref(), Some(&b"x"[..]));
    }
}
