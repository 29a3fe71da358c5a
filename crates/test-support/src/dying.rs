//! Simulates a store whose process ends at a chosen write: every later call fails.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The future that a store returns.
type Answer<'a, T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

/// A store whose process ends at one of its writes: before the write, or after it and before the
/// caller gets the answer. From then on, every call fails. Until then, a test may let the store
/// begin another history.
///
/// A crate wraps it in a type of its own, which implements the crate's `Store`.
pub struct Dying<S: ?Sized, E> {
    inner: Arc<S>,
    /// How many writes are left until the process ends.
    left: AtomicUsize,
    after: bool,
    gone: fn() -> E,
    history: Mutex<Option<String>>,
}

impl<S: ?Sized, E: Send + 'static> Dying<S, E> {
    /// Makes a store whose process ends at its write number `left`. That write still happens if
    /// `after` is true. From then on, every call returns the error that `gone` makes.
    pub fn new(inner: Arc<S>, left: usize, after: bool, gone: fn() -> E) -> Self {
        Self {
            inner,
            left: AtomicUsize::new(left),
            after,
            gone,
            history: Mutex::default(),
        }
    }

    /// Begins another history, as a database does when a replica takes over.
    pub fn begin_history(&self, name: &str) {
        *self.history.lock().unwrap_or_else(PoisonError::into_inner) = Some(name.to_owned());
    }

    /// Returns the history that began last.
    pub fn history(&self) -> Answer<'_, Option<String>, E> {
        let history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        let history = history.clone();
        self.read(|_| Box::pin(async move { Ok(history) }))
    }

    /// Whether the process has ended.
    pub fn is_dead(&self) -> bool {
        self.left.load(Ordering::SeqCst) == 0
    }

    /// Makes a call that counts as no write. The store is called only while the process runs.
    pub fn read<'a, T: 'a>(
        &'a self,
        read: impl FnOnce(&'a S) -> Answer<'a, T, E>,
    ) -> Answer<'a, T, E> {
        if self.is_dead() {
            return self.fail();
        }
        read(&self.inner)
    }

    /// Makes a call that counts as a write. A store may write as soon as it is called, whether its
    /// answer is awaited or not. So the store gets the last write only if that write still happens.
    pub fn write<'a, T: Send + 'a>(
        &'a self,
        write: impl FnOnce(&'a S) -> Answer<'a, T, E>,
    ) -> Answer<'a, T, E> {
        if self.is_dead() {
            return self.fail();
        }
        if self.left.fetch_sub(1, Ordering::SeqCst) > 1 {
            return write(&self.inner);
        }
        if !self.after {
            return self.fail();
        }
        let (written, gone) = (write(&self.inner), self.gone);
        Box::pin(async move {
            drop(written.await);
            Err(gone())
        })
    }

    fn fail<'a, T>(&self) -> Answer<'a, T, E> {
        let gone = self.gone;
        Box::pin(async move { Err(gone()) })
    }
}
