//! The port to an aggregator's quotes, and to prices from another source.

use std::future::Future;

use alloy_primitives::{Address, Bytes, U256};
use calldata_checks::{BasisPoints, Decimal, UtcSeconds, swap::PriceReading};
use serde::{Deserialize, Serialize};

use super::PortError;
use crate::wire::{As, Digits, Eip55, Exact, Hex, Time, Wire};

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

    /// Reads the prices of both tokens from a source that is not the aggregator. `None` when no
    /// source is configured or a price is unknown. The plan then says that no independent price was
    /// read.
    fn independent_price(
        &self,
        _ask: &SwapAsk,
    ) -> impl Future<Output = Option<IndependentPrice>> + Send {
        async { None }
    }
}

/// The prices of a swap's two tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IndependentPrice {
    /// The name of the source (`defillama`).
    pub source: String,
    /// The prices.
    #[serde(with = "As::<PriceRecord>")]
    pub reading: PriceReading,
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
    /// The most that the output's worth may be below the input's. `None` for the aggregator's own
    /// limit.
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

/// The prices of both tokens, in their form of the wire.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceRecord {
    as_of: Time,
    from_decimals: u8,
    from_usd: Exact,
    to_decimals: u8,
    to_usd: Exact,
}

impl Wire<PriceReading> for PriceRecord {
    fn of(reading: &PriceReading) -> Self {
        Self {
            as_of: Time(reading.as_of),
            from_decimals: reading.from_decimals,
            from_usd: Exact(reading.from_usd),
            to_decimals: reading.to_decimals,
            to_usd: Exact(reading.to_usd),
        }
    }

    fn value(self) -> PriceReading {
        PriceReading {
            from_usd: self.from_usd.0,
            from_decimals: self.from_decimals,
            to_usd: self.to_usd.0,
            to_decimals: self.to_decimals,
            as_of: self.as_of.0,
        }
    }
}
