//! Sub-wallets: custody holds the account's key, and the account sends its own transactions.

use std::sync::Arc;

use alloy_primitives::Address;
use custody::{Custody, CustodyError, Owner, Purpose, lend};
use delegation_fence::{AccountKind, ClearObstacle, Transaction};
use fence_server::KeptSubmission;
use tx_sender::TransactionSigner;

use super::{OutgoingCall, Route, RouteFault, RouteFuture, own_call};

/// The wallets of a custody provider. The owner of a wallet signs its grant.
pub struct SubWallets(Arc<dyn Custody>);

impl SubWallets {
    /// Serves the wallets of this provider.
    #[must_use]
    pub fn new(custody: Arc<dyn Custody>) -> Self {
        Self(custody)
    }
}

impl Route for SubWallets {
    fn kind(&self) -> AccountKind {
        AccountKind::SubWallet
    }

    fn owner(&self, account: Address) -> RouteFuture<'_, Option<Address>> {
        Box::pin(async move {
            let wallet = self.0.wallet_at(account).await.map_err(fault)?;
            Ok(wallet.map(|wallet| wallet.owner.address()))
        })
    }

    fn budget_owner(&self, account: Address) -> RouteFuture<'_, Option<Owner>> {
        Box::pin(async move {
            let wallet = self.0.wallet_at(account).await.map_err(fault)?;
            Ok(wallet.map(|wallet| wallet.owner))
        })
    }

    fn signer(&self, account: Address) -> RouteFuture<'_, Option<Arc<dyn TransactionSigner>>> {
        Box::pin(async move {
            let wallet = self.0.wallet_at(account).await.map_err(fault)?;
            Ok(wallet.map(|wallet| {
                let custody = Arc::clone(&self.0);
                lend(custody, wallet.address, Purpose::FencedPlan)
            }))
        })
    }

    /// The service can always clear, because it holds the key whatever happens to the grant. The
    /// account sends one call in each transaction.
    fn call(
        &self,
        kept: &KeptSubmission,
        transaction: Transaction,
    ) -> Result<OutgoingCall, ClearObstacle> {
        match transaction {
            Transaction::Swap => Err(ClearObstacle::NotPermitted),
            Transaction::Step(_) | Transaction::Clear(_) => {
                Ok(own_call(&kept.admitted, transaction))
            }
        }
    }
}

fn fault(error: CustodyError) -> RouteFault {
    tracing::warn!(code = error.code(), %error, "a wallet cannot be read");
    RouteFault { code: error.code() }
}
