//! `GET /token-deep-dive`.

mod deep;

use std::time::Duration;

use alloy_primitives::Address;
use data_sources::Sourced;
use readings::symbol::SymbolKey;
use readings::token::coin::Coin;
use route_catalog::{ErrorCode, HOME_CHAIN, SECURITY_CHAINS};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use self::deep::{Budget, Gathered, Outcome, Part};
use super::{Call, fault, funding_rates, kol_sentiment, price, token_details, token_security};
use crate::Sources;
use crate::answer::{Answered, Method};
use crate::reply::ErrorReply;

/// Time for one part.
const PART: Duration = Duration::from_millis(2_500);
/// Time for the answer.
const WHOLE: Duration = Duration::from_secs(6);
/// How long the core counts as fresh.
const CORE_FRESH_SECONDS: u64 = 300;
/// How long a price counts as fresh.
const PRICE_FRESH_SECONDS: u64 = 60;
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

pub(super) async fn answer(sources: &Sources, call: &Call) -> Result<Answered, ErrorReply> {
    let text = call.parameters.text("symbol").unwrap_or_default();
    let symbol = SymbolKey::new(text)
        .ok_or_else(|| fault::bad_parameter("symbol", "expected a symbol of 1 to 64 characters"))?;
    let budget = Budget::start(PART, WHOLE);
    let details = timeout(
        PART,
        token_details::details(sources, &symbol, call.max_age()),
    );
    let (core, derivatives, voices) = tokio::join!(
        details,
        budget.spend(funding_rates::answer(sources, call)),
        budget.spend(kol_sentiment::answer(sources, call)),
    );
    let core = core
        .map_err(|_| fault::core_missing("token_details", "time_budget_exhausted"))?
        .map_err(|error| refusal(fault::reply(&error)))?;
    let place = Place::of(&core.value);
    let (security, dex_price) = tokio::join!(
        security(sources, &budget, &place, call),
        dex_price(sources, &budget, &place, call),
    );

    let now = sources.now();
    let source = core.sources.first().map_or("", |source| source.source);
    let mut gathered = Gathered::default();
    // The core comes first: its source is the answer's.
    let token_details = gathered.part("token_details", Outcome::Ok(details_of(core)), now);
    let data = Data {
        symbol: symbol.to_string(),
        token_details,
        security: gathered.part("security", security, now),
        derivatives: gathered.part("derivatives", derivatives, now),
        kol_context: gathered.part(
            "kol_context",
            voices.map(|told| context(told, &symbol)),
            now,
        ),
        dex_price: gathered.part("dex_price", dex_price, now),
    };
    let Gathered {
        legs,
        warnings,
        fresh_seconds,
    } = gathered;
    let mut answered = Answered::new(data, fresh_seconds).with_legs(legs);
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
    let mut answered = Answered::new(&found.value, CORE_FRESH_SECONDS);
    answered.warnings = token_details::warnings(&found.value);
    answered.sources = found.sources;
    answered
}

async fn security(
    sources: &Sources,
    budget: &Budget,
    place: &Place,
    call: &Call,
) -> Outcome<Answered> {
    match *place {
        Place::Contract { chain_id, address } => {
            let audit = token_security::audit(sources, chain_id, address, call.max_age());
            budget.spend(audit).await
        }
        Place::None => Outcome::NotApplicable("no_contract".to_owned()),
        Place::Elsewhere => Outcome::NotApplicable("no_contract_on_covered_chain".to_owned()),
        Place::Unknown => Outcome::Unavailable("contract_unknown".to_owned()),
    }
}

async fn dex_price(
    sources: &Sources,
    budget: &Budget,
    place: &Place,
    call: &Call,
) -> Outcome<Answered> {
    let address = match *place {
        Place::Contract { chain_id, address } if chain_id == HOME_CHAIN.id => address,
        Place::Contract { .. } | Place::Elsewhere => {
            return Outcome::NotApplicable("not_on_home_chain".to_owned());
        }
        Place::None => return Outcome::NotApplicable("no_contract".to_owned()),
        Place::Unknown => return Outcome::Unavailable("contract_unknown".to_owned()),
    };
    let spot = async {
        let found = price::spot(sources, address, call.max_age()).await;
        let found = found.map_err(|error| fault::reply(&error))?;
        let mut answered = Answered::new(found.value.data(), PRICE_FRESH_SECONDS);
        answered.warnings = found.value.warnings();
        answered.sources = found.sources;
        Ok(answered)
    };
    budget.spend(spot).await
}

/// What the opinion leaders say, as far as it is about this token.
fn context(mut told: Answered, symbol: &SymbolKey) -> Answered {
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
    told.data = json!({
        "kol_count": told.data.get("kol_count"),
        "window": told.data.get("window"),
        "overall": told.data.get("overall"),
        "mentioned": token.is_some(),
        "token": token,
        "top_voices": voices,
    });
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
    fn leaders_are_told_as_far_as_they_talk_about_the_token() {
        let told = || Answered {
            data: json!({
                "kol_count": 3, "window": "24h", "overall": {"score": "0.4"},
                "by_token": [{"symbol": "BTC", "score": "0.1"}, {"symbol": "usd₮0", "score": "0.2"}],
                "top_voices": [1, 2, 3, 4, 5, 6, 7],
            }),
            ..Answered::default()
        };
        let about = |symbol: &str| context(told(), &SymbolKey::new(symbol).unwrap()).data;
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
