//! The holders of a token, and those that cannot sell.

use alloy_primitives::{Address, U256, address};
use serde::Serialize;

use crate::Figure;

/// Addresses that are used to burn tokens, and whose keys nobody knows.
const BURNS: [Address; 2] = [
    address!("000000000000000000000000000000000000dEaD"),
    address!("dEAD000000000000000042069420694206942069"),
];
/// Addresses below this are the zero address, precompiled contracts and system addresses. Tokens
/// that are sent to them stay there.
const SYSTEM_BELOW: u64 = 0x1_0000;

/// One holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The holder.
    pub address: Address,
    /// Its share of the supply in percent, from 0 to 100.
    pub share_pct: Figure,
    /// Its kind, if the source states it.
    pub kind: Option<HolderKind>,
}

/// A holder that cannot sell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HolderKind {
    /// No account can move its balance.
    Burn,
    /// A pool of an exchange on the chain.
    Pool,
    /// A lock: its balance cannot be moved for a time.
    Locker,
}

impl HolderKind {
    /// Returns the kind that a source's label means. Exchanges label their pools, and lock services
    /// label their contracts.
    #[must_use]
    pub fn of_label(label: &str, is_contract: bool) -> Option<Self> {
        let label = label.to_ascii_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| label.contains(word));
        if says(&["black hole", "null address", "burn", "dead address"]) {
            return Some(Self::Burn);
        }
        // Any account can get a label, but only code can be bound to keep its tokens.
        if !is_contract {
            return None;
        }
        if says(&[
            "uncx",
            "unicrypt",
            "lock",
            "team finance",
            "mudra",
            "sablier",
            "vesting",
        ]) {
            return Some(Self::Locker);
        }
        let pools = [
            "uniswap",
            "pancake",
            "sushi",
            "curve",
            "balancer",
            "aerodrome",
            "velodrome",
            "pool",
            "pair",
        ];
        says(&pools).then_some(Self::Pool)
    }

    /// Whether no account can move the balance of `address`.
    #[must_use]
    pub fn is_burn(address: Address) -> bool {
        BURNS.contains(&address)
            || U256::from_be_slice(address.as_slice()) < U256::from(SYSTEM_BELOW)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_exclude_code_only() {
        let of = HolderKind::of_label;
        assert_eq!(of("Black Hole", false), Some(HolderKind::Burn));
        assert_eq!(of("UNCX", true), Some(HolderKind::Locker));
        assert_eq!(of("UniswapV3", true), Some(HolderKind::Pool));
        assert_eq!(of("PinkLock", false), None);
        assert_eq!(of("", true), None);
        assert_eq!(of("Binance", true), None);
    }
}
