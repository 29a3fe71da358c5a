//! [`GasFunding`] checks whether an account can pay for gas, and sends the missing coins to it.
//!
//! A caller names each transfer by a key and asks again until the account holds enough. The book
//! bounds the sums, and the sender of transactions signs, sends and follows the transfers. This
//! module keeps nothing itself, so a call with the same keys continues after a restart.

use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256};
use chain_reader::{Block, ChainReader, ReadFault};
use custody::Owner;
use thiserror::Error;
use tx_sender::{Hold, Lane, Record, Request, Sender, SenderError, State, TurnFence};

use crate::{
    Book, BookError, Budget, CoinPrices, Funder, Funds, Lacking, Limits, NotGiven, PaidTotals,
    TopUp, worth_at_most,
};

/// The most transfers to an account for one purpose on one chain.
pub const MOST_TOP_UPS: u8 = 4;

/// The gas of a plain transfer.
const TRANSFER_GAS: u64 = 21_000;

/// The gas of a plain transfer on Arbitrum, which charges the data for Ethereum as gas.
const TRANSFER_GAS_ARBITRUM: u64 = 400_000;

/// The factor by which fees may rise until the transaction is in a block.
const FEE_MARGIN: u64 = 2;

/// The parts of a [`GasFunding`].
pub struct Parts {
    /// The funding account and its limits.
    pub funder: Funder,
    /// The sender of transactions. It holds the key of the funding account.
    pub sender: Sender,
    /// The record of all top-ups.
    pub book: Arc<dyn Book>,
    /// The prices of coins.
    pub prices: Arc<dyn CoinPrices>,
    /// The sums that owners have paid.
    pub paid: Arc<dyn PaidTotals>,
    /// The machine's clock, in Unix seconds.
    pub clock: Arc<dyn Fn() -> u64 + Send + Sync>,
}

/// Sends coins to accounts that hold too few for their gas. Cheap to clone. All parts of a server
/// that send transactions must share one, so that they share its budgets.
#[derive(Clone)]
pub struct GasFunding(Option<Arc<Parts>>);

/// A request for gas.
#[derive(Clone, Copy)]
pub struct Need<'a> {
    /// The chain.
    pub chain: &'a ChainReader,
    /// The block at which the balance is read.
    pub block: Block,
    /// The account that pays for the gas.
    pub payer: Address,
    /// What the transactions need.
    pub workload: Workload,
    /// The least balance of the payer in wei: what a node has [`demanded`] when it refused one of
    /// the transactions. Zero when none has.
    pub least: U256,
    /// The owner whose budgets count; `None` when it is unknown.
    pub owner: Option<Owner>,
    /// The account that acts. It may differ from the payer.
    pub account: Address,
    /// The payment for the work. `None` when there is none.
    pub payment: Option<OwnPayment>,
    /// From this Unix second on, a transfer is useless. `None` when it is always useful.
    pub not_after: Option<u64>,
    /// The turn of the work that needs the gas. Nothing is sent after the turn is lost. `None` when
    /// no other process sends for the account.
    pub turn: Option<TurnFence>,
    /// Gives the key of the transfer with this number. A key belongs to one transfer for ever.
    pub key: &'a (dyn Fn(u8) -> String + Send + Sync),
}

/// What transactions of one account need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Workload {
    /// How much gas they need together.
    pub gas: u64,
    /// How many they are.
    pub transactions: u64,
    /// The calldata of the largest one, in bytes.
    pub input_bytes: usize,
}

impl Workload {
    /// No further transaction.
    pub const NONE: Self = Self {
        gas: 0,
        transactions: 0,
        input_bytes: 0,
    };
}

/// The payment for the work that needs gas. It counts in addition to the owner's settled payments
/// until it is settled itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnPayment {
    /// The digest of the payment's authorization.
    pub digest: B256,
    /// The amount, in micro US dollars.
    pub micro_usd: u64,
}

