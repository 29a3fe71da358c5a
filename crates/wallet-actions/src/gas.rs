//! Gas for wallets: checks that a wallet can pay, and tops it up within the budgets. The principal
//! never pays for gas.

use alloy_primitives::{Address, U256};
use gas_funding::{Funds, Need, OwnPayment, Workload};
use tx_sender::TurnFence;

use crate::drive::Fault;
use crate::{Intent, Refused, Shared};

impl Shared {
    /// Checks that the wallet has enough coins for this work, or that a top-up could cover the
    /// rest. The budgets are checked later, when coins are sent.
    pub(crate) async fn afford(
        &self,
        chain_id: u64,
        wallet: Address,
        workload: Workload,
    ) -> Result<(), Refused> {
        let chain = self.chain(chain_id)?;
        let block = chain.sealed(0).await?.block;
        let lacking = self.funding.lacking(chain, block, wallet, workload);
        match lacking.await? {
            None => Ok(()),
            Some(lacking) => Err(Refused::Gas {
                chain_id,
                wallet,
                missing: lacking.wei,
                reason: lacking.why.code(),
            }),
        }
    }

    /// Makes sure that the wallet of the intent has enough coins for this work, and at least this
    /// many wei. Tops it up if necessary.
    pub(crate) async fn fund(
        &self,
        intent: &Intent,
        chain_id: u64,
        (workload, least): (Workload, U256),
        turn: Option<TurnFence>,
    ) -> Result<Funds, Fault> {
        let chain = self.chain_of(chain_id)?;
        let need = Need {
            chain,
            block: chain.sealed(0).await?.block,
            payer: intent.wallet,
            workload,
            least,
            owner: intent.owner.parse().ok(),
            account: intent.wallet,
            payment: Some(OwnPayment {
                digest: intent.payment,
                micro_usd: intent.price_micro_usd,
            }),
            not_after: None,
            turn,
            key: &|number| format!("wallet/{}/gas/{chain_id}/{number}", intent.id),
        };
        Ok(self.funding.fund(need).await?)
    }
}
