//! Divides the venues' limits among callers.
//!
//! A venue limits the requests of this server, so one caller could use up the limit of all. Each
//! rail therefore has a pool of upstream requests for everybody, and each client address has a
//! share of its own while the pool is dry ([`credit::Newcomers`]). Before its first request a call
//! takes the most that its plan can cost, and afterwards it gives back the unused part. An answer
//! from memory costs nothing.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use calldata_checks::Rail;
use calldata_checks::bridge::AccountKind;
use credit::{Cost, Newcomers, OutOfCredit, Refill, Rules, Taken};
use data_sources::{Caller, Meter};
use plan_builder::{Refusal, Request};

use crate::monotonic::{Monotonic, millis};

/// The cost of one request in the unit of [`credit`]. With this value a number of requests an hour
/// is a whole number a second.
const REQUEST: Cost = Cost::micro_usd(3_600);

/// The requests that callers may cause at the upstreams of one rail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShareRules {
    /// The most that all callers together may use at once.
    pub pool: u32,
    /// The pool's refill in an hour.
    pub pool_per_hour: u32,
    /// The most that one client address may use at once while the pool is dry.
    pub address: u32,
    /// An address's refill in an hour.
    pub address_per_hour: u32,
}

impl ShareRules {
    /// Shares that fit the venue's own limit for a server without a key: LI.FI 75 quotes in two
    /// hours, Circle 35 requests a second, Polymarket several hundred in ten seconds, Hyperliquid
    /// 60 readings a minute.
    #[must_use]
    pub const fn usual(rail: Rail) -> Self {
        let (pool, pool_per_hour, address, address_per_hour) = match rail {
            Rail::Swap => (20, 15, 4, 4),
            Rail::Bridge => (30, 36_000, 24, 1_800),
            Rail::PmOrder => (120, 36_000, 12, 1_800),
            Rail::PerpOrder => (20, 1_500, 8, 240),
        };
        Self {
            pool,
            pool_per_hour,
            address,
            address_per_hour,
        }
    }

    fn rules(self) -> Rules {
        let refill = |requests, per_hour: u32| Refill {
            capacity: REQUEST.times(requests),
            per_second: Cost::micro_usd(per_hour.into()),
        };
        Rules {
            pool: refill(self.pool, self.pool_per_hour),
            address: refill(self.address, self.address_per_hour),
        }
    }
}

/// The most requests that any plan of a rail causes when no request is repeated: readings of its
/// venue, and requests to nodes for its simulation or its account. The one request for a node's
/// chain id does not count.
#[must_use]
pub(crate) const fn most(rail: Rail) -> u32 {
    match rail {
        // A quote, a second quote without an unreviewed exchange, two prices in one request, a
        // simulation.
        Rail::Swap => 4,
        Rail::Bridge => BRIDGE + 2 * SAFE,
        Rail::PerpOrder => 5,
        Rail::PmOrder => 7,
    }
}

/// The most requests that the cheapest kind of plan of a rail causes, and so the least that a share
/// must hold. Dearer plans then need the pool.
#[must_use]
pub(crate) const fn least(rail: Rail) -> u32 {
    match rail {
        // One reading for the account: its code.
        Rail::Bridge => BRIDGE + 1,
        Rail::Swap | Rail::PmOrder | Rail::PerpOrder => most(rail),
    }
}

/// The most requests that one plan causes.
fn most_of(request: &Request) -> u32 {
    match request {
        Request::Bridge(bridge) if bridge.asked().account_kind == AccountKind::Safe => {
            most(Rail::Bridge)
        }
        _ => least(request.rail()),
    }
}

/// Requests of a bridge: the fees, the remaining fast transfers, the chain's least fee, a
/// simulation.
const BRIDGE: u32 = 4;
/// Requests for a Safe on each of its chains: its code, owners, threshold, version, singleton, the
/// singleton's code, modules, guard, guard of modules and fallback handler.
const SAFE: u32 = 10;

/// The pools and shares of a server.
pub(crate) struct Shares {
    rails: [Mutex<Newcomers>; Rail::ALL.len()],
    clock: Monotonic,
    /// The pools and shares that changed since the last write; unset when they are never written.
    changed: OnceLock<Mutex<HashSet<Key>>>,
}

/// A rail's pool, or the share of an address in it.
pub(crate) type Key = (Rail, Option<IpAddr>);

