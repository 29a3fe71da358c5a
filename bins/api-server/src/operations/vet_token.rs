//! `GET /vet-token`: a token's security scan, price, and quotes in both directions. The scan is the
//! core: without one there is no answer.

use std::time::Duration;

use data_sources::{Error, Sourced};
use readings::security::{
    Basis, Judgement, Probe, SecurityReport, TradeSide, Traded, Trades, Verdict, vet,
};
use route_catalog::HOME_CHAIN;
use serde::Serialize;
use serde_json::{Value, json};

use super::price::{self, Spot};
use super::token_security::{self, holders, holders::Held, scans, trading, trading::Trading};
use crate::answer::{Answered, Method, Part, seconds};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::source_report::SourceReport;
use crate::sources::Security;
use crate::sources::Tokens;

/// The greatest age of the parts when they are requested.
const PART_AGE: Duration = Duration::from_secs(30);
/// The reason for a member that a quote does not state.
const UNSTATED: &str = "not_named_by_source";
/// The seconds for which the parts count as fresh. The price states its own bound.
const FRESH_SECONDS: u64 = 60;

pub(super) async fn answer(
    context: &Context,
    tokens: &Tokens,
    security: &Security,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let token = token_security::contract(call)?;
    let max_age = Some(
        call.max_age()
            .map_or(PART_AGE, |max_age| max_age.min(PART_AGE)),
    );
    let (scanned, held, mut trading, spot) = tokio::join!(
        scans::of(context, security, HOME_CHAIN.id, token, max_age),
        holders::held(&security.okx, token, max_age),
        trading::probe(&security.okx, token, max_age),
        price::spot(context, tokens, token, max_age, call.max_age()),
    );
    let scanned = scanned?;
    let mut report = SourceReport::default();
    let findings = token_security::merged(&mut report, context, &scanned, &held);
    let price_usd = spot
        .as_ref()
        .ok()
        .and_then(|found| found.value.consensus.price_usd);
    trading
        .sell_what_cannot_be_bought(&security.okx, token, price_usd, max_age)
        .await;
    trading.list(&mut report, context);
    let holding = held.holding(&scanned.scans);
    let vetting = vet(
        &held.with_origin(&scanned.scans),
        &holding,
        findings.holders.creator_pct,
        findings.holders.count,
        &trading.trades,
    );
    let rests_on = findings.rests_on.clone().with_market(
        holding.concentration.as_ref(),
        findings.holders.count,
        &trading.trades,
    );
    let warnings = spot
        .as_ref()
        .map(|found| found.value.warnings())
        .unwrap_or_default();
    let rest = Part::of("verdict", &report.sources, FRESH_SECONDS);
    let of_price = spot.iter().flat_map(|found| &found.value.parts);
    let of_price = of_price.map(|part| part.within("price"));
    let parts: Vec<_> = [rest].into_iter().chain(of_price).collect();
    let price = priced(context, &mut report, spot, &trading);
    token_security::unknowns(&mut report, &findings, &scanned, "security.");
    token_security::left_out(&mut report, &findings, "security.");
    list_missing(&mut report, &vetting.judgement, &trading, scanned.core());
    if let Some(reason) = holding.missing {
        report.missing("holders.top10_is_lower_bound", reason, holders::SOURCE);
    }
    let lower_bound = holding
        .concentration
        .as_ref()
        .map(|found| found.is_lower_bound(findings.holders.count));
    let none: &[&str] = if findings.ownership.renounced == Some(true) {
        &["owner"]
    } else {
        &[]
    };
    let origins = token_security::origins(&findings, &scanned, "security/");
    let data = Data {
        address: findings.address.clone(),
        chain_id: findings.chain_id,
        verdict: vetting.judgement.verdict,
        score: vetting.judgement.score,
        flags: vetting.judgement.flags(),
        rests_on,
        rules_version: findings.rules_version,
        security: contract(&findings),
        holders: json!({
            "count": findings.holders.count,
            "top10_pct": findings.holders.top10_pct,
            "top10_counted": findings.holders.top10_counted,
            "top10_is_lower_bound": lower_bound,
            "creator_pct": findings.holders.creator_pct,
            "excluded": findings.holders.excluded,
        }),
        tradeability: tradeability(&trading, &held),
        price,
    };
    let core = scanned.core();
    let mut answered = Answered::of_parts(data, parts).with_report(report);
    answered.origins = origins;
    answered.none = none;
    answered.warnings = warnings;
    Ok(answered
        .origin("verdict", core, Method::Derived)
        .origin("score", core, Method::Derived)
        .origin("tradeability", trading::SOURCE, Method::Derived))
}

#[derive(Serialize)]
struct Data {
    address: String,
    chain_id: u64,
    verdict: Verdict,
    score: Option<u32>,
    flags: Vec<&'static str>,
    rests_on: Basis,
    rules_version: &'static str,
    security: Value,
    holders: Value,
    tradeability: Value,
    price: Option<Value>,
}

/// The report without the members that the answer has elsewhere.
fn contract(findings: &SecurityReport) -> Value {
    let mut value = json!(findings);
    if let Some(members) = value.as_object_mut() {
        for elsewhere in [
            "address",
            "chain_id",
            "rests_on",
            "rules_version",
            "holders",
        ] {
            members.remove(elsewhere);
        }
    }
    value
}

