//! The constructors as `tools/list` shows them.

use calldata_checks::Rail;
use plan_builder::Request;

use super::output;
use crate::mcp::{Annotations, ToolDescription};

/// A constructor's name under a brand.
pub(super) fn name(brand: &str, rail: Rail) -> String {
    format!("{brand}_prepare_{}", rail.as_str())
}

pub(super) fn describe(brand: &str, rail: Rail) -> ToolDescription {
    let (title, builds) = match rail {
        Rail::Swap => ("Prepare a swap", SWAP),
        Rail::Bridge => ("Prepare a USDC bridge transfer", BRIDGE),
        Rail::PmOrder => ("Prepare a prediction-market order", PM_ORDER),
        Rail::PerpOrder => ("Prepare a perpetuals order", PERP_ORDER),
    };
    ToolDescription {
        name: name(brand, rail),
        title: title.to_owned(),
        description: format!("{builds} {EVERY}"),
        input_schema: Request::schema(rail),
        output_schema: output::either(output::plan(rail)),
        annotations: Annotations {
            read_only_hint: true,
            destructive_hint: false,
            // Each call reads a new quote and makes a new plan.
            idempotent_hint: false,
            open_world_hint: true,
        },
    }
}

const EVERY: &str = "Nothing is signed or sent: the result is an unsigned plan for the caller's own account, with the \
    checks that were run on its bytes, an expiry (valid_until) and a digest (submission.payload_digest); or \
    {\"refused\": {\"check\", \"message\", …}}, which names what does not hold and carries no plan.";

const SWAP: &str = "Builds a same-chain ERC-20 swap through the reviewed aggregator router as ordered steps: allowance \
    reset, approval, call. fromAmount is in the input token's smallest unit. The calldata is decoded and bound to the \
    request: tokens, amount, receiver, fee recipients and amounts, minimum output.";

const BRIDGE: &str = "Builds a transfer of native USDC between Ethereum (1), Polygon (137), Base (8453), Arbitrum \
    (42161) and Avalanche (43114) as burn on the source chain and mint on the other (CCTP V2); any other chain, token or \
    route is refused by name. amount is in USDC's smallest unit (6 decimals).";

const PM_ORDER: &str = "Builds a limit order (good till cancelled) of the prediction market for an EOA on Polygon, as \
    order arguments and EIP-712 typed data to sign. price is between 0 and 1 in the market's tick, size in shares. The \
    order is not posted.";

const PERP_ORDER: &str = "Builds a perpetuals limit order, optionally with reduce-only take-profit and stop-loss \
    triggers, as the venue's canonical action and the EIP-712 recipe to sign it. price and size are decimal strings. The \
    order is not sent.";