impl Shares {
    /// Full pools and shares with the rules of each rail.
    pub(crate) fn new(rules: impl Fn(Rail) -> ShareRules, clock: Monotonic) -> Self {
        let now = millis(&clock);
        Self {
            rails: Rail::ALL.map(|rail| Mutex::new(Newcomers::new(rules(rail).rules(), now))),
            clock,
            changed: OnceLock::new(),
        }
    }

    /// Takes the most that the plan of a request can cost, from the pool or from the share of the
    /// client's address.
    ///
    /// # Errors
    /// `rate_limited`, with the time after which the share suffices.
    pub(crate) fn take(
        &self,
        request: &Request,
        client: Option<IpAddr>,
    ) -> Result<Share<'_>, Refusal> {
        self.take_requests(request.rail(), most_of(request), client)
    }

    fn take_requests(
        &self,
        rail: Rail,
        requests: u32,
        client: Option<IpAddr>,
    ) -> Result<Share<'_>, Refusal> {
        let cost = REQUEST.times(requests);
        let taken = self
            .of(rail)
            .take(client, cost, millis(&self.clock))
            .map_err(|refused| out_of_share(rail, refused))?;
        self.note((rail, taken.share_of()));
        Ok(Share {
            shares: self,
            rail,
            taken: Some(taken),
            meter: Meter::new(Caller::Newcomer),
        })
    }

    /// Sets a pool or share to the `level` that it had `since_ms` ago, by the name that
    /// [`Self::level`] gave it. Ignores an unknown name.
    pub(crate) fn resume(&self, name: &str, level: u64, since_ms: u64) {
        let (rail, address) = match name.split_once(' ') {
            None => (name, None),
            Some((rail, address)) => match address.parse() {
                Ok(address) => (rail, Some(address)),
                Err(_) => return,
            },
        };
        let Some(rail) = Rail::ALL.into_iter().find(|known| known.as_str() == rail) else {
            return;
        };
        let (now, left) = (millis(&self.clock), Cost::micro_usd(level));
        let mut newcomers = self.of(rail);
        match address {
            None => newcomers.restore_pool(left, since_ms, now),
            Some(address) => newcomers.restore_share(address, left, since_ms, now),
        }
    }

    /// The pools and shares that changed since the previous call. The first call starts the
    /// recording of changes.
    pub(crate) fn changed(&self) -> Vec<Key> {
        lock(self.changed.get_or_init(Mutex::default))
            .drain()
            .collect()
    }

    /// The name and the level of a pool or share.
    pub(crate) fn level(&self, (rail, address): Key) -> (String, u64) {
        let now = millis(&self.clock);
        let mut newcomers = self.of(rail);
        let rail = rail.as_str();
        let (name, left) = match address {
            None => (rail.to_owned(), newcomers.left_in_pool(now)),
            Some(address) => (
                format!("{rail} {address}"),
                newcomers.left_in_share(address, now),
            ),
        };
        (name, left.as_micro_usd())
    }

    /// Records a change of a pool or share.
    pub(crate) fn note(&self, key: Key) {
        if let Some(changed) = self.changed.get() {
            lock(changed).insert(key);
        }
    }

    fn of(&self, rail: Rail) -> MutexGuard<'_, Newcomers> {
        let at = Rail::ALL.iter().position(|found| *found == rail);
        let [first, ..] = &self.rails;
        let newcomers = at.and_then(|at| self.rails.get(at)).unwrap_or(first);
        lock(newcomers)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The amount that one call took. Dropping it gives back the part that its requests did not use,
/// even when the caller disconnects.
pub(crate) struct Share<'a> {
    shares: &'a Shares,
    rail: Rail,
    taken: Option<Taken>,
    meter: Meter,
}

impl Share<'_> {
    /// Runs the work that this share pays for.
    pub(crate) async fn spend<F: Future>(&self, work: F) -> F::Output {
        self.meter.scope(work).await
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        if let Some(taken) = self.taken.take() {
            let spent = REQUEST.times(self.meter.usage().upstream_calls);
            let of = taken.share_of();
            self.shares.of(self.rail).give_back(taken, spent);
            self.shares.note((self.rail, of));
            // A cost above the taken amount comes out of the pool.
            self.shares.note((self.rail, None));
        }
    }
}

