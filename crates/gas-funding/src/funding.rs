//! Sees to it that an account holds enough for its gas.

use std::sync::Arc;

use alloy_primitives::{Address, Bytes, U256};
use chain_reader::{Block, ChainReader, ReadFault};
use custody::Owner;
use thiserror::Error;
use tx_sender::{Lane, Record, Request, Sender, SenderError, State};

use crate::{
    Book, BookError, CoinPrices, Funder, Funds, Lacking, Limits, NotGiven, PaidTotals, TopUp,
    worth_at_most,
};

/// How often an account is topped up for one purpose on one chain.
pub const MOST_TOP_UPS: u8 = 4;

/// The gas of a plain transfer.
const TRANSFER_GAS: u64 = 21_000;

/// The same on Arbitrum, which counts the data for Ethereum as gas.
const TRANSFER_GAS_ARBITRUM: u64 = 400_000;

/// Fees may double until a transaction is in a block.
const FEE_MARGIN: u64 = 2;

/// What coins are given with.
pub struct Parts {
    /// Who gives them, within which bounds.
    pub funder: Funder,
    /// The sender of transactions. It has the funder's key.
    pub sender: Sender,
    /// What was given.
    pub book: Arc<dyn Book>,
    /// What coins are worth.
    pub prices: Arc<dyn CoinPrices>,
    /// What owners have paid.
    pub paid: Arc<dyn PaidTotals>,
    /// The machine's clock, in Unix seconds.
    pub clock: Arc<dyn Fn() -> u64 + Send + Sync>,
}

/// Gives coins to accounts that lack them for gas. Cheap to clone; everything that sends for the
/// accounts of a server shares one.
#[derive(Clone)]
pub struct GasFunding(Option<Arc<Parts>>);

/// Gas that is to be paid for.
#[derive(Clone, Copy)]
pub struct Need<'a> {
    /// The chain.
    pub chain: &'a ChainReader,
    /// The block as of which the balance counts.
    pub block: Block,
    /// Who pays for the gas.
    pub payer: Address,
    /// How much gas.
    pub gas: u64,
    /// In whose budget it counts; `None` where that is not known.
    pub owner: Option<Owner>,
    /// The account that acts. It may be another one than the payer.
    pub account: Address,
    /// What the owner is about to pay beside what it has paid, in micro US dollars.
    pub about_to_pay: u64,
    /// The Unix second from which on nothing is given for it any more.
    pub not_after: Option<u64>,
    /// The key of each transfer: one key stands for one transfer, for ever.
    pub key: &'a (dyn Fn(u8) -> String + Send + Sync),
}

