//! `GET /token-deep-dive`: one token in all its parts, which are compared with each other. The
//! token's details are the core; every other part may fail and is then listed.

mod change;
mod checks;
mod parts;
mod place;
pub(super) mod trade;
mod voices;

use std::time::Duration;

use data_sources::Sourced;
use readings::macro_data::{CalendarReach, Catalyst, reach, upcoming};
use readings::news::rank;
use readings::symbol::SymbolKey;
use readings::token::coin::Coin;
use readings::{Decimal, Extent, Figure};
use route_catalog::{ErrorCode, HOME_CHAIN};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::timeout;

pub(super) use self::parts::drop_none;
use self::parts::{Budget, Gathered, Part, PartOutcome};
use self::place::Place;
use self::voices::about_token;
use super::crypto_news::undated;
use super::{fault, funding_rates, kol_sentiment, price, token_details, token_security};
use crate::answer::{Answered, Method};
use crate::call::Call;
use crate::context::Context;
use crate::memory::Memory;
use crate::reply::ErrorReply;
use crate::source_report::SourceReport;
use crate::sources::Derivatives;
use crate::sources::News;
use crate::sources::Security;
use crate::sources::Tokens;

/// The time limit of the core, which asks the catalogues one after the other.
const CORE: Duration = Duration::from_millis(3_500);
/// The time limit of one part.
const PART: Duration = Duration::from_millis(2_500);
/// The time limit of the answer.
const WHOLE: Duration = Duration::from_secs(6);
/// The days ahead for which scheduled events are shown.
const CATALYST_DAYS: usize = 14;
/// The window exceeds the last announced decision of the Federal Reserve.
pub(super) const DECISIONS_UNKNOWN: &str = "fomc_decisions_unknown_beyond_calendar";
/// For how many seconds the articles of a symbol count as fresh. They are read again after two
/// minutes.
const NEWS_FRESH_SECONDS: u64 = 120;
/// The reason for missing derivatives when a venue lists another coin under the symbol.
pub(super) const ANOTHER_COIN: &str = "derivatives_of_another_coin";

#[derive(Serialize)]
struct Data {
    symbol: String,
    token_details: Part,
    security: Part,
    derivatives: Part,
    kol_context: Part,
    dex_price: Part,
    candles: Part,
    pools: Part,
    flows: Part,
    news: Part,
    cross_checks: Value,
    change: Option<Value>,
    catalysts: Vec<Catalyst>,
    catalyst_calendar: CalendarReach,
}

/// The inputs of a deep dive.
#[derive(Clone, Copy)]
pub(super) struct Reads<'a> {
    pub(super) tokens: &'a Tokens,
    pub(super) security: &'a Security,
    pub(super) derivatives: &'a Derivatives,
    pub(super) news: &'a News,
    pub(super) memory: &'a Memory,
}