fn tradeability(trading: &Trading, held: &Held) -> Value {
    let trades = &trading.trades;
    let side = |side| {
        trades
            .probes
            .iter()
            .map(|probe| quote(probe, side))
            .collect::<Vec<_>>()
    };
    let losses = trades.probes.iter().map(|probe| {
        let loss = probe.round_trip_loss_pct().map(readings::Figure);
        json!({"usd": probe.usd.to_string(), "loss_pct": loss})
    });
    json!({
        "counter_token": trading.counter.as_ref().map(|counter| json!({
            "address": counter.address.to_string(),
            "symbol": counter.symbol,
        })),
        "can_buy": trades.possible(TradeSide::Buy),
        "can_sell": trades.possible(TradeSide::Sell),
        "buy_quote": side(TradeSide::Buy),
        "sell_quote": side(TradeSide::Sell),
        "round_trip": losses.collect::<Vec<_>>(),
        "price_impact_pct": trades.price_impact_pct(),
        "route_count": trades.most_hops(),
        "liquidity_usd": held.liquidity_usd(),
    })
}

/// Renders one quote, or the reason why there is none.
fn quote(probe: &Probe, side: TradeSide) -> Value {
    let usd = probe.usd.to_string();
    match probe.side(side) {
        Traded::Quoted(quoted) => {
            let mut value = json!(quoted);
            if let Some(members) = value.as_object_mut() {
                members.insert("usd".to_owned(), json!(usd));
                members.insert("status".to_owned(), json!("ok"));
            }
            value
        }
        Traded::NoRoute => json!({"usd": usd, "status": "no_route"}),
        Traded::Unavailable(reason) => {
            json!({"usd": usd, "status": "unavailable", "reason": reason})
        }
    }
}

/// Lists the fields that the quotes leave open.
fn list_missing(
    report: &mut SourceReport,
    judgement: &Judgement,
    trading: &Trading,
    core: &'static str,
) {
    let trades = &trading.trades;
    let reason = |side| missing(trades, side).unwrap_or_else(|| "not_quoted".to_owned());
    for (side, member) in [(TradeSide::Buy, "can_buy"), (TradeSide::Sell, "can_sell")] {
        if trades.possible(side).is_none() {
            report.missing(
                &format!("tradeability.{member}"),
                reason(side),
                trading::SOURCE,
            );
        }
    }
    let open = trades
        .probes
        .iter()
        .any(|probe| probe.round_trip_loss_pct().is_none());
    if open {
        report.missing(
            "tradeability.round_trip[].loss_pct",
            missing(trades, TradeSide::Sell).unwrap_or_else(|| reason(TradeSide::Buy)),
            trading::SOURCE,
        );
    }
    let quotes = |side| {
        let probes = trades.probes.iter().map(move |probe| probe.side(side));
        probes.filter_map(|traded| match traded {
            Traded::Quoted(quoted) => Some(quoted),
            _ => None,
        })
    };
    let quoted = quotes(TradeSide::Buy)
        .chain(quotes(TradeSide::Sell))
        .next()
        .is_some();
    for (known, member) in [
        (trades.price_impact_pct().is_some(), "price_impact_pct"),
        (trades.most_hops().is_some(), "route_count"),
    ] {
        if !known {
            let unstated = quoted.then(|| UNSTATED.to_owned());
            report.missing(
                &format!("tradeability.{member}"),
                unstated.unwrap_or_else(|| reason(TradeSide::Buy)),
                trading::SOURCE,
            );
        }
    }
    for (side, list) in [
        (TradeSide::Buy, "buy_quote"),
        (TradeSide::Sell, "sell_quote"),
    ] {
        for (unstated, member) in [
            (
                quotes(side).any(|quote| quote.price_impact_pct.is_none()),
                "price_impact_pct",
            ),
            (quotes(side).any(|quote| quote.hops.is_none()), "hops"),
        ] {
            if unstated {
                let field = format!("tradeability.{list}[].{member}");
                report.missing(&field, UNSTATED, trading::SOURCE);
            }
        }
    }
    if judgement.score.is_none() {
        report.missing("score", "honeypot_not_ruled_out", core);
    }
}

/// The reason why a side was not quoted.
fn missing(trades: &Trades, side: TradeSide) -> Option<String> {
    trades
        .probes
        .iter()
        .find_map(|probe| match probe.side(side) {
            Traded::Quoted(_) => None,
            Traded::NoRoute => Some("no_route".to_owned()),
            Traded::Unavailable(reason) => Some(reason.clone()),
        })
}

/// The price as in `/price`. If no source prices the token, the price of the smallest quoted
/// purchase.
fn priced(
    context: &Context,
    report: &mut SourceReport,
    spot: Result<Sourced<Spot>, Error>,
    trading: &Trading,
) -> Option<Value> {
    match spot {
        Ok(found) => {
            let spot = report.accept(found);
            if spot.consensus.price_usd.is_none() {
                for member in ["price_usd", "source"] {
                    report.missing(&format!("price.{member}"), price::CONTRADICT, "");
                }
            }
            Some(spot.data())
        }
        Err(error) => match trading.trades.buy_price_usd() {
            Some(price) => {
                report.failed(context, &error);
                Some(json!({
                    "price_usd": readings::Figure(price),
                    "source": trading::SOURCE,
                    "confidence": "derived",
                    "as_of": trading.as_of().map(seconds),
                }))
            }
            None => report.take(context, "price", Err::<Sourced<Value>, _>(error)),
        },
    }
}
