//! The ports of wallet actions: plans of swaps and bridges, and the attestation of a burn.
//!
//! The implementations reach the outside world. This crate decides what it does with their answers.

use std::pin::Pin;

use alloy_primitives::{Address, B256, Bytes, U256};
use serde_json::Value;
use thiserror::Error;

use crate::StepKind;

/// The future that a port returns.
pub type PortFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Builds and checks the transactions of swaps and bridges, and judges what deposits are worth. An
/// implementation checks the bytes of every plan that it returns, and what a swap is worth. This
/// crate checks the recipients and the remaining balances, and does not check the encoding of a
/// route.
pub trait Plans: Send + Sync + 'static {
    /// Plans the transactions of a swap. A swap is planned only when its worth was judged and
    /// holds.
    fn swap(&self, ask: SwapAsk) -> PortFuture<'_, Result<SwapPlan, PlanRefused>>;

    /// Judges what a deposit is worth. Returns the evidence of the judgement, for the answer.
    fn judge_deposit(&self, ask: DepositAsk) -> PortFuture<'_, Result<Value, PlanRefused>>;

    /// Plans the transactions of a bridge on its source chain.
    fn bridge(&self, ask: BridgeAsk) -> PortFuture<'_, Result<BridgePlan, PlanRefused>>;

    /// Asks for the message and the attestation that complete a bridge on its destination chain.
    /// `None` while the burn is not attested.
    fn attestation(&self, burn: Burn) -> PortFuture<'_, Result<Option<Attested>, PlanRefused>>;
}

/// A swap to plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwapAsk {
    /// The chain of both tokens.
    pub chain_id: u64,
    /// The account that sells, and receives the output.
    pub wallet: Address,
    /// The input token.
    pub from_token: Address,
    /// The output token.
    pub to_token: Address,
    /// The input in whole tokens, as the caller wrote it.
    pub amount: String,
    /// The input in the token's smallest unit.
    pub atoms: U256,
    /// How far the output may fall below the quote, in percent, as the caller wrote it.
    pub slippage_pct: String,
    /// The same slippage in basis points.
    pub slippage_bps: u64,
    /// The decimals of the input token, by its contract.
    pub from_decimals: u8,
    /// The decimals of the output token, by its contract.
    pub to_decimals: u8,
    /// The same as [`Order::max_price_impact_bps`](crate::Order::max_price_impact_bps).
    pub max_price_impact_bps: Option<u32>,
}

/// A deposit to judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DepositAsk {
    /// The chain.
    pub chain_id: u64,
    /// The deposited asset.
    pub asset: Address,
    /// The decimals of the asset, by its contract.
    pub decimals: u8,
    /// The deposit, in the asset's smallest unit.
    pub amount: U256,
    /// The worth of the shares in the asset's smallest unit, by the product's own conversion.
    pub worth: U256,
    /// The same as [`Order::max_price_impact_bps`](crate::Order::max_price_impact_bps).
    pub max_price_impact_bps: Option<u32>,
}

/// A planned and checked swap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwapPlan {
    /// The transactions, in order. The last one swaps.
    pub steps: Vec<PlannedStep>,
    /// The account that may take the input token.
    pub spender: Address,
    /// The quoted output, in the output token's smallest unit.
    pub quoted: U256,
    /// The smallest output that the calldata accepts.
    pub at_least: U256,
    /// The quote is stale from this Unix second on.
    pub valid_until: u64,
    /// The evidence of the checks, for the answer: the digest of the plan, and the names of its
    /// checks.
    pub evidence: Value,
}

/// A bridge to plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgeAsk {
    /// The source chain.
    pub from_chain: u64,
    /// The destination chain.
    pub to_chain: u64,
    /// The sending account.
    pub wallet: Address,
    /// The receiving account.
    pub recipient: Address,
    /// The token on the source chain.
    pub token: Address,
    /// The amount to move, in the token's smallest unit.
    pub atoms: U256,
}

/// A planned and checked bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgePlan {
    /// The transactions on the source chain, in order. The last one burns.
    pub steps: Vec<PlannedStep>,
    /// The account that may take the token.
    pub spender: Address,
    /// The highest fee that the protocol may deduct when it mints.
    pub max_fee: U256,
    /// The protocol's domain number of the source chain.
    pub source_domain: u32,
    /// The protocol's domain number of the destination chain.
    pub destination_domain: u32,
    /// The token on the destination chain.
    pub minted_token: Address,
    /// The contract on the destination chain that accepts the attested message.
    pub transmitter: Address,
    /// The fees are stale from this Unix second on.
    pub valid_until: u64,
    /// The evidence of the checks, for the answer.
    pub evidence: Value,
}

/// A transaction of a plan. It transfers no coins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedStep {
    /// The purpose of the transaction.
    pub kind: StepKind,
    /// The contract or account that the transaction calls.
    pub to: Address,
    /// Its calldata.
    pub input: Bytes,
}

/// A burn in a sealed block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burn {
    /// The protocol's domain number of the source chain.
    pub source_domain: u32,
    /// The burn's transaction.
    pub transaction: B256,
}

/// A message and its attestation. Both are untrusted input: only the destination chain verifies the
/// attestation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attested {
    /// The message.
    pub message: Bytes,
    /// The signatures over the message.
    pub attestation: Bytes,
}

/// Why there is no plan. Nothing was signed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{check}: {message}")]
pub struct PlanRefused {
    /// The kind of refusal.
    pub cause: PlanCause,
    /// The stable name of the check or reason.
    pub check: String,
    /// A message for people.
    pub message: String,
    /// Seconds after which a retry may succeed, if known.
    pub retry_after: Option<u64>,
}

/// The kinds of refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanCause {
    /// An upstream does not answer, or its answer cannot be used.
    Unavailable,
    /// No route exists, or the chain or token is not supported.
    NoRoute,
    /// The bytes of the quote fail a check.
    Refused,
    /// What comes out is not worth what goes in, or nobody can tell. `check` is the code of the
    /// judgement of worth.
    Worth,
}
