//! What a constructor needs from outside: quotes, venue facts, read-backs, simulation. Implemented
//! elsewhere (the adapters of `data-sources`, or an embedder's own); nothing here opens a socket.

use std::{future::Future, time::Duration};

use alloy_primitives::{Address, B256, Bytes, U256};
pub use calldata_checks::pm_order::PmBuilderFee;
use calldata_checks::{BasisPoints, Decimal, Step, UtcSeconds, swap::PriceReading};

/// Why a port gave nothing usable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{source_name}: {reason}")]
pub struct PortError {
    /// Which upstream, by its name in a configuration (`lifi`, `circle`, `polymarket`,
    /// `hyperliquid`, `rpc`).
    pub source_name: &'static str,
    /// What happened.
    pub reason: PortErrorReason,
}

/// What went wrong at a port. Texts are for people, short, without control characters, URLs or
/// keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PortErrorReason {
    /// Nothing is configured that could answer.
    #[error("not configured: {detail}")]
    NotConfigured {
        /// What is missing.
        detail: String,
    },
    /// Time-out, refused connection, 5xx, an open circuit breaker.
    #[error("unavailable: {detail}")]
    Unavailable {
        /// What was seen.
        detail: String,
    },
    /// The upstream's rate limit.
    #[error("rate limited{}", .retry_after.map(|d| format!(", retry in {} s", d.as_secs())).unwrap_or_default())]
    RateLimited {
        /// When the upstream says that it answers again.
        retry_after: Option<Duration>,
    },
    /// Not JSON, cut off, a missing or mistyped member, a value out of range.
    #[error("malformed answer at {path}: {detail}")]
    Malformed {
        /// Where, as a JSON path (`$.estimate.toAmountMin`); `$` for the whole body.
        path: String,
        /// What is wrong there.
        detail: String,
    },
    /// The upstream answered that there is no route, pool or quote for this.
    #[error("no route: {detail}")]
    NoRoute {
        /// The upstream's reason.
        detail: String,
    },
    /// The upstream does not know the thing asked for (a token, a market, a coin).
    #[error("unknown {subject}")]
    Unknown {
        /// What.
        subject: String,
    },
    /// The upstream refused the request itself.
    #[error("refused: {detail}")]
    Refused {
        /// The upstream's reason.
        detail: String,
    },
}

/// Swap quotes of the aggregator.
pub trait SwapQuotes: Send + Sync {
    /// A quote with its transaction.
    ///
    /// # Errors
    /// [`PortError`]
    fn quote(&self, ask: &SwapAsk) -> impl Future<Output = Result<SwapQuote, PortError>> + Send;

    /// The prices of both tokens by a source that is not the aggregator; `None` where nothing is
    /// configured or one of them is not known. What is missing stands in the plan as missing.
    fn independent_price(
        &self,
        _ask: &SwapAsk,
    ) -> impl Future<Output = Option<IndependentPrice>> + Send {
        async { None }
    }
}

/// The prices of a swap's two tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndependentPrice {
    /// Name of the source (`defillama`).
    pub source: String,
    /// What it says.
    pub reading: PriceReading,
}

/// What is asked of the aggregator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwapAsk {
    /// The chain, of both tokens.
    pub chain_id: u64,
    /// Input token.
    pub from_token: Address,
    /// Output token.
    pub to_token: Address,
    /// Gross input, in the input token's smallest unit.
    pub from_amount: U256,
    /// Sender and receiver.
    pub account: Address,
    /// Slippage.
    pub max_slippage: BasisPoints,
    /// The integrator's exact string.
    pub integrator: String,
    /// The service's own fee.
    pub fee: BasisPoints,
    /// The aggregator's keys of the exchanges that may be asked; empty for all of them.
    pub allow_tools: Vec<String>,
    /// Those that may not.
    pub deny_tools: Vec<String>,
    /// The most that the output may be worth less than the input; `None` for the aggregator's own
    /// limit.
    pub max_price_impact: Option<BasisPoints>,
}

