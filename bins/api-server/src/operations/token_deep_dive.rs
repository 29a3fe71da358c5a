//! `GET /token-deep-dive`.

mod deep;

use std::time::Duration;

use alloy_primitives::Address;
use data_sources::Sourced;
use readings::symbol::SymbolKey;
use readings::token::coin::Coin;
use readings::{Decimal, Figure};
use route_catalog::{ErrorCode, HOME_CHAIN, SECURITY_CHAINS};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use self::deep::{Budget, Gathered, Outcome, Part};
use super::{fault, funding_rates, kol_sentiment, price, token_details, token_security};
use crate::answer::{Answered, Method, Object, fresh_together};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::sources::Derivatives;
use crate::sources::News;
use crate::sources::Security;
use crate::sources::Tokens;

/// Time for the core, which asks one catalogue after the other.
const CORE: Duration = Duration::from_millis(3_500);
/// Time for one part.
const PART: Duration = Duration::from_millis(2_500);
/// Time for the answer.
const WHOLE: Duration = Duration::from_secs(6);
/// Why there are no derivatives where a venue lists another coin under the symbol.
pub(super) const ANOTHER_COIN: &str = "derivatives_of_another_coin";
/// Most opinion leaders that are named.
const MAX_VOICES: usize = 5;

#[derive(Serialize)]
struct Data {
    symbol: String,
    token_details: Part,
    security: Part,
    derivatives: Part,
    kol_context: Part,
    dex_price: Part,
}

pub(super) async fn answer(
    context: &Context,
    tokens: &Tokens,
    security: &Security,
    derivatives: &Derivatives,
    news: &News,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let text = call.parameters.text("symbol").unwrap_or_default();
    let symbol = SymbolKey::new(text)
        .ok_or_else(|| fault::bad_parameter("symbol", "expected a symbol of 1 to 64 characters"))?;
    let budget = Budget::start(PART, WHOLE);
    let details = timeout(
        CORE,
        token_details::details(context, tokens, &symbol, call.max_age()),
    );
    let (core, derivatives, voices) = tokio::join!(
        details,
        budget.spend(funding_rates::answer(context, derivatives, call)),
        budget.spend(kol_sentiment::answer(context, news, call)),
    );
    let core = core
        .map_err(|_| fault::core_missing("token_details", "time_budget_exhausted"))?
        .map_err(|error| refusal(fault::reply(&error)))?;
    let place = Place::of(&core.value);
    let derivatives = of_the_coin(derivatives, &core.value);
    let (audited, dex_price) = tokio::join!(
        audited(context, security, &budget, &place, call),
        dex_price(context, tokens, &budget, &place, call),
    );

    let now = context.now();
    let source = core.sources.first().map_or("", |source| source.source);
    let mut gathered = Gathered::default();
    // The core comes first: its source is the answer's.
    let token_details = gathered.part("token_details", Outcome::Ok(details_of(core)), now);
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
    };
    let Gathered {
        report,
        warnings,
        ages,
    } = gathered;
    let mut answered = Answered::new(data, fresh_together(ages)).with_report(report);
    answered.warnings = warnings;
    answered.none = &["reason"];
    Ok(answered.origin("token_details", source, Method::Direct))
}

/// A symbol that nobody knows is not found; otherwise the core is what is missing.
fn refusal(reply: ErrorReply) -> ErrorReply {
    if reply.code() == ErrorCode::NotFound {
        return reply;
    }
    fault::core_missing("token_details", reply.reason())
}

fn details_of(found: Sourced<Coin>) -> Answered {
    let mut answered = Answered::new(&found.value, token_details::FRESH_SECONDS);
    answered.warnings = token_details::warnings(&found.value);
    answered.unavailable = token_details::gaps(&found.value, &found.sources);
    answered.sources = found.sources;
    answered
}

/// The derivatives, if they are of this very coin: venues list coins by their tickers, and two coins can share one.
fn of_the_coin(derivatives: Outcome<Answered>, coin: &Coin) -> Outcome<Answered> {
    let Outcome::Ok(answered) = &derivatives else {
        return derivatives;
    };
    match coin.is_marked_at(&marks(&answered.data)) {
        Some(false) => Outcome::Unavailable(ANOTHER_COIN.to_owned()),
        Some(true) | None => derivatives,
    }
}

