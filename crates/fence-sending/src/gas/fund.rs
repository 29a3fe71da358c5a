//! Coins for an account that lacks them.

use alloy_primitives::{Address, Bytes, U256};
use delegation_fence::{Admitted, Block};
use fence_server::{StoreError, TopUp};
use tx_sender::{Lane, Record, Request, State};

use super::{Funder, Funds, Purpose};
use crate::{Fault, Shared, key};

/// How often an account is topped up for one purpose of a plan.
pub(super) const MOST_TOP_UPS: u8 = 4;

/// The gas of a plain transfer.
const TRANSFER: u64 = 21_000;

impl Shared {
    /// Whether `payer` holds enough for so much gas, or comes to.
    pub(crate) async fn fund(
        &self,
        admitted: &Admitted,
        payer: Address,
        purpose: Purpose,
        gas: u64,
        block: Block,
    ) -> Result<Funds, Fault> {
        let chain = &self.chain;
        let needed = self.gas.cost(gas, chain.gas_price().await?);
        let balance = chain.balance(payer, block).await?;
        let missing = needed.saturating_sub(balance);
        if missing.is_zero() {
            return Ok(Funds::Enough);
        }
        let funder = self.gas.funder.as_ref();
        let Some(funder) = funder.filter(|funder| funder.account != payer) else {
            return Ok(Funds::Missing);
        };
        let lane = Lane {
            chain_id: chain.chain_id(),
            account: funder.account,
        };
        let mut given = U256::ZERO;
        for number in 0..MOST_TOP_UPS {
            let key = key::top_up(admitted, purpose, number);
            match self.sender.find(&key).await? {
                Some(record) if !record.state.is_outcome() => {
                    self.sender.wake(lane)?;
                    return Ok(Funds::Coming);
                }
                Some(record) => {
                    given = given.saturating_add(arrived(&record));
                    // Its block may be newer than the one that was read.
                    let inclusion = record.state.inclusion();
                    if inclusion.is_some_and(|at| at.number > block.number) {
                        return Ok(Funds::Coming);
                    }
                }
                None if given.saturating_add(missing) > funder.most_per_plan => {
                    return Ok(Funds::Missing);
                }
                None => {
                    if !self.book(&key, admitted, funder, missing).await? {
                        return Ok(Funds::Missing);
                    }
                    let request = Request {
                        to: payer,
                        value: missing,
                        input: Bytes::new(),
                        gas_limit: TRANSFER,
                        max_fee_per_gas: None,
                        not_after: match purpose {
                            Purpose::Steps => Some(admitted.valid_until.unix()),
                            Purpose::Clearing => None,
                        },
                        confirmations: Some(chain.confirmations()),
                    };
                    tracing::info!(%payer, wei = %missing, "account topped up for gas");
                    self.sender.submit(&key, lane, request).await?;
                    return Ok(Funds::Coming);
                }
            }
        }
        Ok(Funds::Missing)
    }

    /// Books a transfer in the budgets of its day; `false` when they do not cover it. Where no
    /// price of the chain's coin is read it counts as what a plan's gas is taken to cost.
    async fn book(
        &self,
        key: &str,
        admitted: &Admitted,
        funder: &Funder,
        wei: U256,
    ) -> Result<bool, Fault> {
        let worth = self.delegations.micro_usd(wei).await;
        let top_up = TopUp {
            key: key.to_owned(),
            account: admitted.account,
            at: self.now(),
            micro_usd: worth.unwrap_or(self.delegations.budget().of_plan),
            of_account: funder.of_account,
            of_all: funder.of_all,
        };
        match self.store().book_top_up(top_up).await {
            Ok(()) => Ok(true),
            Err(StoreError::Refused(refusal)) => {
                tracing::warn!(account = %admitted.account, %refusal, "no coins are given for gas");
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// What a transfer that came to its end has moved.
pub(super) fn arrived(record: &Record) -> U256 {
    match record.state {
        State::Sealed(_) => record.request.value,
        _ => U256::ZERO,
    }
}
