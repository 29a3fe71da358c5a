//! What the delegations of a server ask of the accounts and chains that plans are sent with.

use std::sync::{Arc, Mutex, PoisonError};

use alloy_primitives::Address;
use delegation_fence::{AccountKind, Now};
use fence_server::{Accounts, Clocks, PortError, PortFuture};
use plan_checks::UtcSeconds;

use crate::{ChainReader, Route};

/// The accounts of these routes.
pub struct RoutedAccounts(Vec<Arc<dyn Route>>);

impl RoutedAccounts {
    /// The accounts of these routes.
    #[must_use]
    pub fn new(routes: Vec<Arc<dyn Route>>) -> Self {
        Self(routes)
    }
}

impl Accounts for RoutedAccounts {
    fn sends_for(&self, kind: AccountKind) -> bool {
        self.0.iter().any(|route| route.kind() == kind)
    }

    fn owner(&self, account: Address) -> PortFuture<'_, Result<Option<Address>, PortError>> {
        Box::pin(async move {
            let kind = AccountKind::SubWallet;
            let Some(route) = self.0.iter().find(|route| route.kind() == kind) else {
                return Ok(None);
            };
            let owner = route.owner(account).await;
            owner.map_err(|fault| PortError {
                reason: fault.to_string(),
            })
        })
    }
}

/// The machine's clock, and the time of the newest block that counts. While no node answers, the last such time stands, and before there was one
/// the machine's.
pub struct ChainClocks {
    chain: ChainReader,
    clock: Arc<dyn Fn() -> u64 + Send + Sync>,
    last: Mutex<Option<UtcSeconds>>,
}

impl ChainClocks {
    /// The clocks of this chain and this machine.
    #[must_use]
    pub fn new(chain: ChainReader, clock: Arc<dyn Fn() -> u64 + Send + Sync>) -> Self {
        Self {
            chain,
            clock,
            last: Mutex::default(),
        }
    }
}

impl Clocks for ChainClocks {
    fn now(&self) -> PortFuture<'_, Now> {
        Box::pin(async move {
            let read = self.chain.sealed(0).await.ok().map(|sealed| sealed.at);
            let wall = UtcSeconds::from_unix((self.clock)());
            let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            *last = read.or(*last);
            Now {
                wall,
                chain: last.unwrap_or(wall),
            }
        })
    }
}
