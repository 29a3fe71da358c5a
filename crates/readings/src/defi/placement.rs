//! Which market a reviewed product is.

use alloy_primitives::Address;

use super::market::Market;

/// The one market that a reviewed product is: by the market's id, or, of Aave v3, by chain and asset. Two that fit are none:
/// which of them the product is would be a guess.
#[must_use]
pub fn market_of<'a>(
    markets: &'a [Market],
    chain_id: u64,
    protocol: &str,
    product_id: &str,
    asset: Address,
) -> Option<&'a Market> {
    let here = || {
        let markets = markets.iter();
        markets.filter(move |market| market.chain_id == Some(chain_id))
    };
    let is_named = |market: &&Market| market.pool == product_id;
    let is_asset = |market: &&Market| {
        let [one] = market.underlying.as_slice() else {
            return false;
        };
        let is_single = market.single_asset == Some(true);
        is_single && market.is_of(protocol) && one.parse() == Ok(asset)
    };
    here().find(is_named).or_else(|| {
        // Vaults of one asset are many, and the markets do not say their addresses.
        let mut fitting = here().filter(|market| protocol == "aave-v3" && is_asset(market));
        fitting.next().filter(|_| fitting.next().is_none())
    })
}

#[cfg(test)]
mod tests {
    use alloy_primitives::address;

    use super::super::grade::Grade;
    use super::*;

    const USDG: Address = address!("4ae46a509F6b1D9056937BA4500cb143933D2dc8");

    fn market(pool: &str, project: &str) -> Market {
        Market {
            pool: pool.to_owned(),
            chain: "X Layer".to_owned(),
            chain_id: Some(196),
            project: project.to_owned(),
            symbol: "USDG".to_owned(),
            apy_pct: "3".parse().unwrap(),
            apy_base_pct: None,
            apy_reward_pct: None,
            tvl_usd: "1000000".parse().unwrap(),
            il_risk: Some("no"),
            stablecoin: Some(true),
            risk_grade: Grade::A,
            why: Vec::new(),
            source: "defillama",
            also_reported: Vec::new(),
            underlying: vec![USDG.to_string().to_lowercase()],
            single_asset: Some(true),
            reward_known: true,
        }
    }

    #[test]
    fn a_product_is_the_market_of_its_id_or_of_its_reserve_and_never_a_guess() {
        let markets = [market("lent", "aave-v3"), market("vault", "a-vault")];
        let of = |markets: &[Market], protocol: &str, id: &str, asset| {
            market_of(markets, 196, protocol, id, asset).map(|found| found.pool.clone())
        };
        let lent = Some("lent".to_owned());
        assert_eq!(of(&markets, "aave-v3", "aave-usdg", USDG), lent);
        assert_eq!(of(&markets, "erc4626", "vault", USDG), Some("vault".to_owned()));
        assert_eq!(of(&markets, "erc4626", "another vault", USDG), None);
        assert_eq!(of(&markets, "aave-v3", "aave-usdc", Address::ZERO), None);
        assert_eq!(market_of(&markets, 1, "aave-v3", "lent", USDG), None);
        let twice = [market("lent", "aave-v3"), market("lent too", "aave-v3")];
        assert_eq!(of(&twice, "aave-v3", "aave-usdg", USDG), None);
    }
}
