//! The input of the checks: the request, and the plan's members as plain values. The types judge
//! nothing.

use alloy_primitives::{Address, B128, B256, Bytes};

use super::{
    action::{Side, TimeInForce},
    wire::WireAction,
};
use crate::{Decimal, UtcSeconds};

/// The request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Ask {
    /// The account that the order is for: a master account.
    pub account: Address,
    /// The vault or sub-account that the order trades for.
    pub vault: Option<Address>,
    /// The coin: `BTC`, or `dex:COIN` on a builder-deployed dex.
    pub coin: String,
    /// Buy or sell.
    pub side: Side,
    /// The limit price in USD.
    pub price: Decimal,
    /// The size in units of the coin.
    pub size: Decimal,
    /// The order's time in force.
    pub tif: TimeInForce,
    /// Whether the order may only reduce a position.
    pub reduce_only: bool,
    /// The client order id.
    pub cloid: Option<B128>,
    /// The take-profit.
    pub take_profit: Option<TriggerAsk>,
    /// The stop-loss.
    pub stop_loss: Option<TriggerAsk>,
}

/// A requested take-profit or stop-loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TriggerAsk {
    /// The mark price that fires the trigger.
    pub trigger_price: Decimal,
    /// The limit price; without one it is a market trigger.
    pub limit_price: Option<Decimal>,
}

/// The payload of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// `kind`
    pub kind: String,
    /// `endpoint`
    pub endpoint: String,
    /// `order_owner`: the account that the order is for.
    pub order_owner: Address,
    /// `action`: the JSON.
    pub action: WireAction,
    /// `action_msgpack`: the bytes that are hashed.
    pub action_msgpack: Bytes,
    /// `recipe`
    pub recipe: Recipe,
    /// `example`
    pub example: Example,
    /// `venue`
    pub venue: Venue,
}

/// A signer's way from the action to the signed message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    /// `connection_id`: the formula.
    pub connection_id: String,
    /// `vault_address`
    pub vault_address: Option<Address>,
    /// `expires_after`, in milliseconds of Unix time.
    pub expires_after: Option<u64>,
    /// `preimage_suffix_template`
    pub preimage_suffix_template: String,
    /// `domain`
    pub domain: Domain,
    /// The members of `types.EIP712Domain`: name and type.
    pub domain_type: Vec<(String, String)>,
    /// The members of `types.Agent`: name and type.
    pub agent_type: Vec<(String, String)>,
    /// `primary_type`
    pub primary_type: String,
    /// `message.source`
    pub source: String,
    /// `message.connectionId`: a text that tells the signer to compute it.
    pub message_connection_id: String,
}

/// An EIP-712 domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    /// `name`
    pub name: String,
    /// `version`
    pub version: String,
    /// `chainId`
    pub chain_id: u64,
    /// `verifyingContract`
    pub verifying_contract: Address,
}

/// The recipe's result for one nonce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Example {
    /// `nonce`, in milliseconds of Unix time.
    pub nonce: u64,
    /// `connection_id`
    pub connection_id: B256,
    /// `eip712_digest`
    pub eip712_digest: B256,
}

/// The token that positions of a dex are paid and settled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collateral {
    /// The token's position in the venue's list of spot tokens; 0 is USDC.
    pub token: u32,
    /// The token's name in that list.
    pub name: String,
}

impl Collateral {
    /// The collateral of the first dex: USDC.
    #[must_use]
    pub fn usdc() -> Self {
        Self {
            token: 0,
            name: Self::USDC.to_owned(),
        }
    }

    /// The name of token 0.
    pub const USDC: &'static str = "USDC";
}

/// The venue's readings of the asset and the account, from when the plan was built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Venue {
    /// The asset's name in the universe of its dex.
    pub coin: String,
    /// The asset's dex; empty for the first one.
    pub dex: String,
    /// Position of the dex in the venue's list; the first one is 0.
    pub dex_index: u32,
    /// Position in the universe of the dex, delisted assets included.
    pub universe_index: u32,
    /// The asset id on the wire.
    pub asset_id: u32,
    /// Decimals of a size.
    pub size_decimals: u8,
    /// Whether the asset is delisted.
    pub delisted: bool,
    /// The token that positions on the dex are paid and settled in.
    pub collateral: Collateral,
    /// The mark price in USD, when the venue has one.
    pub mark_price: Option<Decimal>,
    /// The highest fee that the account has approved for the builder, in tenths of a basis point.
    pub approved_builder_fee: Option<u64>,
    /// The time of the reading.
    pub read_at: UtcSeconds,
}
