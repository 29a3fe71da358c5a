//! Amounts, tokens and chains in words.

use alloy_primitives::{Address, U256, address};
use calldata_checks::bridge::chains::CHAINS;
use exact::format_units;

/// Wrapped ether of Base. With the native USDC of each bridge chain, it is the only token whose
/// decimals and name are certain.
const WETH_BASE: Address = address!("4200000000000000000000000000000000000006");
const BASE: u64 = 8453;

/// An amount of a token. An unknown token's amount is shown in its smallest unit, with the token's
/// address, because its own statement of decimals and name proves nothing.
#[must_use]
pub fn amount(chain_id: Option<u64>, token: Address, amount: U256) -> String {
    match known(chain_id, token) {
        Some((symbol, decimals)) => format!("{} {symbol}", format_units(amount, decimals)),
        None => format!("{amount} of the smallest unit of token {token}"),
    }
}

/// A chain's name with its number.
#[must_use]
pub(crate) fn chain(chain_id: Option<u64>) -> String {
    let Some(id) = chain_id else {
        return "cannot be read".to_owned();
    };
    let name = match id {
        196 => "X Layer",
        1337 => "the venue's own signing domain",
        _ => CHAINS
            .iter()
            .find(|chain| chain.chain_id == id)
            .map_or("a chain without a name here", |chain| chain.name),
    };
    format!("{name} ({id})")
}

/// Seconds as whole days, where possible.
#[must_use]
pub(crate) fn span(seconds: u64) -> String {
    const DAY: u64 = 86_400;
    const HOUR: u64 = 3_600;
    match (seconds / DAY, seconds % DAY / HOUR, seconds % HOUR) {
        (1, 0, 0) => "1 day".to_owned(),
        (days, 0, 0) => format!("{days} days"),
        (0, hours, _) if hours > 0 => format!("about {hours} hours"),
        (0, ..) => format!("{seconds} seconds"),
        (days, hours, _) => format!("about {days} days and {hours} hours"),
    }
}

fn known(chain_id: Option<u64>, token: Address) -> Option<(&'static str, u8)> {
    let id = chain_id?;
    if id == BASE && token == WETH_BASE {
        return Some(("WETH", 18));
    }
    CHAINS
        .iter()
        .any(|chain| chain.chain_id == id && chain.usdc == token)
        .then_some(("USDC", 6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_is_not_known_shows_its_address() {
        let usdc = address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913");
        let one = U256::from(1_000_000);
        assert_eq!(amount(Some(8453), usdc, one), "1 USDC");
        assert_eq!(
            amount(Some(1), usdc, one),
            "1000000 of the smallest unit of token 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
        );
    }

    #[test]
    fn spans_are_whole_days_where_they_can_be() {
        for (seconds, text) in [
            (7_776_000, "90 days"),
            (86_400, "1 day"),
            (90_000, "about 1 days and 1 hours"),
            (7_200, "about 2 hours"),
            (59, "59 seconds"),
            (0, "0 days"),
        ] {
            assert_eq!(span(seconds), text);
        }
    }
}
