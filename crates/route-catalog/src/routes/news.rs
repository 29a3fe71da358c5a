//! The rows of the routes about news, social sentiment and reports.

use x402_wire::MicroUsd;

use super::{READ_SECONDS, SYMBOL};
use crate::{Dataset, Method, Parameter, Route, Rule, WorkClass};

pub(crate) const CRYPTO_NEWS: Route = Route {
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
    datasets: &[Dataset::News],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/crypto_news.json"),
};

pub(crate) const FILTERED_NEWS: Route = Route {
    method: Method::Get,
    path: "/filtered-news",
    resource: "/filtered-news",
    price: MicroUsd::dollars("0.001"),
    summary: "News by topic",
    description: "Headlines filtered by a topic such as DeFi, NFT, layer 2, regulation, ETF, \
                  stablecoin, hack, AI or RWA, with the terms that matched.",
    refuses: "no headline matches, or neither the search nor the snapshot is available",
    query: &[Parameter::required(
        "topic",
        Rule::Line { max: 64 },
        "DeFi",
        "Topic, case-insensitive; common topics have aliases.",
    )],
    body: &[],
    constraints: &[],
    core: &["headlines"],
    datasets: &[Dataset::News],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/filtered_news.json"),
};

pub(crate) const TOKEN_ALPHA: Route = Route {
    method: Method::Get,
    path: "/token-alpha",
    resource: "/token-alpha",
    price: MicroUsd::dollars("0.001"),
    summary: "News, sentiment and futures of a token",
    description: "News, social sentiment and futures data for one token.",
    refuses: "news, social and derivatives all fail",
    query: &[Parameter {
        example: "BTC",
        ..SYMBOL
    }],
    body: &[],
    constraints: &[],
    core: &["news_social_or_derivatives"],
    datasets: &[Dataset::News],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/token_alpha.json"),
};

pub(crate) const KOL_SENTIMENT: Route = Route {
    method: Method::Get,
    path: "/kol-sentiment",
    resource: "/kol-sentiment",
    price: MicroUsd::dollars("0.003"),
    summary: "Sentiment of opinion leaders, leader by leader",
    description: "Sentiment of the most followed crypto opinion leaders, at most 50, from their \
                  own posts of a day: a score for each leader, for each token and overall, with \
                  the posts behind it. Each leader counts once. `coverage` says how many leaders \
                  are known and how many could be read. The price pays for the posts, which are \
                  bought from X one by one.",
    refuses: "the posts cannot be read, or fewer than three leaders state an opinion",
    query: &[],
    body: &[],
    constraints: &[],
    core: &["posts", "leaders"],
    datasets: &[],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/kol_sentiment.json"),
};

pub(crate) const TWITTER_SUMMARY: Route = Route {
    method: Method::Get,
    path: "/twitter-summary",
    resource: "/twitter-summary",
    price: MicroUsd::dollars("0.001"),
    summary: "Digest of opinion leaders' posts",
    description: "Digest of the opinion leaders' posts of a day: topics, the leaders for and \
                  against each token, and their claims word for word, each with links to the \
                  posts, and the change from the day before.",
    refuses: "the posts cannot be read, or no post of the day is about a token or a topic",
    query: &[],
    body: &[],
    constraints: &[],
    core: &["posts"],
    datasets: &[],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/twitter_summary.json"),
};

pub(crate) const TRENDING_ALTCOINS: Route = Route {
    method: Method::Get,
    path: "/trending-altcoins",
    resource: "/trending-altcoins",
    price: MicroUsd::dollars("0.001"),
    summary: "Top 3 trending altcoins",
    description: "The three altcoins that trend across rankings, with reasons and risks. Bitcoin, \
                  stablecoins and wrapped tokens are left out.",
    refuses: "no ranking answers, or the rankings name fewer than three altcoins",
    query: &[],
    body: &[],
    constraints: &[],
    core: &["rankings"],
    datasets: &[],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/trending_altcoins.json"),
};

pub(crate) const MEGA_REPORT: Route = Route {
    method: Method::Get,
    path: "/mega-report",
    resource: "/mega-report",
    price: MicroUsd::dollars("0.05"),
    summary: "Daily briefing",
    description: "Daily briefing in sections: headlines, sentiment, opinion-leader alpha and \
                  posts, trending tokens, yield, DeFi, derivatives and macro. Where a section's \
                  own route shows only the first rows, the briefing has all headlines and up to \
                  250 rows of each other list. It adds levels and book depth of BTC, ETH and SOL, \
                  whether the moods of news, leaders, index and funding agree, the change from the \
                  day before (also of funding, open interest, value locked, VIX and yields), and \
                  the events scheduled for the next 14 days. It is fresh while every section is. \
                  Sections that could not be built are named in `missing`.",
    refuses: "headlines and trending are both missing",
    query: &[],
    body: &[],
    constraints: &[],
    core: &["headlines_or_trending"],
    datasets: &[Dataset::News, Dataset::YieldPools],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/mega_report.json"),
};