pub(super) async fn answer(
    context: &Context,
    sources: Reads<'_>,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let Reads {
        tokens,
        security,
        derivatives,
        news,
        memory,
    } = sources;
    let hyperliquid = &derivatives.hyperliquid;
    let text = call.parameters.text("symbol").unwrap_or_default();
    let symbol = SymbolKey::new(text)
        .ok_or_else(|| fault::bad_parameter("symbol", "expected a symbol of 1 to 64 characters"))?;
    let budget = Budget::start(PART, WHOLE);
    let details = timeout(
        CORE,
        token_details::details(context, tokens, &symbol, call.max_age()),
    );
    let max_age = call.max_age();
    let (core, derivatives, voices, told) = tokio::join!(
        details,
        budget.run(funding_rates::answer(
            context,
            derivatives,
            call,
            Extent::First
        )),
        budget.run(kol_sentiment::answer(context, news, call)),
        budget.run(articles(context, news, &symbol, max_age)),
    );
    let core = core
        .map_err(|_| fault::core_missing("token_details", "time_budget_exhausted"))?
        .map_err(|error| refusal(fault::reply(&error)))?;
    let place = Place::of(&core.value);
    let derivatives = of_the_coin(derivatives, &core.value);
    let (audited, dex_price, candles, pools, flows) = tokio::join!(
        audited(context, security, &budget, &place, call),
        dex_price(context, tokens, &budget, &place, call),
        budget.run(trade::candles(
            context,
            hyperliquid,
            &symbol,
            Some(&core.value),
            Extent::First,
            max_age
        )),
        budget.run(trade::pools(tokens, &place, max_age)),
        budget.run(trade::flows(context, tokens, &place, max_age)),
    );
    let marks = match &derivatives {
        PartOutcome::Ok(answered) => marks(&answered.data),
        PartOutcome::Unavailable(_) | PartOutcome::NotApplicable(_) => Vec::new(),
    };
    let details = json!(&core.value);
    let cross_checks = checks::cross_checks(
        &checks::Parts {
            details: Some(&details),
            dex_price: dex_price.data(),
            derivatives: derivatives.data(),
            candles: candles.data(),
            pools: pools.data(),
        },
        &marks,
    );

    let now = context.now();
    let parts = change::Parts {
        details: Some(&details),
        derivatives: derivatives.data(),
        flows: flows.data(),
    };
    let changed = change::since_yesterday(memory, &core.value.id, parts, now);
    let source = core.source();
    let mut gathered = Gathered::default();
    // The core comes first: its source is the answer's.
    let token_details = gathered.part("token_details", PartOutcome::Ok(details_of(core)), now);
    let data = Data {
        symbol: symbol.to_string(),
        token_details,
        security: gathered.part("security", audited, now),
        derivatives: gathered.part("derivatives", derivatives, now),
        kol_context: gathered.part(
            "kol_context",
            voices.map(|told| about_token(told, &symbol)),
            now,
        ),
        dex_price: gathered.part("dex_price", dex_price, now),
        candles: gathered.part("candles", candles, now),
        pools: gathered.part("pools", pools, now),
        flows: gathered.part("flows", flows, now),
        news: gathered.part("news", told, now),
        cross_checks,
        change: changed.change,
        catalysts: upcoming(now, CATALYST_DAYS),
        catalyst_calendar: reach(now, CATALYST_DAYS),
    };
    if data.change.is_none() {
        let reason = "first_reading_of_this_coin_here";
        gathered.report.missing("change", reason, source);
    }
    for member in changed.unread {
        let field = format!("change.{member}");
        gathered
            .report
            .missing(&field, "not_read_the_day_before", "");
    }
    if !data.catalyst_calendar.complete {
        gathered.report.missing("catalysts", DECISIONS_UNKNOWN, "");
    }
    let Gathered {
        report,
        warnings,
        ages,
    } = gathered;
    let mut answered = Answered::of_parts(data, ages).with_report(report);
    answered.warnings = warnings;
    answered.none = &["reason"];
    Ok(answered.origin("token_details", source, Method::Direct))
}

/// Every article that its source connects with the token.
async fn articles(
    context: &Context,
    news: &News,
    symbol: &SymbolKey,
    max_age: Option<Duration>,
) -> Result<Answered, ErrorReply> {
    let found = news.desk.news_of(symbol, max_age).await;
    let found = found.map_err(|error| fault::reply(&error))?;
    let mut report = SourceReport::default();
    let source = found.source();
    let headlines = rank(report.accept(found), context.now()).headlines;
    report
        .unavailable
        .extend(undated("headlines", &headlines, source));
    let data = json!({ "count": headlines.len(), "headlines": headlines });
    Ok(Answered::new(data, NEWS_FRESH_SECONDS).with_report(report))
}

/// The error without a core: an unknown symbol is not found; otherwise the core data is missing.
fn refusal(reply: ErrorReply) -> ErrorReply {
    if reply.code() == ErrorCode::NotFound {
        return reply;
    }
    fault::core_missing("token_details", reply.reason())
}

fn details_of(found: Sourced<Coin>) -> Answered {
    let mut answered = Answered::new(&found.value, token_details::fresh_seconds(&found.sources));
    answered.warnings = token_details::warnings(&found.value);
    answered.unavailable = token_details::missing_fields(&found.value, &found.sources);
    answered.cut.extend(token_details::cut(&found.value));
    answered.sources = found.sources;
    answered
}

/// The derivatives of this very coin. Venues list coins by their tickers, which two coins can
/// share.
fn of_the_coin(derivatives: PartOutcome<Answered>, coin: &Coin) -> PartOutcome<Answered> {
    let PartOutcome::Ok(answered) = &derivatives else {
        return derivatives;
    };
    match coin.is_marked_at(&marks(&answered.data)) {
        Some(false) => PartOutcome::Unavailable(ANOTHER_COIN.to_owned()),
        Some(true) | None => derivatives,
    }
}

