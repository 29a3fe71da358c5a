//! The pool of callers without credit of their own, and the shares of their addresses.
//!
//! [`Newcomers`] bounds the cost of work that nobody has paid for. Its callers bring the time and
//! the costs, and keep the levels over a restart.

use std::net::IpAddr;

use hashlink::LruCache;
use thiserror::Error;

use crate::{
    Cost,
    bucket::{Bucket, Refill},
};

/// The most addresses whose shares are held.
pub const MAX_ADDRESSES: usize = 65_536;

/// The limits of newcomers' uncharged work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The pool that all newcomers share.
    pub pool: Refill,
    /// The share of each address. It counts while the pool is empty.
    pub address: Refill,
}

/// Neither the pool nor the address's share covers the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no credit is left for uncharged work; try again in {retry_after_seconds} seconds")]
pub struct OutOfCredit {
    /// The earliest time for another attempt, if no other caller comes first.
    pub retry_after_seconds: u64,
}

/// The amount that was taken for one call. It is spent unless it is given back.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "an amount that is not given back is spent"]
pub struct Taken {
    purse: Purse,
    cost: Cost,
}

impl Taken {
    /// The taken amount.
    #[must_use]
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// The address whose share it came from; `None` when it came from the pool.
    #[must_use]
    pub fn share_of(&self) -> Option<IpAddr> {
        match self.purse {
            Purse::Pool => None,
            Purse::Address(address) => Some(address),
        }
    }
}

/// The cost of one call, by its source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Taken from the pool.
    pub pool: Cost,
    /// Taken from the share of an address.
    pub address: Option<(IpAddr, Cost)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purse {
    Pool,
    Address(IpAddr),
}

/// The pool and the shares of callers that have no credit of their own.
///
/// Times are milliseconds from any fixed moment. Callers reduce IPv6 addresses to their network
/// first, because each different address has its own share.
#[derive(Debug)]
pub struct Newcomers {
    rules: Rules,
    pool: Bucket,
    shares: LruCache<IpAddr, Bucket>,
}

impl Newcomers {
    /// Starts with a full pool and full shares.
    #[must_use]
    pub fn new(rules: Rules, now_ms: u64) -> Self {
        Self {
            rules,
            pool: Bucket::full(&rules.pool, now_ms),
            shares: LruCache::new(MAX_ADDRESSES),
        }
    }

    /// Takes `cost` from the pool, or from the address's share while the pool is empty. A caller
    /// without an address has only the pool.
    ///
    /// # Errors
    /// [`OutOfCredit`]. Then nothing is taken.
    pub fn take(
        &mut self,
        address: Option<IpAddr>,
        cost: Cost,
        now_ms: u64,
    ) -> Result<Taken, OutOfCredit> {
        let dry = match self.pool.take(&self.rules.pool, cost, now_ms) {
            Ok(()) => {
                let purse = Purse::Pool;
                return Ok(Taken { purse, cost });
            }
            Err(seconds) => seconds,
        };
        let Some(address) = address else {
            return Err(OutOfCredit {
                retry_after_seconds: dry,
            });
        };
        let refill = self.rules.address;
        match self.share(address, now_ms).take(&refill, cost, now_ms) {
            Ok(()) => {
                let purse = Purse::Address(address);
                Ok(Taken { purse, cost })
            }
            // A share below the cost never covers it, so its wait does not count.
            Err(_) if cost > refill.capacity => Err(OutOfCredit {
                retry_after_seconds: dry,
            }),
            Err(seconds) => Err(OutOfCredit {
                retry_after_seconds: dry.min(seconds),
            }),
        }
    }

    /// Raises the amount of a call to `cost`. The source may change, as if nothing had been taken
    /// before.
    ///
    /// # Errors
    /// [`OutOfCredit`]. Then the earlier amount stays taken.
    pub fn extend(
        &mut self,
        taken: Taken,
        address: Option<IpAddr>,
        cost: Cost,
        now_ms: u64,
    ) -> (Taken, Result<(), OutOfCredit>) {
        if taken.cost >= cost {
            return (taken, Ok(()));
        }
        let Taken {
            purse,
            cost: before,
        } = taken;
        self.put_back(purse, before);
        match self.take(address, cost, now_ms) {
            Ok(taken) => (taken, Ok(())),
            Err(out) => {
                self.take_again(purse, before);
                let cost = before;
                (Taken { purse, cost }, Err(out))
            }
        }
    }

    /// Returns the unspent part of `taken` to its source. The pool pays a cost above `taken`. When
    /// the pool holds less, the rest becomes its debt, and refills pay the debt first. Returns the
    /// cost by source, for the caller to record.
    pub fn give_back(&mut self, taken: Taken, spent: Cost) -> Spent {
        let beyond = spent.minus(taken.cost);
        self.pool.drain(beyond);
        let rest = taken.cost.minus(spent);
        self.put_back(taken.purse, rest);
        match taken.purse {
            Purse::Pool => Spent {
                pool: spent,
                address: None,
            },
            Purse::Address(address) => Spent {
                pool: beyond,
                address: Some((address, spent.minus(beyond))),
            },
        }
    }

    fn put_back(&mut self, purse: Purse, cost: Cost) {
        match purse {
            Purse::Pool => self.pool.give_back(&self.rules.pool, cost),
            Purse::Address(address) => {
                // A share that was dropped since is full again.
                if let Some(share) = self.shares.get_mut(&address) {
                    share.give_back(&self.rules.address, cost);
                }
            }
        }
    }

    fn take_again(&mut self, purse: Purse, cost: Cost) {
        match purse {
            Purse::Pool => self.pool.drain(cost),
            Purse::Address(address) => {
                if let Some(share) = self.shares.get_mut(&address) {
                    share.drain(cost);
                }
            }
        }
    }

    /// Returns the amount in the pool.
    #[must_use]
    pub fn left_in_pool(&mut self, now_ms: u64) -> Cost {
        self.pool.left(&self.rules.pool, now_ms)
    }

    /// Returns the amount in the share of an address; its capacity when the share is not held.
    #[must_use]
    pub fn left_in_share(&mut self, address: IpAddr, now_ms: u64) -> Cost {
        let refill = self.rules.address;
        match self.shares.peek_mut(&address) {
            Some(share) => share.left(&refill, now_ms),
            None => refill.capacity,
        }
    }

    /// Restores the pool from the amount that was `left` in it `since_ms` milliseconds ago, and
    /// adds the refill since.
    pub fn restore_pool(&mut self, left: Cost, since_ms: u64, now_ms: u64) {
        self.pool = Bucket::refilled(&self.rules.pool, left, since_ms, now_ms);
    }

    /// Restores the share of an address from the amount that was `left` in it `since_ms`
    /// milliseconds ago, and adds the refill since.
    pub fn restore_share(&mut self, address: IpAddr, left: Cost, since_ms: u64, now_ms: u64) {
        let share = Bucket::refilled(&self.rules.address, left, since_ms, now_ms);
        self.shares.insert(address, share);
    }

    fn share(&mut self, address: IpAddr, now_ms: u64) -> &mut Bucket {
        let full = Bucket::full(&self.rules.address, now_ms);
        if !self.shares.contains_key(&address) {
            // `insert` evicts the oldest share at the limit. An insertion by `entry` would not.
            self.shares.insert(address, full);
        }
        self.shares.entry(address).or_insert(full)
    }
}

#[cfg(test)]
mod tests;