/// The mark prices of an answer about one symbol, without those of venues that contradict the others.
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
) -> Outcome<Answered> {
    match *place {
        Place::Contract { chain_id, address } => {
            let audit = token_security::audit(context, security, chain_id, address, call.max_age());
            budget.spend(audit).await
        }
        Place::None => Outcome::NotApplicable("no_contract".to_owned()),
        Place::Elsewhere => Outcome::Unavailable("no_contract_on_covered_chain".to_owned()),
        Place::Unknown => Outcome::Unavailable("contract_unknown".to_owned()),
    }
}

async fn dex_price(
    context: &Context,
    tokens: &Tokens,
    budget: &Budget,
    place: &Place,
    call: &Call,
) -> Outcome<Answered> {
    let (chain_id, address) = match *place {
        Place::Contract { chain_id, address } => (chain_id, address),
        Place::Elsewhere => {
            return Outcome::Unavailable("no_contract_on_covered_chain".to_owned());
        }
        Place::None => return Outcome::NotApplicable("no_contract".to_owned()),
        Place::Unknown => return Outcome::Unavailable("contract_unknown".to_owned()),
    };
    let spot = async {
        let found = match chain_id == HOME_CHAIN.id {
            true => price::spot(context, tokens, address, call.max_age(), call.max_age()).await,
            false => price::elsewhere(context, tokens, chain_id, address, call.max_age()).await,
        };
        let found = found.map_err(|error| fault::reply(&error))?;
        let mut answered = Answered::new(found.value.data(), found.value.fresh_seconds);
        answered.warnings = found.value.warnings();
        answered.sources = found.sources;
        Ok(answered)
    };
    budget.spend(spot).await
}

/// What the opinion leaders say, as far as it is about this token.
fn about_token(mut told: Answered, symbol: &SymbolKey) -> Answered {
    let names = |row: &&Value| {
        let named = row
            .get("symbol")
            .or_else(|| row.get("token"))
            .and_then(Value::as_str);
        named.is_some_and(|named| symbol.names(named))
    };
    let rows = told.data.get("by_token").and_then(Value::as_array);
    let token = rows.and_then(|rows| rows.iter().find(names)).cloned();
    let voices = told.data.get("top_voices").and_then(Value::as_array);
    let voices: Vec<_> = voices
        .into_iter()
        .flatten()
        .take(MAX_VOICES)
        .cloned()
        .collect();
    told.data = Object::from(json!({
        "kol_count": told.data.get("kol_count"),
        "window": told.data.get("window"),
        "overall": told.data.get("overall"),
        "mentioned": token.is_some(),
        "token": token,
        "top_voices": voices,
    }));
    let kept = [
        "data.overall",
        "data.kol_count",
        "data.window",
        "data.token",
    ];
    for gap in &mut told.unavailable {
        gap.field = gap.field.replacen("data.by_token[]", "data.token", 1);
    }
    told.unavailable
        .retain(|gap| kept.iter().any(|kept| gap.field.starts_with(kept)));
    // Nobody talks about it: that is known.
    told.none = &["token"];
    told.origins.clear();
    told
}

/// Where a coin is a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// On a chain whose contracts are scanned.
    Contract { chain_id: u64, address: Address },
    /// Nowhere: it is a coin of its own chain.
    None,
    /// Only on chains that are not scanned.
    Elsewhere,
    /// Nobody said.
    Unknown,
}

impl Place {
    /// The contract on the home chain, otherwise that on the first of the scanned chains.
    fn of(coin: &Coin) -> Self {
        let Some(contracts) = &coin.contracts else {
            return Self::Unknown;
        };
        if contracts.is_empty() {
            return Self::None;
        }
        let on = |chain_id: u64| {
            let contract = coin.contract_on(chain_id)?;
            let address = contract.address.parse().ok()?;
            Some(Self::Contract { chain_id, address })
        };
        let scanned = SECURITY_CHAINS.iter().map(|chain| chain.id);
        std::iter::once(HOME_CHAIN.id)
            .chain(scanned)
            .find_map(on)
            .unwrap_or(Self::Elsewhere)
    }
}

