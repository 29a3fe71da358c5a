//! Limits how many requests an address may send.

use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use credit::{Cost, Newcomers, Refill, Rules};

use crate::config::DelegationSection;

/// The cost of one request. An address regains its requests per minute as cost units per second, so
/// one request costs sixty.
const REQUEST: Cost = Cost::micro_usd(60);

/// Separate allowances of reading and writing requests by address. A whole minute's requests may
/// come at once.
pub(super) struct RateLimits {
    start: Instant,
    reads: Mutex<Newcomers>,
    writes: Mutex<Newcomers>,
}

impl RateLimits {
    pub(super) fn new(section: &DelegationSection) -> Self {
        let of = |a_minute: u32| Mutex::new(Newcomers::new(rules(a_minute), 0));
        Self {
            start: Instant::now(),
            reads: of(section.gets_per_minute),
            writes: of(section.posts_per_minute),
        }
    }

    /// Takes one request from the address's allowance. If it is used up, returns the seconds until
    /// the next request.
    pub(super) fn take(&self, address: IpAddr, writes: bool) -> Result<(), u64> {
        let now = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        let of = if writes { &self.writes } else { &self.reads };
        let mut of = of.lock().unwrap_or_else(PoisonError::into_inner);
        match of.take(Some(address), REQUEST, now) {
            Ok(_spent) => Ok(()),
            Err(out) => Err(out.retry_after_seconds),
        }
    }
}

/// Each address has its own allowance. There is no shared pool.
fn rules(a_minute: u32) -> Rules {
    let nothing = Cost::micro_usd(0);
    Rules {
        pool: Refill {
            capacity: nothing,
            per_second: nothing,
        },
        address: Refill {
            capacity: REQUEST.times(a_minute),
            per_second: Cost::micro_usd(u64::from(a_minute)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_its_own_allowance_for_each_kind() {
        let section = DelegationSection {
            posts_per_minute: 2,
            gets_per_minute: 3,
            ..DelegationSection::default()
        };
        let limits = RateLimits::new(&section);
        let [one, two] = [IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2])];
        for (writes, count) in [(true, 2), (false, 3)] {
            for _ in 0..count {
                assert_eq!(limits.take(one, writes), Ok(()));
            }
            let wait = limits.take(one, writes).unwrap_err();
            assert!((1..=60 / count).contains(&wait), "{wait}");
            assert_eq!(limits.take(two, writes), Ok(()));
        }
    }
}
