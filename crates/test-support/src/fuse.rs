//! Simulates a process that ends at its n-th effect. Later effects do not happen, and the process
//! does not notice.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use tokio::sync::Notify;

/// Ends or pauses a process at one of its effects. All parts of a process share one fuse.
#[derive(Debug, Default)]
pub struct Fuse {
    left: AtomicI64,
    /// Whether the effect at which the process ends still happens.
    after: bool,
    dead: AtomicBool,
    asleep: AtomicBool,
    /// After how many effects the process is paused. Below zero it never is.
    tires: AtomicI64,
    /// Notified when [`Self::sleep_after`] pauses the process.
    pub fell_asleep: Notify,
    woken: Notify,
    /// Notified when the process ends at an effect.
    pub died: Notify,
}

impl Fuse {
    /// Makes the fuse of a process that has `effects` effects and ends at the next one. That one
    /// still happens if `after` is true.
    #[must_use]
    pub fn new(effects: i64, after: bool) -> Arc<Self> {
        Arc::new(Self {
            left: AtomicI64::new(effects),
            after,
            tires: AtomicI64::new(-1),
            ..Self::default()
        })
    }

    /// Makes the fuse of a process that does not end by itself.
    #[must_use]
    pub fn eternal() -> Arc<Self> {
        Self::new(i64::MAX, false)
    }

    /// Ends the process where it is, for good.
    pub fn blow(&self) {
        self.dead.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// Pauses the process at its next effect or reading, until [`Self::wake`].
    pub fn sleep(&self) {
        self.asleep.store(true, Ordering::SeqCst);
    }

    /// Pauses the process after this many further effects.
    pub fn sleep_after(&self, effects: i64) {
        self.tires.store(effects, Ordering::SeqCst);
    }

    /// Lets a paused process continue.
    pub fn wake(&self) {
        self.asleep.store(false, Ordering::SeqCst);
        self.woken.notify_waiters();
    }

    /// Whether the process has ended.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }

    /// Whether the process is paused.
    #[must_use]
    pub fn is_asleep(&self) -> bool {
        self.asleep.load(Ordering::SeqCst)
    }

    /// Runs an effect of the process, such as a write. Never returns after the process has ended.
    pub async fn guard<T>(&self, effect: impl Future<Output = T>) -> T {
        self.alive().await;
        if self.left.fetch_sub(1, Ordering::SeqCst) > 0 {
            let done = effect.await;
            if self.tires.fetch_sub(1, Ordering::SeqCst) == 1 {
                self.sleep();
                self.fell_asleep.notify_one();
            }
            // The process may be paused before it learns the result.
            self.alive().await;
            return done;
        }
        self.blow();
        if self.after {
            effect.await;
        }
        self.died.notify_one();
        std::future::pending().await
    }

    /// Returns while the process runs, waits while it is paused, and never returns after it has
    /// ended.
    pub async fn alive(&self) {
        loop {
            let woken = self.woken.notified();
            if self.is_dead() {
                std::future::pending::<()>().await;
            }
            if !self.is_asleep() {
                return;
            }
            woken.await;
        }
    }
}