#[cfg(test)]
mod tests {
    use readings::token::coin::{Contract, unpriced};

    use super::*;

    const ADDRESS: &str = "0x7777777777777777777777777777777777777777";

    fn place(contracts: Option<&[(Option<u64>, &str)]>) -> Place {
        let contract = |&(chain_id, address): &(Option<u64>, &str)| Contract {
            chain_id,
            platform: "somewhere".to_owned(),
            address: address.to_owned(),
        };
        let coin = Coin {
            contracts: contracts.map(|list| list.iter().map(contract).collect()),
            ..unpriced("id".to_owned(), "EXT".to_owned(), "Example".to_owned())
        };
        Place::of(&coin)
    }

    #[test]
    fn a_coin_of_its_own_chain_has_no_contract_and_an_unknown_one_may() {
        let at = |chain_id| Place::Contract {
            chain_id,
            address: ADDRESS.parse().unwrap(),
        };
        assert_eq!(place(Some(&[])), Place::None);
        assert_eq!(place(None), Place::Unknown);
        assert_eq!(
            place(Some(&[(
                None,
                "So11111111111111111111111111111111111111112"
            )])),
            Place::Elsewhere
        );
        assert_eq!(place(Some(&[(Some(59_144), ADDRESS)])), Place::Elsewhere);
        assert_eq!(
            place(Some(&[(Some(8453), ADDRESS), (Some(1), ADDRESS)])),
            at(1)
        );
        assert_eq!(
            place(Some(&[(Some(1), ADDRESS), (Some(196), ADDRESS)])),
            at(196)
        );
        assert_eq!(
            place(Some(&[(Some(1), "not an address")])),
            Place::Elsewhere
        );
    }

    #[test]
    fn derivatives_of_another_coin_with_the_symbol_are_not_its_own() {
        let venue = |venue: &str, mark| json!({"venue": venue, "mark_px": mark});
        let told = |venues: Value, conflicting: Value| {
            let data =
                json!({"symbol": "X", "markets": [{"venues": venues, "conflicting": conflicting}]});
            Outcome::Ok(Answered {
                data: data.into(),
                ..Answered::default()
            })
        };
        let coin = Coin {
            price_usd: Some("118.4".parse().unwrap()),
            ..unpriced("x".to_owned(), "X".to_owned(), "X".to_owned())
        };
        let kept = |outcome| match of_the_coin(outcome, &coin) {
            Outcome::Ok(_) => None,
            Outcome::Unavailable(reason) | Outcome::NotApplicable(reason) => Some(reason),
        };
        let of = |mark: &str| json!([venue("okx", json!(mark)), venue("bybit", json!(null))]);
        assert_eq!(kept(told(of("118"), json!([]))), None);
        assert_eq!(
            kept(told(of("0.018"), json!([]))).as_deref(),
            Some(ANOTHER_COIN)
        );
        // A venue that the others contradict says nothing, and without a mark nobody can say.
        assert_eq!(kept(told(of("0.018"), json!(["okx"]))), None);
        assert_eq!(kept(told(json!([]), json!([]))), None);
    }

    #[test]
    fn leaders_are_told_as_far_as_they_talk_about_the_token() {
        let told = || Answered {
            data: Object::from(json!({
                "kol_count": 3, "window": "24h", "overall": {"score": "0.4"},
                "by_token": [{"symbol": "BTC", "score": "0.1"}, {"symbol": "usd₮0", "score": "0.2"}],
                "top_voices": [1, 2, 3, 4, 5, 6, 7],
            })),
            ..Answered::default()
        };
        let about = |symbol: &str| about_token(told(), &SymbolKey::new(symbol).unwrap()).data;
        assert_eq!(
            about("$btc")["token"],
            json!({"symbol": "BTC", "score": "0.1"})
        );
        assert_eq!(about("USDT0")["mentioned"], true);
        let silent = about("OKB");
        assert_eq!(
            (&silent["mentioned"], &silent["token"]),
            (&json!(false), &Value::Null)
        );
        assert_eq!(silent["top_voices"], json!([1, 2, 3, 4, 5]));
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
