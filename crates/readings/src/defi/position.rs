//! Open positions of an account, merged from several sources.

use rust_decimal::Decimal;
use serde::Serialize;

use super::{cut, folded, market::Market, sum};
use crate::{Figure, symbol::SymbolKey};

/// Whether a position is supplied or borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The account has supplied it.
    Supply,
    /// The account has borrowed it.
    Borrow,
}

/// A position: a row of `positions`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Position {
    /// An id that is the same in every call.
    pub position_id: String,
    /// The chain.
    pub chain_id: u64,
    /// The protocol.
    pub protocol: String,
    /// The symbols of its assets. `None` when only the protocol's total is known.
    pub asset: Option<String>,
    /// The amount, in units of the asset. `None` when there are several assets.
    pub amount: Option<Figure>,
    /// Its value in dollars. For a debt, the value that is owed.
    pub value_usd: Option<Figure>,
    /// The present yield of the market, in percent a year. For a debt, its cost.
    pub apy_pct: Option<Figure>,
    /// The source of the yield. It may differ from the source of the row.
    pub apy_source: Option<&'static str>,
    /// The health factor of the account at this protocol. Below 1 the account can be liquidated.
    pub health: Option<Figure>,
    /// When it was opened. No source states it yet.
    pub opened_at: Option<String>,
    /// Supplied or borrowed.
    pub side: Side,
    /// The source of the row.
    pub source: &'static str,
}

/// An account's positions as a protocol itself states them, read from the chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OnChain {
    /// The rows.
    pub positions: Vec<Position>,
    /// Whether the rows cover the totals that the protocol states for the account. If not, the
    /// account uses a reserve that was not read.
    pub complete: bool,
}

/// Merges two sources into one list. Rows from the chain replace an index's rows for the same
/// protocol on the same chain. An incomplete reading replaces only the rows for its own assets.
#[must_use]
pub fn merged(on_chain: OnChain, indexed: Vec<Position>) -> Vec<Position> {
    let OnChain {
        positions,
        complete,
    } = on_chain;
    let same_market = |one: &Position, other: &Position| {
        one.chain_id == other.chain_id && folded(&one.protocol) == folded(&other.protocol)
    };
    let same_asset = |one: &Position, other: &Position| {
        let symbol = |position: &Position| position.asset.as_deref().and_then(SymbolKey::new);
        one.side == other.side && symbol(one) == symbol(other)
    };
    let is_new = |position: &Position| {
        !positions
            .iter()
            .any(|read| same_market(read, position) && (complete || same_asset(read, position)))
    };
    let new: Vec<_> = indexed.into_iter().filter(is_new).collect();
    let mut all = positions;
    all.extend(new);
    all.sort_by(|a, b| {
        b.value_usd
            .cmp(&a.value_usd)
            .then_with(|| a.position_id.cmp(&b.position_id))
    });
    all
}

/// Fills in the present yield of positions that have none. It is the yield of the single-asset
/// market with the same chain, protocol and asset, if there is exactly one. Returns whether any
/// yield was filled in.
pub fn fill_yields(positions: &mut [Position], markets: &[Market]) -> bool {
    let mut filled = false;
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
            position.apy_source = Some(market.source);
            filled = true;
        }
    }
    filled
}

/// Whether an account's health factor is unknown at a protocol where it has a debt.
#[must_use]
pub fn lacks_health(positions: &[Position]) -> bool {
    positions
        .iter()
        .any(|position| position.side == Side::Borrow && position.health.is_none())
}

/// Returns the supplied value less the borrowed value, in dollars. `None` when the value of one
/// position is unknown, because the sum of the others would be a wrong total.
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
            apy_source: None,
            health: None,
            opened_at: None,
            side,
            source: "okx.defi",
        }
    }

    #[test]
    fn rows_from_the_chain_replace_those_of_an_index() {
        let chain = vec![position("aave-v3", "USDG", Some("500"), Side::Supply)];
        let mut index = vec![
            position("Aave V3", "USDG", Some("490"), Side::Supply),
            position("Curve", "2pool", Some("600"), Side::Supply),
            Position {
                chain_id: 8453,
                ..position("Aave V3", "USDG", Some("1"), Side::Supply)
            },
        ];
        let read = |complete| OnChain {
            positions: chain.clone(),
            complete,
        };
        let shown = |all: &[Position]| -> Vec<String> {
            let row = |p: &Position| {
                let asset = p.asset.clone().unwrap_or_default();
                format!("{} {} {asset}", p.chain_id, p.protocol)
            };
            all.iter().map(row).collect()
        };
        let others = ["196 Curve 2pool", "196 aave-v3 USDG", "8453 Aave V3 USDG"];
        assert_eq!(shown(&merged(read(true), index.clone())), others);
        // The reading of the chain is incomplete, so the index keeps the assets that it lacks.
        let deposit = position("Aave V3", "xSOL", Some("400"), Side::Supply);
        let debt = position("Aave V3", "USDG", Some("100"), Side::Borrow);
        index.extend([deposit, debt]);
        assert_eq!(shown(&merged(read(true), index.clone())), others);
        assert_eq!(
            shown(&merged(read(false), index)),
            [
                "196 Curve 2pool",
                "196 aave-v3 USDG",
                "196 Aave V3 xSOL",
                "196 Aave V3 USDG",
                "8453 Aave V3 USDG",
            ]
        );
    }

    #[test]
    fn a_debt_without_health_is_a_missing_field_and_a_deposit_is_not() {
        let placed = position("aave-v3", "USDG", Some("500"), Side::Supply);
        let owed = position("aave-v3", "GHO", Some("100"), Side::Borrow);
        assert!(!lacks_health(std::slice::from_ref(&placed)));
        assert!(lacks_health(&[placed, owed.clone()]));
        let healthy = Position {
            health: Some("1.5".parse().unwrap()),
            ..owed
        };
        assert!(!lacks_health(&[healthy]));
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
            let filled = fill_yields(&mut positions, markets);
            let [position] = positions;
            assert_eq!(filled, position.apy_pct.is_some());
            assert_eq!(
                position.apy_source,
                filled.then_some("defillama.pools"),
                "a yield from elsewhere says where from"
            );
            position.apy_pct.map(|apy| apy.to_string())
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
