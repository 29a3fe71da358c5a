//! The rate of calls for everybody, and a share for each address while that rate is used up.
//!
//! The clocks are those of the crate `governor`; [`clock`] has them for users and their tests.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

pub use governor::clock;
use governor::clock::{Clock, MonotonicClock};
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::{InMemoryState, NotKeyed, StateStore};
use governor::{Quota, RateLimiter};
use hashlink::LruCache;

/// A rate of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Calls a second in the long run. 0 counts as 1.
    pub per_second: u32,
    /// Calls in a burst. 0 counts as 1.
    pub burst: u32,
}

/// The most addresses whose shares are remembered.
const MOST_ADDRESSES: usize = 65_536;

/// Each address has this fraction of the limits for itself: one hundredth.
const SHARE: u32 = 100;

/// The longest wait in an answer, in seconds.
const MOST_WAIT: u64 = 3_600;

type Limiter<K, S, C> = RateLimiter<K, S, C, NoOpMiddleware<<C as Clock>::Instant>>;

/// The rate of all callers and the shares of their addresses, over one clock.
pub struct Rates<C: Clock = MonotonicClock> {
    clock: C,
    all: Limiter<NotKeyed, InMemoryState, C>,
    /// `None` where a hundredth of the burst is less than one call.
    addresses: Option<Limiter<IpAddr, RecentAddresses, C>>,
}

impl<C: Clock + Clone> Rates<C> {
    /// Makes an unused allowance of `rate` for all callers, and of a hundredth of it for each
    /// address.
    #[must_use]
    pub fn new(rate: Rate, clock: C) -> Self {
        Self::holding(MOST_ADDRESSES, rate, clock)
    }

    fn holding(most_addresses: usize, rate: Rate, clock: C) -> Self {
        let [per_second, burst] = [rate.per_second, rate.burst]
            .map(|limit| NonZeroU32::new(limit).unwrap_or(NonZeroU32::MIN));
        let all = Quota::per_second(per_second).allow_burst(burst);
        let period = Duration::from_secs(SHARE.into()) / per_second.get();
        let share = NonZeroU32::new(burst.get() / SHARE)
            .and_then(|burst| Some(Quota::with_period(period)?.allow_burst(burst)));
        Self {
            all: RateLimiter::new(all, InMemoryState::default(), clock.clone()),
            addresses: share.map(|share| {
                RateLimiter::new(share, RecentAddresses::new(most_addresses), clock.clone())
            }),
            clock,
        }
    }

    /// Takes one call of a client.
    ///
    /// # Errors
    /// The allowance is used up. The number is the seconds until a call is possible, at least 1
    /// and at most 3,600.
    pub fn take(&self, client: Option<IpAddr>) -> Result<(), u64> {
        let Err(used_up) = self.all.check() else {
            return Ok(());
        };
        let now = self.clock.now();
        let mut wait = used_up.wait_time_from(now);
        if let (Some(addresses), Some(client)) = (&self.addresses, client) {
            match addresses.check_key(&client) {
                Ok(()) => return Ok(()),
                Err(used_up) => wait = wait.min(used_up.wait_time_from(now)),
            }
        }
        let seconds = wait.as_secs();
        let begun = u64::from(wait.subsec_nanos() > 0);
        Err(seconds.saturating_add(begun).clamp(1, MOST_WAIT))
    }
}

/// The states of the addresses that called last. The library's own stores keep every address until
/// a sweep. This one forgets the address whose last call is oldest, so that a crowd of addresses
/// cannot use unbounded memory.
struct RecentAddresses(Mutex<LruCache<IpAddr, Nanos>>);

impl RecentAddresses {
    fn new(most: usize) -> Self {
        Self(Mutex::new(LruCache::new(most)))
    }
}

impl StateStore for RecentAddresses {
    type Key = IpAddr;

    fn measure_and_replace<T, F, E>(&self, address: &IpAddr, measure: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let mut states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (outcome, state) = measure(states.get(address).copied())?;
        states.insert(*address, state);
        Ok(outcome)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use governor::clock::FakeRelativeClock;

    use super::*;

    fn rates(most_addresses: usize, burst: u32) -> (Rates<FakeRelativeClock>, FakeRelativeClock) {
        let clock = FakeRelativeClock::default();
        let rate = Rate {
            per_second: 100,
            burst,
        };
        let rates = Rates::holding(most_addresses, rate, clock.clone());
        while rates.take(None).is_ok() {}
        (rates, clock)
    }

    fn address(number: u32) -> Option<IpAddr> {
        Some(Ipv4Addr::from_bits(number).into())
    }

    #[test]
    fn a_share_comes_back_at_a_hundredth_of_the_rate() {
        let (rates, clock) = rates(8, 200);
        assert_eq!(
            [1, 1, 1].map(|it| rates.take(address(it)).is_ok()),
            [true, true, false]
        );
        clock.advance(Duration::from_millis(999));
        // The common limit that has come back meanwhile is used up again.
        while rates.take(None).is_ok() {}
        assert_eq!(rates.take(address(1)), Err(1));
        clock.advance(Duration::from_millis(1));
        assert_eq!(rates.take(address(1)), Ok(()));
    }

    #[test]
    fn a_crowd_of_addresses_is_held_up_to_the_bound() {
        let (rates, _) = rates(4, 100);
        for number in 0..1_000 {
            assert_eq!(rates.take(address(number)), Ok(()), "{number}");
            assert_eq!(rates.take(address(number)), Err(1), "{number}");
        }
        let held = rates
            .addresses
            .unwrap()
            .into_state_store()
            .0
            .into_inner()
            .unwrap();
        assert_eq!(held.len(), 4);
    }

    #[test]
    fn small_limits_have_no_shares() {
        let (rates, _) = rates(4, 99);
        assert!(rates.addresses.is_none());
        assert_eq!(rates.take(address(1)), Err(1));
    }

    #[test]
    fn waits_are_whole_seconds_of_an_hour_at_most() {
        let clock = FakeRelativeClock::default();
        let rate = Rate {
            per_second: 0,
            burst: 0,
        };
        let rates = Rates::new(rate, clock.clone());
        assert_eq!([rates.take(None), rates.take(None)], [Ok(()), Err(1)]);
        clock.advance(Duration::from_millis(1));
        assert_eq!(rates.take(None), Err(1));
        clock.advance(Duration::from_millis(999));
        assert_eq!(rates.take(None), Ok(()));
    }
}
