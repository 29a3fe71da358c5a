//! Shares readings of the chain that nobody has paid for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use alloy_primitives::{Address, B256};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::OnChain;

/// For how long a reading is given to everybody who asks for the same grant.
const SHARED_FOR: Duration = Duration::from_secs(3);

/// The most grants whose readings are shared at the same time.
const MOST: usize = 1024;

/// An account and its grant.
type Of = (Address, B256);

/// The readings of the last seconds, and those that are under way.
#[derive(Default)]
pub(super) struct SharedReadings(Mutex<HashMap<Of, Shared>>);

struct Shared {
    begun: Instant,
    reading: Arc<OnceCell<Option<OnChain>>>,
}

impl SharedReadings {
    /// Returns the reading of a grant that began in the last seconds, or reads it now. Callers that
    /// ask at the same time wait for one reading.
    pub(super) async fn get(
        &self,
        of: Of,
        read: impl Future<Output = Option<OnChain>>,
    ) -> Option<OnChain> {
        match self.shared(of) {
            Some(shared) => shared.get_or_init(|| read).await.clone(),
            None => read.await,
        }
    }

    /// Returns the place of a grant's reading. `None` when too many grants are asked for.
    fn shared(&self, of: Of) -> Option<Arc<OnceCell<Option<OnChain>>>> {
        let mut readings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        readings.retain(|_, shared| shared.begun.elapsed() < SHARED_FOR);
        if readings.len() >= MOST && !readings.contains_key(&of) {
            return None;
        }
        let shared = readings.entry(of).or_insert_with(|| Shared {
            begun: Instant::now(),
            reading: Arc::default(),
        });
        Some(Arc::clone(&shared.reading))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const ACCOUNT: Address = Address::repeat_byte(1);

    async fn read(count: &AtomicUsize) -> Option<OnChain> {
        count.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(100)).await;
        Some(OnChain {
            block: None,
            disabled: false,
            disable: None,
        })
    }

    #[tokio::test(start_paused = true)]
    async fn a_grant_is_read_once_in_some_seconds_however_many_ask() {
        let (readings, count) = (SharedReadings::default(), AtomicUsize::new(0));
        let of = (ACCOUNT, B256::repeat_byte(2));
        let (one, two) = tokio::join!(
            readings.get(of, read(&count)),
            readings.get(of, read(&count))
        );
        assert!(one.is_some() && one == two);
        tokio::time::advance(Duration::from_millis(2_800)).await;
        readings.get(of, read(&count)).await;
        assert_eq!(count.load(Ordering::SeqCst), 1);
        readings.get((ACCOUNT, B256::ZERO), read(&count)).await;
        assert_eq!(count.load(Ordering::SeqCst), 2);
        tokio::time::advance(SHARED_FOR).await;
        readings.get(of, read(&count)).await;
        assert_eq!(count.load(Ordering::SeqCst), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn more_grants_than_are_remembered_are_read_without_sharing() {
        let (readings, count) = (SharedReadings::default(), AtomicUsize::new(0));
        for number in 0..=MOST {
            let of = (ACCOUNT, B256::from(alloy_primitives::U256::from(number)));
            assert_eq!(readings.shared(of).is_some(), number < MOST, "{number}");
        }
        let other = (ACCOUNT, B256::repeat_byte(0xff));
        for _ in 0..2 {
            readings.get(other, read(&count)).await;
        }
        assert_eq!(count.load(Ordering::SeqCst), 2);
    }
}
