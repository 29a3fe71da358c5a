//! Turns on accounts: between two related transactions of one work, no other work sends for the
//! account.
//!
//! Within a process, works queue up. Servers that share a database also take the turn there
//! ([`TurnStore`]): a lease that is renewed during the work. A server that was suspended for longer
//! than its lease loses the turn. Its work stops, and its later submissions are refused, because
//! every submission carries the [`TurnFence`].

mod shared;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use alloy_primitives::Address;
use thiserror::Error;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
use tx_sender::{TurnEnd, TurnFence, TurnStore};

use self::shared::{Held, Shared};

/// Turns on accounts, shared by all code that sends several related transactions of one account:
/// between an approval and its call nothing else uses the account. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Turns {
    queues: Queues,
    shared: Option<Arc<Shared>>,
}

/// The queue of each account in this process.
#[derive(Debug, Clone, Default)]
struct Queues(Arc<Mutex<HashMap<Address, Arc<AsyncMutex<()>>>>>);

/// The place at the head of an account's queue.
type Place = OwnedMutexGuard<()>;

/// The turn on an account, until it is ended or dropped. A turn that is dropped was interrupted: in
/// a shared store, the same work comes next.
#[derive(Debug)]
pub struct Turn(Kind);

#[derive(Debug)]
enum Kind {
    Own(#[expect(dead_code, reason = "held, never read")] Place),
    Shared(Held),
}

/// Other work has taken the turn, because the lease was not renewed in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the turn of account {account} has passed to other work")]
pub struct TurnLost {
    /// The account.
    pub account: Address,
}

impl Turns {
    /// Makes turns that this process shares with all others over the same store. A lease ends when
    /// it is not renewed for this long; it is renewed three times as often.
    #[must_use]
    pub fn shared(store: Arc<dyn TurnStore>, lease: Duration) -> Self {
        Self {
            queues: Queues::default(),
            shared: Some(Arc::new(Shared { store, lease })),
        }
    }

    /// Waits for the account's turn. `work` is the name of the work, the same in every process.
    pub async fn take(&self, account: Address, work: &str) -> Turn {
        let Some(shared) = &self.shared else {
            return Turn(Kind::Own(self.queues.place(account).await));
        };
        loop {
            // The place is free while another process has the turn, because the turn may be free
            // for other work.
            let place = self.queues.place(account).await;
            match shared.take(account, work, place).await {
                Some(held) => return Turn(Kind::Shared(held)),
                None => shared::pause().await,
            }
        }
    }
}

impl Queues {
    async fn place(&self, account: Address) -> Place {
        let lock = {
            let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            // Queues without a holder and without waiting work are dropped.
            locks.retain(|_, lock| Arc::strong_count(lock) > 1);
            Arc::clone(locks.entry(account).or_default())
        };
        lock.lock_owned().await
    }
}

impl Turn {
    /// Returns the fence for submissions of this turn; `None` where no other process shares the
    /// account.
    #[must_use]
    pub const fn fence(&self) -> Option<TurnFence> {
        match &self.0 {
            Kind::Own(_) => None,
            Kind::Shared(held) => Some(held.fence),
        }
    }

    /// Runs work of the turn, until it ends or the turn is lost. In the latter case, the work is
    /// dropped at its next await.
    ///
    /// # Errors
    /// [`TurnLost`]
    pub async fn run<T>(&self, work: impl Future<Output = T>) -> Result<T, TurnLost> {
        let Kind::Shared(held) = &self.0 else {
            return Ok(work.await);
        };
        tokio::select! {
            done = work => Ok(done),
            () = held.lost() => Err(TurnLost { account: held.fence.account }),
        }
    }

    /// Ends the turn of finished work: any other work may follow.
    pub async fn end(self) {
        if let Kind::Shared(held) = self.0 {
            held.end(TurnEnd::Finished).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_account_has_one_turn_and_others_their_own() {
        let turns = Turns::default();
        let (one, other) = (Address::repeat_byte(1), Address::repeat_byte(2));
        let turn = turns.take(one, "a").await;
        assert_eq!(turn.fence(), None);
        let _other = turns.take(other, "a").await;
        let waiting = tokio::spawn({
            let turns = turns.clone();
            async move { turns.take(one, "b").await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(turn);
        waiting.await.unwrap();
    }
}
