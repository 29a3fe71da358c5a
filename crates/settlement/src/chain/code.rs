//! A cache of the accounts that have code, and of those that have none.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use alloy_primitives::Address;
use hashlink::LruCache;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use crate::Cause;

/// How many accounts are kept. The account that nobody asked about for the longest time is dropped
/// first.
const ACCOUNTS: usize = 4_096;

/// How long "has code" is kept. A contract keeps its code, and the token notices when a delegation
/// ends.
const KEEP_CODE: Duration = Duration::from_secs(300);

/// How long "no code" is kept. An account may get code at any time.
const KEEP_NO_CODE: Duration = Duration::from_secs(30);

/// How long a failure is kept, so that a failing node is not asked again at once.
const KEEP_FAILURE: Duration = Duration::from_secs(2);

pub(crate) struct CodeCache {
    accounts: Mutex<LruCache<Address, Arc<Entry>>>,
}

/// One look-up. It runs, or has an answer with its time.
type Entry = OnceCell<(Instant, Result<bool, Cause>)>;

impl Default for CodeCache {
    fn default() -> Self {
        Self {
            accounts: Mutex::new(LruCache::new(ACCOUNTS)),
        }
    }
}

impl CodeCache {
    /// Whether the account has code. `ask` runs when no answer is kept. Callers at the same time
    /// share one run.
    pub(crate) async fn get<F>(&self, account: Address, ask: F) -> Result<bool, Cause>
    where
        F: Future<Output = Result<bool, Cause>>,
    {
        let entry = self.entry(account);
        let answered = entry.get_or_init(|| async { (Instant::now(), ask.await) });
        answered.await.1.clone()
    }

    fn entry(&self, account: Address) -> Arc<Entry> {
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = accounts.get(&account)
            && entry.get().is_none_or(is_fresh)
        {
            return entry.clone();
        }
        let entry = Arc::new(Entry::new());
        accounts.insert(account, entry.clone());
        entry
    }
}

fn is_fresh((at, answer): &(Instant, Result<bool, Cause>)) -> bool {
    let keep = match answer {
        Ok(true) => KEEP_CODE,
        Ok(false) => KEEP_NO_CODE,
        Err(_) => KEEP_FAILURE,
    };
    at.elapsed() < keep
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::RemoteCall;

    const PAYER: Address = Address::repeat_byte(1);

    fn down() -> Cause {
        let call = RemoteCall::Rpc("eth_getCode");
        Cause::Unreachable { call }
    }

    #[tokio::test(start_paused = true)]
    async fn one_look_up_serves_all_callers_while_it_is_kept() {
        for (answer, keep) in [
            (Ok(true), KEEP_CODE),
            (Ok(false), KEEP_NO_CODE),
            (Err(down()), KEEP_FAILURE),
        ] {
            let (cache, asked) = (CodeCache::default(), AtomicUsize::new(0));
            let ask = || {
                cache.get(PAYER, async {
                    asked.fetch_add(1, Ordering::Relaxed);
                    tokio::task::yield_now().await;
                    answer.clone()
                })
            };
            let (first, second) = tokio::join!(ask(), ask());
            assert_eq!((&first, &second), (&answer, &answer));
            tokio::time::advance(keep - Duration::from_millis(1)).await;
            assert_eq!(ask().await, answer);
            assert_eq!(asked.load(Ordering::Relaxed), 1);
            tokio::time::advance(Duration::from_millis(1)).await;
            assert_eq!(ask().await, answer);
            assert_eq!(asked.load(Ordering::Relaxed), 2);
        }
    }

    #[tokio::test]
    async fn the_cache_is_bounded() {
        let cache = CodeCache::default();
        for number in 0..=ACCOUNTS {
            let account = Address::left_padding_from(&number.to_be_bytes());
            cache.get(account, async { Ok(false) }).await.unwrap();
        }
        assert_eq!(cache.accounts.lock().unwrap().len(), ACCOUNTS);
        // The first entry was dropped, so this asks again.
        assert_eq!(cache.get(Address::ZERO, async { Ok(true) }).await, Ok(true));
    }
}
