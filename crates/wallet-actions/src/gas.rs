//! Coins for gas: whether a wallet can pay, or is given what it lacks. The principal never pays for
//! gas.

use alloy_primitives::Address;
use gas_funding::{Funds, Need};

use crate::drive::Fault;
use crate::{Intent, Refused, Shared};

impl Shared {
    /// The wallet can pay for so much gas, or whoever tops it up would give as much. The budgets
    /// are asked when coins are given.
    pub(crate) async fn afford(
        &self,
        chain_id: u64,
        wallet: Address,
        gas: u64,
    ) -> Result<(), Refused> {
        let chain = self.chain(chain_id)?;
        let block = chain.sealed(0).await?.block;
        match self.funding.lacking(chain, block, wallet, gas).await? {
            None => Ok(()),
            Some(lacking) => Err(Refused::Gas {
                chain_id,
                wallet,
                missing: lacking.wei,
                reason: lacking.why.code(),
            }),
        }
    }

    /// Sees to it that the intent's wallet holds enough for so much gas.
    pub(crate) async fn fund(
        &self,
        intent: &Intent,
        chain_id: u64,
        gas: u64,
    ) -> Result<Funds, Fault> {
        let chain = self.chain_of(chain_id)?;
        let need = Need {
            chain,
            block: chain.sealed(0).await?.block,
            payer: intent.wallet,
            gas,
            owner: intent.owner.parse().ok(),
            account: intent.wallet,
            about_to_pay: intent.price_micro_usd,
            not_after: None,
            key: &|number| format!("wallet/{}/gas/{chain_id}/{number}", intent.id),
        };
        Ok(self.funding.fund(need).await?)
    }
}
