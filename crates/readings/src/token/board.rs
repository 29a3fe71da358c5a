//! The market board of a chain: its tokens with their prices, and those that moved most.

use alloy_primitives::Address;
use serde::Serialize;

use super::{checksummed, curated, larger_first, market::TokenMarket};
use crate::{Decimal, Figure};

/// How many rows each list of movers has.
const MOVERS: usize = 3;
/// When a token has fewer dollars in its pools, its price moves by accident.
const LEAST_LIQUIDITY_USD: Decimal = Decimal::from_parts(10_000, 0, 0, false, 0);

/// A row of the board.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BoardRow {
    /// Its symbol. Except for curated tokens, it is untrusted text without control characters.
    pub symbol: String,
    /// Whether the token is one of the curated ones.
    pub curated: bool,
    /// Its market.
    #[serde(flatten)]
    pub market: TokenMarket,
}

/// The largest gains and losses within a day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Movers {
    /// The largest gains first.
    pub gainers: Vec<Mover>,
    /// The largest losses first.
    pub losers: Vec<Mover>,
    /// How many tokens rose. The gainers are the first of these.
    #[serde(skip)]
    pub risen: usize,
    /// How many tokens fell. The losers are the first of these.
    #[serde(skip)]
    pub fallen: usize,
}

/// A token that moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mover {
    /// The token.
    #[serde(serialize_with = "checksummed")]
    pub address: Address,
    /// Its symbol.
    pub symbol: String,
    /// The change of the price over a day, in percent.
    pub change_24h_pct: Figure,
}

/// For how many tokens the board has data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// How many tokens are curated.
    pub curated: usize,
    /// How many of these have a price.
    pub curated_priced: usize,
    /// For how many rows the volume is part of the total.
    pub with_volume: usize,
}

/// The board.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Board {
    /// The chain.
    pub chain_id: u64,
    /// The curated tokens in their order, then the others by liquidity.
    pub tokens: Vec<BoardRow>,
    /// The tokens that moved most. Stablecoins and tokens with hardly any liquidity are left out.
    pub movers: Movers,
    /// The dollars that were traded within a day, over the rows with a volume. `None` when no row
    /// has one. A swap between two of the tokens is in the volume of both, and counts twice here.
    pub total_volume_24h_usd: Option<Figure>,
    /// For how many tokens the board has data.
    pub coverage: Coverage,
}

impl Coverage {
    /// Whether fewer than half of the curated tokens have a price, which is too little for a board.
    #[must_use]
    pub fn is_too_small(&self) -> bool {
        self.curated_priced.saturating_mul(2) < self.curated
    }
}

/// Makes the board of chain 196 from `markets`. Tokens that are not curated take their symbol from
/// `symbol_of`, and are left out without one.
#[must_use]
pub fn board(
    chain_id: u64,
    markets: Vec<TokenMarket>,
    symbol_of: impl Fn(Address) -> Option<String>,
) -> Board {
    let mut others = Vec::new();
    let mut known: Vec<Option<BoardRow>> = vec![None; curated::XLAYER.len()];
    for market in markets {
        let place = curated::XLAYER
            .iter()
            .position(|token| token.address == market.address);
        let slot =
            place.and_then(|place| Some((curated::XLAYER.get(place)?, known.get_mut(place)?)));
        if let Some((token, slot)) = slot {
            let symbol = token.symbol.to_owned();
            *slot = Some(BoardRow {
                symbol,
                curated: true,
                market,
            });
        } else if let Some(symbol) = symbol_of(market.address) {
            others.push(BoardRow {
                symbol,
                curated: false,
                market,
            });
        }
    }
    others.sort_by(|a, b| {
        larger_first(a.market.liquidity_usd, b.market.liquidity_usd)
            .then_with(|| a.market.address.cmp(&b.market.address))
    });
    let mut tokens: Vec<BoardRow> = known.into_iter().flatten().collect();
    let curated_priced = tokens.len();
    tokens.extend(others);
    let volumes: Vec<Figure> = tokens
        .iter()
        .filter_map(|row| row.market.volume_24h_usd)
        .collect();
    let total = volumes
        .iter()
        .try_fold(Decimal::ZERO, |sum, volume| sum.checked_add(volume.get()));
    Board {
        chain_id,
        movers: movers(&tokens),
        total_volume_24h_usd: total.filter(|_| !volumes.is_empty()).map(Figure),
        coverage: Coverage {
            curated: curated::XLAYER.len(),
            curated_priced,
            with_volume: volumes.len(),
        },
        tokens,
    }
}

