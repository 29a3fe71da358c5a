//! Open positions of an account, as several sources see them.

use rust_decimal::Decimal;
use serde::Serialize;

use super::{cut, folded, market::Market, sum};
use crate::{Figure, symbol::SymbolKey};

/// Whether a position is money placed or money owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Placed.
    Supply,
    /// Owed.
    Borrow,
}

/// A position: a row of `positions`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Position {
    /// An id that stays the same from call to call.
    pub position_id: String,
    /// The chain.
    pub chain_id: u64,
    /// The protocol.
    pub protocol: String,
    /// Symbols of its assets; `None` when only the protocol's total is known.
    pub asset: Option<String>,
    /// How much of it, in units of the asset; `None` for several assets.
    pub amount: Option<Figure>,
    /// What that is in dollars; of a debt what is owed.
    pub value_usd: Option<Figure>,
    /// The present yield of the market, in percent a year; of a debt what it costs.
    pub apy_pct: Option<Figure>,
    /// How far the account is from liquidation at this protocol: below 1 it is open to it.
    pub health: Option<Figure>,
    /// When it was opened; no source says.
    pub opened_at: Option<String>,
    /// Placed or owed.
    pub side: Side,
    /// Where the row is from.
    pub source: &'static str,
}

/// One list of what two sources say. On-chain readings of a protocol replace what an index says of
/// the same protocol on the same chain.
#[must_use]
pub fn merged(on_chain: Vec<Position>, indexed: Vec<Position>) -> Vec<Position> {
    let covered: Vec<_> = on_chain
        .iter()
        .map(|position| (position.chain_id, folded(&position.protocol)))
        .collect();
    let is_new =
        |position: &Position| !covered.contains(&(position.chain_id, folded(&position.protocol)));
    let mut all = on_chain;
    all.extend(indexed.into_iter().filter(is_new));
    all.sort_by(|a, b| {
        b.value_usd
            .cmp(&a.value_usd)
            .then_with(|| a.position_id.cmp(&b.position_id))
    });
    all
}

/// Fills in the present yield of positions that do not state one: the single-asset market of the
/// same chain, protocol and asset, if there is exactly one.
pub fn fill_yields(positions: &mut [Position], markets: &[Market]) {
    let open =
        |position: &&mut Position| position.apy_pct.is_none() && position.side == Side::Supply;
    for position in positions.iter_mut().filter(open) {
        let Some(asset) = position.asset.as_deref().and_then(SymbolKey::new) else {
            continue;
        };
        let mut fitting = markets.iter().filter(|market| {
            market.chain_id == Some(position.chain_id)
                && market.is_of(&position.protocol)
                && market.single_asset == Some(true)
                && asset.names(&market.symbol)
        });
        if let (Some(market), None) = (fitting.next(), fitting.next()) {
            position.apy_pct = Some(market.apy_pct);
        }
    }
}

/// What is placed less what is owed, in dollars. `None` when the value of one position is not known:
/// a sum of the others would be a wrong total.
#[must_use]
pub fn total_usd(positions: &[Position]) -> Option<Figure> {
    let signed = positions.iter().map(|position| {
        let value = position.value_usd?.0;
        Some(match position.side {
            Side::Supply => value,
            Side::Borrow => -value,
        })
    });
    let values: Option<Vec<Decimal>> = signed.collect();
    Some(cut(sum(values?)?, 2))
}

#[cfg(test)]
mod tests {
    use super::{super::market::tests::market, *};

    fn position(protocol: &str, asset: &str, value: Option<&str>, side: Side) -> Position {
        Position {
            position_id: format!("196-{protocol}-{asset}"),
            chain_id: 196,
            protocol: protocol.to_owned(),
            asset: Some(asset.to_owned()),
            amount: None,
            value_usd: value.map(|value| value.parse().unwrap()),
            apy_pct: None,
            health: None,
            opened_at: None,
            side,
            source: "okx.defi",
        }
    }

    #[test]
    fn the_chain_knows_better_than_an_index() {
        let chain = vec![position("aave-v3", "USDG", Some("500"), Side::Supply)];
        let index = vec![
            position("Aave V3", "USDG", Some("490"), Side::Supply),
            position("Curve", "2pool", Some("600"), Side::Supply),
            Position {
                chain_id: 8453,
                ..position("Aave V3", "USDG", Some("1"), Side::Supply)
            },
        ];
        let all = merged(chain, index);
        let shown: Vec<_> = all
            .iter()
            .map(|p| (p.chain_id, p.protocol.as_str()))
            .collect();
        assert_eq!(shown, [(196, "Curve"), (196, "aave-v3"), (8453, "Aave V3")]);
    }

    #[test]
    fn debts_are_subtracted_and_unknown_values_have_no_sum() {
        let placed = position("aave-v3", "USDG", Some("500.129"), Side::Supply);
        let owed = position("aave-v3", "GHO", Some("100"), Side::Borrow);
        assert_eq!(total_usd(&[]).unwrap().to_string(), "0");
        assert_eq!(
            total_usd(&[placed.clone(), owed]).unwrap().to_string(),
            "400.12"
        );
        let unknown = position("aave-v3", "xBTC", None, Side::Supply);
        assert_eq!(total_usd(&[placed, unknown]), None);
    }

    #[test]
    fn yields_are_filled_in_only_where_one_market_fits() {
        let one = market("p", "USDG", "4.1", "2000000");
        let filled = |markets: &[Market], side| {
            let mut positions = [position("Aave V3", "usdg", None, side)];
            fill_yields(&mut positions, markets);
            positions[0].apy_pct.map(|apy| apy.to_string())
        };
        assert_eq!(
            filled(std::slice::from_ref(&one), Side::Supply).as_deref(),
            Some("4.1")
        );
        assert_eq!(filled(std::slice::from_ref(&one), Side::Borrow), None);
        assert_eq!(
            filled(
                &[
                    one.clone(),
                    Market {
                        pool: "q".into(),
                        ..one.clone()
                    }
                ],
                Side::Supply
            ),
            None
        );
        assert_eq!(
            filled(
                &[Market {
                    chain_id: Some(1),
                    ..one.clone()
                }],
                Side::Supply
            ),
            None
        );
        assert_eq!(
            filled(
                &[Market {
                    symbol: "USDC".into(),
                    ..one
                }],
                Side::Supply
            ),
            None
        );
    }
}
