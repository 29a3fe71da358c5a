//! DexScreener: pairs of decentralised exchanges, by token and by text.
//!
//! Peculiarities: no match is `null`. Prices are text and volumes are numbers. Any figure may be
//! missing. Chains have their own names. The source does not state when it looked, nor when a pair
//! was traded last: it only says in which of four windows that was.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use alloy_primitives::Address;
use readings::{
    Figure,
    token::{
        measure,
        pools::{DexPair, DexToken},
    },
};
use serde::Deserialize;
use serde_json::value::RawValue;
use url::form_urlencoded::byte_serialize;

use crate::{
    budget::{Families, Rate},
    cached::{Ages, Cached},
    error::{Error, SourceErrorKind},
    json::read_json,
    provenance::{Clock, Sourced},
    source::{Fault, KeyRule, Source, SourceConfig, UpstreamSpec},
    text::clean,
    transport::{Limits, Transport, TransportError},
};

const PAIRS: &str = "dexscreener.pairs";
const SEARCH: &str = "dexscreener.search";

type Pairs = Arc<Vec<DexPair>>;

/// DexScreener. Clones share everything.
#[derive(Clone, Debug)]
pub struct Dexscreener {
    source: Source,
    pairs: Cached<(&'static str, Address), Pairs>,
    found: Cached<String, Pairs>,
}

#[derive(Deserialize)]
struct Found {
    pairs: Option<Vec<Box<RawValue>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    chain_id: String,
    pair_address: String,
    base_token: Token,
    quote_token: Token,
    #[serde(default, deserialize_with = "Figure::or_none")]
    price_usd: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    price_native: Option<Figure>,
    #[serde(default)]
    txns: Option<BTreeMap<String, Trades>>,
    volume: Option<ByTime>,
    price_change: Option<ByTime>,
    liquidity: Option<Liquidity>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    market_cap: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    fdv: Option<Figure>,
}

#[derive(Deserialize)]
struct Token {
    address: String,
    symbol: String,
    name: Option<String>,
}

/// How many trades there were in a window.
#[derive(Deserialize)]
struct Trades {
    #[serde(default)]
    buys: Option<u64>,
    #[serde(default)]
    sells: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ByTime {
    #[serde(deserialize_with = "Figure::lenient")]
    m5: Option<Figure>,
    #[serde(deserialize_with = "Figure::lenient")]
    h1: Option<Figure>,
    #[serde(deserialize_with = "Figure::lenient")]
    h6: Option<Figure>,
    #[serde(deserialize_with = "Figure::lenient")]
    h24: Option<Figure>,
}

#[derive(Default, Deserialize)]
struct Liquidity {
    #[serde(default, deserialize_with = "Figure::lenient")]
    usd: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    base: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    quote: Option<Figure>,
}

impl Dexscreener {
    /// The addresses, limits and quotas of the upstream.
    pub const SPEC: &'static UpstreamSpec = &UpstreamSpec {
        name: "dexscreener",
        urls: &[("base_url", "https://api.dexscreener.com")],
        key: KeyRule::Keyless,
        sources: &[PAIRS, SEARCH],
        families: Families::One(Rate::per_minute(240)),
        limits: Limits::USUAL.within_seconds(3),
        ..UpstreamSpec::DATA
    };