/// Why it cannot be said now whether an account can pay. Nothing is concluded from it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Fault {
    /// The book.
    #[error(transparent)]
    Book(#[from] BookError),
    /// The chain.
    #[error(transparent)]
    Chain(#[from] ReadFault),
    /// The sender of transactions.
    #[error(transparent)]
    Sender(#[from] SenderError),
}

impl GasFunding {
    /// Gives coins with these parts.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        Self(Some(Arc::new(parts)))
    }

    /// Nobody gives any: accounts pay from what they hold.
    #[must_use]
    pub const fn nobody() -> Self {
        Self(None)
    }

    /// What the payer lacks for so much gas that nobody would give it; `None` where it holds
    /// enough, or would be given as much. The budgets are asked when coins are given.
    ///
    /// # Errors
    /// A chain that cannot be read.
    pub async fn lacking(
        &self,
        chain: &ChainReader,
        block: Block,
        payer: Address,
        gas: u64,
    ) -> Result<Option<Lacking>, ReadFault> {
        let wei = missing(chain, block, payer, gas).await?;
        if wei.is_zero() {
            return Ok(None);
        }
        let why = match self.funder_of(payer) {
            None => NotGiven::NoGasAccount,
            Some(parts) if wei > parts.funder.most_wei => NotGiven::TooLarge,
            Some(_) => return Ok(None),
        };
        Ok(Some(Lacking { wei, why }))
    }

    /// Whether the payer holds enough for the gas, or comes to. What is missing is booked and sent.
    ///
    /// # Errors
    /// Something that cannot be asked or written now.
    pub async fn fund(&self, need: Need<'_>) -> Result<Funds, Fault> {
        let missing = missing(need.chain, need.block, need.payer, need.gas).await?;
        if missing.is_zero() {
            return Ok(Funds::Enough);
        }
        let Some(parts) = self.funder_of(need.payer) else {
            return Ok(Funds::Missing(NotGiven::NoGasAccount));
        };
        let mut given = U256::ZERO;
        for number in 0..MOST_TOP_UPS {
            let key = (need.key)(number);
            let Some(record) = parts.sender.find(&key).await? else {
                return parts.give(key, &need, missing, given).await;
            };
            if !record.state.is_outcome() {
                parts.sender.wake(parts.lane(need.chain))?;
                return Ok(Funds::Coming);
            }
            given = given.saturating_add(arrived(&record));
            // Its block may be newer than the one that was read.
            if let State::Sealed(at) = record.state
                && at.number > need.block.number
            {
                return Ok(Funds::Coming);
            }
        }
        Ok(Funds::Missing(NotGiven::TooLarge))
    }

    /// Who would give this account coins: not the account itself.
    fn funder_of(&self, payer: Address) -> Option<&Parts> {
        let parts = self.0.as_deref();
        parts.filter(|parts| parts.funder.account != payer)
    }
}

impl Parts {
    /// Books what is missing, and sends it.
    async fn give(
        &self,
        key: String,
        need: &Need<'_>,
        missing: U256,
        given: U256,
    ) -> Result<Funds, Fault> {
        if given.saturating_add(missing) > self.funder.most_wei {
            return Ok(Funds::Missing(NotGiven::TooLarge));
        }
        let Some(owner) = need.owner else {
            return Ok(Funds::Missing(NotGiven::OwnerUnknown));
        };
        let chain_id = need.chain.chain_id();
        let worth = self.prices.micro_usd(chain_id, missing).await;
        let micro_usd = worth.unwrap_or_else(|| worth_at_most(chain_id, missing));
        let paid = self.paid.paid(owner).await.unwrap_or_default();
        let top_up = TopUp {
            key: key.clone(),
            owner,
            account: need.account,
            at: (self.clock)(),
            chain_id,
            wei: missing,
            micro_usd,
        };
        let limits = Limits {
            of_owner: self.funder.of_owner,
            paid_by_owner: paid.saturating_add(need.about_to_pay),
            of_all: self.funder.of_all,
        };
        let booked = match self.book.book(top_up, limits).await {
            Ok(booked) => booked,
            Err(refused @ BookError::Budget { budget, .. }) => {
                let why = match worth {
                    Some(_) => NotGiven::BudgetExhausted(budget),
                    None => NotGiven::PriceUnavailable(budget),
                };
                let account = need.account;
                tracing::warn!(%owner, %account, chain_id, reason = why.code(), %refused, "no coins are given for gas");
                return Ok(Funds::Missing(why));
            }
            Err(error) => return Err(error.into()),
        };
        if booked.is_new {
            let chain = chain_id.to_string();
            metrics::counter!("svc_wallet_gas_topups_micro_usd_total", "chain" => chain)
                .increment(micro_usd);
        }
        let request = Request {
            to: need.payer,
            value: booked.wei,
            input: Bytes::new(),
            gas_limit: transfer_gas(chain_id),
            max_fee_per_gas: None,
            not_after: need.not_after,
            confirmations: Some(need.chain.confirmations()),
        };
        tracing::info!(key, payer = %need.payer, chain_id, wei = %booked.wei, "account topped up for gas");
        self.sender
            .submit(&key, self.lane(need.chain), request)
            .await?;
        Ok(Funds::Coming)
    }

    const fn lane(&self, chain: &ChainReader) -> Lane {
        Lane {
            chain_id: chain.chain_id(),
            account: self.funder.account,
        }
    }
}

impl std::fmt::Debug for GasFunding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let funder = self.0.as_deref().map(|parts| &parts.funder);
        f.debug_tuple("GasFunding").field(&funder).finish()
    }
}

/// What a transfer that came to its end has moved, in wei.
#[must_use]
pub const fn arrived(record: &Record) -> U256 {
    match record.state {
        State::Sealed(_) => record.request.value,
        _ => U256::ZERO,
    }
}

/// What the payer lacks for the most that so much gas can cost now, in wei.
async fn missing(
    chain: &ChainReader,
    block: Block,
    payer: Address,
    gas: u64,
) -> Result<U256, ReadFault> {
    let price = chain.gas_price().await?;
    let needed = U256::from(gas)
        .saturating_mul(U256::from(price))
        .saturating_mul(U256::from(FEE_MARGIN));
    let balance = chain.balance(payer, block).await?;
    Ok(needed.saturating_sub(balance))
}

const fn transfer_gas(chain_id: u64) -> u64 {
    match chain_id {
        42_161 => TRANSFER_GAS_ARBITRUM,
        _ => TRANSFER_GAS,
    }
}