fn movers(rows: &[BoardRow]) -> Movers {
    let moves = |row: &&BoardRow| {
        let stable = curated::find(row.market.address).is_some_and(|token| token.stable);
        let deep = row
            .market
            .liquidity_usd
            .is_some_and(|usd| usd.get() >= LEAST_LIQUIDITY_USD);
        !stable && deep
    };
    let mut moved: Vec<Mover> = rows
        .iter()
        .filter(moves)
        .filter_map(|row| {
            Some(Mover {
                address: row.market.address,
                symbol: row.symbol.clone(),
                change_24h_pct: row.market.change_24h_pct?,
            })
        })
        .collect();
    moved.sort_by(|a, b| {
        b.change_24h_pct
            .cmp(&a.change_24h_pct)
            .then_with(|| a.address.cmp(&b.address))
    });
    let zero = Figure(Decimal::ZERO);
    let gainers = moved.iter().filter(|mover| mover.change_24h_pct > zero);
    let losers = moved
        .iter()
        .rev()
        .filter(|mover| mover.change_24h_pct < zero);
    Movers {
        risen: gainers.clone().count(),
        fallen: losers.clone().count(),
        gainers: gainers.take(MOVERS).cloned().collect(),
        losers: losers.take(MOVERS).cloned().collect(),
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::address;
    use jiff::Timestamp;

    use super::*;

    const OTHER: Address = address!("1000000000000000000000000000000000000001");
    const NAMELESS: Address = address!("1000000000000000000000000000000000000002");

    fn market(
        address: Address,
        change: &str,
        liquidity: &str,
        volume: Option<&str>,
    ) -> TokenMarket {
        let figure = |text: &str| text.parse::<Figure>().ok();
        TokenMarket {
            address,
            chain_id: 196,
            as_of: Timestamp::UNIX_EPOCH,
            price_usd: Figure(Decimal::ONE),
            change_5m_pct: None,
            change_1h_pct: None,
            change_4h_pct: None,
            change_24h_pct: figure(change),
            volume_24h_usd: volume.and_then(figure),
            liquidity_usd: figure(liquidity),
            market_cap_usd: None,
            holders: None,
            txs_24h: None,
        }
    }

    fn of(symbol: &str) -> Address {
        curated::XLAYER
            .iter()
            .find(|token| token.symbol == symbol)
            .unwrap()
            .address
    }

    fn symbol_of(address: Address) -> Option<String> {
        (address == OTHER).then(|| "OTHER".to_owned())
    }

    #[test]
    fn a_board_has_rows_movers_and_a_total() {
        let board = board(
            196,
            vec![
                market(OTHER, "41.7", "912345", Some("0.5")),
                market(NAMELESS, "99", "912345", Some("1000")),
                market(of("xETH"), "1.5", "500000", None),
                market(of("WOKB"), "-2.17", "3456789", Some("10.25")),
                market(of("USDG"), "9", "3456789", Some("1")),
                market(of("xSOL"), "80", "9999", None),
            ],
            symbol_of,
        );
        let symbols: Vec<_> = board.tokens.iter().map(|row| row.symbol.as_str()).collect();
        assert_eq!(symbols, ["WOKB", "USDG", "xETH", "xSOL", "OTHER"]);
        let names = |movers: &[Mover]| movers.iter().map(|m| m.symbol.clone()).collect::<Vec<_>>();
        assert_eq!(names(&board.movers.gainers), ["OTHER", "xETH"]);
        assert_eq!(names(&board.movers.losers), ["WOKB"]);
        assert_eq!(board.total_volume_24h_usd.unwrap().to_string(), "11.75");
        let coverage = Coverage {
            curated: 10,
            curated_priced: 4,
            with_volume: 3,
        };
        assert_eq!(board.coverage, coverage);
        assert!(board.coverage.is_too_small());
    }

    #[test]
    fn movers_beyond_the_first_are_counted() {
        let markets = ["xETH", "xSOL", "xBTC", "WOKB"].map(|symbol| {
            let change = if symbol == "WOKB" { "-1" } else { "1" };
            market(of(symbol), change, "500000", None)
        });
        let others = [(OTHER, "2"), (NAMELESS, "3")]
            .map(|(address, change)| market(address, change, "500000", None));
        let markets = markets.into_iter().chain(others).collect();
        let movers = board(196, markets, |_| Some("OTHER".to_owned())).movers;
        assert_eq!((movers.gainers.len(), movers.risen), (MOVERS, 5));
        assert_eq!((movers.losers.len(), movers.fallen), (1, 1));
    }

    #[test]
    fn half_of_the_curated_tokens_are_enough() {
        let half = curated::XLAYER.iter().take(5);
        let markets = half
            .map(|token| market(token.address, "0", "0", None))
            .collect();
        let board = board(196, markets, symbol_of);
        assert!(!board.coverage.is_too_small());
        // A missing volume is not zero, and a missing change is not a move.
        assert_eq!(board.total_volume_24h_usd, None);
        assert!(board.movers.gainers.is_empty() && board.movers.losers.is_empty());
    }

    #[test]
    fn a_row_is_written_as_one_flat_object() {
        let board = board(196, vec![market(of("WOKB"), "1", "1", None)], symbol_of);
        let json = serde_json::to_value(&board).unwrap();
        let row = &json["tokens"][0];
        assert_eq!(row["address"], "0xe538905cf8410324e03A5A23C1c177a474D59b2b");
        assert_eq!(
            (&row["symbol"], &row["price_usd"]),
            (&"WOKB".into(), &"1".into())
        );
        assert!(row.get("chain_id").is_none() && row["holders"].is_null());
    }
}
