//! The swap rail: a same-chain ERC-20 swap through the reviewed aggregator router, with the fee as
//! the first leg.
//!
//! The router gives no protection from a hostile quote: it pulls any token ever approved to it,
//! makes any call of the quote, binds no integrator, and its fee forwarder checks no recipient.
//! [`decode`] reads the facts from the plan's own bytes; the checks of [`SwapFacts`] compare them
//! with the request, the quote and the reviewed configuration.

pub mod calldata;
pub mod checks;
mod read;

use alloy_primitives::{Address, Selector, U256};

pub use self::read::decode;
use crate::{
    BasisPoints, Commitment, Decimal, Steps, UtcSeconds,
    fees::{FeeSplit, ReviewedLeg, Rounding},
};

/// The facts of the plan's bytes, with the request, the quote and the review. Two parts carry no
/// facts and are left out: the opaque calldata of exchange legs behind its first four bytes, and
/// the aggregator's random transaction id. Only [`decode`] makes facts, and nothing changes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwapFacts {
    /// The request.
    asked: SwapAsked,
    /// The disclosed readings of the quote.
    quoted: SwapQuoted,
    /// `payload.chain_id`.
    plan_chain_id: u64,
    /// The reviewed configuration.
    reviewed: ReviewedSwap,
    /// The three steps. The third one's calldata is decoded into the members below and empty here.
    steps: Steps,
    /// `_integrator`.
    integrator: String,
    /// `_referrer`.
    referrer: String,
    /// `_receiver`.
    receiver: Address,
    /// `_minAmountOut`, in the output token's smallest unit.
    min_amount_out: U256,
    /// The fee leg, the first one; absent only where no recipient gets a fee of this input.
    fee_leg: Option<FeeLeg>,
    /// The exchange legs, at least one.
    legs: Vec<ExchangeLeg>,
    /// The amount that the first exchange leg starts from, in the input token's smallest unit.
    exchanged: U256,
    /// The plan's digest and expiry.
    commitment: Commitment,
}

impl SwapFacts {
    /// The request.
    #[must_use]
    pub const fn asked(&self) -> &SwapAsked {
        &self.asked
    }

    /// The readings of the quote.
    #[must_use]
    pub const fn quoted(&self) -> &SwapQuoted {
        &self.quoted
    }

    /// The reviewed configuration.
    #[must_use]
    pub const fn reviewed(&self) -> &ReviewedSwap {
        &self.reviewed
    }

    /// The three steps. The third one's calldata is decoded into the other facts and empty here.
    #[must_use]
    pub const fn steps(&self) -> &Steps {
        &self.steps
    }

    /// `_integrator`.
    #[must_use]
    pub fn integrator(&self) -> &str {
        &self.integrator
    }

    /// `_referrer`.
    #[must_use]
    pub fn referrer(&self) -> &str {
        &self.referrer
    }

    /// `_receiver`.
    #[must_use]
    pub const fn receiver(&self) -> Address {
        self.receiver
    }

    /// `_minAmountOut`, in the output token's smallest unit.
    #[must_use]
    pub const fn min_amount_out(&self) -> U256 {
        self.min_amount_out
    }

    /// The fee leg, the first one; absent only where no recipient gets a fee of this input.
    #[must_use]
    pub const fn fee_leg(&self) -> Option<&FeeLeg> {
        self.fee_leg.as_ref()
    }

    /// The exchange legs, at least one.
    #[must_use]
    pub fn legs(&self) -> &[ExchangeLeg] {
        &self.legs
    }

    /// The amount that the first exchange leg starts from, in the input token's smallest unit.
    #[must_use]
    pub const fn exchanged(&self) -> U256 {
        self.exchanged
    }

    /// Computes the sum of all fee distributions, in the input token's smallest unit; `None` past
    /// 256 bits.
    #[must_use]
    pub fn total_fees(&self) -> Option<U256> {
        checked_sum(self.distributions().iter().map(|part| part.amount))
    }

    /// Returns the recipients of the fee leg; none without one.
    #[must_use]
    pub fn distributions(&self) -> &[Distribution] {
        self.fee_leg
            .as_ref()
            .map_or(&[], |leg| leg.distributions.as_slice())
    }

    /// Computes the amount that leaves the input and stays in the router, unpaid; `None` past 256
    /// bits.
    #[must_use]
    pub fn left_in_router(&self) -> Option<U256> {
        self.asked
            .from_amount
            .checked_sub(self.exchanged)?
            .checked_sub(self.total_fees()?)
    }

    /// Computes by how much the quoted output is worth less than the input, by the quote's own
    /// values.
    #[must_use]
    pub fn price_impact(&self) -> Option<BasisPoints> {
        loss(self.quoted.from_usd?, self.quoted.to_usd?)
    }
}

/// The request. Amounts are in the token's smallest unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SwapAsked {
    /// The caller's account: sender and receiver.
    pub account: Address,
    /// `accountProfile.chainId`.
    pub account_chain_id: u64,
    /// The chain of the swap.
    pub chain_id: u64,
    /// Input token.
    pub from_token: Address,
    /// Output token.
    pub to_token: Address,
    /// Gross input.
    pub from_amount: U256,
    /// The caller's slippage.
    pub max_slippage: BasisPoints,
    /// The least output that the caller accepts.
    pub min_amount_out: Option<U256>,
}