/// Why the state of an account is unknown now. The caller asks again later.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FundingError {
    /// The book failed.
    #[error(transparent)]
    Book(#[from] BookError),
    /// The chain cannot be read.
    #[error(transparent)]
    Chain(#[from] ReadFault),
    /// The sender of transactions failed.
    #[error(transparent)]
    Sender(#[from] SenderError),
}

impl GasFunding {
    /// Makes a funding with these parts.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        Self(Some(Arc::new(parts)))
    }

    /// Makes a funding that gives nothing: each account pays from its own balance.
    #[must_use]
    pub const fn none() -> Self {
        Self(None)
    }

    /// Returns what the payer lacks for this work and would not get. Returns `None` when it
    /// holds enough or would get the coins. This does not check the budgets; [`Self::fund`] does.
    ///
    /// # Errors
    /// The chain cannot be read.
    pub async fn lacking(
        &self,
        chain: &ChainReader,
        block: Block,
        payer: Address,
        workload: Workload,
    ) -> Result<Option<Lacking>, ReadFault> {
        let wei = missing(chain, block, payer, workload, U256::ZERO).await?;
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

    /// Checks whether the payer holds enough for the gas. If not, books the missing coins and sends
    /// them.
    ///
    /// # Errors
    /// The chain, the book or the sender failed. A later call with the same keys continues.
    pub async fn fund(&self, need: Need<'_>) -> Result<Funds, FundingError> {
        let missing = missing(
            need.chain,
            need.block,
            need.payer,
            need.workload,
            need.least,
        )
        .await?;
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
            // The transfer may be in a newer block than the one whose balance was read.
            if let State::Sealed(at) = record.state
                && at.number > need.block.number
            {
                return Ok(Funds::Coming);
            }
        }
        Ok(Funds::Missing(NotGiven::TooLarge))
    }

    /// The parts that fund this account. `None` for the funding account, which does not fund
    /// itself, and when nothing is funded.
    fn funder_of(&self, payer: Address) -> Option<&Parts> {
        let parts = self.0.as_deref();
        parts.filter(|parts| parts.funder.account != payer)
    }
}

impl Parts {
    /// Books the missing coins and sends them.
    async fn give(
        &self,
        key: String,
        need: &Need<'_>,
        missing: U256,
        given: U256,
    ) -> Result<Funds, FundingError> {
        if given.saturating_add(missing) > self.funder.most_wei {
            return Ok(Funds::Missing(NotGiven::TooLarge));
        }
        let Some(owner) = need.owner else {
            return Ok(Funds::Missing(NotGiven::OwnerUnknown));
        };
        let chain_id = need.chain.chain_id();
        let worth = self.prices.micro_usd(chain_id, missing).await;
        let micro_usd = worth.unwrap_or_else(|| worth_at_most(chain_id, missing));
        // The sum is read first. So a payment that is settled between the two reads does not count
        // twice.
        let paid = self.paid.paid(owner).await.unwrap_or_default();
        let own = match need.payment {
            Some(own) if self.paid.is_unsettled(own.digest).await => own.micro_usd,
            _ => 0,
        };
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
            paid_by_owner: paid.saturating_add(own),
            of_all: self.funder.of_all,
            of_chain_wei: self.funder.of_chain_wei,
        };
        let booked = match self.book.book(top_up, limits).await {
            Ok(booked) => booked,
            Err(refused @ BookError::Budget { budget, .. }) => {
                let why = match worth {
                    None if budget != Budget::OfChain => NotGiven::PriceUnavailable(budget),
                    _ => NotGiven::BudgetExhausted(budget),
                };
                let account = need.account;
                tracing::warn!(%owner, %account, chain_id, reason = why.code(), %refused, "an account gets no coins for gas");
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
            .submit_in_turn(&key, self.lane(need.chain), request, need.turn)
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

/// Returns the least balance of an account whose transaction lacks coins. Only the refusal of a
/// node shows what a chain charges in the end. The fees may rise by a quarter until the coins
/// arrive. `None` when something else holds the transaction up.
#[must_use]
pub fn demanded(hold: &Hold) -> Option<U256> {
    match hold {
        Hold::NoGas { needed, .. } => Some(needed.saturating_add(*needed >> 2)),
        _ => None,
    }
}

/// Returns how much wei a finished transfer has moved.
#[must_use]
pub const fn arrived(record: &Record) -> U256 {
    match record.state {
        State::Sealed(_) => record.request.value,
        _ => U256::ZERO,
    }
}

/// Returns the wei that the payer lacks for this work at the highest price expected now, and for
/// the balance that a node has demanded.
async fn missing(
    chain: &ChainReader,
    block: Block,
    payer: Address,
    workload: Workload,
    least: U256,
) -> Result<U256, ReadFault> {
    let Workload {
        gas,
        transactions,
        input_bytes,
    } = workload;
    let price = chain.gas_price().await?;
    let each = gas.checked_div(transactions).unwrap_or(gas);
    let added = chain.added_fees((input_bytes, each), block).await?;
    let needed = U256::from(gas)
        .saturating_mul(U256::from(price))
        .saturating_add(added.saturating_mul(U256::from(transactions)))
        .saturating_mul(U256::from(FEE_MARGIN))
        .max(least);
    let balance = chain.balance(payer, block).await?;
    Ok(needed.saturating_sub(balance))
}

const fn transfer_gas(chain_id: u64) -> u64 {
    match chain_id {
        42_161 => TRANSFER_GAS_ARBITRUM,
        _ => TRANSFER_GAS,
    }
}
