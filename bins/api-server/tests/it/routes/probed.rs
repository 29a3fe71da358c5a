//! Compares the routes that the probe shows for each source with the sources that the routes'
//! answers name.

use std::collections::BTreeSet;

use api_server::Sources;
use route_catalog::Operation;
use serde_json::Value;

use crate::routes::published::pay;
use crate::routes::shop::Shop;

/// Calls that ask sources which the routes' own examples do not ask.
const MORE: &[&str] = &[
    "/token-deep-dive?symbol=BTC",
    "/token-deep-dive?symbol=XDOG",
    "/token-details?symbol=XDOG",
    "/funding-rates?symbol=BTC",
    "/hyperliquid-market?coin=BTC&interval=1h",
    "/token-security?address=0x4ae46a509F6b1D9056937BA4500cb143933D2dc8",
    "/price?token=0x1000000000000000000000000000000000000002",
];

/// An image of the model that is not the default.
const ALTERNATIVE_IMAGE: &str = "/generate-meme?prompt=a%20calm%20bull&model=alternative";

/// The upstreams that a call cannot use.
#[derive(Clone, Copy)]
enum Away {
    /// These upstreams are unreachable: nothing listens at their addresses.
    Upstreams(&'static [&'static str]),
    /// The operator has switched these upstreams off. For an image, the alternative model is then
    /// the one that is configured.
    Disabled(&'static [&'static str]),
}
use Away::{Disabled, Upstreams};

const ALPHA: &str = "/token-alpha";
const DIVE: &str = "/token-deep-dive?symbol=BTC";
const WOKB: &str = "/price?token=0xe538905cf8410324e03A5A23C1c177a474D59b2b";

/// Sources that answer only when another one is away. Each row has the source, the call (only a
/// path stands for the route's example), and the upstreams that are away.
const ALTERNATIVES: &[(&str, &str, Away)] = &[
    ("coingecko.token-list", "/all-tokens", Upstreams(&["okx"])),
    ("dexscreener.pairs", WOKB, Upstreams(&["okx"])),
    (
        "coinpaprika.search",
        "/token-details",
        Upstreams(&["coingecko"]),
    ),
    (
        "coinpaprika.ticker",
        "/token-details",
        Upstreams(&["coingecko"]),
    ),
    ("coinpaprika.search", ALPHA, Upstreams(&["coingecko"])),
    ("coinpaprika.ticker", ALPHA, Upstreams(&["coingecko"])),
    ("coinpaprika.search", DIVE, Upstreams(&["coingecko"])),
    ("coinpaprika.ticker", DIVE, Upstreams(&["coingecko"])),
    ("lunarcrush.coins", ALPHA, Upstreams(&["okx"])),
    ("coindesk.news", ALPHA, Upstreams(&["okx"])),
    ("cryptopanic.posts", ALPHA, Upstreams(&["okx"])),
    ("alternative-me.fear-greed", ALPHA, Upstreams(&["okx"])),
    ("rss.coindesk", ALPHA, Upstreams(&["okx"])),
    ("rss.cointelegraph", ALPHA, Upstreams(&["okx"])),
    ("rss.theblock", ALPHA, Upstreams(&["okx"])),
    ("rss.decrypt", ALPHA, Upstreams(&["okx"])),
    ("rss.blockworks", ALPHA, Upstreams(&["okx"])),
    ("rss.thedefiant", ALPHA, Upstreams(&["okx"])),
    (
        "hyperliquid.predicted-fundings",
        "/funding-rates",
        Upstreams(&["binance"]),
    ),
    (
        "hyperliquid.predicted-fundings",
        ALPHA,
        Upstreams(&["binance"]),
    ),
    (
        "hyperliquid.predicted-fundings",
        DIVE,
        Upstreams(&["binance"]),
    ),
    (
        "hyperliquid.predicted-fundings",
        "/mega-report",
        Upstreams(&["binance"]),
    ),
    (
        "fred.chart-csv",
        "/rwa-pulse",
        Upstreams(&["treasury", "cboe"]),
    ),
    (
        "blockscout.token-balances",
        "/portfolio",
        Upstreams(&["okx"]),
    ),
    (
        "blockscout.token-balances",
        "/idle-capital",
        Upstreams(&["okx"]),
    ),
    (
        "blockscout.token-balances",
        "/yield-recommendations",
        Upstreams(&["okx"]),
    ),
    (
        "anthropic.messages",
        "/llm-research",
        Upstreams(&["openai"]),
    ),
    (
        "perplexity.sonar",
        "/llm-research",
        Upstreams(&["openai", "anthropic"]),
    ),
    ("gemini.images", ALTERNATIVE_IMAGE, Disabled(&[])),
    ("fal.images", ALTERNATIVE_IMAGE, Disabled(&["gemini"])),
];

/// Sources that no answer names, each with the reason.
const UNNAMED: &[(&str, &str)] = &[
    ("openai.models", "the probe alone asks for it"),
    (
        "circle.allowance",
        "wallets bridge at standard speed; the probe alone asks for it",
    ),
    ("anthropic.models", "the probe alone asks for it"),
    ("gemini.models", "the probe alone asks for it"),
    ("goplus.supported-chains", "the probe alone asks for it"),
    (
        "fred.series",
        "it needs a key, and nothing of it is recorded",
    ),
    (
        "hyperliquid.dexs",
        "it says which markets there are, and is named where it fails",
    ),
];

