//! The record of a move in its intents, from which the other half and the outcome follow.

use alloy_primitives::{Address, B256, U256, keccak256};
use readings::Figure;
use serde::{Deserialize, Serialize};
use wallet_actions::{Intent, ListedProduct};
use yield_watch::{MoveKey, Proposal};

/// A half of a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Half {
    /// The withdrawal, or the deposit of idle money.
    First,
    /// The deposit of the money that the first half brought.
    Second,
}

impl Half {
    /// The key of this half's order in place of a payment, because nobody pays for it.
    pub(super) fn payment(self, key: &MoveKey) -> B256 {
        self.payment_of(key.as_str())
    }

    pub(super) fn payment_of(self, key: &str) -> B256 {
        let half = match self {
            Self::First => 0,
            Self::Second => 1,
        };
        keccak256(format!("yield-watch:{key}:{half}"))
    }
}

/// The record of a move, in place of a paid call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MoveRecord {
    /// The key of the move.
    pub(super) key: String,
    /// The half of the move.
    pub(super) half: Half,
    /// Whether the first half leaves a product, so that a second half follows.
    pub(super) leaves: bool,
    /// The chain.
    pub(super) chain_id: u64,
    /// The protocol of the product to enter.
    pub(super) protocol: String,
    /// The id of the product to enter.
    pub(super) product_id: String,
    /// The token.
    pub(super) asset: Address,
    /// Its decimals.
    pub(super) decimals: u8,
    /// The price of a whole token at the time of the request, in US dollars.
    pub(super) price_usd: Figure,
    /// The most that moves, in the token's smallest unit.
    pub(super) most: U256,
    /// The amount at the time of the request.
    pub(super) amount: U256,
    /// The most slippage, in basis points.
    pub(super) max_slippage_bps: u32,
    /// The Unix second from which nothing is signed any more.
    pub(super) valid_until: u64,
}

/// The text in an intent. No paid call has a member of this name.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    yield_watch: MoveRecord,
}

impl MoveRecord {
    pub(super) fn new(
        asked: &Proposal,
        to: &ListedProduct,
        price_usd: Figure,
        (amount, most, decimals): (U256, U256, u8),
    ) -> Self {
        Self {
            key: asked.key.as_str().to_owned(),
            half: Half::First,
            leaves: asked.from.is_some(),
            chain_id: to.chain_id,
            protocol: to.protocol.to_owned(),
            product_id: to.product_id.clone(),
            asset: to.asset,
            decimals,
            price_usd,
            most,
            amount,
            max_slippage_bps: asked.max_slippage_bps,
            valid_until: u64::try_from(asked.valid_until.as_second()).unwrap_or_default(),
        }
    }

    /// Reads the record of an intent; `None` when the intent belongs to no move.
    pub(super) fn of(intent: &Intent) -> Option<Self> {
        Self::parse(&intent.call)
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let text: Text = serde_json::from_str(text).ok()?;
        Some(text.yield_watch)
    }

    /// The text for an intent.
    pub(super) fn text(&self) -> String {
        let text = Text {
            yield_watch: self.clone(),
        };
        serde_json::to_string(&text).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_and_keys_have_payments_of_their_own() {
        let (one, other) = (MoveKey::new("ab", 11), MoveKey::new("ab", 1));
        let all = [
            Half::First.payment(&one),
            Half::Second.payment(&one),
            Half::First.payment(&other),
            Half::Second.payment(&other),
        ];
        for (index, payment) in all.iter().enumerate() {
            assert!(!all[..index].contains(payment));
        }
        assert_eq!(all[0], Half::First.payment_of("ab:11"));
    }
}
