//! Sub-wallets: custody holds the account's key, and the account sends its plans itself.

use std::sync::Arc;

use alloy_primitives::Address;
use custody::{Custody, CustodyError, Owner, Purpose, lend};
use delegation_fence::{AccountKind, ClearObstacle, Transaction};
use fence_server::KeptSubmission;
use tx_sender::TransactionSigner;

use super::{Call, Route, RouteFault, RouteFuture, own_call};

/// The wallets of a custody provider. A grant is signed by the wallet's owner.
pub struct SubWallets(Arc<dyn Custody>);

impl SubWallets {
    /// The wallets of this provider.
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

    /// The service can always clear: the key is there, whatever became of the grant. The account
    /// makes one call at a time.
    fn call(&self, kept: &KeptSubmission, transaction: Transaction) -> Result<Call, ClearObstacle> {
        match transaction {
            Transaction::Swap => Err(ClearObstacle::NotPermitted),
            Transaction::Step(_) | Transaction::Clear(_) => {
                Ok(own_call(&kept.admitted, transaction))
            }
        }
    }
}

fn fault(error: CustodyError) -> RouteFault {
    tracing::warn!(code = error.code(), %error, "a wallet cannot be looked at");
    RouteFault { code: error.code() }
}
