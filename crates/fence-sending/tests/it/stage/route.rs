//! An account with a key in the test, the price of its gas, and its owner's payments.

use std::sync::{Arc, Mutex};

use alloy_primitives::{Address, B256, U256};
use custody::Owner;
use delegation_fence::{AccountKind, ClearObstacle, Transaction};
use fence_sending::{OutgoingCall, Route, RouteFuture, own_call};
use fence_server::KeptSubmission;
use gas_funding::{CoinPrices, PaidTotals};
use tx_sender::{HashSigner, TransactionSigner};

use super::wallet;

/// An account with a key in the test.
pub(crate) struct TestRoute {
    pub(crate) owner: Mutex<Option<Address>>,
    pub(crate) clears: Mutex<Result<(), ClearObstacle>>,
    /// Whether the key is gone.
    pub(crate) keyless: std::sync::atomic::AtomicBool,
}

impl Route for TestRoute {
    fn kind(&self) -> AccountKind {
        AccountKind::SubWallet
    }

    fn owner(&self, _: Address) -> RouteFuture<'_, Option<Address>> {
        let owner = *self.owner.lock().unwrap();
        Box::pin(async move { Ok(owner) })
    }

    fn budget_owner(&self, _: Address) -> RouteFuture<'_, Option<Owner>> {
        let owner = self
            .owner
            .lock()
            .unwrap()
            .map(|owner| Owner::new(196, owner));
        Box::pin(async move { Ok(owner) })
    }

    fn signer(&self, _: Address) -> RouteFuture<'_, Option<Arc<dyn TransactionSigner>>> {
        let keyless = self.keyless.load(std::sync::atomic::Ordering::SeqCst);
        let signer: Arc<dyn TransactionSigner> = Arc::new(HashSigner::new(wallet()));
        Box::pin(async move { Ok(Some(signer).filter(|_| !keyless)) })
    }

    fn call(
        &self,
        kept: &KeptSubmission,
        transaction: Transaction,
    ) -> Result<OutgoingCall, ClearObstacle> {
        if let Transaction::Clear(_) = transaction {
            (*self.clears.lock().unwrap())?;
        }
        Ok(own_call(&kept.admitted, transaction))
    }
}

/// The same price in dollars for every coin, or none.
pub(super) struct CoinUsd(pub(super) Option<u64>);

impl CoinPrices for CoinUsd {
    fn micro_usd(&self, _: u64, wei: U256) -> gas_funding::PortFuture<'_, Option<u64>> {
        let worth = |dollars| (wei * U256::from(dollars)).div_ceil(U256::from(10_u64.pow(12)));
        let micro = self.0.map(|dollars: u64| worth(dollars).to());
        Box::pin(std::future::ready(micro))
    }
}

/// The same payments for every owner.
pub(super) struct Paid(pub(super) u64);

impl PaidTotals for Paid {
    fn paid(&self, _: Owner) -> gas_funding::PortFuture<'_, Option<u64>> {
        Box::pin(std::future::ready(Some(self.0)))
    }

    fn is_unsettled(&self, _: B256) -> gas_funding::PortFuture<'_, bool> {
        Box::pin(std::future::ready(false))
    }
}
