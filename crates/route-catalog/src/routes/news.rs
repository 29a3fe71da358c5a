//! News, social sentiment and reports.

use x402_wire::MicroUsd;

use super::{READ_SECONDS, SYMBOL};
use crate::{Method, Operation, Parameter, Route, Rule};

pub(crate) const CRYPTO_NEWS: Route = Route {
    operation: Operation::CryptoNews,
    method: Method::Get,
    path: "/crypto-news",
    resource: "/crypto-news",
    price: MicroUsd::dollars("0.001"),
    summary: "Ranked headlines and market brief",
    description: "Importance-ranked headlines with source link and publish time, and a \
                  sentiment-scored market brief, from an hourly snapshot whose age and verdict \
                  `meta` carries.",
    refuses: "there is no snapshot, or it is older than 6 hours",
    query: &[],
    body: &[],
    constraints: &[],
    core: &["snapshot"],
    work_seconds: READ_SECONDS,
    example: r#"{"brief":{"text":"Bitcoin ETF inflows lead a quiet session.","sentiment":{"score":"0.31","label":"positive","method":"upstream_labels"},"fear_greed":{"value":61,"label":"greed","as_of":"2026-11-21T00:00:00Z"}},"headlines":[{"rank":1,"title":"Spot ETF inflows hit a monthly record","source":"CoinDesk","url":"https://www.coindesk.com/markets/etf-inflows","published_at":"2026-11-21T00:41:00Z","importance":"high","score":"0.87","symbols":["BTC"],"sentiment":{"label":"positive","score":"0.6"},"also_reported_by":["Decrypt"]}]}"#,
};

pub(crate) const FILTERED_NEWS: Route = Route {
    operation: Operation::FilteredNews,
    method: Method::Get,
    path: "/filtered-news",
    resource: "/filtered-news",
    price: MicroUsd::dollars("0.001"),
    summary: "News by topic",
    description: "Headlines filtered by a topic such as DeFi, NFT, layer 2, regulation, ETF, \
                  stablecoin, hack, AI or RWA, with the terms that matched.",
    refuses: "nothing matches",
    query: &[Parameter::required(
        "topic",
        Rule::Line { max: 64 },
        "DeFi",
        "Topic, case-insensitive; common topics know their aliases.",
    )],
    body: &[],
    constraints: &[],
    core: &["headlines"],
    work_seconds: READ_SECONDS,
    example: r#"{"topic":"DeFi","matched_terms":["defi","lending"],"count":1,"headlines":[{"rank":1,"title":"Lending markets pass a new deposit record","source":"The Block","url":"https://www.theblock.co/post/lending-record","published_at":"2026-11-21T00:12:00Z","importance":"medium","score":"0.52","symbols":["AAVE"],"sentiment":{"label":"positive","score":"0.4"},"also_reported_by":[]}]}"#,
};

pub(crate) const TOKEN_ALPHA: Route = Route {
    operation: Operation::TokenAlpha,
    method: Method::Get,
    path: "/token-alpha",
    resource: "/token-alpha",
    price: MicroUsd::dollars("0.001"),
    summary: "News, sentiment and futures of a token",
    description: "News, social sentiment and futures data for one token.",
    refuses: "news, social and derivatives all fail",
    query: &[SYMBOL],
    body: &[],
    constraints: &[],
    core: &["news_social_or_derivatives"],
    work_seconds: READ_SECONDS,
    example: r#"{"symbol":"ETH","price":{"price_usd":"3120.4","change_24h_pct":"0.8"},"news":[{"title":"Validators adopt the new client release","source":"Decrypt","url":"https://decrypt.co/validators","published_at":"2026-11-20T22:05:00Z"}],"social":{"mentions":18211,"bullish_ratio":"0.58","bearish_ratio":"0.21","trend":[{"at":"2026-11-20T00:00:00Z","mentions":17440}]},"derivatives":{"rate_8h":"0.00009","oi_usd":"9810000000"}}"#,
};

