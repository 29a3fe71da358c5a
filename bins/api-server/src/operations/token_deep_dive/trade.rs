//! The trading of a token: candles with their levels, the depth of books and pools, holders and
//! flows. Each is a part of its own, read for one coin.

use std::time::Duration;

use alloy_primitives::Address;
use data_sources::hyperliquid_info::HyperliquidInfo;
use readings::derivatives::{depth, structure};
use readings::symbol::SymbolKey;
use readings::token::coin::Coin;
use readings::token::impact::pool_impact;
use readings::token::pools::{DexPair, platform_of};
use readings::{Decimal, Extent, Figure, share_pct};
use route_catalog::{ErrorCode, HOME_CHAIN};
use serde_json::{Value, json};

use super::super::fault;
use super::{ANOTHER_COIN, Place};
use crate::answer::Answered;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::source_report::SourceReport;
use crate::sources::Tokens;

/// The candles from which levels are read.
const INTERVAL: &str = "1h";
const CANDLES_FRESH_SECONDS: u64 = 300;
const FLOWS_FRESH_SECONDS: u64 = 60;
const PAIRS: &str = "dexscreener.pairs";

/// The market of a coin at the venue that has candles and a book; `NotFound` when it lists no such
/// coin.
async fn listed(
    hyperliquid: &HyperliquidInfo,
    symbol: &SymbolKey,
    coin: Option<&Coin>,
    max_age: Option<Duration>,
) -> Result<String, ErrorReply> {
    let markets = hyperliquid.markets("", max_age).await;
    let markets = markets.map_err(|error| fault::reply(&error))?;
    let named = markets
        .value
        .iter()
        .find(|market| symbol.names(&market.coin) && !market.delisted);
    let market = named.ok_or_else(|| {
        ErrorReply::new(ErrorCode::NotFound, "the venue does not list this symbol")
            .detail("reason", "symbol_not_found")
    })?;
    let marks: Vec<Decimal> = market.mark.into_iter().collect();
    match coin.and_then(|coin| coin.is_marked_at(&marks)) {
        Some(false) => Err(fault::core_missing("market", ANOTHER_COIN)),
        Some(true) | None => Ok(market.coin.clone()),
    }
}

/// The venue's candles, their levels, and the book. The market's price is compared with the price
/// of a known `coin`, because a venue may list another coin under the symbol.
pub(in crate::operations) async fn candles(
    context: &Context,
    hyperliquid: &HyperliquidInfo,
    symbol: &SymbolKey,
    coin: Option<&Coin>,
    extent: Extent,
    max_age: Option<Duration>,
) -> Result<Answered, ErrorReply> {
    let name = listed(hyperliquid, symbol, coin, max_age).await?;
    let (candles, book) = tokio::join!(
        hyperliquid.candles(&name, INTERVAL, max_age),
        hyperliquid.book(&name, max_age),
    );
    let candles = candles.map_err(|error| fault::reply(&error))?;
    let mut report = SourceReport::default();
    let candles = report.accept(candles);
    let levels = structure(&candles, extent);
    let levels = levels.ok_or_else(|| fault::core_missing("candles", "too_few_candles"))?;
    let book = report.take(context, "book", book);
    let book = book.as_ref().and_then(depth);
    let impact = || book.iter().flat_map(|depth| &depth.impact);
    for (field, lacks) in [
        (
            "book.impact[].buy_pct",
            impact().any(|row| row.buy_pct.is_none()),
        ),
        (
            "book.impact[].sell_pct",
            impact().any(|row| row.sell_pct.is_none()),
        ),
    ] {
        if lacks {
            report.missing(field, "larger_than_the_known_book", "hyperliquid.book");
        }
    }
    if book.is_none()
        && !report
            .unavailable
            .iter()
            .any(|entry| entry.field == "data.book")
    {
        report.missing("book", "one_sided_book", "hyperliquid.book");
    }
    let (below, above) = levels.levels_total;
    report.cut("levels.supports", levels.supports.len(), below);
    report.cut("levels.resistances", levels.resistances.len(), above);
    let data = json!({
        "venue": "hyperliquid",
        "coin": name,
        "interval": INTERVAL,
        "levels": levels,
        "book": book,
        "candles": candles.as_slice(),
    });
    let mut answered = Answered::new(data, CANDLES_FRESH_SECONDS).with_report(report);
    // `null` here means that no price turned at a level, or that the range has no width.
    answered.none = &[
        "range_position_pct",
        "change_pct",
        "vwap",
        "mean_range_pct",
        "volume_change_pct",
    ];
    Ok(answered)
}

