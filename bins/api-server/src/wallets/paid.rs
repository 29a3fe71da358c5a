//! The sums that owners have paid to the service.

use alloy_primitives::B256;
use custody::Owner;
use gas_funding::{PaidTotals, PortFuture};
use ledger::PaidSums;

/// The sums of the ledger. An owner is a payer on the payment chain.
#[derive(Debug, Clone)]
pub struct PaidByOwners {
    sums: PaidSums,
    payer_chain: u64,
}

impl PaidByOwners {
    /// Reads the sums of a ledger, for payers on this chain.
    #[must_use]
    pub fn new(sums: PaidSums, payer_chain: u64) -> Self {
        Self { sums, payer_chain }
    }
}

impl PaidTotals for PaidByOwners {
    fn paid(&self, owner: Owner) -> PortFuture<'_, Option<u64>> {
        Box::pin(async move {
            // An owner on another chain cannot be a payer and has paid nothing.
            if owner.chain_id() != self.payer_chain {
                return Some(0);
            }
            let sum = self.sums.paid(owner.address()).await;
            sum.inspect_err(|error| {
                tracing::warn!(code = error.code(), %error, "the sum of an owner's payments cannot be read");
            })
            .ok()
        })
    }

    fn is_unsettled(&self, payment: B256) -> PortFuture<'_, bool> {
        Box::pin(async move {
            let unsettled = self.sums.is_unsettled(payment).await;
            unsettled
                .inspect_err(|error| {
                    tracing::warn!(code = error.code(), %error, "the state of a payment cannot be read");
                })
                .unwrap_or(false)
        })
    }
}