pub(crate) const KOL_SENTIMENT: Route = Route {
    operation: Operation::KolSentiment,
    method: Method::Get,
    path: "/kol-sentiment",
    resource: "/kol-sentiment",
    price: MicroUsd::dollars("0.003"),
    summary: "Sentiment of opinion leaders",
    description: "Aggregated sentiment of up to the top 50 crypto opinion leaders, weighted by \
                  followers. `kol_count` is the number that was actually read.",
    refuses: "there is no opinion-leader data",
    query: &[],
    body: &[],
    constraints: &[],
    core: &["kols"],
    work_seconds: READ_SECONDS,
    example: r#"{"kol_count":47,"window":"24h","overall":{"score":"0.22","label":"bullish"},"bullish":["BTC","SOL"],"bearish":["DOGE"],"by_token":[{"symbol":"BTC","score":"0.35","mentions":212}],"top_voices":[{"handle":"cryptoanalyst","followers":812000,"engagement":"0.041","url":"https://x.com/cryptoanalyst"}]}"#,
};

pub(crate) const TWITTER_SUMMARY: Route = Route {
    operation: Operation::TwitterSummary,
    method: Method::Get,
    path: "/twitter-summary",
    resource: "/twitter-summary",
    price: MicroUsd::dollars("0.001"),
    summary: "Digest of opinion leaders' posts",
    description: "Digest of social posts of the top opinion leaders; every point carries at least \
                  one link as evidence.",
    refuses: "no post is available",
    query: &[],
    body: &[],
    constraints: &[],
    core: &["posts"],
    work_seconds: READ_SECONDS,
    example: r#"{"digest":[{"point":"Rising mentions of restaking withdrawals","evidence_urls":["https://x.com/cryptoanalyst/status/1990000000000000000"]}],"themes":["restaking","etf"],"voices":["cryptoanalyst"]}"#,
};

pub(crate) const TRENDING_ALTCOINS: Route = Route {
    operation: Operation::TrendingAltcoins,
    method: Method::Get,
    path: "/trending-altcoins",
    resource: "/trending-altcoins",
    price: MicroUsd::dollars("0.001"),
    summary: "Top 3 trending altcoins",
    description: "The three altcoins that trend across rankings, with reasons and risks. Bitcoin, \
                  stablecoins and wrapped tokens are left out; fewer than three is said so.",
    refuses: "no ranking answers",
    query: &[],
    body: &[],
    constraints: &[],
    core: &["rankings"],
    work_seconds: READ_SECONDS,
    example: r#"{"count":1,"altcoins":[{"rank":1,"symbol":"HYPE","name":"Hyperliquid","price_usd":"41.2","change_24h_pct":"6.3","market_cap_usd":"13700000000","volume_24h_usd":"412000000","why":["first in two of three rankings"],"risks":["24 h volume doubled within a week"],"links":{"coingecko":"https://www.coingecko.com/en/coins/hyperliquid"}}]}"#,
};

pub(crate) const MEGA_REPORT: Route = Route {
    operation: Operation::MegaReport,
    method: Method::Get,
    path: "/mega-report",
    resource: "/mega-report",
    price: MicroUsd::dollars("0.05"),
    summary: "Daily briefing",
    description: "Daily briefing: headlines, sentiment, opinion-leader alpha, trending tokens and \
                  yield, with derivatives and macro where available. Sections that could not be \
                  built are named in `missing`.",
    refuses: "headlines and trending are both missing",
    query: &[],
    body: &[],
    constraints: &[],
    core: &["headlines_or_trending"],
    work_seconds: READ_SECONDS,
    example: r#"{"sections":{"headlines":[{"rank":1,"title":"Spot ETF inflows hit a monthly record","url":"https://www.coindesk.com/markets/etf-inflows"}],"sentiment":{"score":"0.31","label":"positive"},"kol_alpha":null,"trending":[{"rank":1,"symbol":"HYPE"}],"yield":[{"project":"aave-v3","symbol":"USDC","apy_pct":"4.1"}],"derivatives":null,"macro":null},"missing":["kol_alpha","derivatives","macro"]}"#,
};
