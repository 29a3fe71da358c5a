//! `GET /yield-recommendations`.

use std::collections::BTreeSet;

use readings::defi::{
    chains, gas,
    grade::Appetite,
    market::Market,
    recommend::{HORIZON_DAYS, Recommendation, Wish, recommend, recommend_for},
};
use readings::symbol::SymbolKey;
use readings::{Decimal, Figure};
use serde_json::json;

use super::yields::{edition, gas_prices, holdings};
use crate::answer::{Answered, Method, Part, fresh_together};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::snapshots::yield_pools;
use crate::source_report::SourceReport;
use crate::sources::Accounts;
use crate::sources::Chain;
use crate::sources::Defi;

/// What is assumed when neither an amount nor an account is named, in dollars.
const USUAL_AMOUNT_USD: i64 = 1_000;
/// For how long balances and the price of gas count as fresh.
const MOVING_FRESH_SECONDS: u64 = 600;
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
    let of_gas = gas_prices(context, chain, defi, call.max_age(), &wanted, &mut moving).await;
    let now = context.now();
    let given = !moving.core().is_empty();
    let of_moving = given.then(|| Part::of(&moving.sources, MOVING_FRESH_SECONDS, now));
    let fresh = fresh_together([edition.part(now)].into_iter().chain(of_moving));
    report.join(moving);
    let rows: Vec<Recommendation> = match &held {
        Some(held) => recommend_for(&held.holdings, &edition.markets, &wish, &of_gas),
        None => recommend(&edition.markets, &wish, &of_gas),
    };
    if rows.iter().any(|row| row.exit_liquidity_usd.is_none()) {
        report.missing(
            "recommendations[].exit_liquidity_usd",
            "not_named_by_source",
            yield_pools::SOURCE,
        );
    }
    let data = json!({
        "recommendations": rows,
        "address": address.map(|address| address.to_string()),
        "amount_usd": address.is_none().then_some(Figure(amount_usd)),
        "amount_assumed": address.is_none() && named.is_none(),
        "asset": asset.as_ref().map(SymbolKey::as_str),
        "horizon_days": HORIZON_DAYS,
        "gas_method": gas::METHOD,
        "chains_unavailable": held.map(|held| held.unread).unwrap_or_default(),
        "snapshot_id": edition.snapshot_id(),
    });
    let answered = Answered::new(data, fresh).with_report(report);
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

fn appetite(risk: Option<&str>) -> Appetite {
    match risk {
        Some("high") => Appetite::High,
        Some("medium") => Appetite::Medium,
        _ => Appetite::Low,
    }
}

/// The chains of the markets that could be recommended: gas is asked for only there.
fn gas_chains(markets: &[Market], wish: &Wish<'_>) -> BTreeSet<u64> {
    let known: BTreeSet<u64> = chains::ids().collect();
    let fitting = markets.iter().filter(|market| wish.takes_kind(market));
    let of_market = fitting.filter_map(|market| market.chain_id);
    of_market.filter(|id| known.contains(id)).collect()
}