    /// Builds the adapter. It makes no connection yet.
    ///
    /// # Errors
    ///
    /// A [`TransportError`] when the address cannot be used.
    pub fn new(
        transport: &Transport,
        config: SourceConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, TransportError> {
        Ok(Self {
            source: Source::new(transport, Self::SPEC, config, clock.clone())?,
            pairs: Cached::new(1_000, Ages::seconds(15, 120), clock.clone()),
            found: Cached::new(500, Ages::seconds(60, 600), clock),
        })
    }

    /// The upstream that this adapter asks.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The pairs of a token on `platform`, a chain as this source calls it (`xlayer`, `base`). The
    /// list may be empty.
    ///
    /// # Errors
    ///
    /// When the answer is unusable.
    pub async fn pairs(
        &self,
        platform: &'static str,
        token: Address,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Pairs>, Error> {
        let this = self.clone();
        let fetch = move || async move {
            let path = format!("/token-pairs/v1/{platform}/{token:#x}");
            let read: Result<Sourced<Vec<DexPair>>, Error> = this
                .source
                .ask(this.source.get(PAIRS, &path), |reply| {
                    let raw: Option<Vec<Box<RawValue>>> = read_json(&reply.body)?;
                    let pairs = pairs(&raw.unwrap_or_default())?;
                    let address = token.to_string();
                    let ours = |pair: &DexPair| {
                        let sides = [&pair.base.address, &pair.quote.address];
                        pair.platform == platform && sides.contains(&&address)
                    };
                    let answered = pairs.len();
                    let pairs: Vec<_> = pairs.into_iter().filter(ours).collect();
                    if pairs.is_empty() && answered > 0 {
                        return Err(Fault::Upstream(malformed("pairs of the token asked for")));
                    }
                    Ok(pairs)
                })
                .await;
            Ok(read?.map(Arc::new))
        };
        self.pairs.get((platform, token), max_age, fetch).await
    }

    /// The pairs on any chain that match a text. The list may be empty.
    ///
    /// # Errors
    ///
    /// When the answer is unusable.
    pub async fn search(
        &self,
        text: &str,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Pairs>, Error> {
        let (this, text) = (self.clone(), text.to_owned());
        let key = text.clone();
        let fetch = move || async move {
            let text: String = byte_serialize(text.as_bytes()).collect();
            let path = format!("/latest/dex/search?q={text}");
            let read: Result<Sourced<Vec<DexPair>>, Error> = this
                .source
                .ask(this.source.get(SEARCH, &path), |reply| {
                    let found: Found = read_json(&reply.body)?;
                    Ok(pairs(&found.pairs.unwrap_or_default())?)
                })
                .await;
            Ok(read?.map(Arc::new))
        };
        self.found.get(key, max_age, fetch).await
    }
}

/// The pairs that can be read; when none of them can, the first problem.
fn pairs(raw: &[Box<RawValue>]) -> Result<Vec<DexPair>, SourceErrorKind> {
    let mut problem = None;
    let mut found = Vec::with_capacity(raw.len());
    for raw in raw {
        match read_json::<Row>(raw.get().as_bytes()) {
            Ok(row) => found.extend(pair(row)),
            Err(kind) => problem = problem.or(Some(kind)),
        }
    }
    match problem {
        Some(kind) if found.is_empty() => Err(kind),
        _ => Ok(found),
    }
}

fn pair(row: Row) -> Option<DexPair> {
    let above_zero =
        |figure: Option<Figure>| measure(figure).filter(|figure| !figure.get().is_zero());
    let volume = row.volume.unwrap_or_default();
    let change = row.price_change.unwrap_or_default();
    let liquidity = row.liquidity.unwrap_or_default();
    let platform = clean(&row.chain_id, 32);
    (!platform.is_empty()).then_some(())?;
    Some(DexPair {
        platform,
        pair: address(&row.pair_address)?,
        base: token(row.base_token)?,
        quote: token(row.quote_token)?,
        price_usd: above_zero(row.price_usd),
        price_native: above_zero(row.price_native),
        liquidity_usd: measure(liquidity.usd),
        base_reserve: measure(liquidity.base),
        quote_reserve: measure(liquidity.quote),
        traded_within_seconds: traded_within(row.txns.as_ref(), &volume),
        volume_24h_usd: measure(volume.h24),
        change_1h_pct: change.h1,
        change_24h_pct: change.h24,
        market_cap_usd: above_zero(row.market_cap),
        fdv_usd: above_zero(row.fdv),
    })
}

/// The length of the shortest window with a trade or a volume, in seconds.
fn traded_within(trades: Option<&BTreeMap<String, Trades>>, volume: &ByTime) -> Option<u64> {
    let windows = [
        ("m5", 300, volume.m5),
        ("h1", 3_600, volume.h1),
        ("h6", 21_600, volume.h6),
        ("h24", 86_400, volume.h24),
    ];
    let traded = |name: &str, volume: Option<Figure>| {
        let counted = trades.and_then(|trades| trades.get(name));
        let count = counted.map(|of| of.buys.unwrap_or(0).saturating_add(of.sells.unwrap_or(0)));
        count.is_some_and(|count| count > 0)
            || measure(volume).is_some_and(|usd| !usd.get().is_zero())
    };
    let mut windows = windows.into_iter();
    windows
        .find(|(name, _, volume)| traded(name, *volume))
        .map(|(_, seconds, _)| seconds)
}

fn token(row: Token) -> Option<DexToken> {
    let symbol = clean(&row.symbol, 32);
    let name = clean(row.name.as_deref().unwrap_or(&row.symbol), 64);
    (!symbol.is_empty()).then_some(DexToken {
        address: address(&row.address)?,
        symbol,
        name,
    })
}

/// An EVM address with its checksum; any other address as it is, if it has plain characters only.
fn address(text: &str) -> Option<String> {
    if let (true, Ok(address)) = (text.starts_with("0x"), text.parse::<Address>()) {
        return Some(address.to_string());
    }
    let plain = (1..=128).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'_' | b'-' | b'.'));
    plain.then(|| text.to_owned())
}

fn malformed(expected: &'static str) -> SourceErrorKind {
    SourceErrorKind::Malformed {
        path: "$".to_owned(),
        expected,
        observed: "others".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_last_trade_lies_in_the_shortest_window_that_has_one() {
        let within = |row: Value| {
            let trades: Option<BTreeMap<String, Trades>> =
                serde_json::from_value(row["txns"].clone()).unwrap();
            let volume: Option<ByTime> = serde_json::from_value(row["volume"].clone()).unwrap();
            traded_within(trades.as_ref(), &volume.unwrap_or_default())
        };
        let some = json!({"buys": 0, "sells": 2});
        let none = json!({"buys": 0, "sells": 0});
        assert_eq!(within(json!({"txns": {"m5": some, "h1": some}})), Some(300));
        assert_eq!(
            within(json!({"txns": {"m5": none, "h1": some}})),
            Some(3600)
        );
        // Without counts the volume decides.
        assert_eq!(
            within(json!({"volume": {"m5": 0, "h6": 12.5, "h24": 900}})),
            Some(21_600)
        );
        assert_eq!(
            within(json!({"txns": {"h24": none}, "volume": {"h24": 0}})),
            None
        );
        assert_eq!(within(json!({})), None);
    }
}
