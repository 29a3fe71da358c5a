//! The pool of those who have no credit of their own, and the shares of their addresses.

use std::net::IpAddr;

use hashlink::LruCache;
use thiserror::Error;

use crate::{Cost, bucket::Bucket};

/// Addresses whose shares are held at most.
pub const MAX_ADDRESSES: usize = 65_536;

/// How much can be taken, and how fast it comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refill {
    /// The most that is there, and what there is at first.
    pub capacity: Cost,
    /// What comes back in a second.
    pub per_second: Cost,
}

/// What newcomers may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The pool that all of them share.
    pub pool: Refill,
    /// The share of each address, used while the pool is dry.
    pub address: Refill,
}

/// Neither the pool nor the address's share covers the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no credit is left for uncharged work; try again in {retry_after_seconds} seconds")]
pub struct OutOfCredit {
    /// When the call can be afforded at the earliest, if nobody else comes first.
    pub retry_after_seconds: u64,
}

/// What was taken for one call. It is spent unless it is given back.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "what is not given back is spent"]
pub struct Taken {
    purse: Purse,
    cost: Cost,
}

impl Taken {
    /// How much was taken.
    #[must_use]
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// The address whose share it was taken from; `None` when it was the pool.
    #[must_use]
    pub fn share_of(&self) -> Option<IpAddr> {
        match self.purse {
            Purse::Pool => None,
            Purse::Address(address) => Some(address),
        }
    }
}

/// What one call has cost, by who pays for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// The pool.
    pub pool: Cost,
    /// The share of an address.
    pub address: Option<(IpAddr, Cost)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purse {
    Pool,
    Address(IpAddr),
}

/// Those who have no credit of their own.
///
/// Times are milliseconds from any fixed moment. Addresses come as they are to be told apart: an
/// IPv6 address is best reduced to its network first.
#[derive(Debug)]
pub struct Newcomers {
    rules: Rules,
    pool: Bucket,
    shares: LruCache<IpAddr, Bucket>,
}

impl Newcomers {
    /// A full pool and full shares.
    #[must_use]
    pub fn new(rules: Rules, now_ms: u64) -> Self {
        Self {
            rules,
            pool: Bucket::full(&rules.pool, now_ms),
            shares: LruCache::new(MAX_ADDRESSES),
        }
    }

    /// Takes `cost` from the pool, or from the address's share while the pool is dry. A caller
    /// without an address has only the pool.
    ///
    /// # Errors
    /// [`OutOfCredit`], and nothing is taken.
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
            // A share that can never hold the cost does not shorten the wait.
            Err(_) if cost > refill.capacity => Err(OutOfCredit {
                retry_after_seconds: dry,
            }),
            Err(seconds) => Err(OutOfCredit {
                retry_after_seconds: dry.min(seconds),
            }),
        }
    }

    /// Takes more for a call, until `cost` is taken in all, as if nothing had been taken before.
    ///
    /// # Errors
    /// [`OutOfCredit`], and what was taken before stays taken.
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

    /// Gives back what of `taken` was not spent. What was spent beyond it comes out of the pool.
    /// What the pool does not hold it owes: nothing can be taken from it until that has come in.
    /// Returns who has paid how much, for whoever writes it down.
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
                // A share that was forgotten since is full again.
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

    /// What is left in the pool.
    #[must_use]
    pub fn left_in_pool(&mut self, now_ms: u64) -> Cost {
        self.pool.left(&self.rules.pool, now_ms)
    }

    /// What is left of the share of an address; the whole of it for one that is not held.
    #[must_use]
    pub fn left_in_share(&mut self, address: IpAddr, now_ms: u64) -> Cost {
        let refill = self.rules.address;
        match self.shares.peek_mut(&address) {
            Some(share) => share.left(&refill, now_ms),
            None => refill.capacity,
        }
    }

    /// Sets the pool to what was `left` in it `since_ms` milliseconds ago, and what has come in
    /// since.
    pub fn restore_pool(&mut self, left: Cost, since_ms: u64, now_ms: u64) {
        self.pool = Bucket::refilled(&self.rules.pool, left, since_ms, now_ms);
    }

    /// Sets the share of an address to what was `left` of it `since_ms` milliseconds ago, and what
    /// has come in since.
    pub fn restore_share(&mut self, address: IpAddr, left: Cost, since_ms: u64, now_ms: u64) {
        let share = Bucket::refilled(&self.rules.address, left, since_ms, now_ms);
        self.shares.insert(address, share);
    }

    fn share(&mut self, address: IpAddr, now_ms: u64) -> &mut Bucket {
        let full = Bucket::full(&self.rules.address, now_ms);
        if !self.shares.contains_key(&address) {
            // Unlike an insertion by `entry`, this one makes room for itself.
            self.shares.insert(address, full);
        }
        self.shares.entry(address).or_insert(full)
    }
}

#[cfg(test)]
mod tests;
