//! A custody provider that makes a limited number of wallets.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use alloy_primitives::{Address, Signature};

use crate::local::now;
use crate::{Attestation, Custody, CustodyError, CustodyFuture, Owner, Purpose, Subject, Wallet};

const HOUR_SECONDS: u64 = 3_600;

/// The most wallets that a provider makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The most wallets that may exist.
    pub most: usize,
    /// The most wallets that may be made within an hour.
    pub new_per_hour: usize,
}

/// The number of a provider's wallets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// All wallets, usable or not.
    pub all: usize,
    /// Those that were made since the requested time.
    pub new: usize,
    /// The time at which the first of the new ones was made, in Unix seconds.
    pub first_new: Option<u64>,
}

impl Count {
    /// Counts wallets. `all` of them exist, and these are the times at which they were made, as far
    /// as the times are known.
    #[must_use]
    pub fn of(all: usize, made: impl Iterator<Item = u64>, since: u64) -> Self {
        let new = made.filter(|made| *made >= since);
        new.fold(
            Self {
                all,
                ..Self::default()
            },
            |count, made| Self {
                new: count.new.saturating_add(1),
                first_new: Some(count.first_new.map_or(made, |first| first.min(made))),
                ..count
            },
        )
    }
}

/// A provider that can count its wallets, including those that other processes have made.
pub trait Counted: Custody {
    /// Counts the wallets. Wallets of other processes may be missing for a moment.
    fn count(&self, since: u64) -> CustodyFuture<'_, Count>;
}

/// A provider that makes no wallet beyond its [`Bounds`]. Everything else is the provider's own
/// matter: a wallet that exists can always be used.
///
/// The bounds hold exactly within one process. Several processes that share a provider may exceed
/// them by the number of wallets that they make at the same moment.
#[derive(Debug)]
pub struct Bounded<C> {
    custody: C,
    bounds: Bounds,
    /// The number of wallets that are being made.
    making: Arc<AtomicUsize>,
}

impl<C: Counted> Bounded<C> {
    /// Puts the provider under bounds.
    #[must_use]
    pub fn new(custody: C, bounds: Bounds) -> Self {
        Self {
            custody,
            bounds,
            making: Arc::default(),
        }
    }

    /// Whether one more wallet may be made beside `others` that are being made.
    async fn require_room(&self, others: usize) -> Result<(), CustodyError> {
        let now = now();
        let count = self.custody.count(now.saturating_sub(HOUR_SECONDS)).await?;
        let Bounds { most, new_per_hour } = self.bounds;
        if count.all.saturating_add(others) >= most {
            return Err(CustodyError::WalletsFull { most });
        }
        if count.new.saturating_add(others) >= new_per_hour {
            let ends = count.first_new.unwrap_or(now).saturating_add(HOUR_SECONDS);
            return Err(CustodyError::TooManyNewWallets {
                most: new_per_hour,
                retry_after_seconds: ends.saturating_sub(now).max(1),
            });
        }
        Ok(())
    }
}

/// A wallet that is being made, until this is dropped.
struct Making(Arc<AtomicUsize>);

impl Making {
    /// Counts one more wallet. Returns the number of those that were being made before it.
    fn begin(making: &Arc<AtomicUsize>) -> (Self, usize) {
        let others = making.fetch_add(1, Ordering::SeqCst);
        (Self(Arc::clone(making)), others)
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl<C: Counted> Custody for Bounded<C> {
    fn get_or_create(&self, owner: Owner) -> CustodyFuture<'_, Wallet> {
        Box::pin(async move {
            if let Some(wallet) = self.custody.find(owner).await? {
                return Ok(wallet);
            }
            let (_making, others) = Making::begin(&self.making);
            self.require_room(others).await?;
            self.custody.get_or_create(owner).await
        })
    }

    fn find(&self, owner: Owner) -> CustodyFuture<'_, Option<Wallet>> {
        self.custody.find(owner)
    }

    fn wallet_at(&self, address: Address) -> CustodyFuture<'_, Option<Wallet>> {
        self.custody.wallet_at(address)
    }

    fn sign<'a>(
        &'a self,
        wallet: Address,
        subject: Subject<'a>,
        purpose: Purpose,
    ) -> CustodyFuture<'a, Signature> {
        self.custody.sign(wallet, subject, purpose)
    }

    fn attest(&self, owner: Owner) -> CustodyFuture<'_, Option<Attestation>> {
        self.custody.attest(owner)
    }
}