/// The mark prices of an answer about one symbol, without venues that contradict the others.
fn marks(data: &Value) -> Vec<Decimal> {
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    let mut marks = Vec::new();
    for market in list(data.get("markets")) {
        let conflicting = list(market.get("conflicting"));
        for reading in list(market.get("venues")) {
            let conflicts = reading
                .get("venue")
                .is_some_and(|venue| conflicting.contains(venue));
            let mark = reading.get("mark_px").and_then(Value::as_str);
            let mark = mark.and_then(|mark| mark.parse::<Figure>().ok());
            marks.extend(mark.filter(|_| !conflicts).map(Figure::get));
        }
    }
    marks
}

async fn audited(
    context: &Context,
    security: &Security,
    budget: &Budget,
    place: &Place,
    call: &Call,
) -> PartOutcome<Answered> {
    match *place {
        Place::Contract { chain_id, address } => {
            let audit = token_security::audit(context, security, chain_id, address, call.max_age());
            budget.run(audit).await
        }
        Place::None => PartOutcome::NotApplicable("no_contract".to_owned()),
        Place::Elsewhere => PartOutcome::Unavailable("no_contract_on_covered_chain".to_owned()),
        Place::Unknown => PartOutcome::Unavailable("contract_unknown".to_owned()),
    }
}

async fn dex_price(
    context: &Context,
    tokens: &Tokens,
    budget: &Budget,
    place: &Place,
    call: &Call,
) -> PartOutcome<Answered> {
    let (chain_id, address) = match *place {
        Place::Contract { chain_id, address } => (chain_id, address),
        Place::Elsewhere => {
            return PartOutcome::Unavailable("no_contract_on_covered_chain".to_owned());
        }
        Place::None => return PartOutcome::NotApplicable("no_contract".to_owned()),
        Place::Unknown => return PartOutcome::Unavailable("contract_unknown".to_owned()),
    };
    let spot = async {
        let found = match chain_id == HOME_CHAIN.id {
            true => price::spot(context, tokens, address, call.max_age(), call.max_age()).await,
            false => price::elsewhere(context, tokens, chain_id, address, call.max_age()).await,
        };
        let found = found.map_err(|error| fault::reply(&error))?;
        let mut answered = Answered::of_parts(found.value.data(), found.value.parts.clone());
        answered.warnings = found.value.warnings();
        answered.unavailable = price::unpriced(&found.value);
        answered.sources = found.sources;
        Ok(answered)
    };
    budget.run(spot).await
}

#[cfg(test)]
mod tests {
    use readings::token::coin::unpriced;

    use super::*;

    #[test]
    fn derivatives_of_another_coin_with_the_symbol_are_not_its_own() {
        let venue = |venue: &str, mark| json!({"venue": venue, "mark_px": mark});
        let derivatives = |venues: Value, conflicting: Value| {
            let data =
                json!({"symbol": "X", "markets": [{"venues": venues, "conflicting": conflicting}]});
            PartOutcome::Ok(Answered {
                data: data.into(),
                ..Answered::default()
            })
        };
        let coin = Coin {
            price_usd: Some("118.4".parse().unwrap()),
            ..unpriced("x".to_owned(), "X".to_owned(), "X".to_owned())
        };
        let kept = |outcome| match of_the_coin(outcome, &coin) {
            PartOutcome::Ok(_) => None,
            PartOutcome::Unavailable(reason) | PartOutcome::NotApplicable(reason) => Some(reason),
        };
        let of = |mark: &str| json!([venue("okx", json!(mark)), venue("bybit", json!(null))]);
        assert_eq!(kept(derivatives(of("118"), json!([]))), None);
        assert_eq!(
            kept(derivatives(of("0.018"), json!([]))).as_deref(),
            Some(ANOTHER_COIN)
        );
        // A venue that the others contradict does not count, and without a mark the coin cannot be
        // told apart.
        assert_eq!(kept(derivatives(of("0.018"), json!(["okx"]))), None);
        assert_eq!(kept(derivatives(json!([]), json!([]))), None);
    }

    #[test]
    fn a_missing_core_is_a_refusal_with_its_name() {
        let down = ErrorReply::new(ErrorCode::UpstreamUnavailable, "down")
            .detail("reason", "upstream_timeout");
        let refused = refusal(down);
        assert_eq!(
            (refused.code(), refused.reason()),
            (ErrorCode::CoreDataMissing, "upstream_timeout")
        );
        let unknown =
            ErrorReply::new(ErrorCode::NotFound, "unknown").detail("reason", "symbol_not_found");
        assert_eq!(refusal(unknown).code(), ErrorCode::NotFound);
    }
}
