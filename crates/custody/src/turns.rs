//! Exclusive use of an account.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use alloy_primitives::Address;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

/// Turns on accounts, shared by all code of a process that sends several related transactions of
/// one account: between an approval and its call no other code of the process uses the account.
/// Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Turns(Arc<Mutex<HashMap<Address, Arc<AsyncMutex<()>>>>>);

/// The turn on an account, until it is dropped.
#[derive(Debug)]
pub struct Turn(#[expect(dead_code, reason = "held, never read")] OwnedMutexGuard<()>);

impl Turns {
    /// Waits for the account's turn.
    pub async fn take(&self, account: Address) -> Turn {
        let lock = {
            let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            // Turns that no caller holds or waits for are dropped.
            locks.retain(|_, lock| Arc::strong_count(lock) > 1);
            Arc::clone(locks.entry(account).or_default())
        };
        Turn(lock.lock_owned().await)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_account_has_one_turn_and_others_their_own() {
        let turns = Turns::default();
        let (one, other) = (Address::repeat_byte(1), Address::repeat_byte(2));
        let turn = turns.take(one).await;
        let _other = turns.take(other).await;
        let waiting = tokio::spawn({
            let turns = turns.clone();
            async move { turns.take(one).await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(turn);
        waiting.await.unwrap();
    }
}
