//! Computes the fees that a transaction offers, and the fees that a replacement must offer.

use serde::{Deserialize, Serialize};

/// The fee fields of one transaction, in wei per unit of gas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fees {
    /// EIP-1559: the highest total fee, and the tip for the block's producer.
    Dynamic {
        /// `maxFeePerGas`.
        max: u128,
        /// `maxPriorityFeePerGas`, at most `max`.
        tip: u128,
    },
    /// The fee for chains that have no base fee.
    Legacy {
        /// `gasPrice`.
        price: u128,
    },
}

impl Fees {
    /// Returns the highest cost of a unit of gas.
    #[must_use]
    pub const fn most(self) -> u128 {
        match self {
            Self::Dynamic { max, .. } => max,
            Self::Legacy { price } => price,
        }
    }

    /// Returns the most that the block's producer gets. A legacy price counts for both fields.
    #[must_use]
    pub const fn tip(self) -> u128 {
        match self {
            Self::Dynamic { tip, .. } => tip,
            Self::Legacy { price } => price,
        }
    }
}

/// The current gas price of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Market {
    /// A chain with a base fee (EIP-1559).
    Dynamic {
        /// The base fee of the newest block.
        base: u128,
        /// The tip that the node suggests.
        tip: u128,
    },
    /// A chain without a base fee.
    Legacy {
        /// The price that the node suggests.
        price: u128,
    },
}

impl Market {
    /// Returns the first offer. Twice the base fee is enough for six full blocks.
    #[must_use]
    pub const fn offer(self) -> Fees {
        match self {
            Self::Dynamic { base, tip } => Fees::Dynamic {
                max: base.saturating_mul(2).saturating_add(tip),
                tip,
            },
            Self::Legacy { price } => Fees::Legacy { price },
        }
    }

    /// Returns the market in which nodes accept no lower tip than this one.
    #[must_use]
    pub fn with_least_tip(self, least: u128) -> Self {
        match self {
            Self::Dynamic { base, tip } => Self::Dynamic {
                base,
                tip: tip.max(least),
            },
            Self::Legacy { price } => Self::Legacy {
                price: price.max(least),
            },
        }
    }

    /// Returns the lowest `maxFeePerGas` with which a block would accept a transaction now.
    #[must_use]
    pub const fn least(self) -> u128 {
        match self {
            Self::Dynamic { base, .. } => base,
            Self::Legacy { price } => price,
        }
    }
}

/// The lowest price of the market is above the cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AboveCap {
    /// The lowest price that would be enough, in wei per unit of gas.
    pub needed: u128,
    /// The cap.
    pub cap: u128,
}

/// Returns the fees of a transaction with a new nonce: the market's offer, but at most the cap.
///
/// # Errors
/// [`AboveCap`] when the lowest price of the market is above the cap.
pub fn first(market: Market, cap: u128) -> Result<Fees, AboveCap> {
    let needed = market.least();
    if needed > cap {
        return Err(AboveCap { needed, cap });
    }
    Ok(match market.offer() {
        Fees::Dynamic { max, tip } => {
            let max = max.min(cap);
            Fees::Dynamic {
                max,
                tip: tip.min(max),
            }
        }
        Fees::Legacy { price } => Fees::Legacy { price },
    })
}

/// By how much each fee field of a replacement rises, in thousandths. Most nodes require 10 %, some
/// require 12.5 %.
pub const BUMP_PERMILLE: u128 = 125;

/// Returns the fees of a replacement. Both fields are raised by [`BUMP_PERMILLE`] above those of
/// every earlier transaction with the nonce, `step` times. They are also raised to the market's
/// offer, as far as the cap allows.
///
/// In a market without a base fee, the result is a legacy price. Both fields of earlier EIP-1559
/// fees count for it.
///
/// # Errors
/// [`AboveCap`] when the cap is below what the nodes require, or below the lowest price of the
/// market. Nodes would refuse lower fees, so only the same bytes can be sent again.
pub fn outbid(earlier: &[Fees], market: Market, cap: u128, step: u32) -> Result<Fees, AboveCap> {
    let highest = |field: fn(Fees) -> u128| earlier.iter().map(|fees| field(*fees)).max();
    let (Some(max), Some(tip)) = (highest(Fees::most), highest(Fees::tip)) else {
        return first(market, cap);
    };
    let raised = |mut fee: u128| {
        for _ in 0..step.max(1) {
            fee = bump(fee);
        }
        fee
    };
    let (max, tip) = (raised(max), raised(tip));
    let needed = max.max(tip).max(market.least());
    if needed > cap {
        return Err(AboveCap { needed, cap });
    }
    let offer = market.offer();
    Ok(match offer {
        Fees::Dynamic { .. } => {
            let max = needed.max(offer.most().min(cap));
            Fees::Dynamic {
                max,
                tip: tip.max(offer.tip()).min(max),
            }
        }
        Fees::Legacy { price } => Fees::Legacy {
            price: needed.max(price.min(cap)),
        },
    })
}

