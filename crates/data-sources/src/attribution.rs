//! What sources want to be said of them where their data is shown. The terms are those of their own sites; who shows an
//! answer to people shows this beside it.

use serde::Serialize;

/// What a source wants to be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Attribution {
    /// The upstream, by the name of its table.
    pub upstream: &'static str,
    /// The words.
    pub text: &'static str,
    /// Where the words lead.
    pub url: &'static str,
}

/// Upstreams whose terms ask for it, by what the ids of their sources begin with.
const ATTRIBUTIONS: [(&str, Attribution); 5] = [
    (
        "alternative-me.",
        Attribution {
            upstream: "alternative_me",
            text: "Crypto Fear & Greed Index by Alternative.me",
            url: "https://alternative.me/crypto/fear-and-greed-index/",
        },
    ),
    (
        "coingecko.",
        Attribution {
            upstream: "coingecko",
            text: "Data provided by CoinGecko",
            url: "https://www.coingecko.com",
        },
    ),
    (
        "coinpaprika.",
        Attribution {
            upstream: "coinpaprika",
            text: "Data provided by CoinPaprika",
            url: "https://coinpaprika.com",
        },
    ),
    (
        "fred.",
        Attribution {
            upstream: "fred",
            text: "This product uses the FRED\u{ae} API but is not endorsed or certified by the Federal Reserve Bank of St. Louis",
            url: "https://fred.stlouisfed.org",
        },
    ),
    (
        "frankfurter.",
        Attribution {
            upstream: "frankfurter",
            text: "Reference rates: European Central Bank",
            url: "https://www.ecb.europa.eu/stats/policy_and_exchange_rates/euro_reference_exchange_rates/html/index.en.html",
        },
    ),
];

/// Every attribution, by upstream.
pub fn attributions() -> impl Iterator<Item = &'static Attribution> {
    ATTRIBUTIONS.iter().map(|(_, attribution)| attribution)
}

/// What the upstream of the source with this id wants to be said, if anything.
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
        assert_eq!(
            attribution("coingecko.markets").unwrap().upstream,
            "coingecko"
        );
        assert_eq!(attribution("okx.news"), None);
        assert_eq!(attribution("coingecko"), None, "ids have two parts");
        for attribution in attributions() {
            assert!(attribution.url.starts_with("https://"), "{attribution:?}");
        }
    }
}
