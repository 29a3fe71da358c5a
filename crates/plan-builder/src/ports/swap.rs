//! The port to an aggregator's quotes, and to the judgement of what they are worth.

use std::future::Future;

use alloy_primitives::{Address, Bytes, U256};
use calldata_checks::{BasisPoints, Decimal, UtcSeconds, swap::loss};
use serde::{Deserialize, Serialize};

use super::PortError;
use crate::{
    Judgement, Refusal,
    wire::{As, Digits, Eip55, Exact, Hex, Time},
};

/// Swap quotes of the aggregator.
///
/// # Example
/// [`swap::build`](crate::swap::build) has an implementation.
pub trait SwapQuotes: Send + Sync {
    /// Reads a quote with its transaction.
    ///
    /// # Errors
    /// [`PortError`]
    fn quote(&self, ask: &SwapAsk) -> impl Future<Output = Result<SwapQuote, PortError>> + Send;

    /// Judges what a quoted swap is worth, by prices that are independent of the quote
    /// ([`Judgement::output_price`]). The plan states the judgement, and no verifier can repeat it.
    /// By default nobody judges, and the plan says so.
    ///
    /// # Errors
    /// The refusal of a swap that breaks a limit: [`Refusal::PRICE_IMPACT`], [`Refusal::HONEYPOT`],
    /// [`Refusal::TOKEN_TAX`].
    fn judge_worth(
        &self,
        _ask: &SwapAsk,
        _quote: &SwapQuote,
    ) -> impl Future<Output = Result<Judgement, Refusal>> + Send {
        async {
            Ok(Judgement::output_price(
                false,
                "no source of prices was asked",
            ))
        }
    }
}

/// The parameters of a quote.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SwapAsk {
    /// The chain of both tokens.
    pub chain_id: u64,
    /// The input token.
    pub from_token: Address,
    /// The output token.
    pub to_token: Address,
    /// The gross input, in the input token's smallest unit.
    pub from_amount: U256,
    /// The account that sends the input and receives the output.
    pub account: Address,
    /// The most that the output may fall below the quoted one.
    pub max_slippage: BasisPoints,
    /// The exact text that names the integrator.
    pub integrator: String,
    /// The service's own fee.
    pub fee: BasisPoints,
    /// The exchanges that the aggregator may use, by its keys. When it is empty, all of them.
    pub allow_tools: Vec<String>,
    /// The exchanges that the aggregator must not use, by its keys.
    pub deny_tools: Vec<String>,
    /// The most that the output's worth may be below the input's, if the caller sets it. The
    /// operator's limit otherwise.
    pub max_price_impact: Option<BasisPoints>,
}

/// The members of a quote that the checks read. The adapter parses them and judges only their form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwapQuote {
    /// The name of the aggregator (`lifi`).
    pub source: String,
    /// The exchange that the aggregator chose. The text is untrusted, and has no control
    /// characters.
    pub tool: String,
    /// `integrator`.
    pub integrator: String,
    /// `action.fromChainId`.
    pub from_chain_id: u64,
    /// `action.toChainId`.
    pub to_chain_id: u64,
    /// `action.fromToken.address`.
    #[serde(with = "As::<Eip55>")]
    pub from_token: Address,
    /// `action.toToken.address`.
    #[serde(with = "As::<Eip55>")]
    pub to_token: Address,
    /// `action.fromAmount`.
    #[serde(with = "As::<Digits>")]
    pub from_amount: U256,
    /// `action.fromAddress`.
    #[serde(with = "As::<Eip55>")]
    pub sender: Address,
    /// `action.toAddress`.
    #[serde(with = "As::<Eip55>")]
    pub receiver: Address,
    /// `estimate.toAmount`.
    #[serde(with = "As::<Digits>")]
    pub to_amount: U256,
    /// `estimate.toAmountMin`.
    #[serde(with = "As::<Digits>")]
    pub to_amount_min: U256,
    /// `estimate.approvalAddress`.
    #[serde(with = "As::<Eip55>")]
    pub approval_address: Address,
    /// `transactionRequest.to`.
    #[serde(with = "As::<Eip55>")]
    pub call_to: Address,
    /// `transactionRequest.from`, if the quote has it.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "As::<Option<Eip55>>"
    )]
    pub call_from: Option<Address>,
    /// `transactionRequest.chainId`.
    pub call_chain_id: u64,
    /// `transactionRequest.value`. Zero when the quote has none.
    #[serde(with = "As::<Digits>")]
    pub call_value: U256,
    /// `transactionRequest.data`.
    #[serde(with = "As::<Hex>")]
    pub call_data: Bytes,
    /// `estimate.fromAmountUSD`, if the quote has it.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "As::<Option<Exact>>"
    )]
    pub from_usd: Option<Decimal>,
    /// `estimate.toAmountUSD`, if the quote has it.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "As::<Option<Exact>>"
    )]
    pub to_usd: Option<Decimal>,
    /// When the answer was received.
    #[serde(with = "As::<Time>")]
    pub read_at: UtcSeconds,
}

impl SwapQuote {
    /// Computes by how much the expected output is worth less than the input by the quote's own
    /// values. `None` when the quote states none.
    #[must_use]
    pub fn price_impact(&self) -> Option<BasisPoints> {
        loss(self.from_usd?, self.to_usd?)
    }
}
