//! `GET /yield-recommendations`: yield markets for an amount or for an account's balances, net of
//! gas. The grades are computed from published figures; nothing is promised.

use std::collections::BTreeSet;

use readings::defi::{
    chains,
    grade::Appetite,
    market::Market,
    recommend::{HORIZON_DAYS, MAX_ROWS, Recommendation, Wish, recommend, recommend_for},
};
use readings::symbol::SymbolKey;
use readings::{Decimal, Figure};
use serde_json::json;

use super::yields::{edition, gas_prices, holdings};
use crate::answer::{Answered, Method, Part};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::snapshots::yield_pools;
use crate::source_report::SourceReport;
use crate::sources::Accounts;
use crate::sources::Chain;
use crate::sources::Defi;

/// The assumed amount in dollars when the call names neither an amount nor an account.
const USUAL_AMOUNT_USD: i64 = 1_000;
/// For how many seconds the price of gas counts as fresh.
pub(super) const GAS_FRESH_SECONDS: u64 = 600;
/// The unavailable fields of a chain without a gas price.
const OF_GAS: [&str; 4] = [
    "recommendations[].est_gas_usd",
    "recommendations[].apy_after_gas_pct",
    "recommendations[].net_apy_pct",
    "recommendations[].breakeven_days",
];
/// Members whose `null` means that there is none.
const NONE: &[&str] = &["address", "amount_usd", "asset"];

pub(super) async fn answer(
    context: &Context,
    chain: &Chain,
    accounts: &Accounts,
    defi: &Defi,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let text = |name: &str| call.parameters.text(name);
    let address = call.parameters.address("address");
    let named = text("amount")
        .and_then(|amount| amount.parse::<Figure>().ok())
        .map(Figure::get);
    let amount_usd = named.unwrap_or(Decimal::from(USUAL_AMOUNT_USD));
    let asset = text("asset").and_then(SymbolKey::new);
    let only: Option<Vec<u64>> = call
        .parameters
        .chains("chains")
        .map(|chains| chains.iter().map(|chain| chain.id).collect());
    let wish = Wish {
        amount_usd,
        asset: asset.as_ref(),
        token: None,
        appetite: appetite(text("risk")),
        chains: only.as_deref(),
    };
    let edition = edition(defi, context.now()).await?;
    let mut report = SourceReport::default();
    edition.count_in(&mut report);
    // Balances and gas move faster than yields, and the answer is fresh only while they are.
    let mut moving = SourceReport::default();
    let held = match address {
        Some(address) => Some(
            holdings(
                context,
                accounts,
                address,
                only.clone(),
                "recommendations",
                &mut moving,
            )
            .await?,
        ),
        None => None,
    };
    let wanted = gas_chains(&edition.markets, &wish);
    let mut gas = SourceReport::default();
    let of_gas = gas_prices(
        context,
        chain,
        defi,
        call.max_age(),
        &wanted,
        &OF_GAS,
        &mut gas,
    )
    .await;
    let mut parts = vec![edition.part("markets")];
    parts.extend(held.iter().flat_map(|held| held.parts.clone()));
    if !gas.core().is_empty() {
        parts.push(Part::of("gas", &gas.sources, GAS_FRESH_SECONDS));
    }
    report.join(moving);
    report.join(gas);
    let mut rows: Vec<Recommendation> = match &held {
        Some(held) => recommend_for(&held.holdings, &edition.markets, &wish, &of_gas),
        None => recommend(&edition.markets, &wish, &of_gas),
    };
    report.cut("recommendations", rows.len().min(MAX_ROWS), rows.len());
    rows.truncate(MAX_ROWS);
    if rows.iter().any(|row| row.exit_liquidity_usd.is_none()) {
        report.missing(
            "recommendations[].exit_liquidity_usd",
            "not_named_by_source",
            yield_pools::SOURCE,
        );
    }
    if rows
        .iter()
        .any(|row| row.apy_after_gas_pct.is_some() && row.net_apy_pct.is_none())
    {
        for member in ["net_apy_pct", "breakeven_days"] {
            let field = format!("recommendations[].{member}");
            report.missing(&field, "costs_not_counted", yield_pools::SOURCE);
        }
    }
    let data = json!({
        "recommendations": rows,
        "address": address.map(|address| address.to_string()),
        "amount_usd": address.is_none().then_some(Figure(amount_usd)),
        "amount_assumed": address.is_none() && named.is_none(),
        "asset": asset.as_ref().map(SymbolKey::as_str),
        "horizon_days": HORIZON_DAYS,
        "rules": {
            "low_risk": "grade A or B, and the source says that there is no impermanent loss",
            "net_apy_pct": "less gas in and out over the horizon; null where a swap into other assets or impermanent loss \
                            is not known, see not_counted",
            "assumes": "the amount is held in the asset of the market",
        },
        "gas_method": readings::defi::gas::METHOD,
        "chains_unavailable": held.as_ref().map(|held| held.unread.clone()).unwrap_or_default(),
        "chains_partly_read": held.map(|held| held.partly_read).unwrap_or_default(),
        "snapshot_id": edition.snapshot_id(),
    });
    let answered = Answered::of_parts(data, parts).with_report(report);
    Ok(Answered {
        none: NONE,
        ..answered
            .origin("recommendations", yield_pools::SOURCE, Method::Derived)
            .origin(
                "recommendations/*/exit_liquidity_usd",
                yield_pools::SOURCE,
                Method::Direct,
            )
    })
}

pub(super) fn appetite(risk: Option<&str>) -> Appetite {
    match risk {
        Some("high") => Appetite::High,
        Some("medium") => Appetite::Medium,
        _ => Appetite::Low,
    }
}

/// The chains of the possible recommendations. Gas is read only there.
fn gas_chains(markets: &[Market], wish: &Wish<'_>) -> BTreeSet<u64> {
    let known: BTreeSet<u64> = chains::ids().collect();
    let fitting = markets.iter().filter(|market| wish.takes_kind(market));
    let of_market = fitting.filter_map(|market| market.chain_id);
    of_market.filter(|id| known.contains(id)).collect()
}
