//! What actions ask of others: plans of swaps and bridges, and the attestation of a burn.

use std::pin::Pin;

use alloy_primitives::{Address, B256, Bytes, U256};
use serde_json::Value;
use thiserror::Error;

use crate::StepKind;

/// The answer of a port.
pub type PortFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Builds and judges the transactions of swaps and bridges. Whatever it returns has passed the
/// checks of its rail on its own bytes: this crate judges who is paid and what is left, and not how
/// a route is encoded.
pub trait Plans: Send + Sync + 'static {
    /// The transactions of a swap.
    fn swap(&self, ask: SwapAsk) -> PortFuture<'_, Result<SwapPlan, PlanRefused>>;

    /// The transactions of a bridge on its source chain.
    fn bridge(&self, ask: BridgeAsk) -> PortFuture<'_, Result<BridgePlan, PlanRefused>>;

    /// What completes a bridge on its destination chain; `None` while the burn is not attested.
    fn attestation(&self, burn: Burn) -> PortFuture<'_, Result<Option<Attested>, PlanRefused>>;
}

/// A swap to plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwapAsk {
    /// The chain of both tokens.
    pub chain_id: u64,
    /// Sender and receiver.
    pub wallet: Address,
    /// The input token.
    pub from_token: Address,
    /// The output token.
    pub to_token: Address,
    /// The input as the caller wrote it, in whole tokens.
    pub amount: String,
    /// The input in the token's smallest unit.
    pub atoms: U256,
    /// The most that the output may fall below the quoted one, in percent as the caller wrote it.
    pub slippage_pct: String,
    /// The same in basis points.
    pub slippage_bps: u64,
}

/// A swap that was planned and judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwapPlan {
    /// The transactions, in order; the last one swaps.
    pub steps: Vec<PlannedStep>,
    /// Who may take the input token.
    pub spender: Address,
    /// The quoted output, in the output token's smallest unit.
    pub quoted: U256,
    /// The least output that the calldata accepts.
    pub at_least: U256,
    /// The Unix second from which on the quote is stale.
    pub valid_until: u64,
    /// What proves the judgement, for the answer: the digest of the plan and the names of its
    /// checks.
    pub evidence: Value,
}

/// A bridge to plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgeAsk {
    /// The chain that the token leaves.
    pub from_chain: u64,
    /// The chain that it reaches.
    pub to_chain: u64,
    /// Who sends it.
    pub wallet: Address,
    /// Who receives it.
    pub recipient: Address,
    /// The token on the source chain.
    pub token: Address,
    /// How much leaves, in its smallest unit.
    pub atoms: U256,
}

/// A bridge that was planned and judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgePlan {
    /// The transactions on the source chain, in order; the last one burns.
    pub steps: Vec<PlannedStep>,
    /// Who may take the token.
    pub spender: Address,
    /// The most that the protocol deducts at the mint.
    pub max_fee: U256,
    /// The protocol's number of the source chain.
    pub source_domain: u32,
    /// The protocol's number of the destination chain.
    pub destination_domain: u32,
    /// The token on the destination chain.
    pub minted_token: Address,
    /// The contract on the destination chain that takes the attested message.
    pub transmitter: Address,
    /// The Unix second from which on the fees are stale.
    pub valid_until: u64,
    /// What proves the judgement, for the answer.
    pub evidence: Value,
}

/// A transaction of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedStep {
    /// What it is for.
    pub kind: StepKind,
    /// Whom it calls.
    pub to: Address,
    /// Its calldata. It carries no coins.
    pub input: Bytes,
}

/// A burn that stands in a sealed block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burn {
    /// The protocol's number of the source chain.
    pub source_domain: u32,
    /// The burn's transaction.
    pub transaction: B256,
}

/// A message and its attestation. Nobody but the destination chain believes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attested {
    /// The message.
    pub message: Bytes,
    /// The signatures over it.
    pub attestation: Bytes,
}

/// Why there is no plan. Nothing was signed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{check}: {message}")]
pub struct PlanRefused {
    /// What kind of refusal it is.
    pub cause: PlanCause,
    /// The stable name of the check or reason.
    pub check: String,
    /// What is wrong, for people.
    pub message: String,
    /// Seconds after which the same may succeed, where that is known.
    pub retry_after: Option<u64>,
}

/// The kinds of refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanCause {
    /// An upstream does not answer, or not as it should.
    Unavailable,
    /// There is no route, or chain and token are not served.
    NoRoute,
    /// A check does not hold on the bytes of the quote.
    Refused,
}
