//! Attributions: the words that name a source wherever its data is shown. A page that shows an
//! answer to people shows its attributions beside it.
//!
//! The lists here decide only whom an answer names. They do not say whether an operator may resell
//! the data.

use serde::Serialize;

/// The attribution of one upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Attribution {
    /// The upstream, by the name of its table.
    pub upstream: &'static str,
    /// The words.
    pub text: &'static str,
    /// Where the words link to.
    pub url: &'static str,
    /// The reason why the source is named.
    #[serde(skip)]
    pub why: Why,
}

/// The reason why a source is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Its terms ask for it, in these or like words.
    Asked,
    /// No known terms ask for certain words: the source is named, with a link.
    Named,
}

/// Upstreams whose data is shown, by the prefix of their source ids.
const ATTRIBUTIONS: [(&str, Attribution); 22] = [
    (
        "alternative-me.",
        Attribution {
            upstream: "alternative_me",
            text: "Crypto Fear & Greed Index by Alternative.me",
            url: "https://alternative.me/crypto/fear-and-greed-index/",
            why: Why::Asked,
        },
    ),
    (
        "binance.",
        Attribution {
            upstream: "binance",
            text: "Source: Binance",
            url: "https://www.binance.com",
            why: Why::Named,
        },
    ),
    (
        "blockscout.",
        Attribution {
            upstream: "blockscout",
            text: "Source: Blockscout",
            url: "https://www.blockscout.com",
            why: Why::Named,
        },
    ),
    (
        "bybit.",
        Attribution {
            upstream: "bybit",
            text: "Source: Bybit",
            url: "https://www.bybit.com",
            why: Why::Named,
        },
    ),
    (
        "cboe.",
        Attribution {
            upstream: "cboe",
            text: "Source: Cboe Global Markets",
            url: "https://www.cboe.com",
            why: Why::Named,
        },
    ),
    (
        "coindesk.",
        Attribution {
            upstream: "coindesk",
            text: "Source: CoinDesk Data",
            url: "https://developers.coindesk.com",
            why: Why::Named,
        },
    ),
    (
        "coingecko.",
        Attribution {
            upstream: "coingecko",
            text: "Data provided by CoinGecko",
            url: "https://www.coingecko.com",
            why: Why::Asked,
        },
    ),
    (
        "coinpaprika.",
        Attribution {
            upstream: "coinpaprika",
            text: "Source: CoinPaprika",
            url: "https://coinpaprika.com",
            why: Why::Named,
        },
    ),
    (
        "cryptopanic.",
        Attribution {
            upstream: "cryptopanic",
            text: "Source: CryptoPanic",
            url: "https://cryptopanic.com",
            why: Why::Named,
        },
    ),
    (
        "defillama.",
        Attribution {
            upstream: "defillama",
            text: "Source: DefiLlama",
            url: "https://defillama.com",
            why: Why::Named,
        },
    ),
    (
        "dexscreener.",
        Attribution {
            upstream: "dexscreener",
            text: "Source: DEX Screener",
            url: "https://dexscreener.com",
            why: Why::Named,
        },
    ),
    (
        "fourbyte.",
        Attribution {
            upstream: "fourbyte",
            text: "Source: Ethereum Signature Database",
            url: "https://www.4byte.directory",
            why: Why::Named,
        },
    ),
    (
        "frankfurter.",
        Attribution {
            upstream: "frankfurter",
            text: "Source: European Central Bank, euro foreign exchange reference rates, by way of Frankfurter",
            url: "https://www.ecb.europa.eu/stats/policy_and_exchange_rates/euro_reference_exchange_rates/html/index.en.html",
            why: Why::Named,
        },
    ),
    (
        "fred.",
        Attribution {
            upstream: "fred",
            text: "This product uses the FRED\u{ae} API but is not endorsed or certified by the Federal Reserve Bank of St. Louis. Index levels are of S&P Dow Jones Indices LLC, Nasdaq, Inc. and Cboe, retrieved from FRED",
            url: "https://fred.stlouisfed.org",
            why: Why::Asked,
        },
    ),
    (
        "goplus.",
        Attribution {
            upstream: "goplus",
            text: "Powered by GoPlus Security",
            url: "https://gopluslabs.io",
            why: Why::Asked,
        },
    ),
    (
        "hyperliquid.",
        Attribution {
            upstream: "hyperliquid",
            text: "Source: Hyperliquid",
            url: "https://hyperliquid.xyz",
            why: Why::Named,
        },
    ),
    (
        "lunarcrush.",
        Attribution {
            upstream: "lunarcrush",
            text: "Source: LunarCrush",
            url: "https://lunarcrush.com",
            why: Why::Named,
        },
    ),
    (
        "okx.",
        Attribution {
            upstream: "okx",
            text: "Source: OKX Web3",
            url: "https://web3.okx.com",
            why: Why::Named,
        },
    ),
    (
        "okx-futures.",
        Attribution {
            upstream: "okx_futures",
            text: "Source: OKX",
            url: "https://www.okx.com",
            why: Why::Named,
        },
    ),
    (
        "sourcify.",
        Attribution {
            upstream: "sourcify",
            text: "Source: Sourcify",
            url: "https://sourcify.dev",
            why: Why::Named,
        },
    ),
    (
        "treasury.",
        Attribution {
            upstream: "treasury",
            text: "Source: U.S. Department of the Treasury",
            url: "https://home.treasury.gov",
            why: Why::Named,
        },
    ),
    (
        "yahoo.",
        Attribution {
            upstream: "yahoo",
            text: "Source: Yahoo Finance",
            url: "https://finance.yahoo.com",
            why: Why::Named,
        },
    ),
];

/// Upstreams without an attribution of their own, and why they have none.
pub const NAMED_IN_DATA: [(&str, &str); 9] = [
    ("rss", "each headline has its publisher and link"),
    ("x_api", "each post has its author and link"),
    ("openai", "the answer names the model"),
    ("anthropic", "the answer names the model"),
    ("gemini", "the answer names the model"),
    ("fal", "the answer names the model"),
    ("perplexity", "the answer names the model"),
    (
        "lifi",
        "answers show only the plan or the action that it served",
    ),
    (
        "circle",
        "answers show only the plan or the action that it served",
    ),
];

/// Every attribution, by upstream.
pub fn attributions() -> impl Iterator<Item = &'static Attribution> {
    ATTRIBUTIONS.iter().map(|(_, attribution)| attribution)
}

/// The attribution of the upstream behind the source with this id, if there is one.
#[must_use]
pub fn attribution(source: &str) -> Option<&'static Attribution> {
    let found = ATTRIBUTIONS
        .iter()
        .find(|(prefix, _)| source.starts_with(prefix));
    found.map(|(_, attribution)| attribution)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_attributed_to_its_upstream() {
        let of = |source| attribution(source).map(|of| of.upstream);
        assert_eq!(of("coingecko.markets"), Some("coingecko"));
        assert_eq!(of("okx.news"), Some("okx"));
        assert_eq!(of("okx-futures.funding"), Some("okx_futures"));
        assert_eq!(of("coingecko"), None, "ids have two parts");
        assert_eq!(of("rpc.base"), None);
        for attribution in attributions() {
            assert!(attribution.url.starts_with("https://"), "{attribution:?}");
        }
    }
}