/// A quote, as far as the checks read it. The adapter parses; it judges nothing but form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwapQuote {
    /// Name of the aggregator (`lifi`).
    pub source: String,
    /// The exchange that the aggregator chose, untrusted text without control characters.
    pub tool: String,
    /// `integrator`.
    pub integrator: String,
    /// `action.fromChainId`.
    pub from_chain_id: u64,
    /// `action.toChainId`.
    pub to_chain_id: u64,
    /// `action.fromToken.address`.
    pub from_token: Address,
    /// `action.toToken.address`.
    pub to_token: Address,
    /// `action.fromAmount`.
    pub from_amount: U256,
    /// `action.fromAddress`.
    pub sender: Address,
    /// `action.toAddress`.
    pub receiver: Address,
    /// `estimate.toAmount`.
    pub to_amount: U256,
    /// `estimate.toAmountMin`.
    pub to_amount_min: U256,
    /// `estimate.approvalAddress`.
    pub approval_address: Address,
    /// `transactionRequest.to`.
    pub call_to: Address,
    /// `transactionRequest.from`, when it is there.
    pub call_from: Option<Address>,
    /// `transactionRequest.chainId`.
    pub call_chain_id: u64,
    /// `transactionRequest.value`; a missing one is zero.
    pub call_value: U256,
    /// `transactionRequest.data`.
    pub call_data: Bytes,
    /// `estimate.fromAmountUSD`, when it is there.
    pub from_usd: Option<Decimal>,
    /// `estimate.toAmountUSD`, when it is there.
    pub to_usd: Option<Decimal>,
    /// When the answer was received.
    pub read_at: UtcSeconds,
}

/// The fees and limits of native-USDC transfers.
pub trait BridgeFees: Send + Sync {
    /// The fees of one directed route, by protocol domain.
    ///
    /// # Errors
    /// [`PortError`]
    fn fees(
        &self,
        source_domain: u32,
        destination_domain: u32,
        forward: bool,
    ) -> impl Future<Output = Result<BridgeFeeReading, PortError>> + Send;

    /// What is left of the global fast allowance, in the smallest unit of USDC.
    ///
    /// # Errors
    /// [`PortError`]
    fn fast_allowance(&self) -> impl Future<Output = Result<U256, PortError>> + Send;
}

/// The fees of a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgeFeeReading {
    /// Basis points of the row with finality threshold 1000, exact; `None` when there is no such
    /// row.
    pub fast_bps: Option<Decimal>,
    /// Basis points of the row with finality threshold 2000.
    pub standard_bps: Decimal,
    /// The highest forwarding fee, in the smallest unit of USDC, when it was asked for.
    pub forward_fee: Option<U256>,
    /// When the answer was received.
    pub read_at: UtcSeconds,
}

/// Reads of accounts on chains.
pub trait Accounts: Send + Sync {
    /// The code at an address.
    ///
    /// # Errors
    /// [`PortError`]; `NotConfigured` for a chain without an endpoint.
    fn code(
        &self,
        chain_id: u64,
        address: Address,
    ) -> impl Future<Output = Result<Bytes, PortError>> + Send;

    /// A call at the latest block: its return data; `None` when it reverts.
    ///
    /// # Errors
    /// [`PortError`]
    fn call(
        &self,
        chain_id: u64,
        to: Address,
        data: Bytes,
    ) -> impl Future<Output = Result<Option<Bytes>, PortError>> + Send;
}

/// The prediction market's venue.
pub trait PmVenue: Send + Sync {
    /// Everything about the market of a token that an order needs, read now.
    ///
    /// # Errors
    /// [`PortError`]
    fn market(&self, token_id: U256) -> impl Future<Output = Result<PmMarket, PortError>> + Send;

    /// What the venue takes for an attribution code, read now.
    ///
    /// # Errors
    /// [`PortError`]
    fn builder_fee(
        &self,
        code: B256,
    ) -> impl Future<Output = Result<PmBuilderFee, PortError>> + Send;
}

/// A market as the venue describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PmMarket {
    /// `GET /version`.
    pub version: u64,
    /// The market's condition.
    pub condition_id: B256,
    /// The two tokens with their outcomes, in the venue's order.
    pub tokens: [PmToken; 2],
    /// Price step.
    pub tick_size: Decimal,
    /// Least size in shares.
    pub min_order_size: Decimal,
    /// Whether the negative-risk exchange settles it.
    pub neg_risk: bool,
    /// Whether it accepts orders.
    pub accepting_orders: bool,
    /// Whether it has an order book.
    pub order_book: bool,
    /// Whether it is active.
    pub active: bool,
    /// Whether it is closed.
    pub closed: bool,
    /// The taker fee's rate and exponent, when the venue tells them.
    pub fee_rate: Option<Decimal>,
    /// When it was read.
    pub read_at: UtcSeconds,
}