/// Every pool of a token on its chain, deepest first.
pub(super) async fn pools(
    tokens: &Tokens,
    place: &Place,
    max_age: Option<Duration>,
) -> Result<Answered, ErrorReply> {
    let (chain_id, address) = contract(place)?;
    let platform = platform_of(chain_id)
        .ok_or_else(|| fault::core_missing("pools", "no_contract_on_covered_chain"))?;
    let found = tokens.dexscreener.pairs(platform, address, max_age).await;
    let found = found.map_err(|error| fault::reply(&error))?;
    let mut report = SourceReport::default();
    let found = report.accept(found);
    let mut pairs: Vec<&DexPair> = found
        .iter()
        .filter(|pair| pair.platform == platform)
        .collect();
    if pairs.is_empty() {
        return Err(fault::core_missing("pools", "no_pool"));
    }
    pairs.sort_by_key(|pair| std::cmp::Reverse(pair.depth_usd()));
    let sum = |of: fn(&DexPair) -> Option<Figure>| -> Option<Decimal> {
        pairs
            .iter()
            .filter_map(|pair| of(pair))
            .map(Figure::get)
            .reduce(|a, b| a.saturating_add(b))
    };
    let (liquidity, volume) = (sum(DexPair::depth_usd), sum(|pair| pair.volume_24h_usd));
    let impact = pool_impact(pairs.iter().copied());
    let row = |pair: &&DexPair| {
        let depth = pair.depth_usd();
        let share = depth.zip(liquidity);
        json!({
            "pair": pair.pair,
            "base": pair.base.symbol,
            "quote": pair.quote.symbol,
            "price_usd": pair.price_usd,
            "traded_within_seconds": pair.traded_within_seconds,
            "liquidity_usd": depth,
            "share_of_liquidity_pct": share.and_then(|(part, all)| share_pct(part.get(), all)).map(Figure),
            "volume_24h_usd": pair.volume_24h_usd,
            "change_1h_pct": pair.change_1h_pct,
            "change_24h_pct": pair.change_24h_pct,
        })
    };
    let data = json!({
        "chain_id": chain_id,
        "pools": pairs.iter().map(row).collect::<Vec<_>>(),
        "liquidity_usd": liquidity.map(Figure),
        "volume_24h_usd": volume.map(Figure),
        "price_impact": impact,
        "volume_to_liquidity_pct": volume
            .zip(liquidity)
            .and_then(|(volume, liquidity)| share_pct(volume, liquidity))
            .map(Figure),
    });
    if pairs
        .iter()
        .any(|pair| pair.traded_within_seconds.is_none())
    {
        report.missing(
            "pools[].traded_within_seconds",
            "not_traded_within_a_day",
            PAIRS,
        );
    }
    for (field, there) in [
        ("price_impact", impact.is_some()),
        ("liquidity_usd", liquidity.is_some()),
        ("volume_24h_usd", volume.is_some()),
    ] {
        if !there {
            report.missing(field, "not_named_by_source", PAIRS);
        }
    }
    Ok(Answered::new(data, FLOWS_FRESH_SECONDS).with_report(report))
}

/// The holders of a token of the home chain, and its flows.
pub(super) async fn flows(
    context: &Context,
    tokens: &Tokens,
    place: &Place,
    max_age: Option<Duration>,
) -> Result<Answered, ErrorReply> {
    let (chain_id, address) = contract(place)?;
    if chain_id != HOME_CHAIN.id {
        return Err(fault::core_missing("flows", "read_on_the_home_chain_only"));
    }
    let (market, holders) = tokio::join!(
        tokens.okx.market(address, max_age),
        tokens.okx.token_holders(address, max_age),
    );
    let market = market.map_err(|error| fault::reply(&error))?;
    let mut report = SourceReport::default();
    let market = report.accept(market);
    let holders = report.take(context, "largest_holders", holders);
    let top10 = holders.as_ref().and_then(|holders| {
        let shares = holders.iter().take(10).map(|holder| holder.share_pct.get());
        readings::sum(shares)
    });
    let rows = holders.as_ref().map(|holders| {
        let row = |holder: &readings::security::Holder| {
            json!({
                "address": holder.address.to_string(),
                "share_pct": holder.share_pct,
                "kind": holder.kind,
            })
        };
        holders.iter().map(row).collect::<Vec<Value>>()
    });
    if let (Some(listed), Some(all)) = (&rows, market.holders) {
        let all = usize::try_from(all).unwrap_or(usize::MAX);
        report.cut("largest_holders", listed.len(), all);
    }
    let data = json!({
        "chain_id": chain_id,
        "holders": market.holders,
        "top10_pct": top10.map(Figure),
        "largest_holders": rows,
        "txs_24h": market.txs_24h,
        "volume_24h_usd": market.volume_24h_usd,
        "liquidity_usd": market.liquidity_usd,
        "price_change_pct": {
            "5m": market.change_5m_pct,
            "1h": market.change_1h_pct,
            "4h": market.change_4h_pct,
            "24h": market.change_24h_pct,
        },
    });
    let mut answered = Answered::new(data, FLOWS_FRESH_SECONDS).with_report(report);
    // `null` means a holder of no special kind.
    answered.none = &["kind"];
    Ok(answered)
}

/// The contract of a token, or the error without one.
fn contract(place: &Place) -> Result<(u64, Address), ErrorReply> {
    match *place {
        Place::Contract { chain_id, address } => Ok((chain_id, address)),
        Place::None => Err(
            ErrorReply::new(ErrorCode::NotFound, "the coin is not a token")
                .detail("reason", "symbol_not_found"),
        ),
        Place::Elsewhere => Err(fault::core_missing(
            "contract",
            "no_contract_on_covered_chain",
        )),
        Place::Unknown => Err(fault::core_missing("contract", "contract_unknown")),
    }
}
