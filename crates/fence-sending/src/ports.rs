//! Implements the ports of `fence-server` for accounts and clocks, over routes and a chain.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::Address;
use calldata_checks::UtcSeconds;
use delegation_fence::{AccountKind, Now};
use fence_server::{Accounts, Clocks, PortError, PortFuture};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::{ChainReader, Route};

/// The accounts of the routes.
pub struct RoutedAccounts(Vec<Arc<dyn Route>>);

impl RoutedAccounts {
    /// Serves the accounts of these routes.
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

/// How long a reading of the chain's time is used: the time of one block of Base.
const STANDS: Duration = Duration::from_secs(2);

/// The longest wait for the chain's time, when nodes do not answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// The machine's clock, and the time of the newest sealed block. The block is read at most every
/// two seconds. While no node answers, the last reading counts; before the first reading, the
/// machine's clock does.
pub struct ChainClocks {
    chain: ChainReader,
    clock: Arc<dyn Fn() -> u64 + Send + Sync>,
    last: Mutex<Reading>,
}

/// The last reading of the chain's time.
#[derive(Default)]
struct Reading {
    tried: Option<Instant>,
    at: Option<UtcSeconds>,
}

impl ChainClocks {
    /// Combines the clocks of this chain and this machine.
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
            // One reading at a time. Concurrent callers share its result.
            let mut last = self.last.lock().await;
            if last.tried.is_none_or(|tried| tried.elapsed() >= STANDS) {
                let read = tokio::time::timeout(PATIENCE, self.chain.sealed(0)).await;
                let read = read.ok().and_then(Result::ok).map(|sealed| sealed.at);
                last.at = read.or(last.at);
                last.tried = Some(Instant::now());
            }
            let wall = UtcSeconds::from_unix((self.clock)());
            Now {
                wall,
                chain: last.at.unwrap_or(wall),
            }
        })
    }
}