/// A token of a market.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PmToken {
    /// Its id.
    pub token_id: U256,
    /// Its outcome, untrusted text without control characters.
    pub outcome: String,
}

/// The perpetuals venue.
pub trait PerpVenue: Send + Sync {
    /// The asset that a coin names, read now (`BTC`, `xyz:TSLA`).
    ///
    /// # Errors
    /// [`PortError`]
    fn asset(&self, coin: &str) -> impl Future<Output = Result<PerpAsset, PortError>> + Send;

    /// The highest fee that a user has approved for a builder, in tenths of a basis point.
    ///
    /// # Errors
    /// [`PortError`]
    fn max_builder_fee(
        &self,
        user: Address,
        builder: Address,
    ) -> impl Future<Output = Result<u64, PortError>> + Send;
}

/// A perpetual as the venue describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PerpAsset {
    /// Its name in the universe.
    pub coin: String,
    /// Its dex; empty for the first one.
    pub dex: String,
    /// Position of the dex in `perpDexs` (0 for the first one).
    pub dex_index: u32,
    /// Position in the universe of its dex.
    pub universe_index: u32,
    /// Its asset id on the wire.
    pub asset_id: u32,
    /// Decimals of a size.
    pub size_decimals: u8,
    /// Highest leverage.
    pub max_leverage: u32,
    /// Whether it is delisted.
    pub delisted: bool,
    /// Position of its dex' collateral in the venue's list of spot tokens (0 is USDC).
    pub collateral_token: u32,
    /// The name of that token, untrusted text without control characters.
    pub collateral: String,
    /// The mark price, when the venue has one.
    pub mark_price: Option<Decimal>,
    /// When it was read.
    pub read_at: UtcSeconds,
}

/// Whole-plan simulation against a chain's latest state.
pub trait Simulator: Send + Sync {
    /// Whether there is anything to ask for this chain. Where there is not, no calls are put
    /// together.
    fn simulates(&self, _chain_id: u64) -> bool {
        true
    }

    /// Runs calls from an account one after another in one block that is then dropped; one outcome
    /// for each call. `None` when nothing is configured for this chain.
    ///
    /// # Errors
    /// [`PortError`]
    fn simulate(
        &self,
        chain_id: u64,
        account: Address,
        calls: &[Step],
    ) -> impl Future<Output = Result<Option<Vec<SimulatedCall>>, PortError>> + Send;
}

/// The outcome of one simulated call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimulatedCall {
    /// Whether it succeeded.
    pub success: bool,
    /// What it returned, or its revert data.
    pub return_data: Bytes,
    /// Gas used.
    pub gas_used: u64,
    /// Its logs.
    pub logs: Vec<SimulatedLog>,
}

/// A log of a simulated call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimulatedLog {
    /// The emitting contract.
    pub address: Address,
    /// Topics.
    pub topics: Vec<B256>,
    /// Data.
    pub data: Bytes,
}

/// No simulation: for embedders without an endpoint.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSimulator;

impl Simulator for NoSimulator {
    fn simulates(&self, _: u64) -> bool {
        false
    }

    async fn simulate(
        &self,
        _: u64,
        _: Address,
        _: &[Step],
    ) -> Result<Option<Vec<SimulatedCall>>, PortError> {
        Ok(None)
    }
}

/// No reads of accounts: nothing is configured. For embedders without an endpoint; a Safe-type
/// account then gets no bridge plan.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoAccounts;

impl NoAccounts {
    const fn error(detail: String) -> PortError {
        PortError {
            source_name: "rpc",
            reason: PortErrorReason::NotConfigured { detail },
        }
    }
}

impl Accounts for NoAccounts {
    async fn code(&self, chain_id: u64, _: Address) -> Result<Bytes, PortError> {
        Err(Self::error(format!("no endpoint for chain {chain_id}")))
    }

    async fn call(&self, chain_id: u64, _: Address, _: Bytes) -> Result<Option<Bytes>, PortError> {
        Err(Self::error(format!("no endpoint for chain {chain_id}")))
    }
}
