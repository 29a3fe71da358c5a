//! Coins for gas: whether a wallet can pay, and the dust that an operator's account gives where it
//! cannot.
//!
//! Every top-up is booked before it is sent, in three budgets: of its owner and day, of what its
//! owner has paid, and of all owners and the day. The principal never pays for gas.

use alloy_primitives::{Address, Bytes, U256};
use custody::Owner;
use tx_sender::{Lane, Request, State as SenderState};

use crate::drive::Fault;
use crate::store::{StoreError, TopUp};
use crate::{Intent, Refused, Shared};

/// How often a wallet is topped up for one intent and chain.
const MOST_TOP_UPS: u8 = 4;

/// The gas of a plain transfer. Rollups ask for more than Ethereum does.
const TRANSFER_GAS: u64 = 21_000;

/// Fees may double until a transaction is in a block.
const FEE_MARGIN: u64 = 2;

/// The account that tops wallets up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Funder {
    /// The account. The sender of transactions signs for it.
    pub account: Address,
    /// The most wei that it gives for one intent on one chain.
    pub most_per_intent: U256,
    /// The most that it gives one owner in a day, in micro US dollars.
    pub of_owner: u64,
    /// The most that it gives all owners in a day, in micro US dollars.
    pub of_all: u64,
}

/// Whether gas can be paid for.
pub(crate) enum Affordable {
    Yes,
    No { missing: U256, reason: &'static str },
}

/// Whether a wallet can pay for its next transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Funds {
    Enough,
    /// Coins are on their way.
    Coming,
    /// Nobody gives what is missing.
    Missing(&'static str),
}

impl Shared {
    /// Whether the wallet can pay for so much gas, or whoever tops it up would give as much. The
    /// budgets are asked when coins are given.
    pub(crate) async fn affordable(
        &self,
        chain_id: u64,
        wallet: Address,
        gas: u64,
    ) -> Result<Affordable, Refused> {
        let chain = self.chain(chain_id)?;
        let block = chain.sealed(0).await?.block;
        let needed = cost(gas, chain.gas_price().await?);
        let missing = needed.saturating_sub(chain.balance(wallet, block).await?);
        let refuse = |reason| Ok(Affordable::No { missing, reason });
        match &self.funder {
            _ if missing.is_zero() => Ok(Affordable::Yes),
            None => refuse("no_gas_account"),
            Some(funder) if missing > funder.most_per_intent => refuse("gas_topup_too_large"),
            Some(_) => Ok(Affordable::Yes),
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
        let block = chain.sealed(0).await?.block;
        let needed = cost(gas, chain.gas_price().await?);
        let balance = chain.balance(intent.wallet, block).await?;
        let missing = needed.saturating_sub(balance);
        if missing.is_zero() {
            return Ok(Funds::Enough);
        }
        let Some(funder) = &self.funder else {
            return Ok(Funds::Missing("no_gas_account"));
        };
        let account = funder.account;
        let lane = Lane { chain_id, account };
        let mut given = U256::ZERO;
        for number in 0..MOST_TOP_UPS {
            let key = format!("wallet/{}/gas/{chain_id}/{number}", intent.id);
            let Some(record) = self.sender.find(&key).await? else {
                if given.saturating_add(missing) > funder.most_per_intent {
                    return Ok(Funds::Missing("gas_topup_too_large"));
                }
                if !self.book(&key, intent, funder, chain_id, missing).await? {
                    return Ok(Funds::Missing("gas_budget_exhausted"));
                }
                let request = Request {
                    to: intent.wallet,
                    value: missing,
                    input: Bytes::new(),
                    gas_limit: chain_gas(chain_id),
                    max_fee_per_gas: None,
                    not_after: None,
                    confirmations: Some(chain.confirmations()),
                };
                tracing::info!(intent = %intent.id, wallet = %intent.wallet, chain_id, wei = %missing, "wallet topped up for gas");
                self.sender.submit(&key, lane, request).await?;
                return Ok(Funds::Coming);
            };
            if !record.state.is_outcome() {
                self.sender.wake(lane)?;
                return Ok(Funds::Coming);
            }
            if let SenderState::Sealed(at) = record.state {
                given = given.saturating_add(record.request.value);
                // Its block may be newer than the one that was read.
                if at.number > block.number {
                    return Ok(Funds::Coming);
                }
            }
        }
        Ok(Funds::Missing("gas_topup_too_large"))
    }

    /// Books a top-up; `false` when a budget does not cover it.
    async fn book(
        &self,
        key: &str,
        intent: &Intent,
        funder: &Funder,
        chain_id: u64,
        wei: U256,
    ) -> Result<bool, Fault> {
        let owner: Result<Owner, _> = intent.owner.parse();
        let paid = match owner {
            Ok(owner) => self.paid.paid(owner).await.unwrap_or_default(),
            Err(_) => 0,
        };
        let worth = self.prices.micro_usd(chain_id, wei).await;
        let micro_usd = worth.unwrap_or_else(|| worth_at_most(chain_id, wei));
        let top_up = TopUp {
            key: key.to_owned(),
            owner: intent.owner.clone(),
            at: self.now(),
            micro_usd,
            of_owner: funder.of_owner,
            paid_by_owner: paid.saturating_add(intent.price_micro_usd),
            of_all: funder.of_all,
        };
        match self.store.book_top_up(top_up).await {
            Ok(()) => {
                let chain = chain_id.to_string();
                metrics::counter!("svc_wallet_gas_topups_micro_usd_total", "chain" => chain)
                    .increment(micro_usd);
                Ok(true)
            }
            Err(StoreError::Budget { budget, .. }) => {
                tracing::warn!(intent = %intent.id, budget, "no coins are given for gas");
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// The most that so much gas can cost at this price, in wei.
fn cost(gas: u64, price: u128) -> U256 {
    U256::from(gas)
        .saturating_mul(U256::from(price))
        .saturating_mul(U256::from(FEE_MARGIN))
}

/// What coins count as where no price of theirs can be read, in micro US dollars: more than they
/// have ever been worth, so that no budget is passed.
fn worth_at_most(chain_id: u64, wei: U256) -> u64 {
    let dollars = match chain_id {
        137 => 10_u64,
        196 => 1_000,
        _ => 10_000,
    };
    let micro = U256::from(dollars).saturating_mul(wei);
    micro
        .div_ceil(U256::from(1_000_000_000_000_u64))
        .saturating_to()
}

/// The gas of a plain transfer on a chain. Arbitrum counts the data for Ethereum as gas.
const fn chain_gas(chain_id: u64) -> u64 {
    match chain_id {
        42_161 => 400_000,
        _ => TRANSFER_GAS,
    }
}