fn out_of_share(rail: Rail, refused: OutOfCredit) -> Refusal {
    let rail = rail.as_str();
    let seconds = refused.retry_after_seconds;
    Refusal::new(
        Refusal::RATE_LIMITED,
        format!("this caller's share of {rail} plans is used up; try again in {seconds} seconds"),
    )
    .comparing(
        "a share of the requests that the venue allows this server",
        "the common pool is dry, and so is the share of the caller's address",
    )
    .after(seconds)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    use super::*;

    const RULES: ShareRules = ShareRules {
        pool: 8,
        pool_per_hour: 4,
        address: 4,
        address_per_hour: 120,
    };

    fn shares() -> (Shares, Arc<AtomicU64>) {
        let seconds = Arc::new(AtomicU64::new(0));
        let now = seconds.clone();
        let clock: Monotonic = Arc::new(move || Duration::from_secs(now.load(Ordering::Relaxed)));
        (Shares::new(|_| RULES, clock), seconds)
    }

    fn address(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    fn take(shares: &Shares, rail: Rail, client: Option<IpAddr>) -> Result<Share<'_>, Refusal> {
        shares.take_requests(rail, most(rail), client)
    }

    /// Makes a call that uses everything it took.
    fn call(shares: &Shares, client: Option<IpAddr>) -> Result<(), Refusal> {
        let mut share = take(shares, Rail::Swap, client)?;
        // The call gives nothing back.
        let _spent = share.taken.take();
        Ok(())
    }

    #[test]
    fn one_caller_empties_the_pool_and_its_own_share_only() {
        let (shares, seconds) = shares();
        let (greedy, modest) = (address("192.0.2.1"), address("192.0.2.2"));
        for _ in 0..3 {
            call(&shares, greedy).unwrap();
        }
        let refused = call(&shares, greedy).unwrap_err();
        assert_eq!(refused.check, Refusal::RATE_LIMITED);
        assert_eq!(refused.retry_after.map(u32::from), Some(120));
        call(&shares, modest).unwrap();
        assert!(call(&shares, modest).is_err());
        // Another rail has another venue.
        assert!(shares.take_requests(Rail::Bridge, 5, greedy).is_ok());
        seconds.store(120, Ordering::Relaxed);
        call(&shares, greedy).unwrap();
    }

    #[test]
    fn a_call_without_requests_gives_back_everything() {
        let (shares, _) = shares();
        let client = address("192.0.2.1");
        for _ in 0..100 {
            drop(take(&shares, Rail::Swap, client).unwrap());
        }
        // While a call is in progress, other callers cannot use the amount that it took.
        let held: Vec<_> = (0..3).map(|_| take(&shares, Rail::Swap, client)).collect();
        assert!(held.iter().all(Result::is_ok));
        assert!(take(&shares, Rail::Swap, client).is_err());
        drop(held);
        assert!(take(&shares, Rail::Swap, client).is_ok());
    }

    #[test]
    fn levels_of_shares_are_named_and_found_again() {
        let (before, _) = shares();
        let client = address("2001:db8::1");
        call(&before, client).unwrap();
        // Without a writer, no change is recorded.
        assert!(before.changed().is_empty());
        call(&before, client).unwrap();
        call(&before, client).unwrap();
        let mut levels: Vec<(String, u64)> = before
            .changed()
            .into_iter()
            .map(|key| before.level(key))
            .collect();
        levels.sort();
        let named = |name: &str, level| (name.to_owned(), level);
        assert_eq!(levels, [named("swap", 0), named("swap 2001:db8::1", 0)]);
        assert!(before.changed().is_empty());

        let (after, seconds) = shares();
        for (name, level) in levels {
            after.resume(&name, level, 60_000);
        }
        // Unknown names are ignored.
        for unknown in ["", "lottery", "swap nobody", "lottery 192.0.2.1"] {
            after.resume(unknown, 0, 0);
        }
        // A share regains two requests in a minute. After one minute it does not cover a plan,
        // which may cost four.
        assert!(call(&after, client).is_err());
        call(&after, address("192.0.2.1")).unwrap();
        seconds.store(60, Ordering::Relaxed);
        call(&after, client).unwrap();
    }

    #[test]
    fn a_bridge_costs_the_reading_of_its_account() {
        let arguments = |kind| {
            format!(
                r#"{{"accountProfile":{{"kind":"{kind}","address":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8","chainId":8453}},
                "fromChainId":8453,"toChainId":42161,"token":"USDC","amount":"1000000"}}"#
            )
        };
        for (kind, requests) in [("eoa", 5), ("safe", 24)] {
            let request = Request::parse(Rail::Bridge, &arguments(kind)).unwrap();
            assert_eq!(most_of(&request), requests);
        }
        assert_eq!(most(Rail::Bridge), 24);
    }

    #[test]
    fn a_share_affords_a_plan_by_the_usual_rules() {
        for rail in Rail::ALL {
            let usual = ShareRules::usual(rail);
            assert!(usual.address >= most(rail) && usual.pool >= usual.address);
        }
    }
}