/// The figures of the quote. The plan discloses them and the checks compare them, but no check
/// relies on them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwapQuoted {
    /// The integrator.
    pub integrator: String,
    /// Chain of the input token.
    pub from_chain_id: u64,
    /// Chain of the output token.
    pub to_chain_id: u64,
    /// Input token.
    pub from_token: Address,
    /// Output token.
    pub to_token: Address,
    /// Gross input.
    pub from_amount: U256,
    /// Sender.
    pub sender: Address,
    /// Receiver.
    pub receiver: Address,
    /// Expected output.
    pub to_amount: U256,
    /// Least output.
    pub to_amount_min: U256,
    /// The contract to approve.
    pub approval_address: Address,
    /// The target of the transaction.
    pub call_to: Address,
    /// The sender of the transaction, where the quote names it.
    pub call_from: Option<Address>,
    /// The transaction's chain.
    pub call_chain_id: u64,
    /// Native coin that the transaction carries, in wei.
    pub call_value: U256,
    /// The quote's value of the input in US dollars.
    pub from_usd: Option<Decimal>,
    /// The quote's value of the expected output in US dollars.
    pub to_usd: Option<Decimal>,
    /// The time at which the quote was received.
    pub read_at: UtcSeconds,
}

/// The part of a [`FeePolicy`](crate::FeePolicy) that judges swaps on one chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewedSwap {
    /// The integrator's exact string.
    pub integrator: String,
    /// The complete set of recipients.
    pub recipients: Vec<Address>,
    /// The service's own recipient.
    pub own: Address,
    /// The own recipient's share of the gross input.
    pub own_share: BasisPoints,
    /// The rounding of the shares.
    pub rounding: Rounding,
    /// The shares of this input, in the order of `recipients`; `None` past 256 bits.
    pub split: Option<FeeSplit>,
    /// The most that all recipients together may take of the gross input.
    pub aggregate_cap: BasisPoints,
    /// The aggregator's router.
    pub router: Address,
    /// The aggregator's fee forwarder.
    pub forwarder: Address,
}

/// The fee leg: the router's call of the reviewed forwarder, with the calldata of that call
/// decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeeLeg {
    /// The contract that the router approves for its tokens.
    pub spender: Address,
    /// The token that the leg starts from.
    pub sending: Address,
    /// The token that the leg ends in.
    pub receiving: Address,
    /// The amount that the router pulls from the account before the legs run, if any.
    pub deposit: Option<U256>,
    /// The token that the forwarder distributes.
    pub token: Address,
    /// The recipients with their amounts.
    pub distributions: Vec<Distribution>,
}

/// One recipient's part of the fee.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Distribution {
    /// The recipient.
    pub recipient: Address,
    /// The amount in the input token's smallest unit.
    pub amount: U256,
}

/// An exchange leg.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangeLeg {
    /// The contract that the router calls.
    pub target: Address,
    /// The first four bytes of the call; `None` when there are fewer.
    pub selector: Option<Selector>,
    /// Whether bytes follow the selector: the router refuses a call that is a selector only.
    pub has_arguments: bool,
    /// The review of this contract and function; `None` when they are not on the chain's
    /// list.
    pub review: Option<ReviewedLeg>,
    /// The contract that the router approves for its tokens.
    pub spender: Address,
    /// The token that the leg starts from.
    pub sending: Address,
    /// The token that the leg ends in.
    pub receiving: Address,
    /// The amount that the router pulls from the account before the legs run, if any.
    pub deposit: Option<U256>,
}

impl ExchangeLeg {
    /// Returns whether contract, function and spender are those of the chain's reviewed list.
    #[must_use]
    pub fn is_reviewed(&self) -> bool {
        self.review
            .as_ref()
            .is_some_and(|review| review.spender == self.spender)
    }
}

/// Computes by how much `received` is less than `spent`, rounded up; `None` when `spent` is zero.
///
/// ```
/// use calldata_checks::swap::loss;
///
/// let bps = loss("1000".parse()?, "994.5".parse()?).map(|loss| loss.get());
/// assert_eq!(bps, Some(55));
/// # Ok::<(), calldata_checks::DecimalError>(())
/// ```
#[must_use]
pub fn loss(spent: Decimal, received: Decimal) -> Option<BasisPoints> {
    let scale = spent.scale().max(received.scale());
    let whole = U256::from(BasisPoints::MAX.get());
    let kept = received.atoms(scale)?.checked_mul(whole)?;
    let kept = kept.checked_div(spent.atoms(scale)?)?;
    BasisPoints::new(u16::try_from(whole.saturating_sub(kept)).ok()?)
}

fn checked_sum(amounts: impl IntoIterator<Item = U256>) -> Option<U256> {
    amounts.into_iter().try_fold(U256::ZERO, U256::checked_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_is_rounded_up() {
        let decimal = |text: &str| text.parse::<Decimal>().unwrap();
        for (spent, received, bps) in [
            ("1000", "1000", Some(0)),
            ("1000", "1001.5", Some(0)),
            ("1000", "994.5", Some(55)),
            ("1000", "994.4999", Some(56)),
            ("1000", "0", Some(10_000)),
            ("0", "1", None),
        ] {
            let found = loss(decimal(spent), decimal(received)).map(BasisPoints::get);
            assert_eq!(found, bps, "{spent} {received}");
        }
    }
}
