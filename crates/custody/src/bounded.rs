//! A custody provider that makes a limited number of wallets.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use alloy_primitives::{Address, Signature};

use crate::local::{lock, now};
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

/// The owners of wallets, and when each wallet was made, in Unix seconds, as far as it is known.
pub type Owners = HashMap<Owner, Option<u64>>;

/// A provider that can count its wallets, including those that other processes have made.
pub trait Counted: Custody {
    /// The owners of all wallets, usable or not, and of those that are being made. Wallets of other
    /// processes may be missing for a moment.
    fn counted(&self) -> CustodyFuture<'_, Owners>;
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
    /// The owners whose wallets are being made, once for each request.
    making: Arc<Mutex<Vec<Owner>>>,
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

    /// Whether the owner's wallet may be made beside those of `others` that are being made. Each
    /// owner counts once, also when its wallet was begun before.
    async fn require_room(&self, owner: Owner, others: &[Owner]) -> Result<(), CustodyError> {
        let (now, mut owners) = (now(), self.custody.counted().await?);
        owners.extend(others.iter().map(|other| (*other, Some(now))));
        owners.remove(&owner);
        let Bounds { most, new_per_hour } = self.bounds;
        if owners.len() >= most {
            return Err(CustodyError::WalletsFull { most });
        }
        let since = now.saturating_sub(HOUR_SECONDS);
        let new = || owners.values().flatten().filter(|made| **made >= since);
        if new().count() >= new_per_hour {
            let ends = new().min().unwrap_or(&now).saturating_add(HOUR_SECONDS);
            return Err(CustodyError::TooManyNewWallets {
                most: new_per_hour,
                retry_after_seconds: ends.saturating_sub(now).max(1),
            });
        }
        Ok(())
    }
}

/// A wallet that is being made, until this is dropped.
struct Making {
    owner: Owner,
    making: Arc<Mutex<Vec<Owner>>>,
}

impl Making {
    /// Notes one more wallet. Returns the owners of those that were being made before it.
    fn begin(owner: Owner, making: &Arc<Mutex<Vec<Owner>>>) -> (Self, Vec<Owner>) {
        let mut owners = lock(making);
        let others = owners.clone();
        owners.push(owner);
        let making = Arc::clone(making);
        (Self { owner, making }, others)
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        let mut owners = lock(&self.making);
        if let Some(at) = owners.iter().position(|owner| *owner == self.owner) {
            owners.remove(at);
        }
    }
}

impl<C: Counted> Custody for Bounded<C> {
    fn get_or_create(&self, owner: Owner) -> CustodyFuture<'_, Wallet> {
        Box::pin(async move {
            if let Some(wallet) = self.custody.find(owner).await? {
                return Ok(wallet);
            }
            let (_making, others) = Making::begin(owner, &self.making);
            self.require_room(owner, &others).await?;
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
