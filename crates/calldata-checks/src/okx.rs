//! The paid swap and approval of chain 196: it decodes the calldata of the aggregator (OKX's DEX)
//! and compares it with the request.
//!
//! An answer of the aggregator describes a swap twice: as figures for people, and as calldata for
//! the chain. Only the calldata moves money. [`judge`] compares the figures with the request,
//! decodes the calldata, and compares every decoded fact with the request and the reviewed set.
//! [`judge_approval`] does the same for an approval. Neither repairs anything: the result is the
//! facts, or the [`Refusal`] that names the first comparison that fails.
//!
//! Arguments must encode again to the very bytes they came from. Bytes after the arguments must be
//! one of the documented suffixes, because the router reads its fees from the end of its calldata.
//! That is why [`crate::abi`] does not read these calls: it refuses every suffix.
//!
//! The module does not ask the aggregator, reads no JSON and no clock: the adapter passes in its
//! readings and the time.
//!
//! ```
//! use alloy_primitives::{U256, address};
//! use calldata_checks::okx::{
//!     OfferedCall, Quote, ReviewedContracts, SlippageTolerance, SwapAsked, judge,
//! };
//!
//! let reviewed = ReviewedContracts::default();
//! let asked = SwapAsked {
//!     account: address!("1111111111111111111111111111111111111111"),
//!     from_token: address!("779Ded0c9e1022225f8E0630b35a9b54bE713736"),
//!     to_token: address!("e538905cf8410324e03A5A23C1c177a474D59b2b"),
//!     amount: U256::from(12_500_000),
//!     slippage: SlippageTolerance::default(),
//! };
//! // The calldata of another function: whatever the figures say, it is refused.
//! let quote = Quote {
//!     chain_index: "196",
//!     from_token: asked.from_token,
//!     from_decimals: U256::from(6),
//!     to_token: asked.to_token,
//!     amount: asked.amount,
//!     max_spend: None,
//!     slippage_percent: Some("1"),
//!     call: OfferedCall {
//!         to: reviewed.routers[0],
//!         from: asked.account,
//!         value: U256::ZERO,
//!         data: &[0xa9, 0x05, 0x9c, 0xbb],
//!         quoted_output: U256::from(100),
//!         min_output: U256::from(99),
//!     },
//! };
//! let now = "2026-11-21T01:00:00Z".parse()?;
//! let refusal = judge(&quote, &asked, &reviewed, now).unwrap_err();
//! assert_eq!(refusal.code(), "selector_unreviewed");
//! # Ok::<(), calldata_checks::TimeError>(())
//! ```

mod bind;
mod decode;
mod layout;
mod quote;
mod refusal;
mod reviewed;
mod slippage;
mod suffix;

pub use self::{
    bind::{OfferedApproval, OfferedCall, SwapAsked, judge_approval},
    decode::{Receiver, SwapFacts, decode},
    quote::{Quote, judge},
    refusal::Refusal,
    reviewed::{CHAIN_ID, NATIVE_COIN, ReviewedContracts, SourceToken},
    slippage::{SlippageError, SlippageTolerance},
    suffix::{Trim, TrimCharge},
};

#[cfg(test)]
mod tests;