/// Sources that a route reads only in a case without a recorded call. Each row has the source, the
/// route, and the case.
const UNSEEN: &[(&str, &str, &str)] = &[
    (
        "defillama.coins",
        "/swap",
        "for the judgement of worth, whose sources no answer names",
    ),
    ("defillama.coins", "/auto-swap", "the same"),
    ("defillama.coins", "/auto-defi-invest", "the same"),
    ("dexscreener.pairs", "/swap", "the same"),
    ("dexscreener.pairs", "/auto-swap", "the same"),
    ("dexscreener.pairs", "/auto-defi-invest", "the same"),
    (
        "lifi.quote",
        "/auto-swap",
        "on every chain but the home chain",
    ),
    ("circle.fees", "/auto-bridge", "before each burn"),
    ("circle.messages", "/auto-bridge", "after each burn"),
    (
        "okx.all-tokens",
        "/vet-token",
        "when no purchase of the token is quoted",
    ),
    (
        "okx.all-tokens",
        "/portfolio",
        "for what nodes are asked for while the index is silent",
    ),
    ("okx.all-tokens", "/idle-capital", "the same"),
    ("okx.all-tokens", "/yield-recommendations", "the same"),
    (
        "defillama.coins",
        "/portfolio",
        "for coins that nodes hold and the index does not price",
    ),
    ("defillama.coins", "/idle-capital", "the same"),
    (
        "defillama.pools",
        "/yield-farming-active",
        "for positions whose yield the market does not say",
    ),
    (
        "dexscreener.pairs",
        "/vet-token",
        "while the aggregator has no price",
    ),
    (
        "sourcify.signatures",
        "/tx-explainer",
        "for calls of contracts that are not verified",
    ),
    (
        "fourbyte.signatures",
        "/tx-explainer",
        "for selectors that the other database does not know",
    ),
];

/// The sources that an answer names. The nodes of all chains are one source.
fn named(body: &Value) -> Vec<String> {
    let sources = body["meta"]["sources"].as_array().cloned();
    let id = |source: Value| {
        let id = source["id"].as_str().unwrap().to_owned();
        match id.starts_with("rpc.") {
            true => "rpc.".to_owned(),
            false => id,
        }
    };
    // The reviewed set comes from the operator's file and not from an upstream.
    let upstreams = sources.into_iter().flatten().map(id);
    upstreams.filter(|id| id != "reviewed.contracts").collect()
}

fn path_of(target: &str) -> &str {
    target.split('?').next().unwrap()
}

/// Buys the call of a path, or the route's own example. Returns the answer if there is one.
async fn bought(shop: &Shop, target: &str) -> Option<Value> {
    let mut all = Operation::ALL.into_iter();
    let operation = all.find(|operation| operation.route().path == path_of(target));
    let route = operation.unwrap().route();
    let call = route.example_call();
    let target = match target.contains('?') {
        true => target,
        false => &call.target,
    };
    let body = match route.takes_body() {
        true => call.body.to_string(),
        false => String::new(),
    };
    let answer = pay(shop, route.method.as_str(), target, &body).await;
    (answer.status == 200).then(|| answer.body())
}

#[tokio::test]
async fn sources_serve_the_routes_that_name_them() {
    let mut observed = BTreeSet::new();
    let mut wrong = Vec::new();
    let shop = Shop::open().await;
    let examples = Operation::ALL.map(|operation| operation.route().path);
    for target in examples.iter().chain(MORE) {
        // This server does not offer wallet actions, so their refusals name no source.
        let sources = bought(&shop, target).await.map(|body| named(&body));
        let sources = sources.into_iter().flatten();
        observed.extend(sources.map(|source| (source, path_of(target).to_owned())));
    }
    for (source, target, away) in ALTERNATIVES {
        let body = match away {
            Upstreams(names) => bought(&Shop::without(names).await, target).await,
            Disabled(names) => {
                let shop = Shop::changed(|config, _replay| {
                    for name in *names {
                        config.upstreams.0.get_mut(*name).unwrap().enabled = Some(false);
                    }
                });
                bought(&shop.await, target).await
            }
        };
        let sources = body.map(|body| named(&body)).unwrap_or_default();
        if !sources.iter().any(|named| named == source) {
            wrong.push(format!("{source} is not in {target}: {sources:?}"));
        }
        observed.insert(((*source).to_owned(), path_of(target).to_owned()));
    }
    let sources = Sources::specs().into_iter().flat_map(|spec| spec.sources);
    let sources = sources.copied().chain(["rpc."]);
    let declared: BTreeSet<(String, String)> = sources
        .filter(|source| !UNNAMED.iter().any(|(unnamed, _)| unnamed == source))
        .flat_map(|source| {
            let routes = Sources::serves(source).into_iter();
            routes.map(move |route| (source.to_owned(), route.to_owned()))
        })
        .collect();
    for (source, route, when) in UNSEEN {
        let pair = ((*source).to_owned(), (*route).to_owned());
        assert!(declared.contains(&pair), "{source} {route}: {when}");
        observed.insert(pair);
    }
    let undeclared: Vec<_> = observed.difference(&declared).collect();
    let unobserved: Vec<_> = declared.difference(&observed).collect();
    assert!(
        wrong.is_empty(),
        "{wrong:#?}\n{undeclared:#?}\n{unobserved:#?}"
    );
    assert!(
        undeclared.is_empty() && unobserved.is_empty(),
        "named by answers and not in the table: {undeclared:#?}\n\
         in the table and named by no answer: {unobserved:#?}"
    );
}
