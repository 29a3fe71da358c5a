//! An upper bound of the value of coins whose price is unavailable.

use alloy_primitives::U256;

/// Wei in a millionth of a coin with 18 decimals.
const WEI_PER_MICRO: u64 = 1_000_000_000_000;

/// Returns an upper bound of the value of a chain's coin in micro US dollars, rounded up. It is
/// above every price that the coin has ever had.
#[must_use]
pub fn worth_at_most(chain_id: u64, wei: U256) -> u64 {
    let dollars = match chain_id {
        137 => 10_u64,
        196 => 1_000,
        _ => 10_000,
    };
    let micro = U256::from(dollars).saturating_mul(wei);
    micro.div_ceil(U256::from(WEI_PER_MICRO)).saturating_to()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coins_without_a_price_count_as_dear() {
        let coin = U256::from(10).pow(U256::from(18));
        assert_eq!(worth_at_most(8453, coin), 10_000_000_000);
        assert_eq!(worth_at_most(196, coin), 1_000_000_000);
        assert_eq!(worth_at_most(137, coin), 10_000_000);
        assert_eq!(worth_at_most(8453, U256::from(1)), 1);
        assert_eq!(worth_at_most(8453, U256::ZERO), 0);
        assert_eq!(worth_at_most(8453, U256::MAX), u64::MAX);
    }
}
