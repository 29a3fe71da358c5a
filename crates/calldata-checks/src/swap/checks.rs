//! The twelve checks of a swap, in their order.

mod fees;
mod route;

use std::fmt::Display;

use alloy_primitives::U256;

use super::SwapFacts;
use crate::{Check, Facts, Rail, Violation, commitment, step};

/// Name of the check of the integrator.
pub const INTEGRATOR: &str = "agg_integrator_exact";
/// Name of the check that every fee recipient is reviewed.
pub const FEE_RECIPIENT: &str = "agg_fee_recipient_exact";
/// Name of the check of the service's own fee.
pub const FEE_AMOUNT: &str = "agg_fee_amount_exact";
/// Name of the check that the recipients are the complete reviewed set.
pub const FEE_SET: &str = "agg_fee_recipient_set_versioned";
/// Name of the check of all fees together.
pub const FEE_CAP: &str = "agg_fee_aggregate_cap";
/// Name of the check of sender and receiver.
pub const RECEIVER: &str = "agg_receiver_account_bound";
/// Name of the check of the minimum output.
pub const MIN_OUT: &str = "agg_min_out_slippage_bound";
/// Name of the check of tokens, amounts and chains.
pub const TOKENS: &str = "agg_token_amount_bound";
/// Name of the check of targets, spenders and native value.
pub const TARGETS: &str = "agg_targets_value_bound";

impl crate::engine::sealed::Sealed for SwapFacts {}

impl Facts for SwapFacts {
    const RAIL: Rail = Rail::Swap;
    const CHECKS: &'static [Check<Self>] = &[
        Check {
            name: INTEGRATOR,
            establishes: "calldata carries the service's exact integrator string and no other",
            judge: fees::integrator_exact,
        },
        Check {
            name: FEE_RECIPIENT,
            establishes: "every fee recipient is in the reviewed, versioned set",
            judge: fees::fee_recipient_exact,
        },
        Check {
            name: FEE_AMOUNT,
            establishes: "the service's own distribution is the configured amount for this gross input; no other recipient takes more than its own",
            judge: fees::fee_amount_exact,
        },
        Check {
            name: FEE_SET,
            establishes: "the fee body names the complete versioned recipient set, each once; whose share rounds to nothing may be left out",
            judge: fees::fee_recipient_set_versioned,
        },
        Check {
            name: FEE_CAP,
            establishes: "all fee distributions together are within the configured cap",
            judge: fees::fee_aggregate_cap,
        },
        Check {
            name: RECEIVER,
            establishes: "the decoded receiver and the quote's sender and receiver are the account",
            judge: route::receiver_account_bound,
        },
        Check {
            name: MIN_OUT,
            establishes: "the minimum output is the quoted one, within slippage and minAmountOut, and not above what is expected",
            judge: route::min_out_slippage_bound,
        },
        Check {
            name: TOKENS,
            establishes: "deposits are the input token and total the input amount; the legs follow each other from the input to the output token",
            judge: route::token_amount_bound,
        },
        Check {
            name: TARGETS,
            establishes: "approvals and call go to the reviewed router, legs to reviewed contracts with their reviewed spenders; no native value",
            judge: route::targets_value_bound,
        },
        Check {
            name: commitment::PAYLOAD_DIGEST,
            establishes: commitment::PAYLOAD_DIGEST_ESTABLISHES,
            judge: |facts| facts.commitment.judge_digest(),
        },
        Check {
            name: step::RESET_ORDER,
            establishes: "the allowance is cleared to zero before the new one is set",
            judge: |facts| facts.steps.judge_reset_order(),
        },
        Check {
            name: commitment::ARTIFACT_EXPIRY,
            establishes: commitment::ARTIFACT_EXPIRY_ESTABLISHES,
            judge: route::artifact_expiry,
        },
    ];
}

fn same<T: PartialEq + Display>(
    message: &'static str,
    expected: T,
    observed: T,
) -> Result<(), Violation> {
    if expected == observed {
        return Ok(());
    }
    Err(Violation::new(message, expected, observed))
}

fn computed(value: Option<U256>, what: &'static str) -> Result<U256, Violation> {
    value.ok_or_else(|| Violation::new(what, "a 256-bit number", "an overflow"))
}