/// Raises a fee by one step. The raise is rounded up and is at least one wei.
fn bump(fee: u128) -> u128 {
    let raise = fee.saturating_mul(BUMP_PERMILLE).div_ceil(1000).max(1);
    fee.saturating_add(raise)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn dynamic(max: u128, tip: u128) -> Fees {
        Fees::Dynamic { max, tip }
    }

    #[test]
    fn the_first_offer_is_twice_the_base_fee_and_never_above_the_cap() {
        let market = Market::Dynamic { base: 20, tip: 3 };
        assert_eq!(first(market, 100), Ok(dynamic(43, 3)));
        assert_eq!(first(market, 21), Ok(dynamic(21, 3)));
        assert_eq!(first(market, 20), Ok(dynamic(20, 3)));
        let above = AboveCap {
            needed: 20,
            cap: 19,
        };
        assert_eq!(first(market, 19), Err(above));
        assert_eq!(
            first(Market::Legacy { price: 7 }, 7),
            Ok(Fees::Legacy { price: 7 })
        );
    }

    #[test]
    fn both_fields_rise_above_the_highest_earlier_ones() {
        let earlier = [dynamic(800, 8), dynamic(400, 16)];
        let market = Market::Dynamic { base: 1, tip: 1 };
        assert_eq!(outbid(&earlier, market, 2000, 1), Ok(dynamic(900, 18)));
        assert_eq!(outbid(&earlier, market, 2000, 2), Ok(dynamic(1013, 21)));
        // A tip of zero rises too.
        assert_eq!(outbid(&[dynamic(8, 0)], market, 20, 1), Ok(dynamic(9, 1)));
    }

    #[test]
    fn the_markets_offer_may_exceed_the_raise_and_the_cap_limits_it() {
        let earlier = [dynamic(800, 8)];
        let spike = Market::Dynamic { base: 700, tip: 50 };
        assert_eq!(outbid(&earlier, spike, 5000, 1), Ok(dynamic(1450, 50)));
        assert_eq!(outbid(&earlier, spike, 1000, 1), Ok(dynamic(1000, 50)));
        let above = AboveCap {
            needed: 900,
            cap: 899,
        };
        assert_eq!(outbid(&earlier, spike, 899, 1), Err(above));
    }

    proptest! {
        #[test]
        fn nodes_accept_every_replacement(
            earlier in prop::collection::vec((0..u128::from(u64::MAX), 0..u128::from(u64::MAX)), 1..5),
            base in 0..u128::from(u64::MAX), tip in 0..u128::from(u64::MAX),
            cap in 0..u128::from(u64::MAX), step in 1u32..4, legacy: bool,
        ) {
            let earlier: Vec<Fees> =
                earlier.into_iter().map(|(max, tip)| dynamic(max.max(tip), tip)).collect();
            let market = if legacy { Market::Legacy { price: base } } else { Market::Dynamic { base, tip } };
            match outbid(&earlier, market, cap, step) {
                Ok(fees) => {
                    prop_assert!(fees.most() <= cap && fees.tip() <= fees.most());
                    for old in &earlier {
                        // 12.5 percent more, rounded up, in both fields.
                        let enough = |new: u128, old: u128| new * 1000 >= old * 1125 && new > old;
                        prop_assert!(enough(fees.most(), old.most()) && enough(fees.tip(), old.tip()));
                    }
                }
                Err(above) => prop_assert!(above.needed > above.cap && above.cap == cap),
            }
        }
    }
}
